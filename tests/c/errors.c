/* The rules of errors: who writes them, what they tell, and how long they live. */
#include "check.h"
#include <pthread.h>

static void rules(void) {
    fxir_module *module = new_module();
    fxir_node x = placeholder(module, "x"), y = call_1(module, "f", x);
    fxir_error *error = CHECK_GARBAGE, *other = NULL;
    /* A success stores NULL over whatever was there; NULL for `error` is allowed both ways. */
    CHECK(fxir_graph_lint(module, &error) == FXIR_OK && error == NULL);
    CHECK(fxir_graph_lint(module, NULL) == FXIR_OK);
    CHECK(fxir_graph_erase_node(module, x, NULL) == FXIR_IN_USE);
    /* What was there is not looked at, and so not freed: it is the caller's. */
    CHECK(fxir_graph_erase_node(module, x, &error) == FXIR_IN_USE);
    other = error;
    error = CHECK_GARBAGE;
    CHECK(fxir_graph_erase_node(module, 0, &error) == FXIR_STALE_NODE);
    CHECK(error != other && fxir_error_code(other) == FXIR_IN_USE && fxir_error_code(error) == FXIR_STALE_NODE);
    CHECK(fxir_error_node(other) == x && strstr(fxir_error_message(other), "x"));
    CHECK(fxir_error_line(other) == 0 && fxir_error_column(other) == 0 && fxir_error_callback_code(other) == 0);
    /* An error outlives its module, and one node in it says nothing of another. */
    fxir_module_free(module);
    CHECK(fxir_error_node(other) == x && strstr(fxir_error_message(other), "f"));
    (void)y;
    fxir_error_free(other);
    CHECK(fxir_error_code(other) == FXIR_INVALID_HANDLE && !strcmp(fxir_error_message(other), ""));
    CHECK(fxir_error_node(other) == 0 && fxir_error_line(other) == 0 && fxir_error_callback_code(other) == 0);
    fxir_error_free(other);
    fxir_error_free(NULL);
    fxir_error_free(error);
    CHECK(fxir_error_code(NULL) == FXIR_INVALID_HANDLE && !strcmp(fxir_error_message(NULL), ""));
}

static void places(void) {
    fxir_module *module = NULL;
    fxir_error *error = NULL;
    const char *text = "{\n \"modules\": {},\n \"weights\": {},\n \"nodes\": [ oops ]\n}";
    CHECK(fxir_module_read_json(text, strlen(text), NULL, &module, &error) == FXIR_PARSE);
    CHECK(fxir_error_line(error) == 4 && fxir_error_column(error) >= 12 && fxir_error_column(error) <= 14);
    CHECK(fxir_error_node(error) == 0 && fxir_error_message(error)[0]);
    fxir_error_free(error);
    /* Columns are counted in bytes. */
    text = "{\"\xc3\xa4\xc3\xa4\": oops}";
    CHECK(fxir_module_read_json(text, strlen(text), NULL, &module, &error) == FXIR_PARSE);
    CHECK(fxir_error_line(error) == 1 && fxir_error_column(error) >= 7 && fxir_error_column(error) <= 11);
    fxir_error_free(error);
    CHECK(module == NULL);
}

/* Messages name what they are about. */
static void messages(void) {
    fxir_module *module = new_module();
    fxir_node x = placeholder(module, "the_input"), y = call_1(module, "the_function", x);
    fxir_tensor *tensor = NULL;
    fxir_arg one = fxir_arg_int(1);
    FAILS(FXIR_NOT_FOUND, fxir_module_get_tensor(module, "some.path", &tensor, E));
    CHECK(strstr(failed.message, "some.path") || strstr(failed.message, "some"));
    FAILS(FXIR_IN_USE, fxir_graph_erase_node(module, x, E));
    CHECK(strstr(failed.message, "the_input") && strstr(failed.message, "the_function"));
    FAILS(FXIR_OUT_OF_RANGE, fxir_node_set_arg(module, y, 17, &one, E));
    CHECK(strstr(failed.message, "17") && strstr(failed.message, "the_function") && failed.node == y);
    FAILS(FXIR_NULL_ARGUMENT, fxir_module_get_tensor(module, NULL, &tensor, E));
    CHECK(strstr(failed.message, "path"));
    FAILS(FXIR_NULL_ARGUMENT, fxir_module_get_tensor(module, "p", NULL, E));
    CHECK(strstr(failed.message, "tensor"));
    FAILS(FXIR_INVALID_UTF8, fxir_module_get_tensor(module, "\xff", &tensor, E));
    CHECK(strstr(failed.message, "path"));
    {
        fxir_module *found = NULL;
        char *very = malloc(1 << 20);
        if (!very) abort();
        memset(very, 'a', (1 << 20) - 1);
        very[(1 << 20) - 1] = 0;
        FAILS(FXIR_NOT_FOUND, fxir_module_get_submodule(module, very, &found, E)); /* long names in messages */
        OK(fxir_node_set_target(module, y, very, E));
        OK(fxir_node_set_name(module, y, very, E));
        CHECK(!strcmp(fxir_node_target(module, y), very));
        OK(fxir_graph_lint(module, E));
        free(very);
    }
    { /* texts with NULs come back in messages without harm */
        fxir_arg arg = fxir_arg_big_int("12\0x");
        arg.count = 4;
        FAILS(FXIR_INVALID_ARGUMENT, fxir_module_set_attribute(module, "a", &arg, E));
        arg = fxir_arg_strn("a\0b", 3);
        arg.kind = FXIR_ARG_DEVICE;
        FAILS(FXIR_INVALID_ARGUMENT, fxir_module_set_attribute(module, "a", &arg, E));
    }
    fxir_module_free(module);
}

static void *fail_and_hand_over(void *module) {
    fxir_error *error = NULL;
    CHECK(fxir_graph_erase_node((fxir_module *)module, 12345, &error) == FXIR_STALE_NODE);
    return error;
}

/* No error belongs to a thread: one that was made elsewhere reads the same here. */
static void threads(void) {
    fxir_module *module = new_module();
    pthread_t thread;
    void *error = NULL;
    pthread_create(&thread, NULL, fail_and_hand_over, module);
    pthread_join(thread, &error);
    CHECK(fxir_error_code((fxir_error *)error) == FXIR_STALE_NODE && fxir_error_message((fxir_error *)error)[0]);
    fxir_error_free((fxir_error *)error);
    fxir_module_free(module);
}

static void statuses(void) {
    static const struct {
        fxir_status status;
        const char *name;
    } all[] = {
#define ONE(name) {name, #name}
        ONE(FXIR_OK), ONE(FXIR_NULL_ARGUMENT), ONE(FXIR_INVALID_ARGUMENT), ONE(FXIR_INVALID_HANDLE), ONE(FXIR_INVALID_UTF8),
        ONE(FXIR_OUT_OF_RANGE), ONE(FXIR_NOT_FOUND), ONE(FXIR_ALREADY_EXISTS), ONE(FXIR_STALE_NODE), ONE(FXIR_IN_USE),
        ONE(FXIR_BUSY), ONE(FXIR_PARSE), ONE(FXIR_IO), ONE(FXIR_LINT), ONE(FXIR_UNSUPPORTED), ONE(FXIR_CALLBACK),
        ONE(FXIR_LIMIT), ONE(FXIR_PANIC)};
    size_t i;
    char version[40];
    for (i = 0; i < sizeof all / sizeof *all; i++) {
        CHECK(all[i].status == (fxir_status)i); /* never renumbered */
        CHECK(!strcmp(fxir_status_name(all[i].status), all[i].name));
    }
    CHECK(!strcmp(fxir_status_name(18), "FXIR_UNKNOWN") && !strcmp(fxir_status_name(-1), "FXIR_UNKNOWN"));
    CHECK(!strcmp(fxir_status_name(INT32_MIN), "FXIR_UNKNOWN") && !strcmp(fxir_status_name(INT32_MAX), "FXIR_UNKNOWN"));
    snprintf(version, sizeof version, "%d.%d.%d", FXIR_VERSION_MAJOR, FXIR_VERSION_MINOR, FXIR_VERSION_PATCH);
    CHECK(!strcmp(fxir_version_string(), version) && fxir_abi_version() == FXIR_ABI_VERSION);
}

int main(void) {
    rules();
    places();
    messages();
    threads();
    statuses();
    return check_result();
}
