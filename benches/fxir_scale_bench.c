/* Large graphs, patterns and rule sets, through the C ABI.
 *
 * usage: fxir_scale_bench graph N     N blocks of ten nodes: build, match, rewrite, legalize, clean
 *        fxir_scale_bench chain N     N nodes, each the input of the next: the same
 *        fxir_scale_bench pattern N   a pattern of N nodes, matched and replaced ten times
 *        fxir_scale_bench filter N    N matches, with a filter that keeps them all and without
 *        fxir_scale_bench rules N     N matches, by one rule and in sets of 200 of which one can match
 *
 * Prints one line of JSON: the seconds that each step took. What each step found is checked. */
#include "bench.h"

#include <string.h>

static double best_of(double before, double start) {
    const double took = now() - start;
    return took < before ? took : before;
}

static void check(size_t found, size_t expected, const char *what) {
    if (found == expected) return;
    fprintf(stderr, "fxir_scale_bench: %zu %s instead of %zu\n", found, what, expected);
    exit(1);
}

static size_t match_count(const fxir_module *net, const fxir_module *pattern, const fxir_match_options *options) {
    fxir_matches *matches;
    ok(fxir_match_pattern(net, pattern, options, &matches, &error));
    const size_t count = fxir_matches_count(matches);
    fxir_matches_free(matches);
    return count;
}

static size_t replace(fxir_module *net, const fxir_module *pattern, const fxir_module *replacement) {
    fxir_matches *matches;
    ok(fxir_replace_pattern(net, pattern, replacement, NULL, &matches, &error));
    const size_t count = fxir_matches_count(matches);
    fxir_matches_free(matches);
    return count;
}

static void returns_two(fxir_module *net, fxir_node first, fxir_node second) {
    const fxir_arg items[] = {fxir_arg_node(first), fxir_arg_node(second)};
    const fxir_arg result = fxir_arg_tuple(items, 2);
    ok(fxir_graph_output(net, &result, NULL, &error));
}

/* Five nodes with two outputs: relu(add(mul(x, w), w)) and neg(sigmoid(mul(x, w))). */
static void five_nodes(fxir_module *net, fxir_node x, fxir_node w, fxir_node *relu, fxir_node *neg) {
    const fxir_node mul = call(net, "torch.mul", x, w);
    *relu = call(net, "torch.relu", call(net, "torch.add", mul, w), 0);
    *neg = call(net, "torch.neg", call(net, "torch.sigmoid", mul, 0), 0);
}

/* A block is those five, a difference, a tanh of it twice, their product, and a node that nobody uses. */
static fxir_module *blocks_of_ten(size_t blocks) {
    fxir_module *net = new_module();
    fxir_node x = placeholder(net, "x"), w = placeholder(net, "w");
    for (size_t i = 0; i < blocks; i++) {
        fxir_node relu, neg;
        five_nodes(net, x, w, &relu, &neg);
        const fxir_node sub = call(net, "torch.sub", relu, neg);
        const fxir_node once = call(net, "torch.tanh", sub, 0), again = call(net, "torch.tanh", sub, 0);
        call(net, "torch.abs", once, 0);
        x = call(net, "torch.mul", once, again);
    }
    returns(net, x);
    return net;
}

static void graph(size_t blocks) {
    fxir_module *pattern = new_module(), *replacement = new_module();
    fxir_node x = placeholder(pattern, "x"), w = placeholder(pattern, "w"), first, second;
    five_nodes(pattern, x, w, &first, &second);
    returns_two(pattern, first, second);
    x = placeholder(replacement, "x"), w = placeholder(replacement, "w");
    const fxir_node div = call(replacement, "torch.div", x, w);
    first = call(replacement, "torch.exp", div, 0), second = call(replacement, "torch.erf", div, 0);
    returns_two(replacement, first, second);

    size_t erased;
    double start = now();
    fxir_module *net = blocks_of_ten(blocks);
    const double build = now() - start;
    check(fxir_graph_node_count(net), 10 * blocks + 3, "nodes built");

    start = now();
    check(match_count(net, pattern, NULL), blocks, "matches");
    const double match = now() - start;

    start = now();
    check(replace(net, pattern, replacement), blocks, "replaced");
    const double rewrite = now() - start;
    check(fxir_graph_node_count(net), 8 * blocks + 3, "nodes after the rewrite");

    shuffle(net, 2);
    start = now();
    ok(fxir_legalize_graph(net, &error));
    const double legalize = now() - start;

    start = now();
    ok(fxir_eliminate_common_subexpressions(net, NULL, &erased, NULL, &error));
    const double common = now() - start;
    check(erased, blocks, "common subexpressions");

    start = now();
    ok(fxir_eliminate_dead_code(net, NULL, &erased, &error));
    const double dead = now() - start;
    check(erased, blocks, "dead nodes");

    start = now();
    ok(fxir_graph_lint(net, &error));
    const double lint = now() - start;

    start = now();
    fxir_module_free(net);
    const double release = now() - start;
    fxir_module_free(pattern);
    fxir_module_free(replacement);
    printf("{\"build\": %.9f, \"match\": %.9f, \"replace_pattern\": %.9f, \"legalize\": %.9f, "
           "\"eliminate_common_subexpressions\": %.9f, \"eliminate_dead_code\": %.9f, \"lint\": %.9f, \"free\": %.9f}\n",
           build, match, rewrite, legalize, common, dead, lint, release);
}

/* x goes through this many nodes, neg and tanh by turns; what comes out is the result. */
static fxir_node chain_of(fxir_module *net, fxir_node x, size_t nodes) {
    for (size_t i = 0; i < nodes; i++) x = call(net, i % 2 ? "torch.tanh" : "torch.neg", x, 0);
    return x;
}

static fxir_module *one_chain(size_t nodes) {
    fxir_module *net = new_module();
    returns(net, chain_of(net, placeholder(net, "x"), nodes));
    return net;
}

static fxir_module *one_call(const char *target) {
    fxir_module *net = new_module();
    returns(net, call(net, target, placeholder(net, "x"), 0));
    return net;
}

static void chain(size_t nodes) {
    fxir_module *pattern = one_call("torch.neg"), *replacement = one_call("torch.exp");
    size_t erased;
    double start = now();
    fxir_module *net = new_module();
    const fxir_node x = placeholder(net, "x");
    /* A second chain that nothing uses, for the dead code. */
    chain_of(net, x, nodes);
    returns(net, chain_of(net, x, nodes));
    const double build = now() - start;

    start = now();
    ok(fxir_eliminate_common_subexpressions(net, NULL, &erased, NULL, &error));
    check(erased, nodes, "common subexpressions");
    const double common = now() - start;

    start = now();
    check(replace(net, pattern, replacement), (nodes + 1) / 2, "replaced");
    const double rewrite = now() - start;

    shuffle(net, 1);
    start = now();
    ok(fxir_legalize_graph(net, &error));
    ok(fxir_graph_lint(net, &error));
    const double legalize = now() - start;

    /* The output lets go of the chain, which is dead then. */
    fxir_node *all = malloc((nodes + 2) * sizeof *all);
    if (!all) abort();
    check(fxir_graph_nodes(net, all, nodes + 2), nodes + 2, "nodes");
    const fxir_arg nothing = fxir_arg_node(all[0]);
    ok(fxir_node_set_args(net, all[nodes + 1], &nothing, 1, &error));
    free(all);
    start = now();
    ok(fxir_eliminate_dead_code(net, NULL, &erased, &error));
    const double dead = now() - start;
    check(erased, nodes, "dead nodes");

    fxir_module_free(net);
    fxir_module_free(pattern);
    fxir_module_free(replacement);
    printf("{\"build\": %.9f, \"eliminate_common_subexpressions\": %.9f, \"replace_pattern\": %.9f, "
           "\"legalize\": %.9f, \"eliminate_dead_code\": %.9f}\n", build, common, rewrite, legalize, dead);
}

static void pattern(size_t nodes) {
    fxir_module *large = one_chain(nodes), *replacement = one_call("torch.exp"), *net = new_module();
    fxir_node x = placeholder(net, "x");
    /* An abs after each, so that no match lies across two. */
    for (int i = 0; i < 10; i++) x = call(net, "torch.abs", chain_of(net, x, nodes), 0);
    returns(net, x);

    double start = now();
    check(match_count(net, large, NULL), 10, "matches");
    const double match = now() - start;
    start = now();
    check(replace(net, large, replacement), 10, "replaced");
    const double rewrite = now() - start;
    check(fxir_graph_node_count(net), 22, "nodes after the rewrite");

    fxir_module_free(net);
    fxir_module_free(replacement);
    fxir_module_free(large);
    printf("{\"match\": %.9f, \"replace_pattern\": %.9f}\n", match, rewrite);
}

static int32_t keep_all(void *user_data, const fxir_module *module, const fxir_matches *matches, int32_t *verdict) {
    (void)module, (void)matches, (void)verdict;
    ++*(size_t *)user_data;
    return 0;
}

/* `blocks` times relu(add(x, w)). */
static fxir_module *sums(size_t blocks) {
    fxir_module *net = new_module();
    fxir_node x = placeholder(net, "x"), w = placeholder(net, "w");
    for (size_t i = 0; i < blocks; i++) x = call(net, "torch.relu", call(net, "torch.add", x, w), 0);
    returns(net, x);
    return net;
}

/* outer(inner(x, w)) */
static fxir_module *two_calls(const char *outer, const char *inner) {
    fxir_module *net = new_module();
    const fxir_node x = placeholder(net, "x"), w = placeholder(net, "w");
    returns(net, call(net, outer, call(net, inner, x, w), 0));
    return net;
}

static void filter(size_t blocks) {
    fxir_module *net = sums(blocks), *wanted = two_calls("torch.relu", "torch.add");
    fxir_match_options options;
    size_t calls = 0;
    double without = 1e9, with = 1e9;
    fxir_match_options_init(&options);
    options.filter_data = &calls;
    for (int i = 0; i < 5; i++) {
        options.filter = NULL;
        double start = now();
        check(match_count(net, wanted, &options), blocks, "matches");
        without = best_of(without, start);
        options.filter = keep_all;
        calls = 0;
        start = now();
        check(match_count(net, wanted, &options), blocks, "matches that the filter kept");
        with = best_of(with, start);
        check(calls, blocks, "calls of the filter");
    }
    fxir_module_free(wanted);
    fxir_module_free(net);
    printf("{\"without\": %.9f, \"with\": %.9f, \"each\": %.12f}\n", without, with, (with - without) / (double)blocks);
}

enum { RULES = 200 };

/* A set of `count` rules of which the last can match. The others look for calls that no net has: below
 * the relu that all look for, or in the relu's place. */
static fxir_pattern_set *rule_set(int count, int same_anchor) {
    fxir_pattern_set *set;
    fxir_module *replacement = two_calls("torch.nn.functional.hardswish", "torch.sub");
    fxir_rewrite_options options;
    fxir_rewrite_options_init(&options);
    options.replacement = replacement;
    ok(fxir_pattern_set_new(&set, &error));
    for (int i = 1; i <= count; i++) {
        char other[32];
        snprintf(other, sizeof other, "torch.other_%d", i);
        fxir_module *wanted = i == count    ? two_calls("torch.relu", "torch.add")
                              : same_anchor ? two_calls("torch.relu", other)
                                            : two_calls(other, "torch.add");
        ok(fxir_pattern_set_add(set, wanted, &options, NULL, NULL, NULL, &error));
        fxir_module_free(wanted);
    }
    fxir_module_free(replacement);
    return set;
}

/* The best of five, each on a net of its own. */
static double apply(const fxir_pattern_set *set, size_t blocks) {
    const size_t rules = fxir_pattern_set_count(set);
    double best = 1e9;
    for (int i = 0; i < 5; i++) {
        fxir_module *net = sums(blocks);
        fxir_matches *matches[RULES];
        const double start = now();
        ok(fxir_pattern_set_apply(set, net, matches, rules, &error));
        best = best_of(best, start);
        for (size_t rule = 0; rule < rules; rule++) {
            check(fxir_matches_count(matches[rule]), rule + 1 == rules ? blocks : 0, "replaced by a rule");
            fxir_matches_free(matches[rule]);
        }
        fxir_module_free(net);
    }
    return best;
}

static void rules(size_t blocks) {
    fxir_pattern_set *one = rule_set(1, 0), *other_anchors = rule_set(RULES, 0), *same_anchor = rule_set(RULES, 1);
    const double alone = apply(one, blocks), others = apply(other_anchors, blocks), same = apply(same_anchor, blocks);
    fxir_pattern_set_free(one);
    fxir_pattern_set_free(other_anchors);
    fxir_pattern_set_free(same_anchor);
    printf("{\"one\": %.9f, \"other anchors\": %.9f, \"same anchor\": %.9f}\n", alone, others, same);
}

static const struct {
    const char *name;
    void (*run)(size_t size);
} SUBJECTS[] = {{"graph", graph}, {"chain", chain}, {"pattern", pattern}, {"filter", filter}, {"rules", rules}};

int main(int argc, char **argv) {
    const size_t size = argc == 3 ? whole_number(argv[2], 5000000) : 0;
    for (size_t i = 0; size && i < sizeof SUBJECTS / sizeof *SUBJECTS; i++) {
        if (strcmp(argv[1], SUBJECTS[i].name)) continue;
        SUBJECTS[i].run(size);
        return 0;
    }
    fprintf(stderr, "usage: %s graph|chain|pattern|filter|rules N      (1 to 5,000,000)\n", argv[0]);
    return 2;
}
