/* Walks a graph: every node with its arguments, what it yields, what it uses and what uses it; forwards
 * and backwards.
 *
 * usage: walk_graph DATA      (the folder examples-c/data) */
#include <fxir.h>

#include <inttypes.h>
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

/* Arguments nest at most FXIR_MAX_ARGUMENT_DEPTH deep, so that a program may recurse over them. The
 * kinds that this network does not have are left to the `default`. */
static void print_arg(const fxir_module *net, const fxir_arg *arg) {
    switch (arg->kind) {
    case FXIR_ARG_NONE: printf("None"); break;
    case FXIR_ARG_BOOL: printf(arg->value.integer ? "True" : "False"); break;
    case FXIR_ARG_INT: printf("%" PRId64, arg->value.integer); break;
    case FXIR_ARG_FLOAT: printf("%g", arg->value.real); break;
    case FXIR_ARG_STR: printf("'%s'", arg->value.text); break;
    case FXIR_ARG_NODE: printf("%%%s", fxir_node_name(net, arg->value.node)); break;
    case FXIR_ARG_LIST:
    case FXIR_ARG_TUPLE:
        printf(arg->kind == FXIR_ARG_LIST ? "[" : "(");
        for (size_t i = 0; i < arg->count; i++) {
            if (i) printf(", ");
            print_arg(net, &arg->value.items[i]);
        }
        printf(arg->kind == FXIR_ARG_LIST ? "]" : ")");
        break;
    default: printf("<argument of kind %" PRIu32 ">", arg->kind); break;
    }
}

/* %layer1_0_conv1 : float32[1, 16, 32, 32] = call_module layer1.0.conv1(%relu) -> 1 user */
static void print_node(const fxir_module *net, fxir_node node) {
    printf("%%%s", fxir_node_name(net, node));
    if (fxir_node_dtype(net, node) != FXIR_DTYPE_NONE) {
        int64_t shape[8];
        const size_t rank = fxir_node_shape(net, node, shape, 8);
        printf(" : %s[", fxir_dtype_name(fxir_node_dtype(net, node)));
        for (size_t i = 0; i < rank && i < 8; i++) printf(i ? ", %" PRId64 : "%" PRId64, shape[i]);
        printf("]");
    }
    printf(" = %s %s(", fxir_node_op_name(net, node), fxir_node_target(net, node));

    fxir_args *args; /* a snapshot: later edits of the node do not change it */
    ok(fxir_node_args(net, node, &args, &error));
    for (size_t i = 0; i < fxir_args_count(args); i++) {
        if (i) printf(", ");
        print_arg(net, &fxir_args_items(args)[i]);
    }
    for (size_t i = 0; i < fxir_args_kwarg_count(args); i++) {
        const fxir_kwarg *kwarg = &fxir_args_kwargs(args)[i];
        printf("%s%s = ", i || fxir_args_count(args) ? ", " : "", kwarg->name);
        print_arg(net, &kwarg->value);
    }
    fxir_args_free(args);
    printf(") -> %zu user%s\n", fxir_node_user_count(net, node), fxir_node_user_count(net, node) == 1 ? "" : "s");
}

/* Each node that this one uses stands before it, and counts it among its users. */
static void check_inputs(const fxir_module *net, fxir_node node) {
    fxir_node inputs[4], users[8];
    const size_t count = fxir_node_input_nodes(net, node, inputs, 4);
    EXPECT(count <= 4);
    for (size_t i = 0; i < count; i++) {
        EXPECT(fxir_node_is_before(net, inputs[i], node) == 1);
        const size_t user_count = fxir_node_users(net, inputs[i], users, 8);
        int found = 0;
        EXPECT(user_count <= 8);
        for (size_t k = 0; k < user_count; k++) found += users[k] == node;
        EXPECT(found == 1);
    }
}

/* What the submodules are: settings of one convolution, and how many there are of each type. */
static void look_at_members(const fxir_module *net) {
    fxir_module *conv;
    ok(fxir_module_get_submodule(net, "layer2.0.conv1", &conv, &error));
    printf("\n%s is a %s:\n", fxir_module_path(conv), fxir_module_type_name(conv));
    EXPECT(fxir_module_kind(conv) == FXIR_MODULE_LEAF);
    int tensors = 0;
    for (size_t i = 0; i < fxir_module_attribute_count(conv); i++) {
        const char *name = fxir_module_attribute_name(conv, i);
        printf("  %s = ", name);
        if (fxir_module_member_kind(conv, name) == FXIR_MEMBER_VALUE) {
            fxir_args *value;
            ok(fxir_module_get_attribute(conv, name, &value, &error));
            print_arg(net, fxir_args_items(value));
            fxir_args_free(value);
            printf("\n");
        } else {
            fxir_tensor *tensor;
            ok(fxir_module_get_tensor(conv, name, &tensor, &error));
            printf("%zu bytes of %s\n", fxir_tensor_size(tensor), fxir_dtype_name(fxir_tensor_dtype(tensor)));
            EXPECT(fxir_tensor_size(tensor) == 32 * 16 * 3 * 3 * sizeof(float));
            fxir_tensor_free(tensor);
            tensors++;
        }
    }
    EXPECT(tensors == 1);
    fxir_module_free(conv);
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: %s DATA\n", argv[0]);
        return 2;
    }
    char json[4096], weights[4096];
    snprintf(json, sizeof json, "%s/resnet20_cifar/model.json", argv[1]);
    snprintf(weights, sizeof weights, "%s/resnet20_cifar/model.safetensors", argv[1]);
    fxir_module *net;
    ok(fxir_module_load_json(json, weights, &net, &error));

    size_t seen = 0, by_op[FXIR_OP_OUTPUT + 1] = {0};
    fxir_node forwards[75];
    for (fxir_node node = fxir_graph_first(net); node; node = fxir_graph_next(net, node)) {
        EXPECT(seen < 75);
        forwards[seen++] = node;
        by_op[fxir_node_op(net, node)]++;
        print_node(net, node);
        check_inputs(net, node);
    }
    EXPECT(seen == 75 && seen == fxir_graph_node_count(net));
    EXPECT(by_op[FXIR_OP_PLACEHOLDER] == 1 && by_op[FXIR_OP_OUTPUT] == 1);
    EXPECT(by_op[FXIR_OP_CALL_FUNCTION] == 10); /* nine sums and torch.flatten */
    EXPECT(by_op[FXIR_OP_CALL_MODULE] == 63);

    /* The same backwards; and all at once, into an array. */
    for (fxir_node node = fxir_graph_last(net); node; node = fxir_graph_prev(net, node))
        EXPECT(node == forwards[--seen]);
    EXPECT(seen == 0);
    fxir_node all[75];
    EXPECT(fxir_graph_nodes(net, all, 75) == 75);
    EXPECT(memcmp(all, forwards, sizeof all) == 0);

    look_at_members(net);
    fxir_module_free(net);
    printf("OK\n");
    return 0;
}
