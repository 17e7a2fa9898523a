/* FX code: what is read and printed, what is refused and where. */
#include "check.h"

static const char CODE[] =
    "def forward(self, x, y : torch.Tensor = 3.5):\n"
    "    conv = self.conv(x);  x = None\n"
    "    w = self.sub.w\n"
    "    add = conv + w;  conv = w = None\n"
    "    add *= y;  imul = add;  add = y = None\n"
    "    view = imul.view(-1, (1, 2), s = slice(None, 2, None));  imul = None\n"
    "    return [view]\n    ";

static fxir_module *read_code(const char *text) {
    fxir_module *module = NULL;
    OK(fxir_module_read_code(text, strlen(text), NULL, &module, E));
    return module;
}

static int prints(const fxir_module *module, int32_t form, const char *expected) {
    fxir_buffer *buffer = NULL;
    const char *text;
    int same;
    if (!OK(fxir_module_print(module, form, NULL, &buffer, E))) return 0;
    text = fxir_buffer_data(buffer);
    while (*text == '\n') text++;
    same = strcmp(text, expected) == 0;
    if (!same) fprintf(stderr, "--- printed\n%s\n--- instead of\n%s\n", text, expected);
    fxir_buffer_free(buffer);
    return same;
}

static int32_t collect(void *data, const void *bytes, size_t length) {
    text *to = (text *)data;
    if (to->capacity == (size_t)-1) return 9;
    text_add(to, "%.*s", (int)length, (const char *)bytes);
    return 0;
}

static void reading(void) {
    fxir_module *module = read_code(CODE), *again = NULL, *clone = NULL;
    fxir_buffer *buffer = NULL;
    text to = {0, 0, 0}, stopped = {0, 0, (size_t)-1};
    size_t length;
    char *file;
    CHECK(graph_is(module, "x y conv w add imul view output"));
    OK(fxir_module_lint(module, E));
    CHECK(fxir_module_member_kind(module, "conv") == FXIR_MEMBER_SUBMODULE);
    CHECK(!strcmp(fxir_node_target(module, fxir_graph_find_node(module, "imul")), "_operator.imul"));
    CHECK(!strcmp(fxir_node_type(module, fxir_graph_find_node(module, "y")), "torch.Tensor"));
    CHECK(prints(module, FXIR_TEXT_CODE, CODE));

    OK(fxir_module_print_to(module, FXIR_TEXT_CODE, NULL, collect, &to, E));
    OK(fxir_module_print(module, FXIR_TEXT_CODE, NULL, &buffer, E));
    CHECK(to.length == fxir_buffer_size(buffer) && !memcmp(to.data, fxir_buffer_data(buffer), to.length));
    FAILS(FXIR_CALLBACK, fxir_module_print_to(module, FXIR_TEXT_CODE, NULL, collect, &stopped, E));
    CHECK(failed.code == 9);
    FAILS(FXIR_NULL_ARGUMENT, fxir_module_print_to(module, FXIR_TEXT_CODE, NULL, NULL, NULL, E));
    check_write_file("text.py", to.data, to.length);
    OK(fxir_module_load_code("text.py", NULL, &again, E));
    CHECK(prints(again, FXIR_TEXT_CODE, CODE));
    FAILS(FXIR_IO, fxir_module_load_code("nowhere/text.py", NULL, &clone, E));
    CHECK(clone == NULL);
    fxir_buffer_free(buffer);
    free(to.data);

    /* Members that are there decide, and come along. */
    OK(fxir_module_set_type_name(module, "Net", E));
    fxir_module_free(again);
    OK(fxir_module_read_code("def f(self, x):\n    return self.conv(x)\n", 40, module, &again, E));
    CHECK(graph_is(again, "x conv output"));
    CHECK(fxir_module_member_kind(again, "sub.w") != 0);
    CHECK(graph_is(module, "x y conv w add imul view output"));
    fxir_module_free(again);

    OK(fxir_module_print(module, FXIR_TEXT_GRAPH, NULL, &buffer, E));
    CHECK(strstr(fxir_buffer_data(buffer), "    %add : [num_users=1] = call_function[target=operator.add](args = (%conv, %w), kwargs = {})\n"));
    fxir_buffer_free(buffer);
    OK(fxir_module_print(module, FXIR_TEXT_TABULAR, NULL, &buffer, E));
    CHECK(strstr(fxir_buffer_data(buffer), "call_method"));
    fxir_buffer_free(buffer);
    FAILS(FXIR_INVALID_ARGUMENT, fxir_module_print(module, 77, NULL, &buffer, E));
    file = check_read_file("text.py", &length);
    OK(fxir_module_read_code(file, length, NULL, &clone, E));
    free(file); /* nothing points into the text */
    CHECK(prints(clone, FXIR_TEXT_CODE, CODE));
    fxir_module_free(clone);
    fxir_module_free(module);
}

static void annotations(void) {
    static const char text[] =
        "class Net(torch.nn.Module):\n"
        "    def forward(self, x: \"f32[s0, 3][3, 1]cuda:0\", n: \"Sym(s0)\"):\n"
        "         # File: a.py:3 in forward, code: return x.relu()\n"
        "        relu: \"f32[s0, 3][3, 1]cuda:0\" = x.relu();  x = relu = None\n"
        "        return n\n        ";
    fxir_module *module = read_code(text);
    fxir_text_options options;
    fxir_buffer *buffer = NULL;
    fxir_args *trace = NULL;
    fxir_node relu = fxir_graph_find_node(module, "relu");
    CHECK(!strcmp(fxir_module_type_name(module), "Net"));
    CHECK(fxir_node_dtype(module, relu) == FXIR_DTYPE_FLOAT32);
    OK(fxir_node_get_meta(module, relu, "stack_trace", &trace, E));
    CHECK(!strcmp(fxir_args_items(trace)[0].value.text, "  File \"a.py\", line 3, in forward\n    return x.relu()"));
    fxir_args_free(trace);
    fxir_text_options_init(&options);
    options.include_stride = options.include_device = 1;
    OK(fxir_module_print(module, FXIR_TEXT_READABLE, &options, &buffer, E));
    CHECK(!strcmp(fxir_buffer_data(buffer), text));
    fxir_buffer_free(buffer);
    options.include_stride = 2;
    FAILS(FXIR_INVALID_ARGUMENT, fxir_module_print(module, FXIR_TEXT_READABLE, &options, &buffer, E));
    options.struct_size = 3;
    FAILS(FXIR_INVALID_ARGUMENT, fxir_module_print(module, FXIR_TEXT_READABLE, &options, &buffer, E));
    CHECK(fxir_text_options_init != NULL);
    fxir_text_options_init(NULL);
    fxir_module_free(module);
}

static void refused(const char *text, size_t line, size_t column, const char *words) {
    fxir_module *module = (fxir_module *)(uintptr_t)8;
    FAILS(FXIR_PARSE, fxir_module_read_code(text, strlen(text), NULL, &module, E));
    if (!CHECK(failed.line == line && failed.column == column && strstr(failed.message, words)))
        fprintf(stderr, "  %zu:%zu: %s\n", failed.line, failed.column, failed.message);
    CHECK(strstr(failed.message, "^") && module == (fxir_module *)(uintptr_t)8);
}

static void refusing(void) {
    size_t i;
    fxir_module *module = NULL;
    char *deep = (char *)malloc(200100);
    if (!deep) abort();
    refused("", 1, 1, "no FX code");
    refused("x = 1\n", 1, 1, "no FX code");
    refused("def f(x):\n    y = torch.relu(x\n    return y\n", 2, 21, "Expected `)`");
    refused("def f(x):\n    return torch.relu(z)\n", 2, 23, "`z` is not defined");
    refused("def f(x):\n    if x:\n        return x\n", 3, 9, "deeper");
    refused("def f(x):\n    for i in x: pass\n    return x\n", 2, 5, "no control flow");
    refused("def f(x):\n    return 'abc\n", 2, 12, "does not end");
    refused("def f(x):\n    return x(1)\n", 2, 12, "cannot be called");
    refused("def f(x):\n    return 1 < x < 2\n", 2, 12, "two values at a time");
    for (i = 0; i < 100000; i++) deep[20 + i] = '[', deep[100020 + i] = ']';
    memcpy(deep, "def f(x):\n  return x", 20);
    FAILS(FXIR_LIMIT, fxir_module_read_code(deep, 200020, NULL, &module, E));
    for (i = 0; i < 200000; i++) deep[20 + i] = '-';
    FAILS(FXIR_LIMIT, fxir_module_read_code(deep, 200020, NULL, &module, E));
    FAILS(FXIR_INVALID_UTF8, fxir_module_read_code("def f(x):\n  return '\xff'\n", 23, NULL, &module, E));
    FAILS(FXIR_NULL_ARGUMENT, fxir_module_read_code(NULL, 3, NULL, &module, E));
    FAILS(FXIR_PARSE, fxir_module_read_code(NULL, 0, NULL, &module, E));
    CHECK(module == NULL);
    free(deep);
}

static void appending(void) {
    fxir_module *module = read_code("def f(x):\n    relu = torch.relu(x)\n    return relu\n");
    fxir_node made = 0;
    char *before;
    OK(fxir_graph_append_code(module, "y = torch.add(relu, x * 2, alpha = 3)", &made, E));
    CHECK(graph_is(module, "x relu mul y output") && made == fxir_graph_find_node(module, "y"));
    OK(fxir_graph_append_code(module, "y = y + 1", &made, E));
    CHECK(!strcmp(fxir_node_name(module, made), "y_1"));
    CHECK(users_are(module, fxir_graph_find_node(module, "y"), "y_1"));
    before = picture(module);
    FAILS(FXIR_PARSE, fxir_graph_append_code(module, "z = torch.add(relu, gone)", &made, E));
    CHECK(failed.line == 1 && failed.column == 21);
    FAILS(FXIR_PARSE, fxir_graph_append_code(module, "z = torch.add(relu,", &made, E));
    FAILS(FXIR_PARSE, fxir_graph_append_code(module, "", &made, E));
    FAILS(FXIR_PARSE, fxir_graph_append_code(module, "return relu", &made, E));
    FAILS(FXIR_NULL_ARGUMENT, fxir_graph_append_code(module, NULL, &made, E));
    check_unchanged(module, before, "a statement that is refused", __FILE__, __LINE__);
    OK(fxir_module_lint(module, E));
    fxir_module_free(module);
}

static void patterns(void) {
    fxir_module *module = read_code("def f(self, x, y):\n    a = self.act(x + y)\n    return self.act(a)\n");
    fxir_matches *matches = NULL;
    char *before;
    OK(fxir_module_add_submodule(module, "act", FXIR_MODULE_LEAF, "torch.nn.modules.activation.ReLU", NULL, E));
    before = picture(module);
    FAILS(FXIR_PARSE, fxir_replace_pattern_text(module, "def p(x): return x +", "def r(x): return x", NULL, &matches, E));
    CHECK(strstr(failed.message, "pattern: ") == failed.message);
    FAILS(FXIR_PARSE, fxir_replace_pattern_text(module, "def p(x): return -x", "def r(x): return z", NULL, &matches, E));
    CHECK(strstr(failed.message, "replacement: ") == failed.message && matches == NULL);
    FAILS(FXIR_NULL_ARGUMENT, fxir_replace_pattern_text(module, NULL, "def r(x): return x", NULL, &matches, E));
    FAILS(FXIR_NULL_ARGUMENT, fxir_replace_pattern_text(module, "def r(x): return -x", NULL, NULL, &matches, E));
    check_unchanged(module, before, "a pattern that is refused", __FILE__, __LINE__);
    OK(fxir_replace_pattern_text(module, "def p(self, x, y): return self.act(x + y)", "def r(x, y): return torch.relu(torch.add(x, y))", NULL, &matches, E));
    CHECK(fxir_matches_count(matches) == 1);
    fxir_matches_free(matches);
    OK(fxir_module_lint(module, E));
    CHECK(prints(module, FXIR_TEXT_CODE,
                 "def forward(self, x, y):\n    add_1 = torch.add(x, y);  x = y = None\n    relu = torch.relu(add_1);  add_1 = None\n"
                 "    act = self.act(relu);  relu = None\n    return act\n    "));
    fxir_module_free(module);
}

int main(void) {
    reading();
    annotations();
    refusing();
    appending();
    patterns();
    return check_result();
}
