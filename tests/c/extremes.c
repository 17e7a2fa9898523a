/* What is legal and large, deep or odd: long chains on small stacks, patterns with many ways to match,
 * nested callbacks, every argument through JSON. */
#include "check.h"
#include <float.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

static int is_slow; /* under valgrind */

static fxir_module *unary(const char *target) {
    fxir_module *module = new_module();
    output_1(module, call_1(module, target, placeholder(module, "x")));
    return module;
}

/* A chain as long as a large network's, its nodes in reverse. */
static void long_chains(void) {
    size_t length = is_slow ? 5000 : 200000, i, erased = 0, count = 0;
    fxir_module *module = new_module(), *clone = NULL, *pattern = unary("f"), *replacement = unary("g"), *fused = NULL;
    fxir_node x = placeholder(module, "x"), last = x, *nodes = malloc(sizeof *nodes * (length + 10)), call = 0;
    fxir_matches *matches = NULL;
    fxir_buffer *table = NULL;
    fxir_node_map *map = NULL;
    fxir_args *returned = NULL;
    int32_t valid = 0;
    if (!nodes) abort();
    for (i = 0; i < length; i++) {
        last = call_1(module, "f", last);
        if (i) OK(fxir_node_move_before(module, last, fxir_graph_prev(module, last), E));
        if (i) OK(fxir_node_move_after(module, last, x, E));
    }
    output_1(module, last);
    FAILS(FXIR_LINT, fxir_graph_lint(module, E));
    OK(fxir_legalize_graph(module, E));
    OK(fxir_graph_lint(module, E));
    CHECK(fxir_graph_nodes(module, nodes, length + 10) == length + 2);
    for (i = 1; i <= length; i++)
        if (fxir_node_arg_node(module, nodes[i], 0) != nodes[i - 1]) break;
    CHECK(i == length + 1);
    OK(fxir_replace_pattern(module, pattern, replacement, NULL, &matches, E));
    CHECK(fxir_matches_count(matches) == length);
    fxir_matches_free(matches);
    OK(fxir_module_clone(module, &clone, NULL, E));
    OK(fxir_graph_print_tabular(clone, &table, E));
    fxir_buffer_free(table);
    OK(fxir_graph_copy(clone, module, NULL, 0, 0, 0, NULL, &returned, &map, E));
    CHECK(fxir_node_map_count(map) == length + 1);
    fxir_node_map_free(map);
    fxir_args_free(returned);
    OK(fxir_eliminate_dead_code(clone, NULL, &erased, E));
    CHECK(erased == length);
    fxir_module_free(clone);
    CHECK(fxir_graph_nodes(module, nodes, length + 10) == length + 2);
    OK(fxir_validate_partition(module, nodes + 1, length, &valid, E));
    CHECK(valid == 1);
    OK(fxir_fuse_as_graphmodule(module, nodes + 1, length, "all", NULL, &call, &fused, E));
    CHECK(fxir_graph_node_count(module) == 3 && fxir_graph_node_count(fused) == length + 2);
    OK(fxir_module_lint(module, E));
    { /* a circle through all of it */
        fxir_node first = fxir_graph_next(fused, fxir_graph_first(fused));
        fxir_arg back = fxir_arg_node(fxir_graph_prev(fused, fxir_graph_last(fused)));
        OK(fxir_node_set_args(fused, first, &back, 1, E));
        FAILS(FXIR_LINT, fxir_legalize_graph(fused, E));
        CHECK(strlen(failed.message) < 1000);
        FAILS(FXIR_LINT, fxir_module_lint(module, E));
        count = 0;
        CHECK(fxir_eliminate_dead_code(fused, NULL, &count, NULL) != FXIR_PANIC && count == 0);
    }
    fxir_module_free(fused);
    fxir_module_free(module);
    fxir_module_free(pattern);
    fxir_module_free(replacement);
    free(nodes);
}

/* Each node uses the one before twice: as many paths as there are numbers. */
static void many_paths(void) {
    enum { TALL = 60 };
    fxir_module *module = new_module(), *pattern = new_module(), *replacement = unary("k");
    fxir_node n = placeholder(module, "x"), p = placeholder(pattern, "x"), set[TALL];
    fxir_matches *matches = NULL;
    int32_t valid = 0;
    int i;
    for (i = 0; i < TALL; i++) set[i] = n = call_2(module, "f", n, n);
    output_1(module, n);
    for (i = 0; i < TALL / 2; i++) p = call_2(pattern, "f", p, p);
    output_1(pattern, p);
    OK(fxir_validate_partition(module, set, TALL, &valid, E));
    OK(fxir_match_pattern(module, pattern, NULL, &matches, E));
    CHECK(valid == 1 && fxir_matches_count(matches) == 2);
    fxir_matches_free(matches);
    /* The same, that fails only at its very end. */
    OK(fxir_node_set_target(pattern, fxir_graph_next(pattern, fxir_graph_first(pattern)), "other", E));
    OK(fxir_match_pattern(module, pattern, NULL, &matches, E));
    CHECK(fxir_matches_count(matches) == 0);
    fxir_matches_free(matches);
    OK(fxir_node_set_target(pattern, fxir_graph_next(pattern, fxir_graph_first(pattern)), "f", E));
    OK(fxir_replace_pattern(module, pattern, replacement, NULL, NULL, E));
    CHECK(fxir_graph_node_count(module) == 4);
    OK(fxir_graph_lint(module, E));
    fxir_module_free(module);
    fxir_module_free(pattern);
    fxir_module_free(replacement);
}

/* A node with very many users, and one with very many inputs. */
static void wide(void) {
    size_t width = is_slow ? 1000 : 3000, i, changed = 0;
    fxir_module *module = new_module(), *pattern = unary("f"), *replacement = unary("g");
    fxir_node x = placeholder(module, "x"), y = placeholder(module, "y"), *nodes = malloc(width * sizeof *nodes), all = 0;
    fxir_arg *args = malloc(width * sizeof *args), list;
    fxir_matches *matches = NULL;
    if (!nodes || !args) abort();
    for (i = 0; i < width; i++) {
        nodes[i] = call_1(module, "f", x);
        args[i] = fxir_arg_node(nodes[i]);
    }
    list = fxir_arg_list(args, width);
    OK(fxir_graph_call_function(module, "cat", &list, 1, NULL, 0, &all, E));
    output_1(module, all);
    CHECK(fxir_node_user_count(module, x) == width && fxir_node_input_nodes(module, all, NULL, 0) == width);
    OK(fxir_graph_lint(module, E));
    for (i = 0; i < 100; i++) OK(fxir_node_replace_all_uses_with(module, nodes[i], nodes[width - 1], NULL, NULL, NULL, E));
    OK(fxir_node_replace_all_uses_with(module, x, y, NULL, NULL, &changed, E));
    CHECK(changed == width);
    OK(fxir_eliminate_dead_code(module, NULL, &changed, E));
    CHECK(changed == 100);
    OK(fxir_replace_pattern(module, pattern, replacement, NULL, &matches, E));
    CHECK(fxir_matches_count(matches) == width - 100);
    fxir_matches_free(matches);
    OK(fxir_legalize_graph(module, E));
    OK(fxir_graph_lint(module, E));
    CHECK(fxir_graph_erase_node(module, all, NULL) == FXIR_IN_USE);
    free(nodes);
    free(args);
    fxir_module_free(module);
    fxir_module_free(pattern);
    fxir_module_free(replacement);
}

/* As deep as modules go: everything that walks the tree. */
static void deep_modules(void) {
    fxir_module *module = new_module(), *at = module, *clone = NULL;
    char path[300] = "";
    int i;
    size_t length;
    fxir_buffer *json = NULL;
    fxir_serialize_options options;
    fxir_serialize_options_init(&options);
    options.allow_missing_meta = 1;
    for (i = 0; i < 200; i++) {
        fxir_module *next = NULL;
        fxir_status status = fxir_module_add_submodule(at, "m", FXIR_MODULE_GRAPH, "T", &next, NULL);
        if (status != FXIR_OK) {
            CHECK(status == FXIR_LIMIT);
            output_1(at, placeholder(at, "x"));
            break;
        }
        output_1(at, call_module_1(at, "m", placeholder(at, "x")));
        if (at != module) fxir_module_free(at);
        at = next;
    }
    CHECK(i == 64 || i == 63);
    length = strlen(fxir_module_path(at));
    CHECK(length == (size_t)(2 * i - 1));
    snprintf(path, sizeof path, "%s", fxir_module_path(at));
    fxir_module_free(at);
    OK(fxir_module_lint(module, E));
    OK(fxir_module_clone(module, &clone, NULL, E));
    OK(fxir_module_get_submodule(clone, path, &at, E));
    CHECK(fxir_graph_node_count(at) == 2);
    fxir_module_free(at);
    FAILS(FXIR_LIMIT, fxir_module_set_submodule(module, "m.m", clone, E));
    FAILS(FXIR_LIMIT, fxir_module_set_submodule_take(module, "n", clone, E) == FXIR_LIMIT ? FXIR_LIMIT : FXIR_OK);
    OK(fxir_module_serialize(module, &options, &json, NULL, E));
    at = NULL;
    if (OK(fxir_module_read_json(fxir_buffer_data(json), fxir_buffer_size(json), NULL, &at, E)))
        CHECK(fxir_module_member_kind(at, path) == FXIR_MEMBER_SUBMODULE);
    fxir_module_free(at);
    fxir_buffer_free(json);
    OK(fxir_module_delete_all_unused_submodules(module, NULL, E));
    OK(fxir_module_delete_member(module, "m", E));
    fxir_module_free(clone);
    fxir_module_free(module);
}

static void odd_patterns(void) {
    fxir_module *module = unary("f"), *pattern = new_module(), *other = new_module();
    fxir_node x, y, nodes[4];
    fxir_arg two[2], result;
    fxir_matches *matches = NULL;
    fxir_status status;
    char *before = picture(module);
    size_t erased = 0;
    /* A pattern that is nothing but its placeholder. */
    output_1(pattern, placeholder(pattern, "x"));
    output_1(other, placeholder(other, "x"));
    status = fxir_replace_pattern(module, pattern, other, NULL, &matches, NULL);
    CHECK(status == FXIR_OK || status == FXIR_INVALID_ARGUMENT);
    fxir_matches_free(matches);
    if (status != FXIR_OK) check_unchanged(module, before, "an empty pattern", __FILE__, __LINE__);
    else free(before);
    OK(fxir_graph_lint(module, E));
    fxir_module_free(pattern);
    fxir_module_free(other);
    /* One that returns a node twice, and a placeholder. */
    pattern = new_module();
    x = placeholder(pattern, "x");
    y = call_1(pattern, "f", x);
    two[0] = two[1] = fxir_arg_node(y);
    result = fxir_arg_tuple(two, 2);
    OK(fxir_graph_output(pattern, &result, NULL, E));
    other = new_module();
    x = placeholder(other, "x");
    two[0] = fxir_arg_node(call_1(other, "g", x));
    two[1] = fxir_arg_node(call_1(other, "h", x));
    OK(fxir_graph_output(other, &result, NULL, E));
    status = fxir_replace_pattern(module, pattern, other, NULL, NULL, NULL);
    CHECK(status == FXIR_OK || status == FXIR_INVALID_ARGUMENT);
    OK(fxir_graph_lint(module, E));
    fxir_module_free(module);
    module = unary("f");
    x = fxir_graph_first(pattern);
    two[0] = fxir_arg_node(x);
    two[1] = fxir_arg_node(y);
    OK(fxir_node_set_args(pattern, fxir_graph_last(pattern), &result, 1, E));
    REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_replace_pattern(module, pattern, other, NULL, NULL, E));
    OK(fxir_graph_lint(module, E));
    /* Literals, lists and dicts returned. */
    two[0] = fxir_arg_str("key");
    two[1] = fxir_arg_node(y);
    result = fxir_arg_dict(two, 1);
    OK(fxir_node_set_args(pattern, fxir_graph_last(pattern), &result, 1, E));
    status = fxir_match_pattern(module, pattern, NULL, &matches, NULL);
    CHECK(status == FXIR_OK || status == FXIR_INVALID_ARGUMENT);
    if (status == FXIR_OK) fxir_matches_free(matches);
    OK(fxir_node_set_args(pattern, fxir_graph_last(pattern), NULL, 0, E)); /* an output of nothing */
    status = fxir_match_pattern(module, pattern, NULL, &matches, NULL);
    CHECK(status != FXIR_PANIC);
    if (status == FXIR_OK) fxir_matches_free(matches);
    status = fxir_replace_pattern(module, pattern, pattern, NULL, NULL, NULL);
    CHECK(status != FXIR_PANIC);
    OK(fxir_graph_lint(module, E));
    fxir_module_free(pattern);
    fxir_module_free(other);
    fxir_module_free(module);
    /* Sets with a node twice. */
    module = unary("f");
    nodes[0] = nodes[1] = fxir_graph_next(module, fxir_graph_first(module));
    status = fxir_fuse_as_graphmodule(module, nodes, 2, "twice", NULL, NULL, NULL, NULL);
    CHECK(status == FXIR_OK || status == FXIR_INVALID_ARGUMENT);
    OK(fxir_module_lint(module, E));
    fxir_module_free(module);
    /* Inputs and outputs given twice. */
    module = unary("f");
    other = new_module();
    x = placeholder(other, "a");
    y = placeholder(other, "b");
    two[0] = fxir_arg_node(x);
    two[1] = fxir_arg_node(y);
    result = fxir_arg_tuple(two, 2);
    OK(fxir_graph_output(other, &result, NULL, E));
    nodes[0] = nodes[1] = fxir_graph_first(module);
    nodes[2] = nodes[3] = fxir_graph_next(module, nodes[0]);
    status = fxir_insert_subgm(module, other, "twice", nodes, 2, nodes + 2, 2, 0, NULL, NULL);
    CHECK(status == FXIR_OK || status == FXIR_INVALID_ARGUMENT);
    OK(fxir_module_lint(module, E));
    OK(fxir_eliminate_dead_code(module, NULL, &erased, E));
    OK(fxir_module_lint(module, E));
    fxir_module_free(other);
    fxir_module_free(module);
}

/* A filter inside a filter, each on a module of its own; and one that frees what it was lent. */
typedef struct nest {
    fxir_module *modules[20], *pattern;
    int level, released, used;
    fxir_tensor *tensor;
} nest;

static void give_back(void *user_data, const void *data) {
    nest *n = (nest *)user_data;
    (void)data;
    n->released++;
    /* No lock is held: the module of the call that went on is free again. */
    n->used += fxir_graph_placeholder(n->modules[0], "released", NULL, NULL) == FXIR_OK;
}

static int32_t go_deeper(void *user_data, const fxir_module *view, const fxir_matches *matches, int32_t *verdict) {
    nest *n = (nest *)user_data;
    fxir_match_options options;
    fxir_matches *found = NULL;
    (void)view, (void)matches, (void)verdict;
    if (n->level == 19) {
        int i;
        fxir_tensor_free(n->tensor);
        for (i = 0; i < 19; i++) CHECK(fxir_graph_node_count(n->modules[i]) == 0); /* all busy */
        return 5;
    }
    n->level++;
    fxir_match_options_init(&options);
    options.filter = go_deeper;
    options.filter_data = n;
    {
        fxir_status status = fxir_replace_pattern(n->modules[n->level], n->pattern, n->pattern, &options, &found, NULL);
        CHECK(status == FXIR_CALLBACK && found == NULL);
    }
    return 5;
}

static void nested_callbacks(void) {
    nest n;
    fxir_match_options options;
    float data[1] = {1};
    int64_t shape[1] = {1};
    int i;
    memset(&n, 0, sizeof n);
    for (i = 0; i < 20; i++) n.modules[i] = unary("f");
    n.pattern = unary("f");
    OK(fxir_tensor_borrow(FXIR_DTYPE_FLOAT32, shape, 1, NULL, data, 4, give_back, &n, &n.tensor, E));
    fxir_match_options_init(&options);
    options.filter = go_deeper;
    options.filter_data = &n;
    REFUSED(FXIR_CALLBACK, n.modules[1], fxir_replace_pattern(n.modules[0], n.pattern, n.pattern, &options, NULL, E));
    CHECK(failed.code == 5 && n.level == 19);
    CHECK(n.released == 1 && n.used == 1);
    for (i = 0; i < 20; i++) {
        OK(fxir_module_lint(n.modules[i], E));
        OK(fxir_replace_pattern(n.modules[i], n.pattern, n.pattern, NULL, NULL, E));
        fxir_module_free(n.modules[i]);
    }
    fxir_module_free(n.pattern);
}

/* Arguments that JSON can hold come back through it alike. */
static fxir_arg json_arg(uint64_t *state, fxir_arg *pool, size_t *used, int level, fxir_node node, fxir_arg *keys) {
    static const char *const texts[] = {"", "a b", "\"\\/\b\f\n\r\t", "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", "\x01\x1f\x7f", "True"};
    uint64_t pick = check_random(state);
    size_t count = (size_t)(pick >> 8) % 4, first, i;
    double real;
    switch (pick % (level ? 9 : 6)) {
    case 0: return fxir_arg_none();
    case 1: return fxir_arg_bool((int)(pick >> 20 & 1));
    case 2: return fxir_arg_int(pick >> 20 & 1 ? (int64_t)check_random(state) : (int64_t)(pick >> 40) - 100);
    case 3:
        do {
            uint64_t bits = check_random(state);
            memcpy(&real, &bits, 8);
        } while (real != real || real > DBL_MAX || real < -DBL_MAX);
        if (pick >> 30 & 1) real = (double)(int64_t)(pick >> 50);
        if ((pick >> 31 & 7) == 0) real = -0.0;
        return fxir_arg_float(real);
    case 4: return fxir_arg_str(texts[(pick >> 20) % (sizeof texts / sizeof *texts)]);
    case 5: return fxir_arg_node(node);
    case 6:
    case 7:
        first = *used;
        if (first + count > 200) return fxir_arg_none();
        *used += count;
        for (i = 0; i < count; i++) {
            fxir_arg item = json_arg(state, pool, used, level - 1, node, keys);
            pool[first + i] = item;
        }
        return fxir_arg_list(pool + first, count); /* a tuple is a list in JSON */
    default:
        first = *used;
        if (first + 2 * count > 200) return fxir_arg_none();
        *used += 2 * count;
        for (i = 0; i < count; i++) {
            fxir_arg item = json_arg(state, pool, used, level - 1, node, keys);
            pool[first + 2 * i] = keys[i];
            pool[first + 2 * i + 1] = item;
        }
        return fxir_arg_dict(pool + first, count);
    }
}

static void through_json(void) {
    static fxir_arg pool[256], keys[4];
    uint64_t state = 31337;
    int round, written_ones = 0;
    keys[0] = fxir_arg_str("a");
    keys[1] = fxir_arg_str("b c");
    keys[2] = fxir_arg_str("\xc3\xa4");
    keys[3] = fxir_arg_str("d");
    for (round = 0; round < (is_slow ? 200 : 2000); round++) {
        fxir_module *module = new_module(), *again = NULL;
        fxir_node x = placeholder(module, "x"), y = 0, z;
        size_t used = 0;
        fxir_arg args[2];
        fxir_kwarg kwarg;
        fxir_serialize_options options;
        fxir_buffer *json = NULL;
        fxir_args *before = NULL, *after = NULL;
        text left = {0, 0, 0}, right = {0, 0, 0};
        fxir_status status;
        fxir_serialize_options_init(&options);
        options.allow_missing_meta = 1;
        options.indent = round % 3;
        args[0] = json_arg(&state, pool, &used, 4, x, keys);
        args[1] = json_arg(&state, pool, &used, 4, x, keys);
        kwarg = fxir_kwarg_of("key", json_arg(&state, pool, &used, 3, x, keys));
        OK(fxir_graph_call_function(module, "torch.f", args, 2, &kwarg, 1, &y, E));
        output_1(module, y);
        status = fxir_module_serialize(module, &options, &json, NULL, NULL);
        if (status != FXIR_OK) {
            CHECK(status == FXIR_UNSUPPORTED);
        } else if (OK(fxir_module_read_json(fxir_buffer_data(json), fxir_buffer_size(json), NULL, &again, E))) {
            written_ones++;
            z = fxir_graph_next(again, fxir_graph_first(again));
            OK(fxir_node_args(module, y, &before, E));
            /* In nodes of the same number. */
            OK(fxir_node_args(again, z, &after, E));
            picture_of_args(&left, before);
            picture_of_args(&right, after);
            {
                char mine[32], theirs[32], *at;
                snprintf(mine, sizeof mine, ":node %" PRIx64, x);
                snprintf(theirs, sizeof theirs, ":node %" PRIx64, fxir_graph_first(again));
                while ((at = strstr(left.data, mine))) memset(at, '@', strlen(mine));
                while ((at = strstr(right.data, theirs))) {
                    memmove(at + strlen(mine), at + strlen(theirs), strlen(at + strlen(theirs)) + 1);
                    memset(at, '@', strlen(mine));
                }
            }
            if (!CHECK(!strcmp(left.data, right.data)))
                fprintf(stderr, "  %s\n  %s\n  %s\n", left.data, right.data, fxir_buffer_data(json));
            free(left.data);
            free(right.data);
            fxir_args_free(before);
            fxir_args_free(after);
        } else {
            fprintf(stderr, "%s\n", fxir_buffer_data(json));
        }
        fxir_buffer_free(json);
        fxir_module_free(again);
        fxir_module_free(module);
        if (check_failures > 20) break;
    }
    CHECK(written_ones > round / 3);
}

/* A table of odd texts is text all the same. */
static void tables(void) {
    fxir_module *module = new_module();
    fxir_node x = placeholder(module, "x");
    fxir_arg args[6];
    fxir_buffer *table = NULL;
    args[0] = fxir_arg_strn("a\0b\n\t\x7f\xf0\x9f\x98\x80", 10);
    args[1] = fxir_arg_bytes("\0\xff'\"", 4);
    args[2] = fxir_arg_node(x);
    args[3] = fxir_arg_float(-0.0);
    args[4] = fxir_arg_list(args, 4);
    args[5] = fxir_arg_dict(args, 1);
    OK(fxir_graph_call_function(module, "f\ng", args, 6, NULL, 0, NULL, E));
    OK(fxir_graph_print_tabular(module, &table, E));
    CHECK(strlen(fxir_buffer_data(table)) == fxir_buffer_size(table));
    CHECK(strstr(fxir_buffer_data(table), "opcode") == fxir_buffer_data(table));
    fxir_buffer_free(table);
    fxir_module_free(module);
    module = new_module();
    output_1(module, call_1(module, "torch.relu", placeholder(module, "x")));
    OK(fxir_graph_print_tabular(module, &table, E));
    CHECK(!strcmp(fxir_buffer_data(table), "opcode         name    target      args     kwargs\n"
                                           "-------------  ------  ----------  -------  --------\n"
                                           "placeholder    x       x           ()       {}\n"
                                           "call_function  relu    torch.relu  (x,)     {}\n"
                                           "output         output  output      (relu,)  {}\n"));
    fxir_buffer_free(table);
    fxir_module_free(module);
    module = new_module();
    OK(fxir_graph_print_tabular(module, &table, E)); /* of nothing */
    CHECK(strlen(fxir_buffer_data(table)) == fxir_buffer_size(table));
    fxir_buffer_free(table);
    fxir_module_free(module);
}

static void channels(void) {
    float scales_data[2] = {0.5f, 0.25f};
    int64_t zero_points_data[2] = {1, -1}, two[1] = {2}, shape[2] = {2, 3};
    int8_t data[6] = {1, 2, 3, 4, 5, 6};
    fxir_tensor *scales = NULL, *zero_points = NULL, *bytes = NULL, *tensor = NULL;
    fxir_tensor_meta meta;
    fxir_quantization q;
    const fxir_quantization *got;
    fxir_module *module = new_module();
    OK(fxir_tensor_copy(FXIR_DTYPE_FLOAT32, two, 1, scales_data, 8, &scales, E));
    OK(fxir_tensor_copy(FXIR_DTYPE_INT64, two, 1, zero_points_data, 16, &zero_points, E));
    OK(fxir_tensor_copy(FXIR_DTYPE_INT8, shape, 2, data, 6, &bytes, E));
    memset(&q, 0, sizeof q);
    q.qscheme = "torch.per_channel_affine";
    q.is_per_channel = q.has_axis = 1;
    q.scales = scales;
    q.zero_points = zero_points;
    fxir_tensor_meta_init(&meta);
    meta.dtype = FXIR_DTYPE_QINT8;
    meta.rank = 2;
    meta.shape = shape;
    meta.quantization = &q;
    OK(fxir_tensor_with_meta(bytes, &meta, &tensor, E));
    OK(fxir_module_set_tensor(module, "w", FXIR_MEMBER_PARAMETER, tensor, E));
    fxir_tensor_free(scales);
    fxir_tensor_free(zero_points);
    fxir_tensor_free(bytes);
    fxir_tensor_free(tensor);
    OK(fxir_module_get_tensor(module, "w", &tensor, E));
    fxir_module_free(module);
    got = fxir_tensor_meta_of(tensor)->quantization;
    if (CHECK(got && got->is_per_channel == 1 && got->has_axis == 1 && got->axis == 0)) {
        CHECK(fxir_tensor_size(got->scales) == 8 && ((const float *)fxir_tensor_data(got->scales))[1] == 0.25f);
        CHECK(fxir_tensor_dtype(got->zero_points) == FXIR_DTYPE_INT64);
        CHECK(!strcmp(got->qscheme, "torch.per_channel_affine"));
    }
    fxir_tensor_free(tensor);
}

static void *run_all(void *nothing) {
    (void)nothing;
    long_chains();
    many_paths();
    wide();
    deep_modules();
    odd_patterns();
    nested_callbacks();
    through_json();
    tables();
    channels();
    return NULL;
}

static void too_long(int signal) {
    static const char message[] = "too slow: something is not linear\n";
    (void)signal;
    if (write(2, message, sizeof message - 1) < 0) _exit(3);
    _exit(2);
}

int main(void) {
    /* On a stack as small as those of other threads may be: nothing recurses over a graph. */
    pthread_attr_t attributes;
    pthread_t thread;
    is_slow = getenv("LD_PRELOAD") != NULL;
    signal(SIGALRM, too_long);
    alarm(300);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 512 * 1024);
    pthread_create(&thread, &attributes, run_all, NULL);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
    return check_result();
}
