/* Files: how fast modules are written and read, and what opening large weights costs.
 *
 * usage: fxir_file_bench FOLDER      (a sparse file of 4 GB is made in there, and removed)
 *
 * A module of 300,000 nodes with metadata, as JSON and in the native form, to memory and back; a
 * safetensors file of 4 GB in 1,000 tensors, opened. Prints one line of JSON: megabytes (10^6 bytes) a
 * second, and of the opening the milliseconds and the resident megabytes that it took. */
#include "bench.h"

#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { NODES = 300000, TENSORS = 1000, ROUNDS = 3 };
/* Of each of the tensors. */
static const size_t TENSOR_SIZE = 4000000;

static double resident(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_maxrss * 1024;
}

/* Each node uses the one before and one further up, and says what it yields. */
static fxir_module *build(void) {
    static const int64_t shape[4] = {1, 64, 56, 56}, stride[4] = {200704, 3136, 56, 1};
    fxir_tensor_meta meta;
    fxir_module *net = new_module();
    fxir_node recent[4], node = placeholder(net, "x");
    fxir_tensor_meta_init(&meta);
    meta.dtype = FXIR_DTYPE_FLOAT32;
    meta.requires_grad = 0;
    meta.rank = 4;
    meta.shape = shape;
    meta.stride = stride;
    meta.memory_format = "torch.contiguous_format";
    for (int i = 0; i < 4; i++) recent[i] = node;
    for (int i = 0; i < NODES - 1; i++) {
        ok(fxir_node_set_tensor_meta(net, node, &meta, &error));
        if (i == NODES - 2) break;
        node = call(net, i % 3 ? "torch.add" : "torch.mul", recent[i % 4], recent[(i + 1) % 4]);
        recent[(i + 1) % 4] = node;
    }
    returns(net, node);
    return net;
}

static double rate(double bytes, double start, double best) {
    const double found = bytes / (now() - start) / 1e6;
    return found > best ? found : best;
}

static void modules(void) {
    fxir_module *net = build(), *again;
    double write_json = 0, read_json = 0, save = 0, load = 0;
    for (int i = 0; i < ROUNDS; i++) {
        fxir_buffer *json, *file;
        double start = now();
        ok(fxir_module_serialize(net, NULL, &json, NULL, &error));
        write_json = rate((double)fxir_buffer_size(json), start, write_json);
        start = now();
        ok(fxir_module_read_json(fxir_buffer_data(json), fxir_buffer_size(json), NULL, &again, &error));
        read_json = rate((double)fxir_buffer_size(json), start, read_json);
        fxir_module_free(again);
        fxir_buffer_free(json);

        start = now();
        ok(fxir_module_save_to_buffer(net, &file, &error));
        save = rate((double)fxir_buffer_size(file), start, save);
        start = now();
        ok(fxir_module_load_borrowed(fxir_buffer_data(file), fxir_buffer_size(file), NULL, NULL, &again, &error));
        load = rate((double)fxir_buffer_size(file), start, load);
        fxir_module_free(again);
        fxir_buffer_free(file);
    }
    fxir_module_free(net);
    printf("\"write json\": %.1f, \"read json\": %.1f, \"save\": %.1f, \"load\": %.1f, ", write_json, read_json, save, load);
}

/* A header and then nothing: the file has a hole where the bytes would be. */
static void make_weights(const char *path) {
    FILE *file = fopen(path, "wb");
    char *header = malloc(TENSORS * 100 + 10);
    size_t at = 0;
    if (!file || !header) goto failed;
    for (size_t i = 0; i < TENSORS; i++)
        at += (size_t)sprintf(header + at, "%c\"layer%zu.weight\":{\"dtype\":\"F32\",\"shape\":[1000,1000],\"data_offsets\":[%zu,%zu]}",
                              i ? ',' : '{', i, i * TENSOR_SIZE, (i + 1) * TENSOR_SIZE);
    header[at++] = '}';
    unsigned char length[8];
    for (int i = 0; i < 8; i++) length[i] = (unsigned char)((uint64_t)at >> 8 * i);
    if (fwrite(length, 1, 8, file) != 8 || fwrite(header, 1, at, file) != at || fflush(file)) goto failed;
    if (ftruncate(fileno(file), (off_t)(8 + at + TENSORS * TENSOR_SIZE))) goto failed;
    fclose(file);
    free(header);
    return;
failed:
    fprintf(stderr, "fxir_file_bench: cannot write %s\n", path);
    exit(1);
}

static void opening(const char *path) {
    fxir_weights *weights;
    const double before = resident(), start = now();
    ok(fxir_weights_open(path, &weights, &error));
    const double took = now() - start, taken = resident() - before;
    if (fxir_weights_count(weights) != TENSORS) exit(1);
    fxir_weights_free(weights);
    printf("\"open\": %.3f, \"resident\": %.2f, ", took * 1e3, taken / 1e6);
}

int main(int argc, char **argv) {
    char path[4096];
    if (argc != 2 || strlen(argv[1]) > 4000) {
        fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
        return 2;
    }
    sprintf(path, "%s/fxir_file_bench.safetensors", argv[1]);
    make_weights(path);
    printf("{");
    /* First, while the process is small: what is resident at most is what is measured. */
    opening(path);
    unlink(path);
    modules();
    printf("\"nodes\": %d}\n", NODES);
    return 0;
}
