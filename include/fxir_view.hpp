/* fxir for C++17: modules and matches as they are read. Include fxir.hpp.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef FXIR_VIEW_HPP
#define FXIR_VIEW_HPP

#include "fxir_tensor.hpp"

#include <functional>

namespace fxir {

class Module;

/* Which attributes of leaf modules are told; see fxir_lowering_attrs. `known` is one of FXIR_LOWERING_*. */
class LoweringAttrs {
public:
    explicit LoweringAttrs(std::int32_t known = FXIR_LOWERING_TORCH_NN) {
        detail::call(fxir_lowering_attrs_new, known, owner_.out());
    }
    fxir_lowering_attrs *get() const noexcept { return owner_.get(); }

    /* Gives a type its list. */
    void set(const std::string &type_name, const std::vector<std::string> &names) {
        std::vector<const char *> texts;
        for (const std::string &name : names) texts.push_back(detail::text(name));
        detail::call(fxir_lowering_attrs_register, get(), detail::text(type_name), texts.data(), texts.size());
    }

private:
    detail::Owner<fxir_lowering_attrs, fxir_lowering_attrs_free> owner_;
};

/* Options for ModuleView::serialize and its like: one of FXIR_SCHEMA_*, and whatever is set after. */
inline fxir_serialize_options serialize_options(std::int32_t schema = FXIR_SCHEMA_TORCH_1_12) {
    fxir_serialize_options options;
    fxir_serialize_options_init(&options);
    options.schema = schema;
    return options;
}

/* Matches of a pattern, each by its index, for reading: what filters get. Nodes of the pattern are told by
 * number or by name. */
class MatchesView {
public:
    explicit MatchesView(const fxir_matches *matches) : matches_(matches) {}
    const fxir_matches *get() const noexcept { return matches_; }

    std::size_t size() const { return fxir_matches_count(matches_); }
    std::vector<Node> pattern_nodes() const { return detail::nodes(fxir_matches_pattern_nodes, matches_); }
    /* The pattern's node of that name; none when there is none. */
    Node pattern_node(const std::string &name) const { return fxir_matches_pattern_node(matches_, name.c_str()); }
    /* The node that a node of the pattern met; none when it met something else. */
    Node node(std::size_t index, Node pattern_node) const { return fxir_matches_node(matches_, index, pattern_node.id); }
    Node node(std::size_t index, const std::string &name) const { return node(index, pattern_node(name)); }
    /* Its name when it was met. */
    std::string_view node_name(std::size_t index, Node pattern_node) const {
        return detail::view(fxir_matches_node_name(matches_, index, pattern_node.id));
    }
    /* Its op, FXIR_OP_*, when it was met. */
    std::int32_t node_op(std::size_t index, Node pattern_node) const {
        return fxir_matches_node_op(matches_, index, pattern_node.id);
    }
    /* What a node of the pattern met, of whatever kind; nullptr for nothing. */
    const fxir_arg *argument(std::size_t index, Node pattern_node) const {
        return fxir_matches_argument(matches_, index, pattern_node.id);
    }
    const fxir_arg *argument(std::size_t index, const std::string &name) const {
        return argument(index, pattern_node(name));
    }
    std::vector<Node> anchors(std::size_t index) const { return detail::nodes(fxir_matches_anchors, matches_, index); }
    /* What took the place of the match. */
    std::vector<Node> replacements(std::size_t index) const {
        return detail::nodes(fxir_matches_replacements, matches_, index);
    }

private:
    const fxir_matches *matches_;
};

/* The same, owned. */
class Matches : public detail::Owner<fxir_matches, fxir_matches_free> {
public:
    using Owner::Owner;
    std::size_t size() const { return fxir_matches_count(get()); }
    MatchesView view() const { return MatchesView(get()); }
};

class ModuleView;
using MatchFilter = std::function<bool(ModuleView, MatchesView)>;
using NodeFilter = std::function<bool(ModuleView, Node)>;
/* Whether a node does what a node of the pattern does, and whether a literal meets one of the pattern; the
 * last is what the library holds. */
using MatchNodes = std::function<bool(ModuleView, Node, Node pattern_node, bool)>;
using MatchLiterals = std::function<bool(const fxir_arg &, const fxir_arg &pattern_literal, bool)>;

/* How a pattern is compared; see fxir_match_options. The filter says which matches to keep. All functions
 * may throw. */
struct MatchOptions {
    bool match_output = false;
    bool match_placeholder = false;
    bool keep_overlapping_matches = false;
    bool ignore_literals = false;
    std::int32_t modules = FXIR_MATCH_MODULES_BY_TYPE;
    std::int32_t attributes = FXIR_MATCH_ATTRIBUTES_BY_KIND;
    bool normalize_args = false;
    bool name_node_map = false;
    MatchFilter filter;
    MatchNodes nodes_are_equal;
    MatchLiterals literals_are_equal;
};

/* How many bytes nodes take: `node`, `output_bytes`, `total_bytes`. */
using NodeSize = fxir_node_size;

/* A module for reading: what callbacks get, and what every Module is. */
class ModuleView {
public:
    explicit ModuleView(const fxir_module *module) : module_(module) {}
    const fxir_module *get() const noexcept { return module_; }

    /* FXIR_MODULE_* */
    std::int32_t kind() const { return fxir_module_kind(module_); }
    std::string_view type_name() const { return detail::view(fxir_module_type_name(module_)); }
    std::string_view path() const { return detail::view(fxir_module_path(module_)); }
    /* The same for all copies of a module. */
    std::uint64_t origin() const { return fxir_module_origin(module_); }

    /* Members, by dotted path; names are those of the module itself. */
    std::vector<std::string> submodule_names() const {
        return names(fxir_module_submodule_count(module_), fxir_module_submodule_name);
    }
    std::vector<std::string> attribute_names() const {
        return names(fxir_module_attribute_count(module_), fxir_module_attribute_name);
    }
    /* FXIR_MEMBER_*; FXIR_MEMBER_NONE when the path leads nowhere. */
    std::int32_t member_kind(const std::string &path) const { return fxir_module_member_kind(module_, path.c_str()); }
    /* Of the same tree; out of a view, dead when that is. */
    Module submodule(const std::string &path) const;
    Tensor tensor(const std::string &path) const {
        return made<Tensor>(fxir_module_get_tensor, module_, detail::text(path));
    }
    /* A setting, as the one item. */
    ArgsSnapshot attribute(const std::string &path) const {
        return made<ArgsSnapshot>(fxir_module_get_attribute, module_, detail::text(path));
    }

    /* for (fxir::Node node : module.nodes()) ... : all nodes in order, as they are now. */
    std::vector<Node> nodes() const { return detail::nodes(fxir_graph_nodes, module_); }
    std::size_t node_count() const { return fxir_graph_node_count(module_); }
    Node first() const { return fxir_graph_first(module_); }
    Node last() const { return fxir_graph_last(module_); }
    Node next(Node node) const { return fxir_graph_next(module_, node.id); }
    Node prev(Node node) const { return fxir_graph_prev(module_, node.id); }
    Node output_node() const { return fxir_graph_output_node(module_); }
    Node find_node(const std::string &name) const { return fxir_graph_find_node(module_, name.c_str()); }
    bool is_before(Node a, Node b) const { return fxir_node_is_before(module_, a.id, b.id) == 1; }

    /* FXIR_OP_*; 0 for what is no live node of this graph. */
    std::int32_t op(Node node) const { return fxir_node_op(module_, node.id); }
    std::string_view op_name(Node node) const { return detail::view(fxir_node_op_name(module_, node.id)); }
    std::string_view name(Node node) const { return detail::view(fxir_node_name(module_, node.id)); }
    std::string_view target(Node node) const { return detail::view(fxir_node_target(module_, node.id)); }
    std::string_view type(Node node) const { return detail::view(fxir_node_type(module_, node.id)); }
    std::string_view comment(Node node) const { return detail::view(fxir_node_comment(module_, node.id)); }
    ArgsSnapshot args(Node node) const { return made<ArgsSnapshot>(fxir_node_args, module_, node.id); }
    std::size_t arg_count(Node node) const { return fxir_node_arg_count(module_, node.id); }
    /* The node that stands there; none for anything else. */
    Node arg_node(Node node, std::size_t index) const { return fxir_node_arg_node(module_, node.id, index); }
    std::vector<Node> users(Node node) const { return detail::nodes(fxir_node_users, module_, node.id); }
    std::size_t user_count(Node node) const { return fxir_node_user_count(module_, node.id); }
    std::vector<Node> input_nodes(Node node) const { return detail::nodes(fxir_node_input_nodes, module_, node.id); }
    bool is_impure(Node node) const { return fxir_node_is_impure(module_, node.id) == 1; }
    /* The tensor "weight", say, of the module that a call_module calls. */
    Tensor tensor(Node node, const std::string &attribute) const {
        return made<Tensor>(fxir_node_get_tensor, module_, node.id, detail::text(attribute));
    }
    /* What a get_attr reads. */
    Tensor tensor(Node node) const { return made<Tensor>(fxir_node_get_tensor, module_, node.id, nullptr); }

    std::vector<std::string> meta_keys(Node node) const {
        return names(fxir_node_meta_count(module_, node.id),
                     [&](const fxir_module *module, std::size_t index) { return fxir_node_meta_key(module, node.id, index); });
    }
    /* An entry of meta, as the one item. */
    ArgsSnapshot meta(Node node, const std::string &key) const {
        return made<ArgsSnapshot>(fxir_node_get_meta, module_, node.id, detail::text(key));
    }
    /* What the node yields; throws FXIR_NOT_FOUND when that is not known. */
    ValuesSnapshot value(Node node) const { return made<ValuesSnapshot>(fxir_node_value, module_, node.id); }
    /* Of the one tensor that it yields; FXIR_DTYPE_NONE and no sizes for anything else. */
    std::int32_t dtype(Node node) const { return fxir_node_dtype(module_, node.id); }
    std::vector<std::int64_t> shape(Node node) const {
        return detail::fill<std::int64_t>(fxir_node_shape, module_, node.id);
    }

    /* Of this graph and of those below it; throws FXIR_LINT. */
    void lint() const { detail::call(fxir_module_lint, module_); }
    /* Of this graph alone. */
    void graph_lint() const { detail::call(fxir_graph_lint, module_); }
    void graph_lint_order() const { detail::call(fxir_graph_lint_order, module_); }
    bool is_topologically_sorted() const { return fxir_graph_is_topologically_sorted(module_) == 1; }
    Matches match_pattern(const ModuleView &pattern, const MatchOptions &options = {}) const;
    bool validate_partition(const std::vector<Node> &nodes) const {
        const std::vector<fxir_node> ids = detail::ids(nodes);
        std::int32_t valid = 0;
        detail::call(fxir_validate_partition, module_, ids.data(), ids.size(), &valid);
        return valid == 1;
    }
    /* `counting` is FXIR_SIZE_IN_*. */
    NodeSize size_of(Node node, std::int32_t counting = FXIR_SIZE_IN_OWN_DTYPE) const {
        NodeSize size{};
        detail::call(fxir_get_size_of_node, module_, node.id, counting, &size);
        return size;
    }
    NodeSize size_of(Node node, const fxir_size_options &options) const {
        NodeSize size{};
        detail::call(fxir_get_size_of_node_with, module_, node.id, &options, &size);
        return size;
    }
    /* Of all nodes but the output, in order. */
    std::vector<NodeSize> size_of_all(const fxir_size_options &options) const {
        std::vector<NodeSize> sizes(node_count());
        std::size_t count = 0;
        detail::call(fxir_get_size_of_all_nodes_with, module_, &options, sizes.data(), sizes.size(), &count);
        if (count < sizes.size()) sizes.resize(count);
        return sizes;
    }
    std::vector<NodeSize> size_of_all(std::int32_t counting = FXIR_SIZE_IN_OWN_DTYPE) const {
        std::vector<NodeSize> sizes(node_count());
        std::size_t count = 0;
        detail::call(fxir_get_size_of_all_nodes, module_, counting, sizes.data(), sizes.size(), &count);
        if (count < sizes.size()) sizes.resize(count);
        return sizes;
    }
    /* The graph of `subgraph` with those members of this module that it names. */
    Module lift_subgraph_as_module(const ModuleView &subgraph, const std::string &class_name = "GraphModule") const;

    /* Text of one of the forms FXIR_TEXT_*. */
    Buffer print(std::int32_t form = FXIR_TEXT_CODE, const fxir_text_options *options = nullptr) const {
        return made<Buffer>(fxir_module_print, module_, form, options);
    }
    void print_to(const Write &write, std::int32_t form = FXIR_TEXT_CODE,
                  const fxir_text_options *options = nullptr) const {
        detail::Writer(write).run([&](fxir_write take, void *data, fxir_error **error) {
            return fxir_module_print_to(module_, form, options, take, data, error);
        });
    }
    Buffer print_tabular() const { return made<Buffer>(fxir_graph_print_tabular, module_); }
    /* The module and all that it holds in one file, from which Module::load makes the same again. */
    void save(const std::string &path) const { detail::call(fxir_module_save, module_, detail::text(path)); }
    /* The same bytes in memory. */
    Buffer save_to_buffer() const { return made<Buffer>(fxir_module_save_to_buffer, module_); }
    /* The same bytes piece by piece. */
    void save_to(const Write &write) const {
        detail::Writer(write).run([&](fxir_write take, void *data, fxir_error **error) {
            return fxir_module_save_to(module_, take, data, error);
        });
    }
    /* The JSON of torch's serialize_module, and the tensors that it names. */
    std::pair<Buffer, Weights> serialize(const fxir_serialize_options *options = nullptr) const {
        std::pair<Buffer, Weights> both;
        detail::call(fxir_module_serialize, module_, options, both.first.out(), both.second.out());
        return both;
    }
    /* The same, the JSON piece by piece. */
    Weights serialize_to(const Write &write, const fxir_serialize_options *options = nullptr) const {
        Weights weights;
        detail::Writer(write).run([&](fxir_write take, void *data, fxir_error **error) {
            return fxir_module_serialize_to(module_, options, take, data, weights.out(), error);
        });
        return weights;
    }
    /* Without a second path no weights are written. */
    void save_json(const std::string &json, const std::string &weights = std::string(),
                   const fxir_serialize_options *options = nullptr) const {
        detail::call(fxir_module_save_json, module_, detail::text(json),
                     weights.empty() ? nullptr : detail::text(weights), options);
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
    template <class Name>
    std::vector<std::string> names(std::size_t count, Name name) const {
        std::vector<std::string> all;
        for (std::size_t index = 0; index < count; index++) all.emplace_back(detail::view(name(module_, index)));
        return all;
    }

    const fxir_module *module_;
};

namespace detail {

/* The options for C, and the way out for what their functions throw: by `carrier`, or by that of the
 * call that this thread is in. */
class Matching {
public:
    explicit Matching(const MatchOptions &options, Carrier *carrier = nullptr) : options_(options), carrier_(carrier) {
        fxir_match_options_init(&raw_);
        raw_.match_output = options.match_output;
        raw_.match_placeholder = options.match_placeholder;
        raw_.keep_overlapping_matches = options.keep_overlapping_matches;
        raw_.ignore_literals = options.ignore_literals;
        raw_.modules = options.modules;
        raw_.attributes = options.attributes;
        raw_.normalize_args = options.normalize_args;
        raw_.name_node_map = options.name_node_map;
        raw_.filter_data = raw_.nodes_data = raw_.literals_data = this;
        if (options.filter) raw_.filter = filter;
        if (options.nodes_are_equal) raw_.nodes_are_equal = nodes;
        if (options.literals_are_equal) raw_.literals_are_equal = literals;
    }
    Matching(const Matching &) = delete;
    Matching &operator=(const Matching &) = delete;

    const fxir_match_options *raw() const { return &raw_; }
    Carrier &carrier() const { return carrier_ ? *carrier_ : *Carrier::applying(); }

private:
    static std::int32_t filter(void *data, const fxir_module *module, const fxir_matches *matches,
                               std::int32_t *verdict) {
        const Matching &now = *static_cast<Matching *>(data);
        return now.carrier().run([&] { *verdict = now.options_.filter(ModuleView(module), MatchesView(matches)); });
    }
    static std::int32_t nodes(void *data, const fxir_module *module, fxir_node node, fxir_node pattern_node,
                              std::int32_t *verdict) {
        const Matching &now = *static_cast<Matching *>(data);
        return now.carrier().run([&] {
            *verdict = now.options_.nodes_are_equal(ModuleView(module), Node(node), Node(pattern_node), *verdict == 1);
        });
    }
    static std::int32_t literals(void *data, const fxir_arg *literal, const fxir_arg *pattern_literal,
                                 std::int32_t *verdict) {
        const Matching &now = *static_cast<Matching *>(data);
        return now.carrier().run(
            [&] { *verdict = now.options_.literals_are_equal(*literal, *pattern_literal, *verdict == 1); });
    }

    const MatchOptions &options_;
    Carrier *carrier_;
    fxir_match_options raw_;
};

/* Calls `call(&options, where matches go, &error)`. */
template <class Call>
Matches matching(const MatchOptions &options, Call call) {
    Carrier carrier;
    const Matching with(options, &carrier);
    Matches found;
    fxir_error *error = nullptr;
    const fxir_status status = call(with.raw(), found.out(), &error);
    carrier.finish(status, error);
    return found;
}

/* A filter of nodes for C. */
class NodeAsking {
public:
    explicit NodeAsking(const NodeFilter &filter) : filter_(filter) {}
    fxir_node_filter function() const { return filter_ ? ask : nullptr; }
    void finish(fxir_status status, fxir_error *error) { carrier_.finish(status, error); }

private:
    static std::int32_t ask(void *data, const fxir_module *module, fxir_node node, std::int32_t *verdict) {
        NodeAsking &now = *static_cast<NodeAsking *>(data);
        return now.carrier_.run([&] { *verdict = now.filter_(ModuleView(module), Node(node)); });
    }

    const NodeFilter &filter_;
    Carrier carrier_;
};

}  // namespace detail

inline Matches ModuleView::match_pattern(const ModuleView &pattern, const MatchOptions &options) const {
    return detail::matching(options, [&](const fxir_match_options *raw, fxir_matches **found, fxir_error **error) {
        return fxir_match_pattern(module_, pattern.get(), raw, found, error);
    });
}

}  // namespace fxir

#endif /* FXIR_VIEW_HPP */
