/* Matches: nodes of a pattern by name, what a filter leaves to others, where a replacement stands, and
 * what is refused because of members. */
#include "check.h"

/* x -> target(x) -> output */
static fxir_module *unary(const char *target) {
    fxir_module *module = new_module();
    output_1(module, call_1(module, target, placeholder(module, "x")));
    return module;
}

/* inner(outer(x)), as `outer` is called first. */
static fxir_module *twice(const char *inner, const char *outer) {
    fxir_module *module = new_module();
    output_1(module, call_1(module, outer, call_1(module, inner, placeholder(module, "x"))));
    return module;
}

static void by_name(void) {
    fxir_module *module = twice("f", "g"), *pattern = twice("f", "g"), *replacement = unary("h");
    fxir_node x = fxir_graph_first(module), f = fxir_graph_next(module, x), g = fxir_graph_next(module, f);
    fxir_matches *matches = NULL;
    fxir_node inner;
    OK(fxir_node_set_name(pattern, fxir_graph_find_node(pattern, "f"), "inner_12", E));
    inner = fxir_graph_find_node(pattern, "inner_12");
    OK(fxir_match_pattern(module, pattern, NULL, &matches, E));
    CHECK(fxir_matches_pattern_node(matches, "inner_12") == inner);
    CHECK(fxir_matches_node(matches, 0, fxir_matches_pattern_node(matches, "inner_12")) == f);
    CHECK(fxir_matches_node(matches, 0, fxir_matches_pattern_node(matches, "g")) == g);
    CHECK(fxir_matches_node(matches, 0, fxir_matches_pattern_node(matches, "x")) == x);
    CHECK(fxir_matches_pattern_node(matches, "output") == fxir_graph_last(pattern));
    CHECK(fxir_matches_pattern_node(matches, "f") == 0); /* what it was called before, and in the graph */
    CHECK(fxir_matches_pattern_node(matches, "inner") == 0 && fxir_matches_pattern_node(matches, "inner_1") == 0);
    CHECK(fxir_matches_pattern_node(matches, "") == 0 && fxir_matches_pattern_node(matches, "\xff") == 0);
    CHECK(fxir_matches_node(matches, 0, 0) == 0);
    fxir_matches_free(matches);
    /* A snapshot of the pattern too: it may be edited and freed. */
    OK(fxir_replace_pattern(module, pattern, replacement, NULL, &matches, E));
    OK(fxir_node_set_name(pattern, inner, "other", E));
    fxir_module_free(pattern);
    CHECK(fxir_matches_pattern_node(matches, "inner_12") == inner && fxir_matches_pattern_node(matches, "other") == 0);
    CHECK(fxir_matches_node(matches, 0, inner) == f && !strcmp(fxir_matches_node_name(matches, 0, inner), "f"));
    fxir_matches_free(matches);
    fxir_module_free(module);
    fxir_module_free(replacement);
}

/* Rejects the match whose node called "outer" in the pattern is the one it is given. */
static int32_t reject(void *user_data, const fxir_module *view, const fxir_matches *matches, int32_t *verdict) {
    fxir_node outer = fxir_matches_node(matches, 0, fxir_matches_pattern_node(matches, "outer"));
    CHECK(fxir_node_name(view, outer) != NULL);
    *verdict = outer != *(const fxir_node *)user_data;
    return 0;
}

/* Of f(f(f(x))) against f(f(x)) one match is found; when it is rejected, the other one is free to be. */
static void rejected_ones_claim_nothing(void) {
    fxir_module *module = new_module(), *pattern = twice("f", "f"), *replacement = unary("h");
    fxir_node x = placeholder(module, "x"), n[3], outer;
    fxir_matches *matches = NULL;
    fxir_match_options options;
    n[0] = call_1(module, "f", x);
    n[1] = call_1(module, "f", n[0]);
    n[2] = call_1(module, "f", n[1]);
    output_1(module, n[2]);
    outer = fxir_graph_prev(pattern, fxir_graph_last(pattern));
    OK(fxir_node_set_name(pattern, outer, "outer", E));
    fxir_match_options_init(&options);
    OK(fxir_match_pattern(module, pattern, &options, &matches, E));
    CHECK(fxir_matches_count(matches) == 1 && fxir_matches_node(matches, 0, outer) == n[1]);
    fxir_matches_free(matches);
    options.filter = reject;
    options.filter_data = &n[1];
    OK(fxir_match_pattern(module, pattern, &options, &matches, E));
    CHECK(fxir_matches_count(matches) == 1 && fxir_matches_node(matches, 0, outer) == n[2]);
    fxir_matches_free(matches);
    OK(fxir_replace_pattern(module, pattern, replacement, &options, NULL, E));
    CHECK(graph_is(module, "x f h output") && fxir_graph_next(module, x) == n[0]);
    fxir_module_free(module);
    fxir_module_free(pattern);
    fxir_module_free(replacement);
}

/* New nodes stand right before the first user of what they replace. */
static void places(void) {
    fxir_module *module = new_module(), *pattern = unary("f"), *replacement = twice("p", "q");
    fxir_node x = placeholder(module, "x"), f = call_1(module, "f", x), between = call_1(module, "between", x);
    fxir_matches *matches = NULL;
    fxir_node made[4];
    output_1(module, call_2(module, "late", call_1(module, "user", f), between));
    CHECK(graph_is(module, "x f between user late output"));
    OK(fxir_replace_pattern(module, pattern, replacement, NULL, &matches, E));
    CHECK(graph_is(module, "x between p q user late output"));
    CHECK(fxir_matches_replacements(matches, 0, made, 4) == 2);
    CHECK(made[0] == fxir_graph_next(module, between) && made[1] == fxir_graph_next(module, made[0]));
    fxir_matches_free(matches);
    fxir_module_free(module);
    fxir_module_free(pattern);
    fxir_module_free(replacement);
}

/* When nothing matches nothing changes: what is unused stays, and no member comes along. */
static void nothing_matches(void) {
    fxir_module *module = unary("f"), *pattern = unary("other"), *replacement = new_module();
    fxir_matches *matches = NULL;
    char *before;
    OK(fxir_module_add_submodule(replacement, "m", FXIR_MODULE_LEAF, "T", NULL, E));
    output_1(replacement, call_module_1(replacement, "m", placeholder(replacement, "x")));
    OK(fxir_module_add_submodule(module, "unused", FXIR_MODULE_LEAF, "T", NULL, E));
    before = picture(module);
    OK(fxir_replace_pattern(module, pattern, replacement, NULL, &matches, E));
    CHECK(fxir_matches_count(matches) == 0 && fxir_matches_pattern_node(matches, "other") != 0);
    check_unchanged(module, before, "a rewrite without a match", __FILE__, __LINE__);
    fxir_matches_free(matches);
    fxir_module_free(module);
    fxir_module_free(pattern);
    fxir_module_free(replacement);
}

static void refused_members(void) {
    fxir_module *module = unary("f"), *pattern = unary("f"), *replacement = new_module();
    fxir_arg one = fxir_arg_int(1);
    fxir_node call;
    call = call_module_1(replacement, "s", placeholder(replacement, "x"));
    output_1(replacement, call);
    /* It calls what is an attribute: of its own, of the module. */
    OK(fxir_module_set_attribute(replacement, "s", &one, E));
    REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_replace_pattern(module, pattern, replacement, NULL, NULL, E));
    CHECK(failed.node == call);
    OK(fxir_module_set_attribute(module, "s", &one, E));
    OK(fxir_module_add_submodule(replacement, "s", FXIR_MODULE_LEAF, "T", NULL, E));
    REFUSED(FXIR_ALREADY_EXISTS, module, fxir_replace_pattern(module, pattern, replacement, NULL, NULL, E));
    CHECK(failed.node == call && strstr(failed.message, "attribute"));
    /* An attribute of the module stands on the way. */
    OK(fxir_module_add_submodule(replacement, "s.t", FXIR_MODULE_LEAF, "T", NULL, E));
    OK(fxir_node_set_target(replacement, call, "s.t", E));
    REFUSED(FXIR_ALREADY_EXISTS, module, fxir_replace_pattern(module, pattern, replacement, NULL, NULL, E));
    OK(fxir_module_delete_member(module, "s", E));
    OK(fxir_replace_pattern(module, pattern, replacement, NULL, NULL, E));
    CHECK(fxir_module_member_kind(module, "s.t") == FXIR_MEMBER_SUBMODULE);
    OK(fxir_module_lint(module, E));
    fxir_module_free(module);
    fxir_module_free(pattern);
    fxir_module_free(replacement);
}

/* A pattern of a placeholder that is only returned would be met by anything. */
static void only_returned(void) {
    fxir_module *module = unary("f"), *pattern = unary("f");
    fxir_node x = fxir_graph_first(pattern), f = fxir_graph_next(pattern, x), y = placeholder(pattern, "y");
    fxir_arg two[2], result;
    fxir_matches *matches = NULL;
    two[0] = fxir_arg_node(f);
    two[1] = fxir_arg_node(y);
    result = fxir_arg_tuple(two, 2);
    OK(fxir_node_set_args(pattern, fxir_graph_last(pattern), &result, 1, E));
    REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_match_pattern(module, pattern, NULL, &matches, E));
    CHECK(matches == NULL && failed.node == y);
    fxir_module_free(module);
    fxir_module_free(pattern);
}

/* How many there are, in words. */
static void messages(void) {
    fxir_module *module = unary("f"), *pattern = unary("f"), *replacement = new_module(), *sub = unary("s");
    fxir_node x = fxir_graph_first(module), f = fxir_graph_next(module, x), two[2];
    fxir_arg one = fxir_arg_int(1);
    two[0] = two[1] = x;
    output_1(replacement, call_2(replacement, "g", placeholder(replacement, "x"), placeholder(replacement, "y")));
    FAILS(FXIR_INVALID_ARGUMENT, fxir_replace_pattern(module, pattern, replacement, NULL, NULL, E));
    CHECK(strstr(failed.message, "1 placeholder and"));
    FAILS(FXIR_INVALID_ARGUMENT, fxir_insert_subgm(module, sub, "s", two, 2, &f, 1, 0, NULL, E));
    CHECK(strstr(failed.message, "1 input,"));
    FAILS(FXIR_OUT_OF_RANGE, fxir_node_set_arg(module, f, 3, &one, E));
    CHECK(strstr(failed.message, "1 positional argument,"));
    FAILS(FXIR_IN_USE, fxir_graph_erase_node(module, x, E));
    CHECK(!strcmp(failed.message, "node x is used by f: it cannot be erased"));
    call_1(module, "g", x);
    FAILS(FXIR_IN_USE, fxir_graph_erase_node(module, x, E));
    CHECK(!strcmp(failed.message, "node x is used by f and 1 more: it cannot be erased"));
    fxir_module_free(module);
    fxir_module_free(pattern);
    fxir_module_free(replacement);
    fxir_module_free(sub);
}

int main(void) {
    by_name();
    rejected_ones_claim_nothing();
    places();
    nothing_matches();
    refused_members();
    only_returned();
    messages();
    return check_result();
}
