/* fxir for C++17: errors, owners, arguments, tensors, matches. Include fxir.hpp.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef FXIR_BASE_HPP
#define FXIR_BASE_HPP

#include "fxir.h"

#include <cstdint>
#include <exception>
#include <initializer_list>
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
    explicit Error(fxir_status status, fxir_error *error)
        : std::runtime_error(error ? fxir_error_message(error) : fxir_status_name(status)),
          status_(status),
          node_(fxir_error_node(error)),
          line_(fxir_error_line(error)),
          column_(fxir_error_column(error)),
          callback_code_(fxir_error_callback_code(error)) {
        fxir_error_free(error);
    }

    fxir_status status() const noexcept { return status_; }
    /* The node that it is about, 0 for none. */
    fxir_node node() const noexcept { return node_; }
    /* Where a text could not be read, from 1; 0 for nowhere. */
    std::size_t line() const noexcept { return line_; }
    std::size_t column() const noexcept { return column_; }
    std::int32_t callback_code() const noexcept { return callback_code_; }

private:
    fxir_status status_;
    fxir_node node_;
    std::size_t line_, column_;
    std::int32_t callback_code_;
};

namespace detail {

/* Calls `function(arguments..., &error)` and throws when it fails. */
template <class Function, class... Arguments>
void call(Function function, Arguments... arguments) {
    fxir_error *error = nullptr;
    const fxir_status status = function(arguments..., &error);
    if (status != FXIR_OK) throw Error(status, error);
}

/* Owns one handle. */
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

/* What a callback threw, carried past the C functions. */
class Carrier {
public:
    template <class Body>
    std::int32_t run(Body body) noexcept {
        try {
            body();
            return 0;
        } catch (...) {
            // A callback inside a callback threw first; what it threw is what happened.
            if (!thrown_) thrown_ = std::current_exception();
            return 1;
        }
    }
    /* Throws what a callback threw, else what the call came to. */
    void finish(fxir_status status, fxir_error *error) {
        if (status == FXIR_OK) return;
        if (thrown_) {
            fxir_error_free(error);
            std::rethrow_exception(thrown_);
        }
        throw Error(status, error);
    }

private:
    std::exception_ptr thrown_;
};

}  // namespace detail

/* A node of a graph; false for none. */
struct Node {
    fxir_node id = 0;

    Node() = default;
    Node(fxir_node number) : id(number) {}
    explicit operator bool() const noexcept { return id != 0; }
    friend bool operator==(Node a, Node b) noexcept { return a.id == b.id; }
    friend bool operator!=(Node a, Node b) noexcept { return a.id != b.id; }
};

/* One argument of a call, with all that it points into. */
class Arg {
public:
    Arg(std::nullptr_t) : raw_(fxir_arg_none()) {}
    Arg(Node node) : raw_(fxir_arg_node(node.id)) {}
    Arg(bool value) : raw_(fxir_arg_bool(value)) {}
    Arg(int value) : raw_(fxir_arg_int(value)) {}
    Arg(long value) : raw_(fxir_arg_int(value)) {}
    Arg(long long value) : raw_(fxir_arg_int(value)) {}
    Arg(double value) : raw_(fxir_arg_float(value)) {}
    Arg(const char *text) : Arg(std::string(text)) {}
    Arg(std::string text) {
        auto kept = std::make_shared<const std::string>(std::move(text));
        raw_ = fxir_arg_strn(kept->data(), kept->size());
        keeps_.push_back(std::move(kept));
    }
    /* Anything that the C header can make; what it points into must live as long as this. */
    explicit Arg(fxir_arg raw) : raw_(raw) {}

    static Arg list(std::initializer_list<Arg> items) { return array(FXIR_ARG_LIST, items, items.size()); }
    static Arg tuple(std::initializer_list<Arg> items) { return array(FXIR_ARG_TUPLE, items, items.size()); }
    static Arg slice(Arg start, Arg stop, Arg step) { return array(FXIR_ARG_SLICE, {start, stop, step}, 3); }
    static Arg dict(std::initializer_list<std::pair<Arg, Arg>> entries) {
        std::vector<Arg> items;
        for (const auto &entry : entries) {
            items.push_back(entry.first);
            items.push_back(entry.second);
        }
        return array(FXIR_ARG_DICT, items, entries.size());
    }
    static Arg dtype(std::int32_t dtype) { return Arg(fxir_arg_dtype(dtype)); }

    const fxir_arg &raw() const noexcept { return raw_; }

private:
    template <class Items>
    static Arg array(std::uint32_t kind, const Items &items, std::size_t count) {
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
    static Arg array(std::uint32_t kind, std::initializer_list<Arg> items, std::size_t count) {
        return array<std::initializer_list<Arg>>(kind, items, count);
    }

    fxir_arg raw_{};
    std::vector<std::shared_ptr<const void>> keeps_;
};

using Args = std::vector<Arg>;
using Kwargs = std::vector<std::pair<std::string, Arg>>;

/* Arguments as they were when they were asked for. */
class ArgsSnapshot : public detail::Owner<fxir_args, fxir_args_free> {
public:
    using Owner::Owner;
    std::size_t size() const { return fxir_args_count(get()); }
    const fxir_arg *begin() const { return fxir_args_items(get()); }
    const fxir_arg *end() const { return begin() + size(); }
    const fxir_arg &operator[](std::size_t index) const { return begin()[index]; }
    /* The keyword argument of that name, nullptr when there is none. */
    const fxir_arg *kwarg(const char *name) const { return fxir_args_kwarg(get(), name); }
};

/* Bytes that a call made. */
class Buffer : public detail::Owner<fxir_buffer, fxir_buffer_free> {
public:
    using Owner::Owner;
    std::string_view text() const { return {fxir_buffer_data(get()), fxir_buffer_size(get())}; }
};

/* A tensor; its bytes are shared. */
class Tensor : public detail::Owner<fxir_tensor, fxir_tensor_free> {
public:
    using Owner::Owner;
    /* Memory that stays the caller's, until `release` is called. */
    static Tensor borrow(std::int32_t dtype, const std::vector<std::int64_t> &shape, const void *data,
                         std::size_t size, fxir_release release = nullptr, void *user_data = nullptr) {
        Tensor made;
        detail::call(fxir_tensor_borrow, dtype, shape.data(), shape.size(), nullptr, data, size, release, user_data,
                     made.out());
        return made;
    }
    static Tensor copy(std::int32_t dtype, const std::vector<std::int64_t> &shape, const void *data,
                       std::size_t size) {
        Tensor made;
        detail::call(fxir_tensor_copy, dtype, shape.data(), shape.size(), data, size, made.out());
        return made;
    }
    std::int32_t dtype() const { return fxir_tensor_dtype(get()); }
    std::vector<std::int64_t> shape() const {
        const std::int64_t *sizes = fxir_tensor_shape(get());
        return sizes ? std::vector<std::int64_t>(sizes, sizes + fxir_tensor_rank(get())) : std::vector<std::int64_t>();
    }
    const void *data() const { return fxir_tensor_data(get()); }
    std::size_t size() const { return fxir_tensor_size(get()); }
    const fxir_tensor_meta &meta() const { return *fxir_tensor_meta_of(get()); }
};

/* Tensors by name. */
class Weights : public detail::Owner<fxir_weights, fxir_weights_free> {
public:
    using Owner::Owner;
    static Weights open(const std::string &path) {
        Weights made;
        detail::call(fxir_weights_open, path.c_str(), made.out());
        return made;
    }
    std::size_t size() const { return fxir_weights_count(get()); }
    std::string_view name(std::size_t index) const { return detail::view(fxir_weights_name(get(), index)); }
    Tensor tensor(std::size_t index) const {
        Tensor found;
        detail::call(fxir_weights_tensor, get(), index, found.out());
        return found;
    }
    Tensor operator[](const std::string &name) const {
        Tensor found;
        detail::call(fxir_weights_get, get(), name.c_str(), found.out());
        return found;
    }
    void write(const std::string &path) const { detail::call(fxir_weights_write, get(), path.c_str()); }
};

/* Matches of a pattern, one of them at a time by its index. */
class MatchesView {
public:
    explicit MatchesView(const fxir_matches *matches) : matches_(matches) {}
    std::size_t size() const { return fxir_matches_count(matches_); }
    Node node(std::size_t index, Node pattern_node) const {
        return fxir_matches_node(matches_, index, pattern_node.id);
    }
    std::string_view node_name(std::size_t index, Node pattern_node) const {
        return detail::view(fxir_matches_node_name(matches_, index, pattern_node.id));
    }
    const fxir_arg *argument(std::size_t index, Node pattern_node) const {
        return fxir_matches_argument(matches_, index, pattern_node.id);
    }
    std::vector<Node> anchors(std::size_t index) const { return list(fxir_matches_anchors, index); }
    std::vector<Node> replacements(std::size_t index) const { return list(fxir_matches_replacements, index); }

private:
    template <class Function>
    std::vector<Node> list(Function function, std::size_t index) const {
        std::vector<fxir_node> nodes(function(matches_, index, nullptr, 0));
        nodes.resize(function(matches_, index, nodes.data(), nodes.size()));
        return std::vector<Node>(nodes.begin(), nodes.end());
    }

    const fxir_matches *matches_;
};

class Matches : public detail::Owner<fxir_matches, fxir_matches_free> {
public:
    using Owner::Owner;
    std::size_t size() const { return fxir_matches_count(get()); }
    MatchesView view() const { return MatchesView(get()); }
};

}  // namespace fxir

#endif /* FXIR_BASE_HPP */
