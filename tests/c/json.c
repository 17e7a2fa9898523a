/* The JSON of torch's serialize_module: what is read is written again, and a text that is not what it
 * should be is a clear error at its place. */
#include "check.h"

static const char *const cases[] = {"linear_attr_multi_output", "parent_constant", "quantized_tensors",
                                    "embedding_bag_byte_rowwise_offsets"};

static char *read_case(const char *name, const char *file, size_t *length) {
    char path[500];
    snprintf(path, sizeof path, "%s/cases/serialize/%s/%s", FXIR_TESTS_DIR, name, file);
    return check_read_file(path, length);
}

/* Reads a text that ends where its memory does. The module when it was read, else NULL; `failed` says
 * why. */
static fxir_module *try_read(const char *json, size_t length, const fxir_weights *weights, fxir_status *status) {
    char *exact = (char *)malloc(length ? length : 1);
    fxir_module *module = NULL;
    fxir_error *error = CHECK_GARBAGE;
    if (!exact) abort();
    if (length) memcpy(exact, json, length);
    *status = fxir_module_read_json(exact, length, weights, &module, &error);
    free(exact); /* nothing of it is kept */
    memset(&failed, 0, sizeof failed);
    if (*status == FXIR_OK) {
        CHECK(error == NULL && module != NULL);
    } else {
        CHECK(module == NULL && fxir_error_code(error) == *status);
        snprintf(failed.message, sizeof failed.message, "%s", fxir_error_message(error));
        failed.line = fxir_error_line(error);
        failed.column = fxir_error_column(error);
        CHECK(failed.message[0]);
        fxir_error_free(error);
    }
    return module;
}

static void is_refused(fxir_status expected, const char *json, const fxir_weights *weights, const char *file, int line) {
    fxir_status status;
    fxir_module *module = try_read(json, strlen(json), weights, &status);
    char shown[200];
    snprintf(shown, sizeof shown, "%s for %.140s", fxir_status_name(status), json);
    check_that(status == expected, shown, file, line);
    if (status == FXIR_PARSE) check_that(failed.line > 0 && failed.column > 0, shown, file, line);
    fxir_module_free(module);
}
#define READ_FAILS(status, json) is_refused(status, json, NULL, __FILE__, __LINE__)

/* What was accepted is a module like any other. */
static void use_and_free(fxir_module *module) {
    fxir_buffer *json = NULL, *table = NULL;
    fxir_module *clone = NULL;
    fxir_status status = fxir_module_serialize(module, NULL, &json, NULL, NULL);
    free(picture(module));
    CHECK(status == FXIR_OK || json == NULL);
    OK(fxir_graph_print_tabular(module, &table, E));
    CHECK(strlen(fxir_buffer_data(table)) == fxir_buffer_size(table));
    OK(fxir_module_clone(module, &clone, NULL, E));
    fxir_legalize_graph(clone, NULL);
    fxir_eliminate_dead_code(clone, NULL, NULL, NULL);
    fxir_module_free(clone);
    fxir_buffer_free(json);
    fxir_buffer_free(table);
    fxir_module_free(module);
}

static char *written(const fxir_module *module, int32_t indent, size_t *length) {
    fxir_serialize_options options;
    fxir_buffer *json = NULL;
    char *copy = NULL;
    fxir_serialize_options_init(&options);
    options.indent = indent;
    *length = 0;
    if (!OK(fxir_module_serialize(module, &options, &json, NULL, E))) return calloc(1, 1);
    *length = fxir_buffer_size(json);
    CHECK(fxir_buffer_data(json)[*length] == 0);
    copy = malloc(*length + 1);
    if (copy) memcpy(copy, fxir_buffer_data(json), *length + 1);
    fxir_buffer_free(json);
    return copy;
}

static void there_and_back(void) {
    size_t i;
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t length, first_length, again_length, file_length;
        char *json = read_case(cases[i], "serialized.json", &length), *first, *again;
        char *file = read_case(cases[i], "weights.safetensors", &file_length);
        fxir_weights *weights = NULL;
        fxir_module *module = NULL, *second;
        fxir_status status;
        OK(fxir_weights_borrow(file, file_length, NULL, NULL, &weights, E));
        module = try_read(json, length, weights, &status);
        CHECK(status == FXIR_OK);
        fxir_weights_free(weights);
        if (status != FXIR_OK) {
            fprintf(stderr, "%s: %s\n", cases[i], failed.message);
            free(json), free(file);
            continue;
        }
        OK(fxir_module_lint(module, E));
        first = written(module, 1, &first_length);
        while (length && json[length - 1] == '\n') length--;
        while (first_length && first[first_length - 1] == '\n') first_length--;
        check_that(first_length == length && !memcmp(first, json, length), cases[i], __FILE__, __LINE__);
        second = try_read(first, first_length, NULL, &status); /* without weights: metadata only */
        if (CHECK(status == FXIR_OK)) {
            again = written(second, 1, &again_length);
            while (again_length && again[again_length - 1] == '\n') again_length--;
            CHECK(again_length == first_length && !memcmp(first, again, first_length));
            free(again);
        }
        fxir_module_free(second);
        fxir_module_free(module);
        free(first), free(json), free(file);
    }
}

static void cuts(void) {
    size_t length, i, k, end;
    for (k = 0; k < sizeof cases / sizeof *cases; k++) {
        char *json = read_case(cases[k], "serialized.json", &length);
        fxir_status status;
        end = length;
        while (end && json[end - 1] != '}') end--;
        for (i = 0; i < end; i++) {
            fxir_module *module = try_read(json, i, NULL, &status);
            if (status != FXIR_PARSE || !failed.line || !failed.column) {
                CHECK(status == FXIR_PARSE && failed.line && failed.column);
                fprintf(stderr, "%s cut at %zu: %s: %s\n", cases[k], i, fxir_status_name(status), failed.message);
                fxir_module_free(module);
                break;
            }
        }
        free(json);
    }
}

static int is_plausible(fxir_status status) {
    return status == FXIR_OK || status == FXIR_PARSE || status == FXIR_UNSUPPORTED || status == FXIR_LIMIT ||
           status == FXIR_NOT_FOUND;
}

static void damage(void) {
    static const char *const tokens[] = {"true", "false", "null", "0", "-1", "1e999", "\"\"", "[]", "{}", "{", "}", "[", "]",
                                         ",", ":", "\"", "\\", "\\u0000", "\\ud800", "99999999999999999999", "\"[4]\"",
                                         "\"[-4]\"", "\"torch.Size([4])\"", "\"add\"", "\"output\"", "\"placeholder\"",
                                         "\"call_module\"", "\"get_attr\"", "\xff", "\"a.b\"", "NaN", "Infinity", "\"s0\"",
                                         "\"[99999999999999999999]\"", "\"[4, 4\"", "\"True\"", "-0.0", "1.5"};
    enum { TOKENS = sizeof tokens / sizeof *tokens };
    size_t length, k, accepted = 0;
    uint64_t state = 77;
    int i;
    for (k = 0; k < sizeof cases / sizeof *cases; k++) {
        char *json = read_case(cases[k], "serialized.json", &length), *text = malloc(2 * length + 64);
        if (!text) abort();
        for (i = 0; i < 2500; i++) {
            size_t at = (size_t)(check_random(&state) % length), count, size = length;
            fxir_status status;
            fxir_module *module;
            uint64_t pick = check_random(&state);
            memcpy(text, json, length);
            switch (i % 5) {
            case 0: text[at] = (char)(text[at] ^ (1 << (pick % 8))); break;
            case 1: /* a token in the place of one */
            case 2: {
                const char *token = tokens[pick % TOKENS];
                size_t stop = at, start = at;
                while (start && !strchr(" :,[{\n", json[start - 1])) start--;
                while (stop < length && !strchr(",\n]}", json[stop])) stop++;
                memcpy(text + start, token, strlen(token));
                memcpy(text + start + strlen(token), json + stop, length - stop);
                size = length - (stop - start) + strlen(token);
                break;
            }
            case 3: /* a piece is gone */
                count = (size_t)(pick % 60);
                if (at + count > length) count = length - at;
                memmove(text + at, text + at + count, length - at - count);
                size = length - count;
                break;
            default: { /* a line twice, or another line in its place */
                size_t other = (size_t)(pick % length), other_end, stop;
                while (at && json[at - 1] != '\n') at--;
                while (other && json[other - 1] != '\n') other--;
                for (other_end = other; other_end < length && json[other_end] != '\n'; other_end++) {}
                for (stop = at; stop < length && json[stop] != '\n'; stop++) {}
                if (pick >> 62 & 1) stop = at;
                memcpy(text + at, json + other, other_end - other);
                size = at + (other_end - other);
                if (pick >> 62 & 1) text[size++] = '\n';
                memcpy(text + size, json + stop, length - stop);
                size += length - stop;
            }
            }
            module = try_read(text, size, NULL, &status);
            if (!is_plausible(status)) {
                CHECK(is_plausible(status));
                fprintf(stderr, "%s: %s\n", fxir_status_name(status), failed.message);
            }
            if (status == FXIR_PARSE && !failed.line && !strchr(failed.message, '"')) {
                CHECK(failed.line && failed.column);
                fprintf(stderr, "  without a place: %s\n", failed.message);
            }
            if (module) {
                accepted++;
                use_and_free(module);
            }
        }
        free(text), free(json);
    }
    CHECK(accepted > 100);
}

static char *repeat(const char *before, const char *piece, size_t count, const char *middle, const char *close, const char *after) {
    size_t i, p = strlen(piece), c = strlen(close);
    char *all = malloc(strlen(before) + count * (p + c) + strlen(middle) + strlen(after) + 1), *at = all;
    if (!all) abort();
    at += sprintf(at, "%s", before);
    for (i = 0; i < count; i++, at += p) memcpy(at, piece, p);
    at += sprintf(at, "%s", middle);
    for (i = 0; i < count; i++, at += c) memcpy(at, close, c);
    sprintf(at, "%s", after);
    return all;
}

static void depth(void) {
    enum { DEEP = 100000 };
    static const char *const shapes[][5] = {
        {"", "[", "", "]", ""},
        {"", "{\"a\":", "1", "}", ""},
        {"", "[", "", "", ""},
        {"", "{\"modules\":{\"a\":", "{}", "}}", ""},
        {"{\"modules\":{},\"weights\":{},\"nodes\":[{\"target\":\"f\",\"op_code\":\"call_function\",\"name\":\"f\",\"args\":[", "[",
         "1", "]", "],\"kwargs\":{}}]}"},
        {"{\"modules\":{},\"weights\":{},\"nodes\":[{\"target\":\"f\",\"op_code\":\"call_function\",\"name\":\"f\",\"args\":[",
         "{\"is_node\":false,\"a\":", "1", "}", "],\"kwargs\":{}}]}"},
        {"{\"modules\":{},\"weights\":{},\"nodes\":[],\"unknown\":", "[", "", "]", "}"},
        {"{\"modules\":", "{\"a\":", "{}", "}", ",\"weights\":{},\"nodes\":[]}"},
    };
    size_t i;
    for (i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        fxir_status status;
        char *json = repeat(shapes[i][0], shapes[i][1], DEEP, shapes[i][2], shapes[i][3], shapes[i][4]);
        fxir_module *module = try_read(json, strlen(json), NULL, &status);
        CHECK(status == FXIR_LIMIT || status == FXIR_PARSE);
        if (status != FXIR_LIMIT && status != FXIR_PARSE) fprintf(stderr, "  %s\n", shapes[i][1]);
        fxir_module_free(module);
        free(json);
    }
}

#define NODE_WITH(shape, dtype, rest) \
    "{\"shape\":" shape ",\"dtype\":" dtype ",\"requires_grad\":\"False\",\"stride\":\"[1]\",\"is_quantized\":false,\"users\":[]," rest "}"
#define NODE_USED(users, rest) \
    "{\"shape\":\"[4]\",\"dtype\":\"torch.float32\",\"requires_grad\":\"False\",\"stride\":\"[1]\",\"is_quantized\":false," \
    "\"users\":[" users "]," rest "}"
#define NODE(rest) NODE_WITH("\"[4]\"", "\"torch.float32\"", rest)
#define NODE_X NODE_USED("{\"is_node\":true,\"name\":\"output\"}", "\"target\":\"x\",\"op_code\":\"placeholder\",\"name\":\"x\",\"args\":[],\"kwargs\":{}")
#define REF(name) "{\"is_node\":true,\"name\":\"" name "\"}"
#define OUTPUT(args) "{\"target\":\"output\",\"op_code\":\"output\",\"name\":\"output\",\"args\":[" args "],\"kwargs\":{},\"users\":[]}"
#define GRAPH(nodes) "{\"modules\":{},\"weights\":{},\"nodes\":[" nodes "]}"

static void wrong(void) {
    fxir_status status;
    fxir_module *module = NULL;
    const char *good = GRAPH(NODE_X "," OUTPUT(REF("x")));
    const char *lone = GRAPH(NODE("\"target\":\"x\",\"op_code\":\"placeholder\",\"name\":\"x\",\"args\":[],\"kwargs\":{}"));
    module = try_read(lone, strlen(lone), NULL, &status);
    if (!CHECK(status == FXIR_OK)) fprintf(stderr, "%s\n", failed.message);
    else use_and_free(module);
    module = try_read(good, strlen(good), NULL, &status);
    if (!CHECK(status == FXIR_OK)) fprintf(stderr, "%s\n", failed.message);
    else use_and_free(module);
    READ_FAILS(FXIR_PARSE, "");
    READ_FAILS(FXIR_PARSE, " ");
    READ_FAILS(FXIR_PARSE, "[]");
    READ_FAILS(FXIR_PARSE, "7");
    READ_FAILS(FXIR_PARSE, "null");
    READ_FAILS(FXIR_PARSE, "\"text\"");
    READ_FAILS(FXIR_PARSE, "{\"nodes\":7}");
    READ_FAILS(FXIR_PARSE, "{\"modules\":{},\"weights\":{},\"nodes\":{}}");
    READ_FAILS(FXIR_PARSE, "{\"modules\":[],\"weights\":{},\"nodes\":[]}");
    READ_FAILS(FXIR_PARSE, "{\"modules\":{},\"weights\":[],\"nodes\":[]}");
    READ_FAILS(FXIR_PARSE, "{\"modules\":{\"a\":7},\"weights\":{},\"nodes\":[]}");
    READ_FAILS(FXIR_PARSE, "{\"modules\":{},\"weights\":{\"w\":7},\"nodes\":[]}");
    READ_FAILS(FXIR_PARSE, "{\"modules\":{},\"weights\":{\"w\":{}},\"nodes\":[]}");
    READ_FAILS(FXIR_PARSE, "{\"modules\":{},\"weights\":{},\"nodes\":[7]}");
    READ_FAILS(FXIR_PARSE, "{\"modules\":{},\"weights\":{},\"nodes\":[{}]}");
    READ_FAILS(FXIR_PARSE, "{\"modules\":{},\"weights\":{},\"nodes\":[]} x");
    READ_FAILS(FXIR_PARSE, "\xff");
    READ_FAILS(FXIR_PARSE, GRAPH(NODE_X "," OUTPUT(REF("\xff"))));
    READ_FAILS(FXIR_PARSE, GRAPH(NODE_X "," OUTPUT(REF("y")))); /* a node that is none */
    READ_FAILS(FXIR_PARSE, GRAPH(OUTPUT(REF("x")) "," NODE_X)); /* or is one later only */
    READ_FAILS(FXIR_PARSE, GRAPH(NODE_X "," NODE_X));           /* a name twice */
    READ_FAILS(FXIR_PARSE, GRAPH(NODE_X "," OUTPUT(REF("x")) "," OUTPUT(REF("x"))));
    READ_FAILS(FXIR_PARSE, GRAPH(NODE_X "," OUTPUT("{\"is_node\":true}")));
    READ_FAILS(FXIR_PARSE, GRAPH(NODE_X "," OUTPUT("{\"is_node\":true,\"name\":7}")));
    READ_FAILS(FXIR_PARSE, GRAPH(NODE("\"target\":\"x\",\"op_code\":\"no_op\",\"name\":\"x\",\"args\":[],\"kwargs\":{}")));
    READ_FAILS(FXIR_PARSE, GRAPH(NODE("\"target\":7,\"op_code\":\"placeholder\",\"name\":\"x\",\"args\":[],\"kwargs\":{}")));
    READ_FAILS(FXIR_PARSE, GRAPH(NODE("\"target\":\"\",\"op_code\":\"placeholder\",\"name\":\"x\",\"args\":[],\"kwargs\":{}")));
    READ_FAILS(FXIR_PARSE, GRAPH(NODE("\"target\":\"x\",\"op_code\":7,\"name\":\"x\",\"args\":[],\"kwargs\":{}")));
    READ_FAILS(FXIR_PARSE, GRAPH(NODE("\"target\":\"x\",\"op_code\":\"placeholder\",\"name\":[],\"args\":[],\"kwargs\":{}")));
    READ_FAILS(FXIR_PARSE, GRAPH(NODE("\"target\":\"x\",\"op_code\":\"placeholder\",\"name\":\"x\",\"args\":{},\"kwargs\":{}")));
    READ_FAILS(FXIR_PARSE, GRAPH(NODE("\"target\":\"x\",\"op_code\":\"placeholder\",\"name\":\"x\",\"args\":[],\"kwargs\":[]")));
    READ_FAILS(FXIR_PARSE, GRAPH(NODE_WITH("\"[4\"", "\"torch.float32\"", "\"target\":\"x\",\"op_code\":\"placeholder\",\"name\":\"x\",\"args\":[],\"kwargs\":{}")));
    READ_FAILS(FXIR_PARSE, GRAPH(NODE_WITH("4", "\"torch.float32\"", "\"target\":\"x\",\"op_code\":\"placeholder\",\"name\":\"x\",\"args\":[],\"kwargs\":{}")));
    READ_FAILS(FXIR_PARSE, GRAPH(NODE_WITH("\"[99999999999999999999]\"", "\"torch.float32\"", "\"target\":\"x\",\"op_code\":\"placeholder\",\"name\":\"x\",\"args\":[],\"kwargs\":{}")));
    READ_FAILS(FXIR_PARSE, GRAPH(NODE_WITH("\"[4]\"", "\"torch.float33\"", "\"target\":\"x\",\"op_code\":\"placeholder\",\"name\":\"x\",\"args\":[],\"kwargs\":{}")));
    READ_FAILS(FXIR_PARSE, GRAPH(NODE_WITH("\"[4]\"", "7", "\"target\":\"x\",\"op_code\":\"placeholder\",\"name\":\"x\",\"args\":[],\"kwargs\":{}")));
    /* The place: line 3, where the wrong value stands or ends. */
    module = try_read("{\n\"modules\": {},\n\"weights\": 7,\n\"nodes\": []}", 43, NULL, &status);
    CHECK(status == FXIR_PARSE && failed.line == 3 && failed.column >= 11 && failed.column <= 13);
    module = try_read("{\n\n  oops", 9, NULL, &status);
    CHECK(status == FXIR_PARSE && failed.line == 3 && failed.column >= 3);
    {
        fxir_module *none = NULL;
        FAILS(FXIR_LIMIT, fxir_module_read_json("{}", SIZE_MAX, NULL, &none, E) == FXIR_LIMIT ? FXIR_LIMIT : FXIR_OK);
        CHECK(none == NULL);
        FAILS(FXIR_IO, fxir_module_load_json("none.json", NULL, &none, E));
        CHECK(strstr(failed.message, "none.json"));
        FAILS(FXIR_IO, fxir_module_load_json(".", NULL, &none, E));
        check_write_file("good.json", good, strlen(good));
        check_write_file("bad.safetensors", "bad", 3);
        FAILS(FXIR_IO, fxir_module_load_json("good.json", "none.safetensors", &none, E));
        CHECK(strstr(failed.message, "none.safetensors"));
        FAILS(FXIR_PARSE, fxir_module_load_json("good.json", "bad.safetensors", &none, E));
        check_write_file("bad.json", "{\n bad", 6);
        FAILS(FXIR_PARSE, fxir_module_load_json("bad.json", NULL, &none, E));
        CHECK(failed.line == 2 && failed.column >= 2);
        OK(fxir_module_load_json("good.json", NULL, &none, E));
        use_and_free(none);
        none = NULL;
        { /* a tensor that the weights do not have */
            fxir_weights *empty = NULL;
            size_t length;
            char *json = read_case(cases[0], "serialized.json", &length);
            OK(fxir_weights_new(&empty, E));
            FAILS(FXIR_PARSE, fxir_module_read_json(json, length, empty, &none, E));
            CHECK(strstr(failed.message, "linear.weight") || strstr(failed.message, "linear.bias") || strstr(failed.message, "\"e\"") ||
                  strstr(failed.message, "buf"));
            fxir_weights_free(empty);
            free(json);
        }
        CHECK(none == NULL);
    }
}

typedef struct sink {
    char *data;
    size_t length, capacity;
    int calls, fail_at;
    fxir_module *module;
} sink;

static int32_t take(void *user_data, const void *data, size_t length) {
    sink *s = (sink *)user_data;
    if (s->calls++ == s->fail_at) return -5;
    if (s->length + length > s->capacity) {
        s->capacity = 2 * (s->length + length);
        s->data = realloc(s->data, s->capacity);
        if (!s->data) abort();
    }
    memcpy(s->data + s->length, data, length);
    s->length += length;
    /* It may use the library freely, and change the very module. */
    CHECK(fxir_graph_node_count(s->module) > 0);
    CHECK(fxir_node_set_comment(s->module, fxir_graph_first(s->module), "written", NULL) == FXIR_OK);
    return 0;
}

/* The caller frees it. */
static char *code_of(const fxir_module *module) {
    fxir_buffer *buffer = NULL;
    char *text;
    OK(fxir_module_print(module, FXIR_TEXT_CODE, NULL, &buffer, E));
    text = strdup(fxir_buffer_data(buffer));
    fxir_buffer_free(buffer);
    return text;
}

static void writing(void) {
    fxir_module *module = new_module();
    fxir_node x = placeholder(module, "x"), y;
    fxir_tensor_meta meta;
    fxir_serialize_options options;
    int64_t shape[2] = {2, 3}, stride[2] = {3, 1};
    fxir_arg args[2], three[3];
    fxir_buffer *json = NULL;
    fxir_weights *weights = NULL;
    size_t length;
    char *whole;
    sink s;
    int i, calls;
    fxir_tensor_meta_init(&meta);
    meta.dtype = FXIR_DTYPE_FLOAT32;
    meta.rank = 2;
    meta.shape = shape;
    meta.stride = stride;
    meta.requires_grad = 0;
    meta.memory_format = "torch.contiguous_format";
    fxir_serialize_options_init(&options);
    CHECK(options.struct_size == sizeof options && options.indent == 0 && options.allow_missing_meta == 0);
    y = call_1(module, "torch.relu", x);
    output_1(module, y);
    OK(fxir_node_set_tensor_meta(module, x, &meta, E));
    FAILS(FXIR_INVALID_ARGUMENT, fxir_module_serialize(module, NULL, &json, &weights, E)); /* of y nothing is known */
    CHECK(strstr(failed.message, "relu") && failed.node == y && json == NULL && weights == NULL);
    options.allow_missing_meta = 1;
    OK(fxir_module_serialize(module, &options, &json, &weights, E));
    CHECK(fxir_weights_count(weights) == 0);
    fxir_weights_free(weights);
    fxir_buffer_free(json);
    OK(fxir_node_set_tensor_meta(module, y, &meta, E));
    options.allow_missing_meta = 0;
    /* Options. */
    json = NULL;
    for (i = 0; i < 4; i++) {
        static const int32_t indents[] = {-1, 65, INT32_MAX, INT32_MIN};
        options.indent = indents[i];
        FAILS(FXIR_INVALID_ARGUMENT, fxir_module_serialize(module, &options, &json, NULL, E));
    }
    options.indent = 64;
    OK(fxir_module_serialize(module, &options, &json, NULL, E));
    fxir_buffer_free(json);
    json = NULL;
    options.indent = 0;
    options.allow_missing_meta = 2;
    FAILS(FXIR_INVALID_ARGUMENT, fxir_module_serialize(module, &options, &json, NULL, E));
    /* What JSON cannot hold is encoded, and is the same when it is read. */
    three[0] = three[1] = three[2] = fxir_arg_int(1);
    for (i = 0; i < 6; i++) {
        static const char *const texts[] = {"slice", "device", "float", "float", "complex", "ellipsis"};
        fxir_module *read = NULL;
        char *one, *two, mark[60];
        args[0] = fxir_arg_node(x);
        args[1] = i == 0   ? fxir_arg_slice(three)
                  : i == 1 ? fxir_arg_device("cpu")
                  : i == 2 ? fxir_arg_float(1e300 * 1e300)
                  : i == 3 ? fxir_arg_float((1e300 * 1e300) * 0)
                  : i == 4 ? fxir_arg_complex(1, 2)
                           : fxir_arg_ellipsis();
        OK(fxir_node_set_args(module, y, args, 2, E));
        OK(fxir_module_serialize(module, NULL, &json, NULL, E));
        snprintf(mark, sizeof mark, "{\"__py__\":\"%s\",\"args\":[", texts[i]);
        check_that(strstr(fxir_buffer_data(json), mark) != NULL, mark, __FILE__, __LINE__);
        OK(fxir_module_read_json(fxir_buffer_data(json), fxir_buffer_size(json), NULL, &read, E));
        one = code_of(module);
        two = code_of(read);
        CHECK(!strcmp(one, two));
        free(one);
        free(two);
        fxir_module_free(read);
        fxir_buffer_free(json);
        json = NULL;
    }
    { /* everything is checked before the first piece */
        fxir_module *bare = new_module();
        output_1(bare, call_1(bare, "torch.relu", placeholder(bare, "x")));
        memset(&s, 0, sizeof s);
        s.fail_at = -1;
        s.module = bare;
        FAILS(FXIR_INVALID_ARGUMENT, fxir_module_serialize_to(bare, NULL, take, &s, NULL, E));
        CHECK(s.calls == 0);
        check_write_file("kept.json", "kept", 4);
        FAILS(FXIR_INVALID_ARGUMENT, fxir_module_save_json(bare, "kept.json", NULL, NULL, E));
        whole = check_read_file("kept.json", &length);
        CHECK(length == 4);
        free(whole);
        fxir_module_free(bare);
    }
    OK(fxir_node_set_args(module, y, args, 1, E));
    /* Members that are none. */
    OK(fxir_node_set_op(module, y, FXIR_OP_CALL_MODULE, E));
    FAILS(FXIR_NOT_FOUND, fxir_module_serialize(module, NULL, &json, NULL, E));
    OK(fxir_node_set_op(module, y, FXIR_OP_CALL_FUNCTION, E));
    CHECK(json == NULL);
    /* By pieces. */
    whole = written(module, 2, &length);
    options.allow_missing_meta = 0;
    options.indent = 2;
    memset(&s, 0, sizeof s);
    s.fail_at = -1;
    s.module = module;
    OK(fxir_module_serialize_to(module, &options, take, &s, NULL, E));
    CHECK(s.length == length && !memcmp(s.data, whole, length));
    calls = s.calls;
    free(s.data);
    for (i = 0; i < calls; i++) {
        memset(&s, 0, sizeof s);
        s.fail_at = i;
        s.module = module;
        weights = NULL;
        FAILS(FXIR_CALLBACK, fxir_module_serialize_to(module, &options, take, &s, &weights, E));
        CHECK(failed.code == -5 && s.calls == i + 1 && weights == NULL);
        free(s.data);
    }
    free(whole);
    FAILS(FXIR_IO, fxir_module_save_json(module, "no/such/folder.json", NULL, NULL, E));
    FAILS(FXIR_IO, fxir_module_save_json(module, ".", NULL, NULL, E));
    FAILS(FXIR_IO, fxir_module_save_json(module, "fine.json", "no/such/folder.safetensors", NULL, E));
    { /* the JSON comes last */
        FILE *none = fopen("fine.json", "rb");
        CHECK(none == NULL);
        if (none) fclose(none);
    }
    FAILS(FXIR_INVALID_UTF8, fxir_module_save_json(module, "\xff.json", NULL, NULL, E));
    fxir_module_free(module);
}

/* Loaded from files, and written back to these very files. */
static void files(void) {
    size_t length, file_length, i;
    char *json = read_case(cases[0], "serialized.json", &length), *file = read_case(cases[0], "weights.safetensors", &file_length);
    fxir_module *module = NULL, *again = NULL;
    fxir_tensor *a = NULL, *b = NULL;
    fxir_serialize_options options;
    check_write_file("files.json", json, length);
    check_write_file("files.safetensors", file, file_length);
    fxir_serialize_options_init(&options);
    options.indent = 1;
    OK(fxir_module_load_json("files.json", "files.safetensors", &module, E));
    for (i = 0; i < 2; i++) OK(fxir_module_save_json(module, "files.json", "files.safetensors", &options, E));
    OK(fxir_module_load_json("files.json", "files.safetensors", &again, E));
    OK(fxir_module_get_tensor(module, "linear.weight", &a, E));
    OK(fxir_module_get_tensor(again, "linear.weight", &b, E));
    CHECK(fxir_tensor_size(a) == 64 && !memcmp(fxir_tensor_data(a), fxir_tensor_data(b), 64));
    CHECK(!fxir_tensor_shares_storage(a, b));
    fxir_tensor_free(a);
    fxir_tensor_free(b);
    fxir_module_free(module);
    fxir_module_free(again);
    free(json);
    free(file);
}

int main(void) {
    there_and_back();
    cuts();
    damage();
    depth();
    wrong();
    writing();
    files();
    return check_result();
}
