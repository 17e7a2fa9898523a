/* A compiler's passes, one after the other, by a pass manager: a set of patterns, passes of the
 * library's, and one of our own. Each is checked, shown before and after, and timed.
 *
 * On ResNet-20 the passes fuse the ReLU of each sum with it, take out the norms behind convolutions, and
 * drop what nothing uses any more. A pass that fails takes back the whole run.
 *
 * usage: pass_manager DATA      (the folder examples-c/data) */
#include <fxir.h>

#include <inttypes.h>
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

/* forward(a, b): return relu(a + b), or backend.add_relu(a, b). */
static fxir_module *add_relu(int fused) {
    fxir_module *module;
    fxir_node a, b, node;
    ok(fxir_module_new(NULL, &module, &error));
    ok(fxir_graph_placeholder(module, "a", &a, &error));
    ok(fxir_graph_placeholder(module, "b", &b, &error));
    fxir_arg terms[] = {fxir_arg_node(a), fxir_arg_node(b)};
    ok(fxir_graph_call_function(module, fused ? "backend.add_relu" : "_operator.add", terms, 2, NULL, 0, &node, &error));
    if (!fused) {
        const char *type = "torch.nn.modules.activation.ReLU";
        ok(fxir_module_add_submodule(module, "relu", FXIR_MODULE_LEAF, type, NULL, &error));
        fxir_arg sum = fxir_arg_node(node);
        ok(fxir_graph_call_module(module, "relu", &sum, 1, NULL, 0, &node, &error));
    }
    fxir_arg result = fxir_arg_node(node);
    ok(fxir_graph_output(module, &result, NULL, &error));
    return module;
}

static fxir_pattern_set *fusions(void) {
    fxir_pattern_set *set;
    fxir_module *pattern = add_relu(0), *replacement = add_relu(1);
    fxir_rewrite_options options;
    fxir_rewrite_options_init(&options);
    options.replacement = replacement;
    ok(fxir_pattern_set_new(&set, &error));
    ok(fxir_pattern_set_add(set, pattern, &options, NULL, NULL, NULL, &error));
    fxir_module_free(replacement);
    fxir_module_free(pattern);
    return set;
}

/* A pass of our own: a convolution that only its batch norm uses takes the norm over. (A real one would
 * fold the norm's numbers into the weights too.) It changes the module as any code would. */
static int32_t drop_norms(void *user_data, fxir_module *net) {
    size_t *dropped = user_data;
    fxir_node next;
    for (fxir_node node = fxir_graph_first(net); node; node = next) {
        next = fxir_graph_next(net, node);
        if (fxir_node_op(net, node) != FXIR_OP_CALL_MODULE) continue;
        fxir_module *called;
        ok(fxir_module_get_submodule(net, fxir_node_target(net, node), &called, &error));
        const int is_norm = strcmp(fxir_module_type_name(called), "torch.nn.modules.batchnorm.BatchNorm2d") == 0;
        fxir_module_free(called);
        if (!is_norm) continue;
        const fxir_node conv = fxir_node_arg_node(net, node, 0);
        if (fxir_node_user_count(net, conv) != 1) continue;
        ok(fxir_node_replace_all_uses_with(net, node, conv, NULL, NULL, NULL, &error));
        ok(fxir_graph_erase_node(net, node, &error));
        ++*dropped;
    }
    return 0;
}

/* Shows the module around each pass; a compiler would write files. */
static int32_t show(void *user_data, int32_t when, const fxir_module *net, const fxir_pass_run *run) {
    ++*(int *)user_data;
    if (when == FXIR_PASS_BEFORE)
        printf("%-30s %3zu nodes", run->name, fxir_graph_node_count(net));
    else
        printf(" -> %3zu\n", fxir_graph_node_count(net));
    return 0;
}

static int32_t give_up(void *user_data, fxir_module *net) {
    (void)user_data, (void)net;
    return 17;
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
    EXPECT(fxir_graph_node_count(net) == 75);

    printf("passes by name:");
    for (size_t i = 0; i < fxir_built_in_pass_count(); i++) printf(" %s", fxir_built_in_pass_name(i));
    printf("\n\n");

    size_t dropped = 0;
    int shown = 0;
    fxir_pattern_set *set = fusions();
    fxir_pass_manager *passes;
    ok(fxir_pass_manager_new(&passes, &error));
    ok(fxir_pass_manager_add_pattern_set(passes, "fuse add and relu", set, 0, &error));
    ok(fxir_pass_manager_add(passes, "delete_all_unused_submodules", &error));
    ok(fxir_pass_manager_add_function(passes, "drop norms", drop_norms, &dropped, NULL, &error));
    ok(fxir_pass_manager_add(passes, "eliminate_dead_code", &error));
    ok(fxir_pass_manager_add(passes, "legalize_graph", &error));
    fxir_pattern_set_free(set); /* the manager has its rules */

    /* Norms that were dropped leave modules behind: those go last, whatever the order above. */
    ok(fxir_pass_manager_add_constraint(passes, "drop norms", "delete_all_unused_submodules", &error));
    EXPECT(fxir_pass_manager_validate_constraints(passes, &error) == FXIR_INVALID_ARGUMENT);
    printf("another order is needed: %s\n\n", fxir_error_message(error));
    fxir_error_free(error);

    fxir_pass_options options;
    fxir_pass_options_init(&options);
    options.steps = 4; /* at most; the first round that changes nothing is the last */
    options.run_checks_after_each_pass = 1;
    options.dump = show;
    options.dump_data = &shown;
    fxir_pass_report *report;
    ok(fxir_pass_manager_run(passes, net, &options, &report, &error));

    fxir_buffer *table;
    ok(fxir_pass_report_print(report, &table, &error));
    printf("\n%s\n", fxir_buffer_data(table));
    fxir_buffer_free(table);

    /* Nine sums; one norm for each of the network's convolutions. */
    EXPECT(fxir_pass_report_count(report) == 2 * 5 && shown == 2 * 2 * 5);
    const fxir_pass_run *fuse = fxir_pass_report_run(report, 0);
    EXPECT(fuse->nodes_before == 75 && fuse->nodes_after == 75 - 9 && fuse->modified);
    EXPECT(dropped > 0 && fxir_graph_node_count(net) == 75 - 9 - dropped);
    for (size_t i = 5; i < 10; i++) EXPECT(!fxir_pass_report_run(report, i)->modified);
    fxir_pass_report_free(report);
    ok(fxir_module_lint(net, &error));

    /* A pass that fails: the message says which, and what the passes before it did is taken back. */
    const size_t before = fxir_graph_node_count(net);
    fxir_arg input = fxir_arg_node(fxir_graph_first(net));
    ok(fxir_graph_call_function(net, "torch.relu", &input, 1, NULL, 0, NULL, &error)); /* nothing uses it */
    ok(fxir_pass_manager_add_function(passes, "give up", give_up, NULL, NULL, &error));
    EXPECT(fxir_pass_manager_run(passes, net, NULL, NULL, &error) == FXIR_CALLBACK);
    EXPECT(fxir_error_callback_code(error) == 17);
    printf("stopped: %s\n", fxir_error_message(error));
    fxir_error_free(error);
    EXPECT(fxir_graph_node_count(net) == before + 1);

    fxir_pass_manager_free(passes);
    fxir_module_free(net);
    printf("OK\n");
    return 0;
}
