/* What the C tests share: checks that count, the rules of errors checked on every call, and pictures
 * of a module by which a test sees that a failed call changed nothing.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CHECK_H
#define CHECK_H

#include <fxir.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#if defined(__GNUC__)
#define CHECK_UNUSED __attribute__((unused))
#else
#define CHECK_UNUSED
#endif

static int check_count;
static int check_failures;

static CHECK_UNUSED int check_that(int holds, const char *what, const char *file, int line) {
    check_count++;
    if (!holds) {
        check_failures++;
        if (check_failures <= 200) fprintf(stderr, "%s:%d: not so: %s\n", file, line, what);
    }
    return holds;
}

#define CHECK(condition) check_that((condition) ? 1 : 0, #condition, __FILE__, __LINE__)

/* What main returns. */
static CHECK_UNUSED int check_result(void) {
    printf("%d checks, %d failed\n", check_count, check_failures);
    return check_failures ? 1 : 0;
}

/* Errors. Every call under OK or FAILS gets E with garbage in it: nothing may look at that. */

static fxir_error *check_error;
#define E (&check_error)
#define CHECK_GARBAGE ((fxir_error *)(uintptr_t)0xdeadbeefdeadbeefu)

/* The error of the last call under FAILS. */
static struct {
    char message[1024];
    fxir_node node;
    size_t line, column;
    int32_t code;
} failed;

static CHECK_UNUSED int check_ok(fxir_status status, const char *what, const char *file, int line) {
    check_count++;
    if (status == FXIR_OK && (check_error == NULL || check_error == CHECK_GARBAGE)) return 1;
    check_failures++;
    fprintf(stderr, "%s:%d: %s: %s: %s\n", file, line, what, fxir_status_name(status),
            check_error == CHECK_GARBAGE ? "" : fxir_error_message(check_error));
    if (check_error != CHECK_GARBAGE) fxir_error_free(check_error);
    check_error = NULL;
    return 0;
}

static CHECK_UNUSED int check_fails(fxir_status status, fxir_status expected, const char *what, const char *file,
                                    int line) {
    int holds;
    check_count++;
    memset(&failed, 0, sizeof failed);
    if (check_error == CHECK_GARBAGE) { /* E was not passed */
        holds = status == expected;
        if (!holds) {
            check_failures++;
            fprintf(stderr, "%s:%d: %s gives %s\n", file, line, what, fxir_status_name(status));
        }
        return holds;
    }
    if (check_error) {
        snprintf(failed.message, sizeof failed.message, "%s", fxir_error_message(check_error));
        failed.node = fxir_error_node(check_error);
        failed.line = fxir_error_line(check_error);
        failed.column = fxir_error_column(check_error);
        failed.code = fxir_error_callback_code(check_error);
    }
    holds = status == expected && check_error && fxir_error_code(check_error) == status && failed.message[0] &&
            (failed.code == 0 || status == FXIR_CALLBACK);
    if (!holds) {
        check_failures++;
        fprintf(stderr, "%s:%d: %s gives %s instead of %s: %s\n", file, line, what, fxir_status_name(status),
                fxir_status_name(expected), failed.message);
    }
    fxir_error_free(check_error);
    check_error = NULL;
    return holds;
}

#define OK(call) (check_error = CHECK_GARBAGE, check_ok((call), #call, __FILE__, __LINE__))
#define FAILS(expected, call) (check_error = CHECK_GARBAGE, check_fails((call), (expected), #call, __FILE__, __LINE__))

/* Text that grows. */

typedef struct text {
    char *data;
    size_t length, capacity;
} text;

static CHECK_UNUSED void text_add(text *to, const char *format, ...) {
    va_list list, again;
    int needed;
    va_start(list, format);
    va_copy(again, list);
    needed = vsnprintf(NULL, 0, format, list);
    va_end(list);
    if (to->length + (size_t)needed + 1 > to->capacity) {
        to->capacity = (to->length + (size_t)needed + 1) * 2;
        to->data = (char *)realloc(to->data, to->capacity);
        if (!to->data) abort();
    }
    vsnprintf(to->data + to->length, to->capacity - to->length, format, again);
    va_end(again);
    to->length += (size_t)needed;
}

static CHECK_UNUSED void text_add_bytes(text *to, const void *bytes, size_t count) {
    size_t i;
    for (i = 0; i < count; i++) {
        unsigned char byte = ((const unsigned char *)bytes)[i];
        if (byte >= 32 && byte < 127 && byte != '\\' && byte != '"') text_add(to, "%c", byte);
        else text_add(to, "\\x%02x", byte);
    }
}

/* Pictures: everything that can be read, to the bit. */

static CHECK_UNUSED void picture_of_arg(text *to, const fxir_arg *arg) {
    size_t i, count = arg->count;
    uint64_t bits[2];
    text_add(to, "%u", (unsigned)arg->kind);
    if (arg->flags) text_add(to, " flags %u", (unsigned)arg->flags);
    switch (arg->kind) {
    case FXIR_ARG_NONE:
    case FXIR_ARG_ELLIPSIS: break;
    case FXIR_ARG_BOOL:
    case FXIR_ARG_INT:
    case FXIR_ARG_DTYPE: text_add(to, ":%" PRId64, arg->value.integer); break;
    case FXIR_ARG_FLOAT:
        memcpy(bits, &arg->value.real, 8);
        text_add(to, ":%016" PRIx64, bits[0]);
        break;
    case FXIR_ARG_COMPLEX:
        memcpy(bits, arg->value.parts, 16);
        text_add(to, ":%016" PRIx64 "+%016" PRIx64, bits[0], bits[1]);
        break;
    case FXIR_ARG_BIG_INT:
    case FXIR_ARG_STR:
    case FXIR_ARG_DEVICE:
    case FXIR_ARG_LAYOUT:
    case FXIR_ARG_MEMORY_FORMAT:
    case FXIR_ARG_QSCHEME:
    case FXIR_ARG_SYMINT:
        text_add(to, ":\"");
        text_add_bytes(to, arg->value.text, arg->count);
        text_add(to, "\"");
        break;
    case FXIR_ARG_BYTES:
        text_add(to, ":b\"");
        text_add_bytes(to, arg->value.bytes, arg->count);
        text_add(to, "\"");
        break;
    case FXIR_ARG_RANGE:
        text_add(to, ":%" PRId64 ",%" PRId64 ",%" PRId64, arg->value.integers[0], arg->value.integers[1],
                 arg->value.integers[2]);
        break;
    case FXIR_ARG_DICT: count *= 2; /* fall through */
    case FXIR_ARG_LIST:
    case FXIR_ARG_TUPLE:
    case FXIR_ARG_SLICE:
        text_add(to, "[");
        for (i = 0; i < count; i++) {
            if (i) text_add(to, ", ");
            picture_of_arg(to, &arg->value.items[i]);
        }
        text_add(to, "]");
        break;
    case FXIR_ARG_NODE: text_add(to, ":node %" PRIx64, arg->value.node); break;
    default: text_add(to, " unknown"); break;
    }
}

static CHECK_UNUSED void picture_of_args(text *to, const fxir_args *args) {
    size_t i, count = fxir_args_count(args);
    const fxir_arg *items = fxir_args_items(args);
    const fxir_kwarg *kwargs = fxir_args_kwargs(args);
    text_add(to, "(");
    for (i = 0; i < count; i++) {
        if (i) text_add(to, ", ");
        picture_of_arg(to, &items[i]);
    }
    count = fxir_args_kwarg_count(args);
    for (i = 0; i < count; i++) {
        text_add(to, "; %s=", kwargs[i].name);
        picture_of_arg(to, &kwargs[i].value);
    }
    text_add(to, ")");
}

static CHECK_UNUSED int args_alike(const fxir_arg *a, const fxir_arg *b) {
    text left = {0, 0, 0}, right = {0, 0, 0};
    int alike;
    picture_of_arg(&left, a);
    picture_of_arg(&right, b);
    alike = strcmp(left.data, right.data) == 0;
    if (!alike) fprintf(stderr, "  %s\n  %s\n", left.data, right.data);
    free(left.data);
    free(right.data);
    return alike;
}

static CHECK_UNUSED void picture_of_meta(text *to, const fxir_tensor_meta *meta) {
    size_t i;
    text_add(to, "%d %d <", (int)meta->dtype, (int)meta->requires_grad);
    for (i = 0; i < meta->rank; i++) {
        const char *symbol = meta->symbolic_shape ? meta->symbolic_shape[i] : NULL;
        text_add(to, "%" PRId64 "%s ", meta->shape[i], symbol ? symbol : "");
    }
    text_add(to, ">");
    for (i = 0; meta->stride && i < meta->rank; i++) {
        const char *symbol = meta->symbolic_stride ? meta->symbolic_stride[i] : NULL;
        text_add(to, " %" PRId64 "%s", meta->stride[i], symbol ? symbol : "");
    }
    text_add(to, " %s %s", meta->memory_format ? meta->memory_format : "-", meta->device ? meta->device : "-");
    if (meta->quantization) {
        const fxir_quantization *q = meta->quantization;
        text_add(to, " %s %d %d %a %" PRId64 " %" PRId64, q->qscheme, (int)q->is_per_channel, (int)q->has_axis,
                 q->scale, q->zero_point, q->axis);
    }
}

static CHECK_UNUSED void picture_of_value(text *to, const fxir_value *value) {
    size_t i;
    text_add(to, "%u", (unsigned)value->kind);
    if (value->key) text_add(to, " %s=", value->key);
    switch (value->kind) {
    case FXIR_VALUE_TENSOR: picture_of_meta(to, value->content.tensor); break;
    case FXIR_VALUE_LIST:
    case FXIR_VALUE_TUPLE:
    case FXIR_VALUE_DICT:
        text_add(to, "[");
        for (i = 0; i < value->count; i++) picture_of_value(to, &value->content.items[i]);
        text_add(to, "]");
        break;
    case FXIR_VALUE_BOOL:
    case FXIR_VALUE_INT: text_add(to, ":%" PRId64, value->content.integer); break;
    case FXIR_VALUE_FLOAT: text_add(to, ":%a", value->content.real); break;
    case FXIR_VALUE_SYMBOLIC: text_add(to, ":%s", value->content.text); break;
    default: break;
    }
}

#define CHECK_SAFE(text) ((text) ? (text) : "-")

static CHECK_UNUSED void picture_of_node(text *to, const fxir_module *module, fxir_node node, int with_ids) {
    fxir_args *args = NULL;
    fxir_values *values = NULL;
    size_t i, count, capacity;
    fxir_node *nodes;
    if (with_ids) text_add(to, "%" PRIx64 " ", node);
    text_add(to, "%s %s %s type %s comment %s ", CHECK_SAFE(fxir_node_op_name(module, node)),
             CHECK_SAFE(fxir_node_name(module, node)), CHECK_SAFE(fxir_node_target(module, node)),
             CHECK_SAFE(fxir_node_type(module, node)), CHECK_SAFE(fxir_node_comment(module, node)));
    if (with_ids) {
        if (fxir_node_args(module, node, &args, NULL) == FXIR_OK) picture_of_args(to, args);
        fxir_args_free(args);
    }
    capacity = fxir_node_user_count(module, node) + fxir_node_input_nodes(module, node, NULL, 0) + 1;
    nodes = (fxir_node *)calloc(capacity, sizeof *nodes);
    if (!nodes) abort();
    count = fxir_node_users(module, node, nodes, capacity);
    text_add(to, " users");
    for (i = 0; i < count; i++) text_add(to, " %s", fxir_node_name(module, nodes[i]));
    count = fxir_node_input_nodes(module, node, nodes, capacity);
    text_add(to, " inputs");
    for (i = 0; i < count; i++) text_add(to, " %s", fxir_node_name(module, nodes[i]));
    free(nodes);
    count = fxir_node_meta_count(module, node);
    for (i = 0; i < count; i++) {
        const char *key = fxir_node_meta_key(module, node, i);
        text_add(to, " %s=", key);
        if (fxir_node_get_meta(module, node, key, &args, NULL) == FXIR_OK) {
            picture_of_args(to, args);
            fxir_args_free(args);
        }
    }
    if (fxir_node_value(module, node, &values, NULL) == FXIR_OK) {
        text_add(to, " value ");
        picture_of_value(to, fxir_values_root(values));
        fxir_values_free(values);
    }
    text_add(to, "\n");
}

static CHECK_UNUSED void picture_of_module(text *to, const fxir_module *module, int with_ids) {
    size_t i, count;
    fxir_node node;
    text_add(to, "module %s kind %d type %s", CHECK_SAFE(fxir_module_path(module)), (int)fxir_module_kind(module),
             CHECK_SAFE(fxir_module_type_name(module)));
    text_add(to, " origin %" PRIu64 "\n", fxir_module_origin(module));
    count = fxir_module_attribute_count(module);
    for (i = 0; i < count; i++) {
        const char *name = fxir_module_attribute_name(module, i);
        fxir_tensor *tensor = NULL;
        fxir_args *value = NULL;
        text_add(to, "%s kind %d ", name, (int)fxir_module_member_kind(module, name));
        if (fxir_module_get_tensor(module, name, &tensor, NULL) == FXIR_OK) {
            picture_of_meta(to, fxir_tensor_meta_of(tensor));
            text_add(to, " at %" PRIuPTR " %zu bytes", (uintptr_t)fxir_tensor_data(tensor), fxir_tensor_size(tensor));
            fxir_tensor_free(tensor);
        } else if (fxir_module_get_attribute(module, name, &value, NULL) == FXIR_OK) {
            picture_of_args(to, value);
            fxir_args_free(value);
        }
        text_add(to, "\n");
    }
    for (node = fxir_graph_first(module); node; node = fxir_graph_next(module, node))
        picture_of_node(to, module, node, with_ids);
    count = fxir_module_submodule_count(module);
    for (i = 0; i < count; i++) {
        fxir_module *submodule = NULL;
        const char *name = fxir_module_submodule_name(module, i);
        if (fxir_module_get_submodule(module, name, &submodule, NULL) != FXIR_OK) {
            text_add(to, "%s?\n", name);
            continue;
        }
        picture_of_module(to, submodule, with_ids);
        fxir_module_free(submodule);
    }
}

/* With the ids of its nodes; the caller frees it. */
static CHECK_UNUSED char *picture(const fxir_module *module) {
    text to = {0, 0, 0};
    picture_of_module(&to, module, 1);
    return to.data;
}

/* By names, for comparing copies. */
static CHECK_UNUSED char *picture_by_name(const fxir_module *module) {
    text to = {0, 0, 0};
    picture_of_module(&to, module, 0);
    return to.data;
}

static CHECK_UNUSED int check_unchanged(const fxir_module *module, char *before, const char *what, const char *file,
                                        int line) {
    char *after = picture(module);
    int same = strcmp(before, after) == 0;
    check_count++;
    if (!same) {
        check_failures++;
        fprintf(stderr, "%s:%d: %s changed the module\n--- before\n%s--- after\n%s", file, line, what, before, after);
    }
    free(before);
    free(after);
    return same;
}

/* The call fails so, and the module is as it was. */
#define REFUSED(expected, module, call)                                               \
    do {                                                                              \
        char *before_ = picture(module);                                              \
        FAILS(expected, call);                                                        \
        check_unchanged((module), before_, #call, __FILE__, __LINE__);                \
    } while (0)

/* Random numbers that are the same everywhere. */
static CHECK_UNUSED uint64_t check_random(uint64_t *state) {
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* A whole file; the caller frees it. */
static CHECK_UNUSED char *check_read_file(const char *path, size_t *length) {
    FILE *file = fopen(path, "rb");
    char *data;
    long size;
    if (!file) {
        fprintf(stderr, "%s can't be read\n", path);
        exit(1);
    }
    fseek(file, 0, SEEK_END);
    size = ftell(file);
    rewind(file);
    data = (char *)malloc((size_t)size + 1);
    if (!data || fread(data, 1, (size_t)size, file) != (size_t)size) abort();
    data[size] = 0;
    fclose(file);
    *length = (size_t)size;
    return data;
}

static CHECK_UNUSED void check_write_file(const char *path, const void *data, size_t length) {
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(data, 1, length, file) != length || fclose(file) != 0) {
        fprintf(stderr, "%s can't be written\n", path);
        exit(1);
    }
}

/* Shorthands for building graphs. */

static CHECK_UNUSED fxir_module *new_module(void) {
    fxir_module *module = NULL;
    OK(fxir_module_new(NULL, &module, E));
    return module;
}

static CHECK_UNUSED fxir_node placeholder(fxir_module *module, const char *name) {
    fxir_node node = 0;
    OK(fxir_graph_placeholder(module, name, &node, E));
    return node;
}

static CHECK_UNUSED fxir_node call_1(fxir_module *module, const char *target, fxir_node a) {
    fxir_arg args[1];
    fxir_node node = 0;
    args[0] = fxir_arg_node(a);
    OK(fxir_graph_call_function(module, target, args, 1, NULL, 0, &node, E));
    return node;
}

static CHECK_UNUSED fxir_node call_2(fxir_module *module, const char *target, fxir_node a, fxir_node b) {
    fxir_arg args[2];
    fxir_node node = 0;
    args[0] = fxir_arg_node(a);
    args[1] = fxir_arg_node(b);
    OK(fxir_graph_call_function(module, target, args, 2, NULL, 0, &node, E));
    return node;
}

static CHECK_UNUSED fxir_node call_module_1(fxir_module *module, const char *target, fxir_node a) {
    fxir_arg args[1];
    fxir_node node = 0;
    args[0] = fxir_arg_node(a);
    OK(fxir_graph_call_module(module, target, args, 1, NULL, 0, &node, E));
    return node;
}

static CHECK_UNUSED fxir_node output_1(fxir_module *module, fxir_node a) {
    fxir_arg result = fxir_arg_node(a);
    fxir_node node = 0;
    OK(fxir_graph_output(module, &result, &node, E));
    return node;
}

/* Whether the names of the graph's nodes, in order, are these, with a space between. */
static CHECK_UNUSED int graph_is(const fxir_module *module, const char *names) {
    text to = {0, 0, 0};
    fxir_node node;
    int same;
    text_add(&to, "%s", "");
    for (node = fxir_graph_first(module); node; node = fxir_graph_next(module, node))
        text_add(&to, "%s%s", to.length ? " " : "", fxir_node_name(module, node));
    same = strcmp(to.data, names) == 0;
    if (!same) fprintf(stderr, "  the graph is: %s\n", to.data);
    free(to.data);
    return same;
}

static CHECK_UNUSED int users_are(const fxir_module *module, fxir_node node, const char *names) {
    text to = {0, 0, 0};
    fxir_node users[64];
    size_t i, count = fxir_node_users(module, node, users, 64);
    int same;
    text_add(&to, "%s", "");
    for (i = 0; i < count && i < 64; i++) text_add(&to, "%s%s", i ? " " : "", fxir_node_name(module, users[i]));
    same = strcmp(to.data, names) == 0;
    if (!same) fprintf(stderr, "  the users are: %s\n", to.data);
    free(to.data);
    return same;
}

#endif
