#include <fxir.h>
#if __has_include(<fxir.hpp>)
#include <fxir.hpp>
#endif

extern "C" unsigned abi_seen_by_two(void);

int main() { return abi_seen_by_two() == FXIR_ABI_VERSION && fxir_abi_version() == FXIR_ABI_VERSION ? 0 : 1; }
