/* Every pointer of every function as NULL, every handle freed, of another type and made up, every
 * text as what is no UTF-8: the statuses and none-values of the header, and nothing else happens.
 *
 * handles_calls.h has one line a function: its name, a word for each of its pointers, and the call.
 *   module, tensor, ...   a handle of that type; pattern, replacement, spare and open are modules too
 *   'text'                a text
 *   out, out:module, ...  where an output goes, and what it is to be freed as
 *   error                 the fxir_error ** that comes last
 *   other words           see default_of()
 *   ?word                 may be NULL
 *   ~word                 may be NULL if no more room is stated than none: not tried */
#include "check.h"
#include "dlpack_structs.h"
#include <ctype.h>

enum { MOST = 12 };

typedef struct fixture {
    fxir_module *module, *pattern, *replacement, *spare, *open, *removed;
    fxir_node x, y, leaf, dead, call, py, px;
    fxir_tensor *tensor;
    fxir_weights *weights;
    fxir_weights_writer *writer;
    fxir_args *args;
    fxir_matches *matches;
    fxir_pattern_set *set;
    fxir_pass_manager *passes;
    fxir_pass_report *report;
    fxir_node_map *node_map;
    fxir_values *values;
    fxir_buffer *buffer;
    fxir_lowering_attrs *lowering;
    fxir_error *problem;
    /* What is no handle. */
    fxir_node_pair pairs[1];
    fxir_node nodes[1], inputs[1];
    fxir_tensor_meta meta;
    fxir_value value;
    fxir_arg arg;
    fxir_kwarg kwarg;
    fxir_match_options match_options;
    fxir_rewrite_options rewrite_options;
    fxir_copy_options copy_options;
    fxir_pass_options pass_options;
    fxir_fuse_options fuse_options;
    fxir_dead_code_options dead_code_options;
    fxir_cse_options cse_options;
    fxir_normalize_options normalize_options;
    fxir_serialize_options serialize_options;
    fxir_size_options size_options;
    fxir_text_options text_options;
    DLManagedTensorVersioned dlpack;
    DLManagedTensor dlpack_unversioned;
    const char *json, *file, *native;
    size_t json_length, file_length, native_length;
    uint64_t outputs[MOST][64];
} fixture;

static const int64_t shape[2] = {2, 2}, strides[2] = {2, 1};
static const float numbers[4] = {1, 2, 3, 4};
static int dummy;
static const char *const names[] = {"weight"};
static const char code[] = "def forward(x):\n    return h(x)\n", pattern_code[] = "def forward(x):\n    return f(x)\n";
static char *json, *file, *native;
static size_t json_length, file_length, native_length;

static int32_t keep(void *user_data, const fxir_module *module, fxir_node node, int32_t *verdict) {
    (void)user_data, (void)module, (void)node, (void)verdict;
    return 0;
}

static int32_t swallow(void *user_data, const void *data, size_t length) {
    (void)user_data, (void)data, (void)length;
    return 0;
}

static void release(void *user_data, const void *data) { (void)user_data, (void)data; }

static void destroy(void *user_data) { (void)user_data; }

static int32_t change_nothing(void *user_data, fxir_module *module) {
    (void)user_data, (void)module;
    return 0;
}

static void set_up(fixture *f) {
    fxir_arg one;
    fxir_node z, inner;
    fxir_module *clone = NULL, *block = NULL;
    memset(f, 0, sizeof *f);
    fxir_tensor_meta_init(&f->meta);
    f->meta.dtype = FXIR_DTYPE_FLOAT32;
    f->meta.requires_grad = 0;
    f->meta.rank = 2;
    f->meta.shape = shape;
    f->meta.stride = strides;
    f->meta.memory_format = "torch.contiguous_format";
    f->value.kind = FXIR_VALUE_TENSOR;
    f->value.content.tensor = &f->meta;
    f->arg = fxir_arg_int(3);
    f->kwarg = fxir_kwarg_of("k", f->arg);
    fxir_match_options_init(&f->match_options);
    fxir_copy_options_init(&f->copy_options);
    fxir_fuse_options_init(&f->fuse_options);
    fxir_dead_code_options_init(&f->dead_code_options);
    fxir_cse_options_init(&f->cse_options);
    fxir_normalize_options_init(&f->normalize_options);
    fxir_serialize_options_init(&f->serialize_options);
    fxir_size_options_init(&f->size_options);
    fxir_text_options_init(&f->text_options);

    OK(fxir_tensor_copy(FXIR_DTYPE_FLOAT32, shape, 2, numbers, sizeof numbers, &f->tensor, E));
    f->module = new_module();
    OK(fxir_module_add_submodule(f->module, "sub", FXIR_MODULE_LEAF, "torch.nn.modules.linear.Linear", NULL, E));
    OK(fxir_module_set_tensor(f->module, "sub.weight", FXIR_MEMBER_PARAMETER, f->tensor, E));
    OK(fxir_module_set_tensor(f->module, "weight", FXIR_MEMBER_BUFFER, f->tensor, E));
    OK(fxir_module_set_attribute(f->module, "setting", &f->arg, E));
    OK(fxir_module_add_submodule(f->module, "removed", FXIR_MODULE_GRAPH, "Some", &f->removed, E));
    OK(fxir_module_delete_member(f->module, "removed", E));
    f->x = placeholder(f->module, "x");
    f->y = call_1(f->module, "f", f->x);
    OK(fxir_node_set_name(f->module, f->y, "y", E));
    OK(fxir_node_set_meta(f->module, f->y, "key", &f->arg, E));
    OK(fxir_node_set_kwarg(f->module, f->y, "key", &f->arg, E));
    OK(fxir_node_set_type(f->module, f->y, "Tensor", E));
    OK(fxir_node_set_comment(f->module, f->y, "words", E));
    f->leaf = call_module_1(f->module, "sub", f->y);
    OK(fxir_graph_get_attr(f->module, "weight", &z, E));
    OK(fxir_node_set_tensor_meta(f->module, z, &f->meta, E));
    z = call_2(f->module, "g", f->leaf, z);
    f->dead = call_1(f->module, "f", f->x);
    OK(fxir_module_add_submodule(f->module, "block", FXIR_MODULE_GRAPH, "Block", &block, E));
    inner = placeholder(block, "x");
    OK(fxir_node_set_tensor_meta(block, inner, &f->meta, E));
    output_1(block, inner);
    fxir_module_free(block);
    f->call = call_module_1(f->module, "block", f->x);
    OK(fxir_node_set_tensor_meta(f->module, f->x, &f->meta, E));
    OK(fxir_node_set_tensor_meta(f->module, f->y, &f->meta, E));
    OK(fxir_node_set_tensor_meta(f->module, f->leaf, &f->meta, E));
    OK(fxir_node_set_tensor_meta(f->module, z, &f->meta, E));
    OK(fxir_node_set_tensor_meta(f->module, f->dead, &f->meta, E));
    OK(fxir_node_set_tensor_meta(f->module, f->call, &f->meta, E));
    output_1(f->module, z);

    f->pattern = new_module();
    f->px = placeholder(f->pattern, "x");
    one = fxir_arg_node(f->px);
    OK(fxir_graph_call_function(f->pattern, "f", &one, 1, NULL, 0, &f->py, E));
    output_1(f->pattern, f->py);
    f->replacement = new_module();
    output_1(f->replacement, call_1(f->replacement, "h", placeholder(f->replacement, "x")));
    f->spare = new_module();
    f->open = new_module();

    fxir_rewrite_options_init(&f->rewrite_options);
    f->rewrite_options.replacement = f->replacement;
    OK(fxir_pattern_set_new(&f->set, E));
    OK(fxir_pattern_set_add(f->set, f->pattern, &f->rewrite_options, NULL, NULL, NULL, E));
    fxir_pass_options_init(&f->pass_options);
    OK(fxir_pass_manager_new(&f->passes, E));
    OK(fxir_pass_manager_add(f->passes, "lint", E));
    OK(fxir_pass_manager_run(f->passes, f->replacement, NULL, &f->report, E));

    f->pairs[0].from = f->px;
    f->pairs[0].to = f->x;
    f->nodes[0] = f->y;
    f->inputs[0] = f->x;

    OK(fxir_weights_new(&f->weights, E));
    OK(fxir_weights_set(f->weights, "weight", f->tensor, E));
    OK(fxir_weights_set(f->weights, "sub.weight", f->tensor, E));
    OK(fxir_weights_writer_new("writer.safetensors", &f->writer, E));
    f->dlpack.version.major = 1;
    f->dlpack.dl_tensor.data = (void *)numbers;
    f->dlpack.dl_tensor.device.device_type = DL_CPU;
    f->dlpack.dl_tensor.dtype.code = DL_FLOAT;
    f->dlpack.dl_tensor.dtype.bits = 32;
    f->dlpack.dl_tensor.dtype.lanes = 1;
    f->dlpack_unversioned.dl_tensor = f->dlpack.dl_tensor;
    OK(fxir_node_args(f->module, f->y, &f->args, E));
    OK(fxir_match_pattern(f->module, f->pattern, NULL, &f->matches, E));
    OK(fxir_module_clone(f->module, &clone, &f->node_map, E));
    fxir_module_free(clone);
    OK(fxir_node_value(f->module, f->y, &f->values, E));
    OK(fxir_graph_print_tabular(f->module, &f->buffer, E));
    OK(fxir_lowering_attrs_new(FXIR_LOWERING_TORCH_1_12, &f->lowering, E));
    CHECK(fxir_graph_erase_node(f->module, f->x, &f->problem) == FXIR_IN_USE);
    f->json = json;
    f->json_length = json_length;
    f->file = file;
    f->file_length = file_length;
    f->native = native;
    f->native_length = native_length;
    memset(f->outputs, 0xa5, sizeof f->outputs);
}

static void tear_down(fixture *f) {
    fxir_module_free(f->module);
    fxir_module_free(f->pattern);
    fxir_module_free(f->replacement);
    fxir_module_free(f->spare);
    fxir_module_free(f->open);
    fxir_module_free(f->removed);
    fxir_tensor_free(f->tensor);
    fxir_weights_free(f->weights);
    fxir_weights_writer_free(f->writer);
    fxir_args_free(f->args);
    fxir_matches_free(f->matches);
    fxir_pattern_set_free(f->set);
    fxir_pass_manager_free(f->passes);
    fxir_pass_report_free(f->report);
    fxir_node_map_free(f->node_map);
    fxir_values_free(f->values);
    fxir_buffer_free(f->buffer);
    fxir_lowering_attrs_free(f->lowering);
    fxir_error_free(f->problem);
}

static const char *const types[] = {"module", "tensor", "weights", "writer", "args", "matches", "set", "passes", "report", "node_map", "values", "buffer", "lowering", "problem"};
enum { TYPES = sizeof types / sizeof *types };

static void *handle_of(fixture *f, const char *word) {
    if (!strcmp(word, "module")) return f->module;
    if (!strcmp(word, "tensor")) return f->tensor;
    if (!strcmp(word, "weights")) return f->weights;
    if (!strcmp(word, "writer")) return f->writer;
    if (!strcmp(word, "args")) return f->args;
    if (!strcmp(word, "matches")) return f->matches;
    if (!strcmp(word, "set")) return f->set;
    if (!strcmp(word, "passes")) return f->passes;
    if (!strcmp(word, "report")) return f->report;
    if (!strcmp(word, "node_map")) return f->node_map;
    if (!strcmp(word, "values")) return f->values;
    if (!strcmp(word, "buffer")) return f->buffer;
    if (!strcmp(word, "lowering")) return f->lowering;
    if (!strcmp(word, "problem")) return f->problem;
    if (!strcmp(word, "pattern")) return f->pattern;
    if (!strcmp(word, "replacement")) return f->replacement;
    if (!strcmp(word, "spare")) return f->spare;
    if (!strcmp(word, "open")) return f->open;
    return NULL;
}

static const char *type_of(const char *word) {
    if (!strcmp(word, "pattern") || !strcmp(word, "replacement") || !strcmp(word, "spare") || !strcmp(word, "open"))
        return "module";
    return word;
}

static void free_as(const char *type, void *handle) {
    if (!strcmp(type, "module")) fxir_module_free(handle);
    else if (!strcmp(type, "tensor")) fxir_tensor_free(handle);
    else if (!strcmp(type, "weights")) fxir_weights_free(handle);
    else if (!strcmp(type, "writer")) fxir_weights_writer_free(handle);
    else if (!strcmp(type, "dlpack")) {
        if (handle) ((DLManagedTensorVersioned *)handle)->deleter(handle);
    } else if (!strcmp(type, "dlpack_unversioned")) {
        if (handle) ((DLManagedTensor *)handle)->deleter(handle);
    }
    else if (!strcmp(type, "args")) fxir_args_free(handle);
    else if (!strcmp(type, "matches")) fxir_matches_free(handle);
    else if (!strcmp(type, "set")) fxir_pattern_set_free(handle);
    else if (!strcmp(type, "passes")) fxir_pass_manager_free(handle);
    else if (!strcmp(type, "report")) fxir_pass_report_free(handle);
    else if (!strcmp(type, "node_map")) fxir_node_map_free(handle);
    else if (!strcmp(type, "values")) fxir_values_free(handle);
    else if (!strcmp(type, "buffer")) fxir_buffer_free(handle);
    else if (!strcmp(type, "lowering")) fxir_lowering_attrs_free(handle);
    else if (!strcmp(type, "problem")) fxir_error_free(handle);
}

/* Whether all handles of the fixture still work, but the one at `except`. */
static int all_live(fixture *f, const char *except) {
    return (!strcmp(except, "module") || fxir_module_kind(f->module) == FXIR_MODULE_GRAPH) &&
           (!strcmp(except, "tensor") || fxir_tensor_dtype(f->tensor) == FXIR_DTYPE_FLOAT32) &&
           (!strcmp(except, "weights") || fxir_weights_count(f->weights) == 2) &&
           (!strcmp(except, "args") || fxir_args_count(f->args) == 1) &&
           (!strcmp(except, "matches") || fxir_matches_count(f->matches) == 1) &&
           (!strcmp(except, "set") || fxir_pattern_set_count(f->set) >= 1) &&
           (!strcmp(except, "node_map") || fxir_node_map_count(f->node_map) == 8) &&
           (!strcmp(except, "passes") || fxir_pass_manager_count(f->passes) >= 1) &&
           (!strcmp(except, "report") || fxir_pass_report_count(f->report) == 1) &&
           (!strcmp(except, "values") || fxir_values_tensor_count(f->values) == 1) &&
           (!strcmp(except, "buffer") || fxir_buffer_size(f->buffer) > 0) &&
           (!strcmp(except, "lowering") ||
            fxir_lowering_attrs_register(f->lowering, "my.Other", NULL, 0, NULL) == FXIR_OK) &&
           (!strcmp(except, "problem") || fxir_error_code(f->problem) == FXIR_IN_USE) &&
           fxir_module_kind(f->pattern) == FXIR_MODULE_GRAPH;
}

typedef struct row {
    const char *name, *words;
    char kind;
    int64_t (*call)(void **a, fixture *f);
} row;

#define STATUS(name, words, ...) \
    static int64_t call_##name(void **a, fixture *f) { (void)a, (void)f; return name(__VA_ARGS__); }
#define GETTER(name, words, ...) \
    static int64_t call_##name(void **a, fixture *f) { (void)a, (void)f; return (int64_t)(intptr_t)name(__VA_ARGS__); }
#define VOID(name, words, ...) \
    static int64_t call_##name(void **a, fixture *f) { (void)f; name(__VA_ARGS__); return 0; }
#include "handles_calls.h"
#undef STATUS
#undef GETTER
#undef VOID
#define STATUS(name, words, ...) {#name, words, 'S', call_##name},
#define GETTER(name, words, ...) {#name, words, 'G', call_##name},
#define VOID(name, words, ...) {#name, words, 'V', call_##name},
static const row rows[] = {
#include "handles_calls.h"
};
enum { ROWS = sizeof rows / sizeof *rows };

/* The words of a row, apart. */
typedef struct word {
    char mark; /* '?', '~' or 0 */
    char text[40];
} word;

static size_t words_of(const row *row, word *words) {
    size_t count = 0;
    const char *at = row->words;
    while (*at) {
        size_t length = strcspn(at, " ");
        word *to = &words[count++];
        memset(to, 0, sizeof *to);
        if (*at == '?' || *at == '~') {
            to->mark = *at++;
            length--;
        }
        memcpy(to->text, at, length);
        at += length;
        while (*at == ' ') at++;
    }
    return count;
}

static void *default_of(fixture *f, word *word, size_t index) {
    const char *text = word->text;
    void *handle = handle_of(f, text);
    if (handle) return handle;
    if (*text == '\'') {
        char *end = strchr(word->text + 1, '\'');
        if (end) *end = 0;
        return word->text + 1;
    }
    if (!strncmp(text, "out", 3)) return f->outputs[index];
    if (!strcmp(text, "error")) return E;
    if (!strcmp(text, "arg")) return &f->arg;
    if (!strcmp(text, "kwarg")) return &f->kwarg;
    if (!strcmp(text, "pairs")) return f->pairs;
    if (!strcmp(text, "nodes")) return f->nodes;
    if (!strcmp(text, "inputs")) return f->inputs;
    if (!strcmp(text, "meta")) return &f->meta;
    if (!strcmp(text, "dlpack")) return &f->dlpack;
    if (!strcmp(text, "dlpack_unversioned")) return &f->dlpack_unversioned;
    if (!strcmp(text, "value")) return &f->value;
    if (!strcmp(text, "shape")) return (void *)shape;
    if (!strcmp(text, "strides")) return (void *)strides;
    if (!strcmp(text, "bytes")) return (void *)numbers;
    if (!strcmp(text, "data")) return &dummy;
    if (!strcmp(text, "json")) return (void *)f->json;
    if (!strcmp(text, "file")) return (void *)f->file;
    if (!strcmp(text, "native")) return (void *)f->native;
    if (!strcmp(text, "release")) return (void *)(uintptr_t)release;
    if (!strcmp(text, "write")) return (void *)(uintptr_t)swallow;
    if (!strcmp(text, "filter")) return (void *)(uintptr_t)keep;
    if (!strcmp(text, "match_options")) return &f->match_options;
    if (!strcmp(text, "rewrite_options")) return &f->rewrite_options;
    if (!strcmp(text, "pass_options")) return &f->pass_options;
    if (!strcmp(text, "function")) return (void *)(uintptr_t)change_nothing;
    if (!strcmp(text, "destroy")) return (void *)(uintptr_t)destroy;
    if (!strcmp(text, "copy_options")) return &f->copy_options;
    if (!strcmp(text, "fuse_options")) return &f->fuse_options;
    if (!strcmp(text, "dead_code_options")) return &f->dead_code_options;
    if (!strcmp(text, "cse_options")) return &f->cse_options;
    if (!strcmp(text, "normalize_options")) return &f->normalize_options;
    if (!strcmp(text, "serialize_options")) return &f->serialize_options;
    if (!strcmp(text, "size_options")) return &f->size_options;
    if (!strcmp(text, "text_options")) return &f->text_options;
    if (!strcmp(text, "names")) return (void *)(uintptr_t)names;
    if (!strcmp(text, "code")) return (void *)(uintptr_t)code;
    if (!strcmp(text, "pattern_code")) return (void *)(uintptr_t)pattern_code;
    fprintf(stderr, "what is %s?\n", text);
    exit(1);
}

static int is_written(fixture *f, size_t index) {
    uint64_t garbage[64];
    memset(garbage, 0xa5, sizeof garbage);
    return memcmp(garbage, f->outputs[index], sizeof garbage) != 0;
}

/* Calls the row with the word at `index` (or none, if that is -1) put as `instead`. `expected` is
 * what a status call gives; a getter gives none then. */
static void try_call(const row *row, int index, void *instead, const char *what, fxir_status expected, fixture *f) {
    word words[MOST];
    void *a[MOST] = {0};
    size_t i, count = words_of(row, words);
    int64_t result;
    int fine = 1;
    char *before = NULL;
    int has_error = 0;
    for (i = 0; i < count; i++) {
        a[i] = default_of(f, &words[i], i);
        has_error = has_error || !strcmp(words[i].text, "error");
    }
    if (index >= 0) {
        a[index] = instead;
        has_error = has_error && strcmp(words[index].text, "error") != 0;
    }
    if (expected != FXIR_OK) before = picture(f->module);
    check_error = CHECK_GARBAGE;
    result = row->call(a, f);
    if (row->kind == 'S') {
        fine = result == expected;
        if (has_error) {
            fine = fine && (expected == FXIR_OK ? check_error == NULL
                                                : check_error != NULL && fxir_error_code(check_error) == expected &&
                                                      fxir_error_message(check_error)[0]);
            if (!fine) fprintf(stderr, "%s: %s\n", fxir_status_name((fxir_status)result), fxir_error_message(check_error));
            fxir_error_free(check_error);
        } else {
            fine = fine && check_error == CHECK_GARBAGE;
        }
    } else if (row->kind == 'G' && expected != FXIR_OK) {
        if (!strcmp(row->name, "fxir_error_code")) fine = result == FXIR_INVALID_HANDLE;
        else if (!strcmp(row->name, "fxir_error_message")) fine = result && ((const char *)(intptr_t)result)[0] == 0;
        else fine = result == 0;
    }
    for (i = 0; i < count; i++) {
        const char *type = !strncmp(words[i].text, "out:", 4) ? words[i].text + 4 : NULL;
        if (strncmp(words[i].text, "out", 3) || a[i] != f->outputs[i]) continue;
        if (expected != FXIR_OK && is_written(f, i)) {
            fine = 0;
            fprintf(stderr, "output %zu was written\n", i);
        }
        if (row->kind == 'S' && result == FXIR_OK) {
            if (!is_written(f, i)) {
                fine = 0;
                fprintf(stderr, "output %zu was not written\n", i);
            } else if (type) {
                free_as(type, (void *)(uintptr_t)f->outputs[i][0]);
            }
        }
    }
    check_count++;
    if (!fine) {
        check_failures++;
        fprintf(stderr, "%s, pointer %d (%s) is %s: %s, expected %s\n", row->name, index,
                index >= 0 ? words[index].text : "-", what,
                row->kind == 'S' ? fxir_status_name((fxir_status)result) : result ? "something" : "none",
                fxir_status_name(expected));
    }
    if (before) check_unchanged(f->module, before, row->name, __FILE__, __LINE__);
}

static void once(const row *row, int index, void *instead, const char *what, fxir_status expected) {
    fixture f;
    set_up(&f);
    try_call(row, index, instead, what, expected, &f);
    if (expected != FXIR_OK) CHECK(all_live(&f, "")); /* in particular after a _free of what is no handle */
    tear_down(&f);
}

static int is_handle(const char *text) {
    fixture none;
    memset(&none, 1, sizeof none);
    return handle_of(&none, text) != NULL;
}

static void test_row(const row *row) {
    word words[MOST];
    size_t i, k, count = words_of(row, words);
    int local = 0;
    void *made_up[8];
    once(row, -1, NULL, "-", FXIR_OK);
    made_up[0] = (void *)(uintptr_t)1;
    made_up[1] = (void *)(uintptr_t)3;
    made_up[2] = (void *)(uintptr_t)0x10;
    made_up[3] = (void *)UINTPTR_MAX;
    made_up[4] = &local;
    made_up[5] = (char *)&local + 1;
    made_up[6] = (void *)(uintptr_t)0x1ffffffffu;
    made_up[7] = (void *)(uintptr_t)0x7fffffff00000001u;
    for (i = 0; i < count; i++) {
        const char *text = words[i].text;
        int optional = words[i].mark == '?' || !strcmp(text, "error");
        if (words[i].mark != '~') once(row, (int)i, NULL, "NULL", optional ? FXIR_OK : FXIR_NULL_ARGUMENT);
        if (*text == '\'') {
            char bad[] = "sub\xff";
            once(row, (int)i, bad, "no UTF-8", FXIR_INVALID_UTF8);
        }
        if (!is_handle(text)) continue;
        for (k = 0; k < 8; k++) once(row, (int)i, made_up[k], "made up", FXIR_INVALID_HANDLE);
        for (k = 0; k < TYPES; k++) { /* another type, then a freed one */
            fixture f;
            set_up(&f);
            if (!strcmp(types[k], type_of(text))) {
                void *dead = handle_of(&f, text);
                fixture other;
                free_as(types[k], dead);
                set_up(&other); /* its slot may be in use again */
                try_call(row, (int)i, dead, "freed", FXIR_INVALID_HANDLE, &other);
                free_as(types[k], dead);
                CHECK(all_live(&other, ""));
                tear_down(&other);
            } else {
                try_call(row, (int)i, handle_of(&f, types[k]), types[k], FXIR_INVALID_HANDLE, &f);
                CHECK(all_live(&f, ""));
            }
            tear_down(&f);
        }
        /* Only members are asked of the one module, and the other may be a leaf. */
        if (!strcmp(type_of(text), "module") && !(!strcmp(row->name, "fxir_insert_subgm") && i == 1) &&
            !(!strcmp(row->name, "fxir_lift_subgraph_as_module") && i == 0) &&
            (strncmp(row->name, "fxir_module_", 12) || strstr(row->name, "unused") || strstr(row->name, "serialize"))) {
            fixture f;
            fxir_module *leaf = NULL;
            set_up(&f);
            OK(fxir_module_get_submodule(f.module, "sub", &leaf, E));
            try_call(row, (int)i, leaf, "a leaf", FXIR_INVALID_ARGUMENT, &f);
            CHECK(fxir_module_kind(leaf) == FXIR_MODULE_LEAF);
            fxir_module_free(leaf);
            tear_down(&f);
        }
        if (!strcmp(type_of(text), "module") && row->kind != 'V') {
            fixture f;
            set_up(&f);
            if (!strcmp(row->name, "fxir_module_retain")) {
                fxir_module *again = NULL; /* asks nothing of the module */
                if (fxir_module_retain(f.removed, &again, NULL) == FXIR_OK) {
                    CHECK(fxir_module_kind(again) == FXIR_MODULE_NONE);
                    fxir_module_free(again);
                }
            } else if (!strcmp(row->name, "fxir_module_set_submodule_take") && i == 2) {
                try_call(row, (int)i, f.removed, "of the same tree", FXIR_INVALID_ARGUMENT, &f);
            } else if (strcmp(row->name, "fxir_module_origin") && strcmp(row->name, "fxir_module_type_name")) {
                try_call(row, (int)i, f.removed, "a removed module", FXIR_NOT_FOUND, &f);
            }
            tear_down(&f);
        }
    }
}

/* Every function of the header has its row, with as many words as it has pointers. */
static void every_function_is_here(void) {
    size_t length, functions = 0;
    char *header = check_read_file(FXIR_TESTS_DIR "/../include/fxir.h", &length), *at = header, *line;
    for (line = strtok(at, "\n"); line; line = strtok(NULL, "\n")) {
        char name[80], all[2000] = "";
        char *start, *paren;
        size_t pointers = 0, i;
        word words[MOST];
        const row *found = NULL;
        if (strncmp(line, "static inline", 13) == 0) break;
        if (isspace((unsigned char)line[0]) || line[0] == '/' || line[0] == '#' || !strncmp(line, "typedef", 7)) continue;
        start = strstr(line, " fxir_");
        if (start == NULL && strstr(line, " *fxir_")) start = strstr(line, "*fxir_");
        paren = strchr(line, '(');
        if (!paren) continue;
        while (paren > line && (isalnum((unsigned char)paren[-1]) || paren[-1] == '_')) paren--;
        snprintf(name, sizeof name, "%.*s", (int)strcspn(paren, "("), paren);
        if (strncmp(name, "fxir_", 5)) continue;
        if (!strncmp(name, "fxir_trace", 10)) continue; /* a tracer lives in a callback only: tests/c/trace.c */
        snprintf(all, sizeof all, "%s", strchr(line, '('));
        while (!strchr(all, ';')) {
            line = strtok(NULL, "\n");
            if (!line) abort();
            strncat(all, line, sizeof all - strlen(all) - 1);
        }
        for (start = strtok_r(all, ",", &paren); start; start = strtok_r(NULL, ",", &paren))
            if (strchr(start, '*') || strstr(start, "fxir_release ") || strstr(start, "fxir_write ") ||
                strstr(start, "fxir_node_filter ") || strstr(start, "fxir_match_filter ") || strstr(start, "fxir_destroy ") ||
                strstr(start, "fxir_pass_function "))
                pointers++;
        functions++;
        for (i = 0; i < ROWS; i++)
            if (!strcmp(rows[i].name, name)) found = &rows[i];
        check_that(found != NULL, name, "fxir.h is not all in handles_calls.h", 0);
        if (found) check_that(words_of(found, words) == pointers, name, "another number of pointers in handles_calls.h", 0);
    }
    check_that(functions == ROWS, "the header has as many functions as handles_calls.h", __FILE__, __LINE__);
    printf("%zu functions\n", functions);
    free(header);
}

int main(void) {
    size_t i;
    fixture f;
    fxir_buffer *buffer = NULL;
    every_function_is_here();
    set_up(&f);
    OK(fxir_module_serialize(f.module, NULL, &buffer, NULL, E));
    json_length = fxir_buffer_size(buffer);
    json = malloc(json_length);
    if (json && json_length) memcpy(json, fxir_buffer_data(buffer), json_length);
    fxir_buffer_free(buffer);
    OK(fxir_module_save_json(f.module, "handles.json", "handles.safetensors", NULL, E));
    file = check_read_file("handles.safetensors", &file_length);
    OK(fxir_module_save(f.module, "handles.fxir", E));
    native = check_read_file("handles.fxir", &native_length);
    check_write_file("handles.py", code, strlen(code));
    CHECK(all_live(&f, ""));
    tear_down(&f);
    for (i = 0; i < ROWS; i++) test_row(&rows[i]);
    free(json);
    free(file);
    free(native);
    return check_result();
}
