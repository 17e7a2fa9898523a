/* Modules: members by dotted path, copies and handles, graph modules in graph modules, what is shared
 * and what is removed. */
#include "check.h"

static const int64_t shape[1] = {2};

static fxir_tensor *new_tensor(float a, float b) {
    float data[2];
    fxir_tensor *tensor = NULL;
    data[0] = a;
    data[1] = b;
    OK(fxir_tensor_copy(FXIR_DTYPE_FLOAT32, shape, 1, data, sizeof data, &tensor, E));
    return tensor;
}

static const void *data_of(const fxir_module *module, const char *path) {
    fxir_tensor *tensor = NULL;
    const void *data = NULL;
    if (OK(fxir_module_get_tensor(module, path, &tensor, E))) {
        data = fxir_tensor_data(tensor);
        fxir_tensor_free(tensor);
    }
    return data;
}

static fxir_module *submodule(const fxir_module *module, const char *path) {
    fxir_module *found = NULL;
    OK(fxir_module_get_submodule(module, path, &found, E));
    return found;
}

static void paths(void) {
    static const char *const none[] = {"", ".", "a.", ".a", "a..b", ".."};
    fxir_module *module = new_module(), *sub = NULL, *got = NULL;
    fxir_tensor *tensor = new_tensor(1, 2), *out = NULL;
    fxir_arg one = fxir_arg_int(1);
    fxir_args *args = NULL;
    size_t i;
    char deep[400] = "m";
    OK(fxir_module_set_attribute(module, "setting", &one, E));
    for (i = 0; i < sizeof none / sizeof *none; i++) {
        const char *path = none[i];
        REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_module_add_submodule(module, path, FXIR_MODULE_LEAF, "T", &sub, E));
        REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_module_set_submodule(module, path, module, E));
        REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_module_set_tensor(module, path, FXIR_MEMBER_BUFFER, tensor, E));
        REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_module_set_attribute(module, path, &one, E));
        FAILS(FXIR_NOT_FOUND, fxir_module_get_attribute(module, path, &args, E));
        FAILS(FXIR_NOT_FOUND, fxir_module_get_tensor(module, path, &out, E));
        REFUSED(FXIR_NOT_FOUND, module, fxir_module_delete_member(module, path, E));
        CHECK(fxir_module_member_kind(module, path) == FXIR_MEMBER_NONE);
        if (*path) {
            FAILS(FXIR_NOT_FOUND, fxir_module_get_submodule(module, path, &got, E));
        } else if (OK(fxir_module_get_submodule(module, path, &got, E))) { /* the module itself */
            CHECK(got != module && fxir_module_origin(got) == fxir_module_origin(module));
            fxir_module_free(got);
            got = NULL;
        }
    }
    /* Holders are made on the way; an attribute on the way is in the way. */
    OK(fxir_module_set_tensor(module, "a.b.weight", FXIR_MEMBER_PARAMETER, tensor, E));
    CHECK(fxir_module_member_kind(module, "a") == FXIR_MEMBER_SUBMODULE);
    CHECK(fxir_module_member_kind(module, "a.b") == FXIR_MEMBER_SUBMODULE);
    CHECK(fxir_module_member_kind(module, "a.b.weight") == FXIR_MEMBER_PARAMETER);
    CHECK(fxir_module_member_kind(module, "a.b.weight.c") == FXIR_MEMBER_NONE);
    CHECK(fxir_module_member_kind(module, "a.b.none") == FXIR_MEMBER_NONE);
    CHECK(fxir_module_member_kind(module, "setting") == FXIR_MEMBER_VALUE);
    sub = submodule(module, "a.b");
    CHECK(fxir_module_kind(sub) == FXIR_MODULE_HOLDER && !strcmp(fxir_module_path(sub), "a.b"));
    CHECK(fxir_module_member_kind(sub, "weight") == FXIR_MEMBER_PARAMETER);
    fxir_module_free(sub);
    sub = NULL;
    REFUSED(FXIR_ALREADY_EXISTS, module, fxir_module_set_attribute(module, "a.b.weight.c", &one, E));
    REFUSED(FXIR_ALREADY_EXISTS, module, fxir_module_set_tensor(module, "setting.c", FXIR_MEMBER_BUFFER, tensor, E));
    REFUSED(FXIR_ALREADY_EXISTS, module, fxir_module_set_submodule(module, "setting.c.d", module, E));
    REFUSED(FXIR_ALREADY_EXISTS, module, fxir_module_add_submodule(module, "setting.c", FXIR_MODULE_LEAF, "T", &sub, E));
    CHECK(sub == NULL);
    /* What is not what was asked for. */
    FAILS(FXIR_NOT_FOUND, fxir_module_get_submodule(module, "setting", &got, E));
    FAILS(FXIR_NOT_FOUND, fxir_module_get_submodule(module, "none", &got, E));
    FAILS(FXIR_NOT_FOUND, fxir_module_get_tensor(module, "a", &out, E));
    FAILS(FXIR_NOT_FOUND, fxir_module_get_tensor(module, "setting", &out, E));
    FAILS(FXIR_NOT_FOUND, fxir_module_get_attribute(module, "a", &args, E));
    FAILS(FXIR_NOT_FOUND, fxir_module_get_attribute(module, "a.b.weight", &args, E));
    FAILS(FXIR_NOT_FOUND, fxir_module_delete_member(module, "a.c", E));
    CHECK(got == NULL && out == NULL && args == NULL);
    REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_module_set_tensor(module, "t", 0, tensor, E));
    REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_module_set_tensor(module, "t", FXIR_MEMBER_SUBMODULE, tensor, E));
    REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_module_set_tensor(module, "t", FXIR_MEMBER_VALUE, tensor, E));
    REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_module_set_tensor(module, "t", 99, tensor, E));
    /* 64 levels are allowed. */
    for (i = 1; i < 63; i++) strcat(deep, ".m");
    OK(fxir_module_add_submodule(module, deep, FXIR_MODULE_HOLDER, "T", NULL, E));
    for (i = 0; i < 10; i++) strcat(deep, ".m");
    REFUSED(FXIR_LIMIT, module, fxir_module_add_submodule(module, deep, FXIR_MODULE_HOLDER, "T", NULL, E));
    REFUSED(FXIR_LIMIT, module, fxir_module_set_attribute(module, deep, &one, E));
    REFUSED(FXIR_LIMIT, module, fxir_module_set_tensor(module, deep, FXIR_MEMBER_BUFFER, tensor, E));
    REFUSED(FXIR_LIMIT, module, fxir_module_set_submodule(module, deep, module, E));
    REFUSED(FXIR_LIMIT, module, fxir_module_set_submodule(module, "twice", module, E));
    {
        char *very = malloc(200002);
        if (!very) abort();
        for (i = 0; i < 100000; i++) memcpy(very + 2 * i, "m.", 2);
        very[199999] = 0;
        REFUSED(FXIR_LIMIT, module, fxir_module_add_submodule(module, very, FXIR_MODULE_HOLDER, "T", NULL, E));
        REFUSED(FXIR_LIMIT, module, fxir_module_set_attribute(module, very, &one, E));
        CHECK(fxir_module_member_kind(module, very) == FXIR_MEMBER_NONE);
        FAILS(FXIR_NOT_FOUND, fxir_module_get_submodule(module, very, &got, E));
        free(very);
    }
    fxir_tensor_free(tensor);
    fxir_module_free(module);
}

/* At each step a submodule is looked for first, then an attribute; each set replaces what was there. */
static void members(void) {
    fxir_module *module = new_module(), *sub = NULL, *old = NULL;
    fxir_tensor *tensor = new_tensor(1, 2), *other = new_tensor(3, 4);
    fxir_arg one = fxir_arg_int(1);
    fxir_args *args = NULL;
    const char *name;
    OK(fxir_module_set_attribute(module, "m", &one, E));
    OK(fxir_module_add_submodule(module, "m", FXIR_MODULE_LEAF, "T", &sub, E)); /* takes its place */
    CHECK(fxir_module_member_kind(module, "m") == FXIR_MEMBER_SUBMODULE);
    CHECK(fxir_module_submodule_count(module) == 1 && fxir_module_attribute_count(module) == 0);
    CHECK(!strcmp(fxir_module_type_name(sub), "T") && fxir_module_kind(sub) == FXIR_MODULE_LEAF);
    OK(fxir_module_set_type_name(sub, "U", E));
    CHECK(!strcmp(fxir_module_type_name(sub), "U"));
    OK(fxir_module_set_attribute(sub, "kernel_size", &one, E));
    OK(fxir_module_get_attribute(module, "m.kernel_size", &args, E));
    CHECK(fxir_args_items(args)->value.integer == 1);
    fxir_args_free(args);
    old = sub;
    OK(fxir_module_set_tensor(module, "m", FXIR_MEMBER_CONSTANT, tensor, E));
    CHECK(fxir_module_member_kind(module, "m") == FXIR_MEMBER_CONSTANT && fxir_module_submodule_count(module) == 0);
    CHECK(fxir_module_kind(old) == FXIR_MODULE_NONE && fxir_module_path(old) == NULL);
    FAILS(FXIR_NOT_FOUND, fxir_module_set_attribute(old, "k", &one, E));
    FAILS(FXIR_NOT_FOUND, fxir_module_set_type_name(old, "k", E));
    FAILS(FXIR_NOT_FOUND, fxir_graph_placeholder(old, "k", NULL, E));
    FAILS(FXIR_NOT_FOUND, fxir_module_clone(old, &sub, NULL, E));
    fxir_module_free(old);
    CHECK(data_of(module, "m") == fxir_tensor_data(tensor));
    OK(fxir_module_set_tensor(module, "m", FXIR_MEMBER_PARAMETER, other, E));
    CHECK(fxir_module_member_kind(module, "m") == FXIR_MEMBER_PARAMETER && data_of(module, "m") == fxir_tensor_data(other));
    /* Order, and names that outlive their members. */
    OK(fxir_module_set_attribute(module, "b", &one, E));
    OK(fxir_module_set_attribute(module, "a", &one, E));
    OK(fxir_module_add_submodule(module, "z", FXIR_MODULE_HOLDER, "T", NULL, E));
    OK(fxir_module_add_submodule(module, "y", FXIR_MODULE_GRAPH, "T", NULL, E));
    CHECK(fxir_module_attribute_count(module) == 3 && fxir_module_submodule_count(module) == 2);
    CHECK(!strcmp(fxir_module_attribute_name(module, 0), "m") && !strcmp(fxir_module_attribute_name(module, 2), "a"));
    CHECK(!strcmp(fxir_module_submodule_name(module, 0), "z") && !strcmp(fxir_module_submodule_name(module, 1), "y"));
    CHECK(fxir_module_attribute_name(module, 3) == NULL && fxir_module_submodule_name(module, 2) == NULL);
    CHECK(fxir_module_attribute_name(module, SIZE_MAX) == NULL);
    CHECK(fxir_module_submodule_name(module, SIZE_MAX) == NULL);
    name = fxir_module_attribute_name(module, 1);
    OK(fxir_module_delete_member(module, "b", E));
    CHECK(!strcmp(name, "b") && fxir_module_member_kind(module, "b") == FXIR_MEMBER_NONE);
    CHECK(!strcmp(fxir_module_attribute_name(module, 1), "a"));
    FAILS(FXIR_NOT_FOUND, fxir_module_delete_member(module, "b", E));
    OK(fxir_module_delete_member(module, "z", E));
    OK(fxir_module_delete_member(module, "y", E));
    CHECK(fxir_module_submodule_count(module) == 0);
    fxir_module_free(module);
    CHECK(((const float *)fxir_tensor_data(tensor))[0] == 1);
    fxir_tensor_free(tensor);
    fxir_tensor_free(other);
}

static void handles(void) {
    fxir_module *module = new_module(), *sub = NULL, *below = NULL, *again = NULL, *retained = NULL;
    const char *path, *name;
    fxir_node x;
    CHECK(!strcmp(fxir_module_type_name(module), "GraphModule") && fxir_graph_node_count(module) == 0);
    OK(fxir_module_new("Net", &again, E));
    CHECK(!strcmp(fxir_module_type_name(again), "Net") && fxir_module_kind(again) == FXIR_MODULE_GRAPH);
    fxir_module_free(again);
    OK(fxir_module_add_submodule(module, "a.b", FXIR_MODULE_GRAPH, "T", &sub, E));
    x = placeholder(sub, "x");
    name = fxir_node_name(sub, x);
    path = fxir_module_path(sub);
    CHECK(!strcmp(path, "a.b") && !strcmp(fxir_module_path(module), ""));
    OK(fxir_module_retain(sub, &retained, E));
    CHECK(retained != sub);
    fxir_module_free(module); /* the tree lives while a handle into it does */
    CHECK(fxir_module_kind(module) == FXIR_MODULE_NONE && fxir_module_type_name(module) == NULL);
    CHECK(fxir_graph_node_count(sub) == 1 && !strcmp(name, "x") && !strcmp(path, "a.b"));
    fxir_module_free(sub);
    fxir_module_free(sub); /* twice */
    CHECK(fxir_graph_node_count(sub) == 0 && fxir_module_path(sub) == NULL);
    CHECK(fxir_graph_node_count(retained) == 1 && !strcmp(name, "x"));
    OK(fxir_module_add_submodule(retained, "c", FXIR_MODULE_GRAPH, "T", &below, E));
    CHECK(!strcmp(fxir_module_path(below), "a.b.c"));
    OK(fxir_module_get_submodule(retained, "c", &again, E));
    placeholder(again, "y");
    CHECK(fxir_graph_node_count(below) == 1);
    OK(fxir_module_delete_member(retained, "c", E));
    CHECK(fxir_module_kind(below) == FXIR_MODULE_NONE && fxir_graph_first(again) == 0);
    OK(fxir_module_add_submodule(retained, "c", FXIR_MODULE_GRAPH, "T", NULL, E));
    CHECK(fxir_module_kind(below) == FXIR_MODULE_NONE); /* another module of that name is another module */
    FAILS(FXIR_NOT_FOUND, fxir_graph_placeholder(below, "z", NULL, E));
    fxir_module_free(below);
    fxir_module_free(again);
    fxir_module_free(retained);
}

static void copies(void) {
    fxir_module *module = new_module(), *clone = NULL, *sub = NULL, *copy, *again;
    fxir_tensor *tensor = new_tensor(1, 2);
    fxir_node_map *map = NULL;
    fxir_node x = placeholder(module, "x"), y = call_1(module, "torch.relu", x), z;
    fxir_arg one = fxir_arg_int(1), two = fxir_arg_int(2);
    const fxir_node_pair *pairs;
    char *before, *after;
    OK(fxir_module_add_submodule(module, "sub", FXIR_MODULE_GRAPH, "T", &sub, E));
    output_1(sub, call_1(sub, "g", placeholder(sub, "p")));
    OK(fxir_module_set_tensor(sub, "w", FXIR_MEMBER_PARAMETER, tensor, E));
    OK(fxir_module_set_tensor(module, "tied", FXIR_MEMBER_PARAMETER, tensor, E));
    z = call_module_1(module, "sub", y);
    output_1(module, z);
    OK(fxir_node_set_meta(module, y, "k", &one, E));
    OK(fxir_node_set_comment(module, y, "c", E));
    OK(fxir_module_lint(module, E));

    OK(fxir_module_clone(module, &clone, &map, E));
    before = picture_by_name(module);
    after = picture_by_name(clone);
    CHECK(!strcmp(before, after)); /* members, names, users, meta, tensors, origins */
    free(before);
    free(after);
    pairs = fxir_node_map_pairs(map);
    if (CHECK(fxir_node_map_count(map) == 4)) {
        CHECK(pairs[0].from == x && pairs[0].to == fxir_graph_first(clone) && pairs[0].to != x);
        CHECK(pairs[1].from == y && fxir_node_map_get(map, y) == pairs[1].to);
        CHECK(!strcmp(fxir_node_name(clone, pairs[1].to), "relu"));
    }
    CHECK(fxir_node_map_get(map, 0) == 0 && fxir_node_map_get(map, pairs[0].to) == 0);
    CHECK(data_of(clone, "tied") == data_of(module, "sub.w"));
    CHECK(fxir_module_origin(clone) == fxir_module_origin(module) && fxir_module_origin(clone) != 0);
    /* Neither follows the other. */
    OK(fxir_node_set_meta(clone, pairs[1].to, "k", &two, E));
    OK(fxir_module_set_attribute(clone, "only", &one, E));
    OK(fxir_graph_erase_node(module, fxir_graph_last(module), E));
    CHECK(fxir_graph_node_count(clone) == 4 && fxir_graph_node_count(module) == 3);
    CHECK(fxir_module_member_kind(module, "only") == FXIR_MEMBER_NONE);
    output_1(module, z);
    fxir_node_map_free(map);

    /* A submodule is cloned as a root of its own. */
    fxir_module_free(clone);
    OK(fxir_module_clone(sub, &clone, NULL, E));
    CHECK(!strcmp(fxir_module_path(clone), "") && fxir_graph_node_count(clone) == 3);
    CHECK(fxir_module_origin(clone) == fxir_module_origin(sub) && fxir_module_origin(sub) != fxir_module_origin(module));

    /* Copied into another tree, and twice into its own: the origin says they were one. */
    OK(fxir_module_set_submodule(module, "twin", sub, E));
    OK(fxir_module_set_submodule(module, "far.away", clone, E));
    copy = submodule(module, "twin");
    again = submodule(module, "far.away");
    CHECK(fxir_module_origin(copy) == fxir_module_origin(sub) && fxir_module_origin(again) == fxir_module_origin(sub));
    CHECK(data_of(module, "twin.w") == data_of(module, "far.away.w"));
    CHECK(fxir_graph_first(copy) != fxir_graph_first(sub) && fxir_graph_node_count(copy) == 3);
    CHECK(!strcmp(fxir_node_name(copy, fxir_graph_first(copy)), "p"));
    /* A module into itself, and over itself. */
    OK(fxir_module_set_submodule(module, "me", module, E));
    CHECK(fxir_module_member_kind(module, "me.twin.w") == FXIR_MEMBER_PARAMETER);
    CHECK(fxir_module_member_kind(module, "me.me") == FXIR_MEMBER_NONE);
    OK(fxir_module_set_submodule(module, "sub", sub, E));
    CHECK(fxir_module_kind(sub) == FXIR_MODULE_NONE); /* that one was removed */
    CHECK(fxir_module_member_kind(module, "sub.w") == FXIR_MEMBER_PARAMETER);
    OK(fxir_module_lint(module, E));
    /* Below itself. */
    OK(fxir_module_set_submodule(module, "twin.inner", copy, E));
    CHECK(fxir_module_member_kind(module, "twin.inner.w") == FXIR_MEMBER_PARAMETER);
    fxir_module_free(copy);
    fxir_module_free(again);
    fxir_module_free(sub);
    fxir_module_free(clone);
    fxir_module_free(module);
    fxir_tensor_free(tensor);
}

static void taking(void) {
    fxir_module *module = new_module(), *part = new_module(), *retained = NULL, *sub = NULL, *found;
    fxir_node x = placeholder(part, "x");
    fxir_arg one = fxir_arg_int(1);
    const char *name = fxir_node_name(part, x);
    uint64_t origin = fxir_module_origin(part);
    output_1(part, call_1(part, "f", x));
    OK(fxir_module_add_submodule(part, "leaf", FXIR_MODULE_LEAF, "L", &sub, E));
    REFUSED(FXIR_BUSY, module, fxir_module_set_submodule_take(module, "part", part, E)); /* sub is a handle into it */
    CHECK(fxir_graph_node_count(part) == 3);
    fxir_module_free(sub);
    OK(fxir_module_retain(part, &retained, E));
    REFUSED(FXIR_BUSY, module, fxir_module_set_submodule_take(module, "part", part, E));
    fxir_module_free(retained);
    OK(fxir_module_set_attribute(module, "setting", &one, E));
    REFUSED(FXIR_ALREADY_EXISTS, module, fxir_module_set_submodule_take(module, "setting.part", part, E));
    REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_module_set_submodule_take(module, "", part, E));
    REFUSED(FXIR_INVALID_UTF8, module, fxir_module_set_submodule_take(module, "\xff", part, E));
    REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_module_set_submodule_take(module, "me", module, E));
    CHECK(fxir_graph_node_count(part) == 3 && !strcmp(name, "x"));
    OK(fxir_module_set_submodule_take(module, "part", part, E));
    CHECK(fxir_module_kind(part) == FXIR_MODULE_NONE); /* the handle is freed */
    fxir_module_free(part);
    found = submodule(module, "part");
    CHECK(fxir_module_origin(found) == origin && fxir_graph_node_count(found) == 3);
    CHECK(fxir_node_name(found, x) == NULL); /* ids are dead, names the same */
    CHECK(graph_is(found, "x f output"));
    CHECK(fxir_module_member_kind(module, "part.leaf") == FXIR_MEMBER_SUBMODULE);
    REFUSED(FXIR_INVALID_ARGUMENT, module, fxir_module_set_submodule_take(module, "p", found, E)); /* no root */
    OK(fxir_graph_lint(found, E));
    fxir_module_free(found);
    fxir_module_free(module);
}

static void unused(void) {
    fxir_module *module = new_module(), *kept;
    size_t removed = 77;
    fxir_node x = placeholder(module, "x"), node = 0;
    fxir_arg one = fxir_arg_int(1);
    fxir_tensor *tensor = new_tensor(1, 2);
    static const char *const paths[] = {"used", "used.below", "holder.used", "holder.unused", "holder2.unused",
                                        "unused", "unused.below", "read.from"};
    size_t i;
    for (i = 0; i < sizeof paths / sizeof *paths; i++)
        OK(fxir_module_add_submodule(module, paths[i], FXIR_MODULE_LEAF, "T", NULL, E));
    OK(fxir_module_set_tensor(module, "read.from.w", FXIR_MEMBER_PARAMETER, tensor, E));
    OK(fxir_module_set_attribute(module, "setting", &one, E));
    x = call_module_1(module, "used", x);
    x = call_module_1(module, "holder.used", x);
    OK(fxir_graph_get_attr(module, "read.from.w", &node, E));
    output_1(module, call_2(module, "f", x, node));
    kept = submodule(module, "unused");
    OK(fxir_module_delete_all_unused_submodules(module, &removed, E));
    CHECK(removed == 5); /* holder.unused, holder2 and below, unused and below */
    CHECK(fxir_module_kind(kept) == FXIR_MODULE_NONE);
    CHECK(fxir_module_member_kind(module, "used.below") == FXIR_MEMBER_SUBMODULE);
    CHECK(fxir_module_member_kind(module, "holder.used") == FXIR_MEMBER_SUBMODULE);
    CHECK(fxir_module_member_kind(module, "holder.unused") == FXIR_MEMBER_NONE);
    CHECK(fxir_module_member_kind(module, "holder2") == FXIR_MEMBER_NONE);
    CHECK(fxir_module_member_kind(module, "unused") == FXIR_MEMBER_NONE);
    CHECK(fxir_module_member_kind(module, "read.from.w") == FXIR_MEMBER_PARAMETER);
    CHECK(fxir_module_member_kind(module, "setting") == FXIR_MEMBER_VALUE);
    OK(fxir_module_delete_all_unused_submodules(module, &removed, E));
    CHECK(removed == 0);
    OK(fxir_module_delete_all_unused_submodules(module, NULL, E));
    OK(fxir_module_lint(module, E));
    fxir_module_free(kept);
    fxir_module_free(module);
    fxir_tensor_free(tensor);
}

static void lints(void) {
    fxir_module *module = new_module(), *inner = NULL, *deep = NULL;
    fxir_node x = placeholder(module, "x"), y, node = 0;
    OK(fxir_module_add_submodule(module, "inner", FXIR_MODULE_GRAPH, "T", &inner, E));
    OK(fxir_module_add_submodule(inner, "deep", FXIR_MODULE_GRAPH, "T", &deep, E));
    OK(fxir_graph_lint(module, E)); /* there may be no output yet */
    fxir_node bad = call_module_1(deep, "missing", placeholder(deep, "q"));
    y = call_module_1(module, "inner", x);
    output_1(module, y);
    OK(fxir_graph_lint(module, E));
    FAILS(FXIR_LINT, fxir_module_lint(module, E));
    CHECK(strstr(failed.message, "inner.deep") && failed.node == bad);
    output_1(inner, call_module_1(inner, "deep", placeholder(inner, "p")));
    FAILS(FXIR_LINT, fxir_module_lint(inner, E));
    CHECK(strstr(failed.message, "deep") && failed.node == bad);
    OK(fxir_graph_erase_node(deep, bad, E));
    output_1(deep, placeholder(deep, "p"));
    OK(fxir_module_lint(module, E));
    OK(fxir_module_lint(inner, E));
    /* What nodes name must be there, and be of its kind. */
    OK(fxir_graph_create_node(deep, FXIR_OP_CALL_MODULE, "none", NULL, 0, NULL, 0, NULL, 0, 0, &node, E));
    FAILS(FXIR_LINT, fxir_graph_lint(deep, E));
    CHECK(failed.node == node && strstr(failed.message, "none"));
    FAILS(FXIR_LINT, fxir_module_lint(module, E));
    CHECK(failed.node == node);
    OK(fxir_graph_erase_node(deep, node, E));
    OK(fxir_graph_get_attr(deep, "no.such", &node, E));
    FAILS(FXIR_LINT, fxir_graph_lint(deep, E));
    CHECK(failed.node == node && strstr(failed.message, "no.such"));
    OK(fxir_graph_erase_node(deep, node, E));
    OK(fxir_module_lint(module, E));
    fxir_module_free(deep);
    fxir_module_free(inner);
    fxir_module_free(module);
}

/* The tensors that nodes name. */
static void tensors_of_nodes(void) {
    fxir_module *module = new_module(), *leaf = NULL, *clone = NULL;
    fxir_node x = placeholder(module, "x"), call, get = 0, bad = 0, with_default = 0;
    fxir_tensor *tensor = new_tensor(1, 2), *got = NULL;
    fxir_arg one = fxir_arg_int(1);
    fxir_node_map *map = NULL;
    OK(fxir_module_add_submodule(module, "m", FXIR_MODULE_LEAF, "T", &leaf, E));
    OK(fxir_module_set_tensor(leaf, "weight", FXIR_MEMBER_PARAMETER, tensor, E));
    OK(fxir_module_set_attribute(leaf, "setting", &one, E));
    call = call_module_1(module, "m", x);
    OK(fxir_graph_get_attr(module, "m.weight", &get, E));
    OK(fxir_graph_get_attr(module, "m.none", &bad, E));
    OK(fxir_node_get_tensor(module, call, "weight", &got, E));
    CHECK(fxir_tensor_data(got) == fxir_tensor_data(tensor));
    fxir_tensor_free(got);
    OK(fxir_node_get_tensor(module, get, NULL, &got, E));
    CHECK(fxir_tensor_data(got) == fxir_tensor_data(tensor));
    fxir_tensor_free(got);
    got = NULL;
    FAILS(FXIR_NOT_FOUND, fxir_node_get_tensor(module, call, "bias", &got, E));
    FAILS(FXIR_NOT_FOUND, fxir_node_get_tensor(module, call, "setting", &got, E));
    FAILS(FXIR_NOT_FOUND, fxir_node_get_tensor(module, bad, NULL, &got, E));
    FAILS(FXIR_INVALID_ARGUMENT, fxir_node_get_tensor(module, x, "weight", &got, E));
    FAILS(FXIR_STALE_NODE, fxir_node_get_tensor(module, 77, "weight", &got, E));
    FAILS(FXIR_INVALID_UTF8, fxir_node_get_tensor(module, call, "\xff", &got, E));
    CHECK(got == NULL);
    /* A leaf is cloned as well; the map of what has no graph is empty. */
    OK(fxir_module_clone(leaf, &clone, &map, E));
    CHECK(fxir_module_kind(clone) == FXIR_MODULE_LEAF && fxir_node_map_count(map) == 0 && fxir_node_map_pairs(map) == NULL);
    fxir_node_map_free(map);
    fxir_module_free(clone);
    /* A placeholder's default value is its one argument. */
    OK(fxir_graph_create_node(module, FXIR_OP_PLACEHOLDER, "y", &one, 1, NULL, 0, NULL, FXIR_AT_DEFAULT, 0, &with_default, E));
    CHECK(fxir_node_arg_count(module, with_default) == 1 && fxir_graph_next(module, x) == with_default);
    fxir_tensor_free(tensor);
    fxir_module_free(leaf);
    fxir_module_free(module);
}

/* Many modules come and go; a tree does not grow by what was removed. */
static void many(void) {
    fxir_module *module = new_module();
    uint64_t state = 5;
    char path[64];
    int i;
    for (i = 0; i < 3000; i++) {
        uint64_t pick = check_random(&state);
        fxir_status status;
        char *before;
        snprintf(path, sizeof path, "%c.%c.%c", 'a' + (int)(pick % 4), 'a' + (int)(pick >> 8 & 3), 'a' + (int)(pick >> 16 & 3));
        if (pick >> 20 & 1) path[3] = 0;
        if (pick >> 21 & 1) path[1] = 0;
        before = picture(module);
        switch (pick >> 24 & 7) {
        case 0:
        case 1: status = fxir_module_add_submodule(module, path, 1 + (int32_t)(pick >> 30 & 1), "T", NULL, NULL); break;
        case 2: {
            fxir_arg one = fxir_arg_int((int64_t)pick);
            status = fxir_module_set_attribute(module, path, &one, NULL);
            break;
        }
        case 3: {
            fxir_module *sub = NULL;
            status = fxir_module_get_submodule(module, path, &sub, NULL);
            if (status == FXIR_OK) {
                size_t length = strlen(before);
                if (length < 20000) status = fxir_module_set_submodule(module, "b", sub, NULL);
                CHECK(status == FXIR_OK);
            }
            fxir_module_free(sub);
            break;
        }
        default: status = fxir_module_delete_member(module, path, NULL); break;
        }
        if (status != FXIR_OK) {
            CHECK(status == FXIR_NOT_FOUND || status == FXIR_ALREADY_EXISTS);
            check_unchanged(module, before, "a call that failed", __FILE__, __LINE__);
        } else {
            free(before);
        }
    }
    fxir_module_free(module);
}

int main(void) {
    paths();
    members();
    handles();
    copies();
    taking();
    unused();
    lints();
    tensors_of_nodes();
    many();
    return check_result();
}
