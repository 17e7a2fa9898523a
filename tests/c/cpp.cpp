// fxir.hpp: owners that move and free, errors as exceptions, callbacks that throw.
#include <fxir.hpp>

#include <cstdio>
#include <cstring>

namespace {

int failures = 0, checks = 0;

void check(bool holds, const char *what, int line) {
    checks++;
    if (holds) return;
    failures++;
    std::fprintf(stderr, "cpp.cpp:%d: not so: %s\n", line, what);
}
#define CHECK(condition) check((condition), #condition, __LINE__)

template <class Body>
fxir_status status_of(Body body) {
    try {
        body();
    } catch (const fxir::Error &error) {
        CHECK(std::strlen(error.what()) > 0);
        return error.status();
    }
    return FXIR_OK;
}

// relu(x + w) with w a parameter, and a leaf module
fxir::Module net() {
    static const float weights[4] = {1, 2, 3, 4};
    fxir::Module made("Net");
    made.set_tensor("w", fxir::Tensor::borrow(FXIR_DTYPE_FLOAT32, {2, 2}, weights, sizeof weights));
    made.add_submodule("act", FXIR_MODULE_LEAF, "torch.nn.modules.activation.ReLU");
    const fxir::Node x = made.placeholder("x"), w = made.get_attr("w");
    const fxir::Node sum = made.call_function("torch.add", {x, w}, {{"alpha", 2}});
    const fxir::Node view = made.call_method("view", {sum, fxir::Arg::list({-1, 2})});
    made.output(fxir::Arg::tuple({made.call_module("act", {view}), x}));
    return made;
}

void owners() {
    fxir::Module first = net();
    const fxir_module *handle = first.get();
    fxir::Module second(std::move(first));
    CHECK(second.get() == handle && first.get() == nullptr && second.node_count() == 6);
    fxir::Module third("Other");
    third = std::move(second);
    CHECK(third.get() == handle && third.type_name() == "Net");
    fxir::Module clone = third.clone();
    clone.set_name(clone.find_node("view"), "renamed");
    CHECK(!third.find_node("renamed") && clone.find_node("renamed"));
    CHECK(clone.tensor("w").data() == third.tensor("w").data());
}

void reading() {
    const fxir::Module module = net();
    std::string names;
    for (fxir::Node node : module.nodes()) names += std::string(module.name(node)) + " ";
    CHECK(names == "x w add view act output ");
    const fxir::Node add = module.find_node("add");
    CHECK(module.op(add) == FXIR_OP_CALL_FUNCTION && module.op_name(add) == "call_function");
    CHECK(module.users(add).size() == 1 && module.input_nodes(add).size() == 2);
    const fxir::ArgsSnapshot args = module.args(add);
    CHECK(args.size() == 2 && args.kwarg("alpha")->value.integer == 2 && args.kwarg("beta") == nullptr);
    CHECK((module.tensor("w").shape() == std::vector<std::int64_t>{2, 2}));
    module.lint();
}

void errors() {
    fxir::Module module = net();
    CHECK(status_of([&] { module.tensor("nowhere"); }) == FXIR_NOT_FOUND);
    CHECK(status_of([&] { module.erase_node(module.find_node("add")); }) == FXIR_IN_USE);
    CHECK(status_of([&] { module.args(fxir::Node(77)); }) == FXIR_STALE_NODE);
    CHECK(status_of([&] { fxir::Module::load_json("nowhere.json"); }) == FXIR_IO);
    try {
        fxir_module *made = nullptr;
        fxir::detail::call(fxir_module_read_code, "def f(x):\n  return y\n", std::size_t(21), nullptr, &made);
        CHECK(false);
    } catch (const fxir::Error &error) {
        CHECK(error.status() == FXIR_PARSE && error.line() == 2 && error.column() == 10);
    }
}

void callbacks() {
    fxir::Module module = net(), pattern("P"), replacement("R");
    const fxir::Node a = pattern.placeholder("a"), b = pattern.placeholder("b");
    pattern.output(pattern.call_function("torch.add", {a, b}, {{"alpha", 2}}));
    const fxir::Node c = replacement.placeholder("a"), d = replacement.placeholder("b");
    replacement.output(replacement.call_function("torch.mul", {c, d}));

    fxir::MatchOptions options;
    options.filter = [](fxir::ModuleView, fxir::MatchesView) -> bool { throw std::string("stop"); };
    try {
        module.replace_pattern(pattern, replacement, options);
        CHECK(false);
    } catch (const std::string &thrown) {
        CHECK(thrown == "stop");
    }
    CHECK(bool(module.find_node("add")));
    options.filter = [&](fxir::ModuleView view, fxir::MatchesView found) {
        return view.node_count() == 6 && found.size() == 1 && found.node_name(0, b) == "w";
    };
    const fxir::Matches matches = module.replace_pattern(pattern, replacement, options);
    CHECK(matches.size() == 1 && module.target(matches.view().replacements(0).at(0)) == "torch.mul");

    const fxir::Node mul = module.find_node("mul"), x = module.find_node("x");
    try {
        module.replace_all_uses_with(mul, x, [](fxir::ModuleView, fxir::Node) -> bool { throw 7; });
        CHECK(false);
    } catch (int code) {
        CHECK(code == 7);
    }
    CHECK(module.replace_all_uses_with(mul, x, [](fxir::ModuleView, fxir::Node) { return true; }) == 1);
    CHECK(module.eliminate_dead_code() == 2);
    module.lint();
}

// What is there twice goes, and what is known is a member.
void cleaning() {
    fxir::Module module = fxir::Module::read_code(
        "def f(x):\n a = torch.tensor([1, 2])\n b = torch.tensor([1, 2])\n c = torch.mul(x, a)\n d = torch.mul(x, b)\n"
        " return torch.add(c, d)\n");
    const fxir::Node a = module.find_node("a"), d = module.find_node("d");
    CHECK(module.eliminate_common_subexpressions({}, {"torch.tensor", "torch.mul"}).size() == 0);
    const auto stays = [](fxir::ModuleView view, fxir::Node node) { return view.target(node) == "torch.tensor"; };
    CHECK(module.eliminate_common_subexpressions(stays).size() == 0);
    const fxir::NodeMap merged = module.eliminate_common_subexpressions();
    CHECK(merged.size() == 2 && merged[d] == module.find_node("c") && module.op(d) == 0);
    CHECK(module.lift_constants(15) == 0 && module.lift_constants() == 1 && module.op(a) == FXIR_OP_GET_ATTR);
    CHECK(module.target(a) == "_tensor_constant0" && module.deduplicate_get_attr().size() == 0);
    CHECK(module.delete_unused_attributes() == 0);
    module.replace_all_uses_with(a, module.find_node("x"));
    CHECK(module.eliminate_dead_code() == 1 && module.delete_unused_attributes() == 1);
    CHECK(module.member_kind("_tensor_constant0") == 0);
    module.lint();
}

// A module called, then inlined.
void splicing() {
    fxir::Module module("Net");
    module.set_submodule("sub", fxir::Module::read_code("def f(a, b = 2): return torch.add(a, b)"));
    const fxir::Node call = module.call_module("sub", {module.placeholder("x")});
    module.output(call);
    fxir::CopyOptions options;
    options.names = FXIR_COPY_NAMES_PREFIXED;
    options.prefix = "sub";
    CHECK(module.inline_submodule(call, options).size() == 1);
    const fxir::Node add = module.find_node("sub_add");
    CHECK(module.target(add) == "torch.add" && module.arg_count(add) == 2);
    CHECK(module.member_kind("sub") == FXIR_MEMBER_NONE);
    fxir::Module other("Other");
    options.names = FXIR_COPY_NAMES_KEEP;
    other.graph_copy(module, {}, nullptr, FXIR_AT_DEFAULT, {}, options);
    CHECK(bool(other.find_node("sub_add")));
    CHECK(status_of([&] { other.node_copy(other, other.first(), {}, FXIR_AT_DEFAULT, {}, options); }) ==
          FXIR_ALREADY_EXISTS);
}

std::string code(const fxir::Module &module) {
    std::string text;
    for (fxir::Node node : module.nodes()) text += std::string(module.target(node)) + " ";
    return text;
}

// What is built for each match, functions that tell and compare, sets of rules; and what they throw.
void rules() {
    fxir::Module module = fxir::Module::read_code("def f(x: \"f32[8]\"): return half(half(twice(x, 2), 3), 4)");
    const fxir::Module pattern = fxir::Module::read_code("def p(x, n): return half(x, n)");
    fxir::RewriteOptions options;
    int told = 0;
    options.build = [&](fxir::ModuleView, fxir::MatchesView found) -> std::optional<fxir::Module> {
        if (found.argument(0, "n")->value.integer != 3) return std::nullopt;
        return fxir::Module::read_code("def r(x, n): return end(begin(x, n))");
    };
    options.meta_functions.push_back({"begin", [&](fxir::Module &, fxir::Node) { throw 5; }});
    const auto thrown_by = [&](auto call) {
        try {
            call();
        } catch (int thrown) {
            return thrown;
        }
        return 0;
    };
    CHECK(thrown_by([&] { module.replace_pattern_with(pattern, options); }) == 5);
    CHECK(code(module) == "x twice half half output ");
    options.meta_functions[0].second = [&](fxir::Module &replacement, fxir::Node node) {
        told++;
        fxir::TensorMeta meta;
        meta.dtype = FXIR_DTYPE_FLOAT32;
        meta.shape = {4};
        replacement.set_tensor_meta(node, meta);
    };
    CHECK(module.replace_pattern_with(pattern, options).size() == 1 && told == 1);
    CHECK(code(module) == "x twice begin end half output ");
    CHECK(module.shape(module.find_node("begin")) == std::vector<std::int64_t>{4});

    fxir::MatchOptions match;
    match.nodes_are_equal = [&](fxir::ModuleView view, fxir::Node node, fxir::Node, bool) {
        return view.target(node) == "half" || view.target(node) == "twice";
    };
    CHECK(module.match_pattern(pattern, match).size() == 2);
    match.literals_are_equal = [](const fxir_arg &, const fxir_arg &, bool) -> bool { throw 6; };
    const fxir::Module third = fxir::Module::read_code("def p(x): return half(x, 3)");
    CHECK(thrown_by([&] { module.match_pattern(third, match); }) == 6);
    match.literals_are_equal = [](const fxir_arg &literal, const fxir_arg &in_pattern, bool) {
        return literal.value.integer == in_pattern.value.integer + 1;
    };
    CHECK(module.match_pattern(third, match).size() == 1);

    fxir::PatternSet set;
    {
        // Kept by the set: whatever is captured lives as long.
        const auto calls = std::make_shared<int>(0);
        fxir::MatchOptions counting;
        counting.filter = [calls](fxir::ModuleView, fxir::MatchesView) {
            if (++*calls == 1) throw 7;
            return true;
        };
        CHECK(set.add(fxir::Module::read_code("def p(x, n): return twice(x, n)"),
                      fxir::Module::read_code("def r(x, n): return half(x, n)"), std::move(counting)) == 0);
        CHECK(set.add(pattern, fxir::Module::read_code("def r(x, n): return x")) == 1 && set.size() == 2);
    }
    CHECK(thrown_by([&] { set.apply(module); }) == 7);
    CHECK(code(module) == "x twice begin end half output ");
    const auto once = set.apply(module);
    CHECK(once.size() == 2 && once[0].size() == 1 && once[1].size() == 1);
    CHECK(code(module) == "x half begin end output ");
    std::size_t rounds = 0;
    CHECK(set.apply_to_fixpoint(module, 9, &rounds)[1].size() == 1 && rounds == 1);
    CHECK(code(module) == "x begin end output ");
}

void tracing() {
    const fxir::Module made = fxir::trace({"x", "y"}, [](fxir::Tracer &, const std::vector<fxir::Value> &in) {
        const fxir::Value sum = 2 * in[0] + in[1] - 1.5;
        return fxir::Arg((-(sum / in[1] % 3))[0].method("view", {-1}).attr("shape"));
    });
    std::string targets;
    for (fxir::Node node : made.nodes()) targets += std::string(made.target(node)) + " ";
    CHECK(targets == "x y _operator.mul _operator.add _operator.sub _operator.truediv _operator.mod _operator.neg "
                     "_operator.getitem view builtins.getattr output ");
    const fxir::ArgsSnapshot args = made.args(made.find_node("mul"));
    CHECK(args[0].kind == FXIR_ARG_INT && args[1].kind == FXIR_ARG_NODE);
    // What is thrown first is what comes out, whatever is made of it on the way.
    const fxir::TraceRewrite refuse = [](fxir::Tracer &, const fxir::Operation &) -> std::optional<fxir::Value> {
        throw std::string("first");
    };
    try {
        fxir::trace({"x"}, [](fxir::Tracer &, const std::vector<fxir::Value> &in) { return fxir::Arg(~in[0]); }, {refuse});
        CHECK(false);
    } catch (const std::string &thrown) {
        CHECK(thrown == "first");
    }
}

void text() {
    fxir::Module made = fxir::Module::read_code("def f(self, x: \"f32[2, 3]\"):\n    return self.act(x + 1)\n");
    fxir::Module sub = made.add_submodule("sub", FXIR_MODULE_GRAPH, "Sub");
    sub.output(sub.placeholder("y"));
    made.set_attribute("p", 0.5);
    CHECK((made.submodule_names() == std::vector<std::string>{"act", "sub"}));
    CHECK((made.attribute_names() == std::vector<std::string>{"p"}));
    CHECK(made.size_of(made.find_node("x")).output_bytes == 24);
    CHECK(made.name(made.append_code("z = torch.relu(act)")) == "z");
    CHECK(made.print().text().find("    z = torch.relu(act);  z = None\n") != std::string_view::npos);
    CHECK(status_of([&] { made.append_code("z = ("); }) == FXIR_PARSE);
}

void passes() {
    fxir::Module made = fxir::Module::read_code("def f(x):\n    y = torch.relu(x)\n    z = torch.neg(y)\n    return y\n");
    CHECK(fxir::PassManager::built_in().size() == fxir_built_in_pass_count());
    fxir::PassManager passes;
    int runs = 0, dumps = 0;
    passes.add("gelu", [&runs](fxir::Module &module) {
        runs++;
        module.set_target(module.find_node("y"), "torch.gelu");
    });
    passes.add("eliminate_dead_code");
    CHECK(passes.size() == 2 && passes.name(1) == "eliminate_dead_code");
    CHECK(status_of([&] { passes.add("unknown"); }) == FXIR_NOT_FOUND);
    CHECK(status_of([&] { passes.add("empty", fxir::PassManager::Pass()); }) == FXIR_NULL_ARGUMENT);
    fxir::PassOptions options;
    options.steps = 3;
    options.run_checks_after_each_pass = true;
    options.dump = [&dumps](std::int32_t when, fxir::ModuleView module, const fxir_pass_run &run) {
        dumps++;
        CHECK(module.node_count() == (when == FXIR_PASS_AFTER ? run.nodes_after : run.nodes_before));
    };
    const fxir::PassReport report = passes.run(made, options);
    CHECK(runs == 2 && dumps == 8 && report.size() == 4 && report.modified());
    CHECK(report[0].modified == 1 && report[2].modified == 0 && report[1].nodes_after == 3);
    CHECK(made.target(made.find_node("y")) == "torch.gelu" && made.node_count() == 3);
    CHECK(report.print().text().find("gelu") != std::string_view::npos);
    CHECK(status_of([&] { report[4]; }) == FXIR_OUT_OF_RANGE);

    // What a pass or a dump throws comes out, and the module is as it was.
    passes.add("throws", [](fxir::Module &module) {
        module.erase_node(module.output_node());
        throw std::string("thrown");
    });
    try {
        passes.run(made);
        CHECK(false);
    } catch (const std::string &thrown) {
        CHECK(thrown == "thrown" && made.output_node());
    }
    options.dump = [](std::int32_t, fxir::ModuleView, const fxir_pass_run &) { throw 5; };
    try {
        passes.run(made, options);
        CHECK(false);
    } catch (int thrown) {
        CHECK(thrown == 5);
    }
    passes.add_constraint("throws", "gelu");
    CHECK(status_of([&] { passes.validate_constraints(); }) == FXIR_INVALID_ARGUMENT);
    // Failures of calls come out as what they are.
    fxir::PassManager failing;
    failing.add("fails", [](fxir::Module &module) { module.set_target(fxir::Node(), "f"); });
    CHECK(status_of([&] { failing.run(made); }) == FXIR_STALE_NODE);
}

void json() {
    fxir::Module made("GraphModule");
    const fxir::Node x = made.placeholder("x");
    made.output(made.call_function("torch.relu", {x}));
    fxir_serialize_options options;
    fxir_serialize_options_init(&options);
    options.allow_missing_meta = 1;
    auto [text, weights] = made.serialize(&options);
    CHECK(weights.size() == 0 && text.text().find("torch.relu") != std::string_view::npos);
    made.save_json("cpp.json", "cpp.safetensors", &options);
    const fxir::Module again = fxir::Module::load_json("cpp.json");
    CHECK(fxir::Module::read_json(text.text()).node_count() == 3);
    CHECK(again.node_count() == 3 && again.target(again.find_node("relu")) == "torch.relu");

    auto older = fxir::serialize_options(FXIR_SCHEMA_TORCH_1_9);
    older.allow_missing_meta = 1;
    CHECK(made.serialize(&older).first.text().find("users") == std::string_view::npos);
    older.users = FXIR_YES;
    CHECK(made.serialize(&older).first.text().find("users") != std::string_view::npos);
}

void sizes() {
    fxir::Module made("GraphModule");
    const fxir::Node x = made.placeholder("x");
    fxir_size_options options;
    fxir_size_options_init(&options);
    CHECK(status_of([&] { made.size_of(x, options); }) == FXIR_NOT_FOUND);
    const std::int64_t shape[] = {3};
    fxir_tensor_meta meta;
    fxir_tensor_meta_init(&meta);
    meta.dtype = FXIR_DTYPE_FLOAT32;
    meta.rank = 1;
    meta.shape = shape;
    CHECK(fxir_node_set_tensor_meta(made.get(), x.id, &meta, nullptr) == FXIR_OK);
    CHECK(made.size_of(x, options).total_bytes == 12);
    CHECK(made.size_of_all(options).size() == 1);
}

void lowering() {
    fxir::Module made("GraphModule");
    made.add_submodule("own", FXIR_MODULE_LEAF, "my.Own");
    made.set_attribute("own.size", 3);
    made.output(made.call_module("own", {made.placeholder("x")}));
    fxir::LoweringAttrs attrs;
    CHECK(status_of([&] { made.lift_lowering_attrs_to_nodes(attrs, true); }) == FXIR_UNSUPPORTED);
    CHECK(status_of([&] { attrs.set("my.Own", {"size", "size"}); }) == FXIR_INVALID_ARGUMENT);
    attrs.set("my.Own", {"size"});
    CHECK(made.lift_lowering_attrs_to_nodes(attrs, true) == 1);
    auto options = fxir::serialize_options();
    options.allow_missing_meta = 1;
    options.strict_lowering = 1;
    CHECK(status_of([&] { made.serialize(&options); }) == FXIR_UNSUPPORTED);
    options.lowering = attrs.get();
    CHECK(made.serialize(&options).first.text().find("\"size\":\"3\"") != std::string_view::npos);
}

} // namespace

int main() {
    owners();
    reading();
    errors();
    callbacks();
    cleaning();
    splicing();
    rules();
    tracing();
    text();
    passes();
    json();
    sizes();
    lowering();
    std::printf("%d checks, %d failed\n", checks, failures);
    return failures ? 1 : 0;
}
