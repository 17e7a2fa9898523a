/* Modules as FX code, for tests whose graphs are easier to read than to build. */
#ifndef FXIR_TEST_CODE_H
#define FXIR_TEST_CODE_H

#include "check.h"

static fxir_module *read_code(const char *code) {
    fxir_module *module = NULL;
    OK(fxir_module_read_code(code, strlen(code), NULL, &module, E));
    return module;
}

/* Whether the module is this function, in torch's own print, `;  x = None` left out. */
static int code_is(const fxir_module *module, const char *expected) {
    fxir_module *other = read_code(expected);
    fxir_buffer *code = NULL, *wanted = NULL;
    int same;
    OK(fxir_graph_lint((fxir_module *)(uintptr_t)module, E));
    OK(fxir_module_print(module, FXIR_TEXT_CODE, NULL, &code, E));
    OK(fxir_module_print(other, FXIR_TEXT_CODE, NULL, &wanted, E));
    same = !strcmp(fxir_buffer_data(code), fxir_buffer_data(wanted));
    if (!same) fprintf(stderr, "got%s\nexpected%s", fxir_buffer_data(code), fxir_buffer_data(wanted));
    fxir_buffer_free(code);
    fxir_buffer_free(wanted);
    fxir_module_free(other);
    return same;
}

#endif
