/* Calls in one form: keywords and positions, defaults, what is left alone and what strict refuses. */
#include "check.h"

static fxir_module *read_module(const char *body) {
    fxir_module *module = NULL;
    OK(fxir_module_read_code(body, strlen(body), NULL, &module, E));
    return module;
}

/* Whether the module's code has this line. */
static int has_line(const fxir_module *module, const char *line) {
    fxir_buffer *buffer = NULL;
    char *code;
    int found;
    OK(fxir_module_print(module, FXIR_TEXT_CODE, NULL, &buffer, E));
    code = (char *)calloc(fxir_buffer_size(buffer) + 1, 1);
    if (!code) abort();
    memcpy(code, fxir_buffer_data(buffer), fxir_buffer_size(buffer));
    found = strstr(code, line) != NULL;
    if (!found) fprintf(stderr, "not in the code: %s\n%s\n", line, code);
    free(code);
    fxir_buffer_free(buffer);
    return found;
}

static const char body[] =
    "def forward(self, x, y):\n"
    "    a = torch.add(x, y)\n"
    "    b = a.view(2, -1)\n"
    "    c = torch.nn.functional.dropout(b, 0.5, training = False)\n"
    "    d = torch.ops.aten.sum.dim_IntList(c, [1])\n"
    "    e = mine.function(d, 2)\n"
    "    f = torch.relu(e, mine = 1)\n"
    "    return f\n";

/* Each form and what becomes of defaults; counts; twice is once. */
static void forms(void) {
    fxir_module *module = read_module(body);
    fxir_normalize_options options;
    fxir_normalized counts;
    fxir_node a = fxir_graph_find_node(module, "a"), x = fxir_graph_find_node(module, "x");
    memset(&options, 0x5a, sizeof options);
    fxir_normalize_options_init(&options);
    CHECK(options.struct_size == sizeof options && options.form == FXIR_FORM_KEYWORD);
    CHECK(options.defaults == FXIR_DEFAULTS_FILL_IN && !options.strict && !options.input_for_self);
    fxir_normalize_options_init(NULL);

    options.defaults = FXIR_DEFAULTS_KEEP;
    memset(&counts, 0x5a, sizeof counts);
    OK(fxir_normalize_args(module, &options, &counts, E));
    CHECK(counts.changed == 4 && counts.kept == 0 && counts.unknown == 1 && counts.misfits == 1);
    CHECK(has_line(module, "a = torch.add(input = x, other = y)"));
    CHECK(has_line(module, "b = a.view(size = [2, -1])"));
    CHECK(has_line(module, "c = torch.nn.functional.dropout(input = b, p = 0.5, training = False)"));
    CHECK(has_line(module, "d = torch.ops.aten.sum.dim_IntList(self = c, dim = [1])"));
    CHECK(has_line(module, "e = mine.function(d, 2)"));
    CHECK(has_line(module, "f = torch.relu(e, mine = 1)"));
    OK(fxir_normalize_args(module, &options, &counts, E));
    CHECK(counts.changed == 0 && counts.kept == 4);
    OK(fxir_module_lint(module, E));

    OK(fxir_normalize_args(module, NULL, NULL, E)); /* filled in */
    CHECK(has_line(module, "a = torch.add(input = x, other = y, alpha = 1)"));
    CHECK(has_line(module, "dropout(input = b, p = 0.5, training = False, inplace = False)"));
    CHECK(has_line(module, "dim_IntList(self = c, dim = [1], keepdim = False, dtype = None)"));

    options.form = FXIR_FORM_POSITIONAL;
    options.defaults = FXIR_DEFAULTS_LEAVE_OUT;
    OK(fxir_normalize_args(module, &options, &counts, E));
    CHECK(counts.changed == 4);
    CHECK(has_line(module, "a = torch.add(x, y)"));
    CHECK(has_line(module, "b = a.view([2, -1])"));
    CHECK(has_line(module, "dropout(b, training = False)"));
    CHECK(has_line(module, "dim_IntList(c, [1])"));

    options.form = FXIR_FORM_KEYWORD;
    options.input_for_self = 1;
    OK(fxir_normalize_args(module, &options, NULL, E));
    CHECK(has_line(module, "dim_IntList(input = c, dim = [1])"));
    options.input_for_self = 0;
    OK(fxir_normalize_args(module, &options, NULL, E));
    CHECK(has_line(module, "dim_IntList(self = c, dim = [1])"));
    CHECK(fxir_graph_find_node(module, "a") == a && users_are(module, x, "a"));
    OK(fxir_module_lint(module, E));
    fxir_module_free(module);
}

/* A failed call changes nothing, and writes no output but the error. */
static void refused(void) {
    fxir_module *module = read_module(body), *misfit;
    fxir_normalize_options options;
    fxir_normalized counts = {7, 7, 7, 7};
    fxir_args *args = (fxir_args *)&options;
    fxir_node x = fxir_graph_find_node(module, "x"), a = fxir_graph_find_node(module, "a");
    fxir_node e = fxir_graph_find_node(module, "e");
    fxir_normalize_options_init(&options);
    options.strict = 1;
    REFUSED(FXIR_NOT_FOUND, module, fxir_normalize_args(module, &options, &counts, E));
    CHECK(failed.node == e && strstr(failed.message, "mine.function"));
    CHECK(counts.changed == 7 && counts.misfits == 7);
    REFUSED(FXIR_NOT_FOUND, module, fxir_node_normalized_arguments(module, e, &options, &args, E));
    REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_node_normalized_arguments(module, x, &options, &args, E));
    REFUSED(FXIR_STALE_NODE, module, fxir_node_normalized_arguments(module, 0, &options, &args, E));
    REFUSED(FXIR_STALE_NODE, module, fxir_node_normalized_arguments(module, a + 1, &options, &args, E));
    REFUSED(FXIR_NULL_ARGUMENT, module, fxir_node_normalized_arguments(module, a, &options, NULL, E));
    CHECK(args == (fxir_args *)&options);

    misfit = read_module("def forward(self, x):\n    a = torch.nn.functional.relu(x, mine = 1)\n    return a\n");
    REFUSED(FXIR_INVALID_ARGUMENT, misfit, fxir_normalize_args(misfit, &options, &counts, E));
    CHECK(failed.node == fxir_graph_find_node(misfit, "a") && strstr(failed.message, "\"mine\""));
    fxir_module_free(misfit);

    options.strict = 2;
    REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_normalize_args(module, &options, &counts, E));
    options.strict = 0;
    options.form = 2;
    REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_normalize_args(module, &options, &counts, E));
    options.form = -1;
    REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_node_normalized_arguments(module, a, &options, &args, E));
    options.form = 0;
    options.defaults = 3;
    REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_normalize_args(module, &options, &counts, E));
    options.defaults = 0;
    options.input_for_self = -1;
    REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_normalize_args(module, &options, &counts, E));
    options.input_for_self = 0;
    options.struct_size = 0;
    REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_normalize_args(module, &options, &counts, E));
    options.struct_size = sizeof(size_t); /* what is left out is zero: the defaults */
    OK(fxir_normalize_args(module, &options, &counts, E));
    CHECK(counts.changed == 4);
    fxir_module_free(module);
}

/* One node is asked and stays as it is. */
static void snapshots(void) {
    fxir_module *module = read_module(body);
    fxir_node a = fxir_graph_find_node(module, "a"), x = fxir_graph_find_node(module, "x");
    fxir_args *args = NULL;
    const fxir_arg *input, *alpha;
    char *before = picture(module);
    OK(fxir_node_normalized_arguments(module, a, NULL, &args, E));
    CHECK(fxir_args_count(args) == 0 && fxir_args_kwarg_count(args) == 3);
    input = fxir_args_kwarg(args, "input");
    alpha = fxir_args_kwarg(args, "alpha");
    CHECK(input && input->kind == FXIR_ARG_NODE && input->value.node == x);
    CHECK(alpha && alpha->kind == FXIR_ARG_INT && alpha->value.integer == 1);
    CHECK(!strcmp(fxir_args_kwargs(args)[1].name, "other"));
    fxir_args_free(args);
    /* Nothing is known of these: no snapshot, and no error. */
    args = (fxir_args *)before;
    OK(fxir_node_normalized_arguments(module, x, NULL, &args, E));
    CHECK(args == NULL);
    args = (fxir_args *)before;
    OK(fxir_node_normalized_arguments(module, fxir_graph_find_node(module, "e"), NULL, &args, E));
    CHECK(args == NULL);
    check_unchanged(module, before, "asking", __FILE__, __LINE__);
    fxir_module_free(module);
}

int main(void) {
    forms();
    refused();
    snapshots();
    return check_result();
}
