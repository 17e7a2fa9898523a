/* fxir for C++17: tracing, so that a pattern reads like the formula. Include fxir.hpp.
 * SPDX-License-Identifier: MIT OR Apache-2.0
 *
 *     fxir::Module net = fxir::trace({"x", "w"}, [](fxir::Tracer &, const auto &in) {
 *         return (in[0] * in[1] + 1).function("torch.relu");
 *     }); */
#ifndef FXIR_TRACE_HPP
#define FXIR_TRACE_HPP

#include "fxir_base.hpp"

#include <functional>
#include <optional>

namespace fxir {

class Value;

/* Records operations as nodes of a module in the making; lives no longer than the function that it
 * was made for. */
class Tracer {
public:
    explicit Tracer(fxir_tracer *tracer) : tracer_(tracer) {}
    fxir_tracer *get() const noexcept { return tracer_; }

    Value call_function(const std::string &target, const Args &args = {}, const Kwargs &kwargs = {});
    Value call_method(const std::string &target, const Args &args = {}, const Kwargs &kwargs = {});
    Value call_module(const std::string &target, const Args &args = {}, const Kwargs &kwargs = {});
    Value get_attr(const std::string &target);
    /* Any of these by its number, FXIR_OP_*. */
    Value record(std::int32_t op, const std::string &target, const Args &args = {}, const Kwargs &kwargs = {});

private:
    fxir_tracer *tracer_;
};

/* What an operation yields. Operators on it are recorded as Python's are: x + 1 is _operator.add. */
class Value {
public:
    Value(Tracer tracer, Node node) : tracer_(tracer), node_(node) {}
    Node node() const noexcept { return node_; }
    operator Arg() const { return Arg(node_); }

    /* This as the first argument of a function: x.function("torch.relu"). */
    Value function(const std::string &target, Args more = {}, const Kwargs &kwargs = {}) const {
        more.insert(more.begin(), *this);
        return tracer().call_function(target, more, kwargs);
    }
    /* x.method("view", {-1, 4}) */
    Value method(const std::string &name, Args more = {}, const Kwargs &kwargs = {}) const {
        more.insert(more.begin(), *this);
        return tracer().call_method(name, more, kwargs);
    }
    /* x.attr("shape") */
    Value attr(const std::string &name) const { return tracer().call_function("builtins.getattr", {*this, name}); }
    Value operator[](const Arg &index) const { return operation("getitem", {*this, index}); }
    Value operator-() const { return operation("neg", {*this}); }
    Value operator+() const { return operation("pos", {*this}); }
    Value operator~() const { return operation("invert", {*this}); }

    Value operation(const char *name, const Args &args) const {
        return tracer().call_function(std::string("_operator.") + name, args);
    }

private:
    Tracer tracer() const { return tracer_; }

    Tracer tracer_;
    Node node_;
};

#define FXIR_OPERATOR(SYMBOL, NAME)                                                                              \
    inline Value operator SYMBOL(const Value &a, const Value &b) { return a.operation(NAME, {a, b}); }          \
    inline Value operator SYMBOL(const Value &a, const Arg &b) { return a.operation(NAME, {a, b}); }            \
    inline Value operator SYMBOL(const Arg &a, const Value &b) { return b.operation(NAME, {a, b}); }
FXIR_OPERATOR(+, "add")
FXIR_OPERATOR(-, "sub")
FXIR_OPERATOR(*, "mul")
FXIR_OPERATOR(/, "truediv")
FXIR_OPERATOR(%, "mod")
FXIR_OPERATOR(&, "and_")
FXIR_OPERATOR(|, "or_")
FXIR_OPERATOR(^, "xor")
FXIR_OPERATOR(<<, "lshift")
FXIR_OPERATOR(>>, "rshift")
FXIR_OPERATOR(<, "lt")
FXIR_OPERATOR(<=, "le")
FXIR_OPERATOR(>, "gt")
FXIR_OPERATOR(>=, "ge")
FXIR_OPERATOR(==, "eq")
FXIR_OPERATOR(!=, "ne")
#undef FXIR_OPERATOR

inline Value Tracer::record(std::int32_t op, const std::string &target, const Args &args, const Kwargs &kwargs) {
    const detail::RawArgs raw(args, kwargs);
    fxir_node node = 0;
    detail::call(fxir_tracer_record, tracer_, op, detail::text(target), raw.args.data(), raw.args.size(),
                 raw.kwargs.data(), raw.kwargs.size(), nullptr, &node);
    return Value(*this, node);
}
inline Value Tracer::call_function(const std::string &target, const Args &args, const Kwargs &kwargs) {
    return record(FXIR_OP_CALL_FUNCTION, target, args, kwargs);
}
inline Value Tracer::call_method(const std::string &target, const Args &args, const Kwargs &kwargs) {
    return record(FXIR_OP_CALL_METHOD, target, args, kwargs);
}
inline Value Tracer::call_module(const std::string &target, const Args &args, const Kwargs &kwargs) {
    return record(FXIR_OP_CALL_MODULE, target, args, kwargs);
}
inline Value Tracer::get_attr(const std::string &target) { return record(FXIR_OP_GET_ATTR, target); }

/* One operation on its way to becoming a node, as a rewrite sees it. */
class Operation {
public:
    explicit Operation(const fxir_operation *operation) : operation_(operation) {}
    const fxir_operation &raw() const noexcept { return *operation_; }

    std::int32_t op() const noexcept { return operation_->op; }
    std::string_view target() const noexcept { return operation_->target; }
    /* The arguments, for recording something else with them. */
    Args args() const {
        Args copies;
        for (std::size_t i = 0; i < operation_->args_count; i++) copies.push_back(Arg(operation_->args[i]));
        return copies;
    }
    Kwargs kwargs() const {
        Kwargs copies;
        for (std::size_t i = 0; i < operation_->kwargs_count; i++)
            copies.emplace_back(operation_->kwargs[i].name, Arg(operation_->kwargs[i].value));
        return copies;
    }

private:
    const fxir_operation *operation_;
};

/* Says what stands for an operation, or nothing to leave it as it is; may throw. */
using TraceRewrite = std::function<std::optional<Value>(Tracer &, const Operation &)>;
/* What is traced: gets the inputs and gives what it returns; may throw. */
using TraceFunction = std::function<Arg(Tracer &, const std::vector<Value> &)>;

/* Rewrites as C takes them. */
class TraceRewrites {
public:
    TraceRewrites(const std::vector<TraceRewrite> &rewrites, detail::Carrier &carrier) {
        for (const TraceRewrite &rewrite : rewrites) seen_.push_back({&rewrite, &carrier});
        for (Seen &seen : seen_) raw_.push_back({see, &seen});
    }
    TraceRewrites(const TraceRewrites &) = delete;
    TraceRewrites &operator=(const TraceRewrites &) = delete;
    const fxir_trace_rewrite *data() const noexcept { return raw_.data(); }
    std::size_t size() const noexcept { return raw_.size(); }

private:
    struct Seen {
        const TraceRewrite *rewrite;
        detail::Carrier *carrier;
    };
    static std::int32_t see(void *data, fxir_tracer *handle, const fxir_operation *operation, fxir_node *node) {
        const Seen &now = *static_cast<Seen *>(data);
        return now.carrier->run([&] {
            Tracer tracer(handle);
            if (const std::optional<Value> value = (*now.rewrite)(tracer, Operation(operation)))
                *node = value->node().id;
        });
    }
    std::vector<Seen> seen_;
    std::vector<fxir_trace_rewrite> raw_;
};

/* fxir_trace; the handle is the caller's. */
inline fxir_module *trace_into_handle(const fxir_module *root, const std::vector<std::string> &inputs,
                                      const TraceFunction &function, const std::vector<TraceRewrite> &rewrites) {
    detail::Carrier carrier;
    struct Traced {
        const TraceFunction &function;
        detail::Carrier &carrier;
    } traced{function, carrier};
    const TraceRewrites raw_rewrites(rewrites, carrier);
    const fxir_trace_function run = [](void *data, fxir_tracer *handle, const fxir_node *nodes, std::size_t count) {
        Traced &now = *static_cast<Traced *>(data);
        return now.carrier.run([&] {
            Tracer tracer(handle);
            std::vector<Value> values;
            for (std::size_t i = 0; i < count; i++) values.emplace_back(tracer, nodes[i]);
            const Arg result = now.function(tracer, values);
            detail::call(fxir_tracer_output, handle, &result.raw());
        });
    };
    std::vector<const char *> names;
    for (const std::string &input : inputs) names.push_back(detail::text(input));
    fxir_module *made = nullptr;
    fxir_error *error = nullptr;
    const fxir_status status = fxir_trace(root, names.data(), names.size(), run, &traced, raw_rewrites.data(),
                                          raw_rewrites.size(), &made, &error);
    carrier.finish(status, error);
    return made;
}

/* What of a text is traced, and how far down: fxir_trace_options. */
struct TraceOptions {
    std::string entry;
    std::vector<std::string> autowrap_functions;
    bool autowrap_all = false;
    bool more_members = false;
    bool more_functions = false;
};

/* fxir_trace_code; the handle is the caller's. */
inline fxir_module *trace_code_into_handle(std::string_view text, const fxir_module *members,
                                           const TraceOptions &options, const std::vector<TraceRewrite> &rewrites) {
    detail::Carrier carrier;
    const TraceRewrites raw_rewrites(rewrites, carrier);
    std::vector<const char *> names;
    for (const std::string &name : options.autowrap_functions) names.push_back(detail::text(name));
    fxir_trace_options raw;
    fxir_trace_options_init(&raw);
    raw.entry = options.entry.empty() ? nullptr : detail::text(options.entry);
    raw.autowrap_functions = names.data();
    raw.autowrap_functions_count = names.size();
    raw.autowrap_all = options.autowrap_all;
    raw.more_members = options.more_members;
    raw.more_functions = options.more_functions;
    fxir_module *made = nullptr;
    fxir_error *error = nullptr;
    const fxir_status status = fxir_trace_code(text.data(), text.size(), members, &raw, raw_rewrites.data(),
                                               raw_rewrites.size(), &made, &error);
    carrier.finish(status, error);
    return made;
}

}  // namespace fxir

#endif /* FXIR_TRACE_HPP */
