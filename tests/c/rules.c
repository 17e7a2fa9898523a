/* Rules: a replacement for each match, functions that tell what new nodes yield, members that clash,
 * what two nodes and two literals are held for, names of a pattern's nodes, and sets of rules. */
#include "check.h"
#include "code.h"

/* mul(x, n) becomes neg(x) for 1, x + x for 2, and is left for others; 13 stops it all, 14 gives what
 * is no module. */
typedef struct doubling {
    fxir_module *module, *neg, *twice;
    fxir_node n;
    int calls;
} doubling;

static int32_t build(void *user_data, const fxir_module *view, const fxir_matches *matches, fxir_module **replacement) {
    doubling *now = user_data;
    const fxir_arg *n = fxir_matches_argument(matches, 0, now->n);
    fxir_module *ours = NULL;
    now->calls++;
    CHECK(*replacement == NULL && fxir_matches_count(matches) == 1);
    CHECK(fxir_graph_node_count(view) > 0 && fxir_graph_node_count(now->module) == 0); /* BUSY but as a view */
    FAILS(FXIR_BUSY, fxir_graph_placeholder(now->module, "more", NULL, E));
    FAILS(FXIR_BUSY, fxir_graph_placeholder((fxir_module *)(uintptr_t)view, "more", NULL, E));
    CHECK(n && n->kind == FXIR_ARG_INT);
    if (n->value.integer == 13) return 99;
    if (n->value.integer == 14) *replacement = (fxir_module *)(uintptr_t)view;
    if (n->value.integer == 1) ours = now->neg;
    if (n->value.integer == 2) ours = now->twice;
    if (ours) OK(fxir_module_retain(ours, replacement, E));
    return 0;
}

static const char MULS[] =
    "def forward(x):\n a = torch.mul(x, 1)\n b = torch.mul(a, 2)\n c = torch.mul(b, 3)\n d = torch.mul(c, 1)\n return d\n";

static void a_replacement_for_each_match(void) {
    fxir_module *module = read_code(MULS), *pattern = read_code("def p(x, n): return torch.mul(x, n)");
    fxir_matches *matches = NULL;
    fxir_rewrite_options options;
    fxir_node nodes[4];
    fxir_arg args[2];
    doubling now = {NULL, NULL, NULL, 0, 0};
    now.module = module;
    now.neg = read_code("def r(x, n): return torch.neg(x)");
    now.twice = read_code("def r(x, n): return torch.add(x, x)");
    now.n = fxir_graph_find_node(pattern, "n");
    fxir_rewrite_options_init(&options);
    REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_replace_pattern_with(module, pattern, &options, NULL, E));
    options.build = build;
    options.build_data = &now;
    OK(fxir_replace_pattern_with(module, pattern, &options, &matches, E));
    CHECK(now.calls == 4 && fxir_matches_count(matches) == 3);
    CHECK(fxir_matches_replacements(matches, 1, nodes, 4) == 1);
    CHECK(!strcmp(fxir_node_target(module, nodes[0]), "torch.add"));
    CHECK(code_is(module, "def forward(self, x):\n neg = torch.neg(x)\n add = torch.add(neg, neg)\n"
                          " c = torch.mul(add, 3)\n neg_1 = torch.neg(c)\n return neg_1\n"));
    fxir_matches_free(matches);
    CHECK(fxir_module_kind(now.neg) == FXIR_MODULE_GRAPH && fxir_module_kind(now.twice) == FXIR_MODULE_GRAPH);

    /* What fails leaves everything. */
    args[0] = fxir_arg_node(fxir_graph_find_node(module, "add"));
    args[1] = fxir_arg_int(13);
    OK(fxir_node_set_args(module, fxir_graph_find_node(module, "c"), args, 2, E));
    REFUSED(FXIR_CALLBACK, module, fxir_replace_pattern_with(module, pattern, &options, NULL, E));
    FAILS(FXIR_CALLBACK, fxir_replace_pattern_with(module, pattern, &options, NULL, E));
    args[1] = fxir_arg_int(14); /* a view, whose callback has returned */
    OK(fxir_node_set_args(module, fxir_graph_find_node(module, "c"), args, 2, E));
    REFUSED(FXIR_INVALID_HANDLE, module, fxir_replace_pattern_with(module, pattern, &options, NULL, E));
    /* Both, bad numbers, a replacement that does not fit. */
    options.replacement = now.neg;
    REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_replace_pattern_with(module, pattern, &options, NULL, E));
    options.build = NULL;
    options.members = 3;
    REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_replace_pattern_with(module, pattern, &options, NULL, E));
    options.members = 0;
    options.reserved = 1;
    REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_replace_pattern_with(module, pattern, &options, NULL, E));
    options.reserved = 0;
    options.meta_function_count = 1;
    REFUSED(FXIR_NULL_ARGUMENT, module, fxir_replace_pattern_with(module, pattern, &options, NULL, E));
    options.meta_function_count = 0;
    fxir_module_free(now.twice);
    options.replacement = now.twice;
    REFUSED(FXIR_INVALID_HANDLE, module, fxir_replace_pattern_with(module, pattern, &options, NULL, E));
    now.twice = read_code("def r(x): return torch.neg(x)");
    options.replacement = now.twice;
    REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_replace_pattern_with(module, pattern, &options, NULL, E));
    fxir_module_free(now.neg);
    fxir_module_free(now.twice);
    fxir_module_free(pattern);
    fxir_module_free(module);
}

/* A node yields what its first input does, of half the length. */
static int32_t halve(void *user_data, fxir_module *replacement, fxir_node node) {
    fxir_node input = 0;
    int64_t shape[1] = {0};
    fxir_tensor_meta meta;
    if (++*(int *)user_data == 3) return 7;
    CHECK(fxir_node_input_nodes(replacement, node, &input, 1) >= 1);
    CHECK(fxir_node_shape(replacement, input, shape, 1) == 1);
    fxir_tensor_meta_init(&meta);
    meta.dtype = FXIR_DTYPE_FLOAT32;
    meta.rank = 1;
    shape[0] /= 2;
    meta.shape = shape;
    OK(fxir_node_set_tensor_meta(replacement, node, &meta, E));
    return 0;
}

static void functions_tell_what_nodes_yield(void) {
    fxir_module *module = read_code("def forward(x: \"f32[16]\"):\n a = f(x)\n return a\n");
    fxir_module *pattern = read_code("def p(x): return f(x)");
    fxir_module *replacement = read_code("def r(x):\n b = half(x)\n c = half(b)\n return last(c)\n");
    fxir_rewrite_options options;
    fxir_meta_function function;
    int64_t shape[1] = {0};
    int calls = 2;
    function.target = "half";
    function.function = halve;
    function.user_data = &calls;
    fxir_rewrite_options_init(&options);
    options.replacement = replacement;
    options.meta_functions = &function;
    options.meta_function_count = 1;
    REFUSED(FXIR_CALLBACK, module, fxir_replace_pattern_with(module, pattern, &options, NULL, E));
    calls = 10;
    OK(fxir_replace_pattern_with(module, pattern, &options, NULL, E));
    CHECK(calls == 12);
    CHECK(fxir_node_shape(module, fxir_graph_find_node(module, "b"), shape, 1) == 1 && shape[0] == 8);
    CHECK(fxir_node_shape(module, fxir_graph_find_node(module, "c"), shape, 1) == 1 && shape[0] == 4);
    CHECK(fxir_node_shape(replacement, fxir_graph_find_node(replacement, "b"), shape, 1) == 0); /* a copy knew */
    function.function = NULL;
    REFUSED(FXIR_NULL_ARGUMENT, module, fxir_replace_pattern_with(module, pattern, &options, NULL, E));
    function.function = halve;
    function.target = "\xff";
    REFUSED(FXIR_INVALID_UTF8, module, fxir_replace_pattern_with(module, pattern, &options, NULL, E));
    fxir_module_free(module);
    fxir_module_free(pattern);
    fxir_module_free(replacement);
}

static fxir_module *calls_act(const char *type, const char *function) {
    fxir_module *module = new_module();
    fxir_node x = placeholder(module, "x");
    OK(fxir_module_add_submodule(module, "act", FXIR_MODULE_LEAF, type, NULL, E));
    x = call_1(module, function, x);
    output_1(module, call_module_1(module, "act", x));
    return module;
}

static void members_that_clash(void) {
    fxir_module *module = calls_act("ReLU", "f"), *pattern = read_code("def p(x): return f(x)");
    fxir_module *replacement = calls_act("Tanh", "g");
    fxir_rewrite_options options;
    fxir_module *member = NULL;
    fxir_rewrite_options_init(&options);
    options.replacement = replacement;
    options.members = FXIR_MEMBERS_REFUSE;
    REFUSED(FXIR_ALREADY_EXISTS, module, fxir_replace_pattern_with(module, pattern, &options, NULL, E));
    options.members = FXIR_MEMBERS_RENAME;
    OK(fxir_replace_pattern_with(module, pattern, &options, NULL, E));
    OK(fxir_module_get_submodule(module, "act_1", &member, E));
    CHECK(!strcmp(fxir_module_type_name(member), "Tanh"));
    fxir_module_free(member);
    OK(fxir_module_get_submodule(module, "act", &member, E));
    CHECK(!strcmp(fxir_module_type_name(member), "ReLU"));
    fxir_module_free(member);
    fxir_module_free(module);
    module = calls_act("ReLU", "f");
    options.members = FXIR_MEMBERS_KEEP;
    OK(fxir_replace_pattern_with(module, pattern, &options, NULL, E));
    CHECK(fxir_module_member_kind(module, "act_1") == 0 && fxir_module_submodule_count(module) == 1);
    fxir_module_free(module);
    fxir_module_free(pattern);
    fxir_module_free(replacement);
}

/* Any function of the name's first letter is as good as another. */
static int32_t by_letter(void *user_data, const fxir_module *view, fxir_node node, fxir_node pattern_node, int32_t *verdict) {
    const fxir_module *pattern = user_data;
    CHECK(*verdict == !strcmp(fxir_node_target(view, node), fxir_node_target(pattern, pattern_node)));
    *verdict = *fxir_node_target(view, node) == *fxir_node_target(pattern, pattern_node);
    return 0;
}

/* Numbers are equal that differ by less than two; strings stop the search. */
static int32_t nearly(void *user_data, const fxir_arg *literal, const fxir_arg *pattern_literal, int32_t *verdict) {
    ++*(int *)user_data;
    if (literal->kind == FXIR_ARG_STR) return 5;
    CHECK(literal->kind == FXIR_ARG_INT && pattern_literal->kind == FXIR_ARG_INT);
    CHECK(*verdict == (literal->value.integer == pattern_literal->value.integer));
    *verdict = llabs((long long)(literal->value.integer - pattern_literal->value.integer)) < 2;
    return 0;
}

static int32_t undecided(void *user_data, const fxir_arg *literal, const fxir_arg *pattern_literal, int32_t *verdict) {
    (void)user_data, (void)literal, (void)pattern_literal;
    *verdict = 2;
    return 0;
}

static size_t count(const fxir_module *module, const fxir_module *pattern, const fxir_match_options *options) {
    fxir_matches *matches = NULL;
    size_t found;
    OK(fxir_match_pattern(module, pattern, options, &matches, E));
    found = fxir_matches_count(matches);
    fxir_matches_free(matches);
    return found;
}

static void the_callers_word_on_nodes_and_literals(void) {
    fxir_module *module = read_code("def forward(x):\n a = fast(x, 4)\n b = free(a, 5)\n c = fast(b, 6)\n d = g(c, 5)\n return d\n");
    fxir_module *pattern = read_code("def p(x): return fast(x, 5)");
    fxir_match_options options;
    int calls = 0;
    fxir_match_options_init(&options);
    CHECK(count(module, pattern, &options) == 0);
    options.nodes_are_equal = by_letter;
    options.nodes_data = pattern;
    CHECK(count(module, pattern, &options) == 1); /* b */
    options.literals_are_equal = nearly;
    options.literals_data = &calls;
    CHECK(count(module, pattern, &options) == 3);
    CHECK(calls == 3);
    options.nodes_are_equal = NULL;
    CHECK(count(module, pattern, &options) == 2); /* a, c */
    options.literals_are_equal = undecided;
    FAILS(FXIR_INVALID_ARGUMENT, fxir_match_pattern(module, pattern, &options, &(fxir_matches *){NULL}, E));
    options.literals_are_equal = nearly;
    fxir_module_free(module);
    module = read_code("def forward(x): return fast(x, 'five')");
    FAILS(FXIR_CALLBACK, fxir_match_pattern(module, pattern, &options, &(fxir_matches *){NULL}, E));
    CHECK(fxir_error_callback_code(check_error) == 0); /* freed by FAILS */
    fxir_module_free(module);
    fxir_module_free(pattern);
}

static void forms_and_names(void) {
    fxir_module *module = read_code("def forward(x):\n a = torch.sum(x, dim = 1)\n b = torch.relu(a)\n return b\n");
    fxir_module *pattern = read_code("def p(x): return torch.sum(x, 1)"), *named;
    fxir_match_options options;
    fxir_matches *matches = NULL;
    fxir_match_options_init(&options);
    CHECK(count(module, pattern, &options) == 0);
    options.normalize_args = 1;
    CHECK(count(module, pattern, &options) == 1);
    options.normalize_args = 2;
    FAILS(FXIR_INVALID_ARGUMENT, fxir_match_pattern(module, pattern, &options, &matches, E));
    options.normalize_args = 0;
    options.attributes = 2;
    FAILS(FXIR_INVALID_ARGUMENT, fxir_match_pattern(module, pattern, &options, &matches, E));
    options.attributes = FXIR_MATCH_ATTRIBUTES_BY_VALUE;
    options.name_node_map = 1;
    FAILS(FXIR_INVALID_ARGUMENT, fxir_match_pattern(module, pattern, &options, &matches, E));
    named = read_code("def p(x):\n s = torch.sum(x, dim = 1)\n r = torch.relu(s)\n return r, {'total': s, 'r': r, 'in': x}\n");
    OK(fxir_match_pattern(module, named, &options, &matches, E));
    CHECK(fxir_matches_count(matches) == 1);
    CHECK(fxir_matches_node(matches, 0, fxir_matches_pattern_node(matches, "total")) == fxir_graph_find_node(module, "a"));
    CHECK(fxir_matches_node(matches, 0, fxir_matches_pattern_node(matches, "s")) == fxir_graph_find_node(module, "a"));
    CHECK(fxir_matches_node(matches, 0, fxir_matches_pattern_node(matches, "in")) == fxir_graph_find_node(module, "x"));
    CHECK(fxir_matches_pattern_node(matches, "none") == 0);
    fxir_matches_free(matches);
    fxir_module_free(module);
    fxir_module_free(pattern);
    fxir_module_free(named);
}

static void attributes_by_value(void) {
    fxir_module *module = new_module(), *pattern = new_module();
    const float one[1] = {1}, two[1] = {2};
    const int64_t shape[1] = {1};
    fxir_match_options options;
    fxir_module *of[2];
    int at;
    of[0] = module, of[1] = pattern;
    fxir_match_options_init(&options);
    for (at = 0; at < 2; at++) {
        fxir_tensor *tensor = NULL;
        fxir_node x = placeholder(of[at], "x"), w = 0;
        OK(fxir_tensor_copy(FXIR_DTYPE_FLOAT32, shape, 1, at ? one : two, sizeof one, &tensor, E));
        OK(fxir_module_set_tensor(of[at], "w", FXIR_MEMBER_BUFFER, tensor, E));
        OK(fxir_graph_get_attr(of[at], "w", &w, E));
        output_1(of[at], call_2(of[at], "torch.mul", x, w));
        fxir_tensor_free(tensor);
    }
    CHECK(count(module, pattern, &options) == 1);
    options.attributes = FXIR_MATCH_ATTRIBUTES_BY_VALUE;
    CHECK(count(module, pattern, &options) == 0);
    CHECK(count(pattern, pattern, &options) == 1);
    fxir_module_free(module);
    fxir_module_free(pattern);
}

static void count_up(void *user_data) { ++*(int *)user_data; }

static size_t add_rule(fxir_pattern_set *set, const char *pattern, const char *replacement, int *destroyed) {
    fxir_module *from = read_code(pattern), *to = read_code(replacement);
    fxir_rewrite_options options;
    size_t rule = 77;
    fxir_rewrite_options_init(&options);
    options.replacement = to;
    OK(fxir_pattern_set_add(set, from, &options, count_up, destroyed, &rule, E));
    fxir_module_free(from);
    fxir_module_free(to);
    return rule;
}

/* Looks from inside at the round's module, and at the module itself, which is closed. */
static int32_t look(void *user_data, const fxir_module *view, const fxir_matches *matches, int32_t *verdict) {
    CHECK(fxir_graph_lint((fxir_module *)(uintptr_t)view, E) == FXIR_OK);
    CHECK(fxir_node_name(view, fxir_matches_node(matches, 0, fxir_matches_pattern_node(matches, "a"))) != NULL);
    FAILS(FXIR_BUSY, fxir_graph_placeholder(user_data, "more", NULL, E));
    CHECK(fxir_graph_node_count(user_data) == 0);
    *verdict = 1;
    return 0;
}

static void sets_of_rules(void) {
    fxir_pattern_set *set = NULL, *endless = NULL;
    fxir_module *module = read_code("def forward(x):\n a = f(x)\n b = g(a)\n c = f(b)\n return c\n"), *pattern;
    fxir_matches *matches[3] = {NULL, NULL, NULL};
    fxir_rewrite_options options;
    fxir_match_options match_options;
    fxir_node node;
    size_t rounds = 0;
    int destroyed = 0;
    OK(fxir_pattern_set_new(&set, E));
    CHECK(fxir_pattern_set_count(set) == 0);
    OK(fxir_pattern_set_apply(set, module, NULL, 0, E)); /* nothing to do */
    CHECK(add_rule(set, "def p(x): return f(x)", "def r(x): return h(x)", &destroyed) == 0);
    CHECK(add_rule(set, "def p(x): return g(x)", "def r(x): return f(x)", &destroyed) == 1);
    CHECK(fxir_pattern_set_count(set) == 2 && destroyed == 0);
    /* Once: what the second rule puts in, the first one does not see. */
    FAILS(FXIR_NULL_ARGUMENT, fxir_pattern_set_apply(set, module, NULL, 1, E));
    matches[2] = (fxir_matches *)(uintptr_t)set;
    OK(fxir_pattern_set_apply(set, module, matches, 3, E));
    CHECK(matches[2] == NULL);
    CHECK(fxir_matches_count(matches[0]) == 2 && fxir_matches_count(matches[1]) == 1);
    CHECK(graph_is(module, "x h f h_1 output"));
    fxir_matches_free(matches[0]);
    fxir_matches_free(matches[1]);

    /* To a fixpoint: f becomes h; with a third rule, two h become one, again and again. */
    fxir_rewrite_options_init(&options);
    fxir_match_options_init(&match_options);
    pattern = read_code("def p(x):\n a = h(x)\n b = h(a)\n return b\n");
    options.match_options = &match_options;
    options.replacement = read_code("def r(x): return h(x)");
    match_options.filter = look;
    match_options.filter_data = module;
    OK(fxir_pattern_set_add(set, pattern, &options, NULL, NULL, NULL, E));
    fxir_module_free((fxir_module *)(uintptr_t)options.replacement);
    fxir_module_free(pattern);
    REFUSED(FXIR_LIMIT, module, fxir_pattern_set_apply_to_fixpoint(set, module, 1, matches, 3, &rounds, E));
    CHECK(rounds == 0);
    OK(fxir_pattern_set_apply_to_fixpoint(set, module, 10, matches, 3, &rounds, E));
    CHECK(rounds == 3 && graph_is(module, "x h_4 output"));
    CHECK(fxir_matches_count(matches[0]) == 1 && fxir_matches_count(matches[1]) == 0 && fxir_matches_count(matches[2]) == 2);
    CHECK(fxir_matches_replacements(matches[2], 0, &node, 1) == 0); /* was replaced in turn */
    CHECK(fxir_matches_replacements(matches[2], 1, &node, 1) == 1 && !strcmp(fxir_node_name(module, node), "h_4"));
    CHECK(fxir_matches_node(matches[2], 1, fxir_matches_pattern_node(matches[2], "x")) == fxir_graph_first(module));
    fxir_matches_free(matches[0]);
    fxir_matches_free(matches[1]);
    fxir_matches_free(matches[2]);
    OK(fxir_pattern_set_apply_to_fixpoint(set, module, 0, NULL, 0, &rounds, E)); /* is settled */
    CHECK(rounds == 0);

    OK(fxir_pattern_set_new(&endless, E));
    CHECK(add_rule(endless, "def p(x): return h(x)", "def r(x): return h(h(x))", &destroyed) == 0);
    REFUSED(FXIR_LIMIT, module, fxir_pattern_set_apply_to_fixpoint(endless, module, 3, NULL, 0, NULL, E));
    /* What is refused takes nothing over. */
    pattern = read_code("def p(x): return x");
    options.replacement = module;
    FAILS(FXIR_INVALID_ARGUMENT, fxir_pattern_set_add(endless, pattern, &options, count_up, &destroyed, NULL, E));
    FAILS(FXIR_NULL_ARGUMENT, fxir_pattern_set_add(endless, pattern, NULL, count_up, &destroyed, NULL, E));
    fxir_module_free(pattern);
    CHECK(destroyed == 0);
    fxir_pattern_set_free(endless);
    CHECK(destroyed == 1);
    fxir_pattern_set_free(set);
    CHECK(destroyed == 3);
    fxir_pattern_set_free(set);
    CHECK(destroyed == 3 && fxir_pattern_set_count(set) == 0);
    fxir_module_free(module);
}

int main(void) {
    a_replacement_for_each_match();
    functions_tell_what_nodes_yield();
    members_that_clash();
    the_callers_word_on_nodes_and_literals();
    forms_and_names();
    attributes_by_value();
    sets_of_rules();
    return check_result();
}
