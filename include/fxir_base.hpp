/* fxir for C++17: errors, owners, nodes, arguments. Include fxir.hpp.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef FXIR_BASE_HPP
#define FXIR_BASE_HPP

#include "fxir.h"

#include <cstdint>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fxir {

/* A call that failed. */
class Error : public std::runtime_error {
public:
    /* Frees `error`, which may be NULL. */
    Error(fxir_status status, fxir_error *error)
        : std::runtime_error(error ? fxir_error_message(error) : fxir_status_name(status)),
          status_(status),
          node_(fxir_error_node(error)),
          line_(fxir_error_line(error)),
          column_(fxir_error_column(error)),
          callback_code_(fxir_error_callback_code(error)),
          nodes_(fxir_error_nodes(error, nullptr, 0)) {
        fxir_error_nodes(error, nodes_.data(), nodes_.size());
        fxir_error_free(error);
    }
    Error(fxir_status status, const std::string &message)
        : std::runtime_error(message), status_(status), node_(0), line_(0), column_(0), callback_code_(0) {}

    /* FXIR_NOT_FOUND and the like; what() is the message. */
    fxir_status status() const noexcept { return status_; }
    /* The node that it is about, 0 for none. */
    fxir_node node() const noexcept { return node_; }
    /* Where a text could not be read, from 1; 0 for nowhere. */
    std::size_t line() const noexcept { return line_; }
    std::size_t column() const noexcept { return column_; }
    /* What a C callback returned that stopped the call; else 0. */
    std::int32_t callback_code() const noexcept { return callback_code_; }
    /* All the nodes that it is about, the first being node(): those of a cycle in its order. */
    const std::vector<fxir_node> &nodes() const noexcept { return nodes_; }

private:
    fxir_status status_;
    fxir_node node_;
    std::size_t line_, column_;
    std::int32_t callback_code_;
    std::vector<fxir_node> nodes_;
};

namespace detail {

/* Calls `function(arguments..., &error)` and throws when it fails. */
template <class Function, class... Arguments>
void call(Function function, Arguments... arguments) {
    fxir_error *error = nullptr;
    const fxir_status status = function(arguments..., &error);
    if (status != FXIR_OK) throw Error(status, error);
}

/* A text for C, which would take it to end at the first NUL. */
inline const char *text(const std::string &given) {
    if (given.find('\0') != std::string::npos) throw Error(FXIR_INVALID_ARGUMENT, "a text has a NUL in it");
    return given.c_str();
}

/* Owns one handle: moves, does not copy, frees. One that owns nothing is false, and its handle NULL, which
 * the C functions refuse or take for none. */
template <class Handle, void (*Free)(Handle *)>
class Owner {
public:
    Owner() noexcept = default;
    explicit Owner(Handle *handle) noexcept : handle_(handle) {}
    Owner(Owner &&other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    Owner &operator=(Owner &&other) noexcept {
        if (this != &other) {
            Free(handle_);
            handle_ = std::exchange(other.handle_, nullptr);
        }
        return *this;
    }
    Owner(const Owner &) = delete;
    Owner &operator=(const Owner &) = delete;
    ~Owner() { Free(handle_); }

    /* The handle, for the C functions; still owned. */
    Handle *get() const noexcept { return handle_; }
    explicit operator bool() const noexcept { return handle_ != nullptr; }
    /* Gives the handle away; the caller frees it. */
    Handle *release() noexcept { return std::exchange(handle_, nullptr); }
    /* Where a call may put a handle; what was owned is freed. */
    Handle **out() noexcept {
        Free(std::exchange(handle_, nullptr));
        return &handle_;
    }

private:
    Handle *handle_ = nullptr;
};

inline std::string_view view(const char *text) { return text ? std::string_view(text) : std::string_view(); }

/* What a callback threw, carried past the C functions, which know no exceptions. */
class Carrier {
public:
    /* Runs the body of a callback; what it returns is what the callback returns to C. */
    template <class Body>
    std::int32_t run(Body body) noexcept {
        try {
            body();
            return 0;
        } catch (const Error &error) {
            // The failure of a call that a callback inside of it stopped: what that one threw is what happened.
            if (!thrown_ || error.status() != FXIR_CALLBACK) thrown_ = std::current_exception();
        } catch (...) {
            thrown_ = std::current_exception();
        }
        return 1;
    }
    /* That of the call that this thread is in, for callbacks that are kept beyond one call. */
    static Carrier *&applying() {
        static thread_local Carrier *innermost = nullptr;
        return innermost;
    }
    /* Throws what the callback threw that stopped the call, or else what the call came to. */
    void finish(fxir_status status, fxir_error *error) {
        if (status == FXIR_OK) return;
        if (thrown_ && status == FXIR_CALLBACK) {
            fxir_error_free(error);
            std::rethrow_exception(thrown_);
        }
        throw Error(status, error);
    }

private:
    std::exception_ptr thrown_;
};

/* Items of a C function that fills an array with as many as fit and returns how many there are. */
template <class Item, class Function, class... Arguments>
std::vector<Item> fill(Function function, Arguments... arguments) {
    std::vector<Item> items(function(arguments..., nullptr, 0));
    const std::size_t count = function(arguments..., items.data(), items.size());
    if (count < items.size()) items.resize(count); // another thread changes it meanwhile
    return items;
}

}  // namespace detail

/* A node of a graph; false for none. */
struct Node {
    /* The number that the C functions take. */
    fxir_node id = 0;

    Node() = default;
    Node(fxir_node number) : id(number) {}
    explicit operator bool() const noexcept { return id != 0; }
    friend bool operator==(Node a, Node b) noexcept { return a.id == b.id; }
    friend bool operator!=(Node a, Node b) noexcept { return a.id != b.id; }
};

namespace detail {

template <class Function, class... Arguments>
std::vector<Node> nodes(Function function, Arguments... arguments) {
    const std::vector<fxir_node> found = fill<fxir_node>(function, arguments...);
    return std::vector<Node>(found.begin(), found.end());
}

inline std::vector<fxir_node> ids(const std::vector<Node> &nodes) {
    std::vector<fxir_node> ids;
    for (Node node : nodes) ids.push_back(node.id);
    return ids;
}

}  // namespace detail

/* One argument of a call, with all that it points into. */
class Arg {
public:
    Arg(std::nullptr_t) : raw_(fxir_arg_none()) {}
    Arg(Node node) : raw_(fxir_arg_node(node.id)) {}
    Arg(bool value) : raw_(fxir_arg_bool(value)) {}
    Arg(int value) : raw_(fxir_arg_int(value)) {}
    Arg(long value) : raw_(fxir_arg_int(value)) {}
    Arg(long long value) : raw_(fxir_arg_int(value)) {}
    /* It could be a node's number: say Node(number), or cast to a signed one. */
    Arg(unsigned long value) = delete;
    Arg(unsigned long long value) = delete;
    Arg(double value) : raw_(fxir_arg_float(value)) {}
    Arg(const char *text) : Arg(std::string(text)) {}
    Arg(std::string text) {
        auto kept = std::make_shared<const std::string>(std::move(text));
        raw_ = fxir_arg_strn(kept->data(), kept->size());
        keeps_.push_back(std::move(kept));
    }
    /* Anything that the C header can make; what it points into must live as long as this. */
    explicit Arg(fxir_arg raw) : raw_(raw) {}

    static Arg list(const std::vector<Arg> &items) { return array(FXIR_ARG_LIST, items, items.size()); }
    static Arg tuple(const std::vector<Arg> &items) { return array(FXIR_ARG_TUPLE, items, items.size()); }
    static Arg slice(Arg start, Arg stop, Arg step) { return array(FXIR_ARG_SLICE, {start, stop, step}, 3); }
    /* Keys and values. */
    static Arg dict(const std::vector<std::pair<Arg, Arg>> &entries) {
        std::vector<Arg> items;
        for (const auto &entry : entries) {
            items.push_back(entry.first);
            items.push_back(entry.second);
        }
        return array(FXIR_ARG_DICT, items, entries.size());
    }
    /* FXIR_DTYPE_* */
    static Arg dtype(std::int32_t dtype) { return Arg(fxir_arg_dtype(dtype)); }
    /* "cpu", "cuda:0" */
    static Arg device(std::string device) { return spelled(FXIR_ARG_DEVICE, std::move(device)); }
    /* Any other kind that is a text: FXIR_ARG_MEMORY_FORMAT, FXIR_ARG_BIG_INT and the like. */
    static Arg spelled(std::uint32_t kind, std::string text) {
        Arg made(std::move(text));
        made.raw_.kind = kind;
        return made;
    }

    const fxir_arg &raw() const noexcept { return raw_; }

private:
    static Arg array(std::uint32_t kind, const std::vector<Arg> &items, std::size_t count) {
        Arg made(nullptr);
        auto kept = std::make_shared<std::vector<fxir_arg>>();
        for (const Arg &item : items) {
            kept->push_back(item.raw_);
            made.keeps_.insert(made.keeps_.end(), item.keeps_.begin(), item.keeps_.end());
        }
        made.raw_ = fxir_arg_array(kind, kept->data(), count);
        made.keeps_.push_back(std::move(kept));
        return made;
    }

    fxir_arg raw_{};
    std::vector<std::shared_ptr<const void>> keeps_;
};

using Args = std::vector<Arg>;
using Kwargs = std::vector<std::pair<std::string, Arg>>;

namespace detail {

/* Arguments as the C functions take them; they point into what they were made from. */
struct RawArgs {
    std::vector<fxir_arg> args;
    std::vector<fxir_kwarg> kwargs;

    explicit RawArgs(const Args &given, const Kwargs &named = {}) {
        for (const Arg &arg : given) args.push_back(arg.raw());
        for (const auto &kwarg : named) kwargs.push_back(fxir_kwarg_of(text(kwarg.first), kwarg.second.raw()));
    }
};

}  // namespace detail

/* Arguments as they were when they were asked for, in the form of the C header. The positional ones are its
 * items; of a setting or an entry of meta, the value is the one item. */
class ArgsSnapshot : public detail::Owner<fxir_args, fxir_args_free> {
public:
    using Owner::Owner;
    std::size_t size() const { return fxir_args_count(get()); }
    const fxir_arg *begin() const { return fxir_args_items(get()); }
    const fxir_arg *end() const { return begin() + size(); }
    const fxir_arg &operator[](std::size_t index) const { return begin()[index]; }
    /* The keyword argument of that name, nullptr when there is none. */
    const fxir_arg *kwarg(const std::string &name) const { return fxir_args_kwarg(get(), name.c_str()); }
    std::size_t kwarg_count() const { return fxir_args_kwarg_count(get()); }
    /* kwarg_count() of them, in their order. */
    const fxir_kwarg *kwargs() const { return fxir_args_kwargs(get()); }
};

/* Bytes that a call made: JSON, a table. */
class Buffer : public detail::Owner<fxir_buffer, fxir_buffer_free> {
public:
    using Owner::Owner;
    std::string_view text() const { return {fxir_buffer_data(get()), fxir_buffer_size(get())}; }
};

/* Which nodes of one graph became which of another. */
class NodeMap : public detail::Owner<fxir_node_map, fxir_node_map_free> {
public:
    using Owner::Owner;
    std::size_t size() const { return fxir_node_map_count(get()); }
    const fxir_node_pair *begin() const { return fxir_node_map_pairs(get()); }
    const fxir_node_pair *end() const { return begin() + size(); }
    /* What stands for a node; none when nothing does. */
    Node operator[](Node from) const { return fxir_node_map_get(get(), from.id); }
};

}  // namespace fxir

#endif /* FXIR_BASE_HPP */
