// A backend's importer, in C++17: cuts a network up, takes the accelerator's part, and makes a program of
// its own from it, with every weight bound to the instruction that needs it.
//
// usage: backend DATA      (the folder examples-c/data)
#include <fxir.hpp>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#define EXPECT(condition) \
    if (!(condition)) throw std::runtime_error("line " + std::to_string(__LINE__) + ": this does not hold: " #condition)

namespace {

// One weight of an instruction: it keeps the mapped file alive, so the pointer may be used as it is.
struct Weight {
    std::string name;
    fxir::Tensor tensor;
};

// What the backend will run: a kernel, the registers that it reads, its immediates, its weights.
struct Instruction {
    std::string kernel;
    std::vector<std::size_t> inputs;
    std::map<std::string, std::vector<std::int64_t>> immediates;
    std::vector<Weight> weights;
    std::vector<std::int64_t> shape; // of the result, which goes into the register of the same number
};

struct Program {
    std::vector<Instruction> instructions;
    std::size_t result = 0;
};

// The integers of a setting such as stride = (1, 1) or groups = 1; none for settings of other kinds.
std::vector<std::int64_t> integers(const fxir_arg &arg) {
    if (arg.kind == FXIR_ARG_INT) return {arg.value.integer};
    std::vector<std::int64_t> found;
    if (arg.kind == FXIR_ARG_TUPLE || arg.kind == FXIR_ARG_LIST)
        for (std::size_t i = 0; i < arg.count; i++)
            if (arg.value.items[i].kind == FXIR_ARG_INT) found.push_back(arg.value.items[i].value.integer);
    return found;
}

// A leaf is told by its type, its settings and its tensors.
void import_leaf(const fxir::Module &leaf, Instruction &made) {
    made.kernel = leaf.type_name();
    for (const std::string &name : leaf.attribute_names()) {
        if (leaf.member_kind(name) != FXIR_MEMBER_VALUE) {
            made.weights.push_back({name, leaf.tensor(name)});
        } else if (auto values = integers(leaf.attribute(name)[0]); !values.empty()) {
            made.immediates[name] = values;
        }
    }
}

Program import(const fxir::Module &graph) {
    Program program;
    std::map<fxir_node, std::size_t> registers;
    for (fxir::Node node : graph.nodes()) {
        const std::vector<fxir::Node> inputs = graph.input_nodes(node);
        if (graph.op(node) == FXIR_OP_OUTPUT) {
            EXPECT(inputs.size() == 1);
            program.result = registers.at(inputs[0].id);
            break;
        }
        Instruction made;
        made.shape = graph.shape(node);
        for (fxir::Node input : inputs) made.inputs.push_back(registers.at(input.id));
        switch (graph.op(node)) {
        case FXIR_OP_PLACEHOLDER: made.kernel = "input"; break;
        case FXIR_OP_CALL_FUNCTION: made.kernel = graph.target(node); break;
        case FXIR_OP_CALL_MODULE: import_leaf(graph.submodule(std::string(graph.target(node))), made); break;
        default: throw std::runtime_error("this backend has no " + std::string(graph.op_name(node)));
        }
        registers[node.id] = program.instructions.size();
        program.instructions.push_back(std::move(made));
    }
    return program;
}

void print(const Program &program) {
    for (std::size_t i = 0; i < program.instructions.size(); i++) {
        const Instruction &now = program.instructions[i];
        std::printf("  r%zu = %s", i, now.kernel.c_str());
        for (std::size_t input : now.inputs) std::printf(" r%zu", input);
        for (const auto &[name, values] : now.immediates) std::printf(" %s=%lld", name.c_str(), (long long)values[0]);
        for (const Weight &weight : now.weights) std::printf(" %s:%zuB", weight.name.c_str(), weight.tensor.size());
        std::printf("\n");
    }
    std::printf("  return r%zu\n", program.result);
}

// forward(a, b): return relu(a + b), with a ReLU that is a submodule; or the backend's own operator.
fxir::Module relu_of_sum() {
    fxir::Module module("ReluOfSum");
    module.add_submodule("relu", FXIR_MODULE_LEAF, "torch.nn.modules.activation.ReLU");
    const fxir::Node a = module.placeholder("a"), b = module.placeholder("b");
    module.output(module.call_module("relu", {module.call_function("_operator.add", {a, b})}));
    return module;
}

fxir::Module add_relu() {
    fxir::Module module("AddRelu");
    const fxir::Node a = module.placeholder("a"), b = module.placeholder("b");
    module.output(module.call_function("backend.add_relu", {a, b}));
    return module;
}

// Everything between the input and torch.flatten goes to the accelerator.
fxir::Module cut_out(fxir::Module &net) {
    std::vector<fxir::Node> nodes;
    for (fxir::Node node : net.nodes()) {
        if (net.op(node) == FXIR_OP_PLACEHOLDER) continue;
        if (net.target(node) == "torch.flatten") break;
        nodes.push_back(node);
    }
    const fxir::Node call = net.fuse(nodes, "run_on_accel_0");
    net.lint();
    return net.submodule(std::string(net.target(call)));
}

void run(const std::string &data) {
    fxir::Module net = fxir::Module::load_json(data + "/resnet20_cifar/model.json",
                                               data + "/resnet20_cifar/model.safetensors");
    EXPECT(net.replace_pattern(relu_of_sum(), add_relu()).size() == 9);
    const Program program = import(cut_out(net));
    print(program);

    // 66 nodes, without torch.flatten, the last layer and the output.
    EXPECT(net.node_count() == 5);
    EXPECT(program.instructions.size() == 63);
    EXPECT(program.result == 62);
    EXPECT((program.instructions.back().shape == std::vector<std::int64_t>{1, 64, 1, 1}));
    const Instruction &conv = program.instructions[1];
    EXPECT(conv.kernel == "torch.nn.modules.conv.Conv2d" && conv.inputs == std::vector<std::size_t>{0});
    EXPECT((conv.immediates.at("padding") == std::vector<std::int64_t>{1, 1}));

    // Each of the 107 weights is bound once, but for the two of the last layer, which stays outside.
    std::set<const void *> bound;
    std::size_t bytes = 0;
    for (const Instruction &instruction : program.instructions)
        for (const Weight &weight : instruction.weights) {
            EXPECT(weight.tensor.data() != nullptr && bound.insert(weight.tensor.data()).second);
            bytes += weight.tensor.size();
        }
    EXPECT(bound.size() == 107 - 2);
    const auto [json, weights] = net.serialize();
    EXPECT(weights.size() == 107);
    std::size_t found = 0;
    for (std::size_t i = 0; i < weights.size(); i++) found += bound.count(weights.tensor(i).data());
    EXPECT(found == bound.size());
    std::printf("%zu weights of %zu bytes bound, none copied; %zu bytes of JSON\n", bound.size(), bytes,
                json.text().size());

    // Errors are exceptions.
    try {
        net.submodule("run_on_accel_1");
        EXPECT(!"a submodule that is not there was found");
    } catch (const fxir::Error &refused) {
        EXPECT(refused.status() == FXIR_NOT_FOUND);
        std::printf("refused: %s\n", refused.what());
    }
}

} // namespace

int main(int argc, char **argv) {
    if (argc != 2) {
        std::fprintf(stderr, "usage: %s DATA\n", argv[0]);
        return 2;
    }
    try {
        run(argv[1]);
    } catch (const std::exception &error) {
        std::fprintf(stderr, "backend: %s\n", error.what());
        return 1;
    }
    std::printf("OK\n");
    return 0;
}
