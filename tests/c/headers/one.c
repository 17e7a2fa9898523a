#include <fxir.h>

unsigned abi_seen_by_two(void);

int main(void) { return abi_seen_by_two() == FXIR_ABI_VERSION && fxir_abi_version() == FXIR_ABI_VERSION ? 0 : 1; }
