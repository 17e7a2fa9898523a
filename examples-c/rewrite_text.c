/* A pattern is two lines of text: FX code is read, rewritten by patterns that are text too, added to by
 * a statement, and printed as torch prints it. */
#include <fxir.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static fxir_error *error;

static void ok(fxir_status status) {
    if (status == FXIR_OK) return;
    fprintf(stderr, "rewrite_text: %s: %s\n", fxir_status_name(status), fxir_error_message(error));
    exit(1);
}

static void check(int holds, const char *what) {
    if (holds) return;
    fprintf(stderr, "rewrite_text: this does not hold: %s\n", what);
    exit(1);
}

/* What a bug report or TORCH_LOGS would show of a small attention block. */
static const char NET[] =
    "class Attention(torch.nn.Module):\n"
    "    def forward(self, q: \"f32[2, 8, 16][128, 16, 1]cpu\", k: \"f32[2, 8, 16][128, 16, 1]cpu\", "
    "v: \"f32[2, 8, 16][128, 16, 1]cpu\"):\n"
    "        # File: model.py:7 in forward, code: w = (q @ k.transpose(1, 2)) * 0.25\n"
    "        transpose: \"f32[2, 16, 8][128, 1, 16]cpu\" = k.transpose(1, 2);  k = None\n"
    "        matmul: \"f32[2, 8, 8][64, 8, 1]cpu\" = q @ transpose;  q = transpose = None\n"
    "        mul: \"f32[2, 8, 8][64, 8, 1]cpu\" = matmul * 0.25;  matmul = None\n"
    "        softmax: \"f32[2, 8, 8][64, 8, 1]cpu\" = torch.softmax(mul, dim = -1);  mul = None\n"
    "        matmul_1: \"f32[2, 8, 16][128, 16, 1]cpu\" = softmax @ v;  softmax = v = None\n"
    "        return matmul_1\n";

static const char PATTERN[] =
    "def pattern(q, k, v, scale):\n"
    "    return torch.softmax(q @ k.transpose(1, 2) * scale, dim = -1) @ v\n";

static const char REPLACEMENT[] =
    "def replacement(q, k, v, scale):\n"
    "    return torch.nn.functional.scaled_dot_product_attention(q, k, v, scale = scale)\n";

static const char EXPECTED[] =
    "def forward(self, q, k, v):\n"
    "    scaled_dot_product_attention = torch._C._nn.scaled_dot_product_attention(q, k, v, scale = 0.25);  "
    "q = k = v = None\n"
    "    relu = torch.relu(scaled_dot_product_attention);  scaled_dot_product_attention = None\n"
    "    return relu\n";

int main(void) {
    fxir_module *net;
    fxir_matches *found;
    fxir_buffer *text;
    fxir_node relu;
    fxir_arg result;

    ok(fxir_module_read_code(NET, strlen(NET), NULL, &net, &error));
    ok(fxir_replace_pattern_text(net, PATTERN, REPLACEMENT, NULL, &found, &error));
    printf("%zu match\n", fxir_matches_count(found));
    check(fxir_matches_count(found) == 1, "there is one match");
    fxir_matches_free(found);

    /* The node that took the place of the last one is known by what was known of that. */
    ok(fxir_graph_append_code(net, "relu = torch.relu(scaled_dot_product_attention)", &relu, &error));
    result = fxir_arg_node(relu);
    ok(fxir_node_set_args(net, fxir_graph_output_node(net), &result, 1, &error));
    ok(fxir_graph_lint(net, &error));

    ok(fxir_module_print(net, FXIR_TEXT_CODE, NULL, &text, &error));
    printf("%.*s\n", (int)fxir_buffer_size(text), fxir_buffer_data(text));
    check(strstr(fxir_buffer_data(text), EXPECTED) != NULL, "the code is as expected");
    fxir_buffer_free(text);
    ok(fxir_module_print(net, FXIR_TEXT_READABLE, NULL, &text, &error));
    check(strstr(fxir_buffer_data(text), "scaled_dot_product_attention: \"f32[2, 8, 16]\" = ") != NULL,
          "the new node is annotated");
    fxir_buffer_free(text);

    /* What cannot be read is shown. */
    if (fxir_graph_append_code(net, "y = torch.add(relu, missing)", NULL, &error) != FXIR_PARSE) return 1;
    printf("line %zu, column %zu: %s\n", fxir_error_line(error), fxir_error_column(error), fxir_error_message(error));
    check(fxir_error_line(error) == 1 && fxir_error_column(error) == 21, "the place is that of the name");
    fxir_error_free(error);

    fxir_module_free(net);
    printf("OK\n");
    return 0;
}
