/* Passes: the orders, metadata and names that the header promises, purity, and sizes of tensors of
 * several dtypes. */
#include "check.h"

static fxir_tensor_meta meta_of(int32_t dtype, const int64_t *shape, size_t rank) {
    fxir_tensor_meta meta;
    fxir_tensor_meta_init(&meta);
    meta.dtype = dtype;
    meta.rank = rank;
    meta.shape = shape;
    return meta;
}

/* b and a are used in that order, and stand in the other one. */
static void order_of_inputs(void) {
    int32_t order;
    for (order = FXIR_INPUTS_BY_FIRST_USE; order <= FXIR_INPUTS_BY_GRAPH; order++) {
        fxir_module *module = new_module(), *fused = NULL;
        fxir_node a = placeholder(module, "a"), b = placeholder(module, "b"), set[2], call = 0;
        fxir_fuse_options options;
        fxir_fuse_options_init(&options);
        CHECK(options.inputs == FXIR_INPUTS_BY_FIRST_USE && options.taken_name == FXIR_TAKEN_NAME_NUMBERED);
        options.inputs = order;
        set[1] = call_1(module, "f", b); /* given in any order */
        set[0] = call_2(module, "g", set[1], a);
        output_1(module, set[0]);
        OK(fxir_fuse_as_graphmodule(module, set, 2, "block", &options, &call, &fused, E));
        CHECK(graph_is(fused, order == FXIR_INPUTS_BY_GRAPH ? "a b f g output" : "b a f g output"));
        CHECK(fxir_node_arg_node(module, call, 0) == (order == FXIR_INPUTS_BY_GRAPH ? a : b));
        CHECK(!strcmp(fxir_module_type_name(fused), "block")); /* its own name */
        OK(fxir_module_lint(module, E));
        fxir_module_free(fused);
        fxir_module_free(module);
    }
}

/* Names of new submodules: paths, numbers, attributes on the way. */
static void names_of_submodules(void) {
    fxir_module *module = new_module(), *sub = new_module(), *fused = NULL;
    fxir_node x = placeholder(module, "x"), f = call_1(module, "f", x), call = 0;
    fxir_arg one = fxir_arg_int(1);
    fxir_fuse_options options;
    fxir_fuse_options_init(&options);
    output_1(module, f);
    output_1(sub, call_1(sub, "s", placeholder(sub, "x")));
    OK(fxir_module_set_attribute(module, "setting", &one, E));
    REFUSED(FXIR_ALREADY_EXISTS, module, fxir_insert_subgm(module, sub, "setting.x", &x, 1, &f, 1, 0, &call, E));
    REFUSED(FXIR_ALREADY_EXISTS, module, fxir_fuse_as_graphmodule(module, &f, 1, "setting.x", NULL, &call, NULL, E));
    REFUSED(FXIR_ALREADY_EXISTS, module,
            fxir_insert_subgm(module, sub, "setting", &x, 1, &f, 1, FXIR_TAKEN_NAME_REFUSED, &call, E));
    CHECK(call == 0);
    OK(fxir_insert_subgm(module, sub, "setting", &x, 1, &f, 1, FXIR_TAKEN_NAME_NUMBERED, &call, E));
    CHECK(!strcmp(fxir_node_target(module, call), "setting_1"));
    OK(fxir_insert_subgm(module, sub, "far.away", &x, 1, &call, 1, FXIR_TAKEN_NAME_REFUSED, &call, E));
    CHECK(!strcmp(fxir_node_target(module, call), "far.away"));
    OK(fxir_fuse_as_graphmodule(module, &call, 1, "far.away", &options, &call, &fused, E));
    CHECK(!strcmp(fxir_node_target(module, call), "far.away_1") && !strcmp(fxir_module_type_name(fused), "away_1"));
    OK(fxir_module_lint(module, E));
    /* A node that names what is no member cannot be taken along. */
    fxir_module_free(fused);
    f = call_module_1(module, "missing", x);
    call_1(module, "user", f);
    REFUSED(FXIR_NOT_FOUND, module, fxir_fuse_as_graphmodule(module, &f, 1, "g", NULL, NULL, NULL, E));
    fxir_module_free(sub);
    fxir_module_free(module);
}

/* Several outputs are taken out of the call in their order; they take over what was known; the graph
 * need not be in order. */
static void several_outputs(void) {
    static const int64_t two[1] = {2}, three[1] = {3};
    fxir_module *module = new_module(), *sub = new_module(), *leaf = NULL;
    fxir_node x = placeholder(module, "x"), out[2], user, call = 0, items[2], s;
    fxir_tensor_meta meta = meta_of(FXIR_DTYPE_FLOAT16, two, 1), other = meta_of(FXIR_DTYPE_INT8, three, 1);
    fxir_arg pair[2], result, five = fxir_arg_int(5), index;
    fxir_args *args = NULL;
    fxir_values *values = NULL;
    int64_t shape[1] = {0};
    s = placeholder(sub, "s");
    OK(fxir_graph_create_node(sub, FXIR_OP_PLACEHOLDER, "t", &five, 1, NULL, 0, NULL, 0, 0, NULL, E));
    pair[0] = fxir_arg_node(call_1(sub, "p", s));
    pair[1] = fxir_arg_node(call_1(sub, "q", s));
    result = fxir_arg_tuple(pair, 2);
    OK(fxir_graph_output(sub, &result, NULL, E));
    out[0] = call_1(module, "f", x);
    out[1] = call_1(module, "g", x);
    OK(fxir_node_set_tensor_meta(module, out[0], &meta, E));
    OK(fxir_node_set_tensor_meta(module, out[1], &other, E));
    OK(fxir_node_set_meta(module, out[1], "mine", &five, E));
    user = call_2(module, "h", out[1], out[0]);
    output_1(module, user);
    OK(fxir_node_move_before(module, user, out[0], E)); /* out of order */
    OK(fxir_insert_subgm(module, sub, "sub", &x, 1, out, 2, 0, &call, E));
    items[1] = fxir_node_arg_node(module, user, 0);
    items[0] = fxir_node_arg_node(module, user, 1);
    CHECK(items[0] != out[0] && items[1] != out[1] && fxir_node_arg_node(module, items[0], 0) == call);
    OK(fxir_node_args(module, items[1], &args, E));
    index = fxir_arg_int(1);
    CHECK(fxir_args_count(args) == 2 && args_alike(&fxir_args_items(args)[1], &index));
    fxir_args_free(args);
    CHECK(!strcmp(fxir_node_target(module, items[0]), "_operator.getitem"));
    CHECK(fxir_node_dtype(module, items[0]) == FXIR_DTYPE_FLOAT16 && fxir_node_dtype(module, items[1]) == FXIR_DTYPE_INT8);
    CHECK(fxir_node_shape(module, items[1], shape, 1) == 1 && shape[0] == 3);
    OK(fxir_node_get_meta(module, items[1], "mine", &args, E));
    fxir_args_free(args);
    OK(fxir_node_value(module, call, &values, E)); /* of the call, both */
    CHECK(fxir_values_root(values)->kind == FXIR_VALUE_TUPLE && fxir_values_tensor_count(values) == 2);
    fxir_values_free(values);
    OK(fxir_graph_lint(module, E)); /* in order */
    CHECK(fxir_node_user_count(module, out[0]) == 0 && fxir_node_user_count(module, out[1]) == 0);
    OK(fxir_graph_erase_node(module, out[0], E)); /* they stayed, for us to erase */
    OK(fxir_graph_erase_node(module, out[1], E));
    OK(fxir_module_lint(module, E));

    /* One output of a submodule that returns a tuple is its first item. Of a leaf nothing is known. */
    OK(fxir_insert_subgm(module, sub, "sub", &x, 1, &user, 1, 0, &call, E));
    CHECK(!strcmp(fxir_node_target(module, fxir_node_arg_node(module, fxir_graph_last(module), 0)), "_operator.getitem"));
    OK(fxir_module_add_submodule(module, "leaf", FXIR_MODULE_LEAF, "T", &leaf, E));
    OK(fxir_insert_subgm(module, leaf, "leaf", items, 2, &user, 1, 0, &call, E));
    CHECK(!strcmp(fxir_node_target(module, call), "leaf_1") && fxir_node_arg_count(module, call) == 2);
    OK(fxir_module_lint(module, E));
    /* On a circle nothing can be put in order. */
    result = fxir_arg_node(user);
    OK(fxir_node_set_args(module, user, &result, 1, E));
    REFUSED(FXIR_LINT, module, fxir_insert_subgm(module, leaf, "leaf", &x, 1, &call, 1, 0, NULL, E));
    REFUSED(FXIR_LINT, module, fxir_fuse_as_graphmodule(module, &items[0], 1, "n", NULL, NULL, NULL, E));
    fxir_module_free(leaf);
    fxir_module_free(sub);
    fxir_module_free(module);
}

static fxir_node with_kwarg(fxir_module *module, const char *target, fxir_node x, const char *name, fxir_arg value) {
    fxir_arg arg = fxir_arg_node(x);
    fxir_kwarg kwarg = fxir_kwarg_of(name, value);
    fxir_node node = 0;
    OK(fxir_graph_call_function(module, target, &arg, 1, &kwarg, 1, &node, E));
    return node;
}

static void leaf(fxir_module *module, const char *path, const char *type, const char *setting, int value) {
    fxir_module *made = NULL;
    fxir_arg given = fxir_arg_bool(value);
    OK(fxir_module_add_submodule(module, path, FXIR_MODULE_LEAF, type, &made, E));
    if (setting) OK(fxir_module_set_attribute(made, setting, &given, E));
    fxir_module_free(made);
}

/* What has to stay though nothing uses it, and what may go. */
static int32_t also_keep(void *user_data, const fxir_module *view, fxir_node node, int32_t *verdict) {
    (void)user_data;
    *verdict = fxir_node_is_impure(view, node) || !strcmp(fxir_node_target(view, node), "backend.fence");
    return 0;
}

static void purity(void) {
    fxir_module *module = new_module(), *pure = NULL, *impure = NULL;
    fxir_node x = placeholder(module, "x"), stay[14], go[10], method = 0, random, fence, output;
    fxir_arg arg = fxir_arg_node(x);
    fxir_dead_code_options options;
    size_t stays = 0, goes = 0, i, erased = 0;
    fxir_dead_code_options_init(&options);
    OK(fxir_module_add_submodule(module, "pure", FXIR_MODULE_GRAPH, "T", &pure, E));
    output_1(pure, call_1(pure, "torch.relu", placeholder(pure, "x")));
    OK(fxir_module_add_submodule(module, "impure", FXIR_MODULE_GRAPH, "T", &impure, E));
    call_1(impure, "torch._assert", placeholder(impure, "x"));
    leaf(module, "linear", "torch.nn.modules.linear.Linear", NULL, 0);
    leaf(module, "relu_", "torch.nn.modules.activation.ReLU", "inplace", 1);
    leaf(module, "relu", "torch.nn.modules.activation.ReLU", "inplace", 0);
    leaf(module, "marked", "my.Logger", "_is_impure", 1);
    leaf(module, "dropout", "torch.nn.modules.dropout.Dropout", NULL, 0);
    leaf(module, "dropout_eval", "torch.nn.modules.dropout.Dropout", "training", 0);
    leaf(module, "bn", "torch.nn.modules.batchnorm.BatchNorm2d", NULL, 0);
    leaf(module, "bn_eval", "torch.nn.modules.batchnorm.BatchNorm2d", "training", 0);
    leaf(module, "bn_train", "torch.nn.modules.batchnorm.BatchNorm2d", "training", 1);

    stay[stays++] = call_1(module, "torch._assert", x);
    stay[stays++] = call_1(module, "_operator.iadd", x);
    stay[stays++] = call_1(module, "torch.relu_", x);
    stay[stays++] = call_1(module, "torch.ops.aten.add_.Tensor", x);
    stay[stays++] = with_kwarg(module, "torch.add", x, "out", fxir_arg_node(x));
    stay[stays++] = with_kwarg(module, "torch.nn.functional.relu", x, "inplace", fxir_arg_bool(1));
    OK(fxir_graph_call_method(module, "add_", &arg, 1, NULL, 0, &method, E));
    stay[stays++] = method;
    stay[stays++] = call_module_1(module, "impure", x);
    stay[stays++] = call_module_1(module, "relu_", x);
    stay[stays++] = call_module_1(module, "marked", x);
    stay[stays++] = call_module_1(module, "bn_train", x);
    stay[stays++] = call_module_1(module, "bn", x); /* for all that is known, it is trained */
    stay[stays++] = call_module_1(module, "missing", x);
    stay[stays++] = call_1(module, "builtins.print", x);
    go[goes++] = call_1(module, "torch.relu", x);
    go[goes++] = with_kwarg(module, "torch.nn.functional.relu", x, "inplace", fxir_arg_bool(0));
    go[goes++] = call_module_1(module, "pure", x);
    go[goes++] = call_module_1(module, "linear", x);
    go[goes++] = call_module_1(module, "relu", x);
    go[goes++] = call_module_1(module, "dropout_eval", x);
    go[goes++] = call_module_1(module, "bn_eval", x);
    random = call_module_1(module, "dropout", x);
    fence = call_1(module, "backend.fence", x);
    output = output_1(module, x);
    CHECK(fxir_node_is_impure(module, x) == 1 && fxir_node_is_impure(module, output) == 1);
    CHECK(fxir_node_is_impure(module, random) == 1 && fxir_node_is_impure(module, fence) == 0);
    CHECK(fxir_node_is_impure(module, 0) == 0 && fxir_node_is_impure(module, fxir_graph_first(pure)) == 0);
    for (i = 0; i < stays; i++)
        check_that(fxir_node_is_impure(module, stay[i]) == 1, fxir_node_target(module, stay[i]), __FILE__, __LINE__);
    for (i = 0; i < goes; i++)
        check_that(fxir_node_is_impure(module, go[i]) == 0, fxir_node_target(module, go[i]), __FILE__, __LINE__);

    options.is_impure = also_keep;
    OK(fxir_eliminate_dead_code(module, &options, &erased, E));
    CHECK(erased == goes && fxir_node_name(module, fence) && fxir_node_name(module, random));
    options.is_impure = NULL;
    OK(fxir_eliminate_dead_code(module, &options, &erased, E));
    CHECK(erased == 1 && !fxir_node_name(module, fence) && fxir_node_name(module, random));
    options.random_is_pure = 1;
    OK(fxir_eliminate_dead_code(module, &options, &erased, E));
    CHECK(erased == 1 && !fxir_node_name(module, random));
    for (i = 0; i < stays; i++) CHECK(fxir_node_name(module, stay[i]) != NULL);
    /* Members stay, used or not. */
    CHECK(fxir_module_member_kind(module, "pure") == FXIR_MEMBER_SUBMODULE);
    fxir_module_free(pure);
    fxir_module_free(impure);
    fxir_module_free(module);
}

/* All nodes or none. */
static void targets(void) {
    fxir_module *module = new_module();
    fxir_node x = placeholder(module, "x"), none = 0, f = call_1(module, "f", x);
    size_t count = 77;
    OK(fxir_graph_call_function(module, "f", NULL, 0, NULL, 0, &none, E));
    output_1(module, f);
    REFUSED(FXIR_INVALID_ARGUMENT, module,
            fxir_replace_target_nodes_with(module, FXIR_OP_CALL_FUNCTION, "f", FXIR_OP_CALL_METHOD, "m", &count, E));
    CHECK(failed.node == none); /* a method of nothing */
    REFUSED(FXIR_INVALID_ARGUMENT, module,
            fxir_replace_target_nodes_with(module, FXIR_OP_CALL_FUNCTION, "f", FXIR_OP_CALL_FUNCTION, "", &count, E));
    REFUSED(FXIR_INVALID_ARGUMENT, module,
            fxir_replace_target_nodes_with(module, FXIR_OP_CALL_FUNCTION, "unknown", FXIR_OP_CALL_FUNCTION, "", &count, E));
    OK(fxir_graph_erase_node(module, none, E));
    REFUSED(FXIR_INVALID_ARGUMENT, module,
            fxir_replace_target_nodes_with(module, FXIR_OP_CALL_FUNCTION, "f", FXIR_OP_CALL_METHOD, "", &count, E));
    OK(fxir_module_add_submodule(module, "f", FXIR_MODULE_LEAF, "T", NULL, E));
    REFUSED(FXIR_INVALID_ARGUMENT, module,
            fxir_replace_target_nodes_with(module, FXIR_OP_CALL_FUNCTION, "f", FXIR_OP_GET_ATTR, "f", &count, E));
    CHECK(failed.node == f && count == 77);
    OK(fxir_replace_target_nodes_with(module, FXIR_OP_CALL_FUNCTION, "f", FXIR_OP_CALL_MODULE, "f", &count, E));
    CHECK(count == 1 && fxir_node_op(module, f) == FXIR_OP_CALL_MODULE && fxir_node_arg_node(module, f, 0) == x);
    OK(fxir_module_lint(module, E));
    fxir_module_free(module);
}

/* Each tensor in its own dtype, or all in that of the output; buffers do not count. */
static void sizes(void) {
    static const int64_t shape[1] = {10}, two[1] = {2};
    static const uint8_t zeros[40];
    fxir_module *module = new_module();
    fxir_node x = placeholder(module, "x"), call;
    fxir_tensor *weight = NULL, *counter = NULL;
    fxir_tensor_meta half = meta_of(FXIR_DTYPE_FLOAT16, shape, 1), byte = meta_of(FXIR_DTYPE_INT8, two, 1);
    fxir_value items[2], value;
    fxir_node_size size;
    fxir_tensor_meta symbolic = half;
    static const int64_t unknown[1] = {-1};
    static const char *const symbols[1] = {"s0"};
    memset(items, 0, sizeof items);
    memset(&value, 0, sizeof value);
    leaf(module, "m", "T", NULL, 0);
    OK(fxir_tensor_copy(FXIR_DTYPE_FLOAT32, shape, 1, zeros, 40, &weight, E));
    OK(fxir_tensor_copy(FXIR_DTYPE_UINT8, shape, 1, zeros, 10, &counter, E));
    OK(fxir_module_set_tensor(module, "m.weight", FXIR_MEMBER_PARAMETER, weight, E));
    OK(fxir_module_set_tensor(module, "m.counter", FXIR_MEMBER_BUFFER, counter, E));
    fxir_tensor_free(weight);
    fxir_tensor_free(counter);
    call = call_module_1(module, "m", x);
    OK(fxir_node_set_tensor_meta(module, call, &half, E));
    OK(fxir_get_size_of_node(module, call, FXIR_SIZE_IN_OWN_DTYPE, &size, E));
    CHECK(size.node == call && size.output_bytes == 20 && size.total_bytes == 60);
    OK(fxir_get_size_of_node(module, call, FXIR_SIZE_IN_DTYPE_OF_OUTPUT, &size, E));
    CHECK(size.output_bytes == 20 && size.total_bytes == 40);
    /* All tensors of a tuple together. */
    items[0].kind = items[1].kind = FXIR_VALUE_TENSOR;
    items[0].content.tensor = &half;
    items[1].content.tensor = &byte;
    value.kind = FXIR_VALUE_TUPLE;
    value.count = 2;
    value.content.items = items;
    OK(fxir_node_set_value(module, x, &value, E));
    OK(fxir_get_size_of_node(module, x, FXIR_SIZE_IN_OWN_DTYPE, &size, E));
    CHECK(size.node == x && size.output_bytes == 22 && size.total_bytes == 22);
    symbolic.shape = unknown;
    symbolic.symbolic_shape = symbols;
    OK(fxir_node_set_tensor_meta(module, x, &symbolic, E));
    FAILS(FXIR_UNSUPPORTED, fxir_get_size_of_node(module, x, FXIR_SIZE_IN_OWN_DTYPE, &size, E));
    { /* What the symbols are; a weight that two nodes have. */
        static const int64_t known[1] = {7}, negative[1] = {-7};
        fxir_size_options options;
        fxir_node again;
        fxir_node_size all[4];
        size_t count = 0;
        fxir_size_options_init(&options);
        CHECK(options.counting == FXIR_SIZE_IN_OWN_DTYPE && options.shared_once == 0 && options.symbol_count == 0);
        FAILS(FXIR_UNSUPPORTED, fxir_get_size_of_node_with(module, x, &options, &size, E));
        FAILS(FXIR_UNSUPPORTED, fxir_get_size_of_node_with(module, x, NULL, &size, E));
        CHECK(failed.node == x && strstr(failed.message, "s0"));
        options.symbols = symbols;
        options.symbol_sizes = known;
        options.symbol_count = 1;
        OK(fxir_get_size_of_node_with(module, x, &options, &size, E));
        CHECK(size.output_bytes == 14 && size.total_bytes == 14);
        again = call_module_1(module, "m", call);
        OK(fxir_node_set_tensor_meta(module, again, &half, E));
        OK(fxir_get_size_of_all_nodes_with(module, &options, all, 4, &count, E));
        CHECK(count == 3 && all[1].total_bytes == 60 && all[2].node == again && all[2].total_bytes == 60);
        options.shared_once = 1;
        OK(fxir_get_size_of_all_nodes_with(module, &options, all, 4, &count, E));
        CHECK(all[0].total_bytes == 14 && all[1].total_bytes == 60 && all[2].total_bytes == 20);
        OK(fxir_get_size_of_node_with(module, again, &options, &size, E));
        CHECK(size.total_bytes == 60); /* it is the first that was asked about */
        options.symbol_sizes = negative;
        FAILS(FXIR_INVALID_ARGUMENT, fxir_get_size_of_node_with(module, x, &options, &size, E));
        options.symbol_sizes = NULL;
        FAILS(FXIR_NULL_ARGUMENT, fxir_get_size_of_node_with(module, x, &options, &size, E));
        options.symbol_count = 0;
        options.shared_once = 2;
        FAILS(FXIR_INVALID_ARGUMENT, fxir_get_size_of_node_with(module, x, &options, &size, E));
        options.shared_once = 0;
        options.counting = 2;
        FAILS(FXIR_INVALID_ARGUMENT, fxir_get_size_of_all_nodes_with(module, &options, all, 4, &count, E));
    }
    fxir_module_free(module);
}

static const fxir_arg *entry(const fxir_arg *dict, const char *key) {
    size_t i;
    for (i = 0; i < dict->count; i++)
        if (!strcmp(dict->value.items[2 * i].value.text, key)) return &dict->value.items[2 * i + 1];
    return NULL;
}

/* What a leaf is, told to the nodes that call it, here and in the graph modules that are called. */
static void lowering(void) {
    static const float zero[4] = {0, 0, 0, 0};
    static const int64_t shape[2] = {2, 2};
    fxir_module *module = new_module(), *inner = NULL, *never = NULL;
    fxir_node x = placeholder(module, "x"), linear, own, below, call, not_called;
    fxir_arg two = fxir_arg_int(2), other = fxir_arg_str("other");
    fxir_tensor *weight = NULL;
    fxir_args *args = NULL;
    const fxir_arg *found;
    size_t nodes = 77;
    OK(fxir_tensor_copy(FXIR_DTYPE_FLOAT32, shape, 2, zero, sizeof zero, &weight, E));
    leaf(module, "linear", "torch.nn.modules.linear.Linear", NULL, 0);
    OK(fxir_module_set_attribute(module, "linear.in_features", &two, E));
    OK(fxir_module_set_attribute(module, "linear.out_features", &two, E));
    OK(fxir_module_set_attribute(module, "linear.of_our_own", &other, E));
    OK(fxir_module_set_tensor(module, "linear.weight", FXIR_MEMBER_PARAMETER, weight, E));
    OK(fxir_module_set_tensor(module, "linear.bias", FXIR_MEMBER_PARAMETER, weight, E));
    OK(fxir_module_add_submodule(module, "inner", FXIR_MODULE_GRAPH, "T", &inner, E));
    OK(fxir_module_add_submodule(module, "never", FXIR_MODULE_GRAPH, "T", &never, E));
    leaf(inner, "own", "my.Own", NULL, 0);
    OK(fxir_module_set_attribute(inner, "own.setting", &other, E));
    OK(fxir_module_set_tensor(inner, "own.table", FXIR_MEMBER_BUFFER, weight, E));
    fxir_tensor_free(weight);
    below = call_module_1(inner, "own", placeholder(inner, "x"));
    output_1(inner, below);
    leaf(never, "own", "my.Own", NULL, 0);
    not_called = call_module_1(never, "own", placeholder(never, "x"));
    output_1(never, not_called);
    linear = call_module_1(module, "linear", x);
    call = call_module_1(module, "inner", linear);
    own = call_1(module, "torch.relu", call);
    output_1(module, own);

    REFUSED(FXIR_UNSUPPORTED, module, fxir_lift_lowering_attrs_to_nodes(module, 1, &nodes, E)); /* my.Own */
    CHECK(nodes == 77);
    OK(fxir_lift_lowering_attrs_to_nodes(module, 0, &nodes, E));
    CHECK(nodes == 2);
    OK(fxir_node_get_meta(module, linear, "attrs_for_lowering", &args, E));
    found = fxir_args_items(args);
    if (CHECK(found->kind == FXIR_ARG_DICT && entry(found, "name") && entry(found, "weight"))) {
        CHECK(!strcmp(entry(found, "name")->value.text, "torch.nn.modules.linear.Linear"));
        CHECK(!strcmp(entry(found, "weight")->value.text, "linear.weight")); /* by its path */
        CHECK(!strcmp(entry(found, "bias")->value.text, "linear.bias"));
        CHECK(found->count == 3); /* torch takes no other of this type */
    }
    fxir_args_free(args);
    OK(fxir_node_get_meta(inner, below, "attrs_for_lowering", &args, E));
    found = fxir_args_items(args);
    if (CHECK(found->kind == FXIR_ARG_DICT && entry(found, "setting") && entry(found, "table"))) {
        CHECK(args_alike(entry(found, "setting"), &other) && !strcmp(entry(found, "table")->value.text, "own.table"));
    }
    fxir_args_free(args);
    CHECK(fxir_node_meta_count(never, not_called) == 0 && fxir_node_meta_count(module, call) == 0);
    CHECK(fxir_node_meta_count(module, own) == 0);
    fxir_module_free(inner);
    fxir_module_free(never);
    fxir_module_free(module);
}

int main(void) {
    order_of_inputs();
    names_of_submodules();
    several_outputs();
    purity();
    targets();
    sizes();
    lowering();
    return check_result();
}
