/* fxir for C++17: what fxir.h gives, with owners that free, exceptions that carry the status, and
 * callbacks that may throw.
 * SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Header-only; everything is inline over the C functions, which remain usable beside it: every class
 * gives its handle by get(). What the C header says of each function, of lifetimes and of threads holds
 * here too: texts are views that live as long as the C header says. A call that fails throws
 * fxir::Error and changes nothing. */
#ifndef FXIR_HPP
#define FXIR_HPP

#include "fxir_trace.hpp"
#include "fxir_view.hpp"

namespace fxir {

/* How copies of nodes are called; see fxir_copy_options. */
struct CopyOptions {
    std::int32_t names = FXIR_COPY_NAMES_UNIQUE;
    std::string prefix; /* for FXIR_COPY_NAMES_PREFIXED */

    /* The same for C; points into this. */
    fxir_copy_options raw() const {
        fxir_copy_options raw;
        fxir_copy_options_init(&raw);
        raw.names = names;
        raw.prefix = names == FXIR_COPY_NAMES_PREFIXED ? detail::text(prefix) : nullptr;
        return raw;
    }
};

/* How nodes are fused; see fxir_fuse_options. */
struct FuseOptions {
    std::int32_t inputs = FXIR_INPUTS_BY_FIRST_USE;
    bool always_return_tuple = false;
    std::int32_t taken_name = FXIR_TAKEN_NAME_NUMBERED;
    std::string class_name; /* empty: the module's own name */
};

struct RewriteOptions;

/* A module that frees its handle. */
class Module : public ModuleView {
public:
    /* A new module with an empty graph. */
    explicit Module(const std::string &class_name = "GraphModule") : ModuleView(nullptr) {
        detail::call(fxir_module_new, detail::text(class_name), owner_.out());
        set(owner_.get());
    }
    /* Takes a handle over. */
    explicit Module(fxir_module *handle) : ModuleView(handle), owner_(handle) {}
    Module(Module &&other) noexcept : ModuleView(other.get()), owner_(std::move(other.owner_)) { other.set(nullptr); }
    Module &operator=(Module &&other) noexcept {
        owner_ = std::move(other.owner_);
        set(owner_.get());
        other.set(other.owner_.get());
        return *this;
    }

    /* What save() wrote; the file is mapped. */
    static Module load(const std::string &path) { return from(fxir_module_load, detail::text(path)); }
    /* The same from memory that stays the caller's, until `release` is called. */
    static Module load_borrowed(const void *data, std::size_t size, fxir_release release = nullptr,
                                void *user_data = nullptr) {
        return from(fxir_module_load_borrowed, data, size, release, user_data);
    }
    /* Files of torch's serialize_module; without weights the tensors have metadata only. */
    static Module load_json(const std::string &json, const std::string &weights = std::string()) {
        return from(fxir_module_load_json, detail::text(json), weights.empty() ? nullptr : detail::text(weights));
    }
    /* The same from memory. */
    static Module read_json(std::string_view json, const Weights *weights = nullptr) {
        return from(fxir_module_read_json, json.data(), json.size(), weights ? weights->get() : nullptr);
    }

    /* FX code from memory or a file; the members of a module come along. */
    static Module read_code(std::string_view code, const ModuleView *members = nullptr) {
        return from(fxir_module_read_code, code.data(), code.size(), members ? members->get() : nullptr);
    }
    static Module load_code(const std::string &path, const ModuleView *members = nullptr) {
        return from(fxir_module_load_code, detail::text(path), members ? members->get() : nullptr);
    }

    fxir_module *get() const noexcept { return owner_.get(); }
    /* Gives the handle away; the caller frees it. */
    fxir_module *release() noexcept {
        set(nullptr);
        return owner_.release();
    }
    /* A tree of its own: structure copied, tensors shared. */
    Module clone() const {
        fxir_module *made = nullptr;
        detail::call(fxir_module_clone, get(), &made, nullptr);
        return Module(made);
    }
    /* The same, and which node became which. */
    std::pair<Module, NodeMap> clone_with_map() const {
        NodeMap map;
        fxir_module *made = nullptr;
        detail::call(fxir_module_clone, get(), &made, map.out());
        return {Module(made), std::move(map)};
    }
    /* Another handle of the same module. */
    Module retain() const { return from(fxir_module_retain, get()); }

    /* Building: see fxir_graph_call_function and its like. */
    Node placeholder(const std::string &name) { return node(fxir_graph_placeholder, detail::text(name)); }
    Node get_attr(const std::string &target) { return node(fxir_graph_get_attr, detail::text(target)); }
    Node call_function(const std::string &target, const Args &args = {}, const Kwargs &kwargs = {}) {
        return create_node(FXIR_OP_CALL_FUNCTION, target, args, kwargs);
    }
    Node call_method(const std::string &target, const Args &args = {}, const Kwargs &kwargs = {}) {
        return create_node(FXIR_OP_CALL_METHOD, target, args, kwargs);
    }
    Node call_module(const std::string &target, const Args &args = {}, const Kwargs &kwargs = {}) {
        return create_node(FXIR_OP_CALL_MODULE, target, args, kwargs);
    }
    Node output(const Arg &result) { return node(fxir_graph_output, &result.raw()); }
    /* Any op at any place, FXIR_AT_*; a name is made from the target when it is empty. */
    Node create_node(std::int32_t op, const std::string &target, const Args &args = {}, const Kwargs &kwargs = {},
                     const std::string &name = std::string(), std::int32_t position = FXIR_AT_DEFAULT,
                     Node anchor = Node()) {
        const detail::RawArgs raw(args, kwargs);
        return node(fxir_graph_create_node, op, detail::text(target), raw.args.data(), raw.args.size(),
                    raw.kwargs.data(), raw.kwargs.size(), name.empty() ? nullptr : detail::text(name), position,
                    anchor.id);
    }
    /* One statement of FX code, before the output; gives the node that was made last. */
    Node append_code(const std::string &statement) { return node(fxir_graph_append_code, detail::text(statement)); }
    /* The nodes of another graph but its output; `returned`, if given, gets what that returned. */
    NodeMap graph_copy(const ModuleView &source, const std::vector<fxir_node_pair> &given = {},
                       ArgsSnapshot *returned = nullptr, std::int32_t position = FXIR_AT_DEFAULT, Node anchor = Node(),
                       const CopyOptions &options = {}) {
        NodeMap map;
        const fxir_copy_options raw = options.raw();
        detail::call(fxir_graph_copy, get(), source.get(), given.data(), given.size(), position, anchor.id, &raw,
                     returned ? returned->out() : nullptr, map.out());
        return map;
    }
    Node node_copy(const ModuleView &source, Node copied, const std::vector<fxir_node_pair> &inputs = {},
                   std::int32_t position = FXIR_AT_DEFAULT, Node anchor = Node(), const CopyOptions &options = {}) {
        const fxir_copy_options raw = options.raw();
        return node(fxir_graph_node_copy, source.get(), copied.id, inputs.data(), inputs.size(), position, anchor.id,
                    &raw);
    }
    /* The nodes of a graph module in the place of the node that calls it. */
    NodeMap inline_submodule(Node call, const CopyOptions &options = {}) {
        NodeMap map;
        const fxir_copy_options raw = options.raw();
        detail::call(fxir_inline_submodule, get(), call.id, &raw, map.out());
        return map;
    }

    /* Editing: see fxir_node_set_args and its like. */
    void set_op(Node node, std::int32_t op) { detail::call(fxir_node_set_op, get(), node.id, op); }
    void set_target(Node node, const std::string &target) { text(fxir_node_set_target, node, target); }
    void set_name(Node node, const std::string &name) { text(fxir_node_set_name, node, name); }
    void set_type(Node node, const std::string &annotation) { text(fxir_node_set_type, node, annotation); }
    void set_comment(Node node, const std::string &comment) { text(fxir_node_set_comment, node, comment); }
    void set_args(Node node, const Args &args) {
        const detail::RawArgs raw(args);
        detail::call(fxir_node_set_args, get(), node.id, raw.args.data(), raw.args.size());
    }
    void set_kwargs(Node node, const Kwargs &kwargs) {
        const detail::RawArgs raw({}, kwargs);
        detail::call(fxir_node_set_kwargs, get(), node.id, raw.kwargs.data(), raw.kwargs.size());
    }
    void set_arg(Node node, std::size_t index, const Arg &value) {
        detail::call(fxir_node_set_arg, get(), node.id, index, &value.raw());
    }
    void insert_arg(Node node, std::size_t index, const Arg &value) {
        detail::call(fxir_node_insert_arg, get(), node.id, index, &value.raw());
    }
    void set_kwarg(Node node, const std::string &name, const Arg &value) {
        detail::call(fxir_node_set_kwarg, get(), node.id, detail::text(name), &value.raw());
    }
    void set_meta(Node node, const std::string &key, const Arg &value) {
        detail::call(fxir_node_set_meta, get(), node.id, detail::text(key), &value.raw());
    }
    void delete_meta(Node node, const std::string &key) { text(fxir_node_delete_meta, node, key); }
    /* What the node yields; nullptr: it is not known. */
    void set_value(Node node, const fxir_value *value) { detail::call(fxir_node_set_value, get(), node.id, value); }
    void set_tensor_meta(Node node, const fxir_tensor_meta &meta) {
        detail::call(fxir_node_set_tensor_meta, get(), node.id, &meta);
    }
    void set_tensor_meta(Node node, const TensorMeta &meta) { set_tensor_meta(node, meta.raw()); }
    void move_before(Node node, Node anchor) { detail::call(fxir_node_move_before, get(), node.id, anchor.id); }
    void move_after(Node node, Node anchor) { detail::call(fxir_node_move_after, get(), node.id, anchor.id); }
    void erase_node(Node node) { detail::call(fxir_graph_erase_node, get(), node.id); }
    void replace_input_with(Node node, Node input, Node replacement) {
        detail::call(fxir_node_replace_input_with, get(), node.id, input.id, replacement.id);
    }
    /* In those users for which the filter says yes; it may throw. Gives how many there were. */
    std::size_t replace_all_uses_with(Node node, Node replacement, const NodeFilter &filter = {}) {
        detail::NodeAsking asking(filter);
        std::size_t changed = 0;
        fxir_error *error = nullptr;
        const fxir_status status = fxir_node_replace_all_uses_with(get(), node.id, replacement.id, asking.function(),
                                                                   &asking, &changed, &error);
        asking.finish(status, error);
        return changed;
    }

    /* Members, by dotted path. */
    void set_type_name(const std::string &name) { detail::call(fxir_module_set_type_name, get(), detail::text(name)); }
    /* `kind` is FXIR_MODULE_*. */
    Module add_submodule(const std::string &path, std::int32_t kind, const std::string &type_name) {
        return from(fxir_module_add_submodule, get(), detail::text(path), kind, detail::text(type_name));
    }
    /* A copy of `submodule`. */
    void set_submodule(const std::string &path, const ModuleView &submodule) {
        detail::call(fxir_module_set_submodule, get(), detail::text(path), submodule.get());
    }
    /* `submodule` itself, the root of a tree that has no other handles; on failure it stays what it is. */
    void take_submodule(const std::string &path, Module &&submodule) {
        detail::call(fxir_module_set_submodule_take, get(), detail::text(path), submodule.get());
        submodule.release();
    }
    void set_tensor(const std::string &path, const Tensor &tensor, std::int32_t kind = FXIR_MEMBER_PARAMETER) {
        detail::call(fxir_module_set_tensor, get(), detail::text(path), kind, tensor.get());
    }
    void set_attribute(const std::string &path, const Arg &value) {
        detail::call(fxir_module_set_attribute, get(), detail::text(path), &value.raw());
    }
    void delete_member(const std::string &path) { detail::call(fxir_module_delete_member, get(), detail::text(path)); }
    std::size_t delete_all_unused_submodules() { return count(fxir_module_delete_all_unused_submodules); }
    std::size_t delete_unused_attributes() { return count(fxir_module_delete_unused_attributes); }

    /* Passes. A filter may throw. */
    Matches replace_pattern(const ModuleView &pattern, const ModuleView &replacement, const MatchOptions &options = {}) {
        return detail::matching(options, [&](const fxir_match_options *raw, fxir_matches **found, fxir_error **error) {
            return fxir_replace_pattern(get(), pattern.get(), replacement.get(), raw, found, error);
        });
    }
    /* The same with both sides as FX code. */
    Matches replace_pattern_text(const std::string &pattern, const std::string &replacement,
                                 const MatchOptions &options = {}) {
        return detail::matching(options, [&](const fxir_match_options *raw, fxir_matches **found, fxir_error **error) {
            return fxir_replace_pattern_text(get(), detail::text(pattern), detail::text(replacement), raw, found, error);
        });
    }
    /* One replacement for all matches, or one that a function builds for each: see fxir_rewrite.hpp. */
    Matches replace_pattern_with(const ModuleView &pattern, const RewriteOptions &options);
    /* A set of nodes becomes a submodule called `name`; gives the node that calls it. */
    Node fuse(const std::vector<Node> &nodes, const std::string &name, const FuseOptions &options = {}) {
        const std::vector<fxir_node> ids = detail::ids(nodes);
        fxir_fuse_options raw;
        fxir_fuse_options_init(&raw);
        raw.inputs = options.inputs;
        raw.always_return_tuple = options.always_return_tuple;
        raw.taken_name = options.taken_name;
        raw.class_name = options.class_name.empty() ? nullptr : detail::text(options.class_name);
        fxir_node made = 0;
        detail::call(fxir_fuse_as_graphmodule, get(), ids.data(), ids.size(), detail::text(name), &raw, &made, nullptr);
        return made;
    }
    /* A copy of `submodule` is called with `inputs` and stands for `outputs`; gives the node that calls it. */
    Node insert_subgm(const ModuleView &submodule, const std::string &name, const std::vector<Node> &inputs,
                      const std::vector<Node> &outputs, std::int32_t taken_name = FXIR_TAKEN_NAME_NUMBERED) {
        const std::vector<fxir_node> in = detail::ids(inputs), out = detail::ids(outputs);
        return node(fxir_insert_subgm, submodule.get(), detail::text(name), in.data(), in.size(), out.data(), out.size(),
                    taken_name);
    }
    void legalize() { detail::call(fxir_legalize_graph, get()); }
    /* Gives how many nodes had to wait for something they use. */
    std::size_t stable_topological_sort() { return count(fxir_stable_topological_sort); }
    /* `is_impure` decides alone when it is given. Gives how many nodes went. */
    std::size_t eliminate_dead_code(const NodeFilter &is_impure = {}, bool random_is_pure = false) {
        detail::NodeAsking asking(is_impure);
        fxir_dead_code_options raw;
        fxir_dead_code_options_init(&raw);
        raw.random_is_pure = random_is_pure;
        raw.is_impure = asking.function();
        raw.is_impure_data = &asking;
        std::size_t erased = 0;
        fxir_error *error = nullptr;
        const fxir_status status = fxir_eliminate_dead_code(get(), &raw, &erased, &error);
        asking.finish(status, error);
        return erased;
    }
    /* Each gives which node is gone and which stands for it. Nodes of banned targets stay; `is_impure`
     * decides alone when it is given. */
    NodeMap eliminate_common_subexpressions(const NodeFilter &is_impure = {},
                                            const std::vector<std::string> &banned = {}) {
        std::vector<const char *> names;
        for (const std::string &name : banned) names.push_back(detail::text(name));
        detail::NodeAsking asking(is_impure);
        fxir_cse_options raw;
        fxir_cse_options_init(&raw);
        raw.banned = names.data();
        raw.banned_count = names.size();
        raw.is_impure = asking.function();
        raw.is_impure_data = &asking;
        NodeMap map;
        fxir_error *error = nullptr;
        const fxir_status status = fxir_eliminate_common_subexpressions(get(), &raw, nullptr, map.out(), &error);
        asking.finish(status, error);
        return map;
    }
    NodeMap deduplicate_get_attr() {
        NodeMap map;
        detail::call(fxir_deduplicate_get_attr, get(), nullptr, map.out());
        return map;
    }
    /* Gives how many calls became members; 0 bytes: as many as the library's default. */
    std::size_t lift_constants(std::uint64_t max_bytes = 0) { return count(fxir_lift_constants, max_bytes); }
    /* Gives how many nodes there were. */
    std::size_t replace_target_nodes_with(std::int32_t old_op, const std::string &old_target, std::int32_t new_op,
                                          const std::string &new_target) {
        return count(fxir_replace_target_nodes_with, old_op, detail::text(old_target), new_op, detail::text(new_target));
    }
    std::size_t lift_lowering_attrs_to_nodes(bool strict = false) {
        return count(fxir_lift_lowering_attrs_to_nodes, std::int32_t(strict));
    }
    std::size_t lift_lowering_attrs_to_nodes(const LoweringAttrs &attrs, bool strict = false) {
        return count(fxir_lift_lowering_attrs_to_nodes_with, attrs.get(), std::int32_t(strict));
    }
    /* Takes FXIR_FORM_* and FXIR_DEFAULTS_*; gives how many calls there were. */
    fxir_normalized normalize_args(std::int32_t form = FXIR_FORM_KEYWORD, std::int32_t defaults = FXIR_DEFAULTS_FILL_IN,
                                   bool strict = false) {
        fxir_normalize_options raw;
        fxir_normalize_options_init(&raw);
        raw.form = form;
        raw.defaults = defaults;
        raw.strict = strict;
        fxir_normalized counts{};
        detail::call(fxir_normalize_args, get(), &raw, &counts);
        return counts;
    }

private:
    friend class ModuleView;

    template <class Function, class... Arguments>
    static Module from(Function function, Arguments... arguments) {
        fxir_module *made = nullptr;
        detail::call(function, arguments..., &made);
        return Module(made);
    }
    template <class Function, class... Arguments>
    Node node(Function function, Arguments... arguments) {
        fxir_node made = 0;
        detail::call(function, get(), arguments..., &made);
        return made;
    }
    template <class Function, class... Arguments>
    std::size_t count(Function function, Arguments... arguments) {
        std::size_t counted = 0;
        detail::call(function, get(), arguments..., &counted);
        return counted;
    }
    template <class Function>
    void text(Function function, Node node, const std::string &text) {
        detail::call(function, get(), node.id, detail::text(text));
    }

    detail::Owner<fxir_module, fxir_module_free> owner_;
};

inline Module ModuleView::submodule(const std::string &path) const {
    return Module::from(fxir_module_get_submodule, module_, detail::text(path));
}

inline Module ModuleView::lift_subgraph_as_module(const ModuleView &subgraph, const std::string &class_name) const {
    return Module::from(fxir_lift_subgraph_as_module, module_, subgraph.get(), detail::text(class_name));
}

/* What `function` computes of the inputs, as a module with the members of `root`; each operation
 * passes through the rewrites. What they throw comes out of here. */
inline Module trace(const std::vector<std::string> &inputs, const TraceFunction &function,
                    const std::vector<TraceRewrite> &rewrites = {}, const ModuleView *root = nullptr) {
    return Module(trace_into_handle(root ? root->get() : nullptr, inputs, function, rewrites));
}

/* The text of a plain Python function or module class, traced; `members` is the module that `self` is. */
inline Module trace_code(std::string_view text, const ModuleView *members = nullptr, const TraceOptions &options = {},
                         const std::vector<TraceRewrite> &rewrites = {}) {
    return Module(trace_code_into_handle(text, members ? members->get() : nullptr, options, rewrites));
}

/* What passes did. */
class PassReport : public detail::Owner<fxir_pass_report, fxir_pass_report_free> {
public:
    using Owner::Owner;
    std::size_t size() const { return fxir_pass_report_count(get()); }
    /* One run; lives as long as the report. */
    const fxir_pass_run &operator[](std::size_t index) const {
        const fxir_pass_run *run = fxir_pass_report_run(get(), index);
        if (!run) throw Error(FXIR_OUT_OF_RANGE, "there is no such run");
        return *run;
    }
    bool modified() const { return fxir_pass_report_modified(get()) == 1; }
    Buffer print() const {
        Buffer table;
        detail::call(fxir_pass_report_print, get(), table.out());
        return table;
    }
};

/* How passes are run; see fxir_pass_options. The dump may throw, which stops the run. */
struct PassOptions {
    std::size_t steps = 1;
    bool run_checks_after_each_pass = false;
    bool suppress_check_failures = false;
    /* FXIR_PASS_BEFORE or FXIR_PASS_AFTER, the module, and what is known of the run. */
    std::function<void(std::int32_t, ModuleView, const fxir_pass_run &)> dump;
};

/* Passes, one after the other. What a pass throws stops the run, comes out of it, and leaves the module as
 * it was. Run by one thread at a time, and not by its own passes. */
class PassManager {
public:
    using Pass = std::function<void(Module &)>;

    PassManager() : carrier_(std::make_shared<detail::Carrier>()) { detail::call(fxir_pass_manager_new, owner_.out()); }
    fxir_pass_manager *get() const noexcept { return owner_.get(); }

    /* A pass of the library's: see built_in(). */
    void add(const std::string &name) { detail::call(fxir_pass_manager_add, get(), detail::text(name)); }
    /* A pass of the caller's. The module is the library's once the pass returns. */
    void add(const std::string &name, Pass pass) {
        if (!pass) throw Error(FXIR_NULL_ARGUMENT, "a pass is empty");
        std::unique_ptr<Kept> kept(new Kept{std::move(pass), carrier_});
        detail::call(fxir_pass_manager_add_function, get(), detail::text(name), fxir_pass_function(run_kept),
                     static_cast<void *>(kept.get()), fxir_destroy(delete_kept));
        kept.release();
    }
    /* A set of patterns: once when `limit` is 0, else to a fixpoint. */
    void add_pattern_set(const std::string &name, const fxir_pattern_set *set, std::size_t limit = 0) {
        detail::call(fxir_pass_manager_add_pattern_set, get(), detail::text(name), set, limit);
    }
    void add_constraint(const std::string &before, const std::string &after) {
        detail::call(fxir_pass_manager_add_constraint, get(), detail::text(before), detail::text(after));
    }
    void validate_constraints() const { detail::call(fxir_pass_manager_validate_constraints, get()); }
    std::size_t size() const { return fxir_pass_manager_count(get()); }
    std::string_view name(std::size_t index) const { return detail::view(fxir_pass_manager_name(get(), index)); }
    static std::vector<std::string> built_in() {
        std::vector<std::string> names;
        for (std::size_t index = 0; index < fxir_built_in_pass_count(); index++)
            names.emplace_back(fxir_built_in_pass_name(index));
        return names;
    }

    PassReport run(Module &module, const PassOptions &options = {}) const {
        fxir_pass_options raw;
        fxir_pass_options_init(&raw);
        raw.steps = options.steps;
        raw.run_checks_after_each_pass = options.run_checks_after_each_pass;
        raw.suppress_check_failures = options.suppress_check_failures;
        const Dumping dumping{options, *carrier_};
        if (options.dump) {
            raw.dump_data = const_cast<Dumping *>(&dumping);
            raw.dump = [](void *data, std::int32_t when, const fxir_module *view, const fxir_pass_run *run) {
                const Dumping &now = *static_cast<const Dumping *>(data);
                return now.carrier.run([&] { now.options.dump(when, ModuleView(view), *run); });
            };
        }
        *carrier_ = detail::Carrier();
        PassReport report;
        fxir_error *error = nullptr;
        const fxir_status status = fxir_pass_manager_run(get(), module.get(), &raw, report.out(), &error);
        carrier_->finish(status, error);
        return report;
    }

private:
    struct Kept {
        Pass pass;
        std::shared_ptr<detail::Carrier> carrier;
    };
    struct Dumping {
        const PassOptions &options;
        detail::Carrier &carrier;
    };

    static std::int32_t run_kept(void *data, fxir_module *module) {
        Kept &now = *static_cast<Kept *>(data);
        return now.carrier->run([&] {
            struct Lent {
                Module module;
                ~Lent() { module.release(); } // it stays the library's
            } lent{Module(module)};
            now.pass(lent.module);
        });
    }
    static void delete_kept(void *data) { delete static_cast<Kept *>(data); }

    detail::Owner<fxir_pass_manager, fxir_pass_manager_free> owner_;
    std::shared_ptr<detail::Carrier> carrier_;
};

}  // namespace fxir

#include "fxir_rewrite.hpp"

#endif /* FXIR_HPP */
