/* The native form: a module saved and loaded is the same, from files, memory and pieces; and a file that
 * is not what it should be is refused for a reason. */
#include "check.h"

/* Bytes that grow, from pieces; stops at the piece `fail_at`. */
typedef struct sink {
    char *data;
    size_t length;
    int calls, fail_at;
} sink;

static int32_t take(void *user_data, const void *data, size_t length) {
    sink *s = (sink *)user_data;
    fxir_module *other = new_module(); /* the library can be used in here */
    fxir_module_free(other);
    if (s->calls++ == s->fail_at) return -5;
    s->data = (char *)realloc(s->data, s->length + length);
    if (!s->data) abort();
    memcpy(s->data + s->length, data, length);
    s->length += length;
    return 0;
}

/* What can be told of a graph without ids: nodes with users and metadata, and the code. */
static char *told(const fxir_module *module) {
    text to = {0, 0, 0};
    fxir_node node;
    fxir_buffer *code = NULL;
    for (node = fxir_graph_first(module); node; node = fxir_graph_next(module, node))
        picture_of_node(&to, module, node, 0);
    OK(fxir_module_print(module, FXIR_TEXT_CODE, NULL, &code, E));
    text_add(&to, "%s", fxir_buffer_data(code));
    fxir_buffer_free(code);
    return to.data;
}

static void check_same(const fxir_module *one, const fxir_module *two) {
    fxir_buffer *left = NULL, *right = NULL;
    char *a = told(one), *b = told(two);
    CHECK(strcmp(a, b) == 0);
    free(a);
    free(b);
    OK(fxir_module_save_to_buffer(one, &left, E));
    OK(fxir_module_save_to_buffer(two, &right, E));
    CHECK(fxir_buffer_size(left) == fxir_buffer_size(right));
    CHECK(memcmp(fxir_buffer_data(left), fxir_buffer_data(right), fxir_buffer_size(left)) == 0);
    fxir_buffer_free(left);
    fxir_buffer_free(right);
}

/* A network with what JSON cannot hold: slices, infinities, devices, settings, tied weights, users in an
 * order of their own, names that were given and are gone. */
static fxir_module *network(void) {
    static const float numbers[6] = {1, 2, 3, 4, 5, 6};
    static const int64_t shape[2] = {2, 3};
    fxir_module *module = new_module();
    fxir_tensor *tensor = NULL;
    fxir_node x = placeholder(module, "x"), w, f, g, gone;
    fxir_arg args[4], parts[3];
    fxir_tensor_meta meta;
    OK(fxir_tensor_copy(FXIR_DTYPE_FLOAT32, shape, 2, numbers, sizeof numbers, &tensor, E));
    OK(fxir_module_set_tensor(module, "layer.weight", FXIR_MEMBER_PARAMETER, tensor, E));
    OK(fxir_module_set_tensor(module, "tied", FXIR_MEMBER_BUFFER, tensor, E));
    fxir_tensor_free(tensor);
    OK(fxir_module_add_submodule(module, "layer.act", FXIR_MODULE_LEAF, "torch.nn.modules.activation.ReLU", NULL, E));
    args[0] = fxir_arg_float(1e300 * 1e300);
    OK(fxir_module_set_attribute(module, "layer.act.negative_slope", &args[0], E));
    OK(fxir_graph_get_attr(module, "layer.weight", &w, E));
    parts[0] = fxir_arg_none();
    parts[1] = fxir_arg_node(w);
    parts[2] = fxir_arg_int(2);
    args[0] = fxir_arg_node(x);
    args[1] = fxir_arg_slice(parts);
    args[2] = fxir_arg_device("cuda:0");
    args[3] = fxir_arg_complex(-0.0, 1e300 * 1e300);
    OK(fxir_graph_call_function(module, "torch.add", args, 4, NULL, 0, &f, E));
    gone = call_1(module, "torch.add", f);
    g = call_module_1(module, "layer.act", f);
    OK(fxir_graph_erase_node(module, gone, E));
    fxir_tensor_meta_init(&meta);
    meta.dtype = FXIR_DTYPE_FLOAT32;
    meta.rank = 2;
    meta.shape = shape;
    OK(fxir_node_set_tensor_meta(module, f, &meta, E));
    args[0] = fxir_arg_str("somewhere");
    OK(fxir_node_set_meta(module, f, "a key of mine", &args[0], E));
    (void)call_1(module, "h", x);
    output_1(module, g);
    /* f becomes the newest user of x. */
    args[0] = fxir_arg_node(x);
    OK(fxir_node_set_arg(module, f, 0, &args[0], E));
    CHECK(users_are(module, x, "h add"));
    return module;
}

static void files(void) {
    fxir_module *module = network(), *again = NULL, *third = NULL, *layer = NULL;
    fxir_tensor *weight = NULL, *tied = NULL;
    fxir_weights *weights = NULL;
    OK(fxir_module_save(module, "net.fxir", E));
    OK(fxir_module_load("net.fxir", &again, E));
    check_same(module, again);
    OK(fxir_module_get_tensor(again, "layer.weight", &weight, E));
    OK(fxir_module_get_tensor(again, "tied", &tied, E));
    CHECK(fxir_tensor_data(weight) == fxir_tensor_data(tied) && fxir_tensor_size(weight) == 24);
    CHECK(((const float *)fxir_tensor_data(weight))[5] == 6);
    fxir_tensor_free(tied);
    /* The next of that name is the one after the one that is gone. */
    (void)call_1(again, "torch.add", fxir_graph_first(again));
    (void)call_1(module, "torch.add", fxir_graph_first(module));
    CHECK(strcmp(fxir_node_name(again, fxir_graph_prev(again, fxir_graph_output_node(again))), "add_2") == 0);
    check_same(module, again);
    /* Over the file that it is mapped from. */
    OK(fxir_module_save(again, "net.fxir", E));
    CHECK(((const float *)fxir_tensor_data(weight))[5] == 6);
    fxir_tensor_free(weight);
    OK(fxir_module_load("net.fxir", &third, E));
    check_same(module, third);
    /* Whatever reads safetensors reads the weights. */
    OK(fxir_weights_open("net.fxir", &weights, E));
    OK(fxir_weights_get(weights, "tied", &tied, E));
    CHECK(fxir_tensor_rank(tied) == 2 && fxir_tensor_shape(tied)[1] == 3);
    fxir_tensor_free(tied);
    fxir_weights_free(weights);
    /* A part. */
    OK(fxir_module_get_submodule(third, "layer", &layer, E));
    OK(fxir_module_save(layer, "part.fxir", E));
    fxir_module_free(third);
    third = NULL;
    OK(fxir_module_load("part.fxir", &third, E));
    CHECK(fxir_module_attribute_count(third) == 1 && fxir_module_submodule_count(third) == 1);
    fxir_module_free(layer);
    fxir_module_free(third);
    fxir_module_free(again);
    fxir_module_free(module);
}

static void pieces(void) {
    fxir_module *module = network();
    fxir_buffer *whole = NULL;
    sink s;
    int calls, i;
    OK(fxir_module_save_to_buffer(module, &whole, E));
    memset(&s, 0, sizeof s);
    s.fail_at = -1;
    OK(fxir_module_save_to(module, take, &s, E));
    CHECK(s.length == fxir_buffer_size(whole) && memcmp(s.data, fxir_buffer_data(whole), s.length) == 0);
    free(s.data);
    calls = s.calls;
    for (i = 0; i < calls; i++) {
        memset(&s, 0, sizeof s);
        s.fail_at = i;
        FAILS(FXIR_CALLBACK, fxir_module_save_to(module, take, &s, E));
        CHECK(failed.code == -5 && s.calls == i + 1);
        free(s.data);
    }
    fxir_buffer_free(whole);
    fxir_module_free(module);
}

static int released;

static void give_back(void *user_data, const void *data) {
    CHECK(user_data == data);
    released++;
    free(user_data);
}

/* A copy that ends where its memory does; it is given back, or the call failed and it is still ours. */
static fxir_status load_copy(const void *data, size_t length, fxir_module **module) {
    char *exact = (char *)malloc(length ? length : 1);
    fxir_status status;
    int before = released;
    if (!exact) abort();
    if (length) memcpy(exact, data, length);
    *module = NULL;
    status = fxir_module_load_borrowed(exact, length, give_back, exact, module, NULL);
    if (status != FXIR_OK) {
        CHECK(released == before && *module == NULL);
        free(exact);
    }
    return status;
}

static void memory(void) {
    fxir_module *module = network(), *again = NULL;
    fxir_buffer *bytes = NULL;
    fxir_tensor *tied = NULL;
    size_t i, length;
    uint64_t state = 7;
    char *copy;
    OK(fxir_module_save_to_buffer(module, &bytes, E));
    length = fxir_buffer_size(bytes);
    OK(load_copy(fxir_buffer_data(bytes), length, &again));
    check_same(module, again);
    OK(fxir_module_get_tensor(again, "tied", &tied, E));
    fxir_module_free(again);
    CHECK(released == 0); /* the tensor has the memory */
    CHECK(((const float *)fxir_tensor_data(tied))[0] == 1);
    fxir_tensor_free(tied);
    CHECK(released == 1);
    /* A module without tensors needs the memory no longer than the call. */
    again = new_module();
    fxir_buffer_free(bytes);
    bytes = NULL;
    OK(fxir_module_save_to_buffer(again, &bytes, E));
    fxir_module_free(again);
    OK(load_copy(fxir_buffer_data(bytes), fxir_buffer_size(bytes), &again));
    CHECK(released == 2 && fxir_graph_node_count(again) == 0);
    fxir_module_free(again);
    fxir_buffer_free(bytes);
    bytes = NULL;
    /* Every part of it, and every other byte at random, is refused or is a module. */
    OK(fxir_module_save_to_buffer(module, &bytes, E));
    for (i = 0; i < length; i++) CHECK(load_copy(fxir_buffer_data(bytes), i, &again) == FXIR_PARSE);
    copy = (char *)malloc(length);
    if (!copy) abort();
    for (i = 0; i < 2000; i++) {
        memcpy(copy, fxir_buffer_data(bytes), length);
        copy[check_random(&state) % length] = (char)check_random(&state);
        if (load_copy(copy, length, &again) != FXIR_OK) continue;
        free(told(again));
        fxir_module_free(again);
    }
    free(copy);
    fxir_buffer_free(bytes);
    fxir_module_free(module);
}

/* A safetensors file with this document. */
static fxir_status load_document(const char *document) {
    char file[4096];
    uint64_t length;
    int header = snprintf(file + 8, sizeof file - 8,
                          "{\"__metadata__\":{\"format\":\"fxir\"},\"__fxir__\":{\"dtype\":\"U8\",\"shape\":[%zu],"
                          "\"data_offsets\":[0,%zu]}}",
                          strlen(document), strlen(document));
    fxir_module *module = NULL;
    fxir_error *error = NULL;
    fxir_status status;
    int i;
    for (i = 0, length = (uint64_t)header; i < 8; i++, length >>= 8) file[i] = (char)(length & 0xff);
    CHECK((size_t)header + 8 + strlen(document) < sizeof file);
    memcpy(file + 8 + header, document, strlen(document));
    status = fxir_module_load_borrowed(file, 8 + (size_t)header + strlen(document), NULL, NULL, &module, &error);
    memset(&failed, 0, sizeof failed);
    if (status == FXIR_OK) {
        fxir_module_free(module);
    } else {
        snprintf(failed.message, sizeof failed.message, "%s", fxir_error_message(error));
        failed.line = fxir_error_line(error);
        failed.column = fxir_error_column(error);
        failed.node = fxir_error_node(error);
        fxir_error_free(error);
    }
    return status;
}

static void refused(void) {
    fxir_module *module = new_module(), *none = NULL;
    CHECK(load_document("{\"version\":1,\"modules\":[{\"type\":\"N\",\"kind\":\"leaf\"}]}") == FXIR_OK);
    CHECK(load_document("{\"version\":2}") == FXIR_UNSUPPORTED);
    CHECK(strstr(failed.message, "version 2") && strstr(failed.message, "version 1"));
    CHECK(load_document("{\"version\":1,\"requires\":[\"more\"]}") == FXIR_UNSUPPORTED && strstr(failed.message, "\"more\""));
    CHECK(load_document("{\"version\":1,\n \"modules\":7}") == FXIR_PARSE && failed.line == 2 && failed.column > 0);
    CHECK(load_document("{\"version\":1,\"modules\":[{\"type\":\"N\",\"kind\":\"graph\"}],\"graphs\":[{\"module\":0,\"nodes\":["
                        "{\"op\":\"output\",\"name\":\"o\",\"target\":\"output\",\"args\":[{\"node\":9}]}]}]}") == FXIR_PARSE);
    CHECK(strstr(failed.message, "node 0 `o`") && failed.node == 0);
    FAILS(FXIR_IO, fxir_module_load("none.fxir", &none, E));
    CHECK(strstr(failed.message, "none.fxir") != NULL);
    FAILS(FXIR_INVALID_UTF8, fxir_module_load("\xff", &none, E));
    check_write_file("text.fxir", "{\"modules\":{}}", 14);
    FAILS(FXIR_PARSE, fxir_module_load("text.fxir", &none, E));
    FAILS(FXIR_NULL_ARGUMENT, fxir_module_load_borrowed(NULL, 8, NULL, NULL, &none, E));
    FAILS(FXIR_LIMIT, fxir_module_load_borrowed("a", SIZE_MAX, NULL, NULL, &none, E));
    FAILS(FXIR_IO, fxir_module_save(module, "no/such/folder.fxir", E));
    FAILS(FXIR_IO, fxir_module_save(module, ".", E));
    FAILS(FXIR_INVALID_UTF8, fxir_module_save(module, "\xff.fxir", E));
    CHECK(none == NULL);
    fxir_module_free(module);
}

int main(void) {
    files();
    pieces();
    memory();
    refused();
    return check_result();
}
