/* What nodes yield: every kind of value goes in and comes back, and per-channel quantization goes all
 * the way through files. */
#include "check.h"

static fxir_value of_kind(uint32_t kind, const char *key) {
    fxir_value value;
    memset(&value, 0, sizeof value);
    value.kind = kind;
    value.key = key;
    return value;
}

static int values_alike(const fxir_value *a, const fxir_value *b) {
    text left = {0, 0, 0}, right = {0, 0, 0};
    int alike;
    picture_of_value(&left, a);
    picture_of_value(&right, b);
    alike = strcmp(left.data, right.data) == 0;
    if (!alike) fprintf(stderr, "  %s\n  %s\n", left.data, right.data);
    free(left.data);
    free(right.data);
    return alike;
}

/* Everything a value can be, nested: a dict of a list of scalars, of tensors and of nothing. */
static void every_kind(void) {
    static const int64_t shape[2] = {4, -1}, stride[2] = {-1, 1};
    static const char *const sizes[2] = {NULL, "s0"}, *const strides[2] = {"2*s0", NULL};
    fxir_module *module = new_module();
    fxir_node x = placeholder(module, "x");
    fxir_tensor_meta meta;
    fxir_values *values = NULL, *again = NULL;
    fxir_value scalars[5], inner[2], root, entries[4];
    const fxir_tensor_meta *got;
    fxir_tensor_meta_init(&meta);
    meta.dtype = FXIR_DTYPE_BFLOAT16;
    meta.rank = 2;
    meta.shape = shape;
    meta.stride = stride;
    meta.symbolic_shape = sizes;
    meta.symbolic_stride = strides;
    meta.requires_grad = 1;
    meta.memory_format = "torch.channels_last";
    meta.device = "cuda:1";
    scalars[0] = of_kind(FXIR_VALUE_BOOL, NULL);
    scalars[0].content.integer = 1;
    scalars[1] = of_kind(FXIR_VALUE_INT, NULL);
    scalars[1].content.integer = INT64_MIN;
    scalars[2] = of_kind(FXIR_VALUE_FLOAT, NULL);
    scalars[2].content.real = -0.0;
    scalars[3] = of_kind(FXIR_VALUE_SYMBOLIC, NULL);
    scalars[3].content.text = "s0 // 2";
    scalars[4] = of_kind(FXIR_VALUE_NONE, NULL);
    inner[0] = of_kind(FXIR_VALUE_TENSOR, NULL);
    inner[0].content.tensor = &meta;
    inner[1] = of_kind(FXIR_VALUE_LIST, NULL);
    entries[0] = of_kind(FXIR_VALUE_LIST, "scalars");
    entries[0].count = 5;
    entries[0].content.items = scalars;
    entries[1] = of_kind(FXIR_VALUE_TUPLE, "nested");
    entries[1].count = 2;
    entries[1].content.items = inner;
    entries[2] = of_kind(FXIR_VALUE_TENSOR, "");
    entries[2].content.tensor = &meta;
    entries[3] = of_kind(FXIR_VALUE_DICT, "\xc3\xa4");
    root = of_kind(FXIR_VALUE_DICT, NULL);
    root.count = 4;
    root.content.items = entries;
    OK(fxir_node_set_value(module, x, &root, E));
    OK(fxir_node_value(module, x, &values, E));
    CHECK(values_alike(&root, fxir_values_root(values)) && fxir_values_tensor_count(values) == 2);
    CHECK(!strcmp(fxir_values_root(values)->content.items[1].key, "nested"));
    got = fxir_values_tensor(values, 1);
    if (CHECK(got && got->struct_size == sizeof *got)) {
        CHECK(got->dtype == FXIR_DTYPE_BFLOAT16 && got->requires_grad == 1 && got->rank == 2);
        CHECK(got->shape[0] == 4 && got->shape[1] == -1 && got->stride[0] == -1 && got->stride[1] == 1);
        CHECK(!got->symbolic_shape[0] && !strcmp(got->symbolic_shape[1], "s0"));
        CHECK(!strcmp(got->symbolic_stride[0], "2*s0") && !got->symbolic_stride[1]);
        CHECK(!strcmp(got->memory_format, "torch.channels_last") && !strcmp(got->device, "cuda:1") && !got->quantization);
    }
    /* What was read can be given back; a snapshot outlives edits and the module. */
    OK(fxir_node_set_value(module, x, NULL, E));
    OK(fxir_node_set_value(module, x, fxir_values_root(values), E));
    OK(fxir_node_value(module, x, &again, E));
    fxir_module_free(module);
    CHECK(values_alike(fxir_values_root(values), fxir_values_root(again)));
    fxir_values_free(values);
    fxir_values_free(again);
    CHECK(fxir_values_root(values) == NULL && fxir_values_tensor_count(values) == 0);
}

/* Bytes that lie otherwise than was recorded: both strides can be read. */
static void two_strides(void) {
    static const float data[6] = {1, 2, 3, 4, 5, 6};
    static const int64_t shape[2] = {2, 3}, recorded[2] = {1, 2};
    fxir_tensor *tensor = NULL, *told = NULL;
    fxir_tensor_meta meta;
    fxir_tensor_meta_init(&meta);
    meta.dtype = FXIR_DTYPE_FLOAT32;
    meta.rank = 2;
    meta.shape = shape;
    meta.stride = recorded;
    OK(fxir_tensor_borrow(FXIR_DTYPE_FLOAT32, shape, 2, NULL, data, sizeof data, NULL, NULL, &tensor, E));
    OK(fxir_tensor_with_meta(tensor, &meta, &told, E));
    CHECK(fxir_tensor_strides(told)[0] == 3 && fxir_tensor_strides(told)[1] == 1 && fxir_tensor_is_contiguous(told));
    CHECK(fxir_tensor_meta_of(told)->stride[0] == 1 && fxir_tensor_meta_of(told)->stride[1] == 2);
    fxir_tensor_free(tensor);
    CHECK(fxir_tensor_data(told) == data);
    fxir_tensor_free(told);
}

static const double steps[3] = {0.5, 0.25, 0.125};
static const int64_t zeros[3] = {0, -1, 7};
/* The same as torch writes them. */
static const float written_steps[3] = {0.5f, 0.25f, 0.125f};
static const int32_t written_zeros[3] = {0, -1, 7};

static int holds(const fxir_tensor *tensor, int32_t dtype, const void *data, size_t size) {
    return fxir_tensor_dtype(tensor) == dtype && fxir_tensor_size(tensor) == size && fxir_tensor_rank(tensor) == 1 &&
           !memcmp(fxir_tensor_data(tensor), data, size);
}

static void check_channels(const fxir_tensor_meta *meta, int is_written) {
    const fxir_quantization *q = meta ? meta->quantization : NULL;
    if (!CHECK(q != NULL)) return;
    CHECK(!strcmp(q->qscheme, "torch.per_channel_affine") && q->is_per_channel == 1);
    CHECK(q->has_axis == 1 && q->axis == 1);
    if (is_written) {
        CHECK(holds(q->scales, FXIR_DTYPE_FLOAT32, written_steps, sizeof written_steps));
        CHECK(holds(q->zero_points, FXIR_DTYPE_INT32, written_zeros, sizeof written_zeros));
    } else {
        CHECK(holds(q->scales, FXIR_DTYPE_FLOAT64, steps, sizeof steps));
        CHECK(holds(q->zero_points, FXIR_DTYPE_INT64, zeros, sizeof zeros));
    }
}

/* A weight of a channel each: set, got, written as its integers beside scales and zero points, read
 * back from files and from memory. */
static void per_channel(void) {
    static const int8_t bytes[12] = {1, -2, 3, -4, 5, -6, 7, -8, 9, -10, 11, -12};
    static const int64_t shape[2] = {4, 3}, stride[2] = {3, 1}, three[1] = {3}, four[1] = {4}, one[1] = {1};
    fxir_module *module = new_module(), *again = NULL;
    fxir_node w = 0, x = placeholder(module, "x"), y;
    fxir_tensor *scales = NULL, *zero_points = NULL, *integers = NULL, *weight = NULL, *got = NULL;
    fxir_tensor_meta meta, input;
    fxir_quantization q;
    fxir_weights *weights = NULL;
    fxir_buffer *json = NULL;
    int round;
    OK(fxir_tensor_copy(FXIR_DTYPE_FLOAT64, three, 1, steps, sizeof steps, &scales, E));
    OK(fxir_tensor_copy(FXIR_DTYPE_INT64, three, 1, zeros, sizeof zeros, &zero_points, E));
    OK(fxir_tensor_copy(FXIR_DTYPE_INT8, shape, 2, bytes, sizeof bytes, &integers, E));
    memset(&q, 0, sizeof q);
    q.qscheme = "torch.per_channel_affine";
    q.is_per_channel = 1;
    q.has_axis = 1;
    q.axis = 1;
    q.scales = scales;
    q.zero_points = zero_points;
    fxir_tensor_meta_init(&meta);
    meta.dtype = FXIR_DTYPE_QINT8;
    meta.rank = 2;
    meta.shape = shape;
    meta.stride = stride;
    meta.requires_grad = 0;
    meta.quantization = &q;
    OK(fxir_tensor_with_meta(integers, &meta, &weight, E));
    fxir_tensor_free(scales);
    fxir_tensor_free(zero_points);
    fxir_tensor_free(integers);
    CHECK(fxir_tensor_dtype(weight) == FXIR_DTYPE_QINT8 && fxir_tensor_size(weight) == 12);
    check_channels(fxir_tensor_meta_of(weight), 0);
    OK(fxir_module_set_tensor(module, "w", FXIR_MEMBER_BUFFER, weight, E));
    OK(fxir_graph_get_attr(module, "w", &w, E));
    OK(fxir_node_set_tensor_meta(module, w, fxir_tensor_meta_of(weight), E));
    fxir_tensor_free(weight);
    fxir_tensor_meta_init(&input);
    input.dtype = FXIR_DTYPE_FLOAT32;
    input.rank = 1;
    input.shape = four;
    input.stride = one;
    input.requires_grad = 0;
    OK(fxir_node_set_tensor_meta(module, x, &input, E));
    y = call_2(module, "torch.matmul", x, w);
    OK(fxir_node_set_tensor_meta(module, y, &input, E));
    output_1(module, y);
    OK(fxir_module_lint(module, E));

    /* The scales and zero points are weights of their own, which the JSON names. */
    OK(fxir_module_serialize(module, NULL, &json, &weights, E));
    CHECK(fxir_weights_count(weights) == 3);
    CHECK(strstr(fxir_buffer_data(json), "w_per_channel_scales") && strstr(fxir_buffer_data(json), "per_channel_zero_points"));
    OK(fxir_weights_get(weights, "w_per_channel_scales", &got, E));
    CHECK(holds(got, FXIR_DTYPE_FLOAT32, written_steps, sizeof written_steps));
    fxir_tensor_free(got);
    OK(fxir_module_save_json(module, "channels.json", "channels.safetensors", NULL, E));
    for (round = 0; round < 2; round++) {
        fxir_values *values = NULL;
        fxir_node node;
        fxir_buffer *second = NULL;
        if (round == 0) OK(fxir_module_read_json(fxir_buffer_data(json), fxir_buffer_size(json), weights, &again, E));
        else OK(fxir_module_load_json("channels.json", "channels.safetensors", &again, E));
        OK(fxir_module_lint(again, E));
        OK(fxir_module_get_tensor(again, "w", &got, E));
        CHECK(fxir_tensor_dtype(got) == FXIR_DTYPE_QINT8 && fxir_tensor_rank(got) == 2);
        CHECK(fxir_tensor_size(got) == 12 && !memcmp(fxir_tensor_data(got), bytes, 12));
        check_channels(fxir_tensor_meta_of(got), 1);
        fxir_tensor_free(got);
        CHECK(fxir_module_attribute_count(again) == 1); /* not the scales */
        node = fxir_graph_find_node(again, "w");
        CHECK(node && fxir_node_dtype(again, node) == FXIR_DTYPE_QINT8);
        OK(fxir_node_value(again, node, &values, E));
        CHECK(fxir_values_tensor_count(values) == 1 && fxir_values_tensor(values, 0)->quantization != NULL);
        fxir_values_free(values);
        OK(fxir_module_serialize(again, NULL, &second, NULL, E)); /* and written again the same */
        CHECK(fxir_buffer_size(second) == fxir_buffer_size(json) &&
              !memcmp(fxir_buffer_data(second), fxir_buffer_data(json), fxir_buffer_size(json)));
        fxir_buffer_free(second);
        fxir_module_free(again);
        again = NULL;
    }
    fxir_buffer_free(json);
    fxir_weights_free(weights);
    fxir_module_free(module);
}

/* Two tensors that would go by one name: neither is lost. */
static void one_name(void) {
    static const float a[1] = {1}, b[1] = {2};
    static const int64_t shape[1] = {1};
    fxir_module *module = new_module(), *inner = NULL;
    fxir_node get = 0, x, call;
    fxir_tensor *first = NULL, *second = NULL;
    fxir_serialize_options options;
    fxir_buffer *json = NULL;
    fxir_weights *weights = NULL;
    fxir_serialize_options_init(&options);
    options.allow_missing_meta = 1;
    OK(fxir_tensor_copy(FXIR_DTYPE_FLOAT32, shape, 1, a, 4, &first, E));
    OK(fxir_tensor_copy(FXIR_DTYPE_FLOAT32, shape, 1, b, 4, &second, E));
    /* In torch's JSON names of weights are not accumulated: "inner.w" is both of these. */
    OK(fxir_module_add_submodule(module, "outer.inner", FXIR_MODULE_GRAPH, "T", &inner, E));
    fxir_module_free(inner);
    OK(fxir_module_add_submodule(module, "outer", FXIR_MODULE_GRAPH, "T", &inner, E));
    fxir_module_free(inner);
    OK(fxir_module_add_submodule(module, "outer.inner", FXIR_MODULE_GRAPH, "T", &inner, E));
    OK(fxir_module_set_tensor(inner, "w", FXIR_MEMBER_PARAMETER, first, E));
    OK(fxir_graph_get_attr(inner, "w", &get, E));
    output_1(inner, get);
    fxir_module_free(inner);
    OK(fxir_module_get_submodule(module, "outer", &inner, E));
    OK(fxir_graph_call_module(inner, "inner", NULL, 0, NULL, 0, &call, E));
    output_1(inner, call);
    fxir_module_free(inner);
    OK(fxir_module_add_submodule(module, "inner", FXIR_MODULE_GRAPH, "T", &inner, E));
    OK(fxir_module_set_tensor(inner, "w", FXIR_MEMBER_PARAMETER, second, E));
    OK(fxir_graph_get_attr(inner, "w", &get, E));
    output_1(inner, get);
    fxir_module_free(inner);
    OK(fxir_graph_call_module(module, "outer", NULL, 0, NULL, 0, &x, E));
    OK(fxir_graph_call_module(module, "inner", NULL, 0, NULL, 0, &call, E));
    output_1(module, call_2(module, "torch.add", x, call));
    OK(fxir_module_lint(module, E));
    FAILS(FXIR_INVALID_ARGUMENT, fxir_module_serialize(module, &options, &json, &weights, E));
    CHECK(strstr(failed.message, "inner.w") && json == NULL && weights == NULL);
    /* One and the same under one name is no loss. */
    OK(fxir_module_set_tensor(module, "inner.w", FXIR_MEMBER_PARAMETER, first, E));
    OK(fxir_module_serialize(module, &options, &json, &weights, E));
    CHECK(fxir_weights_count(weights) == 1 && !strcmp(fxir_weights_name(weights, 0), "inner.w"));
    fxir_buffer_free(json);
    fxir_weights_free(weights);
    fxir_tensor_free(first);
    fxir_tensor_free(second);
    fxir_module_free(module);
}

int main(void) {
    every_kind();
    two_strides();
    per_channel();
    one_name();
    return check_result();
}
