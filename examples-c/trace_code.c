/* A model as its authors wrote it, Python text, becomes a graph: helpers are inlined, loops unrolled,
 * and a rewrite turns what the backend does not have into what it has while the text is traced. */
#include <fxir.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static fxir_error *error;

static void ok(fxir_status status) {
    if (status == FXIR_OK) return;
    fprintf(stderr, "trace_code: %s: %s\n", fxir_status_name(status), fxir_error_message(error));
    exit(1);
}

static void check(int holds, const char *what) {
    if (holds) return;
    fprintf(stderr, "trace_code: this does not hold: %s\n", what);
    exit(1);
}

static const char MODEL[] =
    "import torch\n"
    "import torch.nn.functional as F\n"
    "\n"
    "def gate(x, scale=1.0):\n"
    "    return F.silu(x) * scale\n"
    "\n"
    "class Net(torch.nn.Module):\n"
    "    def forward(self, x, residual=None):\n"
    "        assert x.dim() == 2, \"a batch of vectors\"\n"
    "        for i, layer in enumerate(self.layers):\n"
    "            x = gate(layer(x), scale=0.5 ** i)\n"
    "        return x + self.bias\n";

/* silu(x) is x * sigmoid(x) for a backend that has only sigmoid. */
static int32_t expand_silu(void *data, fxir_tracer *tracer, const fxir_operation *operation, fxir_node *node) {
    fxir_arg product[2];
    fxir_node gate;
    int *count = (int *)data;
    if (strcmp(operation->target, "torch.nn.functional.silu") != 0) return 0;
    ++*count;
    if (fxir_tracer_call_function(tracer, "torch.sigmoid", operation->args, 1, NULL, 0, &gate, NULL)) return 1;
    product[0] = operation->args[0];
    product[1] = fxir_arg_node(gate);
    if (fxir_tracer_call_function(tracer, "_operator.mul", product, 2, NULL, 0, node, NULL)) return 1;
    return 0;
}

static const char EXPECTED[] =
    "def forward(self, x, residual = None):\n"
    "    dim = x.dim()\n"
    "    eq = dim == 2;  dim = None\n"
    "    _assert = torch._assert(eq, 'a batch of vectors');  eq = _assert = None\n"
    "    layers_0 = getattr(self.layers, \"0\")(x);  x = None\n"
    "    sigmoid = torch.sigmoid(layers_0)\n"
    "    mul = layers_0 * sigmoid;  layers_0 = sigmoid = None\n"
    "    mul_1 = mul * 1.0;  mul = None\n"
    "    layers_1 = getattr(self.layers, \"1\")(mul_1);  mul_1 = None\n"
    "    sigmoid_1 = torch.sigmoid(layers_1)\n"
    "    mul_2 = layers_1 * sigmoid_1;  layers_1 = sigmoid_1 = None\n"
    "    mul_3 = mul_2 * 0.5;  mul_2 = None\n"
    "    bias = self.bias\n"
    "    add = mul_3 + bias;  mul_3 = bias = None\n"
    "    return add\n";

static const char LINEAR[] = "torch.nn.modules.linear.Linear";

static const char BRANCH[] =
    "def f(x):\n"
    "    if x.sum() > 0:\n"
    "        return x\n"
    "    return -x\n";

int main(void) {
    static const float bias[4] = {0.0f, 0.25f, 0.5f, 0.75f};
    const int64_t sizes[1] = {4};
    fxir_trace_rewrite rewrite;
    fxir_module *members, *net;
    fxir_tensor *tensor;
    fxir_buffer *text;
    int expanded = 0;

    /* What `self` holds: two layers in a list and a parameter. */
    ok(fxir_module_new("Net", &members, &error));
    ok(fxir_module_add_submodule(members, "layers.0", FXIR_MODULE_LEAF, LINEAR, NULL, &error));
    ok(fxir_module_add_submodule(members, "layers.1", FXIR_MODULE_LEAF, LINEAR, NULL, &error));
    ok(fxir_tensor_copy(FXIR_DTYPE_FLOAT32, sizes, 1, bias, sizeof bias, &tensor, &error));
    ok(fxir_module_set_tensor(members, "bias", FXIR_MEMBER_PARAMETER, tensor, &error));
    fxir_tensor_free(tensor);

    rewrite.function = expand_silu;
    rewrite.user_data = &expanded;
    ok(fxir_trace_code(MODEL, strlen(MODEL), members, NULL, &rewrite, 1, &net, &error));
    check(expanded == 2, "the rewrite saw both");
    ok(fxir_module_print(net, FXIR_TEXT_CODE, NULL, &text, &error));
    printf("%s\n", fxir_buffer_data(text));
    check(strstr(fxir_buffer_data(text), EXPECTED) != NULL, "the code is as expected");
    fxir_buffer_free(text);
    fxir_module_free(net);

    /* A graph has no branches: the error says which expression asks for one. */
    if (fxir_trace_code(BRANCH, strlen(BRANCH), NULL, NULL, NULL, 0, &net, &error) != FXIR_PARSE) return 1;
    printf("line %zu, column %zu: %s\n", fxir_error_line(error), fxir_error_column(error), fxir_error_message(error));
    check(fxir_error_line(error) == 2 && fxir_error_column(error) == 8, "the place is that of the condition");
    fxir_error_free(error);

    fxir_module_free(members);
    printf("OK\n");
    return 0;
}
