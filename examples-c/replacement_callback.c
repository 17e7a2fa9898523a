/* Builds a replacement for each match: what takes the place of a sum depends on its channels, and a
 * function that is registered for a new operator tells what that yields.
 *
 * In ResNet-20 a ReLU of a sum occurs nine times. This backend has a kernel for sums of up to 32
 * channels, six of them; three have 64, and go to another that takes its operands in tiles.
 *
 * usage: replacement_callback DATA      (the folder examples-c/data) */
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

static const char PATTERN[] =
    "def pattern(a, b):\n"
    "    total = a + b\n"
    "    return self.relu(total)\n";

static const char NARROW[] =
    "def narrow(a, b):\n"
    "    return backend.add_relu(a, b)\n";

static const char WIDE[] =
    "def wide(a, b):\n"
    "    return backend.add_relu_tiles(backend.tile(a), backend.tile(b))\n";

static fxir_module *read_code(const char *code, const fxir_module *members) {
    fxir_module *module;
    ok(fxir_module_read_code(code, strlen(code), members, &module, &error));
    return module;
}

typedef struct kernels {
    fxir_module *narrow, *wide;
} kernels;

/* It sees one match, at index 0, and gives a module away: another handle of one that we keep. */
static int32_t choose(void *user_data, const fxir_module *net, const fxir_matches *matches, fxir_module **replacement) {
    const kernels *all = user_data;
    const fxir_node total = fxir_matches_node(matches, 0, fxir_matches_pattern_node(matches, "total"));
    int64_t shape[4];
    if (fxir_node_shape(net, total, shape, 4) != 4) return 0; /* the match stays as it is */
    return fxir_module_retain(shape[1] <= 32 ? all->narrow : all->wide, replacement, NULL);
}

/* backend.tile makes float32[N, C, H, W] float32[N, C/32, H, W, 32]. What a function returns, a status
 * too, stops the rewrite when it is not 0. */
static int32_t tiles(void *user_data, fxir_module *replacement, fxir_node node) {
    fxir_node input;
    int64_t shape[5];
    fxir_tensor_meta meta;
    ++*(int *)user_data;
    fxir_node_input_nodes(replacement, node, &input, 1);
    if (fxir_node_shape(replacement, input, shape, 4) != 4) return 1;
    shape[1] /= 32;
    shape[4] = 32;
    fxir_tensor_meta_init(&meta);
    meta.dtype = fxir_node_dtype(replacement, input);
    meta.shape = shape;
    meta.rank = 5;
    return fxir_node_set_tensor_meta(replacement, node, &meta, NULL);
}

static size_t count_target(const fxir_module *net, const char *target) {
    size_t count = 0;
    for (fxir_node node = fxir_graph_first(net); node; node = fxir_graph_next(net, node))
        count += strcmp(fxir_node_target(net, node), target) == 0;
    return count;
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: %s DATA\n", argv[0]);
        return 2;
    }
    char json[4096];
    snprintf(json, sizeof json, "%s/resnet20_cifar/model.json", argv[1]);
    fxir_module *net;
    ok(fxir_module_load_json(json, NULL, &net, &error)); /* the graph is enough: no weights */

    /* What `self.relu` is in the pattern: any ReLU of the net meets it, whatever its path. */
    fxir_module *members;
    ok(fxir_module_new(NULL, &members, &error));
    ok(fxir_module_add_submodule(members, "relu", FXIR_MODULE_LEAF, "torch.nn.modules.activation.ReLU", NULL, &error));
    fxir_module *pattern = read_code(PATTERN, members);
    kernels all = {read_code(NARROW, NULL), read_code(WIDE, NULL)};

    int told = 0;
    const fxir_meta_function functions[] = {{"backend.tile", tiles, &told}};
    fxir_rewrite_options options;
    fxir_rewrite_options_init(&options);
    options.build = choose;
    options.build_data = &all;
    options.meta_functions = functions;
    options.meta_function_count = 1;

    fxir_matches *matches;
    ok(fxir_replace_pattern_with(net, pattern, &options, &matches, &error));
    EXPECT(fxir_matches_count(matches) == 9);
    EXPECT(count_target(net, "backend.add_relu") == 6);
    EXPECT(count_target(net, "backend.add_relu_tiles") == 3);
    EXPECT(count_target(net, "_operator.add") == 0);
    ok(fxir_module_lint(net, &error));

    for (size_t i = 0; i < fxir_matches_count(matches); i++) {
        fxir_node made[3];
        const size_t count = fxir_matches_replacements(matches, i, made, 3);
        printf("%zu node%s for match %zu:\n", count, count == 1 ? "" : "s", i);
        for (size_t n = 0; n < count; n++) {
            int64_t shape[5];
            const size_t rank = fxir_node_shape(net, made[n], shape, 5);
            printf("  %-17s", fxir_node_name(net, made[n]));
            for (size_t d = 0; d < rank; d++) printf("%s%d", d ? ", " : " [", (int)shape[d]);
            printf("]\n");
        }
        EXPECT(count == 1 || count == 3);
    }
    EXPECT(told == 2 * 3);
    /* The tiles are known by the function; the last node yields what the ReLU did that it stands for. */
    int64_t shape[5];
    EXPECT(fxir_node_shape(net, fxir_graph_find_node(net, "tile"), shape, 5) == 5);
    EXPECT(shape[1] == 2 && shape[2] == 8 && shape[3] == 8 && shape[4] == 32);
    EXPECT(fxir_node_shape(net, fxir_graph_find_node(net, "add_relu_tiles"), shape, 5) == 4);
    EXPECT(shape[1] == 64);

    fxir_matches_free(matches);
    fxir_module_free(all.wide);
    fxir_module_free(all.narrow);
    fxir_module_free(pattern);
    fxir_module_free(members);
    fxir_module_free(net);
    printf("OK\n");
    return 0;
}
