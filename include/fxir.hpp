/* fxir for C++17: what fxir.h gives, with owners that free, exceptions that carry the status, and
 * callbacks that may throw.
 * SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Header-only; everything is inline over the C functions, which remain usable beside it: every class
 * gives its handle by get(). What the C header says of lifetimes and threads holds here too. */
#ifndef FXIR_HPP
#define FXIR_HPP

#include "fxir_base.hpp"
#include "fxir_trace.hpp"

#include <functional>

namespace fxir {

/* A module for reading: what callbacks get, and what every Module is. */
class ModuleView {
public:
    explicit ModuleView(const fxir_module *module) : module_(module) {}
    const fxir_module *get() const noexcept { return module_; }

    std::int32_t kind() const { return fxir_module_kind(module_); }
    std::string_view type_name() const { return detail::view(fxir_module_type_name(module_)); }
    std::string_view path() const { return detail::view(fxir_module_path(module_)); }

    /* for (fxir::Node node : module.nodes()) ... : all nodes in order, as they are now. */
    std::vector<Node> nodes() const { return list(fxir_graph_nodes); }
    std::size_t node_count() const { return fxir_graph_node_count(module_); }
    Node first() const { return fxir_graph_first(module_); }
    Node last() const { return fxir_graph_last(module_); }
    Node next(Node node) const { return fxir_graph_next(module_, node.id); }
    Node prev(Node node) const { return fxir_graph_prev(module_, node.id); }
    Node output_node() const { return fxir_graph_output_node(module_); }
    Node find_node(const std::string &name) const { return fxir_graph_find_node(module_, name.c_str()); }

    std::int32_t op(Node node) const { return fxir_node_op(module_, node.id); }
    std::string_view op_name(Node node) const { return detail::view(fxir_node_op_name(module_, node.id)); }
    std::string_view name(Node node) const { return detail::view(fxir_node_name(module_, node.id)); }
    std::string_view target(Node node) const { return detail::view(fxir_node_target(module_, node.id)); }
    std::vector<Node> users(Node node) const { return list(fxir_node_users, node.id); }
    std::vector<Node> input_nodes(Node node) const { return list(fxir_node_input_nodes, node.id); }
    ArgsSnapshot args(Node node) const { return made<ArgsSnapshot>(fxir_node_args, module_, node.id); }
    ArgsSnapshot meta(Node node, const std::string &key) const {
        return made<ArgsSnapshot>(fxir_node_get_meta, module_, node.id, key.c_str());
    }
    std::int32_t dtype(Node node) const { return fxir_node_dtype(module_, node.id); }
    std::vector<std::int64_t> shape(Node node) const {
        std::vector<std::int64_t> sizes(fxir_node_shape(module_, node.id, nullptr, 0));
        sizes.resize(fxir_node_shape(module_, node.id, sizes.data(), sizes.size()));
        return sizes;
    }

    std::int32_t member_kind(const std::string &path) const { return fxir_module_member_kind(module_, path.c_str()); }
    Tensor tensor(const std::string &path) const { return made<Tensor>(fxir_module_get_tensor, module_, path.c_str()); }
    /* The tensor "weight", say, of the module that a call_module calls. */
    Tensor tensor(Node node, const std::string &attribute) const {
        return made<Tensor>(fxir_node_get_tensor, module_, node.id, attribute.c_str());
    }
    ArgsSnapshot attribute(const std::string &path) const {
        return made<ArgsSnapshot>(fxir_module_get_attribute, module_, path.c_str());
    }

    /* The names of submodules and of attributes, in the order in which they came. */
    std::vector<std::string> submodule_names() const {
        return names(fxir_module_submodule_count, fxir_module_submodule_name);
    }
    std::vector<std::string> attribute_names() const {
        return names(fxir_module_attribute_count, fxir_module_attribute_name);
    }
    fxir_node_size size_of(Node node, std::int32_t counting = FXIR_SIZE_IN_OWN_DTYPE) const {
        fxir_node_size size;
        detail::call(fxir_get_size_of_node, module_, node.id, counting, &size);
        return size;
    }

    void lint() const { detail::call(fxir_module_lint, module_); }
    /* Text of one of the forms FXIR_TEXT_*. */
    Buffer print(std::int32_t form = FXIR_TEXT_CODE, const fxir_text_options *options = nullptr) const {
        return made<Buffer>(fxir_module_print, module_, form, options);
    }
    Buffer print_tabular() const { return made<Buffer>(fxir_graph_print_tabular, module_); }
    /* The JSON of torch's serialize_module, and the tensors that it names. */
    std::pair<Buffer, Weights> serialize(const fxir_serialize_options *options = nullptr) const {
        std::pair<Buffer, Weights> both;
        detail::call(fxir_module_serialize, module_, options, both.first.out(), both.second.out());
        return both;
    }
    void save_json(const std::string &json, const std::string &weights,
                   const fxir_serialize_options *options = nullptr) const {
        detail::call(fxir_module_save_json, module_, json.c_str(), weights.c_str(), options);
    }

protected:
    void set(const fxir_module *module) noexcept { module_ = module; }

    template <class Made, class Function, class... Arguments>
    static Made made(Function function, Arguments... arguments) {
        Made owner;
        detail::call(function, arguments..., owner.out());
        return owner;
    }

private:
    template <class Function, class... Arguments>
    std::vector<Node> list(Function function, Arguments... arguments) const {
        std::vector<fxir_node> nodes(function(module_, arguments..., nullptr, 0));
        const std::size_t count = function(module_, arguments..., nodes.data(), nodes.size());
        if (count < nodes.size()) nodes.resize(count);
        return std::vector<Node>(nodes.begin(), nodes.end());
    }

    template <class Count, class Name>
    std::vector<std::string> names(Count count, Name name) const {
        std::vector<std::string> found(count(module_));
        for (std::size_t i = 0; i < found.size(); i++) found[i] = detail::view(name(module_, i));
        return found;
    }

    const fxir_module *module_;
};

/* How a pattern is compared; a filter may throw. */
struct MatchOptions {
    bool match_placeholder = false;
    bool ignore_literals = false;
    std::int32_t modules = FXIR_MATCH_MODULES_BY_TYPE;
    std::function<bool(ModuleView, MatchesView)> filter;
};

/* A module that frees its handle. */
class Module : public ModuleView {
public:
    /* A new module with an empty graph. */
    explicit Module(const std::string &class_name = "GraphModule") : ModuleView(nullptr) {
        detail::call(fxir_module_new, class_name.c_str(), owner_.out());
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

    static Module load_json(const std::string &json, const std::string &weights = std::string()) {
        fxir_module *made = nullptr;
        detail::call(fxir_module_load_json, json.c_str(), weights.empty() ? nullptr : weights.c_str(), &made);
        return Module(made);
    }

    /* From memory. */
    static Module read_json(std::string_view json, const Weights *weights = nullptr) {
        fxir_module *made = nullptr;
        detail::call(fxir_module_read_json, json.data(), json.size(), weights ? weights->get() : nullptr, &made);
        return Module(made);
    }
    /* FX code; a module's members come along. */
    static Module read_code(std::string_view text, const ModuleView *members = nullptr) {
        fxir_module *made = nullptr;
        detail::call(fxir_module_read_code, text.data(), text.size(), members ? members->get() : nullptr, &made);
        return Module(made);
    }

    fxir_module *get() const noexcept { return owner_.get(); }
    /* A tree of its own: structure copied, tensors shared. */
    Module clone() const {
        fxir_module *made = nullptr;
        detail::call(fxir_module_clone, get(), &made, nullptr);
        return Module(made);
    }
    Module submodule(const std::string &path) const {
        fxir_module *made = nullptr;
        detail::call(fxir_module_get_submodule, get(), path.c_str(), &made);
        return Module(made);
    }

    Node placeholder(const std::string &name) {
        fxir_node node = 0;
        detail::call(fxir_graph_placeholder, get(), name.c_str(), &node);
        return node;
    }
    Node get_attr(const std::string &target) {
        fxir_node node = 0;
        detail::call(fxir_graph_get_attr, get(), target.c_str(), &node);
        return node;
    }
    Node call_function(const std::string &target, const Args &args = {}, const Kwargs &kwargs = {}) {
        return call(fxir_graph_call_function, target, args, kwargs);
    }
    Node call_method(const std::string &target, const Args &args = {}, const Kwargs &kwargs = {}) {
        return call(fxir_graph_call_method, target, args, kwargs);
    }
    Node call_module(const std::string &target, const Args &args = {}, const Kwargs &kwargs = {}) {
        return call(fxir_graph_call_module, target, args, kwargs);
    }
    Node output(const Arg &result) {
        fxir_node node = 0;
        detail::call(fxir_graph_output, get(), &result.raw(), &node);
        return node;
    }

    void set_args(Node node, const Args &args) {
        const std::vector<fxir_arg> raw = raws(args);
        detail::call(fxir_node_set_args, get(), node.id, raw.data(), raw.size());
    }
    void set_kwarg(Node node, const std::string &name, const Arg &value) {
        detail::call(fxir_node_set_kwarg, get(), node.id, name.c_str(), &value.raw());
    }
    void set_target(Node node, const std::string &target) {
        detail::call(fxir_node_set_target, get(), node.id, target.c_str());
    }
    void set_name(Node node, const std::string &name) {
        detail::call(fxir_node_set_name, get(), node.id, name.c_str());
    }
    void set_meta(Node node, const std::string &key, const Arg &value) {
        detail::call(fxir_node_set_meta, get(), node.id, key.c_str(), &value.raw());
    }
    void move_before(Node node, Node anchor) { detail::call(fxir_node_move_before, get(), node.id, anchor.id); }
    void move_after(Node node, Node anchor) { detail::call(fxir_node_move_after, get(), node.id, anchor.id); }
    void erase_node(Node node) { detail::call(fxir_graph_erase_node, get(), node.id); }

    using NodeFilter = std::function<bool(ModuleView, Node)>;
    /* In those users for which the filter says yes; it may throw. */
    std::size_t replace_all_uses_with(Node node, Node replacement, const NodeFilter &filter = {}) {
        struct State {
            const NodeFilter &filter;
            detail::Carrier carrier;
        } state{filter, {}};
        const fxir_node_filter ask = [](void *data, const fxir_module *module, fxir_node user, std::int32_t *verdict) {
            State &now = *static_cast<State *>(data);
            return now.carrier.run([&] { *verdict = now.filter(ModuleView(module), user); });
        };
        std::size_t changed = 0;
        fxir_error *error = nullptr;
        const fxir_status status = fxir_node_replace_all_uses_with(
            get(), node.id, replacement.id, filter ? ask : nullptr, &state, &changed, &error);
        state.carrier.finish(status, error);
        return changed;
    }

    Module add_submodule(const std::string &path, std::int32_t kind, const std::string &type_name) {
        fxir_module *made = nullptr;
        detail::call(fxir_module_add_submodule, get(), path.c_str(), kind, type_name.c_str(), &made);
        return Module(made);
    }
    /* One statement of FX code, before the output. */
    Node append_code(const std::string &statement) {
        fxir_node made = 0;
        detail::call(fxir_graph_append_code, get(), statement.c_str(), &made);
        return made;
    }
    void set_submodule(const std::string &path, const Module &submodule) {
        detail::call(fxir_module_set_submodule, get(), path.c_str(), submodule.get());
    }
    void set_tensor(const std::string &path, const Tensor &tensor, std::int32_t kind = FXIR_MEMBER_PARAMETER) {
        detail::call(fxir_module_set_tensor, get(), path.c_str(), kind, tensor.get());
    }
    void set_attribute(const std::string &path, const Arg &value) {
        detail::call(fxir_module_set_attribute, get(), path.c_str(), &value.raw());
    }
    void delete_member(const std::string &path) { detail::call(fxir_module_delete_member, get(), path.c_str()); }

    Matches replace_pattern(const Module &pattern, const Module &replacement, const MatchOptions &options = {}) {
        struct State {
            const MatchOptions &options;
            detail::Carrier carrier;
        } state{options, {}};
        fxir_match_options raw;
        fxir_match_options_init(&raw);
        raw.match_placeholder = options.match_placeholder;
        raw.ignore_literals = options.ignore_literals;
        raw.modules = options.modules;
        raw.filter_data = &state;
        if (options.filter) {
            raw.filter = [](void *data, const fxir_module *module, const fxir_matches *matches, std::int32_t *verdict) {
                State &now = *static_cast<State *>(data);
                return now.carrier.run(
                    [&] { *verdict = now.options.filter(ModuleView(module), MatchesView(matches)); });
            };
        }
        Matches found;
        fxir_error *error = nullptr;
        const fxir_status status =
            fxir_replace_pattern(get(), pattern.get(), replacement.get(), &raw, found.out(), &error);
        state.carrier.finish(status, error);
        return found;
    }
    /* A set of nodes becomes a submodule called `name`; gives the node that calls it. */
    Node fuse(const std::vector<Node> &nodes, const std::string &name, const fxir_fuse_options *options = nullptr) {
        std::vector<fxir_node> ids;
        for (Node node : nodes) ids.push_back(node.id);
        fxir_node made = 0;
        detail::call(fxir_fuse_as_graphmodule, get(), ids.data(), ids.size(), name.c_str(), options, &made, nullptr);
        return made;
    }
    void legalize() { detail::call(fxir_legalize_graph, get()); }
    std::size_t eliminate_dead_code() {
        std::size_t erased = 0;
        detail::call(fxir_eliminate_dead_code, get(), nullptr, &erased);
        return erased;
    }
    void delete_all_unused_submodules() { detail::call(fxir_module_delete_all_unused_submodules, get(), nullptr); }

private:
    static std::vector<fxir_arg> raws(const Args &args) {
        std::vector<fxir_arg> raw;
        for (const Arg &arg : args) raw.push_back(arg.raw());
        return raw;
    }
    template <class Function>
    Node call(Function function, const std::string &target, const Args &args, const Kwargs &kwargs) {
        const std::vector<fxir_arg> positional = raws(args);
        std::vector<fxir_kwarg> keyword;
        for (const auto &kwarg : kwargs) keyword.push_back(fxir_kwarg_of(kwarg.first.c_str(), kwarg.second.raw()));
        fxir_node node = 0;
        detail::call(function, get(), target.c_str(), positional.data(), positional.size(), keyword.data(),
                     keyword.size(), &node);
        return node;
    }

    detail::Owner<fxir_module, fxir_module_free> owner_;
};

/* What `function` computes of the inputs, as a module with the members of `root`; each operation
 * passes through the rewrites. What they throw comes out of here. */
inline Module trace(const std::vector<std::string> &inputs, const TraceFunction &function,
                    const std::vector<TraceRewrite> &rewrites = {}, const ModuleView *root = nullptr) {
    return Module(trace_into_handle(root ? root->get() : nullptr, inputs, function, rewrites));
}

}  // namespace fxir

#endif /* FXIR_HPP */
