/* A program that links fxir: the header it was compiled with and the library it runs with agree. */
#include <fxir.h>
#include <stdio.h>

int main(void) {
    if (fxir_abi_version() != FXIR_ABI_VERSION) {
        fprintf(stderr, "the library has ABI %u, the header %d\n", (unsigned)fxir_abi_version(), FXIR_ABI_VERSION);
        return 1;
    }
    return 0;
}
