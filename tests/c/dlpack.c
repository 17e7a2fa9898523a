/* DLPack in and out, with a version and without: no byte is copied, each is given back once, and what
 * no tensor can be is refused and stays the caller's. */
#include "check.h"
#include "dlpack_structs.h"
#include <pthread.h>

static float numbers[6] = {1, 2, 3, 4, 5, 6};
static int64_t sizes[2] = {2, 3}, turned[2] = {1, 2};
static int deleted, deleted_unversioned;

static void count_deleted(DLManagedTensorVersioned *self) {
    CHECK(self->manager_ctx == &deleted);
    deleted++;
}

static void count_deleted_unversioned(DLManagedTensor *self) {
    CHECK(self->manager_ctx == &deleted_unversioned);
    deleted_unversioned++;
}

static DLTensor given(void) {
    DLTensor tensor;
    memset(&tensor, 0, sizeof tensor);
    tensor.data = numbers;
    tensor.device.device_type = DL_CPU;
    tensor.ndim = 2;
    tensor.dtype.code = DL_FLOAT;
    tensor.dtype.bits = 32;
    tensor.dtype.lanes = 1;
    tensor.shape = sizes;
    return tensor;
}

static DLManagedTensorVersioned versioned(void) {
    DLManagedTensorVersioned managed;
    memset(&managed, 0, sizeof managed);
    managed.version.major = 1;
    managed.version.minor = 7;
    managed.manager_ctx = &deleted;
    managed.deleter = count_deleted;
    managed.dl_tensor = given();
    return managed;
}

static void *free_tensor(void *tensor) {
    fxir_tensor_free(tensor);
    return NULL;
}

static void in(void) {
    DLManagedTensorVersioned managed = versioned();
    DLManagedTensor old;
    fxir_tensor *tensor = NULL, *kept = NULL;
    fxir_module *module = new_module();
    pthread_t thread;
    OK(fxir_tensor_from_dlpack(&managed, &tensor, E));
    CHECK(fxir_tensor_data(tensor) == numbers && fxir_tensor_size(tensor) == sizeof numbers);
    CHECK(fxir_tensor_dtype(tensor) == FXIR_DTYPE_FLOAT32 && fxir_tensor_rank(tensor) == 2);
    CHECK(fxir_tensor_is_contiguous(tensor) && fxir_tensor_strides(tensor)[0] == 3);
    OK(fxir_module_set_tensor(module, "w", FXIR_MEMBER_BUFFER, tensor, E));
    fxir_tensor_free(tensor);
    CHECK(deleted == 0);
    OK(fxir_module_get_tensor(module, "w", &kept, E));
    fxir_module_free(module);
    CHECK(deleted == 0 && fxir_tensor_data(kept) == numbers);
    CHECK(pthread_create(&thread, NULL, free_tensor, kept) == 0 && pthread_join(thread, NULL) == 0);
    CHECK(deleted == 1);

    /* An offset, and strides that turn it: elements 1 to 5 as [[2, 4], [3, 5]] less the last. */
    managed = versioned();
    managed.dl_tensor.byte_offset = 4;
    managed.dl_tensor.strides = turned;
    managed.dl_tensor.shape = turned;
    OK(fxir_tensor_from_dlpack(&managed, &tensor, E));
    CHECK(fxir_tensor_data(tensor) == numbers + 1 && fxir_tensor_size(tensor) == 3 * sizeof(float));
    fxir_tensor_free(tensor);
    CHECK(deleted == 2);

    /* No elements, no memory, nobody to give it back to. */
    managed = versioned();
    managed.dl_tensor.data = NULL;
    managed.dl_tensor.byte_offset = 64;
    managed.dl_tensor.ndim = 1;
    managed.deleter = NULL;
    {
        int64_t none = 0;
        managed.dl_tensor.shape = &none;
        OK(fxir_tensor_from_dlpack(&managed, &tensor, E));
        CHECK(fxir_tensor_size(tensor) == 0 && fxir_tensor_rank(tensor) == 1);
        fxir_tensor_free(tensor);
    }

    /* A scalar, in memory that a GPU may read too. */
    old.dl_tensor = given();
    old.dl_tensor.ndim = 0;
    old.dl_tensor.shape = NULL;
    old.dl_tensor.device.device_type = DL_CUDA_HOST;
    old.manager_ctx = &deleted_unversioned;
    old.deleter = count_deleted_unversioned;
    OK(fxir_tensor_from_dlpack_unversioned(&old, &tensor, E));
    CHECK(fxir_tensor_rank(tensor) == 0 && fxir_tensor_size(tensor) == sizeof(float));
    fxir_tensor_free(tensor);
    CHECK(deleted_unversioned == 1 && deleted == 2);
}

static void refused(void) {
    static int64_t negative[2] = {-2, 3}, huge[2] = {INT64_MAX, INT64_MAX}, back[2] = {3, -1};
    static int64_t many[65], wide[2] = {INT64_MAX, 1};
    const struct {
        const char *told;
        fxir_status status;
        int change;
    } cases[] = {
        {"2.7", FXIR_UNSUPPORTED, 0},         {"device of type 2", FXIR_UNSUPPORTED, 1},
        {"16 bits", FXIR_UNSUPPORTED, 2},     {"4 lanes", FXIR_UNSUPPORTED, 3},
        {"negative", FXIR_INVALID_ARGUMENT, 4}, {"too large", FXIR_INVALID_ARGUMENT, 5},
        {"stride", FXIR_INVALID_ARGUMENT, 6}, {"NULL", FXIR_INVALID_ARGUMENT, 7},
        {"dimensions", FXIR_LIMIT, 8},        {"-1 dimensions", FXIR_INVALID_ARGUMENT, 9},
        {"stride", FXIR_INVALID_ARGUMENT, 10}, {"offset", FXIR_INVALID_ARGUMENT, 11},
        {"shape", FXIR_NULL_ARGUMENT, 12},
    };
    const int before = deleted;
    for (size_t i = 0; i < 65; i++) many[i] = 1;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        DLManagedTensorVersioned managed = versioned();
        DLTensor *tensor = &managed.dl_tensor;
        fxir_tensor *made = (fxir_tensor *)&managed;
        switch (cases[i].change) {
        case 0: managed.version.major = 2; break;
        case 1: tensor->device.device_type = DL_CUDA; break;
        case 2: tensor->dtype.code = DL_COMPLEX, tensor->dtype.bits = 16; break;
        case 3: tensor->dtype.lanes = 4; break;
        case 4: tensor->shape = negative; break;
        case 5: tensor->shape = huge; break;
        case 6: tensor->strides = back; break;
        case 7: tensor->data = NULL; break;
        case 8: tensor->shape = many, tensor->ndim = 65; break;
        case 9: tensor->ndim = -1; break;
        case 10: tensor->strides = wide; break;
        case 11: tensor->byte_offset = UINT64_MAX; break;
        default: tensor->shape = NULL; break;
        }
        FAILS(cases[i].status, fxir_tensor_from_dlpack(&managed, &made, E));
        CHECK(made == (fxir_tensor *)&managed);
        if (!CHECK(strstr(failed.message, cases[i].told))) fprintf(stderr, "  case %zu: %s\n", i, failed.message);
    }
    CHECK(deleted == before);
}

static void out(void) {
    fxir_tensor *tensor = NULL, *again = NULL, *quantized = NULL, *view = NULL;
    DLManagedTensorVersioned *managed = NULL;
    DLManagedTensor *old = NULL;
    const uint8_t bytes[4] = {1, 2, 3, 4};
    const int64_t four[1] = {4};
    fxir_tensor_meta meta;
    OK(fxir_tensor_copy(FXIR_DTYPE_FLOAT32, sizes, 2, numbers, sizeof numbers, &tensor, E));
    OK(fxir_tensor_to_dlpack(tensor, &managed, E));
    CHECK(managed->version.major == 1 && managed->flags == 1);
    CHECK(managed->dl_tensor.data == fxir_tensor_data(tensor) && managed->dl_tensor.byte_offset == 0);
    CHECK(managed->dl_tensor.device.device_type == DL_CPU && managed->dl_tensor.ndim == 2);
    CHECK(managed->dl_tensor.dtype.code == DL_FLOAT && managed->dl_tensor.dtype.bits == 32);
    CHECK(managed->dl_tensor.dtype.lanes == 1 && managed->dl_tensor.shape[1] == 3);
    CHECK(managed->dl_tensor.strides[0] == 3 && managed->dl_tensor.strides[1] == 1);
    OK(fxir_tensor_to_dlpack_unversioned(tensor, &old, E));
    /* What is lent outlives the handle, and may come back in. */
    fxir_tensor_free(tensor);
    CHECK(((float *)managed->dl_tensor.data)[5] == 6 && ((float *)old->dl_tensor.data)[0] == 1);
    OK(fxir_tensor_from_dlpack_unversioned(old, &again, E));
    managed->deleter(managed);
    CHECK(((const float *)fxir_tensor_data(again))[3] == 4);
    fxir_tensor_free(again);

    /* Strides, and two values in a byte. */
    OK(fxir_tensor_borrow(FXIR_DTYPE_FLOAT32, sizes, 2, turned, numbers, sizeof numbers, NULL, NULL, &view, E));
    OK(fxir_tensor_to_dlpack(view, &managed, E));
    CHECK(managed->dl_tensor.strides[0] == 1 && managed->dl_tensor.strides[1] == 2);
    managed->deleter(managed);
    fxir_tensor_free(view);
    OK(fxir_tensor_copy(FXIR_DTYPE_FLOAT4_E2M1FN_X2, four, 1, bytes, 4, &tensor, E));
    OK(fxir_tensor_to_dlpack(tensor, &managed, E));
    CHECK(managed->dl_tensor.dtype.code == DL_FLOAT4_E2M1FN && managed->dl_tensor.dtype.bits == 4);
    CHECK(managed->dl_tensor.dtype.lanes == 2);
    managed->deleter(managed);
    fxir_tensor_free(tensor);

    OK(fxir_tensor_copy(FXIR_DTYPE_QINT8, four, 1, bytes, 4, &quantized, E));
    managed = NULL;
    FAILS(FXIR_UNSUPPORTED, fxir_tensor_to_dlpack(quantized, &managed, E));
    CHECK(strstr(failed.message, "torch.qint8") && !managed);
    fxir_tensor_free(quantized);
    fxir_tensor_meta_init(&meta);
    meta.dtype = FXIR_DTYPE_FLOAT32;
    OK(fxir_tensor_without_data(&meta, &tensor, E));
    FAILS(FXIR_INVALID_ARGUMENT, fxir_tensor_to_dlpack_unversioned(tensor, &old, E));
    fxir_tensor_free(tensor);
}

int main(void) {
    in();
    refused();
    out();
    return check_result();
}
