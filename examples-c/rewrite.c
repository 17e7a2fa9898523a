/* Rewrites a graph: the example that torch's own documentation of replace_pattern gives.
 *
 *     def forward(self, x, w1, w2):
 *         m1 = torch.cat([w1, w2])
 *         m2 = torch.cat([w1, w2])
 *         return x + torch.max(m1) + torch.max(m2)
 *
 * Both calls of torch.cat become calls of torch.stack; then every node of the result is checked. */
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

/* begin README */
/* A module that says: forward(a, b): return target([a, b]) */
static fxir_module *call_on_pair(const char *target) {
    fxir_module *module;
    fxir_node a, b, call;
    ok(fxir_module_new(NULL, &module, &error));
    ok(fxir_graph_placeholder(module, "a", &a, &error));
    ok(fxir_graph_placeholder(module, "b", &b, &error));
    fxir_arg pair[] = {fxir_arg_node(a), fxir_arg_node(b)};
    fxir_arg list = fxir_arg_list(pair, 2);
    ok(fxir_graph_call_function(module, target, &list, 1, NULL, 0, &call, &error));
    fxir_arg result = fxir_arg_node(call);
    ok(fxir_graph_output(module, &result, NULL, &error));
    return module;
}

static fxir_matches *stack_instead_of_cat(fxir_module *net) {
    fxir_module *pattern = call_on_pair("torch.cat"), *replacement = call_on_pair("torch.stack");
    fxir_matches *matches;
    ok(fxir_replace_pattern(net, pattern, replacement, NULL, &matches, &error));
    printf("%zu matches\n", fxir_matches_count(matches));
    fxir_module_free(replacement);
    fxir_module_free(pattern);
    return matches;
}
/* end README */

/* Calls a function on one node or two; the second may be 0. */
static fxir_node call(fxir_module *net, const char *target, fxir_node first, fxir_node second) {
    fxir_node made;
    fxir_arg args[] = {fxir_arg_node(first), fxir_arg_node(second)};
    ok(fxir_graph_call_function(net, target, args, second ? 2 : 1, NULL, 0, &made, &error));
    return made;
}

static fxir_node cat(fxir_module *net, fxir_node w1, fxir_node w2) {
    fxir_node made;
    fxir_arg pair[] = {fxir_arg_node(w1), fxir_arg_node(w2)};
    fxir_arg list = fxir_arg_list(pair, 2);
    ok(fxir_graph_call_function(net, "torch.cat", &list, 1, NULL, 0, &made, &error));
    return made;
}

/* m1 = torch.cat([w1, w2]); m2 = torch.cat([w1, w2]); return x + torch.max(m1) + torch.max(m2) */
static fxir_module *network(void) {
    fxir_module *net;
    fxir_node x, w1, w2;
    ok(fxir_module_new(NULL, &net, &error));
    ok(fxir_graph_placeholder(net, "x", &x, &error));
    ok(fxir_graph_placeholder(net, "w1", &w1, &error));
    ok(fxir_graph_placeholder(net, "w2", &w2, &error));
    fxir_node m1 = cat(net, w1, w2);
    fxir_node m2 = cat(net, w1, w2);
    fxir_node sum = call(net, "_operator.add", x, call(net, "torch.max", m1, 0));
    fxir_node total = call(net, "_operator.add", sum, call(net, "torch.max", m2, 0));
    fxir_arg result = fxir_arg_node(total);
    ok(fxir_graph_output(net, &result, NULL, &error));
    return net;
}

/* One line of the result: what the node is, and the names of the nodes that it uses, in order. */
typedef struct line {
    const char *op, *name, *target, *inputs[3];
} line;

static const line AFTER[] = {
    {"placeholder", "x", "x", {0}},
    {"placeholder", "w1", "w1", {0}},
    {"placeholder", "w2", "w2", {0}},
    {"call_function", "stack", "torch.stack", {"w1", "w2"}},
    {"call_function", "max_1", "torch.max", {"stack"}},
    {"call_function", "add", "_operator.add", {"x", "max_1"}},
    {"call_function", "stack_1", "torch.stack", {"w1", "w2"}},
    {"call_function", "max_2", "torch.max", {"stack_1"}},
    {"call_function", "add_1", "_operator.add", {"add", "max_2"}},
    {"output", "output", "output", {"add_1"}},
};
enum { LINES = sizeof AFTER / sizeof *AFTER };

static void check_node(const fxir_module *net, fxir_node node, const line *should) {
    printf("  %-13s %-8s %s\n", fxir_node_op_name(net, node), fxir_node_name(net, node), fxir_node_target(net, node));
    EXPECT(strcmp(fxir_node_op_name(net, node), should->op) == 0);
    EXPECT(strcmp(fxir_node_name(net, node), should->name) == 0);
    EXPECT(strcmp(fxir_node_target(net, node), should->target) == 0);

    size_t count = 0;
    while (count < 3 && should->inputs[count]) count++;
    fxir_node inputs[3];
    EXPECT(fxir_node_input_nodes(net, node, inputs, 3) == count);
    for (size_t i = 0; i < count; i++) EXPECT(strcmp(fxir_node_name(net, inputs[i]), should->inputs[i]) == 0);

    /* torch.stack takes one argument, a list; everything else takes its nodes one by one. */
    fxir_args *args;
    ok(fxir_node_args(net, node, &args, &error));
    const fxir_arg *items = fxir_args_items(args);
    EXPECT(fxir_args_kwarg_count(args) == 0);
    if (strcmp(should->target, "torch.stack") == 0) {
        EXPECT(fxir_args_count(args) == 1 && items[0].kind == FXIR_ARG_LIST && items[0].count == count);
        items = items[0].value.items;
    } else {
        EXPECT(fxir_args_count(args) == count);
    }
    for (size_t i = 0; i < count; i++)
        EXPECT(items[i].kind == FXIR_ARG_NODE && items[i].value.node == inputs[i]);
    fxir_args_free(args);
}

int main(void) {
    fxir_module *net = network();
    const size_t before = fxir_graph_node_count(net);
    EXPECT(before == LINES);

    fxir_matches *matches = stack_instead_of_cat(net);
    EXPECT(fxir_matches_count(matches) == 2);
    EXPECT(fxir_graph_node_count(net) == before);
    size_t index = 0;
    for (fxir_node node = fxir_graph_first(net); node; node = fxir_graph_next(net, node))
        check_node(net, node, &AFTER[index++]);
    EXPECT(index == LINES);

    /* The matches name what took the place of each: one node. */
    for (size_t i = 0; i < 2; i++) {
        fxir_node made;
        EXPECT(fxir_matches_replacements(matches, i, &made, 1) == 1);
        EXPECT(strcmp(fxir_node_name(net, made), i == 0 ? "stack" : "stack_1") == 0);
    }
    ok(fxir_graph_lint(net, &error));

    fxir_matches_free(matches);
    fxir_module_free(net);
    printf("OK\n");
    return 0;
}
