/* Patterns and passes: what they find, what they put in its place, and that a call that fails leaves
 * the module as it was. */
#include "check.h"

/* x -> target(x) -> output */
static fxir_module *unary(const char *target) {
    fxir_module *module = new_module();
    output_1(module, call_1(module, target, placeholder(module, "x")));
    return module;
}

/* (x, y) -> target(x, y) -> output */
static fxir_module *binary(const char *target) {
    fxir_module *module = new_module();
    fxir_node x = placeholder(module, "x"), y = placeholder(module, "y");
    output_1(module, call_2(module, target, x, y));
    return module;
}

static fxir_node nth(const fxir_module *module, size_t index) {
    fxir_node node = fxir_graph_first(module);
    while (index--) node = fxir_graph_next(module, node);
    return node;
}

static int targets_are(const fxir_module *module, const char *targets) {
    text to = {0, 0, 0};
    fxir_node node;
    int same;
    text_add(&to, "%s", "");
    for (node = fxir_graph_first(module); node; node = fxir_graph_next(module, node))
        text_add(&to, "%s%s", to.length ? " " : "", fxir_node_target(module, node));
    same = strcmp(to.data, targets) == 0;
    if (!same) fprintf(stderr, "  the targets are: %s\n", to.data);
    free(to.data);
    return same;
}

static fxir_tensor_meta a_meta(void) {
    static const int64_t shape[2] = {2, 3}, stride[2] = {3, 1};
    fxir_tensor_meta meta;
    fxir_tensor_meta_init(&meta);
    meta.dtype = FXIR_DTYPE_FLOAT32;
    meta.rank = 2;
    meta.shape = shape;
    meta.stride = stride;
    meta.requires_grad = 0;
    meta.memory_format = "torch.contiguous_format";
    return meta;
}

/* The example of torch's documentation, with more in it: two cats, one over a literal dim. */
static void matching(void) {
    fxir_module *module = new_module(), *pattern = binary("cat"), *replacement = binary("stack");
    fxir_node x = placeholder(module, "x"), a, b, c, some[8], pattern_nodes[8], cat = nth(pattern, 2), px = nth(pattern, 0), py = nth(pattern, 1);
    fxir_matches *matches = NULL;
    fxir_arg args[2], list;
    const fxir_arg *met;
    char *before;
    a = call_1(module, "f", x);
    args[0] = fxir_arg_node(a);
    args[1] = fxir_arg_int(7);
    OK(fxir_graph_call_function(module, "cat", args, 2, NULL, 0, &b, E));
    list = fxir_arg_list(args, 2);
    args[0] = fxir_arg_node(b);
    args[1] = list;
    {
        fxir_arg inner[2];
        inner[0] = fxir_arg_node(a);
        inner[1] = fxir_arg_str("s");
        args[1] = fxir_arg_list(inner, 2);
        OK(fxir_graph_call_function(module, "cat", args, 2, NULL, 0, &c, E));
    }
    output_1(module, c);
    before = picture(module);
    OK(fxir_match_pattern(module, pattern, NULL, &matches, E));
    check_unchanged(module, before, "a search", __FILE__, __LINE__);
    CHECK(fxir_matches_count(matches) == 2);
    CHECK(fxir_matches_pattern_nodes(matches, NULL, 0) >= 3);
    memset(pattern_nodes, 0, sizeof pattern_nodes);
    CHECK(fxir_matches_pattern_nodes(matches, pattern_nodes, 2) >= 3 && pattern_nodes[0] == px && pattern_nodes[2] == 0);
    CHECK(fxir_matches_node(matches, 0, cat) == b && fxir_matches_node(matches, 1, cat) == c);
    CHECK(!strcmp(fxir_matches_node_name(matches, 1, cat), fxir_node_name(module, c)));
    CHECK(fxir_matches_node_op(matches, 1, cat) == FXIR_OP_CALL_FUNCTION);
    CHECK(fxir_matches_node(matches, 0, px) == a && fxir_matches_node(matches, 1, px) == b);
    CHECK(fxir_matches_node(matches, 0, py) == 0 && fxir_matches_node_name(matches, 0, py) == NULL);
    CHECK(fxir_matches_node_op(matches, 0, py) == 0);
    met = fxir_matches_argument(matches, 0, py);
    CHECK(met && met->kind == FXIR_ARG_INT && met->value.integer == 7);
    met = fxir_matches_argument(matches, 1, py);
    CHECK(met && met->kind == FXIR_ARG_LIST && met->count == 2 && met->value.items[0].value.node == a);
    met = fxir_matches_argument(matches, 1, cat);
    CHECK(met && met->kind == FXIR_ARG_NODE && met->value.node == c);
    CHECK(fxir_matches_anchors(matches, 0, some, 8) == 1 && some[0] == b);
    CHECK(fxir_matches_anchors(matches, 1, NULL, 0) == 1);
    CHECK(fxir_matches_replacements(matches, 0, some, 8) == 0);
    /* Beyond the end, and what is no node of the pattern. */
    CHECK(fxir_matches_node(matches, 2, cat) == 0 && fxir_matches_node(matches, SIZE_MAX, cat) == 0);
    CHECK(fxir_matches_argument(matches, 2, cat) == NULL && fxir_matches_argument(matches, 0, b) == NULL);
    CHECK(fxir_matches_node_name(matches, 2, cat) == NULL && fxir_matches_node_op(matches, 0, 0) == 0);
    CHECK(fxir_matches_anchors(matches, 2, some, 8) == 0 && fxir_matches_replacements(matches, 9, some, 8) == 0);
    fxir_matches_free(matches);

    matches = NULL;
    OK(fxir_replace_pattern(module, pattern, replacement, NULL, &matches, E));
    CHECK(targets_are(module, "x f stack stack output"));
    CHECK(fxir_matches_count(matches) == 2 && fxir_matches_replacements(matches, 1, some, 8) == 1);
    CHECK(!strcmp(fxir_node_target(module, some[0]), "stack"));
    CHECK(fxir_node_name(module, b) == NULL && fxir_node_name(module, c) == NULL); /* stale */
    CHECK(fxir_matches_node(matches, 0, cat) == b && fxir_matches_node_name(matches, 0, cat) != NULL);
    CHECK(fxir_matches_node(matches, 0, px) == a); /* what placeholders met is live */
    OK(fxir_graph_lint(module, E));
    fxir_matches_free(matches);
    matches = NULL;
    OK(fxir_replace_pattern(module, pattern, replacement, NULL, &matches, E)); /* none is left */
    CHECK(fxir_matches_count(matches) == 0);
    fxir_matches_free(matches);
    OK(fxir_replace_pattern(module, pattern, replacement, NULL, NULL, E));
    fxir_module_free(module);
    fxir_module_free(pattern);
    fxir_module_free(replacement);
}

/* A node inside a match that is used outside is no part of it; what the pattern returns may be. */
static void inner_uses(void) {
    fxir_module *module = new_module(), *pattern = new_module();
    fxir_node x = placeholder(module, "x"), a = call_1(module, "f", x), b = call_1(module, "g", a), p;
    fxir_matches *matches = NULL;
    p = placeholder(pattern, "x");
    p = call_1(pattern, "f", p);
    output_1(pattern, call_1(pattern, "g", p));
    OK(fxir_match_pattern(module, pattern, NULL, &matches, E));
    CHECK(fxir_matches_count(matches) == 1);
    fxir_matches_free(matches);
    call_1(module, "h", a);
    output_1(module, b);
    OK(fxir_match_pattern(module, pattern, NULL, &matches, E));
    CHECK(fxir_matches_count(matches) == 0);
    fxir_matches_free(matches);
    fxir_module_free(module);
    fxir_module_free(pattern);
}

static void refused_patterns(void) {
    fxir_module *module = unary("f"), *pattern = unary("f"), *replacement = unary("g"), *other;
    fxir_matches *matches = NULL;
    fxir_match_options options;
    fxir_node node;
    int32_t i;
    fxir_match_options_init(&options);
    CHECK(options.struct_size == sizeof options && options.modules == FXIR_MATCH_MODULES_BY_TYPE && !options.filter);
    /* No output; a node that nothing uses; an empty one. */
    other = new_module();
    REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_match_pattern(module, other, NULL, &matches, E));
    REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_replace_pattern(module, other, replacement, NULL, &matches, E));
    call_1(other, "f", placeholder(other, "x"));
    REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_match_pattern(module, other, NULL, &matches, E));
    output_1(other, fxir_graph_first(other));
    REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_match_pattern(module, other, NULL, &matches, E));
    fxir_module_free(other);
    /* A replacement with other inputs, or another number of results, or no output. */
    other = binary("g");
    REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_replace_pattern(module, pattern, other, NULL, &matches, E));
    fxir_module_free(other);
    other = unary("g");
    {
        fxir_arg two[2], result;
        two[0] = two[1] = fxir_arg_node(nth(other, 1));
        result = fxir_arg_tuple(two, 2);
        OK(fxir_node_set_args(other, nth(other, 2), &result, 1, E));
        REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_replace_pattern(module, pattern, other, NULL, &matches, E));
    }
    fxir_module_free(other);
    other = new_module();
    placeholder(other, "x");
    REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_replace_pattern(module, pattern, other, NULL, &matches, E));
    fxir_module_free(other);
    /* Graphs that are not in order, on every side. */
    other = unary("f");
    node = call_1(other, "f", nth(other, 1));
    OK(fxir_node_move_before(other, node, nth(other, 1), E));
    REFUSED(FXIR_LINT, other, fxir_match_pattern(other, pattern, NULL, &matches, E));
    REFUSED(FXIR_LINT, other, fxir_replace_pattern(other, pattern, replacement, NULL, &matches, E));
    {
        fxir_arg result = fxir_arg_node(node);
        OK(fxir_node_set_args(other, fxir_graph_last(other), &result, 1, E));
        REFUSED(FXIR_LINT, module, fxir_match_pattern(module, other, NULL, &matches, E));
        REFUSED(FXIR_LINT, module, fxir_replace_pattern(module, other, replacement, NULL, &matches, E));
        REFUSED(FXIR_LINT, module, fxir_replace_pattern(module, pattern, other, NULL, &matches, E));
    }
    fxir_module_free(other);
    /* Options. */
    for (i = 0; i < 6; i++) {
        int32_t *fields[6];
        fields[0] = &options.match_output, fields[1] = &options.match_placeholder, fields[2] = &options.keep_overlapping_matches;
        fields[3] = &options.ignore_literals, fields[4] = &options.modules, fields[5] = &options.attributes;
        *fields[i] = 3;
        REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_match_pattern(module, pattern, &options, &matches, E));
        REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_replace_pattern(module, pattern, replacement, &options, &matches, E));
        *fields[i] = -1;
        REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_match_pattern(module, pattern, &options, &matches, E));
        *fields[i] = 0;
    }
    options.match_output = 1; /* only for looking */
    REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_replace_pattern(module, pattern, replacement, &options, &matches, E));
    OK(fxir_match_pattern(module, pattern, &options, &matches, E));
    CHECK(fxir_matches_count(matches) == 1);
    fxir_matches_free(matches);
    matches = NULL;
    options.match_output = 0;
    options.keep_overlapping_matches = 1;
    REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_replace_pattern(module, pattern, replacement, &options, &matches, E));
    CHECK(matches == NULL);
    fxir_module_free(module);
    fxir_module_free(pattern);
    fxir_module_free(replacement);
}

/* f(f(f(x))) against f(f(x)), literals, placeholders. */
static void options(void) {
    fxir_module *module = new_module(), *pattern = new_module(), *literal = new_module();
    fxir_node x = placeholder(module, "x"), n;
    fxir_matches *matches = NULL;
    fxir_match_options options;
    fxir_arg args[2];
    fxir_match_options_init(&options);
    n = call_1(module, "f", call_1(module, "f", call_1(module, "f", x)));
    args[0] = fxir_arg_node(n);
    args[1] = fxir_arg_int(3);
    OK(fxir_graph_call_function(module, "g", args, 2, NULL, 0, &n, E));
    output_1(module, n);
    output_1(pattern, call_1(pattern, "f", call_1(pattern, "f", placeholder(pattern, "p"))));
    OK(fxir_match_pattern(module, pattern, &options, &matches, E));
    CHECK(fxir_matches_count(matches) == 1);
    fxir_matches_free(matches);
    options.keep_overlapping_matches = 1;
    OK(fxir_match_pattern(module, pattern, &options, &matches, E));
    CHECK(fxir_matches_count(matches) == 2);
    fxir_matches_free(matches);
    options.keep_overlapping_matches = 0;
    options.match_placeholder = 1;
    OK(fxir_match_pattern(module, pattern, &options, &matches, E));
    CHECK(fxir_matches_count(matches) == 1);
    if (fxir_matches_count(matches)) CHECK(fxir_matches_node(matches, 0, fxir_graph_first(pattern)) == x);
    fxir_matches_free(matches);
    options.match_placeholder = 0;
    args[0] = fxir_arg_node(placeholder(literal, "p"));
    args[1] = fxir_arg_int(4);
    OK(fxir_graph_call_function(literal, "g", args, 2, NULL, 0, &n, E));
    output_1(literal, n);
    OK(fxir_match_pattern(module, literal, &options, &matches, E));
    CHECK(fxir_matches_count(matches) == 0);
    fxir_matches_free(matches);
    options.ignore_literals = 1;
    OK(fxir_match_pattern(module, literal, &options, &matches, E));
    CHECK(fxir_matches_count(matches) == 1);
    fxir_matches_free(matches);
    fxir_module_free(module);
    fxir_module_free(pattern);
    fxir_module_free(literal);
}

static void modules(void) {
    fxir_module *module = new_module(), *pattern = new_module(), *replacement = unary("fused");
    fxir_node x = placeholder(module, "x");
    fxir_matches *matches = NULL;
    fxir_match_options options;
    fxir_arg three = fxir_arg_int(3), five = fxir_arg_int(5);
    fxir_match_options_init(&options);
    OK(fxir_module_add_submodule(module, "a", FXIR_MODULE_LEAF, "Conv", NULL, E));
    OK(fxir_module_add_submodule(module, "b", FXIR_MODULE_LEAF, "Conv", NULL, E));
    OK(fxir_module_add_submodule(module, "c", FXIR_MODULE_LEAF, "Linear", NULL, E));
    OK(fxir_module_set_attribute(module, "a.kernel_size", &three, E));
    OK(fxir_module_set_attribute(module, "b.kernel_size", &five, E));
    output_1(module, call_module_1(module, "c", call_module_1(module, "b", call_module_1(module, "a", x))));
    OK(fxir_module_add_submodule(pattern, "b", FXIR_MODULE_LEAF, "Conv", NULL, E));
    OK(fxir_module_set_attribute(pattern, "b.kernel_size", &three, E));
    output_1(pattern, call_module_1(pattern, "b", placeholder(pattern, "x")));
    OK(fxir_match_pattern(module, pattern, &options, &matches, E));
    CHECK(fxir_matches_count(matches) == 2); /* by type: a and b */
    fxir_matches_free(matches);
    options.modules = FXIR_MATCH_MODULES_BY_TARGET;
    OK(fxir_match_pattern(module, pattern, &options, &matches, E));
    CHECK(fxir_matches_count(matches) == 1 && fxir_matches_node(matches, 0, nth(pattern, 1)) == nth(module, 2));
    fxir_matches_free(matches);
    options.modules = FXIR_MATCH_MODULES_BY_TYPE_AND_SETTINGS;
    OK(fxir_match_pattern(module, pattern, &options, &matches, E));
    CHECK(fxir_matches_count(matches) == 1 && fxir_matches_node(matches, 0, nth(pattern, 1)) == nth(module, 1));
    fxir_matches_free(matches);
    /* What the rewrite leaves unused goes. */
    OK(fxir_replace_pattern(module, pattern, replacement, &options, NULL, E));
    CHECK(targets_are(module, "x fused b c output"));
    CHECK(fxir_module_member_kind(module, "a") == FXIR_MEMBER_NONE && fxir_module_member_kind(module, "b") == FXIR_MEMBER_SUBMODULE);
    OK(fxir_module_lint(module, E));
    fxir_module_free(module);
    fxir_module_free(pattern);
    fxir_module_free(replacement);
}

/* Members that the replacement names: one that is there wins, one that only it has comes along, one
 * that nobody has is an error. */
static void members(void) {
    fxir_module *module = unary("f"), *pattern = unary("f"), *replacement = new_module();
    fxir_node x = placeholder(replacement, "x"), w = 0;
    fxir_tensor *mine = NULL, *theirs = NULL, *got = NULL;
    float data[2] = {1, 2};
    int64_t shape[1] = {2};
    fxir_matches *matches = NULL;
    OK(fxir_tensor_copy(FXIR_DTYPE_FLOAT32, shape, 1, data, 8, &mine, E));
    OK(fxir_tensor_copy(FXIR_DTYPE_FLOAT32, shape, 1, data, 8, &theirs, E));
    OK(fxir_module_set_tensor(module, "both", FXIR_MEMBER_BUFFER, mine, E));
    OK(fxir_module_set_tensor(replacement, "both", FXIR_MEMBER_PARAMETER, theirs, E));
    OK(fxir_module_set_tensor(replacement, "deep.down.w", FXIR_MEMBER_PARAMETER, theirs, E));
    OK(fxir_module_add_submodule(replacement, "linear", FXIR_MODULE_LEAF, "Linear", NULL, E));
    OK(fxir_module_set_tensor(replacement, "linear.weight", FXIR_MEMBER_PARAMETER, theirs, E));
    OK(fxir_module_add_submodule(module, "unused", FXIR_MODULE_LEAF, "Dead", NULL, E));
    OK(fxir_graph_get_attr(replacement, "both", &w, E));
    x = call_2(replacement, "h", x, w);
    OK(fxir_graph_get_attr(replacement, "deep.down.w", &w, E));
    x = call_2(replacement, "h", x, w);
    x = call_module_1(replacement, "linear", x);
    OK(fxir_graph_get_attr(replacement, "nowhere", &w, E));
    output_1(replacement, call_2(replacement, "h", x, w));
    REFUSED(FXIR_NOT_FOUND, module, fxir_replace_pattern(module, pattern, replacement, NULL, &matches, E));
    CHECK(matches == NULL && strstr(failed.message, "nowhere"));
    OK(fxir_node_set_target(replacement, w, "both", E));
    OK(fxir_replace_pattern(module, pattern, replacement, NULL, &matches, E));
    CHECK(fxir_matches_count(matches) == 1);
    fxir_matches_free(matches);
    CHECK(fxir_module_member_kind(module, "both") == FXIR_MEMBER_BUFFER);
    OK(fxir_module_get_tensor(module, "both", &got, E));
    CHECK(fxir_tensor_data(got) == fxir_tensor_data(mine));
    fxir_tensor_free(got);
    OK(fxir_module_get_tensor(module, "deep.down.w", &got, E));
    CHECK(fxir_tensor_data(got) == fxir_tensor_data(theirs));
    fxir_tensor_free(got);
    CHECK(fxir_module_member_kind(module, "linear.weight") == FXIR_MEMBER_PARAMETER);
    CHECK(fxir_module_member_kind(module, "unused") == FXIR_MEMBER_NONE);
    OK(fxir_module_lint(module, E));
    OK(fxir_module_lint(replacement, E));
    fxir_tensor_free(mine);
    fxir_tensor_free(theirs);
    fxir_module_free(module);
    fxir_module_free(pattern);
    fxir_module_free(replacement);
}

typedef struct asked {
    fxir_module *module, *other;
    const fxir_module *view;
    const fxir_matches *matches;
    fxir_module *retained, *below; /* taken from the view */
    fxir_node pattern_node;
    int calls, reject, returns;
    int32_t verdict;
} asked;

static int32_t ask(void *user_data, const fxir_module *view, const fxir_matches *matches, int32_t *verdict) {
    asked *a = (asked *)user_data;
    fxir_module *none = NULL;
    fxir_matches *nested = NULL;
    fxir_error *error = NULL;
    CHECK(*verdict == 1 && fxir_matches_count(matches) == 1);
    CHECK(fxir_node_name(view, fxir_matches_node(matches, 0, a->pattern_node)) != NULL);
    CHECK(fxir_graph_lint(view, NULL) == FXIR_OK);
    /* Reading and writing by the module's own handle, and writing by the view. */
    CHECK(fxir_graph_lint(a->module, NULL) == FXIR_BUSY);
    CHECK(fxir_graph_placeholder(a->module, "p", NULL, &error) == FXIR_BUSY && fxir_error_code(error) == FXIR_BUSY);
    fxir_error_free(error);
    CHECK(fxir_graph_node_count(a->module) == 0 && fxir_node_name(a->module, fxir_graph_first(view)) == NULL);
    CHECK(fxir_module_clone(a->module, &none, NULL, NULL) == FXIR_BUSY);
    CHECK(fxir_replace_pattern(a->module, a->other, a->other, NULL, NULL, NULL) == FXIR_BUSY);
    CHECK(fxir_graph_placeholder((fxir_module *)view, "p", NULL, NULL) == FXIR_BUSY);
    CHECK(fxir_module_set_submodule_take(a->other, "p", (fxir_module *)view, NULL) != FXIR_OK);
    /* Other modules are free. */
    OK(fxir_match_pattern(view, a->other, NULL, &nested, E));
    fxir_matches_free(nested);
    OK(fxir_legalize_graph(a->other, E));
    OK(fxir_module_clone(view, &none, NULL, E));
    fxir_module_free(none);
    /* Another handle outlives the callback, and is busy in it; a submodule of a view is a view. */
    if (!a->retained) {
        OK(fxir_module_retain(view, &a->retained, E));
        OK(fxir_module_get_submodule(view, "sub", &a->below, E));
        CHECK(fxir_module_kind(a->below) == FXIR_MODULE_LEAF);
        FAILS(FXIR_BUSY, fxir_module_set_type_name(a->below, "T", E));
    }
    FAILS(FXIR_BUSY, fxir_graph_lint(a->retained, E));
    a->view = view;
    a->matches = matches;
    if (a->calls++ == a->reject) *verdict = 0;
    if (a->verdict) *verdict = a->verdict;
    return a->returns;
}

static void filters(void) {
    fxir_module *module = new_module(), *pattern = unary("f"), *replacement = unary("g"), *other = unary("k");
    fxir_match_options options;
    fxir_matches *matches = NULL;
    asked with;
    output_1(module, call_1(module, "f", call_1(module, "f", placeholder(module, "x"))));
    memset(&with, 0, sizeof with);
    with.module = module;
    with.other = other;
    with.pattern_node = nth(pattern, 1);
    with.reject = -1;
    fxir_match_options_init(&options);
    options.filter = ask;
    options.filter_data = &with;
    OK(fxir_module_add_submodule(module, "sub", FXIR_MODULE_LEAF, "T", NULL, E));
    with.returns = 42;
    REFUSED(FXIR_CALLBACK, module, fxir_replace_pattern(module, pattern, replacement, &options, &matches, E));
    CHECK(failed.code == 42 && with.calls == 1 && matches == NULL);
    REFUSED(FXIR_CALLBACK, module, fxir_match_pattern(module, pattern, &options, &matches, E));
    with.returns = INT32_MIN;
    REFUSED(FXIR_CALLBACK, module, fxir_replace_pattern(module, pattern, replacement, &options, &matches, E));
    CHECK(failed.code == INT32_MIN);
    with.returns = 0;
    with.verdict = -1;
    REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_replace_pattern(module, pattern, replacement, &options, &matches, E));
    with.verdict = 0;
    with.calls = 0;
    with.reject = 1;
    OK(fxir_match_pattern(module, pattern, &options, &matches, E));
    CHECK(fxir_matches_count(matches) == 1 && with.calls == 2);
    fxir_matches_free(matches);
    with.calls = 0;
    OK(fxir_replace_pattern(module, pattern, replacement, &options, &matches, E));
    CHECK(fxir_matches_count(matches) == 1 && with.calls == 2);
    CHECK(targets_are(module, "x g f output"));
    fxir_matches_free(matches);
    OK(fxir_graph_lint(with.retained, E));
    FAILS(FXIR_INVALID_HANDLE, fxir_module_set_type_name(with.below, "T", E));
    CHECK(fxir_module_kind(with.below) == FXIR_MODULE_NONE);
    fxir_module_free(with.retained);
    fxir_module_free(with.below);
    /* View and match are dead. */
    CHECK(fxir_graph_first(with.view) == 0 && fxir_matches_count(with.matches) == 0);
    FAILS(FXIR_INVALID_HANDLE, fxir_graph_lint(with.view, E));
    fxir_module_free((fxir_module *)with.view);
    fxir_matches_free((fxir_matches *)with.matches);
    fxir_module_free(module);
    fxir_module_free(pattern);
    fxir_module_free(replacement);
    fxir_module_free(other);
}

static void one_tree(void) {
    fxir_module *module = unary("f"), *p = NULL, *r = NULL;
    fxir_matches *matches = NULL;
    fxir_node node;
    OK(fxir_module_add_submodule(module, "p", FXIR_MODULE_GRAPH, "P", &p, E));
    OK(fxir_module_add_submodule(module, "r", FXIR_MODULE_GRAPH, "R", &r, E));
    output_1(p, call_1(p, "f", placeholder(p, "x")));
    output_1(r, call_1(r, "g", placeholder(r, "x")));
    node = call_module_1(module, "p", nth(module, 1));
    call_module_1(module, "r", node);
    OK(fxir_replace_pattern(module, p, r, NULL, &matches, E));
    CHECK(fxir_matches_count(matches) == 1 && targets_are(module, "x g p r output"));
    CHECK(fxir_graph_node_count(p) == 3 && targets_are(p, "x f output")); /* not the submodules' graphs */
    fxir_matches_free(matches);
    OK(fxir_replace_pattern(p, p, r, NULL, NULL, E)); /* the pattern is the module */
    CHECK(targets_are(p, "x g output"));
    OK(fxir_replace_pattern(p, r, p, NULL, NULL, E));
    CHECK(targets_are(p, "x g output"));
    OK(fxir_replace_pattern(p, p, p, NULL, NULL, E));
    CHECK(targets_are(p, "x g output"));
    /* Unused submodules go, be they the very pattern. */
    OK(fxir_graph_erase_node(module, nth(module, 3), E));
    OK(fxir_replace_pattern(module, r, p, NULL, NULL, E));
    CHECK(fxir_module_member_kind(module, "r") == FXIR_MEMBER_NONE && fxir_module_kind(r) == FXIR_MODULE_NONE);
    OK(fxir_module_lint(module, E));
    fxir_module_free(p);
    fxir_module_free(r);
    fxir_module_free(module);
}

/* What takes the place of a returned node takes over what was known of it. */
static void metadata(void) {
    fxir_module *module = unary("f"), *pattern = unary("f"), *replacement = unary("g");
    fxir_tensor_meta meta = a_meta();
    fxir_arg one = fxir_arg_int(1);
    fxir_buffer *json = NULL;
    fxir_args *args = NULL;
    fxir_node node;
    OK(fxir_node_set_tensor_meta(module, nth(module, 0), &meta, E));
    OK(fxir_node_set_tensor_meta(module, nth(module, 1), &meta, E));
    OK(fxir_node_set_meta(module, nth(module, 1), "mine", &one, E));
    OK(fxir_node_set_meta(replacement, nth(replacement, 1), "theirs", &one, E));
    OK(fxir_replace_pattern(module, pattern, replacement, NULL, NULL, E));
    node = nth(module, 1);
    CHECK(!strcmp(fxir_node_target(module, node), "g") && fxir_node_dtype(module, node) == FXIR_DTYPE_FLOAT32);
    OK(fxir_node_get_meta(module, node, "mine", &args, E));
    fxir_args_free(args);
    OK(fxir_node_get_meta(module, node, "theirs", &args, E));
    fxir_args_free(args);
    OK(fxir_module_serialize(module, NULL, &json, NULL, E)); /* serializable stays so */
    fxir_buffer_free(json);
    fxir_module_free(module);
    fxir_module_free(pattern);
    fxir_module_free(replacement);
}

/* Options of callers of other versions, for every kind of options. */
static void sizes_of_options(void) {
    static const size_t wrong[] = {0, 1, 7, 4097, 100000, SIZE_MAX, SIZE_MAX - 7};
    union {
        fxir_match_options match;
        fxir_fuse_options fuse;
        fxir_dead_code_options dead;
        fxir_cse_options cse;
        fxir_serialize_options serialize;
        size_t size;
        unsigned char bytes[4096];
    } u;
    size_t kind, i, known = 0;
    fxir_module *module = unary("f"), *pattern = unary("f");
    fxir_tensor_meta meta = a_meta();
    OK(fxir_node_set_tensor_meta(module, nth(module, 0), &meta, E));
    OK(fxir_node_set_tensor_meta(module, nth(module, 1), &meta, E));
    for (kind = 0; kind < 5; kind++) {
        for (i = 0; i < 12; i++) {
            fxir_matches *matches = NULL;
            fxir_buffer *json = NULL;
            fxir_module *scratch = NULL;
            fxir_status status = FXIR_PANIC, expected;
            fxir_node node;
            char *before;
            memset(&u, 0, sizeof u);
            switch (kind) {
            case 0: fxir_match_options_init(&u.match), known = sizeof u.match; break;
            case 1: fxir_fuse_options_init(&u.fuse), known = sizeof u.fuse; break;
            case 2: fxir_dead_code_options_init(&u.dead), known = sizeof u.dead; break;
            case 3: fxir_cse_options_init(&u.cse), known = sizeof u.cse; break;
            default: fxir_serialize_options_init(&u.serialize), known = sizeof u.serialize; break;
            }
            CHECK(u.size == known);
            expected = FXIR_OK;
            if (i < 7) {
                u.size = wrong[i];
                expected = FXIR_INVALID_ARGUMENT;
            } else if (i == 7) {
                u.size = sizeof(size_t);
                memset(u.bytes + sizeof(size_t), 0xee, known - sizeof(size_t)); /* not looked at */
            } else if (i == 8) {
                u.size = 4096;
            } else if (i == 9) {
                u.size = 4096;
                u.bytes[4095] = 1;
                expected = FXIR_UNSUPPORTED;
            } else if (i == 10) {
                u.size = known + 1;
                u.bytes[known] = 0x80;
                expected = FXIR_UNSUPPORTED;
            } else {
                u.size = known + 8;
                u.bytes[known + 8] = 1; /* beyond what it says */
            }
            OK(fxir_module_clone(module, &scratch, NULL, E));
            node = nth(scratch, 1);
            before = picture(scratch);
            switch (kind) {
            case 0: status = fxir_match_pattern(scratch, pattern, &u.match, &matches, NULL); break;
            case 1: status = fxir_fuse_as_graphmodule(scratch, &node, 1, "fused", &u.fuse, NULL, NULL, NULL); break;
            case 2: status = fxir_eliminate_dead_code(scratch, &u.dead, NULL, NULL); break;
            case 3: status = fxir_eliminate_common_subexpressions(scratch, &u.cse, NULL, NULL, NULL); break;
            default: status = fxir_module_serialize(scratch, &u.serialize, &json, NULL, NULL); break;
            }
            if (!CHECK(status == expected))
                fprintf(stderr, "  options %zu, case %zu: %s\n", kind, i, fxir_status_name(status));
            if (status != FXIR_OK) check_unchanged(scratch, before, "refused options", __FILE__, __LINE__);
            else free(before);
            fxir_matches_free(matches);
            fxir_buffer_free(json);
            fxir_module_free(scratch);
        }
    }
    { /* metadata of tensors too */
        struct {
            fxir_tensor_meta meta;
            uint64_t more[2];
        } longer;
        memset(&longer, 0, sizeof longer);
        longer.meta = a_meta();
        longer.meta.struct_size = sizeof longer;
        OK(fxir_node_set_tensor_meta(module, nth(module, 1), &longer.meta, E));
        longer.more[1] = 1;
        REFUSED(FXIR_UNSUPPORTED, module, fxir_node_set_tensor_meta(module, nth(module, 1), &longer.meta, E));
        longer.meta.struct_size = 0;
        REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_node_set_tensor_meta(module, nth(module, 1), &longer.meta, E));
    }
    fxir_module_free(module);
    fxir_module_free(pattern);
}

/* x -> a(x) -> b(a) -> c(b, a) -> output(c), with a linear module in the middle */
static fxir_module *chain(fxir_node *nodes) {
    fxir_module *module = new_module();
    OK(fxir_module_add_submodule(module, "linear", FXIR_MODULE_LEAF, "torch.nn.modules.linear.Linear", NULL, E));
    nodes[0] = placeholder(module, "x");
    nodes[1] = call_1(module, "a", nodes[0]);
    nodes[2] = call_module_1(module, "linear", nodes[1]);
    nodes[3] = call_2(module, "c", nodes[2], nodes[1]);
    nodes[4] = call_1(module, "d", nodes[3]);
    nodes[5] = output_1(module, nodes[4]);
    return module;
}

static void fusing(void) {
    fxir_node n[6], set[4], call = 0;
    fxir_module *module = chain(n), *fused = NULL;
    fxir_fuse_options options;
    int32_t valid = 9;
    fxir_fuse_options_init(&options);
    set[0] = n[1], set[1] = n[3];
    REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_fuse_as_graphmodule(module, set, 2, "f", NULL, &call, &fused, E)); /* a circle */
    OK(fxir_validate_partition(module, set, 2, &valid, E));
    CHECK(valid == 0);
    set[1] = n[2];
    OK(fxir_validate_partition(module, set, 2, &valid, E));
    CHECK(valid == 1);
    OK(fxir_validate_partition(module, NULL, 0, &valid, E));
    CHECK(valid == 1);
    REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_fuse_as_graphmodule(module, NULL, 0, "f", NULL, &call, &fused, E));
    REFUSED(FXIR_NULL_ARGUMENT, module, fxir_fuse_as_graphmodule(module, NULL, 2, "f", NULL, &call, &fused, E));
    REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_fuse_as_graphmodule(module, &n[0], 1, "f", NULL, &call, &fused, E));
    REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_fuse_as_graphmodule(module, &n[5], 1, "f", NULL, &call, &fused, E));
    REFUSED(FXIR_INVALID_UTF8, module, fxir_fuse_as_graphmodule(module, set, 2, "\xff", NULL, &call, &fused, E));
    options.taken_name = FXIR_TAKEN_NAME_REFUSED;
    REFUSED(FXIR_ALREADY_EXISTS, module, fxir_fuse_as_graphmodule(module, set, 2, "linear", &options, &call, &fused, E));
    options.taken_name = 7;
    REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_fuse_as_graphmodule(module, set, 2, "f", &options, &call, &fused, E));
    options.taken_name = 0;
    options.inputs = 2;
    REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_fuse_as_graphmodule(module, set, 2, "f", &options, &call, &fused, E));
    options.inputs = 0;
    options.always_return_tuple = 2;
    REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_fuse_as_graphmodule(module, set, 2, "f", &options, &call, &fused, E));
    options.always_return_tuple = 0;
    options.reserved = 1;
    REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_fuse_as_graphmodule(module, set, 2, "f", &options, &call, &fused, E));
    options.reserved = 0;
    options.class_name = "\xff";
    REFUSED(FXIR_INVALID_UTF8, module, fxir_fuse_as_graphmodule(module, set, 2, "f", &options, &call, &fused, E));
    options.class_name = "Fused";
    CHECK(call == 0 && fused == NULL);
    { /* nothing outside uses it */
        fxir_node lone = call_1(module, "lone", n[1]);
        REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_fuse_as_graphmodule(module, &lone, 1, "f", NULL, &call, &fused, E));
        OK(fxir_graph_erase_node(module, lone, E));
    }
    OK(fxir_fuse_as_graphmodule(module, set, 2, "linear", &options, &call, &fused, E)); /* two outputs; the name is taken */
    CHECK(!strcmp(fxir_module_type_name(fused), "Fused") && !strcmp(fxir_node_target(module, call), "linear_1"));
    CHECK(!strcmp(fxir_module_path(fused), "linear_1") && targets_are(fused, "x a linear output"));
    CHECK(fxir_module_member_kind(fused, "linear") == FXIR_MEMBER_SUBMODULE);
    CHECK(targets_are(module, "x linear_1 _operator.getitem _operator.getitem c d output"));
    CHECK(fxir_node_name(module, n[1]) == NULL && fxir_node_name(module, n[3]) != NULL);
    CHECK(!strcmp(fxir_node_name(fused, nth(fused, 1)), "a"));
    OK(fxir_module_lint(module, E));
    fxir_module_free(fused);
    fxir_module_free(module);

    module = chain(n);
    OK(fxir_fuse_as_graphmodule(module, &n[3], 2, "f", NULL, &call, NULL, E)); /* one output: the call itself */
    CHECK(targets_are(module, "x a linear f output") && users_are(module, call, "output"));
    OK(fxir_module_lint(module, E));
    fxir_module_free(module);
    module = chain(n);
    options.always_return_tuple = 1;
    OK(fxir_fuse_as_graphmodule(module, &n[3], 2, "f", &options, &call, &fused, E));
    CHECK(targets_are(module, "x a linear f _operator.getitem output"));
    fxir_module_free(module);
    CHECK(fxir_graph_node_count(fused) > 0);
    fxir_module_free(fused);
}

static void inserting(void) {
    fxir_node n[6], call = 0, bad;
    fxir_module *module = chain(n), *sub = unary("s"), *lifted = NULL;
    REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_insert_subgm(module, sub, "s", &n[0], 2, &n[1], 1, 0, &call, E));
    REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_insert_subgm(module, sub, "s", &n[0], 0, &n[1], 1, 0, &call, E));
    { /* it returns two */
        fxir_module *pair = unary("s");
        fxir_arg two[2], result;
        two[0] = fxir_arg_node(nth(pair, 1)), two[1] = fxir_arg_node(nth(pair, 0));
        result = fxir_arg_tuple(two, 2);
        OK(fxir_node_set_args(pair, fxir_graph_last(pair), &result, 1, E));
        REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_insert_subgm(module, pair, "s", &n[0], 1, &n[1], 3, 0, &call, E));
        fxir_module_free(pair);
    }
    REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_insert_subgm(module, sub, "s", &n[0], 1, &n[1], 1, 9, &call, E));
    REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_insert_subgm(module, sub, "s", &n[4], 1, &n[2], 1, 0, &call, E)); /* a circle */
    REFUSED(FXIR_ALREADY_EXISTS, module, fxir_insert_subgm(module, sub, "linear", &n[1], 1, &n[2], 1, 1, &call, E));
    REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_insert_subgm(module, sub, "", &n[1], 1, &n[2], 1, 0, &call, E));
    REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_insert_subgm(module, sub, "a..b", &n[1], 1, &n[2], 1, 0, &call, E));
    REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_fuse_as_graphmodule(module, &n[2], 1, "", NULL, &call, NULL, E));
    REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_insert_subgm(module, sub, "s", &n[5], 1, &n[2], 1, 0, &call, E));
    REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_insert_subgm(module, sub, "s", &n[1], 1, &n[5], 1, 0, &call, E));
    CHECK(call == 0);
    OK(fxir_insert_subgm(module, sub, "linear", &n[1], 1, &n[2], 1, 0, &call, E));
    CHECK(!strcmp(fxir_node_target(module, call), "linear_1") && fxir_node_user_count(module, n[2]) == 0);
    CHECK(fxir_node_arg_node(module, n[3], 0) == call);
    OK(fxir_graph_erase_node(module, n[2], E));
    OK(fxir_module_lint(module, E));
    CHECK(fxir_graph_node_count(sub) == 3); /* it was copied */

    OK(fxir_lift_subgraph_as_module(module, sub, "Lifted", &lifted, E));
    CHECK(!strcmp(fxir_module_type_name(lifted), "Lifted") && targets_are(lifted, "x s output"));
    fxir_module_free(lifted);
    lifted = NULL;
    bad = call_module_1(sub, "missing", nth(sub, 0));
    FAILS(FXIR_NOT_FOUND, fxir_lift_subgraph_as_module(module, sub, NULL, &lifted, E));
    CHECK(failed.node == bad && lifted == NULL);
    OK(fxir_node_set_target(sub, bad, "linear", E));
    OK(fxir_lift_subgraph_as_module(module, sub, NULL, &lifted, E));
    CHECK(fxir_module_member_kind(lifted, "linear") == FXIR_MEMBER_SUBMODULE && fxir_module_submodule_count(lifted) == 1);
    CHECK(!strcmp(fxir_module_type_name(lifted), "GraphModule"));
    fxir_module_free(lifted);
    fxir_module_free(sub);
    fxir_module_free(module);
}

static int32_t impure(void *user_data, const fxir_module *view, fxir_node node, int32_t *verdict) {
    int32_t *state = (int32_t *)user_data;
    CHECK(*verdict == 1 || *verdict == 0);
    *verdict = strcmp(fxir_node_target(view, node), "keep") == 0;
    if (state[1]) *verdict = state[1];
    return state[0];
}

/* x -> (x, f(x)): a placeholder that is returned stays what it is. */
static void returned_placeholders(void) {
    fxir_module *module = new_module(), *pattern = new_module(), *same = new_module(), *other = new_module();
    fxir_node x;
    fxir_arg two[2], result = fxir_arg_tuple(two, 2);
    fxir_matches *matches = NULL;
    x = placeholder(module, "x");
    call_1(module, "k", x);
    output_1(module, call_2(module, "c", call_1(module, "f", call_1(module, "f", x)), x));
    x = placeholder(pattern, "x");
    two[0] = fxir_arg_node(x), two[1] = fxir_arg_node(call_1(pattern, "f", x));
    OK(fxir_graph_output(pattern, &result, NULL, E));
    x = placeholder(other, "x");
    two[0] = fxir_arg_node(call_1(other, "g", x)), two[1] = fxir_arg_node(call_1(other, "h", x));
    OK(fxir_graph_output(other, &result, NULL, E));
    REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_replace_pattern(module, pattern, other, NULL, &matches, E));
    x = placeholder(same, "x");
    two[0] = fxir_arg_node(x), two[1] = fxir_arg_node(call_1(same, "h", x));
    OK(fxir_graph_output(same, &result, NULL, E));
    OK(fxir_replace_pattern(module, pattern, same, NULL, &matches, E));
    CHECK(fxir_matches_count(matches) == 2 && targets_are(module, "x k h h c output"));
    OK(fxir_graph_lint(module, E));
    fxir_matches_free(matches);
    fxir_module_free(module);
    fxir_module_free(pattern);
    fxir_module_free(same);
    fxir_module_free(other);
}

static void small_passes(void) {
    fxir_node n[6], dead, kept;
    fxir_module *module = chain(n);
    size_t count = 77;
    int32_t state[2] = {0, 0};
    fxir_dead_code_options options;
    fxir_arg one = fxir_arg_int(1);
    fxir_args *args = NULL;
    char *before;
    dead = call_1(module, "dead", n[1]);
    dead = call_1(module, "dead", dead);
    kept = call_1(module, "keep", dead);
    fxir_dead_code_options_init(&options);
    CHECK(options.struct_size == sizeof options && !options.is_impure && !options.random_is_pure);
    options.is_impure = impure;
    options.is_impure_data = state;
    state[0] = 8;
    REFUSED(FXIR_CALLBACK, module, fxir_eliminate_dead_code(module, &options, &count, E));
    CHECK(failed.code == 8 && count == 77);
    state[0] = 0;
    state[1] = 5;
    REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_eliminate_dead_code(module, &options, &count, E));
    state[1] = 0;
    options.random_is_pure = 2;
    REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_eliminate_dead_code(module, &options, &count, E));
    options.random_is_pure = 0;
    OK(fxir_eliminate_dead_code(module, &options, &count, E));
    CHECK(count == 0);
    OK(fxir_eliminate_dead_code(module, NULL, &count, E));
    CHECK(count == 3 && fxir_node_name(module, kept) == NULL && fxir_graph_node_count(module) == 6);

    /* Legalize changes nothing in a graph that is in order. */
    before = picture(module);
    OK(fxir_legalize_graph(module, E));
    check_unchanged(module, before, "legalize", __FILE__, __LINE__);

    /* Targets. */
    REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_replace_target_nodes_with(module, FXIR_OP_PLACEHOLDER, "x", 3, "f", &count, E));
    REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_replace_target_nodes_with(module, 3, "a", FXIR_OP_OUTPUT, "f", &count, E));
    REFUSED(FXIR_NOT_FOUND, module, fxir_replace_target_nodes_with(module, 3, "a", FXIR_OP_CALL_MODULE, "none", &count, E));
    OK(fxir_replace_target_nodes_with(module, 3, "none", 3, "f", &count, E));
    CHECK(count == 0);
    OK(fxir_replace_target_nodes_with(module, 3, "a", FXIR_OP_CALL_METHOD, "m", &count, E));
    CHECK(count == 1 && fxir_node_op(module, n[1]) == FXIR_OP_CALL_METHOD && !strcmp(fxir_node_name(module, n[1]), "a"));

    /* Lowering attributes. */
    OK(fxir_module_set_attribute(module, "linear.in_features", &one, E));
    OK(fxir_lift_lowering_attrs_to_nodes(module, 0, &count, E));
    CHECK(count == 1);
    OK(fxir_node_get_meta(module, n[2], "attrs_for_lowering", &args, E));
    CHECK(fxir_args_items(args)[0].kind == FXIR_ARG_DICT);
    fxir_args_free(args);
    OK(fxir_module_set_type_name(module, "Root", E));
    {
        fxir_module *linear = NULL;
        OK(fxir_module_get_submodule(module, "linear", &linear, E));
        OK(fxir_module_set_type_name(linear, "my.Own", E));
        fxir_module_free(linear);
    }
    REFUSED(FXIR_UNSUPPORTED, module, fxir_lift_lowering_attrs_to_nodes(module, 1, &count, E));
    OK(fxir_node_set_target(module, n[2], "none", E));
    REFUSED(FXIR_NOT_FOUND, module, fxir_lift_lowering_attrs_to_nodes(module, 0, &count, E));
    fxir_module_free(module);
}

static void bytes(void) {
    fxir_node n[6];
    fxir_module *module = chain(n);
    fxir_tensor *weight = NULL;
    fxir_tensor_meta meta = a_meta();
    fxir_node_size size, all[8];
    float data[6] = {0};
    int64_t shape[2] = {3, 2}, huge[2];
    size_t count = 77, i;
    OK(fxir_tensor_copy(FXIR_DTYPE_FLOAT32, shape, 2, data, 24, &weight, E));
    OK(fxir_module_set_tensor(module, "linear.weight", FXIR_MEMBER_PARAMETER, weight, E));
    fxir_tensor_free(weight);
    memset(&size, 0xaa, sizeof size);
    FAILS(FXIR_NOT_FOUND, fxir_get_size_of_node(module, n[2], FXIR_SIZE_IN_OWN_DTYPE, &size, E));
    for (i = 0; i < 4; i++) OK(fxir_node_set_tensor_meta(module, n[i], &meta, E));
    FAILS(FXIR_NOT_FOUND, fxir_get_size_of_all_nodes(module, FXIR_SIZE_IN_OWN_DTYPE, all, 8, &count, E));
    CHECK(failed.node == n[4] && count == 77);
    OK(fxir_node_set_tensor_meta(module, n[4], &meta, E));
    OK(fxir_get_size_of_node(module, n[2], FXIR_SIZE_IN_OWN_DTYPE, &size, E));
    CHECK(size.node == n[2] && size.output_bytes == 24 && size.total_bytes == 48);
    memset(all, 0, sizeof all);
    OK(fxir_get_size_of_all_nodes(module, FXIR_SIZE_IN_OWN_DTYPE, all, 2, &count, E));
    CHECK(count == 5 && all[1].node == n[1] && all[2].node == 0);
    OK(fxir_get_size_of_all_nodes(module, FXIR_SIZE_IN_DTYPE_OF_OUTPUT, all, 8, NULL, E));
    CHECK(all[4].node == n[4] && all[4].total_bytes == 24);
    OK(fxir_get_size_of_all_nodes(module, FXIR_SIZE_IN_OWN_DTYPE, NULL, 0, &count, E));
    CHECK(count == 5);
    /* Sizes that nothing can have. */
    huge[0] = huge[1] = (int64_t)1 << 40;
    meta.shape = huge;
    meta.stride = NULL;
    if (fxir_node_set_tensor_meta(module, n[4], &meta, NULL) == FXIR_OK) {
        fxir_status status = fxir_get_size_of_node(module, n[4], FXIR_SIZE_IN_OWN_DTYPE, &size, NULL);
        CHECK(status != FXIR_OK && status != FXIR_PANIC);
        status = fxir_get_size_of_all_nodes(module, FXIR_SIZE_IN_DTYPE_OF_OUTPUT, all, 8, &count, NULL);
        CHECK(status != FXIR_OK && status != FXIR_PANIC);
    }
    fxir_module_free(module);
}

/* Rewrites of graphs made at random. Each leaves a graph that lints, with as many matches replaced as
 * were found; a rewrite that is refused half-way by its filter leaves the graph as it was. */
static int32_t stop_at(void *user_data, const fxir_module *view, const fxir_matches *matches, int32_t *verdict) {
    int *left = (int *)user_data;
    (void)view, (void)matches, (void)verdict;
    return (*left)-- == 0 ? 99 : 0;
}

static void random_rewrites(void) {
    static const char *const targets[] = {"f", "g", "h"};
    uint64_t state = 4242;
    int round;
    for (round = 0; round < 150; round++) {
        fxir_module *module = new_module(), *pattern = new_module(), *replacement = new_module();
        fxir_node nodes[64], p[6], matched[1], call;
        size_t count = 0, i, size = 5 + (size_t)(check_random(&state) % 50), found;
        fxir_matches *matches = NULL;
        fxir_match_options options;
        int left;
        nodes[count++] = placeholder(module, "x");
        nodes[count++] = placeholder(module, "y");
        while (count < size) {
            uint64_t pick = check_random(&state);
            fxir_node a = nodes[count - 1 - (pick % count) / 2], b = nodes[(pick >> 20) % count];
            nodes[count++] = pick >> 40 & 1 ? call_1(module, targets[pick >> 50 & 1], a) : call_2(module, targets[(pick >> 50) % 3], a, b);
        }
        output_1(module, nodes[count - 1]);
        /* A pattern of one to four nodes over one or two placeholders. */
        p[0] = placeholder(pattern, "a");
        p[1] = placeholder(pattern, "b");
        call = check_random(&state) & 1 ? call_2(pattern, "f", p[0], p[1]) : call_1(pattern, "f", p[0]);
        if (check_random(&state) & 1) call = call_1(pattern, "g", call);
        if (check_random(&state) & 1) call = call_2(pattern, "h", call, check_random(&state) & 1 ? p[1] : call);
        output_1(pattern, call);
        p[2] = placeholder(replacement, "a");
        p[3] = placeholder(replacement, "b");
        switch (check_random(&state) % 3) {
        case 0: output_1(replacement, p[2]); break; /* nothing stays */
        case 1: output_1(replacement, call_1(replacement, "k", p[2])); break;
        default: output_1(replacement, call_2(replacement, "f", call_1(replacement, "f", p[2]), p[2])); break;
        }
        fxir_match_options_init(&options);
        if (fxir_match_pattern(module, pattern, NULL, &matches, NULL) == FXIR_OK) {
            found = fxir_matches_count(matches);
            fxir_matches_free(matches);
            options.filter = stop_at;
            options.filter_data = &left;
            for (i = 0; i < found; i++) {
                left = (int)i;
                REFUSED(FXIR_CALLBACK, module, fxir_replace_pattern(module, pattern, replacement, &options, NULL, E));
            }
            options.filter = NULL;
            matches = NULL;
            if (OK(fxir_replace_pattern(module, pattern, replacement, &options, &matches, E))) {
                CHECK(fxir_matches_count(matches) == found);
                for (i = 0; i < found; i++) /* no node is replaced by two */
                    if (fxir_matches_anchors(matches, i, matched, 1)) CHECK(fxir_node_name(module, matched[0]) == NULL);
                fxir_matches_free(matches);
            }
            OK(fxir_module_lint(module, E));
            OK(fxir_eliminate_dead_code(module, NULL, NULL, E));
            OK(fxir_module_lint(module, E));
            /* A set of nodes at random becomes one, or is refused as validate_partition says. */
            {
                fxir_node all[200], set[200];
                size_t n = fxir_graph_nodes(module, all, 200), taken = 0;
                int32_t valid = 0;
                fxir_status status;
                char *before = picture(module);
                for (i = 2; n < 200 && i + 1 < n; i++)
                    if (check_random(&state) % 3 == 0) set[taken++] = all[i];
                if (taken) {
                    OK(fxir_validate_partition(module, set, taken, &valid, E));
                    status = fxir_fuse_as_graphmodule(module, set, taken, "fused", NULL, NULL, NULL, NULL);
                    CHECK(status == (valid ? FXIR_OK : FXIR_INVALID_ARGUMENT));
                    if (status != FXIR_OK) check_unchanged(module, before, "fuse", __FILE__, __LINE__), before = NULL;
                    OK(fxir_module_lint(module, E));
                }
                free(before);
            }
        }
        fxir_module_free(module);
        fxir_module_free(pattern);
        fxir_module_free(replacement);
    }
}

int main(void) {
    matching();
    inner_uses();
    refused_patterns();
    options();
    modules();
    members();
    filters();
    one_tree();
    metadata();
    sizes_of_options();
    fusing();
    inserting();
    returned_placeholders();
    small_passes();
    bytes();
    random_rewrites();
    return check_result();
}
