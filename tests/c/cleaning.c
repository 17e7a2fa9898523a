/* Cleaning: what is computed twice, members that are read twice or not at all, calls that make constants. */
#include "check.h"
#include "code.h"

static const char TWICE[] =
    "def f(x, y):\n a = torch.add(x, y)\n b = torch.add(x, y)\n c = torch.relu(a)\n d = torch.relu(b)\n"
    " e = torch.add(x, 1)\n g = torch.add(x, 1.0)\n h = torch.add(x, True)\n return [c, d, e, g, h]\n";

static void twice_is_once(void) {
    fxir_module *module = read_code(TWICE);
    fxir_node b = fxir_graph_find_node(module, "b"), d = fxir_graph_find_node(module, "d");
    fxir_node_map *map = NULL;
    const fxir_node_pair *pairs;
    size_t erased = 99;
    OK(fxir_eliminate_common_subexpressions(module, NULL, &erased, &map, E));
    CHECK(erased == 2 && graph_is(module, "x y a c e g h output"));
    pairs = fxir_node_map_pairs(map);
    if (CHECK(fxir_node_map_count(map) == 2 && pairs)) CHECK(pairs[0].from == b && pairs[1].from == d);
    CHECK(fxir_node_map_get(map, b) == fxir_graph_find_node(module, "a"));
    CHECK(fxir_node_map_get(map, d) == fxir_graph_find_node(module, "c"));
    CHECK(fxir_node_op(module, b) == 0);
    fxir_node_map_free(map);
    CHECK(code_is(module, "def forward(self, x, y):\n a = torch.add(x, y)\n c = torch.relu(a)\n e = torch.add(x, 1)\n"
                          " g = torch.add(x, 1.0)\n h = torch.add(x, True)\n return [c, c, e, g, h]\n"));
    OK(fxir_eliminate_common_subexpressions(module, NULL, &erased, &map, E));
    CHECK(erased == 0 && fxir_node_map_count(map) == 0);
    fxir_node_map_free(map);
    OK(fxir_eliminate_common_subexpressions(module, NULL, NULL, NULL, E));
    fxir_module_free(module);
}

static void writes_part(void) {
    static const char *const kept[] = {
        "def f(x, y):\n a = torch.add(x, y)\n w = x.add_(1)\n b = torch.add(x, y)\n return [a, b]\n",
        "def f(x):\n a = torch.add(x, 1)\n b = torch.add(x, 1)\n w = a.add_(1)\n return [w, b]\n",
        "def f(x):\n a = torch.rand_like(x)\n b = torch.rand_like(x)\n return [a, b]\n",
    };
    size_t i, erased;
    for (i = 0; i < sizeof kept / sizeof *kept; i++) {
        fxir_module *module = read_code(kept[i]);
        erased = 99;
        OK(fxir_eliminate_common_subexpressions(module, NULL, &erased, NULL, E));
        CHECK(erased == 0);
        fxir_module_free(module);
    }
}

typedef struct {
    const char *impure;
    size_t asked;
    int32_t code, verdict;
} judge;

static int32_t by_target(void *data, const fxir_module *module, fxir_node node, int32_t *verdict) {
    judge *now = data;
    now->asked++;
    *verdict = now->verdict ? now->verdict : !strcmp(fxir_node_target(module, node), now->impure);
    return now->code;
}

static void the_caller_decides(void) {
    static const char *const banned[] = {"torch.relu"}, *const operators[] = {"torch.ops.aten.neg", "abs"};
    static const char more[] = "def f(x):\n a = torch.ops.aten.neg.default(x)\n b = torch.ops.aten.neg.default(x)\n"
                               " c = x.abs()\n d = x.abs()\n e = torch.rand(2)\n f = torch.rand(2)\n"
                               " return [a, b, c, d, e, f]\n";
    fxir_cse_options options;
    judge now = {"torch.relu", 0, 0, 0};
    size_t erased = 99;
    fxir_node_map *map = NULL;
    fxir_module *module = read_code(TWICE);
    char *before;
    fxir_cse_options_init(&options);
    fxir_cse_options_init(NULL);
    CHECK(options.struct_size == sizeof options && !options.banned && !options.banned_count && !options.is_impure);
    options.banned = banned;
    options.banned_count = 1;
    OK(fxir_eliminate_common_subexpressions(module, &options, &erased, NULL, E));
    CHECK(erased == 1 && graph_is(module, "x y a c d e g h output"));
    fxir_module_free(module);

    /* What fails changes nothing. */
    module = read_code(TWICE);
    fxir_cse_options_init(&options);
    options.is_impure = by_target;
    options.is_impure_data = &now;
    now.code = 4;
    REFUSED(FXIR_CALLBACK, module, fxir_eliminate_common_subexpressions(module, &options, &erased, &map, E));
    CHECK(failed.code == 4 && now.asked == 1);
    now.code = 0;
    now.verdict = 2;
    REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_eliminate_common_subexpressions(module, &options, &erased, &map, E));
    now.verdict = 0;
    options.banned_count = 1;
    REFUSED(FXIR_NULL_ARGUMENT, module, fxir_eliminate_common_subexpressions(module, &options, &erased, &map, E));
    options.banned = (const char *const[]){NULL};
    REFUSED(FXIR_NULL_ARGUMENT, module, fxir_eliminate_common_subexpressions(module, &options, &erased, &map, E));
    options.banned_count = 0;
    options.struct_size = 1;
    REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_eliminate_common_subexpressions(module, &options, &erased, &map, E));
    options.struct_size = sizeof options;
    CHECK(erased == 1 && map == NULL);
    now.asked = 0;
    OK(fxir_eliminate_common_subexpressions(module, &options, &erased, &map, E));
    CHECK(now.asked == 7 && erased == 0 && fxir_node_map_count(map) == 0); /* c may write into a */
    fxir_node_map_free(map);
    now.impure = "torch.add";
    OK(fxir_eliminate_common_subexpressions(module, &options, &erased, NULL, E));
    CHECK(now.asked == 14 && erased == 0);
    now.impure = "torch.mul";
    OK(fxir_eliminate_common_subexpressions(module, &options, &erased, &map, E));
    CHECK(now.asked == 21 && erased == 2 && fxir_node_map_count(map) == 2 && graph_is(module, "x y a c e g h output"));
    fxir_node_map_free(map);
    fxir_module_free(module);

    module = read_code(more);
    before = picture(module);
    fxir_cse_options_init(&options);
    options.banned = operators;
    options.banned_count = 2;
    OK(fxir_eliminate_common_subexpressions(module, &options, &erased, NULL, E));
    CHECK(erased == 0);
    check_unchanged(module, before, "all is banned or random", __FILE__, __LINE__);
    options.is_impure = by_target;
    options.is_impure_data = &now;
    OK(fxir_eliminate_common_subexpressions(module, &options, &erased, NULL, E));
    CHECK(erased == 1 && graph_is(module, "x a b c d e output")); /* the caller calls random numbers pure */
    fxir_module_free(module);
}

static void members(void) {
    static const float data[2] = {1, 2};
    static const char *const paths[] = {"w", "unused", "linear.weight", "holder.unused"};
    fxir_module *module = new_module(), *leaf = NULL;
    fxir_node_map *map = NULL;
    fxir_tensor *tensor = NULL;
    fxir_node x = placeholder(module, "x"), w[2], sum;
    size_t i, count = 99;
    int64_t sizes[1] = {2};
    OK(fxir_module_add_submodule(module, "linear", FXIR_MODULE_LEAF, "torch.nn.modules.linear.Linear", &leaf, E));
    OK(fxir_tensor_copy(FXIR_DTYPE_FLOAT32, sizes, 1, data, sizeof data, &tensor, E));
    for (i = 0; i < 4; i++) OK(fxir_module_set_tensor(module, paths[i], FXIR_MEMBER_PARAMETER, tensor, E));
    fxir_tensor_free(tensor);
    for (i = 0; i < 2; i++) OK(fxir_graph_get_attr(module, "w", &w[i], E));
    sum = call_2(module, "torch.add", w[0], w[1]);
    output_1(module, call_2(module, "torch.mul", sum, x));

    OK(fxir_deduplicate_get_attr(module, &count, &map, E));
    CHECK(count == 1 && fxir_node_map_get(map, w[1]) == w[0]);
    CHECK(fxir_node_arg_node(module, sum, 0) == w[0] && fxir_node_arg_node(module, sum, 1) == w[0]);
    fxir_node_map_free(map);
    OK(fxir_deduplicate_get_attr(module, NULL, NULL, E));

    OK(fxir_module_delete_unused_attributes(module, &count, E));
    CHECK(count == 2);
    for (i = 0; i < 4; i++) {
        int32_t kind = strstr(paths[i], "unused") ? FXIR_MEMBER_NONE : FXIR_MEMBER_PARAMETER;
        CHECK(fxir_module_member_kind(module, paths[i]) == kind);
    }
    OK(fxir_module_delete_unused_attributes(module, NULL, E));

    /* A leaf has no graph. */
    FAILS(FXIR_INVALID_ARGUMENT, fxir_eliminate_common_subexpressions(leaf, NULL, &count, &map, E));
    FAILS(FXIR_INVALID_ARGUMENT, fxir_deduplicate_get_attr(leaf, &count, &map, E));
    FAILS(FXIR_INVALID_ARGUMENT, fxir_module_delete_unused_attributes(leaf, &count, E));
    FAILS(FXIR_INVALID_ARGUMENT, fxir_lift_constants(leaf, 0, &count, E));
    fxir_module_free(leaf);
    fxir_module_free(module);
}

static void constants(void) {
    static const char text[] =
        "def f(x):\n a = torch.tensor([1, 2])\n b = torch.zeros(2, 2)\n c = torch.full((2,), 0.1)\n"
        " z = torch.zeros(2)\n w = z.add_(x)\n m = torch.mul(x, a)\n n = torch.add(m, b)\n o = torch.add(n, c)\n"
        " return torch.add(o, w)\n";
    static const float fill[2] = {0.1f, 0.1f};
    fxir_module *module = read_code(text);
    fxir_node a = fxir_graph_find_node(module, "a"), b = fxir_graph_find_node(module, "b");
    fxir_tensor *tensor = NULL;
    size_t lifted = 99;
    OK(fxir_lift_constants(module, 7, &lifted, E));
    CHECK(lifted == 0);
    OK(fxir_lift_constants(module, 8, &lifted, E)); /* two float32 */
    CHECK(lifted == 1 && fxir_node_op(module, a) == FXIR_OP_CALL_FUNCTION);
    OK(fxir_module_get_tensor(module, "_tensor_constant0", &tensor, E));
    CHECK(fxir_tensor_dtype(tensor) == FXIR_DTYPE_FLOAT32 && fxir_tensor_size(tensor) == sizeof fill);
    if (CHECK(fxir_tensor_data(tensor) != NULL)) CHECK(!memcmp(fxir_tensor_data(tensor), fill, sizeof fill));
    fxir_tensor_free(tensor);
    OK(fxir_lift_constants(module, 0, &lifted, E));
    CHECK(lifted == 2);
    CHECK(!strcmp(fxir_node_target(module, a), "_tensor_constant1") && fxir_node_op(module, a) == FXIR_OP_GET_ATTR);
    CHECK(!strcmp(fxir_node_target(module, b), "_tensor_constant2") && fxir_node_arg_count(module, b) == 0);
    CHECK(fxir_module_member_kind(module, "_tensor_constant2") == FXIR_MEMBER_CONSTANT);
    CHECK(graph_is(module, "x a b c z w m n o add output")); /* z is written */
    OK(fxir_graph_lint(module, E));
    OK(fxir_lift_constants(module, 0, NULL, E));
    fxir_module_free(module);
}

static void by_name(void) {
    static const char *const names[] = {"deduplicate_get_attr", "eliminate_common_subexpressions", "lift_constants",
                                        "delete_unused_attributes"};
    fxir_module *module = read_code(TWICE);
    fxir_pass_manager *passes = NULL;
    size_t i;
    OK(fxir_pass_manager_new(&passes, E));
    for (i = 0; i < 4; i++) OK(fxir_pass_manager_add(passes, names[i], E));
    OK(fxir_pass_manager_run(passes, module, NULL, NULL, E));
    CHECK(graph_is(module, "x y a c e g h output"));
    fxir_pass_manager_free(passes);
    fxir_module_free(module);
}

int main(void) {
    twice_is_once();
    the_caller_decides();
    writes_part();
    members();
    constants();
    by_name();
    return check_result();
}
