/* The main job of a compiler's backend, from end to end.
 *
 * A network that torch.fx traced, ResNet-20, is loaded: its graph from JSON, its weights from a
 * mapped safetensors file. Where a ReLU takes a sum of two branches, the backend has one operator for
 * both, so those two nodes become one. The first stage is cut out for an accelerator. Then the result
 * is checked, measured, serialized, written, and read back.
 *
 * usage: compile_resnet DATA [OUT]
 *   DATA   the folder examples-c/data
 *   OUT    the folder to write model.json and model.safetensors into; the current one by default
 *
 * Every step checks what it did, and the program ends with 1 as soon as something is not as it
 * should be. */
#define _XOPEN_SOURCE 700 /* realpath */

#include <fxir.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NODES = 75, WEIGHTS = 107, RESIDUAL_SUMS = 9, STAGE_NODES = 18 };

/* Where each call puts its error. One is enough, as the first that comes ends the program. */
static fxir_error *error;

static void ok(fxir_status status) {
    if (status == FXIR_OK) return;
    fprintf(stderr, "compile_resnet: %s: %s\n", fxir_status_name(status), fxir_error_message(error));
    exit(1);
}

#define EXPECT(condition) expect((condition) != 0, #condition, __LINE__)
static void expect(int holds, const char *what, int line) {
    if (holds) return;
    fprintf(stderr, "compile_resnet: line %d: this does not hold: %s\n", line, what);
    exit(1);
}

static int starts_with(const char *text, const char *prefix) {
    return text && strncmp(text, prefix, strlen(prefix)) == 0;
}

/* ------------------------------------------------------------------------------------- rewriting */

/* What is looked for: the ReLU of a sum. In this network the sum is a function, the ReLU a submodule;
 * calls of submodules are alike when the submodules have the same type, whatever they are called. */
static fxir_module *relu_of_sum(void) {
    fxir_module *pattern;
    fxir_node a, b, sum, relu;
    ok(fxir_module_new("ReluOfSum", &pattern, &error));
    ok(fxir_module_add_submodule(pattern, "relu", FXIR_MODULE_LEAF, "torch.nn.modules.activation.ReLU", NULL,
                                 &error));
    ok(fxir_graph_placeholder(pattern, "a", &a, &error));
    ok(fxir_graph_placeholder(pattern, "b", &b, &error));
    fxir_arg terms[] = {fxir_arg_node(a), fxir_arg_node(b)};
    ok(fxir_graph_call_function(pattern, "_operator.add", terms, 2, NULL, 0, &sum, &error));
    fxir_arg input = fxir_arg_node(sum);
    ok(fxir_graph_call_module(pattern, "relu", &input, 1, NULL, 0, &relu, &error));
    fxir_arg result = fxir_arg_node(relu);
    ok(fxir_graph_output(pattern, &result, NULL, &error));
    return pattern;
}

/* What takes its place. The name is the backend's own: fxir needs no list of operators. */
static fxir_module *add_relu(void) {
    fxir_module *replacement;
    fxir_node a, b, call;
    ok(fxir_module_new("AddRelu", &replacement, &error));
    ok(fxir_graph_placeholder(replacement, "a", &a, &error));
    ok(fxir_graph_placeholder(replacement, "b", &b, &error));
    fxir_arg terms[] = {fxir_arg_node(a), fxir_arg_node(b)};
    ok(fxir_graph_call_function(replacement, "backend.add_relu", terms, 2, NULL, 0, &call, &error));
    fxir_arg result = fxir_arg_node(call);
    ok(fxir_graph_output(replacement, &result, NULL, &error));
    return replacement;
}

static void rewrite(fxir_module *net) {
    fxir_module *pattern = relu_of_sum(), *replacement = add_relu();
    fxir_matches *matches;
    ok(fxir_replace_pattern(net, pattern, replacement, NULL, &matches, &error));

    const size_t count = fxir_matches_count(matches);
    printf("\n%zu matches of relu(add(a, b)), each now one backend.add_relu:\n", count);
    EXPECT(count == RESIDUAL_SUMS);
    fxir_node in_pattern[4]; /* a, b, the sum, the ReLU; and the output, which is of no interest */
    EXPECT(fxir_matches_pattern_nodes(matches, in_pattern, 4) == 5);
    for (size_t i = 0; i < count; i++) {
        fxir_node made;
        EXPECT(fxir_matches_replacements(matches, i, &made, 1) == 1);
        EXPECT(strcmp(fxir_node_target(net, made), "backend.add_relu") == 0);
        /* The old nodes are gone, but the match remembers their names. */
        printf("  %-16s of %-6s -> %s(%s, %s)\n", fxir_matches_node_name(matches, i, in_pattern[3]),
               fxir_matches_node_name(matches, i, in_pattern[2]), fxir_node_name(net, made),
               fxir_node_name(net, fxir_node_arg_node(net, made, 0)),
               fxir_node_name(net, fxir_node_arg_node(net, made, 1)));
        EXPECT(fxir_node_op(net, fxir_matches_node(matches, i, in_pattern[3])) == 0);
        /* What was known of the ReLU's result is known of the new node's. */
        EXPECT(fxir_node_dtype(net, made) == FXIR_DTYPE_FLOAT32);
        EXPECT(fxir_node_shape(net, made, NULL, 0) == 4);
    }
    EXPECT(fxir_graph_node_count(net) == NODES - RESIDUAL_SUMS);
    for (fxir_node node = fxir_graph_first(net); node; node = fxir_graph_next(net, node))
        EXPECT(strcmp(fxir_node_target(net, node), "_operator.add") != 0);

    fxir_matches_free(matches);
    fxir_module_free(replacement);
    fxir_module_free(pattern);
}

/* ------------------------------------------------------------------------------------ partitioning */

/* The first stage is what calls a submodule of layer1, and the residual sums of those. */
static int in_first_stage(const fxir_module *net, fxir_node node) {
    if (fxir_node_op(net, node) == FXIR_OP_CALL_MODULE) return starts_with(fxir_node_target(net, node), "layer1.");
    if (strcmp(fxir_node_target(net, node), "backend.add_relu") != 0) return 0;
    return starts_with(fxir_node_target(net, fxir_node_arg_node(net, node, 0)), "layer1.");
}

static void cut_out_first_stage(fxir_module *net) {
    fxir_node stage[STAGE_NODES];
    size_t count = 0;
    for (fxir_node node = fxir_graph_first(net); node; node = fxir_graph_next(net, node)) {
        if (!in_first_stage(net, node)) continue;
        EXPECT(count < STAGE_NODES);
        stage[count++] = node;
    }
    EXPECT(count == STAGE_NODES);

    const size_t before = fxir_graph_node_count(net);
    fxir_node call;
    fxir_module *accel;
    ok(fxir_fuse_as_graphmodule(net, stage, count, "run_on_accel_0", NULL, &call, &accel, &error));
    printf("\n%zu nodes became the submodule %s, called by the node %s; in it:\n", count, fxir_module_path(accel),
           fxir_node_name(net, call));

    EXPECT(fxir_node_op(net, call) == FXIR_OP_CALL_MODULE);
    EXPECT(strcmp(fxir_node_target(net, call), "run_on_accel_0") == 0);
    EXPECT(fxir_graph_node_count(net) == before - count + 1);
    EXPECT(fxir_graph_node_count(accel) == count + 2); /* and its placeholder and output */
    EXPECT(fxir_node_arg_count(net, call) == 1);
    EXPECT(fxir_node_user_count(net, call) == 2); /* layer2's first convolution, and its shortcut */

    fxir_buffer *table;
    ok(fxir_graph_print_tabular(accel, &table, &error));
    printf("\n%s\n", fxir_buffer_data(table));
    fxir_buffer_free(table);
    fxir_module_free(accel);
}

/* ------------------------------------------------------------------------------------- measuring */

static void report_sizes(const fxir_module *net) {
    fxir_node_size sizes[NODES];
    size_t count;
    ok(fxir_get_size_of_all_nodes(net, FXIR_SIZE_IN_OWN_DTYPE, sizes, NODES, &count, &error));
    EXPECT(count == fxir_graph_node_count(net) - 1); /* all but the output */

    printf("\n%-20s %12s %12s   (bytes)\n", "node", "output", "total");
    uint64_t outputs = 0;
    for (size_t i = 0; i < count; i++) {
        const char *name = fxir_node_name(net, sizes[i].node);
        printf("%-20s %12" PRIu64 " %12" PRIu64 "\n", name, sizes[i].output_bytes, sizes[i].total_bytes);
        EXPECT(sizes[i].total_bytes >= sizes[i].output_bytes);
        outputs += sizes[i].output_bytes;
        /* Three by hand: 1 * 16 * 32 * 32 floats; with 16 * 3 * 3 * 3 of weights; with three blocks of
         * two convolutions (16 * 16 * 3 * 3) and two normalizations (16 scales, 16 biases). */
        if (strcmp(name, "conv1") == 0)
            EXPECT(sizes[i].output_bytes == 65536 && sizes[i].total_bytes == 65536 + 1728);
        if (strcmp(name, "run_on_accel_0") == 0)
            EXPECT(sizes[i].output_bytes == 65536 && sizes[i].total_bytes == 65536 + 3 * 2 * (9216 + 128));
        if (strncmp(name, "add_relu", 8) == 0) EXPECT(sizes[i].total_bytes == sizes[i].output_bytes);
    }
    printf("%-20s %12" PRIu64 "\n", "all", outputs);
}

/* --------------------------------------------------------------------------------------- weights */

/* Where the system has mapped a file, from /proc/self/maps. */
typedef struct mapping {
    uintptr_t start, end;
    unsigned long long offset;
} mapping;

static mapping find_mapping(const char *path) {
    mapping found = {0, 0, 0};
    char *real = realpath(path, NULL), line[8192];
    EXPECT(real);
    FILE *maps = fopen("/proc/self/maps", "r");
    EXPECT(maps);
    while (!found.end && fgets(line, sizeof line, maps)) {
        unsigned long long start, end, offset;
        const char *name = strchr(line, '/');
        line[strcspn(line, "\n")] = 0;
        if (name && strcmp(name, real) == 0 && sscanf(line, "%llx-%llx %*s %llx", &start, &end, &offset) == 3)
            found = (mapping){(uintptr_t)start, (uintptr_t)end, offset};
    }
    fclose(maps);
    free(real);
    return found;
}

static void print_tensor(const char *name, const fxir_tensor *tensor) {
    char shape[64] = "";
    size_t used = 0;
    for (size_t i = 0; i < fxir_tensor_rank(tensor); i++)
        used += (size_t)snprintf(shape + used, sizeof shape - used, "%s%" PRId64, i ? ", " : "",
                                 fxir_tensor_shape(tensor)[i]);
    printf("  %-44s %-14s [%-13s %7zu bytes:", name, fxir_dtype_name(fxir_tensor_dtype(tensor)), strcat(shape, "]"),
           fxir_tensor_size(tensor));
    for (size_t i = 0; i < 3 && (i + 1) * sizeof(float) <= fxir_tensor_size(tensor); i++) {
        float value; /* the bytes may be aligned for no type, so they are not read through a float * */
        memcpy(&value, (const char *)fxir_tensor_data(tensor) + i * sizeof value, sizeof value);
        printf(" %g", value);
    }
    printf(" ...\n");
}

/* Lists all weights, and shows that each is in the mapped file itself: its pointer lies in the
 * mapping, and the file has the same bytes at that place. */
static void report_weights(const fxir_weights *weights, const char *path) {
    const mapping map = find_mapping(path);
    FILE *file = fopen(path, "rb");
    EXPECT(map.end > map.start && file);
    const size_t count = fxir_weights_count(weights);
    EXPECT(count == WEIGHTS);

    size_t bytes = 0;
    printf("\n%zu weight buffers:\n", count);
    for (size_t i = 0; i < count; i++) {
        fxir_tensor *tensor;
        ok(fxir_weights_tensor(weights, i, &tensor, &error));
        print_tensor(fxir_weights_name(weights, i), tensor);

        const uintptr_t data = (uintptr_t)fxir_tensor_data(tensor);
        const size_t size = fxir_tensor_size(tensor);
        EXPECT(fxir_tensor_dtype(tensor) == FXIR_DTYPE_FLOAT32 && size > 0);
        EXPECT(data >= map.start && data < map.end && size <= map.end - data);
        char *read = malloc(size);
        EXPECT(read);
        EXPECT(fseek(file, (long)(map.offset + (data - map.start)), SEEK_SET) == 0);
        EXPECT(fread(read, 1, size, file) == size);
        EXPECT(memcmp(read, (const void *)data, size) == 0);
        free(read);
        bytes += size;
        fxir_tensor_free(tensor);
    }
    printf("all %zu bytes lie inside the mapped file (%#" PRIxPTR " to %#" PRIxPTR "): nothing was copied\n", bytes,
           map.start, map.end);
    fclose(file);
}

/* --------------------------------------------------------------------------------- writing, reading */

static void expect_same_weights(const fxir_weights *a, const fxir_weights *b) {
    EXPECT(fxir_weights_count(a) == fxir_weights_count(b));
    for (size_t i = 0; i < fxir_weights_count(a); i++) {
        fxir_tensor *left, *right;
        ok(fxir_weights_tensor(a, i, &left, &error));
        ok(fxir_weights_get(b, fxir_weights_name(a, i), &right, &error));
        EXPECT(fxir_tensor_dtype(left) == fxir_tensor_dtype(right));
        EXPECT(fxir_tensor_rank(left) == fxir_tensor_rank(right));
        EXPECT(memcmp(fxir_tensor_shape(left), fxir_tensor_shape(right),
                      fxir_tensor_rank(left) * sizeof(int64_t)) == 0);
        EXPECT(fxir_tensor_size(left) == fxir_tensor_size(right));
        EXPECT(memcmp(fxir_tensor_data(left), fxir_tensor_data(right), fxir_tensor_size(left)) == 0);
        fxir_tensor_free(right);
        fxir_tensor_free(left);
    }
}

/* Reads what was written, serializes that again, and compares. */
static void read_back(const char *json_path, const char *weights_path, const fxir_buffer *json,
                      const fxir_weights *weights, const fxir_serialize_options *options) {
    fxir_module *net, *accel;
    fxir_buffer *again;
    fxir_weights *weights_again;
    ok(fxir_module_load_json(json_path, weights_path, &net, &error));
    ok(fxir_module_lint(net, &error));
    ok(fxir_module_get_submodule(net, "run_on_accel_0", &accel, &error));
    EXPECT(fxir_graph_node_count(accel) == STAGE_NODES + 2);
    ok(fxir_module_serialize(net, options, &again, &weights_again, &error));
    EXPECT(fxir_buffer_size(again) == fxir_buffer_size(json));
    EXPECT(memcmp(fxir_buffer_data(again), fxir_buffer_data(json), fxir_buffer_size(json)) == 0);
    expect_same_weights(weights, weights_again);
    fxir_weights_free(weights_again);
    fxir_buffer_free(again);
    fxir_module_free(accel);
    fxir_module_free(net);
}

static char *join(const char *folder, const char *file) {
    char *path = malloc(strlen(folder) + strlen(file) + 2);
    EXPECT(path);
    sprintf(path, "%s/%s", folder, file);
    return path;
}

int main(int argc, char **argv) {
    if (argc < 2 || argc > 3) {
        fprintf(stderr, "usage: %s DATA [OUT]\n", argv[0]);
        return 2;
    }
    const char *out = argc > 2 ? argv[2] : ".";
    char *json_in = join(argv[1], "resnet20_cifar/model.json");
    char *weights_in = join(argv[1], "resnet20_cifar/model.safetensors");
    char *json_out = join(out, "model.json"), *weights_out = join(out, "model.safetensors");

    fxir_module *net;
    ok(fxir_module_load_json(json_in, weights_in, &net, &error));
    printf("fxir %s: loaded %s, %zu nodes\n\n", fxir_version_string(), json_in, fxir_graph_node_count(net));
    EXPECT(fxir_graph_node_count(net) == NODES);

    fxir_buffer *table;
    ok(fxir_graph_print_tabular(net, &table, &error));
    printf("%s\n", fxir_buffer_data(table));
    fxir_buffer_free(table);

    rewrite(net);
    cut_out_first_stage(net);
    ok(fxir_legalize_graph(net, &error));
    ok(fxir_module_lint(net, &error));
    report_sizes(net);

    fxir_serialize_options options;
    fxir_serialize_options_init(&options);
    options.indent = 1;
    fxir_buffer *json;
    fxir_weights *weights;
    ok(fxir_module_serialize(net, &options, &json, &weights, &error));
    report_weights(weights, weights_in);

    ok(fxir_module_save_json(net, json_out, weights_out, &options, &error));
    read_back(json_out, weights_out, json, weights, &options);
    printf("\nwrote %s (%zu bytes) and %s; read back, both are the same\n", json_out, fxir_buffer_size(json),
           weights_out);

    fxir_weights_free(weights);
    fxir_buffer_free(json);
    fxir_module_free(net);
    free(weights_out);
    free(json_out);
    free(weights_in);
    free(json_in);
    printf("OK\n");
    return 0;
}
