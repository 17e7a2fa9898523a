/* The forms of torch's serialize_module: what each release recorded is read and written again alike,
 * and every option does what it says. */
#include "check.h"

static fxir_module *read_version(const char *name) {
    char path[500];
    size_t length;
    char *text;
    fxir_module *module = NULL;
    snprintf(path, sizeof path, "%s/cases/serialize_versions/%s.json", FXIR_TESTS_DIR, name);
    text = check_read_file(path, &length);
    OK(fxir_module_read_json(text, length, NULL, &module, E));
    free(text);
    return module;
}

/* The caller frees it. */
static char *written(const fxir_module *module, const fxir_serialize_options *options) {
    fxir_buffer *json = NULL;
    char *text;
    OK(fxir_module_serialize(module, options, &json, NULL, E));
    text = strdup(json ? fxir_buffer_data(json) : "");
    fxir_buffer_free(json);
    return text;
}

static int holds(const fxir_module *module, const fxir_serialize_options *options, const char *part) {
    char *text = written(module, options);
    int found = strstr(text, part) != NULL;
    free(text);
    return found;
}

/* Without what lies between: torch's recordings are indented. */
static char *without_spaces(char *text) {
    char *to = text, *from;
    int quoted = 0;
    for (from = text; *from; from++) {
        if (*from == '"') quoted = !quoted;
        if (quoted || (*from != ' ' && *from != '\n')) *to++ = *from;
    }
    *to = 0;
    return text;
}

static const char *const nets[] = {"leafs", "quant", "quant_node", "single_out"};

static void releases(void) {
    static const struct {
        const char *version;
        int32_t schema;
    } known[] = {{"1.8.1", FXIR_SCHEMA_TORCH_1_8},
                 {"1.9.1", FXIR_SCHEMA_TORCH_1_9},
                 {"1.11.0", FXIR_SCHEMA_TORCH_1_10},
                 {"1.12.1", FXIR_SCHEMA_TORCH_1_12}};
    size_t i, j;
    for (i = 0; i < sizeof known / sizeof *known; i++) {
        for (j = 0; j < sizeof nets / sizeof *nets; j++) {
            char name[100], path[500], *recorded, *again;
            size_t length;
            fxir_serialize_options options;
            fxir_module *module;
            snprintf(name, sizeof name, "%s.%s", nets[j], known[i].version);
            snprintf(path, sizeof path, "%s/cases/serialize_versions/%s.json", FXIR_TESTS_DIR, name);
            module = read_version(name);
            fxir_serialize_options_init(&options);
            options.schema = known[i].schema;
            recorded = check_read_file(path, &length);
            if (known[i].schema == FXIR_SCHEMA_TORCH_1_8 && !strcmp(nets[j], "quant_node")) {
                /* A dtype, which torch 1.8 could not put into JSON. */
                char *mark = strstr(without_spaces(recorded), "\"str\":\"torch.quint8\"}");
                CHECK(mark != NULL && holds(module, &options, "{\"__py__\":\"dtype\",\"args\":[\"torch.quint8\"]}"));
            } else {
                again = written(module, &options);
                check_that(!strcmp(without_spaces(recorded), again), name, __FILE__, __LINE__);
                free(again);
            }
            free(recorded);
            fxir_module_free(module);
        }
    }
}

static void overrides(void) {
    fxir_module *module = read_version("leafs.1.12.1");
    fxir_serialize_options options;
    fxir_buffer *json = NULL;
    size_t i;
    fxir_serialize_options_init(&options);
    CHECK(options.schema == FXIR_SCHEMA_TORCH_1_12 && options.lowering == NULL && options.strict_lowering == 0);
    CHECK(holds(module, NULL, "\"requires_grad\"") && holds(module, NULL, "\"users\""));
    CHECK(holds(module, NULL, "\"stride\":\"[192, 64, 8, 1]\""));
    options.requires_grad = options.users = options.stride = options.is_quantized = FXIR_NO;
    CHECK(!holds(module, &options, "\"requires_grad\"") && !holds(module, &options, "\"users\""));
    CHECK(!holds(module, &options, "\"stride\":\"[192, 64, 8, 1]\""));
    CHECK(holds(module, &options, "{\"shape\":\"[1, 3, 8, 8]\",\"dtype\":\"torch.float32\",\"target\":\"x\""));

    fxir_serialize_options_init(&options);
    options.weights_first = FXIR_WEIGHTS_FIRST_BUFFERS_AND_PARAMETERS;
    CHECK(holds(module, &options, "\"weights\":{\"buf\":{"));
    options.weights_first = FXIR_WEIGHTS_FIRST_PARAMETERS;
    CHECK(holds(module, &options, "\"weights\":{\"w\":{"));
    options.weights_first = FXIR_WEIGHTS_FIRST_PARAMETERS_AND_BUFFERS;
    CHECK(holds(module, &options, "\"weights\":{\"w\":{"));
    options.schema = FXIR_SCHEMA_TORCH_1_10;
    options.weights_first = FXIR_WEIGHTS_FIRST_NOTHING;
    CHECK(holds(module, &options, "\"weights\":{\"conv.weight\":{"));

    fxir_serialize_options_init(&options);
    options.output_info = FXIR_OUTPUT_INFO_NODE;
    CHECK(holds(module, &options, "{\"shape\":[\"[1, 2]\",\"[1, 4]\"],\"dtype\":[\"torch.float32\",\"torch.float32\"]"));
    options.output_info = FXIR_OUTPUT_INFO_ARGS;
    options.unpack_output = FXIR_NO;
    CHECK(holds(module, &options, "\"name\":\"output\",\"args\":[[{\"is_node\":true,\"name\":\"add\",\"shape\""));

    /* Numbers that mean nothing. */
    for (i = 0; i < 14; i++) {
        fxir_serialize_options_init(&options);
        int32_t *const fields[] = {&options.schema,         &options.weights_first, &options.weight_quantization,
                                   &options.parent_weights, &options.requires_grad, &options.stride,
                                   &options.is_quantized,   &options.users,         &options.output_info,
                                   &options.unpack_output,  &options.dtype_strings, &options.memory_format_strings,
                                   &options.qscheme_strings, &options.layout_strings};
        *fields[i] = i < 2 ? 6 : 3;
        FAILS(FXIR_INVALID_ARGUMENT, fxir_module_serialize(module, &options, &json, NULL, E));
        *fields[i] = -1;
        FAILS(FXIR_INVALID_ARGUMENT, fxir_module_serialize(module, &options, &json, NULL, E));
        CHECK(json == NULL);
    }
    fxir_module_free(module);
}

static void scales(void) {
    fxir_module *module = read_version("quant.1.8.1");
    fxir_serialize_options options;
    fxir_weights *weights = NULL;
    fxir_buffer *json = NULL;
    fxir_tensor *found = NULL;
    fxir_serialize_options_init(&options);
    FAILS(FXIR_INVALID_ARGUMENT, fxir_module_serialize(module, &options, &json, NULL, E)); /* of nodes 1.8 tells no scheme */
    options.allow_missing_meta = 1;
    OK(fxir_module_serialize(module, &options, &json, &weights, E));
    CHECK(fxir_weights_count(weights) == 8);
    OK(fxir_weights_get(weights, "qc_per_channel_scales", &found, E));
    CHECK(fxir_tensor_dtype(found) == FXIR_DTYPE_FLOAT32 && ((const float *)fxir_tensor_data(found))[1] == 0.2f);
    fxir_tensor_free(found);
    fxir_buffer_free(json);
    fxir_weights_free(weights);
    options.weight_quantization = FXIR_WEIGHT_QUANTIZATION_TYPE;
    weights = NULL;
    OK(fxir_module_serialize(module, &options, &json, &weights, E));
    CHECK(fxir_weights_count(weights) == 4 && strstr(fxir_buffer_data(json), "\"q_zero_pont\":2"));
    fxir_buffer_free(json);
    fxir_weights_free(weights);
    fxir_module_free(module);
}

static void bare_numbers(void) {
    static const char text[] =
        "{\"modules\": {}, \"weights\": {}, \"nodes\": [{\"target\": \"torch.f\", \"op_code\": \"call_function\", "
        "\"name\": \"f\", \"args\": [NaN, -Infinity], \"kwargs\": {\"a\": Infinity}}, {\"target\": \"output\", "
        "\"op_code\": \"output\", \"name\": \"output\", \"args\": [{\"is_node\": true, \"name\": \"f\"}], \"kwargs\": {}}]}";
    fxir_module *module = NULL;
    fxir_serialize_options options;
    OK(fxir_module_read_json(text, sizeof text - 1, NULL, &module, E));
    fxir_serialize_options_init(&options);
    options.allow_missing_meta = 1;
    CHECK(holds(module, &options,
                "\"args\":[{\"__py__\":\"float\",\"args\":[\"nan\"]},{\"__py__\":\"float\",\"args\":[\"-inf\"]}],"
                "\"kwargs\":{\"a\":{\"__py__\":\"float\",\"args\":[\"inf\"]}}"));
    fxir_module_free(module);
}

static fxir_tensor_meta a_meta(void) {
    static const int64_t shape[2] = {2, 3}, stride[2] = {3, 1};
    fxir_tensor_meta meta;
    fxir_tensor_meta_init(&meta);
    meta.dtype = FXIR_DTYPE_FLOAT32;
    meta.rank = 2;
    meta.shape = shape;
    meta.stride = stride;
    meta.requires_grad = 0;
    return meta;
}

static void lowering(void) {
    static const char *const names[] = {"size", "weight"}, *const twice[] = {"a", "a"}, *const wrong[] = {"a..b"};
    fxir_module *module = new_module();
    fxir_node x = placeholder(module, "x"), own;
    fxir_tensor_meta meta = a_meta();
    fxir_lowering_attrs *attrs = NULL;
    fxir_serialize_options options;
    fxir_buffer *json = NULL;
    fxir_arg three = fxir_arg_int(3);
    size_t nodes = 0;
    OK(fxir_module_add_submodule(module, "own", FXIR_MODULE_LEAF, "my.Own", NULL, E));
    OK(fxir_module_set_attribute(module, "own.size", &three, E));
    OK(fxir_module_set_attribute(module, "own.extra", &three, E));
    own = call_module_1(module, "own", x);
    output_1(module, own);
    OK(fxir_node_set_tensor_meta(module, x, &meta, E));
    OK(fxir_node_set_tensor_meta(module, own, &meta, E));

    FAILS(FXIR_INVALID_ARGUMENT, fxir_lowering_attrs_new(3, &attrs, E));
    FAILS(FXIR_INVALID_ARGUMENT, fxir_lowering_attrs_new(-1, &attrs, E));
    CHECK(attrs == NULL);
    OK(fxir_lowering_attrs_new(FXIR_LOWERING_TORCH_NN, &attrs, E));
    fxir_serialize_options_init(&options);
    options.lowering = attrs;
    CHECK(holds(module, &options, "\"parameters\":{\"name\":\"my.Own\",\"size\":\"3\",\"extra\":\"3\"}"));
    options.strict_lowering = 1;
    FAILS(FXIR_UNSUPPORTED, fxir_module_serialize(module, &options, &json, NULL, E));
    CHECK(failed.node == own && strstr(failed.message, "my.Own"));
    REFUSED(FXIR_UNSUPPORTED, module, fxir_lift_lowering_attrs_to_nodes_with(module, attrs, 1, &nodes, E));

    FAILS(FXIR_INVALID_ARGUMENT, fxir_lowering_attrs_register(attrs, "my.Own", twice, 2, E));
    FAILS(FXIR_INVALID_ARGUMENT, fxir_lowering_attrs_register(attrs, "my.Own", wrong, 1, E));
    FAILS(FXIR_INVALID_ARGUMENT, fxir_lowering_attrs_register(attrs, "", names, 1, E));
    FAILS(FXIR_NULL_ARGUMENT, fxir_lowering_attrs_register(attrs, "my.Own", NULL, 1, E));
    FAILS(FXIR_UNSUPPORTED, fxir_module_serialize(module, &options, &json, NULL, E));
    OK(fxir_lowering_attrs_register(attrs, "my.Own", names, 2, E));
    CHECK(holds(module, &options, "\"parameters\":{\"name\":\"my.Own\",\"size\":\"3\",\"weight\":\"None\"}"));
    OK(fxir_lift_lowering_attrs_to_nodes_with(module, attrs, 1, &nodes, E));
    CHECK(nodes == 1);
    OK(fxir_lowering_attrs_register(attrs, "my.Own", NULL, 0, E));
    CHECK(holds(module, &options, "\"parameters\":{\"name\":\"my.Own\"}"));
    fxir_lowering_attrs_free(attrs);
    FAILS(FXIR_INVALID_HANDLE, fxir_module_serialize(module, &options, &json, NULL, E));
    CHECK(json == NULL);
    fxir_module_free(module);
}

int main(void) {
    releases();
    overrides();
    scales();
    bare_numbers();
    lowering();
    return check_result();
}
