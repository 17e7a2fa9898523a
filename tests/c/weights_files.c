/* Weights in several files with an index, and files that are written piece by piece. */
#include "check.h"
#include <unistd.h>

static const int64_t two_by_three[2] = {2, 3};
static const float numbers[6] = {1, 2, 3, 4, 5, 6};

static void shards(void) {
    fxir_tensor *tensor = NULL, *other = NULL, *tied = NULL;
    fxir_weights *weights = NULL;
    OK(fxir_tensor_copy(FXIR_DTYPE_FLOAT32, two_by_three, 2, numbers, sizeof numbers, &tensor, E));
    OK(fxir_tensor_copy(FXIR_DTYPE_FLOAT32, two_by_three, 2, numbers, sizeof numbers, &other, E));
    OK(fxir_weights_new(&weights, E));
    OK(fxir_weights_set(weights, "embed", tensor, E));
    OK(fxir_weights_set(weights, "other", other, E));
    OK(fxir_weights_set(weights, "head", tensor, E));
    FAILS(FXIR_INVALID_ARGUMENT, fxir_weights_write_sharded(weights, "model.safetensors", 24, E));
    OK(fxir_weights_write_sharded(weights, "model.safetensors.index.json", 24, E));
    CHECK(access("model-00001-of-00002.safetensors", R_OK) == 0);
    CHECK(access("model-00002-of-00002.safetensors", R_OK) == 0);
    fxir_weights_free(weights);
    fxir_tensor_free(tensor);
    fxir_tensor_free(other);

    OK(fxir_weights_open("model.safetensors.index.json", &weights, E));
    CHECK(fxir_weights_count(weights) == 3);
    OK(fxir_weights_get(weights, "embed", &tensor, E));
    OK(fxir_weights_get(weights, "head", &tied, E));
    OK(fxir_weights_get(weights, "other", &other, E));
    CHECK(fxir_tensor_data(tensor) == fxir_tensor_data(tied) && !fxir_tensor_shares_storage(tensor, other));
    CHECK(memcmp(fxir_tensor_data(tensor), numbers, sizeof numbers) == 0);
    fxir_tensor_free(tensor);
    fxir_tensor_free(tied);
    fxir_tensor_free(other);
    fxir_weights_free(weights);

    CHECK(unlink("model-00002-of-00002.safetensors") == 0);
    weights = NULL;
    FAILS(FXIR_IO, fxir_weights_open("model.safetensors.index.json", &weights, E));
    CHECK(strstr(failed.message, "model-00002-of-00002.safetensors") && !weights);
}

typedef struct sink {
    char bytes[4096];
    size_t length;
    int32_t answer;
    fxir_weights_writer *writer; /* used from the callback when there is one */
    fxir_status used;
} sink;

static int32_t take(void *user_data, const void *data, size_t length) {
    sink *to = user_data;
    if (to->writer) to->used = fxir_weights_writer_write(to->writer, "x", 1, NULL);
    if (to->answer) return to->answer;
    if (to->length + length > sizeof to->bytes) return 1;
    memcpy(to->bytes + to->length, data, length);
    to->length += length;
    return 0;
}

static void announce_all(fxir_weights_writer *writer) {
    const int64_t one[1] = {1}, none[2] = {0, 7};
    OK(fxir_weights_writer_announce(writer, "w", FXIR_DTYPE_FLOAT32, two_by_three, 2, E));
    OK(fxir_weights_writer_announce(writer, "none", FXIR_DTYPE_BOOL, none, 2, E));
    OK(fxir_weights_writer_announce(writer, "last", FXIR_DTYPE_UINT8, one, 1, E));
}

static void pieces(void) {
    const int64_t negative[1] = {-1};
    const uint8_t last = 9;
    fxir_weights_writer *writer = NULL;
    fxir_weights *weights = NULL;
    fxir_tensor *tensor = NULL;
    sink to;
    size_t i;

    unlink("pieces.safetensors"); /* of a run before */
    OK(fxir_weights_writer_new("pieces.safetensors", &writer, E));
    announce_all(writer);
    FAILS(FXIR_INVALID_ARGUMENT, fxir_weights_writer_announce(writer, "w", FXIR_DTYPE_BOOL, two_by_three, 2, E));
    FAILS(FXIR_INVALID_ARGUMENT, fxir_weights_writer_announce(writer, "n", FXIR_DTYPE_BOOL, negative, 1, E));
    FAILS(FXIR_INVALID_ARGUMENT, fxir_weights_writer_announce(writer, "n", 0, two_by_three, 2, E));
    for (i = 0; i < sizeof numbers; i++) OK(fxir_weights_writer_write(writer, (const char *)numbers + i, 1, E));
    FAILS(FXIR_INVALID_ARGUMENT, fxir_weights_writer_announce(writer, "late", FXIR_DTYPE_BOOL, two_by_three, 2, E));
    FAILS(FXIR_INVALID_ARGUMENT, fxir_weights_writer_finish(writer, E));
    CHECK(strstr(failed.message, "`last`") && access("pieces.safetensors", F_OK) != 0);
    FAILS(FXIR_INVALID_ARGUMENT, fxir_weights_writer_write(writer, numbers, 2, E));
    OK(fxir_weights_writer_write(writer, &last, 1, E));
    OK(fxir_weights_writer_finish(writer, E));
    FAILS(FXIR_BUSY, fxir_weights_writer_finish(writer, E));
    FAILS(FXIR_BUSY, fxir_weights_writer_write(writer, &last, 1, E));
    fxir_weights_writer_free(writer);
    OK(fxir_weights_open("pieces.safetensors", &weights, E));
    CHECK(fxir_weights_count(weights) == 3);
    OK(fxir_weights_get(weights, "w", &tensor, E));
    CHECK(memcmp(fxir_tensor_data(tensor), numbers, sizeof numbers) == 0);
    fxir_tensor_free(tensor);
    fxir_weights_free(weights);

    /* What is not finished leaves what was there. */
    OK(fxir_weights_writer_new("pieces.safetensors", &writer, E));
    OK(fxir_weights_writer_announce(writer, "other", FXIR_DTYPE_FLOAT32, two_by_three, 2, E));
    OK(fxir_weights_writer_write(writer, numbers, 4, E));
    fxir_weights_writer_free(writer);
    OK(fxir_weights_open("pieces.safetensors", &weights, E));
    CHECK(fxir_weights_count(weights) == 3);
    fxir_weights_free(weights);

    /* To a callback: the same bytes; it may come back to the library, not to the writer. */
    memset(&to, 0, sizeof to);
    OK(fxir_weights_writer_new_to(take, &to, &writer, E));
    announce_all(writer);
    OK(fxir_weights_writer_write(writer, numbers, sizeof numbers, E));
    OK(fxir_weights_writer_write(writer, &last, 1, E));
    to.writer = writer;
    OK(fxir_weights_writer_finish(writer, E));
    CHECK(to.used == FXIR_BUSY);
    fxir_weights_writer_free(writer);
    OK(fxir_weights_borrow(to.bytes, to.length, NULL, NULL, &weights, E));
    CHECK(fxir_weights_count(weights) == 3 && !strcmp(fxir_weights_name(weights, 2), "last"));
    fxir_weights_free(weights);

    memset(&to, 0, sizeof to);
    to.answer = 42;
    OK(fxir_weights_writer_new_to(take, &to, &writer, E));
    announce_all(writer);
    OK(fxir_weights_writer_write(writer, numbers, sizeof numbers, E));
    OK(fxir_weights_writer_write(writer, &last, 1, E));
    FAILS(FXIR_CALLBACK, fxir_weights_writer_finish(writer, E));
    CHECK(failed.code == 42);
    FAILS(FXIR_BUSY, fxir_weights_writer_finish(writer, E));
    fxir_weights_writer_free(writer);

    writer = NULL;
    FAILS(FXIR_IO, fxir_weights_writer_new("no/such/folder/w.safetensors", &writer, E));
    CHECK(!writer);
}

int main(void) {
    shards();
    pieces();
    return check_result();
}
