"""Writes src/passes/schema/signatures.txt: what torch's operators, functions and modules may be
called with. Run it in an environment with the torch whose signatures are wanted:

    python tools/signatures.py > src/passes/schema/signatures.txt

One signature a line, sorted by name, in the form in which torch prints operator schemas:

    aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
    torch.nn.functional.relu(Tensor input, bool inplace=False)
    torch.Tensor.unflatten(self, dim, sizes) !method
    torch.nn.Linear.forward(Tensor input)
    _operator.add(a, b, /)

A parameter without a type takes anything, and a default `?` has no spelling. ` !random` at the end
says that an operator draws random numbers, ` !method` that tensors have a method of its name.
"""

import inspect
import operator
import typing

import torch
import torch._prims
from torch._jit_internal import boolean_dispatched

MODULES = {
    "_operator",
    "torch",
    "torch._linalg_utils",
    "torch._lobpcg",
    "torch._lowrank",
    "torch.functional",
    "torch.nn.functional",
    "torch.random",
}
# With an underscore before their names, and yet in graphs.
INNER = ("torch._assert", "torch._check", "torch._constrain", "torch._sym", "torch.nn.functional._threshold", "torch._linalg_utils._symeig")
TYPES = {torch.Tensor: "Tensor", int: "int", float: "float", bool: "bool", str: "str"}


def spelled_type(annotation):
    """None where an operator schema has no such type."""
    if annotation in TYPES:
        return TYPES[annotation]
    if isinstance(annotation, str):
        return {"Optional[Tensor]": "Tensor?", "Tensor": "Tensor"}.get(annotation)
    parts = typing.get_args(annotation)
    if typing.get_origin(annotation) is typing.Union and len(parts) == 2 and type(None) in parts:
        inner = spelled_type(parts[0] if parts[1] is type(None) else parts[1])
        return inner and inner + "?"
    if typing.get_origin(annotation) is list and len(parts) == 1:
        inner = spelled_type(parts[0])
        return inner and inner + "[]"
    return None


def spelled_default(value):
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if value is None or isinstance(value, (bool, int, float)):
        return repr(value)
    return "[]" if value in ((), []) else "?"


def spelled(name, signature, skip_self=False):
    parts, kinds = [], inspect.Parameter
    parameters = list(signature.parameters.values())[1 if skip_self else 0 :]
    previous = None
    for parameter in parameters:
        if previous == kinds.POSITIONAL_ONLY and parameter.kind != previous:
            parts.append("/")
        if parameter.kind == kinds.KEYWORD_ONLY and previous not in (kinds.VAR_POSITIONAL, kinds.KEYWORD_ONLY):
            parts.append("*")
        previous = parameter.kind
        stars = {kinds.VAR_POSITIONAL: "*", kinds.VAR_KEYWORD: "**"}.get(parameter.kind, "")
        # Annotated for TorchScript as what it is not.
        type_ = "ScalarType?" if parameter.name == "dtype" else spelled_type(parameter.annotation)
        text = (type_ + " " if type_ and not stars else "") + stars + parameter.name
        if parameter.default is not kinds.empty:
            text += "=" + spelled_default(parameter.default)
        parts.append(text)
    if previous == kinds.POSITIONAL_ONLY:
        parts.append("/")
    return f"{name}({', '.join(parts)})"


def says_something(signature):
    kinds = inspect.Parameter
    return any(p.kind not in (kinds.VAR_POSITIONAL, kinds.VAR_KEYWORD) for p in signature.parameters.values()) or not any(
        p.kind == kinds.VAR_KEYWORD for p in signature.parameters.values()
    )


# Functions that say nothing of what they take, and those behind them.
BEHIND = {
    "torch.functional.unique": torch.functional._unique_impl,
    "torch.functional.unique_consecutive": torch.functional._unique_consecutive_impl,
}


def all_but_first_by_keyword(signature):
    first, *others = signature.parameters.values()
    others = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in others]
    return signature.replace(parameters=[first, *others])


def operators():
    for schema in torch._C._jit_get_all_schemas():
        if schema.name.startswith(("aten::", "prims::")):
            namespace, rest = schema.name.split("::")
            overload = getattr(getattr(getattr(torch.ops, namespace), rest), schema.overload_name or "default")
            random = torch.Tag.nondeterministic_seeded in overload.tags
            has_self = any(a.name == "self" and str(a.type) == "Tensor" for a in schema.arguments)
            method = namespace == "aten" and has_self and hasattr(torch.Tensor, rest)
            yield str(schema) + (" !random" if random else "") + (" !method" if method else "")


def functions():
    for module in (operator, torch, torch.functional, torch.nn.functional):
        for name in dir(module):
            function = getattr(module, name)
            home = getattr(function, "__module__", None)
            if home not in MODULES or inspect.isclass(function) or not callable(function):
                continue
            own = f"{home}.{function.__name__}"
            if function.__name__.startswith("_") and not own.startswith(INNER):
                continue
            # One function in front of two, which take the same.
            behind = boolean_dispatched.get(function, {}).get("if_true", function)
            try:
                signature = inspect.signature(BEHIND.get(own, behind))
            except ValueError:
                continue
            # It looks for `return_counts` at a position where it is not: only by keyword it is found.
            if own == "torch.functional.unique_consecutive":
                signature = all_but_first_by_keyword(signature)
            if says_something(signature):
                yield spelled(own, signature)
                # `threshold` says that its name is `_threshold`.
                if module is torch.nn.functional and home == module.__name__ and name != function.__name__:
                    yield spelled(f"{home}.{name}", signature)


# Methods of tensors that are neither operators nor written in Python: torch's documentation tells
# what they take.
CASTS = "bfloat16 bool byte cdouble cfloat char cpu double float half int long short".split()
OTHERS = [
    "cuda(self, Device? device=None, bool non_blocking=False, *, MemoryFormat? memory_format=?)",
    "element_size(self)",
    "ndimension(self)",
    "nelement(self)",
    "tolist(self)",
    "type(self, dtype=None, bool non_blocking=False)",
]


def methods():
    for cast in CASTS:
        yield f"torch.Tensor.{cast}(self, *, MemoryFormat? memory_format=?) !method"
    for other in OTHERS:
        yield f"torch.Tensor.{other} !method"
    for name in dir(torch.Tensor):
        method = getattr(torch.Tensor, name)
        if inspect.isfunction(method) and not name.startswith("_"):
            yield spelled(f"torch.Tensor.{name}", inspect.signature(method)) + " !method"


def modules():
    for name in dir(torch.nn):
        found = getattr(torch.nn, name)
        if inspect.isclass(found) and issubclass(found, torch.nn.Module) and found.__module__.startswith("torch.nn.modules."):
            signature = inspect.signature(found.forward)
            if not any(p.kind == inspect.Parameter.VAR_POSITIONAL for p in signature.parameters.values()):
                yield spelled(f"torch.nn.{name}.forward", signature, skip_self=True)


if __name__ == "__main__":
    lines = {line.split("(", 1)[0]: line for line in [*operators(), *functions(), *methods(), *modules()]}
    for _, line in sorted(lines.items()):
        print(line)
