/* Rewrites only some of the places where a pattern fits: a filter decides on each match.
 *
 * In ResNet-20 a ReLU of a sum occurs nine times. This backend can fuse the two only where the sum has
 * at most 32 channels: six times. A filter may also stop the whole call; then nothing has changed.
 *
 * usage: rewrite_with_filter DATA      (the folder examples-c/data) */
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

/* What the filter knows. */
typedef struct limits {
    int64_t most_channels;
    int stop_at; /* the call at which it stops everything; 0 for never */
    int calls;
} limits;

/* It sees one match, at index 0, and may read the module, but not change it. */
static int32_t few_channels(void *user_data, const fxir_module *net, const fxir_matches *matches, int32_t *verdict) {
    limits *limit = user_data;
    if (++limit->calls == limit->stop_at) return 42;
    /* What the pattern's node called "add" met. */
    const fxir_node sum = fxir_matches_node(matches, 0, fxir_matches_pattern_node(matches, "add"));
    int64_t shape[4] = {0};
    *verdict = fxir_node_shape(net, sum, shape, 4) == 4 && shape[1] <= limit->most_channels;
    printf("  %-6s has %2d channels: %s\n", fxir_node_name(net, sum), (int)shape[1], *verdict ? "fused" : "left");
    return 0;
}

/* forward(a, b): return relu(a + b), or backend.add_relu(a, b). */
static fxir_module *two_terms(int as_one) {
    fxir_module *module;
    fxir_node a, b, call;
    ok(fxir_module_new(NULL, &module, &error));
    ok(fxir_graph_placeholder(module, "a", &a, &error));
    ok(fxir_graph_placeholder(module, "b", &b, &error));
    fxir_arg terms[] = {fxir_arg_node(a), fxir_arg_node(b)};
    const char *target = as_one ? "backend.add_relu" : "_operator.add";
    ok(fxir_graph_call_function(module, target, terms, 2, NULL, 0, &call, &error));
    fxir_arg result = fxir_arg_node(call);
    if (!as_one) {
        /* The ReLU is a submodule: any of this type is meant, whatever its path. */
        fxir_node relu;
        ok(fxir_module_add_submodule(module, "relu", FXIR_MODULE_LEAF, "torch.nn.modules.activation.ReLU", NULL,
                                     &error));
        ok(fxir_graph_call_module(module, "relu", &result, 1, NULL, 0, &relu, &error));
        result = fxir_arg_node(relu);
    }
    ok(fxir_graph_output(module, &result, NULL, &error));
    return module;
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

    limits limit = {32, 0, 0};
    fxir_module *pattern = two_terms(0), *replacement = two_terms(1);
    fxir_match_options options;
    fxir_match_options_init(&options);
    options.filter = few_channels;
    options.filter_data = &limit;

    /* First a filter that gives up at the fifth match. The four before are not rewritten either. */
    limit.stop_at = 5;
    EXPECT(fxir_replace_pattern(net, pattern, replacement, &options, NULL, &error) == FXIR_CALLBACK);
    EXPECT(fxir_error_callback_code(error) == 42);
    printf("stopped: %s\n", fxir_error_message(error));
    fxir_error_free(error);
    EXPECT(fxir_graph_node_count(net) == 75 && count_target(net, "backend.add_relu") == 0);

    limit.stop_at = limit.calls = 0;
    fxir_matches *matches;
    ok(fxir_replace_pattern(net, pattern, replacement, &options, &matches, &error));
    EXPECT(limit.calls == 9);
    EXPECT(fxir_matches_count(matches) == 6);
    EXPECT(count_target(net, "backend.add_relu") == 6);
    EXPECT(count_target(net, "_operator.add") == 3);
    EXPECT(fxir_graph_node_count(net) == 75 - 6);
    ok(fxir_module_lint(net, &error));
    fxir_matches_free(matches);

    /* Without a filter the other three are found too; fxir_match_pattern only looks. */
    ok(fxir_match_pattern(net, pattern, NULL, &matches, &error));
    EXPECT(fxir_matches_count(matches) == 3);
    EXPECT(fxir_graph_node_count(net) == 75 - 6);

    fxir_matches_free(matches);
    fxir_module_free(replacement);
    fxir_module_free(pattern);
    fxir_module_free(net);
    printf("OK\n");
    return 0;
}
