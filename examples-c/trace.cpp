// Patterns that read like the formula: C++ functions are traced, and a rewrite sees every operation
// before it becomes a node.
//
// x * sigmoid(x) becomes one silu, wherever it stands in a small network.
#include <fxir.hpp>

#include <cstdio>
#include <stdexcept>
#include <string>

#define EXPECT(condition) \
    if (!(condition)) throw std::runtime_error("line " + std::to_string(__LINE__) + ": this does not hold: " #condition)

namespace {

using Values = std::vector<fxir::Value>;

fxir::Value linear(fxir::Tracer &tracer, const fxir::Value &x, const std::string &name) {
    const fxir::Value weight = tracer.get_attr(name + ".weight");
    return x.function("torch.nn.functional.linear", {weight, tracer.get_attr(name + ".bias")});
}

// Two layers, with the activation written out as a model's author would.
fxir::Module network() {
    fxir::Module root("Net");
    static const float zeros[4 * 4] = {};
    for (const std::string name : {"first", "second"}) {
        root.add_submodule(name, FXIR_MODULE_LEAF, "torch.nn.modules.linear.Linear");
        root.set_tensor(name + ".weight", fxir::Tensor::borrow(FXIR_DTYPE_FLOAT32, {4, 4}, zeros, sizeof zeros));
        root.set_tensor(name + ".bias", fxir::Tensor::borrow(FXIR_DTYPE_FLOAT32, {4}, zeros, 4 * sizeof(float)));
    }
    const auto forward = [](fxir::Tracer &tracer, const Values &in) -> fxir::Arg {
        const fxir::Value hidden = linear(tracer, in[0], "first");
        const fxir::Value active = hidden * hidden.function("torch.sigmoid");
        const fxir::Value dropped = active.function("torch.nn.functional.dropout", {0.5});
        return linear(tracer, dropped, "second") + 1;
    };
    // Nothing is dropped at inference: what stands for a dropout is what went into it.
    const fxir::TraceRewrite no_dropout = [](fxir::Tracer &tracer, const fxir::Operation &operation) {
        std::optional<fxir::Value> input;
        if (operation.target() == "torch.nn.functional.dropout")
            input = fxir::Value(tracer, operation.raw().args[0].value.node);
        return input;
    };
    return fxir::trace({"x"}, forward, {no_dropout}, &root);
}

void run() {
    fxir::Module net = network();
    const fxir::Module pattern = fxir::trace({"x"}, [](fxir::Tracer &, const Values &in) -> fxir::Arg {
        return in[0] * in[0].function("torch.sigmoid");
    });
    const fxir::Module replacement = fxir::trace({"x"}, [](fxir::Tracer &, const Values &in) -> fxir::Arg {
        return in[0].function("torch.nn.functional.silu");
    });
    EXPECT(net.replace_pattern(pattern, replacement).size() == 1);
    net.lint();
    std::printf("%.*s", int(net.print_tabular().text().size()), net.print_tabular().text().data());

    std::vector<std::string> targets;
    for (fxir::Node node : net.nodes()) targets.emplace_back(net.target(node));
    EXPECT((targets == std::vector<std::string>{"x", "first.weight", "first.bias", "torch.nn.functional.linear",
                                                "second.weight", "second.bias", "torch.nn.functional.silu",
                                                "torch.nn.functional.linear", "_operator.add", "output"}));

    // What a traced function or a rewrite throws comes out again.
    try {
        const fxir::TraceRewrite refuse = [](fxir::Tracer &, const fxir::Operation &now) -> std::optional<fxir::Value> {
            throw std::domain_error("no kernel for " + std::string(now.target()));
        };
        fxir::trace({"x"}, [](fxir::Tracer &, const Values &in) -> fxir::Arg { return -in[0]; }, {refuse});
        EXPECT(!"a rewrite that throws was not noticed");
    } catch (const std::domain_error &refused) {
        EXPECT(std::string(refused.what()) == "no kernel for _operator.neg");
        std::printf("refused: %s\n", refused.what());
    }
}

} // namespace

int main() {
    try {
        run();
    } catch (const std::exception &error) {
        std::fprintf(stderr, "trace: %s\n", error.what());
        return 1;
    }
    std::printf("OK\n");
    return 0;
}
