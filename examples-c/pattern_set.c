/* Many rules at once: a set of algebraic rules is applied in one walk over the graph, again and again
 * until none matches any more. The rules are two lines of text each.
 */
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

/* Each becomes a module; the set keeps copies, so both sides are freed at once. */
static const struct {
    const char *name, *pattern, *replacement;
} RULES[] = {
    {"neg of neg", "def p(x): return torch.neg(torch.neg(x))", "def r(x): return x"},
    {"transpose back", "def p(x, i, j): return x.transpose(i, j).transpose(i, j)", "def r(x, i, j): return x"},
    {"relu of relu", "def p(x): return torch.relu(torch.relu(x))", "def r(x): return torch.relu(x)"},
    {"times one", "def p(x): return x * 1", "def r(x): return x"},
    {"sub of neg", "def p(x, y): return x - torch.neg(y)", "def r(x, y): return x + y"},
};
enum { RULE_COUNT = sizeof RULES / sizeof *RULES };

static fxir_module *read_code(const char *code) {
    fxir_module *module;
    ok(fxir_module_read_code(code, strlen(code), NULL, &module, &error));
    return module;
}

static void add(fxir_pattern_set *set, const char *from, const char *to) {
    fxir_module *pattern = read_code(from), *replacement = read_code(to);
    fxir_rewrite_options options;
    fxir_rewrite_options_init(&options);
    options.replacement = replacement;
    ok(fxir_pattern_set_add(set, pattern, &options, NULL, NULL, NULL, &error));
    fxir_module_free(pattern);
    fxir_module_free(replacement);
}

static const char NET[] =
    "def forward(x, y):\n"
    "    a = torch.neg(torch.neg(torch.neg(torch.neg(x))))\n"
    "    b = torch.relu(torch.relu(a * 1) * 1)\n"
    "    c = b.transpose(0, 1).transpose(0, 1)\n"
    "    d = c - torch.neg(torch.neg(torch.neg(y)))\n"
    "    return torch.relu(d)\n";

static const char SIMPLIFIED[] =
    "def forward(self, x, y):\n"
    "    relu_2 = torch.relu(x);  x = None\n"
    "    add = relu_2 + y;  relu_2 = y = None\n"
    "    relu_1 = torch.relu(add);  add = None\n"
    "    return relu_1\n";

int main(void) {
    fxir_module *net = read_code(NET);
    fxir_pattern_set *set;
    ok(fxir_pattern_set_new(&set, &error));
    for (size_t i = 0; i < RULE_COUNT; i++) add(set, RULES[i].pattern, RULES[i].replacement);
    EXPECT(fxir_pattern_set_count(set) == RULE_COUNT);

    fxir_matches *matches[RULE_COUNT];
    size_t rounds;
    ok(fxir_pattern_set_apply_to_fixpoint(set, net, 100, matches, RULE_COUNT, &rounds, &error));
    printf("settled after %zu rounds:\n", rounds);
    for (size_t i = 0; i < RULE_COUNT; i++) {
        printf("  %-14s %zu\n", RULES[i].name, fxir_matches_count(matches[i]));
        EXPECT(fxir_matches_count(matches[i]) > 0);
        fxir_matches_free(matches[i]);
    }
    ok(fxir_module_lint(net, &error));

    fxir_buffer *code;
    ok(fxir_module_print(net, FXIR_TEXT_CODE, NULL, &code, &error));
    printf("%s\n", fxir_buffer_data(code));
    EXPECT(strstr(fxir_buffer_data(code), SIMPLIFIED) != NULL);
    fxir_buffer_free(code);

    /* Rules that never settle are an error that names one of them, and the net stays as it is. */
    const size_t nodes = fxir_graph_node_count(net);
    add(set, "def p(x, y): return x + y", "def r(x, y): return y + x");
    EXPECT(fxir_pattern_set_apply_to_fixpoint(set, net, 100, NULL, 0, NULL, &error) == FXIR_LIMIT);
    printf("%s\n", fxir_error_message(error));
    fxir_error_free(error);
    EXPECT(fxir_graph_node_count(net) == nodes);
    /* Applied once, the rule is of use. */
    ok(fxir_pattern_set_apply(set, net, NULL, 0, &error));
    EXPECT(fxir_graph_node_count(net) == nodes);

    fxir_pattern_set_free(set);
    fxir_module_free(net);
    printf("OK\n");
    return 0;
}
