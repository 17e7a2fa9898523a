/* What the programs in this folder share: a clock, and the C for building graphs of calls. */
#ifndef FXIR_BENCH_H
#define FXIR_BENCH_H

#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif

#include <fxir.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static fxir_error *error;

/* A call that fails ends the program. */
static inline void ok(fxir_status status) {
    if (status == FXIR_OK) return;
    fprintf(stderr, "%s: %s\n", fxir_status_name(status), fxir_error_message(error));
    exit(1);
}

/* Seconds, from some fixed moment. */
static inline double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static inline fxir_module *new_module(void) {
    fxir_module *net;
    ok(fxir_module_new(NULL, &net, &error));
    return net;
}

static inline fxir_node placeholder(fxir_module *net, const char *name) {
    fxir_node made;
    ok(fxir_graph_placeholder(net, name, &made, &error));
    return made;
}

/* Calls a function of one node or, where b is not 0, of two. */
static inline fxir_node call(fxir_module *net, const char *target, fxir_node a, fxir_node b) {
    fxir_node made;
    fxir_arg args[] = {fxir_arg_node(a), fxir_arg_node(b)};
    ok(fxir_graph_call_function(net, target, args, b ? 2 : 1, NULL, 0, &made, &error));
    return made;
}

static inline void returns(fxir_module *net, fxir_node node) {
    fxir_arg result = fxir_arg_node(node);
    ok(fxir_graph_output(net, &result, NULL, &error));
}

/* The whole number in an argument of the program; 0 when it is none, or more than `most`. */
static inline size_t whole_number(const char *text, size_t most) {
    char *end = NULL;
    const unsigned long long number = strtoull(text, &end, 10);
    return *text && !*end && number <= most ? (size_t)number : 0;
}

/* Moves every third node between the first `inputs` nodes and the output to the front. */
static inline void shuffle(fxir_module *net, size_t inputs) {
    const size_t count = fxir_graph_node_count(net);
    fxir_node *nodes = malloc(count * sizeof *nodes);
    if (!nodes) abort();
    fxir_graph_nodes(net, nodes, count);
    for (size_t i = inputs + 3; i < count - 1; i += 3)
        ok(fxir_node_move_before(net, nodes[i], nodes[inputs], &error));
    free(nodes);
}

#endif
