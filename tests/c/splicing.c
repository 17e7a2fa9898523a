/* Copies of nodes and graphs, how they are called, and submodules inlined at their calls. */
#include "check.h"
#include "code.h"

static const char CHAIN[] = "def f(x):\n a = g(x)\n linear = self.linear(a)\n c = g(linear)\n d = g(c)\n return d\n";

static void copying(void) {
    fxir_node n[6], to, x;
    fxir_module *module = new_module(), *source = read_code(CHAIN);
    fxir_node_map *map = NULL;
    fxir_args *returned = NULL;
    fxir_node_pair given[2];
    CHECK(fxir_graph_nodes(source, n, 6) == 6);
    x = placeholder(module, "x");
    to = call_1(module, "a", x);
    given[0].from = n[0];
    given[0].to = to;
    OK(fxir_graph_copy(module, source, given, 1, FXIR_AT_DEFAULT, 0, NULL, &returned, &map, E));
    CHECK(graph_is(module, "x a a_1 linear c d"));
    CHECK(fxir_node_map_get(map, n[0]) == to && fxir_node_map_get(map, n[5]) == 0);
    CHECK(!strcmp(fxir_node_name(module, fxir_node_map_get(map, n[4])), "d"));
    if (CHECK(fxir_args_count(returned) == 1)) CHECK(fxir_args_items(returned)[0].value.node == fxir_node_map_get(map, n[4]));
    fxir_args_free(returned);
    fxir_node_map_free(map);
    /* A graph into itself, in front of its first operation; placeholders to the placeholders. */
    OK(fxir_graph_copy(source, source, NULL, 0, FXIR_AT_BEFORE, n[1], NULL, &returned, &map, E));
    CHECK(graph_is(source, "x x_1 a_1 linear_1 c_1 d_1 a linear c d output"));
    CHECK(fxir_node_map_count(map) == 5);
    OK(fxir_graph_lint(source, E));
    fxir_args_free(returned);
    fxir_node_map_free(map);
    /* No output: nothing is returned. */
    OK(fxir_graph_copy(source, module, NULL, 0, FXIR_AT_DEFAULT, 0, NULL, &returned, NULL, E));
    CHECK(fxir_args_count(returned) == 0);
    fxir_args_free(returned);
    FAILS(FXIR_INVALID_ARGUMENT, fxir_graph_node_copy(module, source, n[1], NULL, 0, 0, 0, NULL, &to, E)); /* nothing stands for x */
    given[0].to = x;
    OK(fxir_graph_node_copy(module, source, n[1], given, 1, FXIR_AT_AFTER, x, NULL, &to, E));
    CHECK(fxir_graph_next(module, x) == to && fxir_node_arg_node(module, to, 0) == x);
    fxir_module_free(module);
    fxir_module_free(source);
}

static void names_of_copies(void) {
    static const struct {
        int32_t names;
        const char *prefix, *copied, *twice;
    } cases[] = {
        {FXIR_COPY_NAMES_UNIQUE, NULL, "x a linear c d", "x a linear c d d_1"},
        {FXIR_COPY_NAMES_KEEP, NULL, "x a linear c d", NULL},
        {FXIR_COPY_NAMES_PREFIXED, "sub", "sub_x sub_a sub_linear sub_c sub_d", "sub_x sub_a sub_linear sub_c sub_d sub_d_1"},
        {FXIR_COPY_NAMES_BY_TARGET, NULL, "x g linear g_1 g_2", "x g linear g_1 g_2 g_3"},
    };
    fxir_module *source = read_code(CHAIN);
    fxir_node d = fxir_graph_find_node(source, "d"), copy = 0;
    fxir_copy_options options;
    fxir_node_pair input;
    size_t at;
    for (at = 0; at < sizeof cases / sizeof *cases; at++) {
        fxir_module *module = new_module();
        fxir_copy_options_init(&options);
        options.names = cases[at].names;
        options.prefix = cases[at].prefix;
        OK(fxir_graph_copy(module, source, NULL, 0, 0, 0, &options, NULL, NULL, E));
        CHECK(graph_is(module, cases[at].copied));
        input.from = fxir_node_arg_node(source, d, 0);
        input.to = fxir_graph_first(module);
        if (cases[at].twice) {
            OK(fxir_graph_node_copy(module, source, d, &input, 1, 0, 0, &options, &copy, E));
            CHECK(graph_is(module, cases[at].twice));
            OK(fxir_graph_node_copy(module, module, copy, NULL, 0, 0, 0, NULL, NULL, E));
        } else {
            REFUSED(FXIR_ALREADY_EXISTS, module, fxir_graph_node_copy(module, source, d, &input, 1, 0, 0, &options, &copy, E));
            REFUSED(FXIR_ALREADY_EXISTS, module, fxir_graph_copy(module, source, NULL, 0, 0, 0, &options, NULL, NULL, E));
            /* A name is not given back. */
            OK(fxir_graph_erase_node(module, fxir_graph_find_node(module, "d"), E));
            FAILS(FXIR_ALREADY_EXISTS, fxir_graph_node_copy(module, source, d, &input, 1, 0, 0, &options, &copy, E));
            FAILS(FXIR_ALREADY_EXISTS, fxir_graph_node_copy(module, module, fxir_graph_find_node(module, "c"), NULL, 0, 0, 0, &options, &copy, E));
        }
        options.names = 4;
        REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_graph_copy(module, source, NULL, 0, 0, 0, &options, NULL, NULL, E));
        options.names = cases[at].prefix ? FXIR_COPY_NAMES_UNIQUE : FXIR_COPY_NAMES_PREFIXED;
        REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_graph_copy(module, source, NULL, 0, 0, 0, &options, NULL, NULL, E));
        options.names = FXIR_COPY_NAMES_PREFIXED;
        options.prefix = "\xff";
        REFUSED(FXIR_INVALID_UTF8, module, fxir_graph_copy(module, source, NULL, 0, 0, 0, &options, NULL, NULL, E));
        fxir_copy_options_init(&options);
        options.reserved = 1;
        REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_graph_copy(module, source, NULL, 0, 0, 0, &options, NULL, NULL, E));
        fxir_module_free(module);
    }
    fxir_copy_options_init(NULL);
    fxir_module_free(source);
}

static const char BLOCK[] = "def f(a, b = 2):\n y = self.act(a, b)\n return y, a";

/* It has a leaf `act`; so has the module, of another type. */
static fxir_module *with_block(const char *code) {
    fxir_module *members = new_module(), *block, *module = NULL, *inner = new_module();
    OK(fxir_module_add_submodule(inner, "act", FXIR_MODULE_LEAF, "ReLU", NULL, E));
    block = NULL;
    OK(fxir_module_read_code(BLOCK, strlen(BLOCK), inner, &block, E));
    OK(fxir_module_set_submodule(members, "block", block, E));
    OK(fxir_module_add_submodule(members, "act", FXIR_MODULE_LEAF, "Tanh", NULL, E));
    OK(fxir_module_read_code(code, strlen(code), members, &module, E));
    fxir_module_free(members);
    fxir_module_free(inner);
    fxir_module_free(block);
    return module;
}

static void inlining(void) {
    fxir_module *module = with_block("def f(x):\n t = self.act(x)\n block = self.block(t)\n y = block[0]\n z = block[1]\n return g(y, z)");
    fxir_module *block = NULL, *act = NULL;
    fxir_node call = fxir_graph_find_node(module, "block"), y, copy;
    fxir_copy_options options;
    fxir_node_map *map = NULL;
    OK(fxir_module_get_submodule(module, "block", &block, E));
    y = fxir_graph_find_node(block, "y");
    fxir_copy_options_init(&options);
    options.names = FXIR_COPY_NAMES_KEEP; /* there is a `y` */
    REFUSED(FXIR_ALREADY_EXISTS, module, fxir_inline_submodule(module, call, &options, &map, E));
    REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_inline_submodule(module, fxir_graph_find_node(module, "t"), NULL, &map, E));
    REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_inline_submodule(module, fxir_graph_first(module), NULL, &map, E));
    REFUSED(FXIR_STALE_NODE, module, fxir_inline_submodule(module, y, NULL, &map, E));
    options.names = FXIR_COPY_NAMES_PREFIXED;
    options.prefix = "block";
    OK(fxir_inline_submodule(module, call, &options, &map, E));
    CHECK(code_is(module, "def f(self, x):\n t = self.act(x)\n block_y = self.act_1(t, 2)\n g = globals()['g'](block_y, t)\n return g\n"));
    copy = fxir_node_map_get(map, y);
    CHECK(fxir_node_map_count(map) == 1 && copy == fxir_graph_find_node(module, "block_y"));
    CHECK(!strcmp(fxir_node_target(module, copy), "act_1"));
    CHECK(fxir_node_arg_node(module, copy, 0) == fxir_graph_find_node(module, "t"));
    OK(fxir_module_get_submodule(module, "act_1", &act, E));
    CHECK(!strcmp(fxir_module_type_name(act), "ReLU"));
    /* The submodule is gone, and its handle says so. */
    CHECK(fxir_module_kind(block) == 0 && fxir_module_member_kind(module, "block") == FXIR_MEMBER_NONE);
    FAILS(FXIR_STALE_NODE, fxir_inline_submodule(module, call, NULL, NULL, E));
    fxir_node_map_free(map);
    fxir_module_free(act);
    fxir_module_free(block);
    fxir_module_free(module);

    /* Arguments that do not fit; a placeholder that gets its default. */
    module = with_block("def f(x): return self.block(x, 1, 2)");
    REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_inline_submodule(module, fxir_graph_find_node(module, "block"), NULL, NULL, E));
    fxir_module_free(module);
    module = with_block("def f(x): return self.block(a = x)");
    OK(fxir_inline_submodule(module, fxir_graph_find_node(module, "block"), NULL, NULL, E));
    CHECK(graph_is(module, "x y output") && fxir_node_arg_count(module, fxir_graph_find_node(module, "y")) == 2);
    fxir_module_free(module);
}

int main(void) {
    copying();
    names_of_copies();
    inlining();
    return check_result();
}
