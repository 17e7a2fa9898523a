/* Arguments: every kind goes in and comes back to the bit, and what is none is refused. */
#include "check.h"
#include <math.h>
#include <pthread.h>

static fxir_module *module;
static fxir_node x;

static fxir_args *args_of(fxir_node node) {
    fxir_args *args = NULL;
    OK(fxir_node_args(module, node, &args, E));
    return args;
}

/* The argument goes in at every place where one can, and comes back alike. */
static void there_and_back(fxir_arg arg) {
    static const struct {
        const char *key;
    } places[] = {{"setting"}};
    fxir_node node = 0;
    fxir_kwarg kwarg = fxir_kwarg_of("key", arg);
    fxir_args *args;
    OK(fxir_graph_call_function(module, "f", &arg, 1, &kwarg, 1, &node, E));
    args = args_of(node);
    if (CHECK(fxir_args_count(args) == 1) && CHECK(fxir_args_kwarg_count(args) == 1)) {
        CHECK(args_alike(&arg, &fxir_args_items(args)[0]));
        CHECK(strcmp(fxir_args_kwargs(args)[0].name, "key") == 0);
        CHECK(args_alike(&arg, &fxir_args_kwargs(args)[0].value));
        CHECK(fxir_args_kwarg(args, "key") == &fxir_args_kwargs(args)[0].value);
        CHECK(fxir_args_kwarg(args, "kex") == NULL);
        /* What was read can be given back. */
        OK(fxir_node_set_args(module, node, fxir_args_items(args), 1, E));
        OK(fxir_node_set_kwargs(module, node, fxir_args_kwargs(args), 1, E));
    }
    fxir_args_free(args);
    OK(fxir_node_set_arg(module, node, 0, &arg, E));
    OK(fxir_node_insert_arg(module, node, 1, &arg, E));
    OK(fxir_node_set_kwarg(module, node, "other", &arg, E));
    args = args_of(node);
    if (CHECK(fxir_args_count(args) == 2 && fxir_args_kwarg_count(args) == 2)) {
        CHECK(args_alike(&arg, &fxir_args_items(args)[1]));
        CHECK(args_alike(&arg, fxir_args_kwarg(args, "other")));
    }
    fxir_args_free(args);
    if (fxir_node_input_nodes(module, node, NULL, 0) == 0) {
        OK(fxir_module_set_attribute(module, places[0].key, &arg, E));
        OK(fxir_module_get_attribute(module, places[0].key, &args, E));
        CHECK(fxir_args_count(args) == 1 && args_alike(&arg, fxir_args_items(args)));
        CHECK(fxir_args_kwarg_count(args) == 0 && fxir_args_kwargs(args) == NULL);
        fxir_args_free(args);
        OK(fxir_node_set_meta(module, node, "key", &arg, E));
        OK(fxir_node_get_meta(module, node, "key", &args, E));
        CHECK(fxir_args_count(args) == 1 && args_alike(&arg, fxir_args_items(args)));
        fxir_args_free(args);
    } else {
        FAILS(FXIR_INVALID_ARGUMENT, fxir_module_set_attribute(module, places[0].key, &arg, E));
        FAILS(FXIR_INVALID_ARGUMENT, fxir_node_set_meta(module, node, "key", &arg, E));
    }
    OK(fxir_graph_erase_node(module, node, E));
    CHECK(fxir_node_user_count(module, x) == 0);
}

static fxir_arg real_of_bits(uint64_t bits) {
    double real;
    memcpy(&real, &bits, 8);
    return fxir_arg_float(real);
}

static void every_kind(void) {
    static const int64_t range[3] = {INT64_MIN, INT64_MAX, -3};
    static const uint8_t bytes[4] = {0, 255, 128, 0};
    fxir_arg items[8], inner[3], slice[3];
    int32_t dtype;
    uint64_t state = 7;
    int i, known = 0;

    there_and_back(fxir_arg_none());
    there_and_back(fxir_arg_ellipsis());
    there_and_back(fxir_arg_bool(0));
    there_and_back(fxir_arg_bool(1));
    there_and_back(fxir_arg_int(0));
    there_and_back(fxir_arg_int(-1));
    there_and_back(fxir_arg_int(INT64_MIN));
    there_and_back(fxir_arg_int(INT64_MAX));
    there_and_back(fxir_arg_big_int("9223372036854775808"));
    there_and_back(fxir_arg_big_int("-9223372036854775809"));
    there_and_back(fxir_arg_big_int("123456789012345678901234567890123456789012345678901234567890"));
    there_and_back(fxir_arg_float(0.0));
    there_and_back(fxir_arg_float(-0.0));
    there_and_back(fxir_arg_float(HUGE_VAL));
    there_and_back(fxir_arg_float(-HUGE_VAL));
    there_and_back(fxir_arg_float(5e-324));
    there_and_back(real_of_bits(0x7ff8000000000000u));
    there_and_back(real_of_bits(0x7ff8000000000123u));
    there_and_back(real_of_bits(0xfff8000000000000u));
    there_and_back(real_of_bits(0x7ff0000000000001u));
    there_and_back(fxir_arg_complex(1.5, -0.0));
    there_and_back(fxir_arg_complex(-HUGE_VAL, NAN));
    there_and_back(fxir_arg_str(""));
    there_and_back(fxir_arg_str("text"));
    there_and_back(fxir_arg_str("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"));
    there_and_back(fxir_arg_strn("a\0b\0", 4));
    there_and_back(fxir_arg_strn("\0", 1));
    there_and_back(fxir_arg_strn(NULL, 0));
    there_and_back(fxir_arg_bytes(bytes, 4));
    there_and_back(fxir_arg_bytes("", 0));
    there_and_back(fxir_arg_bytes(NULL, 0));
    there_and_back(fxir_arg_device("cpu"));
    there_and_back(fxir_arg_device("cuda:0"));
    there_and_back(fxir_arg_layout("torch.strided"));
    there_and_back(fxir_arg_memory_format("torch.contiguous_format"));
    there_and_back(fxir_arg_qscheme("torch.per_tensor_affine"));
    there_and_back(fxir_arg_symint("2*s0 + 1"));
    there_and_back(fxir_arg_range(range));
    there_and_back(fxir_arg_list(NULL, 0));
    there_and_back(fxir_arg_tuple(NULL, 0));
    there_and_back(fxir_arg_dict(NULL, 0));
    there_and_back(fxir_arg_node(x));
    for (dtype = -1; dtype < 300; dtype++) {
        fxir_arg arg = fxir_arg_dtype(dtype);
        const char *name = fxir_dtype_name(dtype);
        if (name) {
            known++;
            there_and_back(arg);
            CHECK(fxir_dtype_from_name(name) == dtype);
            if (strncmp(name, "torch.", 6) == 0) CHECK(fxir_dtype_from_name(name + 6) == dtype);
            CHECK(fxir_dtype_bits(dtype) > 0 && fxir_dtype_bits(dtype) <= 128);
        } else {
            REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_graph_call_function(module, "f", &arg, 1, NULL, 0, NULL, E));
            CHECK(fxir_dtype_bits(dtype) == 0);
        }
    }
    CHECK(known == 48);
    CHECK(fxir_dtype_from_name("torch.float33") == FXIR_DTYPE_NONE);
    CHECK(fxir_dtype_from_name("") == FXIR_DTYPE_NONE);
    CHECK(fxir_dtype_from_name("\xff") == FXIR_DTYPE_NONE);
    CHECK(fxir_dtype_name(INT32_MAX) == NULL && fxir_dtype_name(INT32_MIN) == NULL);

    /* A list and a tuple of the same are not the same; nested in one another. */
    inner[0] = fxir_arg_int(1);
    inner[1] = fxir_arg_bool(1);
    inner[2] = fxir_arg_float(1.0);
    slice[0] = fxir_arg_none();
    slice[1] = fxir_arg_node(x);
    slice[2] = fxir_arg_int(-1);
    items[0] = fxir_arg_list(inner, 3);
    items[1] = fxir_arg_tuple(inner, 3);
    items[2] = fxir_arg_str("key");
    items[3] = fxir_arg_node(x);
    items[4] = fxir_arg_int(7);
    items[5] = fxir_arg_slice(slice);
    items[6] = fxir_arg_tuple(inner, 1);
    items[7] = fxir_arg_dict(items, 0);
    there_and_back(fxir_arg_list(items, 8));
    there_and_back(fxir_arg_tuple(items, 8));
    there_and_back(fxir_arg_dict(items + 2, 3)); /* {"key": x, 7: slice(...), (1,): {}} */
    there_and_back(fxir_arg_slice(slice));
    slice[1] = fxir_arg_slice(slice + 0);
    slice[1] = fxir_arg_list(inner, 3);
    there_and_back(fxir_arg_slice(slice));

    for (i = 0; i < 2000; i++) there_and_back(real_of_bits(check_random(&state)));
}

/* A big int that fits 64 bits is an int; how it is spelled does not matter. */
static void big_ints_that_are_small(void) {
    static const struct {
        const char *text;
        int64_t is;
    } cases[] = {{"0", 0}, {"-5", -5}, {"9223372036854775807", INT64_MAX}, {"-9223372036854775808", INT64_MIN}};
    static const char *const wrong[] = {"", "-", "1.5", "0x10", "12a", " 1", "99999999999999999999 ", "--5", "1e3",
                                        "\xef\xbc\x91"};
    size_t i;
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        fxir_arg arg = fxir_arg_big_int(cases[i].text), is = fxir_arg_int(cases[i].is);
        fxir_args *args = NULL;
        OK(fxir_module_set_attribute(module, "big", &arg, E));
        OK(fxir_module_get_attribute(module, "big", &args, E));
        CHECK(args_alike(fxir_args_items(args), &is));
        fxir_args_free(args);
    }
    for (i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        fxir_arg arg = fxir_arg_big_int(wrong[i]);
        REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_module_set_attribute(module, "big", &arg, E));
    }
}

/* Texts need not end with a NUL when given, and do when read. */
static void texts(void) {
    char loose[3] = {'a', 'b', 'c'};
    fxir_arg arg = fxir_arg_strn(loose, 3);
    fxir_args *args = NULL;
    fxir_node node = 0;
    OK(fxir_graph_call_function(module, "f", &arg, 1, NULL, 0, &node, E));
    loose[0] = 'z'; /* it was copied */
    args = args_of(node);
    CHECK(strcmp(fxir_args_items(args)[0].value.text, "abc") == 0);
    fxir_args_free(args);
    OK(fxir_graph_erase_node(module, node, E));
}

/* A snapshot outlives edits, the node, and the module. */
static void snapshots(void) {
    fxir_module *other = new_module();
    fxir_node a = placeholder(other, "a"), node = 0;
    fxir_arg given[2], changed = fxir_arg_int(9);
    fxir_args *args = NULL;
    char *before, *after;
    text to = {0, 0, 0}, again = {0, 0, 0};
    given[0] = fxir_arg_node(a);
    given[1] = fxir_arg_str("some text of a length that is not kept inside");
    OK(fxir_graph_call_function(other, "f", given, 2, NULL, 0, &node, E));
    OK(fxir_node_args(other, node, &args, E));
    picture_of_args(&to, args);
    OK(fxir_node_set_args(other, node, &changed, 1, E));
    OK(fxir_graph_erase_node(other, node, E));
    OK(fxir_graph_erase_node(other, a, E));
    fxir_module_free(other);
    picture_of_args(&again, args);
    before = to.data;
    after = again.data;
    CHECK(strcmp(before, after) == 0);
    free(before);
    free(after);
    fxir_args_free(args);
}

static void depth(void) {
    enum { DEEP = 100000 };
    fxir_arg *chain = (fxir_arg *)malloc(sizeof *chain * (DEEP + 2));
    static const uint32_t kinds[] = {FXIR_ARG_LIST, FXIR_ARG_TUPLE, FXIR_ARG_DICT, FXIR_ARG_SLICE};
    size_t i, k;
    fxir_arg self[2], loop[2], three[3];
    fxir_kwarg kwarg;
    if (!chain) abort();
    for (k = 0; k < 2; k++) {
        chain[0] = fxir_arg_int(5);
        for (i = 1; i < DEEP + 2; i++) chain[i] = fxir_arg_array(kinds[k], &chain[i - 1], 1);
        there_and_back(chain[FXIR_MAX_ARGUMENT_DEPTH]);
        kwarg = fxir_kwarg_of("k", chain[FXIR_MAX_ARGUMENT_DEPTH + 1]);
        REFUSED(FXIR_LIMIT, module,
                fxir_graph_call_function(module, "f", &chain[FXIR_MAX_ARGUMENT_DEPTH + 1], 1, NULL, 0, NULL, E));
        REFUSED(FXIR_LIMIT, module, fxir_graph_call_function(module, "f", NULL, 0, &kwarg, 1, NULL, E));
        REFUSED(FXIR_LIMIT, module, fxir_graph_call_function(module, "f", &chain[DEEP], 1, NULL, 0, NULL, E));
        REFUSED(FXIR_LIMIT, module, fxir_module_set_attribute(module, "a", &chain[DEEP], E));
        REFUSED(FXIR_LIMIT, module, fxir_node_set_meta(module, x, "a", &chain[DEEP], E));
        REFUSED(FXIR_LIMIT, module, fxir_graph_output(module, &chain[DEEP], NULL, E));
    }
    free(chain);

    /* An array that holds itself, once and twice. */
    self[0] = fxir_arg_list(self, 1);
    REFUSED(FXIR_LIMIT, module, fxir_graph_call_function(module, "f", self, 1, NULL, 0, NULL, E));
    loop[0] = fxir_arg_list(loop, 2);
    loop[1] = fxir_arg_tuple(loop, 2);
    REFUSED(FXIR_LIMIT, module, fxir_graph_call_function(module, "f", loop, 2, NULL, 0, NULL, E));
    loop[0] = fxir_arg_int(1);
    loop[1] = fxir_arg_dict(loop, 1);
    REFUSED(FXIR_LIMIT, module, fxir_graph_call_function(module, "f", loop + 1, 1, NULL, 0, NULL, E));
    three[0] = three[2] = fxir_arg_int(1);
    three[1] = fxir_arg_slice(three);
    REFUSED(FXIR_LIMIT, module, fxir_graph_call_function(module, "f", three + 1, 1, NULL, 0, NULL, E));
}

static void counts(void) {
    static const size_t huge[] = {SIZE_MAX, SIZE_MAX - 1, SIZE_MAX / 2, SIZE_MAX / 2 + 1, SIZE_MAX / 24, SIZE_MAX / 32 + 1,
                                  (size_t)1 << 62, (size_t)1 << 63, (size_t)FXIR_MAX_ARGUMENT_ITEMS + 1};
    static const uint32_t nested[] = {FXIR_ARG_LIST, FXIR_ARG_TUPLE, FXIR_ARG_DICT};
    fxir_arg one = fxir_arg_int(1), arg;
    fxir_kwarg kwarg = fxir_kwarg_of("k", one);
    size_t i, k;
    for (i = 0; i < sizeof huge / sizeof *huge; i++) {
        REFUSED(FXIR_LIMIT, module, fxir_graph_call_function(module, "f", &one, huge[i], NULL, 0, NULL, E));
        REFUSED(FXIR_LIMIT, module, fxir_graph_call_function(module, "f", NULL, 0, &kwarg, huge[i], NULL, E));
        REFUSED(FXIR_LIMIT, module, fxir_node_set_args(module, x, &one, huge[i], E));
        REFUSED(FXIR_LIMIT, module, fxir_node_set_kwargs(module, x, &kwarg, huge[i], E));
        for (k = 0; k < 3; k++) {
            arg = fxir_arg_array(nested[k], &one, huge[i]);
            REFUSED(FXIR_LIMIT, module, fxir_graph_call_function(module, "f", &arg, 1, NULL, 0, NULL, E));
        }
    }
    for (i = 0; i < 4; i++) { /* no text, no byte string is as long */
        arg = fxir_arg_strn("a", huge[i] | (size_t)1 << 63);
        REFUSED(FXIR_LIMIT, module, fxir_graph_call_function(module, "f", &arg, 1, NULL, 0, NULL, E));
        arg = fxir_arg_bytes("a", huge[i] | (size_t)1 << 63);
        REFUSED(FXIR_LIMIT, module, fxir_graph_call_function(module, "f", &arg, 1, NULL, 0, NULL, E));
    }
    /* NULL where there should be something. */
    REFUSED(FXIR_NULL_ARGUMENT, module, fxir_graph_call_function(module, "f", NULL, 1, NULL, 0, NULL, E));
    REFUSED(FXIR_NULL_ARGUMENT, module, fxir_graph_call_function(module, "f", NULL, 0, NULL, 1, NULL, E));
    REFUSED(FXIR_NULL_ARGUMENT, module, fxir_node_set_args(module, x, NULL, 2, E));
    REFUSED(FXIR_NULL_ARGUMENT, module, fxir_node_set_kwargs(module, x, NULL, 2, E));
    for (k = FXIR_ARG_BIG_INT; k <= FXIR_ARG_RANGE; k++) {
        if (k == FXIR_ARG_FLOAT || k == FXIR_ARG_COMPLEX || k == FXIR_ARG_DTYPE || k == FXIR_ARG_ELLIPSIS) continue;
        arg = fxir_arg_of_kind((uint32_t)k);
        arg.count = 3;
        REFUSED(FXIR_NULL_ARGUMENT, module, fxir_graph_call_function(module, "f", &arg, 1, NULL, 0, NULL, E));
    }
    kwarg.name = NULL;
    REFUSED(FXIR_NULL_ARGUMENT, module, fxir_graph_call_function(module, "f", NULL, 0, &kwarg, 1, NULL, E));
    /* A slice and a range have three parts. */
    for (i = 0; i < 6; i++) {
        fxir_arg five[6];
        static const int64_t integers[6] = {0, 1, 2, 3, 4, 5}, still[3] = {0, 5, 0};
        for (k = 0; k < 6; k++) five[k] = one;
        if (i != 3) {
            arg = fxir_arg_array(FXIR_ARG_SLICE, five, i);
            REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_graph_call_function(module, "f", &arg, 1, NULL, 0, NULL, E));
            arg = fxir_arg_range(integers);
            arg.count = i;
        } else {
            arg = fxir_arg_range(still);
        }
        REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_graph_call_function(module, "f", &arg, 1, NULL, 0, NULL, E));
    }
}

/* As many items as allowed, and one more. */
static void budget(void) {
    size_t half = FXIR_MAX_ARGUMENT_ITEMS / 2;
    fxir_arg *many = (fxir_arg *)calloc(half, sizeof *many), lists[2];
    fxir_node node = 0;
    if (!many) abort();
    lists[0] = fxir_arg_list(many, half);
    lists[1] = fxir_arg_list(many, half - 2);
    OK(fxir_graph_call_function(module, "f", lists, 2, NULL, 0, &node, E));
    OK(fxir_graph_erase_node(module, node, E));
    lists[1].count++;
    REFUSED(FXIR_LIMIT, module, fxir_graph_call_function(module, "f", lists, 2, NULL, 0, &node, E));
    free(many);
}

static void what_is_no_argument(void) {
    static const uint32_t kinds[] = {21, 22, 99, 255, 256, 0x10000, 0x7fffffff, 0x80000000u, 0xffffffffu};
    static const char *const bad_text[] = {"\xff", "a\x80", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82"};
    fxir_arg arg, wrap, keys[2], bad[2];
    fxir_kwarg kwargs[2];
    size_t i, k;
    for (i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        arg = fxir_arg_of_kind(kinds[i]);
        wrap = fxir_arg_list(&arg, 1);
        REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_graph_call_function(module, "f", &arg, 1, NULL, 0, NULL, E));
        REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_graph_call_function(module, "f", &wrap, 1, NULL, 0, NULL, E));
        REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_node_set_meta(module, x, "k", &wrap, E));
    }
    for (i = 0; i < 32; i++) { /* flags must be 0 */
        arg = fxir_arg_int(3);
        arg.flags = (uint32_t)1 << i;
        REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_graph_call_function(module, "f", &arg, 1, NULL, 0, NULL, E));
    }
    arg = fxir_arg_of_kind(FXIR_ARG_BOOL);
    arg.value.integer = 2;
    REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_graph_call_function(module, "f", &arg, 1, NULL, 0, NULL, E));
    arg.value.integer = -1;
    REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_graph_call_function(module, "f", &arg, 1, NULL, 0, NULL, E));
    arg = fxir_arg_dtype(0);
    arg.value.integer = (int64_t)1 << 40 | 7;
    REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_graph_call_function(module, "f", &arg, 1, NULL, 0, NULL, E));
    for (i = 0; i < sizeof bad_text / sizeof *bad_text; i++) {
        static const uint32_t spelled[] = {FXIR_ARG_BIG_INT,       FXIR_ARG_STR,     FXIR_ARG_DEVICE, FXIR_ARG_LAYOUT,
                                           FXIR_ARG_MEMORY_FORMAT, FXIR_ARG_QSCHEME, FXIR_ARG_SYMINT};
        for (k = 0; k < sizeof spelled / sizeof *spelled; k++) {
            arg = fxir_arg_text(spelled[k], bad_text[i]);
            REFUSED(FXIR_INVALID_UTF8, module, fxir_graph_call_function(module, "f", &arg, 1, NULL, 0, NULL, E));
        }
        kwargs[0] = fxir_kwarg_of(bad_text[i], fxir_arg_none());
        REFUSED(FXIR_INVALID_UTF8, module, fxir_graph_call_function(module, "f", NULL, 0, kwargs, 1, NULL, E));
        REFUSED(FXIR_INVALID_UTF8, module, fxir_node_set_kwargs(module, x, kwargs, 1, E));
        REFUSED(FXIR_INVALID_UTF8, module, fxir_node_set_kwarg(module, x, bad_text[i], &kwargs[0].value, E));
    }
    /* A keyword given twice. */
    kwargs[0] = fxir_kwarg_of("k", fxir_arg_int(1));
    kwargs[1] = fxir_kwarg_of("k", fxir_arg_int(2));
    REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_graph_call_function(module, "f", NULL, 0, kwargs, 2, NULL, E));
    /* No node in a key, however deep. */
    keys[0] = fxir_arg_node(x);
    keys[1] = fxir_arg_int(1);
    arg = fxir_arg_dict(keys, 1);
    REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_graph_call_function(module, "f", &arg, 1, NULL, 0, NULL, E));
    bad[0] = fxir_arg_tuple(keys, 1);
    bad[1] = fxir_arg_int(1);
    arg = fxir_arg_dict(bad, 1);
    wrap = fxir_arg_list(&arg, 1);
    REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_graph_call_function(module, "f", &wrap, 1, NULL, 0, NULL, E));
    REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_node_set_args(module, x, &wrap, 1, E));
    /* No node at all. */
    arg = fxir_arg_node(0);
    REFUSED(FXIR_STALE_NODE, module, fxir_graph_call_function(module, "f", &arg, 1, NULL, 0, NULL, E));
    arg = fxir_arg_node(UINT64_MAX);
    wrap = fxir_arg_list(&arg, 1);
    REFUSED(FXIR_STALE_NODE, module, fxir_graph_call_function(module, "f", &wrap, 1, NULL, 0, NULL, E));
}

/* Arguments made at random, within bounds and wrong in places: an argument comes back alike or is
 * refused, and nothing else happens. */
static fxir_arg random_arg(uint64_t *state, fxir_arg *pool, size_t *used, size_t capacity, int level, int wrong) {
    static const char *const texts[] = {"", "a", "cpu", "torch.strided", "99999999999999999999", "-170141183460469231731687303715884105728"};
    static const int64_t range[3] = {1, 2, 3};
    uint64_t pick = check_random(state);
    uint32_t kind = (uint32_t)(pick % (wrong ? 23 : 21));
    fxir_arg arg = fxir_arg_of_kind(kind);
    size_t count = (size_t)(pick >> 8) % 4, items, first, i;
    const char *some = texts[(pick >> 16) % 6];
    switch (kind) {
    case FXIR_ARG_BOOL: return fxir_arg_bool((int)(pick >> 32 & 1));
    case FXIR_ARG_INT:
    case FXIR_ARG_FLOAT: arg.value.integer = (int64_t)check_random(state); return arg;
    case FXIR_ARG_BIG_INT: return fxir_arg_big_int(texts[4 + (pick >> 16) % 2]);
    case FXIR_ARG_COMPLEX: return fxir_arg_complex((double)count, -0.0);
    case FXIR_ARG_STR: return fxir_arg_str(some);
    case FXIR_ARG_BYTES: return fxir_arg_bytes(some, strlen(some));
    case FXIR_ARG_DTYPE: return fxir_arg_dtype((int32_t)(1 + pick % 20));
    case FXIR_ARG_DEVICE:
    case FXIR_ARG_LAYOUT:
    case FXIR_ARG_MEMORY_FORMAT:
    case FXIR_ARG_QSCHEME:
    case FXIR_ARG_SYMINT: return fxir_arg_text(kind, *some || wrong ? some : "z");
    case FXIR_ARG_RANGE: return fxir_arg_range(range);
    case FXIR_ARG_NODE: return fxir_arg_node(wrong && pick >> 60 == 0 ? pick : x);
    case FXIR_ARG_LIST:
    case FXIR_ARG_TUPLE:
    case FXIR_ARG_DICT:
    case FXIR_ARG_SLICE:
        if (kind == FXIR_ARG_SLICE) count = 3;
        items = kind == FXIR_ARG_DICT ? 2 * count : count;
        if (*used + items > capacity || level == 0) return fxir_arg_int((int64_t)pick);
        first = *used;
        *used += items;
        for (i = 0; i < items; i++) {
            fxir_arg item = random_arg(state, pool, used, capacity, level - 1, wrong);
            if (kind == FXIR_ARG_DICT && i % 2 == 0 && !wrong) item = fxir_arg_int((int64_t)i);
            pool[first + i] = item;
        }
        return fxir_arg_array(kind, pool + first, count);
    default: return arg;
    }
}

static void random_arguments(void) {
    enum { POOL = 400 };
    static fxir_arg pool[POOL];
    uint64_t state = 20240601;
    int i, refused = 0;
    for (i = 0; i < 3000; i++) {
        int wrong = i % 3 == 0;
        size_t used = 0;
        fxir_arg arg = random_arg(&state, pool, &used, POOL, 6, wrong);
        if (!wrong) {
            there_and_back(arg);
        } else {
            fxir_node node = 0;
            fxir_status status = fxir_graph_call_function(module, "f", &arg, 1, NULL, 0, &node, NULL);
            if (status == FXIR_OK) {
                fxir_args *args = args_of(node);
                CHECK(args_alike(&arg, fxir_args_items(args)));
                fxir_args_free(args);
                OK(fxir_graph_erase_node(module, node, E));
            } else {
                refused++;
                CHECK(status == FXIR_INVALID_ARGUMENT || status == FXIR_STALE_NODE);
                CHECK(node == 0);
            }
        }
    }
    CHECK(refused > 100);
    CHECK(graph_is(module, "x"));
}

int main(void) {
    module = new_module();
    x = placeholder(module, "x");
    every_kind();
    big_ints_that_are_small();
    texts();
    snapshots();
    depth();
    counts();
    budget();
    what_is_no_argument();
    random_arguments();
    CHECK(fxir_graph_node_count(module) == 1);
    fxir_module_free(module);
    return check_result();
}
