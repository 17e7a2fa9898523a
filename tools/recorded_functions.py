"""Prints how torch.fx records calls of torch's functions: the table src/formats/python/trace/functions.txt.

Run it with a Python that has torch. A line is one of
    spelled = recorded                          another name for the same arguments
    spelled (signature) = recorded (a, b; c, d) the arguments as they are recorded: positional; keywords
    spelled (signature) = .method (a)           a call of a method
A parameter in the signature that may be left out has its default behind `=`.
"""

import inspect
import warnings

import torch
import torch.fx
import torch.fft
import torch.linalg
import torch.special

MODULES = [torch, torch.nn.functional, torch.linalg, torch.fft, torch.special, torch.functional]
SIMPLE = (type(None), bool, int, float, str)


def signature_of(function, name):
    signature = inspect.signature(function)
    kinds = {parameter.kind for parameter in signature.parameters.values()}
    if kinds == {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}:
        private = getattr(torch.nn.functional, "_" + name, None)  # boolean_dispatch hides the signature
        return inspect.signature(private) if private else None
    return signature


def record(function, signature):
    """The one node that a call with all required arguments makes, and what stands for each parameter."""
    graph = torch.fx.Graph()
    tracer = torch.fx.proxy.GraphAppendingTracer(graph)
    args, kwargs, stands_for = [], {}, {}
    for parameter in signature.parameters.values():
        if parameter.kind == parameter.VAR_POSITIONAL:
            for number in range(2):
                node = graph.placeholder(f"{parameter.name}{number}")
                stands_for[node] = "*" + parameter.name
                args.append(torch.fx.Proxy(node, tracer))
        elif parameter.kind == parameter.VAR_KEYWORD:
            return None
        elif parameter.default is inspect.Parameter.empty:
            node = graph.placeholder(parameter.name)
            stands_for[node] = parameter.name
            proxy = torch.fx.Proxy(node, tracer)
            if parameter.kind == parameter.KEYWORD_ONLY:
                kwargs[parameter.name] = proxy
            else:
                args.append(proxy)
    if not stands_for:
        return None
    function(*args, **kwargs)
    made = [node for node in graph.nodes if node.op != "placeholder"]
    return (made[0], stands_for) if len(made) == 1 else None


def line_of(spelled, function, name):
    if not inspect.isfunction(function):
        recorded = torch.fx.node._get_qualified_name(function)
        return f"{spelled} = {recorded}" if recorded != spelled else None
    signature = signature_of(function, name)
    found = record(function, signature) if signature else None
    if found is None:
        return None
    node, stands_for = found
    positional = []
    for argument in node.args:
        if argument not in stands_for:
            return None
        if stands_for[argument] not in positional:
            positional.append(stands_for[argument])
    for key, value in node.kwargs.items():
        parameter = signature.parameters.get(key)
        if parameter is None or (stands_for.get(value) if isinstance(value, torch.fx.Node) else None) not in (None, key):
            return None
        default = parameter.default
        if not isinstance(value, torch.fx.Node) and (not isinstance(value, SIMPLE) or repr(value) != repr(default)):
            return None
    # Parameters that are left out of what is recorded would be lost.
    recorded_names = {name.lstrip("*") for name in positional} | set(node.kwargs)
    parameters = []
    for parameter in signature.parameters.values():
        stars = "*" if parameter.kind == parameter.VAR_POSITIONAL else ""
        if parameter.kind == parameter.KEYWORD_ONLY and "*" not in parameters and not any(p[0] == "*" for p in parameters):
            parameters.append("*")
        default = "" if parameter.default is inspect.Parameter.empty else f"={parameter.default!r}"
        parameters.append(f"{stars}{parameter.name}{default}")
    if recorded_names != set(signature.parameters):
        return None
    arguments = ", ".join(positional) + ("; " + ", ".join(node.kwargs) if node.kwargs else "")
    if node.op == "call_method":
        return f"{spelled} ({', '.join(parameters)}) = .{node.target} ({arguments})"
    recorded = torch.fx.node._get_qualified_name(node.target)
    if recorded == spelled and not node.kwargs:
        return None
    return f"{spelled} ({', '.join(parameters)}) = {recorded} ({arguments})"


def main():
    warnings.simplefilter("ignore")
    lines = set()
    for module in MODULES:
        for name in sorted(dir(module)):
            function = getattr(module, name)
            if name.startswith("_") or not callable(function) or inspect.isclass(function):
                continue
            try:
                line = line_of(f"{module.__name__}.{name}", function, name)
            except Exception:
                line = None  # traced, it looks at values: it is recorded as it is spelled
            if line:
                lines.add(line)
    print("\n".join(sorted(lines)))


if __name__ == "__main__":
    main()
