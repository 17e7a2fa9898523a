/* The reference workload of benches/peers, through the C ABI.
 *
 * usage: fxir_bench N
 *
 * N blocks of mul, add and relu, a residual every fourth block: 3 N + 3 nodes. Each relu(add(a, b))
 * becomes hardswish(sub(a, b)); then every third node of the body is moved to the front, and legalize
 * puts them back. Prints one line of JSON: the seconds that each step took, the best of `repetitions`
 * runs, each of which starts from nothing. */
#include "bench.h"

static fxir_module *build(size_t blocks) {
    fxir_module *net = new_module();
    fxir_node x = placeholder(net, "x"), w = placeholder(net, "w"), skip = x;
    for (size_t i = 0; i < blocks; i++) {
        const int residual = i % 4 == 3;
        fxir_node y = call(net, "torch.mul", x, w);
        fxir_node z = call(net, "torch.add", y, residual ? skip : w);
        x = call(net, "torch.relu", z, 0);
        if (residual) skip = x;
    }
    returns(net, x);
    return net;
}

/* forward(a, b): return outer(inner(a, b)) */
static fxir_module *nested(const char *outer, const char *inner) {
    fxir_module *net = new_module();
    fxir_node a = placeholder(net, "a"), b = placeholder(net, "b");
    returns(net, call(net, outer, call(net, inner, a, b), 0));
    return net;
}

enum { BUILD, REPLACE_PATTERN, LEGALIZE, LINT, PRINT, STEPS };
static const char *const NAMES[STEPS] = {"build", "replace_pattern", "legalize", "lint", "print"};

typedef struct outcome {
    size_t matches, nodes;
} outcome;

static outcome run(size_t blocks, double best[STEPS]) {
    fxir_module *pattern = nested("torch.relu", "torch.add");
    fxir_module *replacement = nested("torch.nn.functional.hardswish", "torch.sub");
    fxir_matches *matches;
    fxir_buffer *table;
    double marks[STEPS][2];

    marks[BUILD][0] = now();
    fxir_module *net = build(blocks);
    marks[BUILD][1] = now();

    marks[REPLACE_PATTERN][0] = now();
    ok(fxir_replace_pattern(net, pattern, replacement, NULL, &matches, &error));
    marks[REPLACE_PATTERN][1] = now();

    shuffle(net, 2);
    if (blocks > 1 && fxir_graph_lint(net, NULL) != FXIR_LINT) {
        fprintf(stderr, "fxir_bench: the shuffle broke no order\n");
        exit(1);
    }
    marks[LEGALIZE][0] = now();
    ok(fxir_legalize_graph(net, &error));
    marks[LEGALIZE][1] = now();

    marks[LINT][0] = now();
    ok(fxir_graph_lint(net, &error));
    marks[LINT][1] = now();

    marks[PRINT][0] = now();
    ok(fxir_graph_print_tabular(net, &table, &error));
    marks[PRINT][1] = now();

    const outcome found = {fxir_matches_count(matches), fxir_graph_node_count(net)};
    for (int step = 0; step < STEPS; step++) {
        const double took = marks[step][1] - marks[step][0];
        if (took < best[step]) best[step] = took;
    }
    fxir_buffer_free(table);
    fxir_matches_free(matches);
    fxir_module_free(net);
    fxir_module_free(replacement);
    fxir_module_free(pattern);
    return found;
}

int main(int argc, char **argv) {
    const size_t blocks = argc == 2 ? whole_number(argv[1], 5000000) : 0;
    if (blocks == 0) {
        fprintf(stderr, "usage: %s N      (1 to 5,000,000)\n", argv[0]);
        return 2;
    }
    /* From 4,000 on once, as the peers do it: a second run would find its memory warm, and how much of
     * it depends on the size. */
    const size_t repetitions = blocks < 4000 ? 20 : 1;

    double best[STEPS] = {1e9, 1e9, 1e9, 1e9, 1e9};
    outcome found = {0, 0};
    for (size_t i = 0; i < repetitions; i++) found = run(blocks, best);
    if (found.matches != blocks || found.nodes != 3 * blocks + 3) {
        fprintf(stderr, "fxir_bench: %zu matches and %zu nodes are wrong\n", found.matches, found.nodes);
        return 1;
    }

    printf("{");
    for (int step = 0; step < STEPS; step++) printf("\"%s\": %.9f, ", NAMES[step], best[step]);
    printf("\"matches\": %zu, \"nodes\": %zu, \"repetitions\": %zu}\n", found.matches, found.nodes, repetitions);
    return 0;
}
