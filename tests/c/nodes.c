/* Nodes: what is no node of the graph is refused, edits keep users and order as torch does, and an
 * edit that fails changes nothing. */
#include "check.h"

static fxir_node create(fxir_module *module, int32_t op, const char *target, fxir_node input, const char *name,
                        int32_t position, fxir_node anchor) {
    fxir_arg arg = fxir_arg_node(input);
    fxir_node node = 0;
    OK(fxir_graph_create_node(module, op, target, input ? &arg : NULL, input ? 1 : 0, NULL, 0, name, position, anchor,
                              &node, E));
    return node;
}

/* Every call that takes a node refuses this one, whatever its place among the parameters. */
static void is_refused_everywhere(fxir_module *module, fxir_node live, fxir_node bad) {
    fxir_arg arg = fxir_arg_node(bad), wrap, literal = fxir_arg_int(1);
    fxir_kwarg kwarg = fxir_kwarg_of("k", arg);
    fxir_args *args = NULL;
    fxir_values *values = NULL;
    fxir_node node = 77, some[4];
    fxir_node_size size;
    fxir_node_pair pair;
    fxir_tensor_meta meta;
    fxir_value value;
    size_t changed = 77;
    int32_t valid = 77;
    int64_t shape[2];
    fxir_module *fused = NULL;
    memset(&size, 0, sizeof size);
    memset(&value, 0, sizeof value);
    fxir_tensor_meta_init(&meta);
    meta.dtype = FXIR_DTYPE_FLOAT32;

    CHECK(fxir_graph_next(module, bad) == 0 && fxir_graph_prev(module, bad) == 0);
    CHECK(fxir_node_op(module, bad) == 0 && fxir_node_op_name(module, bad) == NULL);
    CHECK(fxir_node_name(module, bad) == NULL && fxir_node_target(module, bad) == NULL);
    CHECK(fxir_node_type(module, bad) == NULL && fxir_node_comment(module, bad) == NULL);
    CHECK(fxir_node_arg_count(module, bad) == 0 && fxir_node_arg_node(module, bad, 0) == 0);
    CHECK(fxir_node_user_count(module, bad) == 0 && fxir_node_users(module, bad, some, 4) == 0);
    CHECK(fxir_node_input_nodes(module, bad, some, 4) == 0);
    CHECK(fxir_node_is_before(module, bad, live) == 0 && fxir_node_is_before(module, live, bad) == 0);
    CHECK(fxir_node_dtype(module, bad) == FXIR_DTYPE_NONE && fxir_node_shape(module, bad, shape, 2) == 0);
    CHECK(fxir_node_meta_count(module, bad) == 0 && fxir_node_meta_key(module, bad, 0) == NULL);

    wrap = fxir_arg_list(&arg, 1);
    REFUSED(FXIR_STALE_NODE, module, fxir_graph_call_function(module, "f", &arg, 1, NULL, 0, &node, E));
    REFUSED(FXIR_STALE_NODE, module, fxir_graph_call_function(module, "f", &wrap, 1, NULL, 0, &node, E));
    REFUSED(FXIR_STALE_NODE, module, fxir_graph_call_function(module, "f", NULL, 0, &kwarg, 1, &node, E));
    REFUSED(FXIR_STALE_NODE, module, fxir_graph_call_method(module, "f", &arg, 1, NULL, 0, &node, E));
    REFUSED(FXIR_STALE_NODE, module, fxir_graph_call_module(module, "f", &arg, 1, NULL, 0, &node, E));
    REFUSED(FXIR_STALE_NODE, module,
            fxir_graph_create_node(module, FXIR_OP_CALL_FUNCTION, "f", &arg, 1, NULL, 0, NULL, 0, 0, &node, E));
    REFUSED(FXIR_STALE_NODE, module,
            fxir_graph_create_node(module, FXIR_OP_CALL_FUNCTION, "f", NULL, 0, NULL, 0, NULL, FXIR_AT_BEFORE, bad,
                                   &node, E));
    REFUSED(FXIR_STALE_NODE, module,
            fxir_graph_create_node(module, FXIR_OP_CALL_FUNCTION, "f", NULL, 0, NULL, 0, NULL, FXIR_AT_AFTER, bad,
                                   &node, E));
    REFUSED(FXIR_STALE_NODE, module, fxir_node_args(module, bad, &args, E));
    REFUSED(FXIR_STALE_NODE, module, fxir_node_set_op(module, bad, FXIR_OP_CALL_METHOD, E));
    REFUSED(FXIR_STALE_NODE, module, fxir_node_set_target(module, bad, "t", E));
    REFUSED(FXIR_STALE_NODE, module, fxir_node_set_name(module, bad, "n", E));
    REFUSED(FXIR_STALE_NODE, module, fxir_node_set_type(module, bad, "t", E));
    REFUSED(FXIR_STALE_NODE, module, fxir_node_set_type(module, bad, NULL, E));
    REFUSED(FXIR_STALE_NODE, module, fxir_node_set_comment(module, bad, "t", E));
    REFUSED(FXIR_STALE_NODE, module, fxir_node_set_args(module, bad, &literal, 1, E));
    REFUSED(FXIR_STALE_NODE, module, fxir_node_set_args(module, live, &arg, 1, E));
    REFUSED(FXIR_STALE_NODE, module, fxir_node_set_kwargs(module, bad, NULL, 0, E));
    REFUSED(FXIR_STALE_NODE, module, fxir_node_set_kwargs(module, live, &kwarg, 1, E));
    REFUSED(FXIR_STALE_NODE, module, fxir_node_set_arg(module, bad, 0, &literal, E));
    REFUSED(FXIR_STALE_NODE, module, fxir_node_insert_arg(module, bad, 0, &literal, E));
    REFUSED(FXIR_STALE_NODE, module, fxir_node_insert_arg(module, live, 0, &wrap, E));
    REFUSED(FXIR_STALE_NODE, module, fxir_node_set_kwarg(module, bad, "k", &literal, E));
    REFUSED(FXIR_STALE_NODE, module, fxir_node_set_kwarg(module, live, "k", &wrap, E));
    REFUSED(FXIR_STALE_NODE, module, fxir_node_move_before(module, bad, live, E));
    REFUSED(FXIR_STALE_NODE, module, fxir_node_move_before(module, live, bad, E));
    REFUSED(FXIR_STALE_NODE, module, fxir_node_move_after(module, bad, live, E));
    REFUSED(FXIR_STALE_NODE, module, fxir_node_move_after(module, live, bad, E));
    REFUSED(FXIR_STALE_NODE, module, fxir_graph_erase_node(module, bad, E));
    REFUSED(FXIR_STALE_NODE, module, fxir_node_replace_all_uses_with(module, bad, live, NULL, NULL, &changed, E));
    REFUSED(FXIR_STALE_NODE, module, fxir_node_replace_all_uses_with(module, live, bad, NULL, NULL, &changed, E));
    REFUSED(FXIR_STALE_NODE, module, fxir_node_replace_input_with(module, bad, live, live, E));
    REFUSED(FXIR_STALE_NODE, module, fxir_node_replace_input_with(module, live, bad, live, E));
    REFUSED(FXIR_STALE_NODE, module, fxir_node_replace_input_with(module, live, live, bad, E));
    REFUSED(FXIR_STALE_NODE, module, fxir_node_value(module, bad, &values, E));
    REFUSED(FXIR_STALE_NODE, module, fxir_node_set_value(module, bad, &value, E));
    REFUSED(FXIR_STALE_NODE, module, fxir_node_set_value(module, bad, NULL, E));
    REFUSED(FXIR_STALE_NODE, module, fxir_node_set_tensor_meta(module, bad, &meta, E));
    REFUSED(FXIR_STALE_NODE, module, fxir_node_get_meta(module, bad, "k", &args, E));
    REFUSED(FXIR_STALE_NODE, module, fxir_node_set_meta(module, bad, "k", &literal, E));
    REFUSED(FXIR_STALE_NODE, module, fxir_node_delete_meta(module, bad, "k", E));
    REFUSED(FXIR_STALE_NODE, module, fxir_get_size_of_node(module, bad, FXIR_SIZE_IN_OWN_DTYPE, &size, E));
    REFUSED(FXIR_STALE_NODE, module, fxir_fuse_as_graphmodule(module, &bad, 1, "n", NULL, &node, &fused, E));
    REFUSED(FXIR_STALE_NODE, module, fxir_validate_partition(module, &bad, 1, &valid, E));
    pair.from = bad;
    pair.to = live;
    REFUSED(FXIR_STALE_NODE, module, fxir_graph_copy(module, module, &pair, 1, 0, 0, NULL, &args, NULL, E));
    REFUSED(FXIR_STALE_NODE, module, fxir_graph_node_copy(module, module, live, &pair, 1, 0, 0, NULL, &node, E));
    pair.from = live;
    pair.to = bad;
    REFUSED(FXIR_STALE_NODE, module, fxir_graph_copy(module, module, &pair, 1, 0, 0, NULL, &args, NULL, E));
    REFUSED(FXIR_STALE_NODE, module, fxir_graph_node_copy(module, module, live, &pair, 1, 0, 0, NULL, &node, E));
    REFUSED(FXIR_STALE_NODE, module, fxir_graph_node_copy(module, module, bad, NULL, 0, 0, 0, NULL, &node, E));
    REFUSED(FXIR_STALE_NODE, module, fxir_graph_node_copy(module, module, live, NULL, 0, FXIR_AT_AFTER, bad, NULL, &node, E));
    REFUSED(FXIR_STALE_NODE, module, fxir_graph_copy(module, module, NULL, 0, FXIR_AT_BEFORE, bad, NULL, &args, NULL, E));
    {
        fxir_module *sub = new_module();
        output_1(sub, call_1(sub, "f", placeholder(sub, "x")));
        REFUSED(FXIR_STALE_NODE, module, fxir_insert_subgm(module, sub, "n", &bad, 1, &live, 1, 0, &node, E));
        REFUSED(FXIR_STALE_NODE, module, fxir_insert_subgm(module, sub, "n", &live, 1, &bad, 1, 0, &node, E));
        fxir_module_free(sub);
    }
    CHECK(node == 77 && changed == 77 && valid == 77 && args == NULL && values == NULL && fused == NULL);
}

static void what_is_no_node(void) {
    fxir_module *module = new_module(), *other = new_module(), *clone = NULL, *sub = NULL;
    fxir_node x = placeholder(module, "x"), y = call_1(module, "f", x), gone = call_1(module, "f", y);
    fxir_node foreign = placeholder(other, "x"), again, cloned, below;
    int i;
    uint64_t state = 3;
    OK(fxir_graph_erase_node(module, gone, E));
    is_refused_everywhere(module, y, 0);
    is_refused_everywhere(module, y, gone);
    is_refused_everywhere(module, y, foreign);
    again = call_1(module, "g", y); /* takes the slot of the one that is gone */
    CHECK(again != gone);
    is_refused_everywhere(module, y, gone);
    is_refused_everywhere(module, y, UINT64_MAX);
    is_refused_everywhere(module, y, x ^ 1);
    is_refused_everywhere(module, y, x + ((uint64_t)1 << 40));
    is_refused_everywhere(module, y, x + 1);
    for (i = 0; i < 20000; i++) {
        fxir_node made_up = i % 2 ? check_random(&state) : x + (check_random(&state) % 4096) * ((uint64_t)1 << (i % 60));
        if (made_up == x || made_up == y || made_up == again) continue;
        CHECK(fxir_node_name(module, made_up) == NULL);
    }
    /* A copy has nodes of its own, and so has a module below. */
    OK(fxir_module_clone(module, &clone, NULL, E));
    cloned = fxir_graph_first(clone);
    CHECK(cloned && cloned != x && !strcmp(fxir_node_name(clone, cloned), "x"));
    is_refused_everywhere(module, y, cloned);
    is_refused_everywhere(clone, fxir_graph_next(clone, cloned), x);
    OK(fxir_module_add_submodule(module, "sub", FXIR_MODULE_GRAPH, "T", &sub, E));
    below = placeholder(sub, "x");
    is_refused_everywhere(module, y, below);
    is_refused_everywhere(sub, below, x);
    fxir_module_free(sub);
    fxir_module_free(module);
    fxir_module_free(other);
    fxir_module_free(clone);
}

static void numbers_that_mean_nothing(void) {
    static const int32_t wrong[] = {-1, 7, 8, 100, 256, 0x10001, INT32_MAX, INT32_MIN};
    fxir_module *module = new_module(), *sub = NULL;
    fxir_node x = placeholder(module, "x"), y = call_1(module, "f", x), node = 0, out;
    fxir_arg one = fxir_arg_int(1);
    fxir_node_size size;
    size_t i;
    memset(&size, 0, sizeof size);
    out = output_1(module, y);
    for (i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        int32_t number = wrong[i];
        REFUSED(FXIR_INVALID_ARGUMENT, module,
                fxir_graph_create_node(module, number, "f", NULL, 0, NULL, 0, NULL, 0, 0, &node, E));
        REFUSED(FXIR_INVALID_ARGUMENT, module,
                fxir_graph_create_node(module, FXIR_OP_CALL_FUNCTION, "f", NULL, 0, NULL, 0, NULL, number, y, &node, E));
        REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_node_set_op(module, y, number, E));
        REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_module_add_submodule(module, "s", number, "T", &sub, E));
        REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_replace_target_nodes_with(module, number, "f", 3, "g", NULL, E));
        REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_replace_target_nodes_with(module, 3, "f", number, "g", NULL, E));
        REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_get_size_of_node(module, y, number, &size, E));
        REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_get_size_of_all_nodes(module, number, NULL, 0, NULL, E));
        REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_graph_copy(module, module, NULL, 0, number, y, NULL, NULL, NULL, E));
        REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_graph_node_copy(module, module, y, NULL, 0, number, y, NULL, NULL, E));
        REFUSED(FXIR_INVALID_ARGUMENT, module,
                fxir_lift_lowering_attrs_to_nodes(module, number == INT32_MIN ? 2 : number, NULL, E));
    }
    REFUSED(FXIR_INVALID_ARGUMENT, module,
            fxir_graph_create_node(module, 0, "f", NULL, 0, NULL, 0, NULL, 0, 0, &node, E));
    REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_node_set_op(module, y, 0, E));
    /* Placeholders and the output stay what they are. */
    REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_node_set_op(module, x, FXIR_OP_CALL_FUNCTION, E));
    REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_node_set_op(module, y, FXIR_OP_PLACEHOLDER, E));
    REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_node_set_op(module, y, FXIR_OP_OUTPUT, E));
    REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_node_set_op(module, out, FXIR_OP_CALL_FUNCTION, E));
    OK(fxir_node_set_op(module, y, FXIR_OP_CALL_METHOD, E));
    CHECK(fxir_node_op(module, y) == FXIR_OP_CALL_METHOD && !strcmp(fxir_node_op_name(module, y), "call_method"));
    OK(fxir_node_set_op(module, y, FXIR_OP_CALL_FUNCTION, E));
    OK(fxir_node_set_op(module, x, FXIR_OP_PLACEHOLDER, E));
    /* Indexes. */
    REFUSED(FXIR_OUT_OF_RANGE, module, fxir_node_set_arg(module, y, 1, &one, E));
    CHECK(failed.node == y);
    REFUSED(FXIR_OUT_OF_RANGE, module, fxir_node_set_arg(module, y, SIZE_MAX, &one, E));
    REFUSED(FXIR_OUT_OF_RANGE, module, fxir_node_insert_arg(module, y, 2, &one, E));
    REFUSED(FXIR_OUT_OF_RANGE, module, fxir_node_insert_arg(module, y, SIZE_MAX, &one, E));
    REFUSED(FXIR_OUT_OF_RANGE, module, fxir_node_set_arg(module, x, 0, &one, E));
    CHECK(fxir_node_arg_node(module, y, 0) == x && fxir_node_arg_node(module, y, 1) == 0);
    CHECK(fxir_node_arg_node(module, y, SIZE_MAX) == 0);
    CHECK(fxir_node_meta_key(module, y, 0) == NULL && fxir_node_meta_key(module, y, SIZE_MAX) == NULL);
    /* A second output, by every way. */
    REFUSED(FXIR_ALREADY_EXISTS, module, fxir_graph_output(module, &one, &node, E));
    REFUSED(FXIR_ALREADY_EXISTS, module,
            fxir_graph_create_node(module, FXIR_OP_OUTPUT, "output", &one, 1, NULL, 0, NULL, 0, 0, &node, E));
    REFUSED(FXIR_ALREADY_EXISTS, module, fxir_graph_node_copy(module, module, out, NULL, 0, 0, 0, NULL, &node, E));
    CHECK(node == 0 && sub == NULL);
    fxir_module_free(module);
}

static void texts(void) {
    static const char *const bad[] = {"\xff", "a\xc3", "\xc0\xaf", "\xed\xbf\xbf"};
    fxir_module *module = new_module();
    fxir_node x = placeholder(module, "x"), y = call_1(module, "f", x), node = 0;
    const char *name, *target;
    size_t i;
    for (i = 0; i < sizeof bad / sizeof *bad; i++) {
        REFUSED(FXIR_INVALID_UTF8, module, fxir_graph_placeholder(module, bad[i], &node, E));
        REFUSED(FXIR_INVALID_UTF8, module, fxir_graph_get_attr(module, bad[i], &node, E));
        REFUSED(FXIR_INVALID_UTF8, module, fxir_graph_call_function(module, bad[i], NULL, 0, NULL, 0, &node, E));
        REFUSED(FXIR_INVALID_UTF8, module,
                fxir_graph_create_node(module, 3, "f", NULL, 0, NULL, 0, bad[i], 0, 0, &node, E));
        REFUSED(FXIR_INVALID_UTF8, module, fxir_node_set_target(module, y, bad[i], E));
        REFUSED(FXIR_INVALID_UTF8, module, fxir_node_set_name(module, y, bad[i], E));
        REFUSED(FXIR_INVALID_UTF8, module, fxir_node_set_type(module, y, bad[i], E));
        REFUSED(FXIR_INVALID_UTF8, module, fxir_node_set_comment(module, y, bad[i], E));
        CHECK(fxir_graph_find_node(module, bad[i]) == 0);
    }
    /* Names are made legal and unique; texts that were read stay whatever is edited. */
    name = fxir_node_name(module, y);
    target = fxir_node_target(module, y);
    OK(fxir_node_set_name(module, y, "x", E));
    CHECK(!strcmp(fxir_node_name(module, y), "x_1"));
    OK(fxir_node_set_name(module, y, "1 + \xc3\xa4", E));
    CHECK(fxir_node_name(module, y)[0] == '_');
    OK(fxir_node_set_name(module, y, "", E));
    CHECK(!strcmp(fxir_node_name(module, y), "_unnamed"));
    OK(fxir_node_set_name(module, y, "for", E));
    CHECK(strcmp(fxir_node_name(module, y), "for") != 0);
    REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_node_set_target(module, y, "", E));
    REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_graph_placeholder(module, "", NULL, E));
    REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_graph_get_attr(module, "", NULL, E));
    REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_graph_call_function(module, "", NULL, 0, NULL, 0, NULL, E));
    OK(fxir_node_set_target(module, y, "\xe2\x82\xac.\xc3\xa4", E));
    CHECK(!strcmp(fxir_node_target(module, y), "\xe2\x82\xac.\xc3\xa4"));
    CHECK(!strcmp(name, "f") && !strcmp(target, "f"));
    OK(fxir_node_set_type(module, y, "torch.Tensor", E));
    OK(fxir_node_set_comment(module, y, "a\nb", E));
    CHECK(!strcmp(fxir_node_type(module, y), "torch.Tensor") && !strcmp(fxir_node_comment(module, y), "a\nb"));
    OK(fxir_node_set_type(module, y, NULL, E));
    OK(fxir_node_set_comment(module, y, NULL, E));
    CHECK(fxir_node_type(module, y) == NULL && fxir_node_comment(module, y) == NULL);
    name = fxir_node_name(module, y);
    OK(fxir_graph_erase_node(module, y, E));
    CHECK(strlen(name) > 0); /* it outlives its node */
    for (i = 0; i < 5000; i++) {
        char some[32];
        snprintf(some, sizeof some, "node_%zu", i * 7 % 5000);
        OK(fxir_graph_placeholder(module, some, &node, E));
        if (i % 2) OK(fxir_graph_erase_node(module, node, E));
    }
    OK(fxir_graph_lint(module, E));
    fxir_module_free(module);
}

static void order(void) {
    fxir_module *module = new_module();
    fxir_node x = placeholder(module, "x"), a, b, c, y, out, all[16];
    a = call_1(module, "a", x);
    b = call_1(module, "b", a);
    CHECK(fxir_graph_output_node(module) == 0 && fxir_graph_last(module) == b);
    out = output_1(module, b);
    /* At the default place order stays legal. */
    c = call_1(module, "c", b);
    y = placeholder(module, "y");
    CHECK(graph_is(module, "x y a b c output"));
    CHECK(fxir_graph_output_node(module) == out && fxir_graph_first(module) == x && fxir_graph_last(module) == out);
    OK(fxir_graph_lint(module, E));
    create(module, FXIR_OP_CALL_FUNCTION, "d", a, NULL, FXIR_AT_BEFORE, b);
    create(module, FXIR_OP_CALL_FUNCTION, "e", a, NULL, FXIR_AT_AFTER, b);
    create(module, FXIR_OP_CALL_METHOD, "e", a, "named", FXIR_AT_AFTER, a);
    create(module, FXIR_OP_PLACEHOLDER, "z", 0, NULL, FXIR_AT_BEFORE, x);
    create(module, FXIR_OP_PLACEHOLDER, "w", 0, NULL, FXIR_AT_DEFAULT, 0);
    CHECK(graph_is(module, "z x y w a named d b e c output"));
    OK(fxir_graph_lint(module, E));
    CHECK(fxir_node_is_before(module, a, b) == 1 && fxir_node_is_before(module, b, a) == 0);
    CHECK(fxir_node_is_before(module, a, a) == 0);
    CHECK(fxir_graph_node_count(module) == 11 && fxir_graph_nodes(module, all, 16) == 11);
    CHECK(fxir_graph_nodes(module, NULL, 0) == 11);
    memset(all, 0, sizeof all);
    CHECK(fxir_graph_nodes(module, all, 2) == 11 && all[1] == x && all[2] == 0);
    CHECK(fxir_graph_find_node(module, "named") == fxir_graph_next(module, a));
    CHECK(fxir_graph_find_node(module, "none") == 0 && fxir_graph_find_node(module, "") == 0);
    CHECK(fxir_graph_prev(module, fxir_graph_first(module)) == 0 && fxir_graph_next(module, out) == 0);
    /* Before and after itself: nothing happens. */
    OK(fxir_node_move_before(module, b, b, E));
    OK(fxir_node_move_after(module, b, b, E));
    OK(fxir_node_move_before(module, a, fxir_graph_next(module, a), E));
    OK(fxir_node_move_after(module, b, fxir_graph_prev(module, b), E));
    CHECK(graph_is(module, "z x y w a named d b e c output"));
    OK(fxir_node_move_before(module, c, a, E));
    CHECK(graph_is(module, "z x y w c a named d b e output"));
    FAILS(FXIR_LINT, fxir_graph_lint(module, E)); /* c uses b */
    CHECK(failed.node == c && strstr(failed.message, "c"));
    OK(fxir_legalize_graph(module, E));
    OK(fxir_graph_lint(module, E));
    OK(fxir_node_move_after(module, c, out, E));
    FAILS(FXIR_LINT, fxir_graph_lint(module, E));
    OK(fxir_legalize_graph(module, E));
    CHECK(fxir_graph_last(module) == out);
    /* A placeholder among the others, then back. */
    OK(fxir_node_move_after(module, y, c, E));
    FAILS(FXIR_LINT, fxir_graph_lint(module, E));
    CHECK(failed.node == y);
    placeholder(module, "v");
    CHECK(graph_is(module, "z x w v a named d b e c y output") || graph_is(module, "z x w v a named d b c e y output") ||
          fxir_graph_node_count(module) == 12);
    OK(fxir_legalize_graph(module, E));
    OK(fxir_graph_lint(module, E));
    /* A placeholder put after an operation by the one who asks for it. */
    create(module, FXIR_OP_PLACEHOLDER, "late", 0, NULL, FXIR_AT_AFTER, a);
    FAILS(FXIR_LINT, fxir_graph_lint(module, E));
    OK(fxir_legalize_graph(module, E));
    OK(fxir_graph_lint(module, E));
    CHECK(fxir_node_op(module, fxir_graph_first(module)) == FXIR_OP_PLACEHOLDER);
    fxir_module_free(module);
}

/* Users stand in the order in which torch's dict of them has them. */
static void users(void) {
    fxir_module *module = new_module();
    fxir_node x = placeholder(module, "x"), y = placeholder(module, "y"), a, b, c, inputs[4];
    fxir_arg args[3], list[2], one = fxir_arg_int(1), slice[3], entry[2];
    fxir_kwarg kwarg;
    a = call_1(module, "a", x);
    b = call_2(module, "b", x, x); /* a node is a user once, however often it mentions the other */
    c = call_2(module, "c", y, x);
    CHECK(fxir_node_user_count(module, x) == 3 && users_are(module, x, "a b c") && users_are(module, y, "c"));
    CHECK(fxir_node_input_nodes(module, b, inputs, 4) == 1 && inputs[0] == x);
    CHECK(fxir_node_input_nodes(module, c, inputs, 4) == 2 && inputs[0] == y && inputs[1] == x);
    /* An assignment takes the uses away and makes them anew, at the end. */
    args[0] = fxir_arg_node(x);
    OK(fxir_node_set_args(module, a, args, 1, E));
    CHECK(users_are(module, x, "b c a"));
    OK(fxir_node_set_arg(module, b, 0, &one, E));
    CHECK(users_are(module, x, "c a b"));
    OK(fxir_node_set_arg(module, b, 1, &one, E));
    CHECK(users_are(module, x, "c a") && fxir_node_input_nodes(module, b, NULL, 0) == 0);
    /* Anywhere in the arguments. */
    slice[0] = slice[1] = fxir_arg_none();
    slice[2] = fxir_arg_node(x);
    entry[0] = fxir_arg_str("key");
    entry[1] = fxir_arg_slice(slice);
    list[0] = fxir_arg_dict(entry, 1);
    list[1] = fxir_arg_node(y);
    kwarg = fxir_kwarg_of("k", fxir_arg_tuple(list, 2));
    OK(fxir_node_set_kwargs(module, b, &kwarg, 1, E));
    CHECK(users_are(module, x, "c a b") && users_are(module, y, "c b"));
    OK(fxir_node_replace_input_with(module, b, x, a, E));
    CHECK(users_are(module, x, "c a") && users_are(module, a, "b") && users_are(module, y, "c b"));
    OK(fxir_node_replace_input_with(module, b, c, x, E)); /* it does not use c */
    CHECK(users_are(module, x, "c a"));
    REFUSED(FXIR_IN_USE, module, fxir_graph_erase_node(module, a, E));
    CHECK(failed.node == a && strstr(failed.message, "b"));
    OK(fxir_node_set_kwargs(module, b, NULL, 0, E));
    OK(fxir_graph_erase_node(module, b, E));
    CHECK(users_are(module, a, "") && users_are(module, y, "c"));
    OK(fxir_graph_erase_node(module, a, E));
    CHECK(users_are(module, x, "c"));
    /* A node that uses itself has a user: it cannot be erased until it does not. */
    args[0] = fxir_arg_node(c);
    OK(fxir_node_set_args(module, c, args, 1, E));
    CHECK(users_are(module, c, "c") && users_are(module, x, ""));
    REFUSED(FXIR_IN_USE, module, fxir_graph_erase_node(module, c, E));
    REFUSED(FXIR_LINT, module, fxir_graph_lint(module, E));
    REFUSED(FXIR_LINT, module, fxir_legalize_graph(module, E));
    OK(fxir_node_set_args(module, c, NULL, 0, E));
    OK(fxir_graph_erase_node(module, c, E));
    fxir_module_free(module);
}

typedef struct asked {
    fxir_module *module;
    const char *yes; /* names of users to say yes to */
    int32_t returns, verdict;
    char seen[200];
    int checks;
} asked;

static int32_t ask(void *user_data, const fxir_module *view, fxir_node node, int32_t *verdict) {
    asked *a = (asked *)user_data;
    const char *name = fxir_node_name(view, node);
    CHECK(*verdict == 1);
    strcat(strcat(a->seen, name), " ");
    CHECK(fxir_graph_node_count(view) > 0);
    /* The module itself is busy, and only the view reads. */
    FAILS(FXIR_BUSY, fxir_graph_placeholder(a->module, "p", NULL, E));
    FAILS(FXIR_BUSY, fxir_graph_lint(a->module, E));
    FAILS(FXIR_BUSY, fxir_graph_placeholder((fxir_module *)view, "p", NULL, E));
    CHECK(fxir_graph_node_count(a->module) == 0);
    a->checks++;
    *verdict = a->verdict >= 0 ? a->verdict : strstr(a->yes, name) != NULL;
    return a->returns;
}

static void replacing_uses(void) {
    fxir_module *module = new_module();
    fxir_node x = placeholder(module, "x"), y = placeholder(module, "y"), a, w;
    size_t changed = 77;
    asked with;
    memset(&with, 0, sizeof with);
    with.module = module;
    with.yes = "b c";
    with.verdict = -1;
    a = call_1(module, "a", x);
    call_2(module, "b", x, x);
    call_1(module, "c", x);
    output_1(module, a);
    OK(fxir_node_replace_all_uses_with(module, x, y, ask, &with, &changed, E));
    CHECK(changed == 2 && !strcmp(with.seen, "a b c "));
    CHECK(users_are(module, x, "a") && users_are(module, y, "b c"));
    with.seen[0] = 0;
    with.returns = -7;
    REFUSED(FXIR_CALLBACK, module, fxir_node_replace_all_uses_with(module, y, x, ask, &with, &changed, E));
    CHECK(failed.code == -7 && changed == 2 && !strcmp(with.seen, "b "));
    with.returns = 0;
    with.verdict = 2;
    with.seen[0] = 0;
    REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_node_replace_all_uses_with(module, y, x, ask, &with, &changed, E));
    with.verdict = INT32_MIN + 3;
    OK(fxir_node_replace_all_uses_with(module, y, x, NULL, NULL, &changed, E));
    CHECK(changed == 2 && users_are(module, x, "a b c"));
    OK(fxir_node_replace_all_uses_with(module, x, x, NULL, NULL, &changed, E));
    CHECK(changed == 0 && users_are(module, x, "a b c"));
    /* A node can be wrapped: the wrapper keeps what it has. */
    w = create(module, FXIR_OP_CALL_FUNCTION, "wrap", x, NULL, FXIR_AT_AFTER, y);
    OK(fxir_node_replace_all_uses_with(module, x, w, NULL, NULL, &changed, E));
    CHECK(changed == 3 && users_are(module, x, "wrap") && users_are(module, w, "a b c"));
    OK(fxir_graph_lint(module, E));
    /* No users, nobody asked. */
    with.checks = 0;
    OK(fxir_node_replace_all_uses_with(module, y, x, ask, &with, &changed, E));
    CHECK(changed == 0 && with.checks == 0);
    fxir_module_free(module);
}

static void circles(void) {
    fxir_module *module = new_module();
    fxir_node x = placeholder(module, "x"), a = call_1(module, "a", x), b = call_1(module, "b", a),
              c = call_1(module, "c", b);
    fxir_arg arg = fxir_arg_node(c);
    size_t count = 0;
    fxir_node call = 0;
    output_1(module, c);
    call_1(module, "after", x);
    OK(fxir_node_set_args(module, a, &arg, 1, E));
    REFUSED(FXIR_LINT, module, fxir_graph_lint(module, E));
    REFUSED(FXIR_LINT, module, fxir_module_lint(module, E));
    REFUSED(FXIR_LINT, module, fxir_legalize_graph(module, E));
    CHECK(strstr(failed.message, "a") && strstr(failed.message, "b") && strstr(failed.message, "c"));
    CHECK(failed.node == a || failed.node == b || failed.node == c);
    REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_fuse_as_graphmodule(module, &b, 1, "n", NULL, &call, NULL, E));
    CHECK(call == 0 && count == 0);
    /* Walking it ends, and it can be mended. */
    CHECK(fxir_graph_nodes(module, NULL, 0) == 6);
    arg = fxir_arg_node(x);
    OK(fxir_node_set_args(module, a, &arg, 1, E));
    OK(fxir_graph_lint(module, E));
    fxir_module_free(module);
}

static void meta(void) {
    fxir_module *module = new_module();
    fxir_node x = placeholder(module, "x"), y = call_1(module, "f", x), z;
    fxir_arg one = fxir_arg_int(1), node = fxir_arg_node(x), wrap = fxir_arg_list(&node, 1);
    fxir_args *args = NULL;
    fxir_node_pair pair;
    FAILS(FXIR_NOT_FOUND, fxir_node_get_meta(module, y, "k", &args, E));
    FAILS(FXIR_NOT_FOUND, fxir_node_delete_meta(module, y, "k", E));
    REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_node_set_meta(module, y, "k", &node, E));
    REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_node_set_meta(module, y, "k", &wrap, E));
    REFUSED(FXIR_INVALID_UTF8, module, fxir_node_set_meta(module, y, "\xff", &one, E));
    FAILS(FXIR_INVALID_UTF8, fxir_node_get_meta(module, y, "\xff", &args, E));
    FAILS(FXIR_INVALID_UTF8, fxir_node_delete_meta(module, y, "\xff", E));
    OK(fxir_node_set_meta(module, y, "k", &one, E));
    OK(fxir_node_set_meta(module, y, "", &one, E));
    OK(fxir_node_set_meta(module, y, "l", &one, E));
    CHECK(fxir_node_meta_count(module, y) == 3 && !strcmp(fxir_node_meta_key(module, y, 0), "k"));
    pair.from = pair.to = x;
    OK(fxir_graph_node_copy(module, module, y, &pair, 1, 0, 0, NULL, &z, E));
    CHECK(fxir_node_meta_count(module, z) == 3 && !strcmp(fxir_node_meta_key(module, z, 2), "l"));
    OK(fxir_node_delete_meta(module, y, "k", E));
    CHECK(fxir_node_meta_count(module, y) == 2 && !strcmp(fxir_node_meta_key(module, y, 1), "l"));
    CHECK(fxir_node_meta_count(module, z) == 3);
    /* What a node yields is no entry. */
    {
        fxir_tensor_meta tensor;
        fxir_values *values = NULL;
        int64_t shape[3] = {2, -1, 4}, got[3] = {0, 0, 0};
        const char *symbols[3] = {NULL, "s0", NULL};
        fxir_value items[3], value;
        size_t i;
        fxir_tensor_meta_init(&tensor);
        REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_node_set_tensor_meta(module, y, &tensor, E)); /* no dtype */
        tensor.dtype = FXIR_DTYPE_INT8;
        tensor.rank = 3;
        REFUSED(FXIR_NULL_ARGUMENT, module, fxir_node_set_tensor_meta(module, y, &tensor, E));
        tensor.shape = shape;
        REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_node_set_tensor_meta(module, y, &tensor, E)); /* -1, not spelled */
        tensor.symbolic_shape = symbols;
        OK(fxir_node_set_tensor_meta(module, y, &tensor, E));
        CHECK(fxir_node_meta_count(module, y) == 2);
        CHECK(fxir_node_dtype(module, y) == FXIR_DTYPE_INT8 && fxir_node_shape(module, y, got, 3) == 3);
        CHECK(got[0] == 2 && got[1] == -1 && got[2] == 4);
        CHECK(fxir_node_shape(module, y, NULL, 0) == 3);
        for (i = 0; i < 3; i++) memset(&items[i], 0, sizeof items[i]);
        memset(&value, 0, sizeof value);
        items[0].kind = FXIR_VALUE_TENSOR;
        items[0].content.tensor = &tensor;
        items[1].kind = FXIR_VALUE_SYMBOLIC;
        items[1].content.text = "s0 + 1";
        items[2].kind = FXIR_VALUE_FLOAT;
        items[2].content.real = -0.0;
        value.kind = FXIR_VALUE_TUPLE;
        value.count = 3;
        value.content.items = items;
        OK(fxir_node_set_value(module, y, &value, E));
        CHECK(fxir_node_dtype(module, y) == FXIR_DTYPE_NONE && fxir_node_shape(module, y, got, 3) == 0);
        OK(fxir_node_value(module, y, &values, E));
        OK(fxir_node_set_value(module, y, NULL, E));
        FAILS(FXIR_NOT_FOUND, fxir_node_value(module, y, &values, E));
        if (CHECK(fxir_values_root(values)->kind == FXIR_VALUE_TUPLE && fxir_values_root(values)->count == 3)) {
            CHECK(fxir_values_tensor_count(values) == 1 && fxir_values_tensor(values, 1) == NULL);
            CHECK(fxir_values_tensor(values, 0)->shape[1] == -1);
            CHECK(!strcmp(fxir_values_tensor(values, 0)->symbolic_shape[1], "s0"));
            CHECK(!strcmp(fxir_values_root(values)->content.items[1].content.text, "s0 + 1"));
        }
        fxir_values_free(values);
        /* Values that are none. */
        value.kind = 9;
        REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_node_set_value(module, y, &value, E));
        value.kind = FXIR_VALUE_LIST;
        value.flags = 1;
        REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_node_set_value(module, y, &value, E));
        value.flags = 0;
        value.count = SIZE_MAX;
        REFUSED(FXIR_LIMIT, module, fxir_node_set_value(module, y, &value, E));
        value.count = 1;
        value.content.items = NULL;
        REFUSED(FXIR_NULL_ARGUMENT, module, fxir_node_set_value(module, y, &value, E));
        value.content.items = &value; /* holds itself */
        REFUSED(FXIR_LIMIT, module, fxir_node_set_value(module, y, &value, E));
        value.kind = FXIR_VALUE_DICT; /* an entry without a key */
        items[0].key = NULL;
        value.content.items = items;
        REFUSED(FXIR_NULL_ARGUMENT, module, fxir_node_set_value(module, y, &value, E));
        items[0].key = "\xff";
        REFUSED(FXIR_INVALID_UTF8, module, fxir_node_set_value(module, y, &value, E));
        tensor.rank = SIZE_MAX;
        REFUSED(FXIR_LIMIT, module, fxir_node_set_tensor_meta(module, y, &tensor, E));
        tensor.rank = 65;
        REFUSED(FXIR_LIMIT, module, fxir_node_set_tensor_meta(module, y, &tensor, E));
        tensor.rank = 3;
        tensor.requires_grad = 2;
        REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_node_set_tensor_meta(module, y, &tensor, E));
        tensor.requires_grad = -1;
        tensor.struct_size = 3;
        REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_node_set_tensor_meta(module, y, &tensor, E));
        tensor.struct_size = SIZE_MAX;
        REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_node_set_tensor_meta(module, y, &tensor, E));
        tensor.struct_size = sizeof tensor;
        shape[0] = INT64_MIN;
        REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_node_set_tensor_meta(module, y, &tensor, E));
        shape[0] = INT64_MAX; /* sizes of what nobody holds: any that is one */
        shape[2] = INT64_MAX;
        symbols[1] = "\xff";
        REFUSED(FXIR_INVALID_UTF8, module, fxir_node_set_tensor_meta(module, y, &tensor, E));
        symbols[1] = "s0";
        {
            fxir_status status = fxir_node_set_tensor_meta(module, y, &tensor, E);
            fxir_node_size size;
            if (status == FXIR_OK) { /* then its size is symbolic, and no overflow */
                FAILS(FXIR_UNSUPPORTED, fxir_get_size_of_node(module, y, FXIR_SIZE_IN_OWN_DTYPE, &size, E));
            }
            fxir_error_free(check_error);
        }
    }
    fxir_module_free(module);
}

/* Edits at random; after each, users and inputs mirror each other, and what lint says of order agrees
 * with is_before. */
static void random_edits(void) {
    enum { MOST = 40 };
    fxir_module *module = new_module();
    uint64_t state = 99;
    fxir_node nodes[MOST + 8];
    int round;
    for (round = 0; round < 4000; round++) {
        size_t count = fxir_graph_nodes(module, nodes, MOST), i, k, total = 0, mirrored = 0;
        uint64_t pick = check_random(&state);
        fxir_node a = count ? nodes[pick % count] : 0, b = count ? nodes[(pick >> 20) % count] : 0;
        fxir_arg args[2];
        args[0] = fxir_arg_node(a);
        args[1] = fxir_arg_node(b);
        args[1] = pick >> 50 & 1 ? fxir_arg_list(args, 1) : args[1];
        if (count < 4) {
            placeholder(module, "p");
        } else {
            switch (pick >> 40 & 7) {
            case 0:
                if (count < MOST) fxir_graph_call_function(module, "f", args, 2, NULL, 0, NULL, NULL);
                break;
            case 1:
                if (fxir_node_user_count(module, a)) FAILS(FXIR_IN_USE, fxir_graph_erase_node(module, a, E));
                else OK(fxir_graph_erase_node(module, a, E));
                break;
            case 2: OK(fxir_node_move_before(module, a, b, E)); break;
            case 3: OK(fxir_node_move_after(module, a, b, E)); break;
            case 4: OK(fxir_node_replace_all_uses_with(module, a, b, NULL, NULL, NULL, E)); break;
            case 5: fxir_legalize_graph(module, NULL); break;
            case 6:
                if (fxir_node_op(module, b) != FXIR_OP_PLACEHOLDER) OK(fxir_node_set_args(module, b, args, 1 + (pick >> 60 & 1), E));
                break;
            default: OK(fxir_node_set_name(module, a, "f", E)); break;
            }
        }
        if (round % 8) continue;
        count = fxir_graph_nodes(module, nodes, MOST + 8);
        for (i = 0; i < count; i++) {
            fxir_node others[MOST + 8];
            size_t users = fxir_node_users(module, nodes[i], others, MOST + 8);
            CHECK(users == fxir_node_user_count(module, nodes[i]));
            for (k = 0; k < users; k++) {
                fxir_node inputs[MOST + 8];
                size_t n = fxir_node_input_nodes(module, others[k], inputs, MOST + 8);
                while (n-- > 0) mirrored += inputs[n] == nodes[i];
            }
            total += fxir_node_input_nodes(module, nodes[i], NULL, 0);
            if (i) CHECK(fxir_node_is_before(module, nodes[i - 1], nodes[i]) && fxir_graph_prev(module, nodes[i]) == nodes[i - 1]);
        }
        CHECK(total == mirrored);
    }
    fxir_module_free(module);
}

/* A call that failed takes no name either. */
static void names_after_failure(void) {
    fxir_module *module = new_module(), *source = new_module();
    fxir_node x = placeholder(module, "x"), a, b, got = 0;
    fxir_arg arg = fxir_arg_node(0);
    FAILS(FXIR_STALE_NODE, fxir_graph_call_function(module, "f", &arg, 1, NULL, 0, &got, E));
    FAILS(FXIR_STALE_NODE, fxir_graph_create_node(module, 3, "f", NULL, 0, NULL, 0, "g", FXIR_AT_AFTER, 5, &got, E));
    FAILS(FXIR_STALE_NODE, fxir_graph_create_node(module, 3, "f", &arg, 1, NULL, 0, "g", 0, 0, &got, E));
    /* The source is out of order behind f and g, which are copied first. */
    a = placeholder(source, "a");
    a = call_1(source, "f", a);
    a = call_1(source, "g", a);
    b = call_1(source, "h", a);
    a = call_1(source, "k", b);
    OK(fxir_node_move_after(source, b, a, E));
    REFUSED(FXIR_LINT, module, fxir_graph_copy(module, source, NULL, 0, 0, 0, NULL, NULL, NULL, E));
    CHECK(failed.node == 0 || failed.node == a);
    call_1(module, "f", x);
    call_1(module, "g", x);
    placeholder(module, "a");
    CHECK(graph_is(module, "x a f g"));
    fxir_module_free(module);
    fxir_module_free(source);
}

int main(void) {
    names_after_failure();
    what_is_no_node();
    numbers_that_mean_nothing();
    texts();
    order();
    users();
    replacing_uses();
    circles();
    meta();
    random_edits();
    return check_result();
}
