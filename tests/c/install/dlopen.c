/* usage: dlopen LIBRARY
 * Loads fxir at run time in a thread that ends after the library was closed: what the library left
 * for the thread's end still has its code. */
#include <dlfcn.h>
#include <fxir.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static void *use(void *path) {
    uint32_t (*abi_version)(void) = NULL;
    void *symbol;
    void *library = dlopen((const char *)path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return path;
    }
    symbol = dlsym(library, "fxir_abi_version");
    memcpy(&abi_version, &symbol, sizeof symbol);
    if (abi_version == NULL || abi_version() != FXIR_ABI_VERSION) {
        fprintf(stderr, "fxir_abi_version is missing or is not %d\n", FXIR_ABI_VERSION);
        return path;
    }
    if (dlclose(library) != 0) return path;
    /* nodelete: the code is still there. */
    return abi_version() == FXIR_ABI_VERSION ? NULL : path;
}

int main(int argc, char **argv) {
    int turn;
    if (argc != 2) return 2;
    for (turn = 0; turn < 2; turn++) {
        pthread_t thread;
        void *failed = argv[1];
        if (pthread_create(&thread, NULL, use, argv[1]) != 0 || pthread_join(thread, &failed) != 0) return 1;
        if (failed != NULL) return 1;
    }
    return 0;
}
