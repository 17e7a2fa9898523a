/* The order of graphs that are edited by hand: checks, both sorts, and cycles of which every node can
 * be read. */
#include "check.h"

static void set_inputs(fxir_module *module, fxir_node node, const fxir_node *inputs, size_t count) {
    fxir_arg args[8];
    size_t i;
    for (i = 0; i < count; i++) args[i] = fxir_arg_node(inputs[i]);
    OK(fxir_node_set_args(module, node, args, count, E));
}

/* b, then c and e of b, then p of c; b moved behind all of them. */
static void the_two_sorts(void) {
    fxir_module *module = new_module(), *other = NULL;
    fxir_node x = placeholder(module, "x"), b, c, e, p;
    fxir_error *error = NULL;
    fxir_node nodes[3] = {0, 0, 7};
    size_t late = 99;
    b = call_1(module, "b", x);
    c = call_1(module, "c", b);
    e = call_1(module, "e", b);
    p = call_1(module, "p", c);
    output_1(module, call_2(module, "q", p, e));
    CHECK(fxir_graph_is_topologically_sorted(module) == 1);
    OK(fxir_graph_lint_order(module, E));
    OK(fxir_stable_topological_sort(module, &late, E));
    CHECK(late == 0 && graph_is(module, "x b c e p q output"));

    OK(fxir_node_move_after(module, b, p, E));
    CHECK(fxir_graph_is_topologically_sorted(module) == 0);
    REFUSED(FXIR_LINT, module, fxir_graph_lint_order(module, E));
    CHECK(failed.node == c && strstr(failed.message, "it uses b before its definition"));
    CHECK(fxir_graph_lint(module, &error) == FXIR_LINT);
    CHECK(fxir_error_nodes(error, NULL, 0) == 2);
    CHECK(fxir_error_nodes(error, nodes, 1) == 2 && nodes[0] == c && nodes[1] == 0);
    CHECK(fxir_error_nodes(error, nodes, 3) == 2 && nodes[0] == c && nodes[1] == b && nodes[2] == 7);
    fxir_error_free(error);
    CHECK(fxir_error_nodes(error, nodes, 3) == 0 && fxir_error_nodes(NULL, nodes, 3) == 0);

    OK(fxir_module_clone(module, &other, NULL, E));
    OK(fxir_legalize_graph(module, E));
    CHECK(graph_is(module, "x b c e p q output"));
    OK(fxir_stable_topological_sort(other, &late, E));
    CHECK(late == 3 && graph_is(other, "x b c p e q output")); /* c and p stay together */
    CHECK(fxir_graph_is_topologically_sorted(other) == 1);
    OK(fxir_stable_topological_sort(other, NULL, E));
    CHECK(graph_is(other, "x b c p e q output"));
    fxir_module_free(other);
    fxir_module_free(module);
}

/* Placeholders come first and the output last, by either sort. */
static void placeholders_and_the_output(void) {
    int which;
    for (which = 0; which < 2; which++) {
        fxir_module *module = new_module();
        fxir_node x = placeholder(module, "x"), f = call_1(module, "f", x), out, y;
        output_1(module, f);
        y = placeholder(module, "y");
        out = fxir_graph_output_node(module);
        OK(fxir_node_move_after(module, y, f, E));
        REFUSED(FXIR_LINT, module, fxir_graph_lint_order(module, E));
        CHECK(failed.node == y);
        CHECK(!fxir_graph_is_topologically_sorted(module));
        OK(fxir_node_move_after(module, y, x, E));
        OK(fxir_node_move_after(module, out, f, E));
        call_1(module, "g", y);
        OK(fxir_node_move_before(module, out, fxir_graph_find_node(module, "g"), E));
        REFUSED(FXIR_LINT, module, fxir_graph_lint_order(module, E));
        CHECK(failed.node == out);
        OK(fxir_node_move_after(module, y, fxir_graph_last(module), E));
        if (which) OK(fxir_legalize_graph(module, E));
        else OK(fxir_stable_topological_sort(module, NULL, E));
        CHECK(graph_is(module, "x y f g output"));
        OK(fxir_graph_lint(module, E));
        fxir_module_free(module);
    }
}

/* All nodes of a long cycle, each before the one that uses it; a chain behind it is on none. */
static void cycles(void) {
    enum { LENGTH = 1000 };
    static fxir_node chain[LENGTH + 10], nodes[LENGTH + 10];
    fxir_module *module = new_module();
    fxir_node x = placeholder(module, "x"), inputs[2];
    int which;
    size_t i, k;
    for (i = 0; i < LENGTH + 10; i++) chain[i] = call_1(module, "f", i ? chain[i - 1] : x);
    output_1(module, chain[LENGTH + 9]);
    inputs[0] = x;
    inputs[1] = chain[LENGTH - 1];
    set_inputs(module, chain[0], inputs, 2);
    for (which = 0; which < 2; which++) {
        fxir_error *error = NULL;
        char *before = picture(module);
        fxir_status status =
            which ? fxir_legalize_graph(module, &error) : fxir_stable_topological_sort(module, NULL, &error);
        CHECK(status == FXIR_LINT && strstr(fxir_error_message(error), "a cycle of 1000 nodes"));
        CHECK(fxir_error_nodes(error, nodes, LENGTH + 10) == LENGTH);
        CHECK(nodes[0] == fxir_error_node(error) && nodes[LENGTH] == 0);
        for (i = 0; i < LENGTH; i++) {
            fxir_node used[2] = {0, 0};
            size_t count = fxir_node_input_nodes(module, nodes[(i + 1) % LENGTH], used, 2);
            for (k = 0; k < count && used[k] != nodes[i]; k++) {}
            CHECK(k < count); /* the one behind it uses it */
        }
        fxir_error_free(error);
        check_unchanged(module, before, "a sort of a cycle", __FILE__, __LINE__);
    }
    /* A node that uses itself. */
    inputs[0] = chain[0];
    set_inputs(module, chain[0], inputs, 1);
    REFUSED(FXIR_LINT, module, fxir_legalize_graph(module, E));
    CHECK(failed.node == chain[0]);
    REFUSED(FXIR_LINT, module, fxir_stable_topological_sort(module, NULL, E));
    CHECK(failed.node == chain[0]);
    fxir_module_free(module);
}

/* Of an error about one node or none. */
static void other_errors(void) {
    fxir_module *module = new_module();
    fxir_node x = placeholder(module, "x"), nodes[2] = {0, 0};
    fxir_error *error = NULL;
    output_1(module, x);
    CHECK(fxir_graph_erase_node(module, x, &error) == FXIR_IN_USE);
    CHECK(fxir_error_nodes(error, nodes, 2) == 1 && nodes[0] == x && nodes[1] == 0);
    fxir_error_free(error);
    CHECK(fxir_module_delete_member(module, "none", &error) == FXIR_NOT_FOUND);
    CHECK(fxir_error_nodes(error, nodes, 2) == 0);
    fxir_error_free(error);
    CHECK(fxir_graph_is_topologically_sorted(NULL) == 0);
    fxir_module_free(module);
}

/* Very many nodes in reverse. */
static void a_large_graph(void) {
    enum { COUNT = 300000 };
    fxir_module *module = new_module();
    fxir_node x = placeholder(module, "x"), node = x;
    size_t i, late = 0;
    for (i = 0; i < COUNT; i++) node = call_1(module, "f", node);
    output_1(module, node);
    /* Each to the front, from the first on: all in reverse. */
    for (i = 0, node = fxir_graph_next(module, x); i < COUNT; i++) {
        fxir_node next = fxir_graph_next(module, node);
        OK(fxir_node_move_before(module, node, fxir_graph_first(module), E));
        node = next;
    }
    OK(fxir_stable_topological_sort(module, &late, E));
    CHECK(late == COUNT - 1 && fxir_graph_is_topologically_sorted(module));
    fxir_module_free(module);
}

int main(void) {
    the_two_sorts();
    placeholders_and_the_output();
    cycles();
    other_errors();
    a_large_graph();
    return check_result();
}
