/* Builds a network node by node: every op of torch.fx, most kinds of arguments, members, metadata.
 *
 *     def forward(self, x, scale = 0.5):
 *         fc = self.fc(x)                                    a leaf module, known by its type
 *         offset = self.offset                               a tensor of the module
 *         add = torch.add(fc, offset, alpha = 2)             a keyword argument
 *         view = add.view(1, -1)                             a method, by its name
 *         getitem = view[:, 0:2]                             a tuple of slices
 *         to = getitem.to(torch.float16)                     a dtype
 *         mul = to * scale
 *         return (mul, {"raw": getitem})                     a tuple with a dict in it
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

/* The weights stay where the program has them; the library says when it no longer needs them. */
static const float WEIGHT[2 * 3] = {1, 2, 3, 4, 5, 6}, BIAS[2] = {0.5f, -0.5f}, OFFSET[2] = {10, 20};
static void release(void *user_data, const void *data) {
    (void)data;
    ++*(int *)user_data;
}

static void set_tensor(fxir_module *net, const char *path, int32_t kind, const float *data, const int64_t *shape,
                       size_t rank, int *released) {
    fxir_tensor *tensor;
    size_t bytes = sizeof *data;
    for (size_t i = 0; i < rank; i++) bytes *= (size_t)shape[i];
    ok(fxir_tensor_borrow(FXIR_DTYPE_FLOAT32, shape, rank, NULL, data, bytes, release, released, &tensor, &error));
    ok(fxir_module_set_tensor(net, path, kind, tensor, &error));
    fxir_tensor_free(tensor); /* the module has its own hold on it */
}

static void add_members(fxir_module *net, int *released) {
    /* Only its backend knows what a leaf does: it is a type name, settings and tensors. */
    ok(fxir_module_add_submodule(net, "fc", FXIR_MODULE_LEAF, "torch.nn.modules.linear.Linear", NULL, &error));
    fxir_arg in = fxir_arg_int(3), out = fxir_arg_int(2);
    ok(fxir_module_set_attribute(net, "fc.in_features", &in, &error));
    ok(fxir_module_set_attribute(net, "fc.out_features", &out, &error));
    const int64_t matrix[] = {2, 3}, vector[] = {2};
    set_tensor(net, "fc.weight", FXIR_MEMBER_PARAMETER, WEIGHT, matrix, 2, released);
    set_tensor(net, "fc.bias", FXIR_MEMBER_PARAMETER, BIAS, vector, 1, released);
    set_tensor(net, "offset", FXIR_MEMBER_BUFFER, OFFSET, vector, 1, released);
}

/* Says that a node yields a tensor of one dtype and shape, as torch's ShapeProp would. */
static void set_meta(fxir_module *net, fxir_node node, int32_t dtype, int64_t rows, int64_t columns) {
    const int64_t shape[] = {rows, columns};
    fxir_tensor_meta meta;
    fxir_tensor_meta_init(&meta);
    meta.dtype = dtype;
    meta.rank = 2;
    meta.shape = shape;
    ok(fxir_node_set_tensor_meta(net, node, &meta, &error));
}

static void add_nodes(fxir_module *net) {
    fxir_node x, scale, fc, offset, add, view, getitem, to, mul;

    ok(fxir_graph_placeholder(net, "x", &x, &error));
    fxir_arg half = fxir_arg_float(0.5);
    ok(fxir_graph_create_node(net, FXIR_OP_PLACEHOLDER, "scale", &half, 1, NULL, 0, NULL, FXIR_AT_DEFAULT, 0, &scale,
                              &error));

    fxir_arg input = fxir_arg_node(x);
    ok(fxir_graph_call_module(net, "fc", &input, 1, NULL, 0, &fc, &error));
    ok(fxir_graph_get_attr(net, "offset", &offset, &error));

    fxir_arg terms[] = {fxir_arg_node(fc), fxir_arg_node(offset)};
    fxir_kwarg alpha = fxir_kwarg_of("alpha", fxir_arg_int(2));
    ok(fxir_graph_call_function(net, "torch.add", terms, 2, &alpha, 1, &add, &error));

    fxir_arg view_args[] = {fxir_arg_node(add), fxir_arg_int(1), fxir_arg_int(-1)};
    ok(fxir_graph_call_method(net, "view", view_args, 3, NULL, 0, &view, &error));

    fxir_arg all[] = {fxir_arg_none(), fxir_arg_none(), fxir_arg_none()};
    fxir_arg two[] = {fxir_arg_int(0), fxir_arg_int(2), fxir_arg_none()};
    fxir_arg slices[] = {fxir_arg_slice(all), fxir_arg_slice(two)};
    fxir_arg getitem_args[] = {fxir_arg_node(view), fxir_arg_tuple(slices, 2)};
    ok(fxir_graph_call_function(net, "_operator.getitem", getitem_args, 2, NULL, 0, &getitem, &error));

    fxir_arg to_args[] = {fxir_arg_node(getitem), fxir_arg_dtype(FXIR_DTYPE_FLOAT16)};
    ok(fxir_graph_call_method(net, "to", to_args, 2, NULL, 0, &to, &error));

    fxir_arg factors[] = {fxir_arg_node(to), fxir_arg_node(scale)};
    ok(fxir_graph_call_function(net, "_operator.mul", factors, 2, NULL, 0, &mul, &error));

    fxir_arg entry[] = {fxir_arg_str("raw"), fxir_arg_node(getitem)};
    fxir_arg returned[] = {fxir_arg_node(mul), fxir_arg_dict(entry, 1)};
    fxir_arg result = fxir_arg_tuple(returned, 2);
    ok(fxir_graph_output(net, &result, NULL, &error));

    set_meta(net, x, FXIR_DTYPE_FLOAT32, 1, 3);
    set_meta(net, fc, FXIR_DTYPE_FLOAT32, 1, 2);
    set_meta(net, mul, FXIR_DTYPE_FLOAT16, 1, 2);

    /* Anything else that should travel with a node goes into its meta, under a key of one's own. */
    fxir_arg unit = fxir_arg_str("npu:0");
    ok(fxir_node_set_meta(net, fc, "my_backend.unit", &unit, &error));
}

static void check(fxir_module *net) {
    const char *names[] = {"x", "scale", "fc", "offset", "add", "view", "getitem", "to", "mul", "output"};
    size_t count = 0;
    for (fxir_node node = fxir_graph_first(net); node; node = fxir_graph_next(net, node), count++) {
        EXPECT(count < sizeof names / sizeof *names);
        EXPECT(strcmp(fxir_node_name(net, node), names[count]) == 0);
    }
    EXPECT(count == sizeof names / sizeof *names);
    ok(fxir_module_lint(net, &error));

    /* Uses are found inside tuples and dicts too: getitem is used by `to` and by the output. */
    EXPECT(fxir_node_user_count(net, fxir_graph_find_node(net, "getitem")) == 2);

    fxir_args *args;
    ok(fxir_node_args(net, fxir_graph_find_node(net, "add"), &args, &error));
    const fxir_arg *alpha = fxir_args_kwarg(args, "alpha");
    EXPECT(fxir_args_count(args) == 2 && alpha && alpha->kind == FXIR_ARG_INT && alpha->value.integer == 2);
    fxir_args_free(args);

    ok(fxir_node_get_meta(net, fxir_graph_find_node(net, "fc"), "my_backend.unit", &args, &error));
    EXPECT(strcmp(fxir_args_items(args)->value.text, "npu:0") == 0);
    fxir_args_free(args);

    int64_t shape[2];
    EXPECT(fxir_node_shape(net, fxir_graph_find_node(net, "mul"), shape, 2) == 2 && shape[0] == 1 && shape[1] == 2);
    EXPECT(fxir_node_dtype(net, fxir_graph_find_node(net, "mul")) == FXIR_DTYPE_FLOAT16);

    fxir_tensor *weight;
    ok(fxir_module_get_tensor(net, "fc.weight", &weight, &error));
    EXPECT(fxir_tensor_data(weight) == (const void *)WEIGHT); /* not a copy: the array itself */
    EXPECT(fxir_module_member_kind(net, "offset") == FXIR_MEMBER_BUFFER);
    fxir_tensor_free(weight);
}

/* A call that makes no sense says why, and changes nothing. */
static void check_refusals(fxir_module *net) {
    const fxir_node x = fxir_graph_find_node(net, "x");
    EXPECT(fxir_graph_erase_node(net, x, &error) == FXIR_IN_USE);
    EXPECT(fxir_error_node(error) == x);
    printf("refused: %s\n", fxir_error_message(error));
    fxir_error_free(error);

    fxir_module *other;
    fxir_arg foreign = fxir_arg_node(x);
    ok(fxir_module_new(NULL, &other, &error));
    EXPECT(fxir_graph_call_function(other, "torch.relu", &foreign, 1, NULL, 0, NULL, &error) == FXIR_STALE_NODE);
    printf("refused: %s\n", fxir_error_message(error));
    fxir_error_free(error);
    EXPECT(fxir_graph_node_count(other) == 0);
    fxir_module_free(other);
}

int main(void) {
    int released = 0;
    fxir_module *net;
    ok(fxir_module_new("Small", &net, &error));
    add_members(net, &released);
    add_nodes(net);
    check(net);
    check_refusals(net);

    fxir_buffer *table;
    ok(fxir_graph_print_tabular(net, &table, &error));
    printf("%s\n", fxir_buffer_data(table));
    fxir_buffer_free(table);

    EXPECT(released == 0);
    fxir_module_free(net);
    EXPECT(released == 3); /* each tensor's memory was given back, once */
    printf("OK\n");
    return 0;
}
