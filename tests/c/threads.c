/* Threads: readers beside a writer, handles freed while they are used, modules that rewrite each
 * other, callbacks on several threads. No crash, no deadlock, nothing half-done is ever seen. */
#include "check.h"
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

static int rounds = 300;
static volatile int stop;
static int wrong; /* counted with atomics: CHECK is not for threads */

#define THREAD_CHECK(condition) \
    ((condition) ? (void)0 : (void)(__atomic_add_fetch(&wrong, 1, __ATOMIC_RELAXED), fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition)))

static fxir_module *unary(const char *target) {
    fxir_module *module = new_module();
    output_1(module, call_1(module, target, placeholder(module, "x")));
    return module;
}

/* Readers see the graph as it is between two edits: x, then pairs f, g, then the output. */
static void *read_all(void *data) {
    fxir_module *module = (fxir_module *)data;
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        fxir_buffer *table = NULL;
        fxir_module *clone = NULL;
        fxir_node nodes[64];
        size_t count = fxir_graph_nodes(module, nodes, 64), i;
        for (i = 0; i < count && i < 64; i++) {
            fxir_args *args = NULL;
            fxir_status status = fxir_node_args(module, nodes[i], &args, NULL);
            THREAD_CHECK(status == FXIR_OK || status == FXIR_STALE_NODE);
            if (status == FXIR_OK) {
                THREAD_CHECK(fxir_args_count(args) <= 1);
                fxir_args_free(args);
            }
        }
        THREAD_CHECK(fxir_graph_lint(module, NULL) == FXIR_OK);
        THREAD_CHECK(fxir_graph_print_tabular(module, &table, NULL) == FXIR_OK);
        fxir_buffer_free(table);
        THREAD_CHECK(fxir_module_clone(module, &clone, NULL, NULL) == FXIR_OK);
        THREAD_CHECK(fxir_graph_lint(clone, NULL) == FXIR_OK);
        fxir_module_free(clone);
    }
    return NULL;
}

static void readers_and_a_writer(void) {
    fxir_module *module = unary("f"), *pattern = unary("f"), *replacement = new_module(), *back = new_module();
    pthread_t threads[3];
    int i;
    fxir_node x = placeholder(replacement, "x");
    output_1(replacement, call_1(replacement, "f", call_1(replacement, "g", x)));
    x = placeholder(back, "x");
    output_1(back, call_1(back, "f", call_1(back, "g", x)));
    stop = 0;
    for (i = 0; i < 3; i++) pthread_create(&threads[i], NULL, read_all, module);
    for (i = 0; i < rounds; i++) {
        fxir_node node, output = fxir_graph_output_node(module);
        OK(fxir_replace_pattern(module, pattern, replacement, NULL, NULL, E)); /* f -> g, f */
        OK(fxir_replace_pattern(module, back, pattern, NULL, NULL, E));        /* g, f -> f */
        node = fxir_graph_prev(module, output);
        OK(fxir_node_set_name(module, node, i % 2 ? "one" : "two", E));
        OK(fxir_legalize_graph(module, E));
        CHECK(fxir_graph_node_count(module) == 3);
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    for (i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    OK(fxir_module_lint(module, E));
    fxir_module_free(module);
    fxir_module_free(pattern);
    fxir_module_free(replacement);
    fxir_module_free(back);
}

/* One handle, used by some threads and freed by others. */
typedef struct shared {
    fxir_module *module;
    fxir_tensor *tensor;
    fxir_args *args;
    fxir_weights *weights;
    fxir_error *error;
    fxir_node x;
    pthread_barrier_t barrier;
    int number;
} shared;

static void *use_or_free(void *data) {
    shared *s = (shared *)data;
    int me = __atomic_fetch_add(&s->number, 1, __ATOMIC_RELAXED), i;
    pthread_barrier_wait(&s->barrier);
    for (i = 0; i < 30; i++) {
        fxir_status status;
        fxir_tensor *got = NULL;
        if (me < 2 && i == 10 + me) {
            fxir_module_free(s->module);
            fxir_tensor_free(s->tensor);
            fxir_args_free(s->args);
            fxir_weights_free(s->weights);
            fxir_error_free(s->error);
        }
        status = fxir_graph_call_function(s->module, "f", NULL, 0, NULL, 0, NULL, NULL);
        THREAD_CHECK(status == FXIR_OK || status == FXIR_INVALID_HANDLE);
        status = fxir_graph_lint(s->module, NULL);
        THREAD_CHECK(status == FXIR_OK || status == FXIR_INVALID_HANDLE);
        fxir_node_user_count(s->module, s->x);
        THREAD_CHECK(fxir_tensor_rank(s->tensor) <= 1);
        THREAD_CHECK(fxir_args_count(s->args) <= 1);
        status = fxir_weights_tensor(s->weights, 0, &got, NULL);
        THREAD_CHECK(status == FXIR_OK || status == FXIR_INVALID_HANDLE);
        if (status == FXIR_OK) THREAD_CHECK(((const float *)fxir_tensor_data(got))[0] == 5);
        fxir_tensor_free(got);
        THREAD_CHECK(fxir_error_code(s->error) == FXIR_STALE_NODE || fxir_error_code(s->error) == FXIR_INVALID_HANDLE);
    }
    return NULL;
}

static void freeing_and_using(void) {
    int round, i;
    for (round = 0; round < rounds / 3; round++) {
        shared s;
        pthread_t threads[4];
        float data[1] = {5};
        int64_t shape[1] = {1};
        memset(&s, 0, sizeof s);
        s.module = new_module();
        s.x = placeholder(s.module, "x");
        OK(fxir_tensor_copy(FXIR_DTYPE_FLOAT32, shape, 1, data, 4, &s.tensor, E));
        OK(fxir_node_args(s.module, call_1(s.module, "f", s.x), &s.args, E));
        OK(fxir_weights_new(&s.weights, E));
        OK(fxir_weights_set(s.weights, "w", s.tensor, E));
        CHECK(fxir_graph_erase_node(s.module, 99, &s.error) == FXIR_STALE_NODE);
        pthread_barrier_init(&s.barrier, NULL, 4);
        for (i = 0; i < 4; i++) pthread_create(&threads[i], NULL, use_or_free, &s);
        for (i = 0; i < 4; i++) pthread_join(threads[i], NULL);
        pthread_barrier_destroy(&s.barrier);
        CHECK(fxir_module_kind(s.module) == FXIR_MODULE_NONE && fxir_tensor_dtype(s.tensor) == FXIR_DTYPE_NONE);
    }
}

/* Each thread rewrites the one module with the other as pattern and replacement, both ways round. */
typedef struct both {
    fxir_module *mine, *theirs;
    pthread_barrier_t *barrier;
} both;

static int32_t look(void *user_data, const fxir_module *view, const fxir_matches *matches, int32_t *verdict) {
    both *b = (both *)user_data;
    fxir_status status;
    (void)matches, (void)verdict;
    THREAD_CHECK(fxir_graph_node_count(view) > 0);
    /* Never a wait: the other module may be in a callback of its own, and then it is busy. */
    status = fxir_graph_lint(b->theirs, NULL);
    THREAD_CHECK(status == FXIR_OK || status == FXIR_BUSY);
    status = fxir_node_set_comment(b->theirs, fxir_graph_first(b->theirs), "words", NULL);
    THREAD_CHECK(status == FXIR_OK || status == FXIR_BUSY || status == FXIR_STALE_NODE);
    return 0;
}

static void *rewrite_each_other(void *data) {
    both *b = (both *)data;
    fxir_match_options options;
    int i;
    fxir_match_options_init(&options);
    options.filter = look;
    options.filter_data = b;
    pthread_barrier_wait(b->barrier);
    for (i = 0; i < rounds; i++) {
        fxir_module *twin = NULL;
        fxir_node_map *map = NULL;
        THREAD_CHECK(fxir_replace_pattern(b->mine, b->theirs, b->theirs, NULL, NULL, NULL) == FXIR_OK);
        THREAD_CHECK(fxir_replace_pattern(b->mine, b->theirs, b->mine, i % 2 ? &options : NULL, NULL, NULL) == FXIR_OK);
        THREAD_CHECK(fxir_module_set_submodule(b->mine, "sub", b->theirs, NULL) == FXIR_OK);
        THREAD_CHECK(fxir_module_clone(b->theirs, &twin, &map, NULL) == FXIR_OK);
        THREAD_CHECK(fxir_graph_lint(twin, NULL) == FXIR_OK);
        fxir_node_map_free(map);
        THREAD_CHECK(fxir_module_set_submodule_take(b->mine, "sub", twin, NULL) == FXIR_OK);
        THREAD_CHECK(fxir_module_delete_member(b->mine, "sub", NULL) == FXIR_OK);
    }
    return NULL;
}

static void each_other(void) {
    fxir_module *a = unary("f"), *b = unary("f");
    pthread_t threads[4];
    pthread_barrier_t barrier;
    both ways[2];
    int i;
    ways[0].mine = a, ways[0].theirs = b, ways[0].barrier = &barrier;
    ways[1].mine = b, ways[1].theirs = a, ways[1].barrier = &barrier;
    pthread_barrier_init(&barrier, NULL, 2);
    for (i = 0; i < 2; i++) pthread_create(&threads[i], NULL, rewrite_each_other, &ways[i]);
    for (i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&barrier);
    OK(fxir_module_lint(a, E));
    OK(fxir_module_lint(b, E));
    CHECK(graph_is(a, "x f output") || fxir_graph_node_count(a) == 3);
    fxir_module_free(a);
    fxir_module_free(b);
}

/* Many threads make and drop handles, modules and nodes of their own: ids never meet. */
static void *churn(void *data) {
    uint64_t state = (uint64_t)(uintptr_t)data;
    fxir_node *all = (fxir_node *)malloc(sizeof *all * (size_t)rounds);
    int i;
    if (!all) abort();
    for (i = 0; i < rounds; i++) {
        fxir_module *module = NULL, *sub = NULL;
        fxir_node node = 0;
        THREAD_CHECK(fxir_module_new(NULL, &module, NULL) == FXIR_OK);
        THREAD_CHECK(fxir_module_add_submodule(module, "a.b", FXIR_MODULE_GRAPH, "T", &sub, NULL) == FXIR_OK);
        THREAD_CHECK(fxir_graph_placeholder(sub, "x", &node, NULL) == FXIR_OK);
        all[i] = node;
        if (i) THREAD_CHECK(fxir_node_name(sub, all[check_random(&state) % (uint64_t)i]) == NULL);
        fxir_module_free(i % 2 ? module : sub);
        THREAD_CHECK(fxir_graph_node_count(i % 2 ? sub : module) == (i % 2 ? 1u : 0u));
        fxir_module_free(i % 2 ? sub : module);
    }
    return all;
}

static int ascending(const void *a, const void *b) {
    fxir_node left = *(const fxir_node *)a, right = *(const fxir_node *)b;
    return left < right ? -1 : left > right;
}

static void churning(void) {
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    fxir_node *all = (fxir_node *)malloc(sizeof *all * THREADS * (size_t)rounds);
    int i;
    if (!all) abort();
    for (i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, churn, (void *)(uintptr_t)(i + 1));
    for (i = 0; i < THREADS; i++) {
        void *own = NULL;
        pthread_join(threads[i], &own);
        memcpy(all + i * rounds, own, sizeof *all * (size_t)rounds);
        free(own);
    }
    qsort(all, THREADS * (size_t)rounds, sizeof *all, ascending);
    for (i = 1; i < THREADS * rounds; i++) CHECK(all[i - 1] != all[i]);
    free(all);
}

/* A callback takes its time: readers go on, a writer waits for it, and then has its turn. */
static int entered, wrote;

static void *write_later(void *data) {
    while (!__atomic_load_n(&entered, __ATOMIC_ACQUIRE)) usleep(100);
    THREAD_CHECK(fxir_graph_call_function((fxir_module *)data, "late", NULL, 0, NULL, 0, NULL, NULL) == FXIR_OK);
    __atomic_store_n(&wrote, 1, __ATOMIC_RELEASE);
    return NULL;
}

static void *read_meanwhile(void *data) {
    while (!__atomic_load_n(&entered, __ATOMIC_ACQUIRE)) usleep(100);
    THREAD_CHECK(fxir_graph_node_count((fxir_module *)data) > 0);
    return NULL;
}

static int32_t linger(void *user_data, const fxir_module *view, fxir_node node, int32_t *verdict) {
    pthread_t reader;
    (void)verdict;
    THREAD_CHECK(fxir_node_name(view, node) != NULL);
    /* Started in here: a waiting writer does not keep readers out for ever. */
    pthread_create(&reader, NULL, read_meanwhile, user_data);
    __atomic_store_n(&entered, 1, __ATOMIC_RELEASE);
    usleep(20000);
    THREAD_CHECK(fxir_node_name(view, node) != NULL);
    THREAD_CHECK(!__atomic_load_n(&wrote, __ATOMIC_ACQUIRE));
    pthread_detach(reader);
    return 0;
}

static void a_slow_callback(void) {
    fxir_module *module = unary("f");
    pthread_t writer;
    size_t changed = 0;
    entered = wrote = 0;
    pthread_create(&writer, NULL, write_later, module);
    OK(fxir_node_replace_all_uses_with(module, fxir_graph_next(module, fxir_graph_first(module)), fxir_graph_first(module),
                                       linger, module, &changed, E));
    CHECK(changed == 1);
    pthread_join(writer, NULL);
    CHECK(fxir_graph_node_count(module) == 4);
    usleep(50000); /* for the reader */
    fxir_module_free(module);
}

static void too_long(int signal) {
    static const char message[] = "deadlock\n";
    (void)signal;
    if (write(2, message, sizeof message - 1) < 0) _exit(3);
    _exit(2);
}

int main(void) {
    signal(SIGALRM, too_long);
    alarm(400);
    if (getenv("LD_PRELOAD")) rounds = 20; /* under valgrind, which runs one thread at a time */
    readers_and_a_writer();
    freeing_and_using();
    each_other();
    churning();
    a_slow_callback();
    CHECK(wrong == 0);
    return check_result();
}
