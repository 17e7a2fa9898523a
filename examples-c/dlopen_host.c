/* Loads the library at run time, as a runtime with plug-ins or another language does: nothing is linked,
 * the header gives types and constants only.
 *
 * usage: dlopen_host LIBFXIR      (the path of libfxir.so.1) */
#include <fxir.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The functions that this program uses, with the types that the header declares for them. */
#define FUNCTIONS(USE)            \
    USE(fxir_abi_version)         \
    USE(fxir_version_string)      \
    USE(fxir_status_name)         \
    USE(fxir_error_message)       \
    USE(fxir_error_free)          \
    USE(fxir_module_new)          \
    USE(fxir_module_free)         \
    USE(fxir_graph_placeholder)   \
    USE(fxir_graph_call_function) \
    USE(fxir_graph_output)        \
    USE(fxir_graph_first)         \
    USE(fxir_graph_next)          \
    USE(fxir_graph_lint)          \
    USE(fxir_node_op)             \
    USE(fxir_node_name)           \
    USE(fxir_node_target)         \
    USE(fxir_node_set_target)     \
    USE(fxir_graph_erase_node)

/* A table of pointers, one by each name: fx.fxir_module_new(...). __typeof__ is of gcc and clang. */
static struct functions {
#define DECLARE(name) __typeof__(&name) name;
    FUNCTIONS(DECLARE)
#undef DECLARE
} fx;

static void *find(void *library, const char *name) {
    void *address = dlsym(library, name);
    if (!address) {
        fprintf(stderr, "%s is not in the library: %s\n", name, dlerror());
        exit(1);
    }
    return address;
}

static void load(void *library) {
    void *address;
/* A pointer to an object becomes one to a function by its bytes: that is what POSIX asks of dlsym. */
#define FIND(name)                  \
    address = find(library, #name); \
    memcpy(&fx.name, &address, sizeof address);
    FUNCTIONS(FIND)
#undef FIND
}

static fxir_error *error;

static void ok(fxir_status status) {
    if (status == FXIR_OK) return;
    fprintf(stderr, "%s: %s\n", fx.fxir_status_name(status), fx.fxir_error_message(error));
    exit(1);
}

#define EXPECT(condition) expect((condition) != 0, #condition, __LINE__)
static void expect(int holds, const char *what, int line) {
    if (holds) return;
    fprintf(stderr, "line %d: this does not hold: %s\n", line, what);
    exit(1);
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: %s LIBFXIR\n", argv[0]);
        return 2;
    }
    void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    load(library);

    /* First of all: is it the interface that this program was compiled for? */
    EXPECT(fx.fxir_abi_version() == FXIR_ABI_VERSION);
    printf("loaded fxir %s\n", fx.fxir_version_string());

    fxir_module *net;
    fxir_node x, relu;
    ok(fx.fxir_module_new("Tiny", &net, &error));
    ok(fx.fxir_graph_placeholder(net, "x", &x, &error));
    fxir_arg input = fxir_arg_node(x); /* the inline functions of the header need no library */
    ok(fx.fxir_graph_call_function(net, "torch.relu", &input, 1, NULL, 0, &relu, &error));
    fxir_arg result = fxir_arg_node(relu);
    ok(fx.fxir_graph_output(net, &result, NULL, &error));
    ok(fx.fxir_node_set_target(net, relu, "backend.relu", &error));
    ok(fx.fxir_graph_lint(net, &error));

    const char *targets[] = {"x", "backend.relu", "output"};
    size_t count = 0;
    for (fxir_node node = fx.fxir_graph_first(net); node; node = fx.fxir_graph_next(net, node)) {
        printf("  %s: %s\n", fx.fxir_node_name(net, node), fx.fxir_node_target(net, node));
        EXPECT(count < 3 && strcmp(fx.fxir_node_target(net, node), targets[count]) == 0);
        count++;
    }
    EXPECT(count == 3);

    EXPECT(fx.fxir_graph_erase_node(net, x, &error) == FXIR_IN_USE);
    printf("refused: %s\n", fx.fxir_error_message(error));
    fx.fxir_error_free(error);

    /* A handle that was freed is found out, also here. */
    fx.fxir_module_free(net);
    EXPECT(fx.fxir_graph_lint(net, NULL) == FXIR_INVALID_HANDLE);
    EXPECT(fx.fxir_node_op(net, x) == 0);

    EXPECT(dlclose(library) == 0);
    printf("OK\n");
    return 0;
}
