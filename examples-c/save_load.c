/* Saves and loads: JSON and safetensors, to files, to memory, and piece by piece; all of a module in one
 * file; and what is said about files that are no good.
 *
 * usage: save_load DATA      (the folder examples-c/data); writes into the current folder */
#include <fxir.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static fxir_error *error;

/* Ends the program when a call failed, with what the library says about it. */
static void ok(fxir_status status) {
    if (status == FXIR_OK) return;
    fprintf(stderr, "%s: %s\n", fxir_status_name(status), fxir_error_message(error));
    exit(1);
}

#define EXPECT(condition) expect((condition) != 0, #condition, __LINE__)
static void expect(int holds, const char *what, int line) {
    if (holds) return;
    fprintf(stderr, "line %d: this does not hold: %s\n", line, what);
    exit(1);
}

/* A call was refused as it should be: says why, and forgets it. */
static void refused(fxir_status status, fxir_status should) {
    EXPECT(status == should);
    printf("%s, line %zu: %s\n", fxir_status_name(status), fxir_error_line(error), fxir_error_message(error));
    fxir_error_free(error);
}

static char *read_file(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    EXPECT(file && fseek(file, 0, SEEK_END) == 0);
    *size = (size_t)ftell(file);
    rewind(file);
    char *bytes = malloc(*size + 1);
    EXPECT(bytes && fread(bytes, 1, *size, file) == *size);
    bytes[*size] = 0;
    fclose(file);
    return bytes;
}

static void expect_same_files(const char *a, const char *b) {
    size_t a_size, b_size;
    char *left = read_file(a, &a_size), *right = read_file(b, &b_size);
    EXPECT(a_size == b_size && memcmp(left, right, a_size) == 0);
    free(right);
    free(left);
}

/* Gets the JSON piece by piece, and compares it with what it should be. */
typedef struct expected {
    const char *bytes;
    size_t size, seen;
} expected;

static int32_t compare(void *user_data, const void *data, size_t length) {
    expected *should = user_data;
    if (length > should->size - should->seen || memcmp(should->bytes + should->seen, data, length) != 0) return 1;
    should->seen += length;
    return 0;
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: %s DATA\n", argv[0]);
        return 2;
    }
    char json_in[4096], weights_in[4096];
    snprintf(json_in, sizeof json_in, "%s/resnet20_cifar/model.json", argv[1]);
    snprintf(weights_in, sizeof weights_in, "%s/resnet20_cifar/model.safetensors", argv[1]);

    /* Loaded and saved again, the JSON is the same to the byte: torch wrote it with an indent of 1. */
    fxir_module *net;
    fxir_serialize_options options;
    fxir_serialize_options_init(&options);
    options.indent = 1;
    ok(fxir_module_load_json(json_in, weights_in, &net, &error));
    ok(fxir_module_save_json(net, "saved.json", "saved.safetensors", &options, &error));
    expect_same_files(json_in, "saved.json");

    /* So are all tensors, in every byte. */
    fxir_weights *before, *after;
    ok(fxir_weights_open(weights_in, &before, &error));
    ok(fxir_weights_open("saved.safetensors", &after, &error));
    EXPECT(fxir_weights_count(before) == 107 && fxir_weights_count(after) == 107);
    for (size_t i = 0; i < 107; i++) {
        fxir_tensor *a, *b;
        ok(fxir_weights_tensor(before, i, &a, &error));
        ok(fxir_weights_get(after, fxir_weights_name(before, i), &b, &error));
        EXPECT(fxir_tensor_size(a) == fxir_tensor_size(b));
        EXPECT(memcmp(fxir_tensor_data(a), fxir_tensor_data(b), fxir_tensor_size(a)) == 0);
        fxir_tensor_free(b);
        fxir_tensor_free(a);
    }
    fxir_weights_free(before);

    /* From memory: JSON in a buffer, weights from any set. */
    size_t size;
    char *bytes = read_file("saved.json", &size);
    fxir_module *from_memory;
    ok(fxir_module_read_json(bytes, size, after, &from_memory, &error));
    fxir_weights_free(after); /* the module has the tensors that it needs */
    expected should = {bytes, size, 0};
    ok(fxir_module_serialize_to(from_memory, &options, compare, &should, NULL, &error));
    EXPECT(should.seen == size);

    /* A network may be written back over the files that it was loaded from, though these are mapped. */
    fxir_module *again;
    ok(fxir_module_load_json("saved.json", "saved.safetensors", &again, &error));
    ok(fxir_module_save_json(again, "saved.json", "saved.safetensors", &options, &error));
    expect_same_files(json_in, "saved.json");
    fxir_module_free(again);

    /* JSON holds what torch's serializer writes. The native form holds everything: metadata of one's own,
     * the order of users, what names come next. */
    fxir_node conv = fxir_graph_find_node(net, "conv1");
    fxir_arg note = fxir_arg_float(1.0 / 3), device = fxir_arg_device("cuda:0");
    ok(fxir_node_set_meta(net, conv, "my.cost", &note, &error));
    ok(fxir_node_set_kwarg(net, conv, "device", &device, &error));
    fxir_module *same;
    fxir_args *cost;
    ok(fxir_module_save(net, "saved.fxir", &error));
    ok(fxir_module_load("saved.fxir", &same, &error));
    ok(fxir_node_get_meta(same, fxir_graph_find_node(same, "conv1"), "my.cost", &cost, &error));
    EXPECT(fxir_args_items(cost)[0].value.real == 1.0 / 3);
    fxir_args_free(cost);
    ok(fxir_module_save(same, "again.fxir", &error));
    expect_same_files("saved.fxir", "again.fxir");
    fxir_module_free(same);

    /* What is no good is refused, with the place where it stopped making sense. */
    fxir_module *none = NULL;
    bytes[size / 2] = 0x01;
    refused(fxir_module_read_json(bytes, size, NULL, &none, &error), FXIR_PARSE);
    refused(fxir_module_read_json(bytes, size / 2, NULL, &none, &error), FXIR_PARSE);
    refused(fxir_module_read_json("{\"modules\": {}}", 15, NULL, &none, &error), FXIR_PARSE);
    refused(fxir_module_load_json("there is no such file", NULL, &none, &error), FXIR_IO);
    refused(fxir_module_load_json(json_in, json_in, &none, &error), FXIR_PARSE); /* that is no safetensors file */
    refused(fxir_module_load(weights_in, &none, &error), FXIR_PARSE);            /* and that holds no graph */
    refused(fxir_module_save_json(net, "no such folder/saved.json", NULL, &options, &error), FXIR_IO);
    EXPECT(none == NULL);

    free(bytes);
    fxir_module_free(from_memory);
    fxir_module_free(net);
    printf("OK\n");
    return 0;
}
