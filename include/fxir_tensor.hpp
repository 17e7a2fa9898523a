/* fxir for C++17: tensors, what nodes yield, sets of weights. Include fxir.hpp.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef FXIR_TENSOR_HPP
#define FXIR_TENSOR_HPP

#include "fxir_base.hpp"

#include <functional>
#include <optional>

namespace fxir {

/* "torch.float32" for FXIR_DTYPE_FLOAT32; empty for what is no dtype. */
inline std::string_view dtype_name(std::int32_t dtype) { return detail::view(fxir_dtype_name(dtype)); }
/* How many bits an element takes; 0 for what is no dtype. */
inline std::uint32_t dtype_bits(std::int32_t dtype) { return fxir_dtype_bits(dtype); }
/* FXIR_DTYPE_FLOAT32 for "torch.float32" or "float32"; FXIR_DTYPE_NONE for what is none. */
inline std::int32_t dtype_from_name(const std::string &name) { return fxir_dtype_from_name(name.c_str()); }

/* What is known of a tensor without its bytes. What is left out is not known. For symbolic sizes and
 * quantization fill an fxir_tensor_meta. */
struct TensorMeta {
    std::int32_t dtype = FXIR_DTYPE_NONE;
    std::vector<std::int64_t> shape;
    std::optional<std::vector<std::int64_t>> stride; /* as many as sizes */
    std::optional<bool> requires_grad;
    std::string memory_format;
    std::string device;

    /* The same for C; points into this. */
    fxir_tensor_meta raw() const {
        if (stride && stride->size() != shape.size()) throw Error(FXIR_INVALID_ARGUMENT, "not as many strides as sizes");
        fxir_tensor_meta meta;
        fxir_tensor_meta_init(&meta);
        meta.dtype = dtype;
        meta.requires_grad = requires_grad ? *requires_grad : -1;
        meta.rank = shape.size();
        meta.shape = shape.data();
        meta.stride = stride ? stride->data() : nullptr;
        meta.memory_format = memory_format.empty() ? nullptr : detail::text(memory_format);
        meta.device = device.empty() ? nullptr : detail::text(device);
        return meta;
    }
};

/* What a node yielded when it was asked. */
class ValuesSnapshot : public detail::Owner<fxir_values, fxir_values_free> {
public:
    using Owner::Owner;
    const fxir_value &root() const { return *fxir_values_root(get()); }
    /* The tensors in it, however nested. */
    std::size_t size() const { return fxir_values_tensor_count(get()); }
    const fxir_tensor_meta &operator[](std::size_t index) const { return *fxir_values_tensor(get(), index); }
};

/* A tensor; its bytes are shared. */
class Tensor : public detail::Owner<fxir_tensor, fxir_tensor_free> {
public:
    using Owner::Owner;
    /* Memory that stays the caller's, until `release` is called; row-major. */
    static Tensor borrow(std::int32_t dtype, const std::vector<std::int64_t> &shape, const void *data, std::size_t size,
                         fxir_release release = nullptr, void *user_data = nullptr) {
        Tensor made;
        detail::call(fxir_tensor_borrow, dtype, shape.data(), shape.size(), nullptr, data, size, release, user_data,
                     made.out());
        return made;
    }
    /* Memory that `owner` keeps: it is let go, on whatever thread, once the library uses the memory no more. */
    static Tensor share(std::int32_t dtype, const std::vector<std::int64_t> &shape, const void *data, std::size_t size,
                        std::shared_ptr<const void> owner) {
        auto kept = std::make_unique<std::shared_ptr<const void>>(std::move(owner));
        Tensor made = borrow(dtype, shape, data, size, let_go, kept.get());
        kept.release(); // a call that fails takes nothing
        return made;
    }
    /* A copy of the bytes; row-major. */
    static Tensor copy(std::int32_t dtype, const std::vector<std::int64_t> &shape, const void *data, std::size_t size) {
        Tensor made;
        detail::call(fxir_tensor_copy, dtype, shape.data(), shape.size(), data, size, made.out());
        return made;
    }
    static Tensor without_data(const fxir_tensor_meta &meta) {
        Tensor made;
        detail::call(fxir_tensor_without_data, &meta, made.out());
        return made;
    }
    static Tensor without_data(const TensorMeta &meta) { return without_data(meta.raw()); }
    /* The same bytes under other metadata. */
    Tensor with_meta(const fxir_tensor_meta &meta) const {
        Tensor made;
        detail::call(fxir_tensor_with_meta, get(), &meta, made.out());
        return made;
    }
    Tensor with_meta(const TensorMeta &meta) const { return with_meta(meta.raw()); }
    /* Taken from another library, which gets it back by its deleter; when this throws it stays the caller's. */
    static Tensor from_dlpack(DLManagedTensorVersioned *managed) {
        Tensor made;
        detail::call(fxir_tensor_from_dlpack, managed, made.out());
        return made;
    }
    static Tensor from_dlpack(DLManagedTensor *managed) {
        Tensor made;
        detail::call(fxir_tensor_from_dlpack_unversioned, managed, made.out());
        return made;
    }
    /* Handed to another library, which calls the deleter. Read only. */
    DLManagedTensorVersioned *to_dlpack() const {
        DLManagedTensorVersioned *managed = nullptr;
        detail::call(fxir_tensor_to_dlpack, get(), &managed);
        return managed;
    }
    DLManagedTensor *to_dlpack_unversioned() const {
        DLManagedTensor *managed = nullptr;
        detail::call(fxir_tensor_to_dlpack_unversioned, get(), &managed);
        return managed;
    }

    std::int32_t dtype() const { return fxir_tensor_dtype(get()); }
    std::vector<std::int64_t> shape() const { return numbers(fxir_tensor_shape(get())); }
    /* By which the bytes lie; empty for a tensor without bytes. */
    std::vector<std::int64_t> strides() const { return numbers(fxir_tensor_strides(get())); }
    bool is_contiguous() const { return fxir_tensor_is_contiguous(get()) == 1; }
    bool shares_storage(const Tensor &other) const { return fxir_tensor_shares_storage(get(), other.get()) == 1; }
    /* nullptr for a tensor without bytes. */
    const void *data() const { return fxir_tensor_data(get()); }
    std::size_t size() const { return fxir_tensor_size(get()); }
    const fxir_tensor_meta &meta() const { return *fxir_tensor_meta_of(get()); }

private:
    std::vector<std::int64_t> numbers(const std::int64_t *first) const {
        return first ? std::vector<std::int64_t>(first, first + fxir_tensor_rank(get())) : std::vector<std::int64_t>();
    }
    static void let_go(void *owner, const void *) { delete static_cast<std::shared_ptr<const void> *>(owner); }
};

/* Takes an output piece by piece; may throw. */
using Write = std::function<void(std::string_view)>;

namespace detail {

/* Calls `function(arguments..., write, data, more..., &error)`. */
class Writer {
public:
    explicit Writer(const Write &write) : write_(write) {}
    template <class Call>
    void run(Call call) {
        const fxir_write take = [](void *data, const void *bytes, std::size_t length) {
            Writer &now = *static_cast<Writer *>(data);
            return now.carrier_.run([&] { now.write_(std::string_view(static_cast<const char *>(bytes), length)); });
        };
        fxir_error *error = nullptr;
        const fxir_status status = call(take, static_cast<void *>(this), &error);
        carrier_.finish(status, error);
    }

private:
    const Write &write_;
    Carrier carrier_;
};

}  // namespace detail

/* Tensors by name. */
class Weights : public detail::Owner<fxir_weights, fxir_weights_free> {
public:
    using Owner::Owner;
    /* A set of none, to be filled. */
    static Weights create() {
        Weights made;
        detail::call(fxir_weights_new, made.out());
        return made;
    }
    /* A safetensors file, mapped; or an index (*.index.json) and all files that it names. */
    static Weights open(const std::string &path) {
        Weights made;
        detail::call(fxir_weights_open, detail::text(path), made.out());
        return made;
    }
    /* A safetensors file in memory that stays the caller's, until `release` is called. */
    static Weights borrow(const void *data, std::size_t size, fxir_release release = nullptr,
                          void *user_data = nullptr) {
        Weights made;
        detail::call(fxir_weights_borrow, data, size, release, user_data, made.out());
        return made;
    }
    /* Adds a tensor, or puts it in the place of the one of that name. */
    void set(const std::string &name, const Tensor &tensor) {
        detail::call(fxir_weights_set, get(), detail::text(name), tensor.get());
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
        detail::call(fxir_weights_get, get(), detail::text(name), found.out());
        return found;
    }
    void write(const std::string &path) const { detail::call(fxir_weights_write, get(), detail::text(path)); }
    /* Several files of so many bytes at most, and their index, which ends in .safetensors.index.json. */
    void write_sharded(const std::string &path, std::uint64_t max_shard_size) const {
        detail::call(fxir_weights_write_sharded, get(), detail::text(path), max_shard_size);
    }
    void write_to(const Write &write) const {
        detail::Writer(write).run([&](fxir_write take, void *data, fxir_error **error) {
            return fxir_weights_write_to(get(), take, data, error);
        });
    }
};

/* A safetensors file whose bytes come piece by piece: all tensors are announced first. What is not
 * finished leaves what was there. */
class WeightsWriter : public detail::Owner<fxir_weights_writer, fxir_weights_writer_free> {
public:
    using Owner::Owner;
    static WeightsWriter create(const std::string &path) {
        WeightsWriter made;
        detail::call(fxir_weights_writer_new, detail::text(path), made.out());
        return made;
    }
    void announce(const std::string &name, std::int32_t dtype, const std::vector<std::int64_t> &shape) {
        detail::call(fxir_weights_writer_announce, get(), detail::text(name), dtype, shape.data(), shape.size());
    }
    void write(const void *data, std::size_t size) { detail::call(fxir_weights_writer_write, get(), data, size); }
    void finish() { detail::call(fxir_weights_writer_finish, get()); }
};

}  // namespace fxir

#endif /* FXIR_TENSOR_HPP */
