/* Pass managers: the library's passes, pattern sets and functions of our own, one after the other;
 * constraints, steps, checks, dumps, reports, and runs that fail. */
#include "check.h"

static fxir_module *read_code(const char *code) {
    fxir_module *module = NULL;
    OK(fxir_module_read_code(code, strlen(code), NULL, &module, E));
    return module;
}

static fxir_pass_manager *new_manager(void) {
    fxir_pass_manager *passes = NULL;
    OK(fxir_pass_manager_new(&passes, E));
    return passes;
}

static const char NET[] = "def forward(x):\n a = torch.mul(x, 1)\n b = torch.relu(a)\n dead = torch.neg(b)\n return b\n";

static void the_library_s_passes(void) {
    fxir_module *module = read_code(NET);
    fxir_pass_manager *passes = new_manager();
    fxir_pass_report *report = NULL;
    fxir_buffer *table = NULL;
    const fxir_pass_run *run;
    size_t i, count = fxir_built_in_pass_count();
    fxir_node x = fxir_graph_find_node(module, "x");
    CHECK(count >= 6 && fxir_built_in_pass_name(count) == NULL && fxir_built_in_pass_name(SIZE_MAX) == NULL);
    for (i = 0; i < count; i++) OK(fxir_pass_manager_add(passes, fxir_built_in_pass_name(i), E));
    OK(fxir_pass_manager_add(passes, "legalize", E));
    FAILS(FXIR_NOT_FOUND, fxir_pass_manager_add(passes, "no such pass", E));
    CHECK(strstr(failed.message, "\"no such pass\"") && strstr(failed.message, "eliminate_dead_code"));
    CHECK(fxir_pass_manager_count(passes) == count + 1);
    CHECK(!strcmp(fxir_pass_manager_name(passes, 0), fxir_built_in_pass_name(0)));
    CHECK(!strcmp(fxir_pass_manager_name(passes, count), "legalize"));
    CHECK(fxir_pass_manager_name(passes, count + 1) == NULL);

    OK(fxir_pass_manager_run(passes, module, NULL, &report, E));
    CHECK(graph_is(module, "x a b output"));
    CHECK(fxir_graph_find_node(module, "x") == x); /* ids stay */
    CHECK(fxir_pass_report_count(report) == count + 1);
    CHECK(fxir_pass_report_run(report, count + 1) == NULL && fxir_pass_report_modified(report) == 1);
    for (i = 0; i <= count; i++) {
        int dead_code, should_modify;
        run = fxir_pass_report_run(report, i);
        CHECK(run && run->index == i && run->step == 0 && run->check_failure == NULL && run->reserved == 0);
        CHECK(!strcmp(run->name, fxir_pass_manager_name(passes, i)));
        dead_code = !strcmp(run->name, "eliminate_dead_code");
        should_modify = dead_code || !strcmp(run->name, "normalize_args");
        CHECK(run->modified == should_modify);
        CHECK(run->nodes_before - run->nodes_after == (size_t)dead_code && run->nodes_after + dead_code >= 4);
        CHECK(run->nanoseconds < 1000000000u * (uint64_t)60);
    }
    OK(fxir_pass_report_print(report, &table, E));
    CHECK(strstr(fxir_buffer_data(table), "eliminate_dead_code") && strstr(fxir_buffer_data(table), "5 -> 4"));
    fxir_buffer_free(table);
    fxir_pass_report_free(report);

    /* Once more there is nothing to do. */
    OK(fxir_pass_manager_run(passes, module, NULL, &report, E));
    CHECK(fxir_pass_report_count(report) == count + 1 && fxir_pass_report_modified(report) == 0);
    fxir_pass_report_free(report);
    fxir_pass_manager_free(passes);
    passes = new_manager();
    OK(fxir_pass_manager_run(passes, module, NULL, &report, E));
    CHECK(fxir_pass_report_count(report) == 0 && fxir_pass_report_modified(report) == 0);
    fxir_pass_report_free(report);
    fxir_pass_manager_free(passes);
    fxir_module_free(module);
}

/* Adds an unused call, as often as told; then fails, if told. */
typedef struct maker {
    fxir_module *outer;
    fxir_module *kept;
    int calls, adds, fails, destroyed;
} maker;

static int32_t make(void *user_data, fxir_module *module) {
    maker *now = user_data;
    now->calls++;
    CHECK(fxir_module_kind(now->outer) == FXIR_MODULE_NONE); /* BUSY */
    FAILS(FXIR_BUSY, fxir_legalize_graph(now->outer, E));
    if (now->kept) {
        fxir_module_free(now->kept);
        now->kept = NULL;
        OK(fxir_module_retain(module, &now->kept, E));
    }
    if (now->adds-- > 0) call_1(module, "f", fxir_graph_first(module));
    OK(fxir_legalize_graph(module, E));
    return now->fails;
}

static void count_destroyed(void *user_data) { ((maker *)user_data)->destroyed++; }

static void functions(void) {
    fxir_module *module = read_code(NET);
    fxir_pass_manager *passes = new_manager(), *failing = new_manager();
    fxir_pass_report *report = NULL;
    fxir_pass_options options;
    maker now = {NULL, NULL, 0, 2, 0, 0};
    fxir_pass_options_init(NULL);
    fxir_pass_options_init(&options);
    CHECK(options.steps == 1 && !options.run_checks_after_each_pass && !options.suppress_check_failures && !options.dump);
    now.outer = module;
    OK(fxir_pass_manager_add_function(passes, "make", make, &now, count_destroyed, E));
    FAILS(FXIR_NULL_ARGUMENT, fxir_pass_manager_add_function(passes, "make", NULL, &now, count_destroyed, E));
    FAILS(FXIR_INVALID_HANDLE, fxir_pass_manager_add_function((fxir_pass_manager *)(uintptr_t)module, "make", make, &now,
                                                              count_destroyed, E));
    CHECK(now.destroyed == 0);
    options.steps = 5;
    OK(fxir_pass_manager_run(passes, module, &options, &report, E));
    CHECK(graph_is(module, "x a b dead f f_1 output"));
    CHECK(now.calls == 3 && fxir_pass_report_count(report) == 3);
    CHECK(fxir_pass_report_run(report, 1)->modified && fxir_pass_report_run(report, 1)->step == 1);
    CHECK(!fxir_pass_report_run(report, 2)->modified);
    CHECK(fxir_pass_report_run(report, 0)->nodes_before == 5 && fxir_pass_report_run(report, 1)->nodes_after == 7);
    fxir_pass_report_free(report);
    OK(fxir_graph_lint(module, E));

    /* No step, no pass. */
    options.steps = 0;
    OK(fxir_pass_manager_run(passes, module, &options, NULL, E));
    CHECK(now.calls == 3);

    /* A handle that a pass keeps is of the copy. */
    now.adds = 1;
    now.kept = read_code(NET);
    OK(fxir_pass_manager_run(passes, module, NULL, NULL, E));
    CHECK(graph_is(module, "x a b dead f f_1 f_2 output") && graph_is(now.kept, "x a b dead f f_1 f_2 output"));
    OK(fxir_eliminate_dead_code(now.kept, NULL, NULL, E));
    CHECK(graph_is(now.kept, "x a b output"));
    CHECK(graph_is(module, "x a b dead f f_1 f_2 output"));
    fxir_module_free(now.kept);
    now.kept = NULL;

    /* A pass that fails, behind others that did not. */
    OK(fxir_pass_manager_add(failing, "eliminate_dead_code", E));
    OK(fxir_pass_manager_add_function(failing, "fail", make, &now, NULL, E));
    now.adds = 1;
    now.fails = 77;
    REFUSED(FXIR_CALLBACK, module, fxir_pass_manager_run(failing, module, NULL, &report, E));
    CHECK(failed.code == 77 && strstr(failed.message, "pass 1, \"fail\""));

    CHECK(now.destroyed == 0);
    fxir_pass_manager_free(passes);
    CHECK(now.destroyed == 1);
    fxir_pass_manager_free(failing);
    fxir_module_free(module);
}

/* A manager that is run by a pass, and freed by it too. */
static int32_t run_nested(void *user_data, fxir_module *module) {
    fxir_pass_manager *nested = *(fxir_pass_manager **)user_data;
    OK(fxir_pass_manager_run(nested, module, NULL, NULL, E));
    fxir_pass_manager_free(nested);
    return 0;
}

static void nested_managers(void) {
    fxir_module *module = read_code(NET);
    fxir_pass_manager *passes = new_manager(), *nested = new_manager();
    OK(fxir_pass_manager_add(nested, "eliminate_dead_code", E));
    OK(fxir_pass_manager_add_function(passes, "nested", run_nested, &nested, NULL, E));
    OK(fxir_pass_manager_run(passes, module, NULL, NULL, E));
    CHECK(graph_is(module, "x a b output"));
    FAILS(FXIR_INVALID_HANDLE, fxir_pass_manager_run(nested, module, NULL, NULL, E));
    fxir_pass_manager_free(passes);
    fxir_module_free(module);
}

static int32_t only_once(void *user_data, const fxir_module *module, const fxir_matches *matches, int32_t *verdict) {
    int *calls = user_data;
    CHECK(fxir_matches_count(matches) == 1 && fxir_graph_node_count(module) > 0);
    if (++*calls == 3) return 5;
    *verdict = 1;
    return 0;
}

static void pattern_sets(void) {
    fxir_module *module = read_code("def forward(x):\n a = torch.add(x, 1)\n b = torch.add(a, 1)\n return b\n");
    fxir_module *pattern = read_code("def p(x): return torch.add(x, 1)");
    fxir_module *replacement = read_code("def r(x): return torch.neg(x)"), *grow = read_code("def r(x): return torch.add(torch.add(x, 1), 2)");
    fxir_pattern_set *set = NULL;
    fxir_pass_manager *passes = new_manager();
    fxir_pass_report *report = NULL;
    fxir_rewrite_options rewrite;
    fxir_match_options match;
    int calls = 0;
    fxir_rewrite_options_init(&rewrite);
    fxir_match_options_init(&match);
    match.filter = only_once;
    match.filter_data = &calls;
    rewrite.replacement = replacement;
    rewrite.match_options = &match;
    OK(fxir_pattern_set_new(&set, E));
    OK(fxir_pattern_set_add(set, pattern, &rewrite, NULL, NULL, NULL, E));
    OK(fxir_pass_manager_add_pattern_set(passes, "add is neg", set, 0, E));
    OK(fxir_pass_manager_run(passes, module, NULL, &report, E));
    CHECK(graph_is(module, "x neg neg_1 output") && calls == 2);
    CHECK(fxir_pass_report_run(report, 0)->modified && !strcmp(fxir_pass_report_run(report, 0)->name, "add is neg"));
    fxir_pass_report_free(report);
    /* The filter's third call stops the run. */
    fxir_module_free(module);
    module = read_code("def forward(x):\n a = torch.add(x, 1)\n return a\n");
    REFUSED(FXIR_CALLBACK, module, fxir_pass_manager_run(passes, module, NULL, NULL, E));
    CHECK(failed.code == 5 && strstr(failed.message, "pass 0, \"add is neg\""));
    fxir_pass_manager_free(passes);
    fxir_pattern_set_free(set);

    /* To a fixpoint; rules that are added later, and the set's end, are nothing to the manager. */
    OK(fxir_pattern_set_new(&set, E));
    rewrite.match_options = NULL;
    OK(fxir_pattern_set_add(set, pattern, &rewrite, NULL, NULL, NULL, E));
    passes = new_manager();
    OK(fxir_pass_manager_add_pattern_set(passes, "settles", set, 10, E));
    rewrite.replacement = grow;
    OK(fxir_pattern_set_add(set, pattern, &rewrite, NULL, NULL, NULL, E));
    fxir_pattern_set_free(set);
    OK(fxir_pass_manager_run(passes, module, NULL, NULL, E));
    CHECK(graph_is(module, "x neg output"));
    OK(fxir_pattern_set_new(&set, E));
    OK(fxir_pattern_set_add(set, pattern, &rewrite, NULL, NULL, NULL, E));
    OK(fxir_pass_manager_add_pattern_set(passes, "never", set, 3, E));
    OK(fxir_pass_manager_run(passes, module, NULL, NULL, E)); /* nothing matches */
    fxir_module_free(module);
    module = read_code("def forward(x):\n a = torch.add(x, 1)\n return a\n");
    fxir_pass_manager_free(passes);
    passes = new_manager();
    OK(fxir_pass_manager_add_pattern_set(passes, "never", set, 3, E));
    REFUSED(FXIR_LIMIT, module, fxir_pass_manager_run(passes, module, NULL, NULL, E));
    fxir_pattern_set_free(set);
    fxir_pass_manager_free(passes);
    fxir_module_free(module);
    fxir_module_free(pattern);
    fxir_module_free(replacement);
    fxir_module_free(grow);
}

static int32_t twist(void *user_data, fxir_module *module) {
    fxir_node x = fxir_graph_first(module);
    (void)user_data;
    OK(fxir_node_move_before(module, fxir_graph_next(module, x), x, E));
    return 0;
}

static void checks(void) {
    fxir_module *module = read_code(NET);
    fxir_pass_manager *passes = new_manager();
    fxir_pass_report *report = NULL;
    fxir_pass_options options;
    OK(fxir_pass_manager_add_function(passes, "twist", twist, NULL, NULL, E));
    OK(fxir_pass_manager_add(passes, "legalize_graph", E));
    OK(fxir_pass_manager_run(passes, module, NULL, NULL, E));
    OK(fxir_graph_lint(module, E));
    fxir_pass_options_init(&options);
    options.run_checks_after_each_pass = 1;
    REFUSED(FXIR_LINT, module, fxir_pass_manager_run(passes, module, &options, &report, E));
    CHECK(strstr(failed.message, "pass 0, \"twist\"") && failed.node != 0);
    options.suppress_check_failures = 1;
    OK(fxir_pass_manager_run(passes, module, &options, &report, E));
    CHECK(fxir_pass_report_run(report, 0)->check_failure && strstr(fxir_pass_report_run(report, 0)->check_failure, "node "));
    CHECK(fxir_pass_report_run(report, 1)->check_failure == NULL);
    fxir_pass_report_free(report);
    options.suppress_check_failures = 2;
    REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_pass_manager_run(passes, module, &options, NULL, E));
    options.suppress_check_failures = 0;
    options.run_checks_after_each_pass = -1;
    REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_pass_manager_run(passes, module, &options, NULL, E));
    options.struct_size = 3;
    REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_pass_manager_run(passes, module, &options, NULL, E));
    fxir_pass_manager_free(passes);
    fxir_module_free(module);
}

typedef struct dumps {
    fxir_module *outer, *kept;
    text seen;
    int stop_at, calls;
} dumps;

static int32_t dump(void *user_data, int32_t when, const fxir_module *module, const fxir_pass_run *run) {
    dumps *now = user_data;
    fxir_module *view = (fxir_module *)(uintptr_t)module;
    text_add(&now->seen, "%s%d %s %zu%s", now->calls ? ", " : "", (int)when, run->name, fxir_graph_node_count(module),
             run->modified ? " modified" : "");
    CHECK(run->step == 0 && (when == FXIR_PASS_BEFORE || run->nodes_after == fxir_graph_node_count(module)));
    CHECK(run->nodes_before == 5 || run->index == 1);
    FAILS(FXIR_BUSY, fxir_legalize_graph(view, E));
    CHECK(fxir_module_kind(now->outer) == FXIR_MODULE_NONE);
    if (!now->kept) OK(fxir_module_retain(view, &now->kept, E));
    return ++now->calls == now->stop_at ? 9 : 0;
}

static void dumping(void) {
    fxir_module *module = read_code(NET);
    fxir_pass_manager *passes = new_manager();
    fxir_pass_options options;
    dumps now = {NULL, NULL, {0, 0, 0}, 0, 0};
    now.outer = module;
    fxir_pass_options_init(&options);
    options.dump = dump;
    options.dump_data = &now;
    OK(fxir_pass_manager_add(passes, "eliminate_dead_code", E));
    OK(fxir_pass_manager_add(passes, "lint", E));
    now.stop_at = 4;
    REFUSED(FXIR_CALLBACK, module, fxir_pass_manager_run(passes, module, &options, NULL, E));
    CHECK(!strcmp(now.seen.data, "0 eliminate_dead_code 5, 1 eliminate_dead_code 4 modified, 0 lint 4, 1 lint 4"));
    CHECK(failed.code == 9 && strstr(failed.message, "pass 1, \"lint\""));
    now.stop_at = now.calls = 0;
    OK(fxir_pass_manager_run(passes, module, &options, NULL, E));
    CHECK(now.calls == 4 && graph_is(module, "x a b output"));
    /* What a dump keeps is the module as it was then. */
    CHECK(graph_is(now.kept, "x a b dead output"));
    OK(fxir_eliminate_dead_code(now.kept, NULL, NULL, E));
    fxir_module_free(now.kept);
    free(now.seen.data);
    fxir_pass_manager_free(passes);
    fxir_module_free(module);
}

static int32_t note(void *user_data, fxir_module *module) {
    (void)module;
    strcat((char *)user_data, "!");
    return 0;
}

static int32_t note_name(void *user_data, int32_t when, const fxir_module *module, const fxir_pass_run *run) {
    (void)module;
    if (when == FXIR_PASS_BEFORE) strcat((char *)user_data, run->name);
    return 0;
}

static void constraints(void) {
    fxir_module *module = read_code(NET);
    fxir_pass_manager *passes = new_manager();
    fxir_pass_report *report = NULL;
    fxir_pass_options options;
    char seen[64] = "";
    fxir_pass_options_init(&options);
    options.dump = note_name;
    options.dump_data = seen;
    OK(fxir_pass_manager_add_constraint(passes, "c", "b", E));
    OK(fxir_pass_manager_add_constraint(passes, "c", "nothing", E));
    OK(fxir_pass_manager_validate_constraints(passes, E));
    OK(fxir_pass_manager_add_function(passes, "a", note, seen, NULL, E));
    OK(fxir_pass_manager_add_function(passes, "b", note, seen, NULL, E));
    OK(fxir_pass_manager_validate_constraints(passes, E));
    OK(fxir_pass_manager_add_function(passes, "c", note, seen, NULL, E));
    FAILS(FXIR_INVALID_ARGUMENT, fxir_pass_manager_validate_constraints(passes, E));
    CHECK(strstr(failed.message, "\"c\"") && strstr(failed.message, "\"b\""));
    OK(fxir_pass_manager_run(passes, module, &options, &report, E));
    CHECK(!strcmp(seen, "a!c!b!"));
    CHECK(fxir_pass_report_run(report, 1)->index == 2 && !strcmp(fxir_pass_manager_name(passes, 1), "b"));
    fxir_pass_report_free(report);
    FAILS(FXIR_INVALID_ARGUMENT, fxir_pass_manager_add_constraint(passes, "a", "a", E));
    OK(fxir_pass_manager_add_constraint(passes, "b", "c", E));
    REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_pass_manager_run(passes, module, NULL, NULL, E));
    CHECK(strstr(failed.message, "b -> c") || strstr(failed.message, "c -> b"));
    fxir_pass_manager_free(passes);
    fxir_module_free(module);
}

static void other_modules(void) {
    fxir_module *module = read_code(NET), *sub = NULL, *leaf = NULL;
    fxir_pass_manager *passes = new_manager();
    fxir_node node;
    OK(fxir_module_add_submodule(module, "sub", FXIR_MODULE_GRAPH, "Sub", &sub, E));
    node = placeholder(sub, "x");
    call_1(sub, "torch.relu", node);
    output_1(sub, node);
    OK(fxir_module_add_submodule(module, "leaf", FXIR_MODULE_LEAF, "Leaf", &leaf, E));
    OK(fxir_pass_manager_add(passes, "eliminate_dead_code", E));
    OK(fxir_pass_manager_run(passes, sub, NULL, NULL, E));
    CHECK(graph_is(sub, "x output") && graph_is(module, "x a b dead output"));
    REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_pass_manager_run(passes, leaf, NULL, NULL, E));
    OK(fxir_module_delete_member(module, "sub", E));
    REFUSED(FXIR_NOT_FOUND, module, fxir_pass_manager_run(passes, sub, NULL, NULL, E));
    fxir_module_free(leaf);
    fxir_module_free(sub);
    fxir_pass_manager_free(passes);
    fxir_module_free(module);
}

int main(void) {
    the_library_s_passes();
    functions();
    nested_managers();
    pattern_sets();
    checks();
    dumping();
    constraints();
    other_modules();
    return check_result();
}
