/* Tracing: functions that record, rewrites that see what is recorded. */
#include "check.h"

static fxir_node record_1(fxir_tracer *tracer, const char *target, fxir_node a) {
    fxir_arg arg = fxir_arg_node(a);
    fxir_node made = 0;
    OK(fxir_tracer_call_function(tracer, target, &arg, 1, NULL, 0, &made, E));
    return made;
}

/* Every function of a tracer, with what is none. */
static void no_tracer(fxir_tracer *bad, fxir_status expected, fxir_node x) {
    fxir_arg arg = fxir_arg_node(x);
    fxir_node node = 77;
    FAILS(expected, fxir_tracer_record(bad, FXIR_OP_CALL_FUNCTION, "f", &arg, 1, NULL, 0, NULL, &node, E));
    FAILS(expected, fxir_tracer_call_function(bad, "f", &arg, 1, NULL, 0, &node, E));
    FAILS(expected, fxir_tracer_call_method(bad, "f", &arg, 1, NULL, 0, &node, E));
    FAILS(expected, fxir_tracer_call_module(bad, "f", &arg, 1, NULL, 0, &node, E));
    FAILS(expected, fxir_tracer_get_attr(bad, "f", &node, E));
    FAILS(expected, fxir_tracer_output(bad, &arg, E));
    CHECK(fxir_tracer_get_attr(bad, "f", &node, NULL) == expected && node == 77);
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

/* What a function or a rewrite does, and what it left behind. */
typedef struct work {
    int32_t returns;
    fxir_tracer *seen;
    fxir_node foreign;
    fxir_module *module;
    int calls;
} work;

/* relu(x * 2 + w), with a method, a member and a submodule on the way */
static int32_t forward(void *data, fxir_tracer *tracer, const fxir_node *inputs, size_t count) {
    work *now = (work *)data;
    fxir_arg args[2], result;
    fxir_kwarg alpha = fxir_kwarg_of("alpha", fxir_arg_float(0.5));
    fxir_node x, w = 0, node = 0;
    now->seen = tracer;
    now->calls++;
    if (!CHECK(count == 1)) return 99;
    x = inputs[0];
    args[0] = fxir_arg_node(x);
    args[1] = fxir_arg_int(2);
    OK(fxir_tracer_record(tracer, FXIR_OP_CALL_FUNCTION, "_operator.mul", args, 2, NULL, 0, "twice", &node, E));
    OK(fxir_tracer_get_attr(tracer, "w", &w, E));
    args[0] = fxir_arg_node(node);
    args[1] = fxir_arg_node(w);
    OK(fxir_tracer_call_function(tracer, "torch.add", args, 2, &alpha, 1, &node, E));
    args[0] = fxir_arg_node(node);
    OK(fxir_tracer_call_method(tracer, "contiguous", args, 1, NULL, 0, &node, E));
    args[0] = fxir_arg_node(node);
    OK(fxir_tracer_call_module(tracer, "act", args, 1, NULL, 0, &node, E));
    result = fxir_arg_node(node);
    OK(fxir_tracer_output(tracer, &result, E));
    FAILS(FXIR_ALREADY_EXISTS, fxir_tracer_output(tracer, &result, E));
    return now->returns;
}

static fxir_module *root(void) {
    static const float w[2] = {1, 2};
    static const int64_t shape[1] = {2};
    fxir_module *module = new_module();
    fxir_tensor *tensor = NULL;
    OK(fxir_tensor_borrow(FXIR_DTYPE_FLOAT32, shape, 1, NULL, w, sizeof w, NULL, NULL, &tensor, E));
    OK(fxir_module_set_tensor(module, "w", FXIR_MEMBER_PARAMETER, tensor, E));
    fxir_tensor_free(tensor);
    OK(fxir_module_add_submodule(module, "act", FXIR_MODULE_LEAF, "torch.nn.modules.activation.ReLU", NULL, E));
    output_1(module, placeholder(module, "unrelated"));
    return module;
}

static void tracing(void) {
    static const char *const names[1] = {"x"};
    fxir_module *members = root(), *made = NULL;
    char *before = picture(members);
    work now = {0, NULL, 0, NULL, 0};
    fxir_node node;
    fxir_args *args = NULL;
    OK(fxir_trace(members, names, 1, forward, &now, NULL, 0, &made, E));
    CHECK(graph_is(made, "x twice w add contiguous act output"));
    CHECK(targets_are(made, "x _operator.mul w torch.add contiguous act output"));
    OK(fxir_module_lint(made, E));
    node = fxir_graph_find_node(made, "add");
    OK(fxir_node_args(made, node, &args, E));
    CHECK(fxir_args_count(args) == 2 && fxir_args_kwarg(args, "alpha")->value.real == 0.5);
    fxir_args_free(args);
    CHECK(fxir_module_member_kind(made, "w") == FXIR_MEMBER_PARAMETER);
    check_unchanged(members, before, "tracing", __FILE__, __LINE__);

    no_tracer(now.seen, FXIR_INVALID_HANDLE, node); /* it is dead */
    fxir_module_free(made);
    fxir_module_free(members);
}

static int32_t nothing(void *data, fxir_tracer *tracer, const fxir_node *inputs, size_t count) {
    (void)tracer;
    (void)inputs;
    CHECK(count == 0);
    return ((work *)data)->returns;
}

/* Records with every kind of wrong input; nothing of it stays. */
static int32_t misuse(void *data, fxir_tracer *tracer, const fxir_node *inputs, size_t count) {
    fxir_arg args[2];
    fxir_kwarg twice[2];
    fxir_node node = 77;
    work *now = (work *)data;
    (void)count;
    no_tracer(NULL, FXIR_NULL_ARGUMENT, inputs[0]);
    no_tracer((fxir_tracer *)(uintptr_t)12345, FXIR_INVALID_HANDLE, inputs[0]);
    no_tracer((fxir_tracer *)now->module, FXIR_INVALID_HANDLE, inputs[0]);
    CHECK(fxir_graph_node_count((fxir_module *)tracer) == 0);
    FAILS(FXIR_NULL_ARGUMENT, fxir_tracer_call_method(tracer, NULL, NULL, 0, NULL, 0, &node, E));
    FAILS(FXIR_NULL_ARGUMENT, fxir_tracer_call_module(tracer, NULL, NULL, 0, NULL, 0, &node, E));
    FAILS(FXIR_NULL_ARGUMENT, fxir_tracer_get_attr(tracer, NULL, &node, E));
    FAILS(FXIR_INVALID_ARGUMENT, fxir_tracer_get_attr(tracer, "", &node, E));
    FAILS(FXIR_INVALID_UTF8, fxir_tracer_get_attr(tracer, "\xff", &node, E));
    FAILS(FXIR_NULL_ARGUMENT, fxir_tracer_call_function(NULL, "f", NULL, 0, NULL, 0, &node, E));
    FAILS(FXIR_NULL_ARGUMENT, fxir_tracer_call_function(tracer, NULL, NULL, 0, NULL, 0, &node, E));
    FAILS(FXIR_NULL_ARGUMENT, fxir_tracer_call_function(tracer, "f", NULL, 1, NULL, 0, &node, E));
    FAILS(FXIR_NULL_ARGUMENT, fxir_tracer_output(tracer, NULL, E));
    FAILS(FXIR_INVALID_UTF8, fxir_tracer_call_function(tracer, "\xff", NULL, 0, NULL, 0, &node, E));
    FAILS(FXIR_INVALID_ARGUMENT, fxir_tracer_record(tracer, 0, "f", NULL, 0, NULL, 0, NULL, &node, E));
    FAILS(FXIR_INVALID_ARGUMENT, fxir_tracer_record(tracer, FXIR_OP_OUTPUT, "f", NULL, 0, NULL, 0, NULL, &node, E));
    FAILS(FXIR_INVALID_ARGUMENT,
          fxir_tracer_record(tracer, FXIR_OP_PLACEHOLDER, "f", NULL, 0, NULL, 0, NULL, &node, E));
    args[0] = fxir_arg_node(now->foreign);
    FAILS(FXIR_STALE_NODE, fxir_tracer_call_function(tracer, "f", args, 1, NULL, 0, &node, E));
    twice[0] = twice[1] = fxir_kwarg_of("a", fxir_arg_int(1));
    FAILS(FXIR_INVALID_ARGUMENT, fxir_tracer_call_function(tracer, "f", NULL, 0, twice, 2, &node, E));
    FAILS(FXIR_INVALID_HANDLE, fxir_tracer_output((fxir_tracer *)(uintptr_t)12345, args, E));
    CHECK(node == 77);
    args[0] = fxir_arg_node(inputs[0]);
    OK(fxir_tracer_output(tracer, args, NULL));
    return 0;
}

static int32_t missing_member(void *data, fxir_tracer *tracer, const fxir_node *inputs, size_t count) {
    (void)data;
    (void)inputs;
    (void)count;
    OK(fxir_tracer_get_attr(tracer, "nowhere", NULL, E));
    return 0;
}

static void failing(void) {
    static const char *const names[1] = {"x"}, *const bad[1] = {"\xff"}, *const null[1] = {NULL};
    fxir_module *made = (fxir_module *)(uintptr_t)8, *other = new_module(), *leaf = NULL;
    work now = {7, NULL, 0, NULL, 0};
    now.foreign = placeholder(other, "y");
    now.module = other;
    FAILS(FXIR_CALLBACK, fxir_trace(NULL, NULL, 0, nothing, &now, NULL, 0, &made, E));
    CHECK(failed.code == 7 && made == (fxir_module *)(uintptr_t)8);
    FAILS(FXIR_NULL_ARGUMENT, fxir_trace(NULL, NULL, 0, NULL, &now, NULL, 0, &made, E));
    FAILS(FXIR_NULL_ARGUMENT, fxir_trace(NULL, NULL, 0, nothing, &now, NULL, 0, NULL, E));
    FAILS(FXIR_NULL_ARGUMENT, fxir_trace(NULL, NULL, 1, nothing, &now, NULL, 0, &made, E));
    FAILS(FXIR_NULL_ARGUMENT, fxir_trace(NULL, null, 1, nothing, &now, NULL, 0, &made, E));
    FAILS(FXIR_INVALID_UTF8, fxir_trace(NULL, bad, 1, nothing, &now, NULL, 0, &made, E));
    FAILS(FXIR_NULL_ARGUMENT, fxir_trace(NULL, NULL, 0, nothing, &now, NULL, 1, &made, E));
    FAILS(FXIR_INVALID_HANDLE, fxir_trace((fxir_module *)(uintptr_t)3, NULL, 0, nothing, &now, NULL, 0, &made, E));
    OK(fxir_module_add_submodule(other, "leaf", FXIR_MODULE_LEAF, "torch.nn.ReLU", &leaf, E));
    now.returns = 0;
    FAILS(FXIR_INVALID_ARGUMENT, fxir_trace(leaf, NULL, 0, nothing, &now, NULL, 0, &made, E));
    FAILS(FXIR_LINT, fxir_trace(NULL, NULL, 0, missing_member, &now, NULL, 0, &made, E));
    CHECK(made == (fxir_module *)(uintptr_t)8);

    OK(fxir_trace(NULL, names, 1, misuse, &now, NULL, 0, &made, E));
    CHECK(graph_is(made, "x output"));
    fxir_module_free(made);
    OK(fxir_trace(NULL, NULL, 0, nothing, &now, NULL, 0, &made, E));
    CHECK(graph_is(made, "output"));
    fxir_module_free(made);
    fxir_module_free(leaf);
    fxir_module_free(other);
}

/* f(x) becomes h(g(x)); everything else stays. */
static int32_t unfold(void *data, fxir_tracer *tracer, const fxir_operation *operation, fxir_node *node) {
    work *now = (work *)data;
    now->calls++;
    CHECK(*node == 0 && operation->reserved == 0);
    if (strcmp(operation->target, "f") != 0) return 0;
    CHECK(operation->op == FXIR_OP_CALL_FUNCTION && operation->args_count == 1 && operation->kwargs_count == 0);
    *node = record_1(tracer, "h", record_1(tracer, "g", operation->args[0].value.node));
    return now->returns;
}

/* g(x) is x. */
static int32_t drop_g(void *data, fxir_tracer *tracer, const fxir_operation *operation, fxir_node *node) {
    work *now = (work *)data;
    (void)tracer;
    now->calls++;
    if (strcmp(operation->target, "g") == 0) *node = operation->args[0].value.node;
    if (strcmp(operation->target, "foreign") == 0) *node = now->foreign;
    return 0;
}

static int32_t f_of(void *data, fxir_tracer *tracer, const fxir_node *inputs, size_t count) {
    fxir_arg result;
    (void)count;
    (void)data;
    record_1(tracer, "g", inputs[0]);
    result = fxir_arg_node(record_1(tracer, "f", inputs[0]));
    OK(fxir_tracer_output(tracer, &result, E));
    return 0;
}

static int32_t calls_foreign(void *data, fxir_tracer *tracer, const fxir_node *inputs, size_t count) {
    fxir_arg arg;
    (void)data;
    (void)count;
    arg = fxir_arg_node(inputs[0]);
    FAILS(FXIR_STALE_NODE, fxir_tracer_call_function(tracer, "foreign", &arg, 1, NULL, 0, NULL, E));
    return 0;
}

static int32_t stopped(void *data, fxir_tracer *tracer, const fxir_node *inputs, size_t count) {
    fxir_arg arg;
    (void)data;
    (void)count;
    arg = fxir_arg_node(inputs[0]);
    FAILS(FXIR_CALLBACK, fxir_tracer_call_function(tracer, "f", &arg, 1, NULL, 0, NULL, E));
    CHECK(failed.code == 5);
    return 6;
}

static void rewriting(void) {
    static const char *const names[1] = {"x"};
    fxir_module *made = NULL, *other = new_module();
    work first = {0, NULL, 0, NULL, 0}, second = {0, NULL, 0, NULL, 0};
    fxir_trace_rewrite rewrites[2];
    rewrites[0].function = unfold;
    rewrites[0].user_data = &first;
    rewrites[1].function = drop_g;
    rewrites[1].user_data = &second;
    OK(fxir_trace(NULL, names, 1, f_of, NULL, rewrites, 2, &made, E));
    /* The second rewrite sees what the first records; the first does not see it again. */
    CHECK(targets_are(made, "x h output"));
    CHECK(first.calls == 2 && second.calls == 3);
    fxir_module_free(made);

    OK(fxir_trace(NULL, names, 1, f_of, NULL, rewrites, 1, &made, E));
    CHECK(targets_are(made, "x g g h output"));
    fxir_module_free(made);

    second.foreign = placeholder(other, "y");
    OK(fxir_trace(NULL, names, 1, calls_foreign, NULL, rewrites, 2, &made, E));
    CHECK(targets_are(made, "x output"));
    fxir_module_free(made);

    first.returns = 5;
    FAILS(FXIR_CALLBACK, fxir_trace(NULL, names, 1, stopped, NULL, rewrites, 2, &made, E));
    CHECK(failed.code == 6);
    rewrites[1].function = NULL;
    FAILS(FXIR_NULL_ARGUMENT, fxir_trace(NULL, names, 1, f_of, NULL, rewrites, 2, &made, E));
    fxir_module_free(other);
}

int main(void) {
    tracing();
    failing();
    rewriting();
    return check_result();
}
