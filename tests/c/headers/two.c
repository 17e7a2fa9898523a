#include <fxir.h>

unsigned abi_seen_by_two(void);

unsigned abi_seen_by_two(void) { return fxir_abi_version(); }
