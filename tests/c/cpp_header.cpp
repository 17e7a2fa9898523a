// fxir.hpp: what it gives back, what it throws, what it frees, and that what callbacks throw comes out
// on the other side of the C functions.
#include <fxir.hpp>

#include <array>
#include <cstring>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "check.h"

namespace {

using Strings = std::vector<std::string>;
using Sizes = std::vector<std::int64_t>;

// Thrown by callbacks: no std::exception, so that nothing catches it by chance.
struct Thrown {
    int number;
};

// The status of the fxir::Error that `call` throws, FXIR_OK when it throws none; its message is kept.
std::string message;
template <class Call>
fxir_status status_of(Call call) {
    message.clear();
    try {
        call();
        return FXIR_OK;
    } catch (const fxir::Error &error) {
        message = error.what();
        return error.status();
    }
}

// The number of the Thrown that `call` throws, 0 when it throws none.
template <class Call>
int thrown_by(Call call) {
    try {
        call();
        return 0;
    } catch (const Thrown &thrown) {
        return thrown.number;
    }
}

// What `call` throws leaves the module as it was.
template <class Call>
void leaves(const fxir::Module &module, Call call) {
    char *before = picture(module.get());
    call();
    check_unchanged(module.get(), before, "what was thrown", __FILE__, __LINE__);
}

Strings names_of(const fxir::ModuleView &module) {
    Strings names;
    for (fxir::Node node : module.nodes()) names.emplace_back(module.name(node));
    return names;
}

// x -> target(x) -> output
fxir::Module unary(const std::string &target) {
    fxir::Module module;
    module.output(module.call_function(target, {module.placeholder("x")}));
    return module;
}

void arguments() {
    fxir::Module module("Args");
    const fxir::Node x = module.placeholder("x");
    const std::string with_nul("a\0b", 3);
    fxir::Args inner;
    for (int i = 0; i < 3; i++) inner.push_back(i);
    const fxir::Node node = module.call_function(
        "f",
        {x, nullptr, true, 1, 2L, -3LL, 0.5, "text", with_nul, fxir::Arg::list(inner), fxir::Arg::tuple({x, "t"}),
         fxir::Arg::dict({{"key", fxir::Arg::list({x})}, {7, nullptr}}), fxir::Arg::slice(nullptr, x, -1),
         fxir::Arg::dtype(FXIR_DTYPE_INT8), fxir::Arg::device("cuda:0"),
         fxir::Arg::spelled(FXIR_ARG_MEMORY_FORMAT, "torch.channels_last")},
        {{"dim", 1}, {"out", x}});
    const fxir::ArgsSnapshot args = module.args(node);
    std::vector<std::uint32_t> kinds;
    for (const fxir_arg &arg : args) kinds.push_back(arg.kind);
    CHECK((kinds == std::vector<std::uint32_t>{FXIR_ARG_NODE, FXIR_ARG_NONE, FXIR_ARG_BOOL, FXIR_ARG_INT, FXIR_ARG_INT,
                                               FXIR_ARG_INT, FXIR_ARG_FLOAT, FXIR_ARG_STR, FXIR_ARG_STR, FXIR_ARG_LIST,
                                               FXIR_ARG_TUPLE, FXIR_ARG_DICT, FXIR_ARG_SLICE, FXIR_ARG_DTYPE,
                                               FXIR_ARG_DEVICE, FXIR_ARG_MEMORY_FORMAT}));
    CHECK(args.size() == 16 && args[0].value.node == x.id && args[5].value.integer == -3 && args[6].value.real == 0.5);
    CHECK(std::string(args[7].value.text) == "text" && std::string(args[8].value.text, args[8].count) == with_nul);
    CHECK(args[9].count == 3 && args[9].value.items[2].value.integer == 2);
    CHECK(args[10].value.items[0].value.node == x.id && std::string(args[10].value.items[1].value.text) == "t");
    CHECK(args[11].count == 2 && args[11].value.items[1].value.items[0].value.node == x.id);
    CHECK(args[12].value.items[2].value.integer == -1 && args[13].value.integer == FXIR_DTYPE_INT8);
    CHECK(std::string(args[14].value.text) == "cuda:0");
    CHECK(args.kwarg_count() == 2 && args.kwarg("dim")->value.integer == 1 && args.kwarg("none") == nullptr);
    CHECK(std::string(args.kwargs()[1].name) == "out");
    // A copy of an argument keeps what it points into, whatever becomes of the first.
    fxir::Arg kept(nullptr);
    {
        const fxir::Arg first = fxir::Arg::list({fxir::Arg::tuple({std::string(100, 'a'), x})});
        kept = first;
    }
    module.set_args(node, {kept});
    CHECK(module.args(node)[0].value.items[0].value.items[0].count == 100);
    // A number that may be a node's is none until that is said.
    CHECK(!(std::is_constructible<fxir::Arg, unsigned long>::value));
    CHECK((std::is_constructible<fxir::Arg, fxir::Node>::value));
    CHECK(!fxir::Node() && x && x == fxir::Node(x.id) && x != node);
}

void building() {
    fxir::Module module("Net");
    CHECK(module.kind() == FXIR_MODULE_GRAPH && module.type_name() == "Net" && module.path().empty());
    fxir::Module leaf = module.add_submodule("block.conv", FXIR_MODULE_LEAF, "Conv");
    leaf.set_attribute("stride", fxir::Arg::tuple({1, 1}));
    static const std::array<float, 4> data{1, 2, 3, 4};
    leaf.set_tensor("weight", fxir::Tensor::borrow(FXIR_DTYPE_FLOAT32, {2, 2}, data.data(), sizeof data));
    module.set_tensor("scale", fxir::Tensor::copy(FXIR_DTYPE_FLOAT32, {1}, data.data(), 4), FXIR_MEMBER_BUFFER);
    CHECK(leaf.path() == "block.conv" && leaf.kind() == FXIR_MODULE_LEAF && leaf.origin() != module.origin());
    CHECK((module.submodule_names() == Strings{"block"}));
    CHECK((leaf.attribute_names() == Strings{"stride", "weight"}));
    CHECK(module.member_kind("block.conv.weight") == FXIR_MEMBER_PARAMETER);
    CHECK(module.attribute("block.conv.stride")[0].count == 2);
    CHECK(module.tensor("block.conv.weight").data() == data.data());

    const fxir::Node x = module.placeholder("x"), conv = module.call_module("block.conv", {x});
    const fxir::Node scale = module.get_attr("scale"), mul = module.call_function("torch.mul", {conv, scale});
    const fxir::Node view = module.call_method("view", {mul, -1}), out = module.output(view);
    const fxir::Node neg = module.create_node(FXIR_OP_CALL_FUNCTION, "torch.neg", {x}, {}, "minus", FXIR_AT_AFTER, x);
    CHECK((names_of(module) == Strings{"x", "minus", "block_conv", "scale", "mul", "view", "output"}));
    CHECK(module.node_count() == 7 && module.first() == x && module.last() == out && module.output_node() == out);
    CHECK(module.next(x) == neg && module.prev(conv) == neg && module.is_before(x, out) && !module.is_before(out, x));
    CHECK(module.find_node("mul") == mul && !module.find_node("none") && !module.next(out));
    CHECK(module.op(mul) == FXIR_OP_CALL_FUNCTION && module.op_name(view) == "call_method");
    CHECK(module.target(conv) == "block.conv" && module.arg_count(mul) == 2 && module.arg_node(mul, 1) == scale);
    CHECK((module.users(x) == std::vector<fxir::Node>{conv, neg}) && module.user_count(x) == 2);
    CHECK((module.input_nodes(mul) == std::vector<fxir::Node>{conv, scale}));
    CHECK(module.tensor(conv, "weight").data() == data.data() && module.tensor(scale).size() == 4);
    CHECK(module.is_impure(x) && !module.is_impure(mul));
    module.lint();

    // Editing.
    module.set_meta(mul, "mine", "entry");
    module.set_meta(mul, "more", 1);
    module.delete_meta(mul, "more");
    CHECK((module.meta_keys(mul) == Strings{"mine"}));
    CHECK(std::string(module.meta(mul, "mine")[0].value.text) == "entry");
    module.set_type(mul, "Tensor");
    module.set_comment(mul, "words");
    module.set_name(mul, "product");
    module.set_target(mul, "torch.multiply");
    CHECK(module.type(mul) == "Tensor" && module.comment(mul) == "words" && module.name(mul) == "product");
    module.set_arg(mul, 1, 2);
    module.insert_arg(mul, 2, scale);
    module.set_kwargs(mul, {{"a", 1}});
    module.set_kwarg(mul, "b", x);
    CHECK(module.args(mul).size() == 3 && module.args(mul).kwarg("b")->value.node == x.id);
    module.replace_input_with(mul, scale, x);
    CHECK(module.users(scale).empty());
    module.erase_node(scale);
    module.set_op(view, FXIR_OP_CALL_FUNCTION);
    module.move_before(neg, out);
    module.move_after(neg, x);
    CHECK((names_of(module) == Strings{"x", "minus", "block_conv", "product", "view", "output"}));

    // What nodes yield.
    fxir::TensorMeta meta;
    meta.dtype = FXIR_DTYPE_FLOAT16;
    meta.shape = {2, 3};
    CHECK(status_of([&] { module.value(x); }) == FXIR_NOT_FOUND);
    meta.stride = Sizes{3};
    CHECK(status_of([&] { module.set_tensor_meta(x, meta); }) == FXIR_INVALID_ARGUMENT);
    meta.stride = Sizes{3, 1};
    meta.requires_grad = false;
    meta.device = "cpu";
    module.set_tensor_meta(x, meta);
    CHECK(module.dtype(x) == FXIR_DTYPE_FLOAT16 && (module.shape(x) == Sizes{2, 3}));
    const fxir::ValuesSnapshot value = module.value(x);
    CHECK(value.size() == 1 && value.root().kind == FXIR_VALUE_TENSOR && value[0].requires_grad == 0);
    CHECK(std::string(value[0].device) == "cpu" && value[0].memory_format == nullptr && value[0].stride[0] == 3);
    CHECK(module.size_of(x).output_bytes == 12 && status_of([&] { module.size_of_all(); }) == FXIR_NOT_FOUND);
    for (fxir::Node node : module.nodes()) module.set_tensor_meta(node, meta);
    const std::vector<fxir::NodeSize> all = module.size_of_all();
    CHECK(all.size() == 5 && all[0].node == x.id && all[2].node == conv.id && all[2].total_bytes == 12 + 16);
    module.set_value(x, nullptr);
    CHECK(module.dtype(x) == FXIR_DTYPE_NONE && module.shape(x).empty());
    CHECK(fxir::dtype_name(FXIR_DTYPE_INT8) == "torch.int8" && fxir::dtype_name(-1).empty());
    CHECK(fxir::dtype_from_name("int8") == FXIR_DTYPE_INT8 && fxir::dtype_bits(FXIR_DTYPE_INT8) == 8);
}

void errors() {
    fxir::Module module = unary("f");
    const fxir::Node x = module.first();
    leaves(module, [&] {
        CHECK(status_of([&] { module.erase_node(x); }) == FXIR_IN_USE && message.find("used by f") != std::string::npos);
        CHECK(status_of([&] { module.erase_node(fxir::Node()); }) == FXIR_STALE_NODE);
        CHECK(status_of([&] { module.submodule("none"); }) == FXIR_NOT_FOUND);
        CHECK(status_of([&] { module.call_function("", {x}); }) == FXIR_INVALID_ARGUMENT);
        CHECK(status_of([&] { module.placeholder("\xff"); }) == FXIR_INVALID_UTF8);
        // C would take these to end before the NUL.
        CHECK(status_of([&] { module.placeholder(std::string("a\0b", 3)); }) == FXIR_INVALID_ARGUMENT);
        CHECK(message.find("NUL") != std::string::npos);
        CHECK(status_of([&] { module.call_function("f", {}, {{std::string("a\0b", 3), 1}}); }) == FXIR_INVALID_ARGUMENT);
        CHECK(status_of([&] { fxir::Weights::open(std::string("a\0b", 3)); }) == FXIR_INVALID_ARGUMENT);
    });
    try {
        module.erase_node(x);
        CHECK(!"an erased node that is in use");
    } catch (const std::exception &error) { // as any other
        const auto &own = dynamic_cast<const fxir::Error &>(error);
        CHECK(own.node() == x.id && own.line() == 0 && own.column() == 0 && own.callback_code() == 0);
    }
    try {
        fxir::Module::read_json("{\n oops");
        CHECK(!"that is no JSON");
    } catch (const fxir::Error &error) {
        CHECK(error.status() == FXIR_PARSE && error.line() == 2 && error.column() >= 2 && error.node() == 0);
        const fxir::Error copy = error; // may outlive the first
        CHECK(std::string(copy.what()) == error.what() && copy.status() == FXIR_PARSE);
    }
    // An error of which the C function told nothing has a message too.
    CHECK(std::string(fxir::Error(FXIR_IO, static_cast<fxir_error *>(nullptr)).what()) == "FXIR_IO");
}

void owners() {
    CHECK(std::is_nothrow_move_constructible<fxir::Module>::value && !std::is_copy_constructible<fxir::Module>::value);
    CHECK(std::is_nothrow_move_assignable<fxir::Tensor>::value && !std::is_copy_assignable<fxir::Matches>::value);
    fxir_module *raw = nullptr;
    {
        fxir::Module first("First"), second("Second");
        raw = first.get();
        fxir_module *gone = second.get();
        second = std::move(first);
        CHECK(fxir_module_kind(gone) == FXIR_MODULE_NONE); // what it owned is freed
        CHECK(second.get() == raw && second.type_name() == "First");
        CHECK(first.get() == nullptr && first.type_name().empty() && first.nodes().empty() && first.kind() == 0);
        CHECK(status_of([&] { first.placeholder("x"); }) == FXIR_NULL_ARGUMENT);
        CHECK(status_of([&] { first.lint(); }) == FXIR_NULL_ARGUMENT);
        fxir::Module third(std::move(second));
        CHECK(third.get() == raw && static_cast<fxir::ModuleView &>(third).get() == raw && !second.get());
        first = std::move(third);
        fxir::Module &self = first;
        first = std::move(self);
        CHECK(first.get() == raw && fxir_module_kind(raw) == FXIR_MODULE_GRAPH);
        fxir_module *given = first.release();
        CHECK(given == raw && !first.get() && fxir_module_kind(raw) == FXIR_MODULE_GRAPH);
        const fxir::Module back(given);
        const fxir::Module again = back.retain();
        CHECK(again.get() != raw && again.origin() == back.origin());
    }
    CHECK(fxir_module_kind(raw) == FXIR_MODULE_NONE);
    fxir_tensor *bytes = nullptr;
    {
        const float data[1] = {1};
        fxir::Tensor a = fxir::Tensor::copy(FXIR_DTYPE_FLOAT32, {1}, data, 4), b;
        CHECK(a && !b && b.data() == nullptr && b.size() == 0);
        bytes = a.get();
        b = std::move(a);
        CHECK(b && !a && b.get() == bytes);
        std::vector<fxir::Tensor> many;
        many.push_back(std::move(b));
        many.emplace_back();
        CHECK(many[0].get() == bytes && fxir_tensor_dtype(bytes) == FXIR_DTYPE_FLOAT32);
        *many[1].out() = many[0].release();
        many[1].out(); // frees
        CHECK(fxir_tensor_dtype(bytes) == FXIR_DTYPE_NONE && !many[1]);
    }
}

void trees() {
    fxir::Module module = unary("f"), part = unary("g");
    const std::uint64_t origin = part.origin();
    {
        const auto [clone, map] = module.clone_with_map();
        CHECK(clone.origin() == module.origin() && names_of(clone) == names_of(module) && map.size() == 3);
        CHECK(map[module.first()] == clone.first() && !map[clone.first()]);
        for (const fxir_node_pair &pair : map) CHECK(module.name(pair.from) == clone.name(pair.to));
        CHECK(module.clone().node_count() == 3);
    }
    module.set_submodule("copy", part);
    CHECK(module.submodule("copy").origin() == origin && part.node_count() == 3);
    {
        const fxir::Module other = part.retain();
        CHECK(status_of([&] { module.take_submodule("part", std::move(part)); }) == FXIR_BUSY);
        CHECK(part.node_count() == 3); // still ours
    }
    module.take_submodule("part", std::move(part));
    CHECK(!part.get() && module.submodule("part").origin() == origin);
    CHECK((module.submodule_names() == Strings{"copy", "part"}));
    module.set_type_name("Renamed");
    CHECK(module.submodule("").type_name() == "Renamed");
    module.delete_member("copy");
    CHECK(module.delete_all_unused_submodules() == 1 && module.submodule_names().empty());

    // Copies of graphs and nodes.
    fxir::Module to;
    const fxir::Node a = to.placeholder("a");
    fxir::ArgsSnapshot returned;
    const fxir::NodeMap map = to.graph_copy(module, {{module.first().id, a.id}}, &returned);
    CHECK((names_of(to) == Strings{"a", "f"}) && map[module.first()] == a);
    CHECK(returned.size() == 1 && returned[0].value.node == to.find_node("f").id);
    const fxir::Node copy = to.node_copy(module, module.find_node("f"), {{module.first().id, a.id}}, FXIR_AT_AFTER, a);
    CHECK(to.name(copy) == "f_1" && to.next(a) == copy);
    CHECK(status_of([&] { to.node_copy(module, module.find_node("f")); }) == FXIR_INVALID_ARGUMENT);
}

void passes() {
    fxir::Module module = unary("f");
    const fxir::Node x = module.first(), f = module.next(x), dead = module.call_function("dead", {f});
    CHECK(module.replace_target_nodes_with(FXIR_OP_CALL_FUNCTION, "f", FXIR_OP_CALL_METHOD, "m") == 1);
    CHECK(module.eliminate_dead_code([&](fxir::ModuleView view, fxir::Node node) { return view.name(node) == "dead"; }) == 0);
    CHECK(module.eliminate_dead_code() == 1 && module.op(dead) == 0);
    const fxir::Node a = module.create_node(FXIR_OP_CALL_FUNCTION, "a", {f}, {}, "", FXIR_AT_AFTER, f);
    CHECK(module.replace_all_uses_with(f, a, [&](fxir::ModuleView, fxir::Node user) { return user != a; }) == 1);
    CHECK(module.validate_partition({f, a}) && module.arg_node(a, 0) == f);
    fxir::FuseOptions options;
    options.class_name = "Block";
    options.always_return_tuple = true;
    const fxir::Node call = module.fuse({f, a}, "block", options);
    CHECK(module.target(call) == "block" && module.submodule("block").type_name() == "Block");
    CHECK(module.target(module.users(call)[0]) == "_operator.getitem");
    const fxir::Node item = module.users(call)[0], inserted = module.insert_subgm(unary("s"), "block", {x}, {item});
    CHECK(module.target(inserted) == "block_1" && module.users(item).empty());
    CHECK(status_of([&] { module.insert_subgm(unary("s"), "block", {x}, {inserted}, FXIR_TAKEN_NAME_REFUSED); }) ==
          FXIR_ALREADY_EXISTS);
    CHECK(status_of([&] { module.fuse({}, "none"); }) == FXIR_INVALID_ARGUMENT);
    module.move_before(item, call);
    CHECK(status_of([&] { module.lint(); }) == FXIR_LINT);
    CHECK(status_of([&] { module.graph_lint(); }) == FXIR_LINT);
    module.legalize();
    CHECK(module.normalize_args(FXIR_FORM_KEYWORD, FXIR_DEFAULTS_KEEP).misfits == 0);
    module.lint();
    module.graph_lint();
    fxir::Module graph;
    graph.output(graph.call_module("block_1", {graph.placeholder("x")}));
    const fxir::Module lifted = module.lift_subgraph_as_module(graph, "Lifted");
    CHECK(lifted.type_name() == "Lifted" && lifted.member_kind("block_1") == FXIR_MEMBER_SUBMODULE);
    CHECK(lifted.print_tabular().text().substr(0, 6) == "opcode");
    fxir::Module net;
    net.add_submodule("linear", FXIR_MODULE_LEAF, "torch.nn.modules.linear.Linear").set_attribute("in_features", 4);
    const fxir::Node linear = net.call_module("linear", {net.placeholder("x")});
    CHECK(net.lift_lowering_attrs_to_nodes() == 1 && net.meta(linear, "attrs_for_lowering")[0].kind == FXIR_ARG_DICT);
}

void tensors() {
    auto owner = std::make_shared<std::vector<float>>(6, 1.5f);
    const auto size = owner->size() * sizeof(float);
    std::weak_ptr<std::vector<float>> watched = owner;
    CHECK(status_of([&] { fxir::Tensor::share(FXIR_DTYPE_FLOAT32, {2, 4}, owner->data(), size, owner); }) ==
          FXIR_OUT_OF_RANGE);
    CHECK(owner.use_count() == 1); // nothing was taken
    fxir::Tensor tensor = fxir::Tensor::share(FXIR_DTYPE_FLOAT32, {2, 3}, owner->data(), size, owner);
    const void *data = owner->data();
    owner.reset();
    CHECK(tensor.data() == data && tensor.size() == 24 && (tensor.shape() == Sizes{2, 3}) && (tensor.strides() == Sizes{3, 1}));
    CHECK(tensor.is_contiguous() && tensor.dtype() == FXIR_DTYPE_FLOAT32 && tensor.meta().rank == 2);
    fxir::TensorMeta meta;
    meta.dtype = FXIR_DTYPE_QINT32;
    meta.shape = {2, 3};
    fxir::Tensor other = tensor.with_meta(meta);
    CHECK(other.dtype() == FXIR_DTYPE_QINT32 && other.shares_storage(tensor));
    const fxir::Tensor without = fxir::Tensor::without_data(meta);
    CHECK(without.data() == nullptr && without.strides().empty() && (without.shape() == Sizes{2, 3}));

    fxir::Weights weights = fxir::Weights::create();
    weights.set("w", tensor);
    CHECK(weights.size() == 1 && weights.name(0) == "w" && weights["w"].data() == data && weights.tensor(0).data() == data);
    CHECK(status_of([&] { weights["none"]; }) == FXIR_NOT_FOUND && status_of([&] { weights.tensor(1); }) == FXIR_OUT_OF_RANGE);
    std::string file;
    weights.write_to([&](std::string_view piece) { file += piece; });
    weights.write("cpp.safetensors");
    weights.write_sharded("cpp.safetensors.index.json", 1);
    CHECK(fxir::Weights::open("cpp.safetensors.index.json").size() == 1);
    auto writer = fxir::WeightsWriter::create("streamed.safetensors");
    writer.announce("w", tensor.dtype(), tensor.shape());
    writer.write(fxir_tensor_data(tensor.get()), fxir_tensor_size(tensor.get()));
    writer.finish();
    CHECK(fxir::Weights::open("streamed.safetensors")["w"].shape() == tensor.shape());
    {
        const auto round = fxir::Tensor::from_dlpack(tensor.to_dlpack());
        CHECK(fxir::Tensor::from_dlpack(round.to_dlpack_unversioned()).shares_storage(tensor));
    }
    CHECK(thrown_by([&] { weights.write_to([](std::string_view) { throw Thrown{3}; }); }) == 3);
    const fxir::Weights opened = fxir::Weights::open("cpp.safetensors"), borrowed = fxir::Weights::borrow(file.data(), file.size());
    CHECK(opened["w"].size() == 24 && std::memcmp(opened["w"].data(), data, 24) == 0);
    CHECK(static_cast<const char *>(borrowed["w"].data()) > file.data());
    tensor = fxir::Tensor();
    other = fxir::Tensor();
    CHECK(!watched.expired()); // the set has it
    weights = fxir::Weights();
    CHECK(watched.expired());
}

void json() {
    const std::string folder = FXIR_TESTS_DIR "/cases/serialize/linear_attr_multi_output/";
    const fxir::Module module = fxir::Module::load_json(folder + "serialized.json", folder + "weights.safetensors");
    const auto [text, weights] = module.serialize();
    const fxir::Module again = fxir::Module::read_json(text.text(), &weights), bare = fxir::Module::read_json(text.text());
    CHECK(names_of(again) == names_of(module) && again.serialize().first.text() == text.text());
    CHECK(again.tensor("linear.weight").data() == module.tensor("linear.weight").data()); // shared
    CHECK(bare.tensor("linear.weight").data() == nullptr && bare.serialize().first.text() == text.text());
    std::string pieces;
    const fxir::Weights named = module.serialize_to([&](std::string_view piece) { pieces += piece; });
    CHECK(pieces == text.text() && named.size() == weights.size());
    CHECK(thrown_by([&] { module.serialize_to([](std::string_view) { throw Thrown{4}; }); }) == 4);
    module.save_json("cpp.json", "cpp_json.safetensors");
    CHECK(fxir::Module::load_json("cpp.json", "cpp_json.safetensors").serialize().first.text() == text.text());
    module.save_json("cpp.json"); // no weights
    CHECK(status_of([&] { fxir::Module::load_json("no_such.json"); }) == FXIR_IO);
    CHECK(status_of([&] { fxir::Module::read_json(""); }) == FXIR_PARSE);
}

void native() {
    const std::string folder = FXIR_TESTS_DIR "/cases/serialize/linear_attr_multi_output/";
    const fxir::Module module = fxir::Module::load_json(folder + "serialized.json", folder + "weights.safetensors");
    module.save("cpp.fxir");
    const fxir::Module again = fxir::Module::load("cpp.fxir");
    CHECK(names_of(again) == names_of(module) && again.print().text() == module.print().text());
    const fxir::Buffer bytes = module.save_to_buffer();
    CHECK(again.save_to_buffer().text() == bytes.text());
    std::string pieces;
    again.save_to([&](std::string_view piece) { pieces += piece; });
    CHECK(pieces == bytes.text());
    CHECK(thrown_by([&] { module.save_to([](std::string_view) { throw Thrown{4}; }); }) == 4);
    int released = 0;
    {
        const auto release = [](void *data, const void *) { ++*static_cast<int *>(data); };
        const fxir::Module third = fxir::Module::load_borrowed(pieces.data(), pieces.size(), release, &released);
        CHECK(third.save_to_buffer().text() == pieces && released == 0);
        const char *weight = static_cast<const char *>(third.tensor("linear.weight").data());
        CHECK(weight > pieces.data() && weight < pieces.data() + pieces.size());
    }
    CHECK(released == 1);
    CHECK(status_of([&] { fxir::Module::load("no_such.fxir"); }) == FXIR_IO);
    CHECK(status_of([&] { fxir::Module::load_borrowed("a", 1); }) == FXIR_PARSE);
}

void matching() {
    fxir::Module module;
    const fxir::Node x = module.placeholder("x"), f1 = module.call_function("f", {x}), f2 = module.call_function("f", {f1});
    module.output(module.call_function("f", {f2}));
    const fxir::Module pattern = unary("f"), replacement = unary("g");
    fxir::MatchOptions options;
    int asked = 0;
    options.filter = [&](fxir::ModuleView view, fxir::MatchesView match) {
        asked++;
        CHECK(match.size() == 1 && view.node_count() == 5 && view.submodule("").node_count() == 5);
        return match.node(0, "f") == f2;
    };
    {
        const fxir::Matches found = module.match_pattern(pattern, options);
        const fxir::MatchesView view = found.view();
        const fxir::Node node = view.pattern_node("f");
        CHECK(asked == 3 && found.size() == 1 && view.pattern_nodes().size() == 3 && node == pattern.find_node("f"));
        CHECK(view.node(0, node) == f2 && view.node(0, "x") == f1 && view.node_name(0, node) == "f_1");
        CHECK(view.node_op(0, node) == FXIR_OP_CALL_FUNCTION && view.argument(0, "x")->value.node == f1.id);
        CHECK((view.anchors(0) == std::vector<fxir::Node>{f2}) && view.replacements(0).empty());
        CHECK(!view.pattern_node("none") && !view.node(0, "none") && view.argument(0, "none") == nullptr);
    }
    // What a filter throws comes out, and the module is as it was.
    options.filter = [&](fxir::ModuleView, fxir::MatchesView) -> bool { throw Thrown{7}; };
    leaves(module, [&] {
        CHECK(thrown_by([&] { module.replace_pattern(pattern, replacement, options); }) == 7);
        CHECK(thrown_by([&] { module.match_pattern(pattern, options); }) == 7);
    });
    // Also what the library throws in it: here from the module that is busy, and from the view.
    options.filter = [&](fxir::ModuleView view, fxir::MatchesView) {
        CHECK(status_of([&] { module.placeholder("p"); }) == FXIR_BUSY);
        view.tensor("none");
        return true;
    };
    leaves(module, [&] {
        CHECK(status_of([&] { module.replace_pattern(pattern, replacement, options); }) == FXIR_NOT_FOUND);
    });
    // A filter inside a filter: the innermost exception is what comes out of both.
    fxir::Module other = unary("f");
    fxir::MatchOptions inner;
    inner.filter = [](fxir::ModuleView, fxir::MatchesView) -> bool { throw Thrown{8}; };
    options.filter = [&](fxir::ModuleView, fxir::MatchesView) {
        other.replace_pattern(pattern, replacement, inner);
        return true;
    };
    leaves(module, [&] { CHECK(thrown_by([&] { module.replace_pattern(pattern, replacement, options); }) == 8); });
    // One that was caught is forgotten.
    options.filter = [&](fxir::ModuleView, fxir::MatchesView) {
        CHECK(thrown_by([&] { other.replace_pattern(pattern, replacement, inner); }) == 8);
        return true;
    };
    const fxir::Matches replaced = module.replace_pattern(pattern, replacement, options);
    CHECK(replaced.size() == 3 && (names_of(module) == Strings{"x", "g", "g_1", "g_2", "output"}));
    CHECK(replaced.view().replacements(0).size() == 1 && other.find_node("f"));
    CHECK(module.replace_pattern(pattern, replacement).size() == 0);
    // The other callbacks.
    leaves(module, [&] {
        const auto throws = [](fxir::ModuleView, fxir::Node) -> bool { throw Thrown{9}; };
        CHECK(thrown_by([&] { module.replace_all_uses_with(module.first(), module.last(), throws); }) == 9);
        module.call_function("unused", {module.first()});
        CHECK(thrown_by([&] { module.eliminate_dead_code(throws); }) == 9);
        CHECK(thrown_by([&] { module.eliminate_common_subexpressions(throws); }) == 9);
        module.eliminate_dead_code();
    });
    // Options are those of C.
    fxir::MatchOptions wrong;
    wrong.match_output = true;
    CHECK(status_of([&] { module.replace_pattern(pattern, replacement, wrong); }) == FXIR_INVALID_ARGUMENT);
    wrong.match_output = false;
    wrong.keep_overlapping_matches = true;
    CHECK(status_of([&] { module.replace_pattern(pattern, replacement, wrong); }) == FXIR_INVALID_ARGUMENT);
    wrong.modules = 77;
    CHECK(status_of([&] { module.match_pattern(pattern, wrong); }) == FXIR_INVALID_ARGUMENT);
}

void tracing() {
    using Values = std::vector<fxir::Value>;
    const fxir::TraceRewrite stop = [](fxir::Tracer &, const fxir::Operation &) -> std::optional<fxir::Value> { throw Thrown{5}; };
    const auto negative = [](fxir::Tracer &, const Values &in) -> fxir::Arg { return -in[0]; };
    CHECK(thrown_by([&] { fxir::trace({"x"}, negative, {stop}); }) == 5);
    // A function that takes what a rewrite threw and throws something else: that is what happened.
    const auto changes = [](fxir::Tracer &, const Values &in) -> fxir::Arg {
        try {
            return -in[0];
        } catch (const fxir::Error &error) {
            CHECK(error.status() == FXIR_CALLBACK);
            throw Thrown{6};
        }
    };
    CHECK(thrown_by([&] { fxir::trace({"x"}, changes, {stop}); }) == 6);
    const auto fails_otherwise = [](fxir::Tracer &tracer, const Values &in) -> fxir::Arg {
        CHECK(status_of([&] { -in[0]; }) == FXIR_CALLBACK);
        return tracer.get_attr(std::string("a\0b", 3));
    };
    CHECK(status_of([&] { fxir::trace({"x"}, fails_otherwise, {stop}); }) == FXIR_INVALID_ARGUMENT);
    // One that goes on without: nothing happened, and what comes after is told as it is.
    const auto goes_on = [](fxir::Tracer &, const Values &in) -> fxir::Arg {
        CHECK(status_of([&] { -in[0]; }) == FXIR_CALLBACK);
        return in[0];
    };
    CHECK((names_of(fxir::trace({"x"}, goes_on, {stop})) == Strings{"x", "output"}));
    const fxir::TraceRewrite stop_neg = [](fxir::Tracer &, const fxir::Operation &now) -> std::optional<fxir::Value> {
        if (now.target() == "_operator.neg") throw Thrown{5};
        return std::nullopt;
    };
    const auto then_wrong = [](fxir::Tracer &tracer, const Values &in) -> fxir::Arg {
        CHECK(status_of([&] { -in[0]; }) == FXIR_CALLBACK);
        return tracer.get_attr("nowhere");
    };
    CHECK(status_of([&] { fxir::trace({"x"}, then_wrong, {stop_neg}); }) == FXIR_LINT);
    CHECK(status_of([&] { fxir::trace({std::string("a\0b", 3)}, negative); }) == FXIR_INVALID_ARGUMENT);
}

} // namespace

int main() {
    arguments();
    building();
    errors();
    owners();
    trees();
    passes();
    tensors();
    json();
    native();
    matching();
    tracing();
    return check_result();
}
