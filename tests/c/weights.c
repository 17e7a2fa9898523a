/* Tensors and sets of them: memory that is borrowed and given back once, files that are mapped, and
 * files that are not what they should be. */
#include "check.h"
#include <pthread.h>
#include <unistd.h>

static const int64_t shape_2_3[2] = {2, 3};

typedef struct loan {
    int released;
    const void *data;
    fxir_module *module; /* used from the callback when there is one */
    int used;
} loan;

static void give_back(void *user_data, const void *data) {
    loan *l = (loan *)user_data;
    l->released++;
    l->data = data;
    if (l->module) { /* no lock is held */
        fxir_module *other = NULL;
        l->used += fxir_graph_placeholder(l->module, "from_release", NULL, NULL) == FXIR_OK;
        l->used += fxir_module_new(NULL, &other, NULL) == FXIR_OK;
        fxir_module_free(other);
    }
}

static void borrowing(void) {
    float data[6] = {1, 2, 3, 4, 5, 6};
    loan l;
    fxir_tensor *tensor = NULL, *shared = NULL;
    fxir_module *module = new_module(), *clone = NULL;
    fxir_weights *weights = NULL;
    const int64_t *strides;
    memset(&l, 0, sizeof l);
    OK(fxir_tensor_borrow(FXIR_DTYPE_FLOAT32, shape_2_3, 2, NULL, data, sizeof data, give_back, &l, &tensor, E));
    CHECK(fxir_tensor_data(tensor) == data && fxir_tensor_size(tensor) == 24 && fxir_tensor_rank(tensor) == 2);
    CHECK(fxir_tensor_dtype(tensor) == FXIR_DTYPE_FLOAT32 && fxir_tensor_is_contiguous(tensor));
    CHECK(fxir_tensor_shape(tensor)[0] == 2 && fxir_tensor_shape(tensor)[1] == 3);
    strides = fxir_tensor_strides(tensor);
    CHECK(strides && strides[0] == 3 && strides[1] == 1);
    /* Every user of the bytes counts, the last one gives them back. */
    OK(fxir_module_set_tensor(module, "a", FXIR_MEMBER_PARAMETER, tensor, E));
    OK(fxir_module_clone(module, &clone, NULL, E));
    OK(fxir_weights_new(&weights, E));
    OK(fxir_weights_set(weights, "w", tensor, E));
    OK(fxir_module_get_tensor(clone, "a", &shared, E));
    CHECK(fxir_tensor_shares_storage(tensor, shared) == 1 && fxir_tensor_data(shared) == data);
    fxir_tensor_free(tensor);
    fxir_tensor_free(tensor);
    fxir_module_free(clone);
    OK(fxir_module_delete_member(module, "a", E));
    fxir_tensor_free(shared);
    CHECK(l.released == 0);
    l.module = module;
    fxir_weights_free(weights);
    CHECK(l.released == 1 && l.data == data && l.used == 2);
    /* From inside a call that changes the module: it comes back when that is over. */
    memset(&l, 0, sizeof l);
    OK(fxir_tensor_borrow(FXIR_DTYPE_FLOAT32, shape_2_3, 2, NULL, data, sizeof data, give_back, &l, &tensor, E));
    OK(fxir_module_set_tensor(module, "a.b", FXIR_MEMBER_PARAMETER, tensor, E));
    fxir_tensor_free(tensor);
    l.module = module;
    OK(fxir_module_delete_member(module, "a", E));
    CHECK(l.released == 1 && l.used == 2);
    memset(&l, 0, sizeof l);
    OK(fxir_tensor_borrow(FXIR_DTYPE_FLOAT32, shape_2_3, 2, NULL, data, sizeof data, give_back, &l, &tensor, E));
    OK(fxir_module_set_tensor(module, "t", FXIR_MEMBER_PARAMETER, tensor, E));
    fxir_tensor_free(tensor);
    fxir_module_free(module);
    CHECK(l.released == 1);
    /* Memory that lives for ever, and none at all. */
    OK(fxir_tensor_borrow(FXIR_DTYPE_FLOAT32, shape_2_3, 2, NULL, data, 1000, NULL, NULL, &tensor, E));
    CHECK(fxir_tensor_size(tensor) == 24);
    fxir_tensor_free(tensor);
    {
        int64_t empty[2] = {0, 5};
        memset(&l, 0, sizeof l);
        OK(fxir_tensor_borrow(FXIR_DTYPE_FLOAT32, empty, 2, NULL, NULL, 0, give_back, &l, &tensor, E));
        CHECK(fxir_tensor_size(tensor) == 0 && fxir_tensor_rank(tensor) == 2);
        fxir_tensor_free(tensor);
        CHECK(l.released == 1);
        OK(fxir_tensor_borrow(FXIR_DTYPE_INT64, NULL, 0, NULL, data, 8, NULL, NULL, &tensor, E));
        CHECK(fxir_tensor_rank(tensor) == 0 && fxir_tensor_size(tensor) == 8);
        fxir_tensor_free(tensor);
    }
}

/* Refused, and never given back: the caller still has it. */
static void not_borrowed(void) {
    float data[6] = {1, 2, 3, 4, 5, 6};
    loan l;
    int64_t shape[80], strides[80];
    fxir_tensor *tensor = NULL;
    size_t i;
    memset(&l, 0, sizeof l);
    for (i = 0; i < 80; i++) shape[i] = strides[i] = 1;
#define REFUSE(status, dtype, shape, rank, strides, data, length) \
    FAILS(status, fxir_tensor_borrow(dtype, shape, rank, strides, data, length, give_back, &l, &tensor, E))
    REFUSE(FXIR_INVALID_ARGUMENT, 0, shape_2_3, 2, NULL, data, 24);
    REFUSE(FXIR_INVALID_ARGUMENT, 47, shape_2_3, 2, NULL, data, 24);
    REFUSE(FXIR_INVALID_ARGUMENT, -1, shape_2_3, 2, NULL, data, 24);
    REFUSE(FXIR_OUT_OF_RANGE, FXIR_DTYPE_FLOAT32, shape_2_3, 2, NULL, data, 23);
    REFUSE(FXIR_OUT_OF_RANGE, FXIR_DTYPE_FLOAT64, shape_2_3, 2, NULL, data, 24);
    REFUSE(FXIR_NULL_ARGUMENT, FXIR_DTYPE_FLOAT32, shape_2_3, 2, NULL, NULL, 24);
    REFUSE(FXIR_LIMIT, FXIR_DTYPE_FLOAT32, shape, 65, NULL, data, 24);
    REFUSE(FXIR_LIMIT, FXIR_DTYPE_FLOAT32, shape, SIZE_MAX, NULL, data, 24);
    shape[0] = -1;
    REFUSE(FXIR_INVALID_ARGUMENT, FXIR_DTYPE_FLOAT32, shape, 2, NULL, data, 24);
    shape[0] = INT64_MIN;
    REFUSE(FXIR_INVALID_ARGUMENT, FXIR_DTYPE_FLOAT32, shape, 2, NULL, data, 24);
    shape[0] = INT64_MAX;
    shape[1] = INT64_MAX;
    REFUSE(FXIR_INVALID_ARGUMENT, FXIR_DTYPE_FLOAT32, shape, 2, NULL, data, 24);
    shape[1] = 4;
    REFUSE(FXIR_INVALID_ARGUMENT, FXIR_DTYPE_FLOAT32, shape, 2, NULL, data, 24);
    shape[0] = (int64_t)1 << 62;
    REFUSE(FXIR_INVALID_ARGUMENT, FXIR_DTYPE_FLOAT64, shape, 1, NULL, data, 24);
    shape[0] = 2;
    shape[1] = 3;
    strides[0] = -3;
    REFUSE(FXIR_INVALID_ARGUMENT, FXIR_DTYPE_FLOAT32, shape, 2, strides, data, 24);
    strides[0] = INT64_MAX;
    REFUSE(FXIR_OUT_OF_RANGE, FXIR_DTYPE_FLOAT32, shape, 2, strides, data, 24);
    strides[0] = 4;
    REFUSE(FXIR_OUT_OF_RANGE, FXIR_DTYPE_FLOAT32, shape, 2, strides, data, 24);
    shape[0] = 0; /* nothing of it, of a size beyond all measure */
    shape[1] = INT64_MAX;
    shape[2] = INT64_MAX;
    {
        fxir_status status = fxir_tensor_borrow(FXIR_DTYPE_FLOAT32, shape, 3, NULL, data, 24, NULL, NULL, &tensor, NULL);
        CHECK(status == FXIR_OK || status == FXIR_INVALID_ARGUMENT);
        if (status == FXIR_OK) CHECK(fxir_tensor_size(tensor) == 0);
        fxir_tensor_free(tensor);
        tensor = NULL;
    }
    FAILS(FXIR_INVALID_ARGUMENT, fxir_tensor_copy(FXIR_DTYPE_FLOAT32, shape_2_3, 2, data, 20, &tensor, E));
    FAILS(FXIR_INVALID_ARGUMENT, fxir_tensor_copy(FXIR_DTYPE_FLOAT32, shape_2_3, 2, data, 28, &tensor, E));
    FAILS(FXIR_INVALID_ARGUMENT, fxir_tensor_copy(FXIR_DTYPE_NONE, shape_2_3, 2, data, 24, &tensor, E));
    FAILS(FXIR_NULL_ARGUMENT, fxir_tensor_copy(FXIR_DTYPE_FLOAT32, NULL, 2, data, 24, &tensor, E));
    CHECK(l.released == 0 && tensor == NULL);
}

static void strides_and_views(void) {
    float data[6] = {1, 2, 3, 4, 5, 6};
    int64_t shape[2] = {3, 2}, strides[2] = {1, 3}, zero[2] = {0, 1}, four[1] = {4};
    fxir_tensor *tensor = NULL, *view = NULL, *other = NULL;
    fxir_tensor_meta meta;
    fxir_quantization q;
    OK(fxir_tensor_borrow(FXIR_DTYPE_FLOAT32, shape, 2, strides, data, 24, NULL, NULL, &tensor, E));
    CHECK(!fxir_tensor_is_contiguous(tensor) && fxir_tensor_strides(tensor)[1] == 3 && fxir_tensor_size(tensor) == 24);
    OK(fxir_tensor_borrow(FXIR_DTYPE_FLOAT32, shape, 2, zero, data, 24, NULL, NULL, &view, E)); /* expanded */
    CHECK(!fxir_tensor_is_contiguous(view) && fxir_tensor_size(view) == 8);
    CHECK(fxir_tensor_shares_storage(tensor, view) == 1);
    fxir_tensor_free(view);
    OK(fxir_tensor_copy(FXIR_DTYPE_FLOAT32, shape, 2, data, 24, &other, E));
    CHECK(fxir_tensor_shares_storage(tensor, other) == 0 && fxir_tensor_data(other) != data);
    CHECK(fxir_tensor_shares_storage(other, other) == 1);
    fxir_tensor_free(tensor);

    /* Other metadata over the same bytes. */
    memset(&q, 0, sizeof q);
    fxir_tensor_meta_init(&meta);
    CHECK(meta.struct_size == sizeof meta && meta.requires_grad == -1 && meta.dtype == FXIR_DTYPE_NONE);
    meta.dtype = FXIR_DTYPE_QINT32;
    meta.rank = 2;
    meta.shape = shape;
    q.qscheme = "torch.per_tensor_affine";
    q.scale = 0.5;
    q.zero_point = -3;
    meta.quantization = &q;
    OK(fxir_tensor_with_meta(other, &meta, &view, E));
    CHECK(fxir_tensor_data(view) == fxir_tensor_data(other) && fxir_tensor_dtype(view) == FXIR_DTYPE_QINT32);
    if (CHECK(fxir_tensor_meta_of(view)->quantization != NULL)) {
        CHECK(fxir_tensor_meta_of(view)->quantization->scale == 0.5);
        CHECK(fxir_tensor_meta_of(view)->quantization->zero_point == -3);
    }
    fxir_tensor_free(view);
    view = NULL;
    meta.dtype = FXIR_DTYPE_QINT8;
    FAILS(FXIR_INVALID_ARGUMENT, fxir_tensor_with_meta(other, &meta, &view, E));
    meta.dtype = FXIR_DTYPE_QINT32;
    meta.shape = shape_2_3;
    FAILS(FXIR_INVALID_ARGUMENT, fxir_tensor_with_meta(other, &meta, &view, E));
    meta.rank = 1;
    FAILS(FXIR_INVALID_ARGUMENT, fxir_tensor_with_meta(other, &meta, &view, E));
    meta.shape = four;
    q.qscheme = "\xff";
    FAILS(FXIR_INVALID_UTF8, fxir_tensor_without_data(&meta, &view, E));
    q.qscheme = "torch.per_channel_affine";
    q.is_per_channel = 1;
    q.scales = (const fxir_tensor *)(uintptr_t)0x7777;
    FAILS(FXIR_INVALID_HANDLE, fxir_tensor_without_data(&meta, &view, E));
    q.is_per_channel = 2;
    q.scales = NULL;
    FAILS(FXIR_INVALID_ARGUMENT, fxir_tensor_without_data(&meta, &view, E));
    meta.quantization = NULL;
    OK(fxir_tensor_without_data(&meta, &view, E));
    CHECK(fxir_tensor_data(view) == NULL && fxir_tensor_strides(view) == NULL && fxir_tensor_size(view) == 0);
    CHECK(fxir_tensor_shape(view)[0] == 4);
    fxir_tensor_free(view);
    fxir_tensor_free(other);
}

static fxir_weights *a_set(void) {
    float data[6] = {1, 2, 3, 4, 5, 6};
    int64_t three[1] = {3}, shape[2] = {3, 2}, strides[2] = {1, 3};
    uint8_t bytes[3] = {7, 8, 9};
    fxir_weights *weights = NULL;
    fxir_tensor *tensor = NULL;
    OK(fxir_weights_new(&weights, E));
    OK(fxir_tensor_copy(FXIR_DTYPE_FLOAT32, shape_2_3, 2, data, 24, &tensor, E));
    OK(fxir_weights_set(weights, "b.weight", tensor, E));
    fxir_tensor_free(tensor);
    OK(fxir_tensor_copy(FXIR_DTYPE_UINT8, three, 1, bytes, 3, &tensor, E));
    OK(fxir_weights_set(weights, "a", tensor, E));
    fxir_tensor_free(tensor);
    OK(fxir_tensor_borrow(FXIR_DTYPE_FLOAT32, shape, 2, strides, data, 24, NULL, NULL, &tensor, E));
    OK(fxir_weights_set(weights, "\xc3\xa4 \"\\", tensor, E));
    fxir_tensor_free(tensor);
    return weights;
}

/* What was written reads back: names, dtypes, shapes, bytes; what lay otherwise lies row-major. */
static void write_and_read(void) {
    static const float turned[6] = {1, 4, 2, 5, 3, 6};
    fxir_weights *weights, *again = NULL;
    fxir_tensor *tensor = NULL;
    size_t i;
    FILE *stale;
    {
        static float data[6] = {1, 2, 3, 4, 5, 6};
        int64_t shape[2] = {3, 2}, strides[2] = {1, 3};
        weights = a_set();
        OK(fxir_tensor_borrow(FXIR_DTYPE_FLOAT32, shape, 2, strides, data, 24, NULL, NULL, &tensor, E));
        OK(fxir_weights_set(weights, "\xc3\xa4 \"\\", tensor, E)); /* in the place of the one that has the name */
        fxir_tensor_free(tensor);
    }
    CHECK(fxir_weights_count(weights) == 3);
    OK(fxir_weights_write(weights, "w.safetensors", E));
    OK(fxir_weights_open("w.safetensors", &again, E));
    CHECK(fxir_weights_count(again) == 3);
    for (i = 0; i < 3; i++) {
        fxir_tensor *a = NULL, *b = NULL;
        const char *name = fxir_weights_name(again, i);
        OK(fxir_weights_get(weights, name, &a, E));
        OK(fxir_weights_tensor(again, i, &b, E));
        CHECK(fxir_tensor_dtype(a) == fxir_tensor_dtype(b) && fxir_tensor_size(a) == fxir_tensor_size(b));
        CHECK(fxir_tensor_rank(a) == fxir_tensor_rank(b) && fxir_tensor_is_contiguous(b));
        CHECK(!memcmp(fxir_tensor_shape(a), fxir_tensor_shape(b), fxir_tensor_rank(a) * 8));
        if (fxir_tensor_is_contiguous(a)) CHECK(!memcmp(fxir_tensor_data(a), fxir_tensor_data(b), fxir_tensor_size(a)));
        else CHECK(!memcmp(turned, fxir_tensor_data(b), sizeof turned));
        fxir_tensor_free(a);
        fxir_tensor_free(b);
    }
    CHECK(fxir_weights_name(again, 3) == NULL && fxir_weights_name(again, SIZE_MAX) == NULL);
    FAILS(FXIR_OUT_OF_RANGE, fxir_weights_tensor(again, 3, &tensor, E));
    FAILS(FXIR_OUT_OF_RANGE, fxir_weights_tensor(again, SIZE_MAX, &tensor, E));
    FAILS(FXIR_NOT_FOUND, fxir_weights_get(again, "none", &tensor, E));
    /* A mapped file can be replaced while its tensors live, by itself too. */
    OK(fxir_weights_get(again, "a", &tensor, E));
    OK(fxir_weights_write(again, "w.safetensors", E));
    OK(fxir_weights_write(again, "w.safetensors", E));
    fxir_weights_free(again);
    CHECK(((const uint8_t *)fxir_tensor_data(tensor))[1] == 8);
    CHECK(unlink("w.safetensors") == 0);
    CHECK(((const uint8_t *)fxir_tensor_data(tensor))[2] == 9);
    fxir_tensor_free(tensor);
    again = NULL;
    FAILS(FXIR_IO, fxir_weights_open("w.safetensors", &again, E));
    FAILS(FXIR_IO, fxir_weights_open(".", &again, E));
    FAILS(FXIR_IO, fxir_weights_open("", &again, E));
    FAILS(FXIR_IO, fxir_weights_write(weights, "no/such/folder/w.safetensors", E));
    FAILS(FXIR_IO, fxir_weights_write(weights, ".", E));
    FAILS(FXIR_IO, fxir_weights_write(weights, "", E));
    /* A tensor without bytes cannot be written, and the file that was there stays. */
    stale = fopen("kept.safetensors", "wb");
    if (stale) fputs("kept", stale), fclose(stale);
    {
        fxir_tensor_meta meta;
        int64_t four[1] = {4};
        size_t length;
        char *text;
        fxir_tensor_meta_init(&meta);
        meta.dtype = FXIR_DTYPE_FLOAT32;
        meta.rank = 1;
        meta.shape = four;
        OK(fxir_tensor_without_data(&meta, &tensor, E));
        OK(fxir_weights_set(weights, "meta", tensor, E));
        fxir_tensor_free(tensor);
        FAILS(FXIR_INVALID_ARGUMENT, fxir_weights_write(weights, "kept.safetensors", E));
        CHECK(strstr(failed.message, "meta"));
        text = check_read_file("kept.safetensors", &length);
        CHECK(length == 4);
        free(text);
    }
    OK(fxir_weights_get(weights, "a", &tensor, E));
    FAILS(FXIR_INVALID_UTF8, fxir_weights_set(weights, "\xff", tensor, E));
    fxir_tensor_free(tensor);
    CHECK(fxir_weights_count(weights) == 4);
    fxir_weights_free(weights);
}

typedef struct pipe_end {
    text got;
    int calls, fail_at;
} pipe_end;

static int32_t take(void *user_data, const void *data, size_t length) {
    pipe_end *p = (pipe_end *)user_data;
    fxir_module *module = NULL;
    if (p->calls++ == p->fail_at) return 123456;
    if (p->got.length + length > p->got.capacity) {
        p->got.capacity = (p->got.length + length) * 2;
        p->got.data = (char *)realloc(p->got.data, p->got.capacity);
        if (!p->got.data) abort();
    }
    memcpy(p->got.data + p->got.length, data, length);
    p->got.length += length;
    CHECK(fxir_module_new(NULL, &module, NULL) == FXIR_OK); /* it may use the library freely */
    fxir_module_free(module);
    return 0;
}

static void to_a_callback(void) {
    fxir_weights *weights = a_set();
    pipe_end p;
    size_t length;
    char *file;
    int i;
    /* a_set's last tensor borrows what is gone: put another in its place. */
    fxir_tensor *tensor = NULL;
    OK(fxir_weights_get(weights, "a", &tensor, E));
    OK(fxir_weights_set(weights, "\xc3\xa4 \"\\", tensor, E));
    fxir_tensor_free(tensor);
    memset(&p, 0, sizeof p);
    p.fail_at = -1;
    OK(fxir_weights_write_to(weights, take, &p, E));
    OK(fxir_weights_write(weights, "callback.safetensors", E));
    file = check_read_file("callback.safetensors", &length);
    CHECK(length == p.got.length && !memcmp(file, p.got.data, length));
    free(file);
    for (i = 0; i < p.calls; i++) {
        pipe_end stop;
        memset(&stop, 0, sizeof stop);
        stop.fail_at = i;
        FAILS(FXIR_CALLBACK, fxir_weights_write_to(weights, take, &stop, E));
        CHECK(failed.code == 123456 && stop.calls == i + 1);
        free(stop.got.data);
    }
    free(p.got.data);
    fxir_weights_free(weights);
}

/* Dtypes that the format does not have, and elements smaller than a byte. */
static void odd_dtypes(void) {
    static const uint8_t bytes[64];
    int32_t dtype;
    int written = 0;
    for (dtype = 1; dtype < 256; dtype++) {
        int64_t shape[1] = {3};
        fxir_tensor *tensor = NULL;
        fxir_weights *weights = NULL;
        fxir_tensor *again = NULL;
        size_t size;
        if (!fxir_dtype_name(dtype)) continue;
        for (size = 0; size <= 64; size++)
            if (fxir_tensor_copy(dtype, shape, 1, bytes, size, &tensor, NULL) == FXIR_OK) break;
        if (size > 64) continue;
        CHECK(size >= (3 * fxir_dtype_bits(dtype) + 7) / 8 && fxir_tensor_size(tensor) == size);
        OK(fxir_weights_new(&weights, E));
        OK(fxir_weights_set(weights, "w", tensor, E));
        OK(fxir_weights_write(weights, "dtype.safetensors", E));
        fxir_weights_free(weights);
        weights = NULL;
        written++;
        OK(fxir_weights_open("dtype.safetensors", &weights, E));
        OK(fxir_weights_get(weights, "w", &again, E));
        CHECK(fxir_tensor_size(again) == size && fxir_tensor_shape(again)[0] == 3);
        fxir_tensor_free(again);
        fxir_weights_free(weights);
        fxir_tensor_free(tensor);
    }
    CHECK(written == 48);
}

/* A file in memory: the library may not look beyond its end (valgrind sees that it doesn't). */
static fxir_status read_copy(const void *data, size_t length, int *released_wrongly) {
    char *exact = (char *)malloc(length ? length : 1);
    fxir_weights *weights = NULL;
    fxir_error *error = NULL;
    fxir_status status;
    loan l;
    size_t i;
    if (!exact) abort();
    if (length) memcpy(exact, data, length);
    memset(&l, 0, sizeof l);
    status = fxir_weights_borrow(exact, length, give_back, &l, &weights, &error);
    *released_wrongly = l.released > (status == FXIR_OK && fxir_weights_count(weights) == 0);
    if (status == FXIR_OK) {
        for (i = 0; i < fxir_weights_count(weights); i++) {
            fxir_tensor *tensor = NULL;
            OK(fxir_weights_tensor(weights, i, &tensor, E));
            if (fxir_tensor_size(tensor)) {
                const char *first = (const char *)fxir_tensor_data(tensor);
                CHECK(first >= exact && first + fxir_tensor_size(tensor) <= exact + length);
            }
            CHECK(fxir_weights_name(weights, i) != NULL);
            fxir_tensor_free(tensor);
        }
        fxir_weights_free(weights);
        *released_wrongly |= l.released != 1;
    } else {
        CHECK(weights == NULL && error != NULL && fxir_error_message(error)[0]);
        fxir_error_free(error);
        *released_wrongly |= l.released != 0;
    }
    free(exact);
    return status;
}

static fxir_status read_header(const char *header, size_t claimed, const void *body, size_t body_length, int *wrong) {
    size_t length = strlen(header);
    char *all = (char *)malloc(8 + length + body_length);
    uint64_t little = claimed == SIZE_MAX ? length : claimed;
    fxir_status status;
    int i;
    if (!all) abort();
    for (i = 0; i < 8; i++) all[i] = (char)(little >> (8 * i));
    memcpy(all + 8, header, length);
    if (body_length) memcpy(all + 8 + length, body, body_length);
    status = read_copy(all, 8 + length + body_length, wrong);
    free(all);
    return status;
}

static void wrong_files(void) {
    static const char *const parse[] = {
        "", "{", "[]", "null", "1", "{\"a\":1}", "{\"a\":{}}", "{\"a\":{\"dtype\":\"F32\"}}",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0]}}",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,9]}}",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[0,8]}}",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[8,0]}}",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[4,12]}}",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[-2],\"data_offsets\":[0,8]}}",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[2.5],\"data_offsets\":[0,8]}}",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":2,\"data_offsets\":[0,8]}}",
        "{\"a\":{\"dtype\":7,\"shape\":[2],\"data_offsets\":[0,8]}}",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[-1,7]}}",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[18446744073709551615,2],\"data_offsets\":[0,8]}}",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[4611686018427387904,4],\"data_offsets\":[0,8]}}",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[18446744073709551608,18446744073709551616]}}",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[18446744073709551607,18446744073709551615]}}",
        /* a hole at the end, two tensors on one place, a name twice */
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},\"b\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}",
        "{\"__metadata__\":{\"a\":1},\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}",
        "{\"\xff\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}} x",
    };
    static const char *const fine[] = {
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}      ",
        "{\"a\":{\"data_offsets\":[0,8],\"shape\":[1,2,1],\"dtype\":\"F32\"},\"__metadata__\":{\"format\":\"pt\"}}",
        "{\"a\":{\"dtype\":\"U8\",\"shape\":[8],\"data_offsets\":[0,8]},\"e\":{\"dtype\":\"F32\",\"shape\":[0,3],\"data_offsets\":[8,8]}}",
        "{\"a\":{\"dtype\":\"F64\",\"shape\":[],\"data_offsets\":[0,8]}}",
    };
    uint64_t claims[] = {0, 1, 7, 63, 1000, 100000000, 100000001, (uint64_t)1 << 32, (uint64_t)1 << 62,
                         (uint64_t)1 << 63, UINT64_MAX, UINT64_MAX - 7, UINT64_MAX - 8};
    size_t i;
    int wrong;
    for (i = 0; i < sizeof parse / sizeof *parse; i++) {
        fxir_status status = read_header(parse[i], SIZE_MAX, "12345678", 8, &wrong);
        check_that(status == FXIR_PARSE, parse[i], __FILE__, __LINE__);
        CHECK(!wrong);
    }
    for (i = 0; i < sizeof fine / sizeof *fine; i++) {
        fxir_status status = read_header(fine[i], SIZE_MAX, "12345678", 8, &wrong);
        check_that(status == FXIR_OK, fine[i], __FILE__, __LINE__);
        CHECK(!wrong);
    }
    CHECK(read_header("{\"a\":{\"dtype\":\"F33\",\"shape\":[2],\"data_offsets\":[0,8]}}", SIZE_MAX, "12345678", 8, &wrong) != FXIR_OK);
    for (i = 0; i < sizeof claims / sizeof *claims; i++) {
        if ((size_t)claims[i] == SIZE_MAX) continue; /* tried below */
        CHECK(read_header(fine[0], (size_t)claims[i], "12345678", 8, &wrong) == FXIR_PARSE && !wrong);
    }
    CHECK(read_copy("\xff\xff\xff\xff\xff\xff\xff\xff{}", 10, &wrong) == FXIR_PARSE && !wrong);
    CHECK(read_copy("", 0, &wrong) == FXIR_PARSE && !wrong);
    CHECK(read_copy("\2\0\0\0\0\0\0\0{}", 10, &wrong) == FXIR_OK && !wrong); /* no tensors */
    {
        fxir_weights *weights = NULL;
        FAILS(FXIR_LIMIT, fxir_weights_borrow("a", SIZE_MAX, NULL, NULL, &weights, E));
        FAILS(FXIR_NULL_ARGUMENT, fxir_weights_borrow(NULL, 10, NULL, NULL, &weights, E));
    }
    /* 100,000 levels. */
    {
        char *deep = malloc(200100);
        if (!deep) abort();
        memset(deep, '[', 100000);
        memset(deep + 100000, ']', 100000);
        deep[200000] = 0;
        CHECK(read_header(deep, SIZE_MAX, NULL, 0, &wrong) == FXIR_PARSE && !wrong);
        memcpy(deep, "{\"__metadata__\":", 16);
        CHECK(read_header(deep, SIZE_MAX, NULL, 0, &wrong) == FXIR_PARSE && !wrong);
        for (i = 0; i < 100000 / 5; i++) memcpy(deep + 5 * i, "{\"a\":", 5);
        deep[100000] = 0;
        CHECK(read_header(deep, SIZE_MAX, NULL, 0, &wrong) == FXIR_PARSE && !wrong);
        free(deep);
    }
}

static void damaged_files(void) {
    size_t length, i, step;
    int wrong;
    uint64_t state = 11;
    char *file;
    fxir_weights *weights = a_set();
    fxir_tensor *tensor = NULL;
    OK(fxir_weights_get(weights, "a", &tensor, E));
    OK(fxir_weights_set(weights, "\xc3\xa4 \"\\", tensor, E));
    fxir_tensor_free(tensor);
    OK(fxir_weights_write(weights, "whole.safetensors", E));
    fxir_weights_free(weights);
    file = check_read_file("whole.safetensors", &length);
    CHECK(read_copy(file, length, &wrong) == FXIR_OK && !wrong);
    for (i = 0; i < length; i++) CHECK(read_copy(file, i, &wrong) == FXIR_PARSE && !wrong);
    for (i = 0; i < 6000; i++) {
        size_t at = (size_t)(check_random(&state) % (length - 24)), count = 1 + (size_t)(check_random(&state) % 2);
        char saved[2];
        fxir_status status;
        memcpy(saved, file + at, 2);
        while (count--) file[at + count] = (char)(i % 2 ? file[at + count] ^ (1 << (check_random(&state) % 8)) : (int)check_random(&state));
        status = read_copy(file, length, &wrong);
        CHECK(status == FXIR_OK || status == FXIR_PARSE || status == FXIR_UNSUPPORTED);
        CHECK(!wrong);
        memcpy(file + at, saved, 2);
    }
    free(file);
    /* A real one, cut at many places, by way of files too. */
    file = check_read_file(FXIR_TESTS_DIR "/cases/serialize/linear_attr_multi_output/weights.safetensors", &length);
    step = length / 40 + 1;
    for (i = 0; i < length; i += step) {
        fxir_weights *none = NULL;
        check_write_file("cut.safetensors", file, i);
        FAILS(FXIR_PARSE, fxir_weights_open("cut.safetensors", &none, E));
        CHECK(none == NULL);
    }
    check_write_file("longer.safetensors", file, length);
    {
        FILE *more = fopen("longer.safetensors", "ab");
        fxir_weights *none = NULL;
        if (more) fputc('x', more), fclose(more);
        FAILS(FXIR_PARSE, fxir_weights_open("longer.safetensors", &none, E));
    }
    free(file);
}

/* A module's tensors lie where the file is mapped: no copy. */
static void mapped(void) {
    fxir_module *module = NULL;
    fxir_weights *weights = NULL, *opened = NULL;
    fxir_buffer *json = NULL;
    const char *low = NULL, *high = NULL;
    size_t i, length, total = 0;
    const char *path = FXIR_TESTS_DIR "/cases/serialize/resnet20_cifar/weights.safetensors";
    char *file = check_read_file(path, &length);
    OK(fxir_module_load_json(FXIR_TESTS_DIR "/cases/serialize/resnet20_cifar/serialized.json", path, &module, E));
    OK(fxir_module_serialize(module, NULL, &json, &weights, E));
    OK(fxir_weights_open(path, &opened, E));
    CHECK(fxir_weights_count(weights) == 107);
    for (i = 0; i < fxir_weights_count(weights); i++) {
        fxir_tensor *tensor = NULL, *other = NULL;
        const char *data;
        OK(fxir_weights_tensor(weights, i, &tensor, E));
        data = (const char *)fxir_tensor_data(tensor);
        if (!low || data < low) low = data;
        if (!high || data + fxir_tensor_size(tensor) > high) high = data + fxir_tensor_size(tensor);
        total += fxir_tensor_size(tensor);
        if (fxir_weights_get(opened, fxir_weights_name(weights, i), &other, NULL) == FXIR_OK) {
            CHECK(fxir_tensor_size(other) == fxir_tensor_size(tensor));
            CHECK(!memcmp(data, fxir_tensor_data(other), fxir_tensor_size(tensor)));
            fxir_tensor_free(other);
        }
        fxir_tensor_free(tensor);
    }
    CHECK(low && (size_t)(high - low) <= length && total <= length);
    fxir_module_free(module);
    fxir_weights_free(weights);
    fxir_weights_free(opened);
    fxir_buffer_free(json);
    free(file);
}

static void *free_it(void *tensor) {
    fxir_tensor_free((fxir_tensor *)tensor);
    return NULL;
}

/* Given back once, whichever of several threads is last. */
static void given_back_once(void) {
    static float data[6];
    int round, i;
    for (round = 0; round < 100; round++) {
        fxir_module *module = new_module();
        pthread_t threads[4];
        loan l;
        memset(&l, 0, sizeof l);
        for (i = 0; i < 4; i++) {
            fxir_tensor *tensor = NULL;
            if (i == 0) {
                OK(fxir_tensor_borrow(FXIR_DTYPE_FLOAT32, shape_2_3, 2, NULL, data, 24, give_back, &l, &tensor, E));
                OK(fxir_module_set_tensor(module, "t", FXIR_MEMBER_BUFFER, tensor, E));
            } else {
                OK(fxir_module_get_tensor(module, "t", &tensor, E));
            }
            if (i == 3) fxir_module_free(module);
            pthread_create(&threads[i], NULL, free_it, tensor);
        }
        for (i = 0; i < 4; i++) pthread_join(threads[i], NULL);
        CHECK(l.released == 1 && l.data == data);
    }
}

int main(void) {
    borrowing();
    not_borrowed();
    strides_and_views();
    write_and_read();
    to_a_callback();
    odd_dtypes();
    wrong_files();
    damaged_files();
    mapped();
    given_back_once();
    return check_result();
}
