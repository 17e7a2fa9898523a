/* Tracing text: what comes out, what is asked for, what is refused. */
#include "check.h"

static const char TWO[] =
    "def h(x):\n"
    "    return torch.relu(x) * 2\n"
    "def f(x, y=None):\n"
    "    return h(x) + 1\n";

static fxir_module *traced(const char *code, const fxir_module *members, const fxir_trace_options *options,
                           const fxir_trace_rewrite *rewrites, size_t count) {
    fxir_module *module = NULL;
    OK(fxir_trace_code(code, strlen(code), members, options, rewrites, count, &module, E));
    return module;
}

static int prints(fxir_module *module, const char *expected) {
    fxir_buffer *printed = NULL;
    int found = 0;
    if (!OK(fxir_module_print(module, FXIR_TEXT_CODE, NULL, &printed, E))) return 0;
    found = strstr(fxir_buffer_data(printed), expected) != NULL;
    if (!found) fprintf(stderr, "  it prints: %s\n", fxir_buffer_data(printed));
    fxir_buffer_free(printed);
    return found;
}

static void functions(void) {
    const char *names[2] = {"h", "f"};
    fxir_trace_options options;
    fxir_module *module = traced(TWO, NULL, NULL, NULL, 0);
    CHECK(prints(module, "def forward(self, x, y = None):\n    relu = torch.relu(x);  x = None\n"
                         "    mul = relu * 2;  relu = None\n    add = mul + 1;  mul = None\n    return add\n"));
    CHECK(strcmp(fxir_module_type_name(module), "f") == 0);
    OK(fxir_module_lint(module, E));
    fxir_module_free(module);

    fxir_trace_options_init(&options);
    CHECK(options.struct_size == sizeof options && !options.entry && !options.autowrap_functions);
    CHECK(!options.autowrap_functions_count && !options.autowrap_all && !options.more_members && !options.more_functions);
    fxir_trace_options_init(NULL);
    options.entry = "h";
    module = traced(TWO, NULL, &options, NULL, 0);
    CHECK(fxir_graph_node_count(module) == 4);
    fxir_module_free(module);

    options.entry = NULL;
    options.autowrap_functions = names;
    options.autowrap_functions_count = 1;
    module = traced(TWO, NULL, &options, NULL, 0);
    CHECK(prints(module, "wrap(\"h\")") && fxir_graph_node_count(module) == 5);
    fxir_module_free(module);
    options.autowrap_functions = NULL;
    options.autowrap_functions_count = 0;
    options.autowrap_all = 1;
    module = traced(TWO, NULL, &options, NULL, 0);
    CHECK(prints(module, "wrap(\"h\")"));
    fxir_module_free(module);

    /* A default of the text is one of the node. */
    module = traced("def f(x, n=(1, 2.5)): return x", NULL, NULL, NULL, 0);
    CHECK(fxir_node_arg_count(module, fxir_graph_find_node(module, "n")) == 1);

    fxir_module_free(module);
}

static int32_t counts(void *data, fxir_tracer *tracer, const fxir_operation *operation, fxir_node *node) {
    int *count = (int *)data;
    CHECK(tracer != NULL && *node == 0);
    ++*count;
    return strcmp(operation->target, "torch.stop") == 0 ? 42 : 0;
}

static void rewrites(void) {
    int count = 0;
    fxir_trace_rewrite rewrite = {counts, &count};
    fxir_module *module = traced(TWO, NULL, NULL, &rewrite, 1);
    CHECK(count == 3);
    fxir_module_free(module);
    FAILS(FXIR_CALLBACK, fxir_trace_code("def f(x): return torch.stop(x)", 30, NULL, NULL, &rewrite, 1, &module, E));
    CHECK(failed.code == 42);
    rewrite.function = NULL;
    FAILS(FXIR_NULL_ARGUMENT, fxir_trace_code(TWO, strlen(TWO), NULL, NULL, &rewrite, 1, &module, E));
    FAILS(FXIR_NULL_ARGUMENT, fxir_trace_code(TWO, strlen(TWO), NULL, NULL, NULL, 1, &module, E));
}

static void members(void) {
    static const char NET[] =
        "class Net:\n"
        "    def forward(self, x):\n"
        "        for i in range(self.depth):\n"
        "            x = self.act(x)\n"
        "        return x\n";
    static const char GONE[] = "def forward(self, x): return self.gone(x)";
    fxir_module *root = NULL, *module = NULL;
    fxir_trace_options options;
    fxir_arg depth = fxir_arg_int(3);
    OK(fxir_module_new(NULL, &root, E));
    OK(fxir_module_add_submodule(root, "act", FXIR_MODULE_LEAF, "torch.nn.modules.activation.ReLU", NULL, E));
    OK(fxir_module_add_submodule(root, "other", FXIR_MODULE_LEAF, "torch.nn.modules.activation.ReLU", NULL, E));
    OK(fxir_module_set_attribute(root, "depth", &depth, E));
    module = traced(NET, root, NULL, NULL, 0);
    CHECK(fxir_graph_node_count(module) == 5 && prints(module, "act_2 = self.act(act_1)"));
    CHECK(fxir_module_member_kind(module, "act") == FXIR_MEMBER_SUBMODULE);
    CHECK(fxir_module_member_kind(module, "other") == FXIR_MEMBER_NONE);
    fxir_module_free(module);
    FAILS(FXIR_PARSE, fxir_trace_code(NET, strlen(NET), NULL, NULL, NULL, 0, &module, E));
    CHECK(failed.line == 3 && failed.column == 18);
    FAILS(FXIR_PARSE, fxir_trace_code(GONE, strlen(GONE), root, NULL, NULL, 0, &module, E));
    fxir_trace_options_init(&options);
    options.more_members = 1;
    module = traced(GONE, root, &options, NULL, 0);
    CHECK(fxir_module_member_kind(module, "gone") == FXIR_MEMBER_SUBMODULE);
    fxir_module_free(module);
    fxir_module_free(root);
    FAILS(FXIR_INVALID_HANDLE, fxir_trace_code(NET, strlen(NET), root, NULL, NULL, 0, &module, E));
}

static void refusals(void) {
    static const char BRANCH[] = "def f(x):\n    return 1 if x > 0 else 2\n";
    fxir_trace_options options;
    fxir_module *module = (fxir_module *)8;
    const char *names[1] = {NULL};
    FAILS(FXIR_PARSE, fxir_trace_code(BRANCH, strlen(BRANCH), NULL, NULL, NULL, 0, &module, E));
    CHECK(failed.line == 2 && failed.column == 17 && strstr(failed.message, "`x > 0`"));
    CHECK(module == (fxir_module *)8);
    FAILS(FXIR_PARSE, fxir_trace_code("", 0, NULL, NULL, NULL, 0, &module, E));
    FAILS(FXIR_INVALID_UTF8, fxir_trace_code("\xff", 1, NULL, NULL, NULL, 0, &module, E));
    FAILS(FXIR_NULL_ARGUMENT, fxir_trace_code(NULL, 1, NULL, NULL, NULL, 0, &module, E));
    FAILS(FXIR_NULL_ARGUMENT, fxir_trace_code(TWO, strlen(TWO), NULL, NULL, NULL, 0, NULL, E));
    FAILS(FXIR_LIMIT, fxir_trace_code("def f(x): return f(x)", 21, NULL, NULL, NULL, 0, &module, E));
    fxir_trace_options_init(&options);
    options.entry = "nothing";
    FAILS(FXIR_PARSE, fxir_trace_code(TWO, strlen(TWO), NULL, &options, NULL, 0, &module, E));
    options.entry = "\xff";
    FAILS(FXIR_INVALID_UTF8, fxir_trace_code(TWO, strlen(TWO), NULL, &options, NULL, 0, &module, E));
    options.entry = NULL;
    options.autowrap_functions = names;
    options.autowrap_functions_count = 1;
    FAILS(FXIR_NULL_ARGUMENT, fxir_trace_code(TWO, strlen(TWO), NULL, &options, NULL, 0, &module, E));
    options.autowrap_functions_count = 0;
    options.autowrap_all = 2;
    FAILS(FXIR_INVALID_ARGUMENT, fxir_trace_code(TWO, strlen(TWO), NULL, &options, NULL, 0, &module, E));
    options.autowrap_all = 0;
    FAILS(FXIR_PARSE, fxir_trace_code("def f(x): return accel.g(x)", 27, NULL, &options, NULL, 0, &module, E));
    options.more_functions = 2;
    FAILS(FXIR_INVALID_ARGUMENT, fxir_trace_code("def f(x): return accel.g(x)", 27, NULL, &options, NULL, 0, &module, E));
    options.more_functions = 1;
    options.reserved = 1;
    FAILS(FXIR_INVALID_ARGUMENT, fxir_trace_code("def f(x): return accel.g(x)", 27, NULL, &options, NULL, 0, &module, E));
    options.reserved = 0;
    options.entry = NULL;
    OK(fxir_trace_code("def f(x): return accel.g(x)", 27, NULL, &options, NULL, 0, &module, E));
    CHECK(strcmp(fxir_node_target(module, fxir_graph_find_node(module, "g")), "accel.g") == 0);
    fxir_module_free(module);
    options.struct_size = 3;
    FAILS(FXIR_INVALID_ARGUMENT, fxir_trace_code(TWO, strlen(TWO), NULL, &options, NULL, 0, &module, E));
}

/* A pattern is traced as torch traces its functions: the arguments of F.relu are those of a model's node. */
static void patterns(void) {
    static const char MODEL[] = "def f(x):\n    y = torch.nn.functional.relu(x + 1)\n    return y * 2\n";
    fxir_matches *matches = NULL;
    fxir_module *module = traced(MODEL, NULL, NULL, NULL, 0);
    OK(fxir_replace_pattern_text(module,
                                 "import torch.nn.functional as F\ndef p(x):\n    return F.relu(x + 1)",
                                 "def r(x):\n    return torch.clamp(x, min=-1)", NULL, &matches, E));
    CHECK(fxir_matches_count(matches) == 1);
    CHECK(prints(module, "clamp = torch.clamp(x, min = -1);  x = None\n    mul = clamp * 2"));
    fxir_matches_free(matches);
    /* The backend's own functions need no import. */
    OK(fxir_replace_pattern_text(module, "def p(x):\n    return torch.clamp(x, min=-1) * 2",
                                 "def r(x):\n    return accel.twice(clip(x), 2)", NULL, &matches, E));
    CHECK(fxir_matches_count(matches) == 1);
    CHECK(prints(module, "clip = globals()[\"clip\"](x);  x = None\n    twice = accel.twice(clip, 2)"));
    fxir_matches_free(matches);
    fxir_module_free(module);
}

int main(void) {
    functions();
    rewrites();
    members();
    refusals();
    patterns();
    return check_result();
}
