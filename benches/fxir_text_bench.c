/* FX code: how fast it is printed and read.
 *
 * usage: fxir_text_bench FILE...      (readable text of nets, as torch printed it)
 *
 * One generated function of about 50 MB of code, and the text in the files as often as makes 50 MB.
 * Prints one line of JSON: megabytes (10^6 bytes) a second, and the resident memory that reading the
 * large function took, as so many times its text. */
#include "bench.h"

#include <sys/resource.h>

static double resident(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_maxrss * 1024;
}

static const size_t SIZE = 50000000;

/* Blocks of convolution, addition and activation, as an exported network has them. */
static char *generate(size_t *length) {
    char *text = malloc(SIZE + 1000);
    size_t at, i;
    if (!text) abort();
    at = (size_t)sprintf(text, "def forward(self, x, w, b):\n");
    for (i = 0; at < SIZE; i++) {
        const char *from = i ? "relu_" : "x";
        char number[24] = "";
        if (i) sprintf(number, "%zu", i - 1);
        at += (size_t)sprintf(text + at,
                              "    conv2d_%zu = torch.ops.aten.conv2d.default(%s%s, w, b, [1, 1], [1, 1], [1, 1], 1)\n"
                              "    add_%zu = conv2d_%zu + %s%s;  conv2d_%zu = %s%s = None\n"
                              "    relu_%zu = torch.nn.functional.relu(add_%zu, inplace = False);  add_%zu = None\n",
                              i, from, number, i, i, from, number, i, from, number, i, i, i);
    }
    at += (size_t)sprintf(text + at, "    return relu_%zu\n", i - 1);
    *length = at;
    return text;
}

static double printing(fxir_module *module, int32_t form, size_t *length) {
    double best = 1e9;
    for (int i = 0; i < 3; i++) {
        fxir_buffer *buffer;
        const double start = now();
        ok(fxir_module_print(module, form, NULL, &buffer, &error));
        const double took = now() - start;
        if (took < best) best = took;
        *length = fxir_buffer_size(buffer);
        fxir_buffer_free(buffer);
    }
    return (double)*length / best / 1e6;
}

static char *contents(const char *path, size_t *length) {
    FILE *file = fopen(path, "rb");
    char *text = malloc(1 << 24);
    if (!file || !text) {
        fprintf(stderr, "fxir_text_bench: cannot read %s\n", path);
        exit(1);
    }
    *length = fread(text, 1, 1 << 24, file);
    fclose(file);
    return text;
}

int main(int argc, char **argv) {
    fxir_module *module;
    size_t length, printed;
    if (argc < 2) {
        fprintf(stderr, "usage: %s FILE...\n", argv[0]);
        return 2;
    }
    char *text = generate(&length);
    const double before = resident();
    double start = now();
    ok(fxir_module_read_code(text, length, NULL, &module, &error));
    const double read_large = (double)length / (now() - start) / 1e6;
    const double memory = (resident() - before + (double)length) / (double)length;
    free(text);
    const double print_code = printing(module, FXIR_TEXT_CODE, &printed);
    const double print_readable = printing(module, FXIR_TEXT_READABLE, &printed);
    const double print_tabular = printing(module, FXIR_TEXT_TABULAR, &printed);
    fxir_module_free(module);

    const int count = argc - 1;
    char **nets = calloc((size_t)count, sizeof *nets);
    size_t *lengths = calloc((size_t)count, sizeof *lengths), read = 0;
    if (!nets || !lengths) abort();
    for (int i = 0; i < count; i++) nets[i] = contents(argv[i + 1], &lengths[i]);
    start = now();
    while (read < SIZE)
        for (int i = 0; i < count; i++) {
            ok(fxir_module_read_code(nets[i], lengths[i], NULL, &module, &error));
            fxir_module_free(module);
            read += lengths[i];
        }
    const double read_small = (double)read / (now() - start) / 1e6;
    for (int i = 0; i < count; i++) free(nets[i]);
    free(nets);
    free(lengths);
    printf("{\"read one function\": %.1f, \"memory\": %.1f, \"read readable nets\": %.1f, \"print code\": %.1f, "
           "\"print readable\": %.1f, \"print tabular\": %.1f}\n",
           read_large, memory, read_small, print_code, print_readable, print_tabular);
    return 0;
}
