"""Writes tests/cases/normalize.jsonl: calls of torch's functions and methods and what fxir makes of
them. torch runs each call in each form; one that gives another result, or does not run, is told on
stderr and left out. Needs torch and expecttest:

    python tools/normalize_cases.py build/cmake/libfxir.so > tests/cases/normalize.jsonl

The calls are torch's own samples (OpInfo), one of each operator and number of arguments.
"""

import ctypes
import json
import math
import operator
import random
import sys
import warnings

import torch
from torch.fx.node import _get_qualified_name
from torch.testing._internal.common_methods_invocations import op_db

FORMS = {"keyword": 0, "positional": 1}
DEFAULTS = {"filled": 0, "kept": 1, "left_out": 2}
NOT_COMPARED = ("empty", "jiterator", "masked.", "nested", "_refs", "linalg.lstsq", "_scaled_mm", "chalf")


class Options(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t)] + [(n, ctypes.c_int32) for n in ("form", "defaults", "input_for_self", "strict")]


class Counts(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in ("changed", "kept", "unknown", "misfits")]


class Library:
    def __init__(self, path):
        self.lib = ctypes.CDLL(path)
        for name in ("fxir_buffer_data", "fxir_error_message"):
            getattr(self.lib, name).argtypes = [ctypes.c_void_p]
            getattr(self.lib, name).restype = ctypes.c_void_p if "data" in name else ctypes.c_char_p
        self.lib.fxir_buffer_size.argtypes = [ctypes.c_void_p]
        self.lib.fxir_buffer_size.restype = ctypes.c_size_t
        for name in ("fxir_module_free", "fxir_buffer_free"):
            getattr(self.lib, name).argtypes = [ctypes.c_void_p]

    def call(self, name, *arguments):
        error = ctypes.c_void_p()
        if getattr(self.lib, name)(*arguments, ctypes.byref(error)):
            raise ValueError(self.lib.fxir_error_message(error).decode())

    def normalized(self, text, form, defaults):
        """The text in another form; None where the call is left alone."""
        module, buffer, counts = ctypes.c_void_p(), ctypes.c_void_p(), Counts()
        data = text.encode()
        options = Options(ctypes.sizeof(Options), form, defaults, 0, 0)
        self.call("fxir_module_read_code", data, ctypes.c_size_t(len(data)), None, ctypes.byref(module))
        try:
            self.call("fxir_normalize_args", module, ctypes.byref(options), ctypes.byref(counts))
            self.call("fxir_module_print", module, 0, None, ctypes.byref(buffer))
            text = ctypes.string_at(self.lib.fxir_buffer_data(buffer), self.lib.fxir_buffer_size(buffer)).decode()
            self.lib.fxir_buffer_free(buffer)
        finally:
            self.lib.fxir_module_free(module)
        return None if counts.unknown or counts.misfits else text


class NoLiteral(Exception):
    pass


def spelled(value, tensors):
    if isinstance(value, torch.Tensor):
        tensors.append(value)
        return f"t{len(tensors) - 1}"
    if isinstance(value, list):
        return "[" + ", ".join(spelled(item, tensors) for item in value) + "]"
    if isinstance(value, tuple):
        items = [spelled(item, tensors) for item in value]
        return "(" + ", ".join(items) + ("," if len(items) == 1 else "") + ")"
    if isinstance(value, (torch.dtype, torch.layout, torch.memory_format)):
        return str(value)
    is_plain = value is None or type(value) in (bool, int, str) or (type(value) is float and math.isfinite(value))
    if not is_plain:
        raise NoLiteral
    return repr(value)


def code_of(call, tensors):
    names = "".join(f", t{i}" for i in range(len(tensors)))
    return f"def forward(self{names}):\n    out = {call}\n    return out\n"


def call_in(text):
    line = next(line.strip() for line in text.splitlines() if line.strip().startswith("out = "))
    return line.removeprefix("out = ").split(";  t0 = ")[0].strip()


def run(text, tensors):
    names = dict(torch=torch, device=torch.device, inf=math.inf, nan=math.nan, operator=operator, _operator=operator)
    exec(text, names)
    torch.manual_seed(0)
    return names["forward"](None, *[tensor.clone() for tensor in tensors])


def same(a, b):
    if isinstance(a, torch.Tensor):
        if not isinstance(b, torch.Tensor) or (a.dtype, a.shape, a.layout) != (b.dtype, b.shape, b.layout):
            return False
        return a.layout != torch.strided or torch.allclose(a, b, rtol=0, atol=0, equal_nan=True)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b))
    return a == b or (a != a and b != b)


def calls(info):
    """Calls of the function and of the method, with their tensors."""
    dtype = torch.float32 if torch.float32 in info.supported_dtypes("cpu") else min(info.supported_dtypes("cpu"), key=str)
    for sample in list(info.sample_inputs("cpu", dtype))[:12]:
        tensors = []
        try:
            first, *args = [spelled(value, tensors) for value in (sample.input, *sample.args)]
            kwargs = [f"{name} = {spelled(value, tensors)}" for name, value in sample.kwargs.items()]
        except NoLiteral:
            continue
        name = _get_qualified_name(info.op)
        if name.startswith(("torch", "_operator")):
            yield (name, len(args), tuple(sample.kwargs)), f"{name}({', '.join([first, *args, *kwargs])})", tensors
        method = getattr(info.method_variant, "__name__", "")
        if isinstance(sample.input, torch.Tensor) and method and hasattr(torch.Tensor, method):
            yield ("." + method, len(args), tuple(sample.kwargs)), f"{first}.{method}({', '.join([*args, *kwargs])})", tensors


def main(library):
    seen = set()
    for info in op_db:
        if any(word in info.name for word in NOT_COMPARED):
            continue
        try:
            samples = list(calls(info))
        except Exception as error:
            print("no samples:", info.name, type(error).__name__, file=sys.stderr)
            continue
        for key, call, tensors in samples:
            if key in seen or len(call) > 400:
                continue
            text = code_of(call, tensors)
            try:
                wanted = run(text, tensors)
            except Exception:
                continue
            row = {"call": call, "inputs": len(tensors)}
            for form, form_number in FORMS.items():
                for defaults, number in DEFAULTS.items():
                    other = library.normalized(text, form_number, number)
                    if other is None:
                        continue
                    try:
                        is_same = same(wanted, run(other, tensors))
                    except Exception as error:
                        is_same = False
                        print(type(error).__name__, str(error)[:100], file=sys.stderr)
                    if is_same:
                        row[f"{form} {defaults}"] = call_in(other)
                    else:
                        print("another result:", call, "as", call_in(other), file=sys.stderr)
            # Calls of one input and nothing else say little.
            if len({*row.values()}) > 4:
                seen.add(key)
                print(json.dumps(row))


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    random.seed(0)
    torch.manual_seed(0)
    main(Library(sys.argv[1]))
