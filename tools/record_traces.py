"""Records what torch.fx.symbolic_trace makes of Python text: the cases in tests/cases/trace.jsonl.

Run it with a Python that has torch, from the folder `tools`. A case has the text, the members of the module
that it defines, if it is one, and either the code of the traced graph or the error that torch gives.
"""

import json
import linecache
import warnings

import torch
import torch.fx
from torch.fx.experimental.rewriter import RewritingTracer

HEAD = "import math\nimport operator\nimport torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n"

EXPRESSIONS = """
abs(x) | round(x) | int(x) | float(x) | len(x) | min(x, y) | max([x, y]) | sum([x, y]) | divmod(x, y) | pow(x, 2)
isinstance(x, torch.Tensor) | print(x) | range(x) | list(x) | tuple(x) | getattr(x, "shape") | hasattr(x, "foo")
x.shape | x in [1, 2] | 1 in x | x is None | x is not y | not x | x and y | None and x | 0 or x | x < y | x < y < 3
x if y else 1 | math.sqrt(x) | operator.add(x, 1) | operator.getitem(x, 0) | operator.not_(x) | operator.neg(x)
2 + x | 2 @ x | x[0] | x[..., 1:2] | x[:, None] | x[::2, 1:] | -x | +x | ~x | x.relu | x.relu() | [x, (y, 2)]
{"a": x, "b": [y]} | torch.cat([x, y], dim=1) | torch.add(x, y, alpha=2) | F.relu(x, inplace=True) | F.relu(x)
F.linear(x, y) | F.dropout(x, 0.3) | F.dropout(x, training=False) | F.softmax(x, dim=-1) | F.gelu(x) | F.sigmoid(x)
F.max_pool2d(x, 2) | F.max_pool2d(x, 3, padding=1) | F.avg_pool2d(x, 2) | F.conv2d(x, y, padding=1) | F.layer_norm(x, (3,))
F.interpolate(x, scale_factor=2.0) | F.pad(x, (1, 1)) | F.cross_entropy(x, y) | F.embedding(x, y) | F.normalize(x)
F.batch_norm(x, y, y, training=True) | F.log_softmax(x, 1) | F.silu(x) | F.hardtanh(x, -2.0) | F.group_norm(x, 2)
torch.split(x, 2) | torch.split(x, 2, dim=1) | torch.einsum("ij,jk->ik", x, y) | torch.meshgrid(x, y) | torch.norm(x)
torch.cdist(x, y) | torch.tensordot(x, y) | torch.linalg.norm(x) | torch.fft.fft(x, 8) | torch.special.expit(x)
torch.ops.aten.add.Tensor(x, y) | torch.nn.functional.relu(x) | torch.sigmoid(x) | torch.tanh(x) | torch.matmul(x, y)
bool(x) | x(1) | x.T.shape[0] | x.shape[0] // 2 | x ** 2 | 2 ** x | x // 2 | x % 2 | x << 1 | x >> 1 | x & y | x | y
x ^ y | 3 - x | 3 < x | 3 <= x | 3 == x | 3 > x | x != 3 | [a for a in (x, y)] | {k: v for k, v in [("a", x)]}
slice(x, y) | x[slice(1, 2)] | (x := y) | sorted([x, y]) | torch.Size([1, 2]) | x.view(*x.shape) | x.view(*[1, 2])
torch.relu(**{"input": x}) | x.new_zeros([2]).to(torch.float32) | x.to(device="cpu") | x.to(torch.device("cpu")) | iter(x)
next(x) | any([x]) | all([x, y]) | x.foo.bar | x.foo.bar(1) | math.floor(3.7) + x | math.pi * x | float("inf") * x
torch.finfo(torch.float32).min + x | torch.finfo(torch.float16).max + x | complex(1, 2) * x | x.__add__(y) | x.__matmul__(y)
torch.jit.is_scripting() | x.size()[0] | range(3) | x.is_cuda | x[x > 0] | "a" in {"a": x} | [x][0] | (x, y)[1] | [x] + [y]
[x] * 2 | (x,) + (y,) | x if True else y | [i * x for i in range(3) if i != 1] | 7 // 2 * x | -7 // 2 * x | -7 % 3 * x
2 ** 10 + x | 1 / 4 * x | (1 << 4) * x | [1, 2, 3][-1] * x | [x, y, x][::2] | "ab" * 2 == "abab" and x | (lambda a: a + 1)(x)
[b for a in [[x], [y, x]] for b in a] | dict(a=x)["a"] | {"a": 1}.get("b", x) | max(1, 3) * x | min([4, 2]) * x | round(2.6) * x
list(zip([1, 2], [x, y])) | [i for i in enumerate([x, y], 1)] | int(3.9) * x | len([x, y]) * x | sum(range(4)) * x | abs(-3) * x
isinstance(3, int) and x | isinstance((1, 2), (list, tuple)) and x | math.sqrt(16.0) * x | math.prod([2, 3]) * x | 10 - 2 * 3 + x
x.mean((1, 2), keepdim=True) | x.permute(0, 2, 1).contiguous() | torch.stack((x, y), 0) | torch.where(x > 0, x, y) | x[0][1, :]
x.view(x.size(0), -1) | x.view(x.shape[0], *[2, 3]) | torch.add(x, other=y) | x.add(other=y, alpha=2) | x.float() | x.dtype
not isinstance(x, int) and x | x.shape[-1] ** -0.5 | str(3) == "3" and x | [*[x, y], 1] | {**{"a": x}, "b": y} | f"{3}" == "3" and x
math.floor(x) | math.log(x, 2) | operator.add(1, 2) * x | operator.mul(x, y) | x is x | 1 < 2 < 3 and x | x != None
""".strip()

FUNCTIONS = {
    "unpack": "def f(x):\n    a, b = x\n    return a + b\n",
    "unpack_star": "def f(x):\n    a, *b = x\n    return a\n",
    "unpack_nested": "def f(x):\n    (a, b), c = x\n    return a + b + c\n",
    "unpack_constant": "def f(x):\n    (a, *b), c = (1, 2, 3), x\n    return c * a + b[1]\n",
    "keyword_only": "def f(x, *, n=3, **kw):\n    return x + n + kw['a']\n",
    "args": "def f(*args):\n    return args[0]\n",
    "args_iterated": "def f(*args):\n    for a in args:\n        pass\n    return 1\n",
    "defaults": "def f(x, n: int = 3, m=None) -> torch.Tensor:\n    return x + n\n",
    "defaults_nested": "def f(x, p=(1, [2, None]), d=torch.float32):\n    return x\n",
    "augmented": "def f(x):\n    x += 1\n    x *= 2\n    x //= 3\n    return x\n",
    "augmented_list": "def f(x):\n    l = []\n    l += [x]\n    l.append(x + 1)\n    return torch.cat(l)\n",
    "loop": "def f(x):\n    for i in range(3):\n        if i == 1:\n            continue\n        x = x + i\n    else:\n        x = x * 2\n    return x\n",
    "loop_break": "def f(x):\n    for i in range(5):\n        if i == 2:\n            break\n        x = x + i\n    else:\n        x = x * 2\n    return x\n",
    "loop_pairs": "def f(x, y):\n    for i, (a, b) in enumerate(zip([x, y], [y, x])):\n        x = x + a * i - b\n    return x\n",
    "while": "def f(x):\n    i = 0\n    while i < 3:\n        x = x * i\n        i += 1\n    return x\n",
    "assert": "def f(x):\n    assert x.sum() > 0, 'neg'\n    return x\n",
    "assert_silent": "def f(x):\n    assert x.sum() > 0\n    assert 1 < 2, 'never'\n    return x\n",
    "assert_fails": "def f(x):\n    assert 2 < 1, 'always'\n    return x\n",
    "delete": "def f(x):\n    y = x + 1\n    del y\n    return x\n",
    "no_grad": "def f(x):\n    with torch.no_grad():\n        x = x + 1\n    return x\n",
    "nothing_returned": "def f(x):\n    x + 1\n",
    "shadow": "def f(input, list):\n    return input + list\n",
    "dict_returned": "def f(x):\n    return {'a': x, 'b': [x, 1]}\n",
    "attributes": "def f(x):\n    s = x.shape\n    a = s[0]\n    b = s[1]\n    c = x.shape\n    return c\n",
    "attribute_unused": "def f(x):\n    s = x.shape\n    return x\n",
    "method_bound": "def f(x):\n    r = x.relu\n    return r() + r()\n",
    "inline": "def h(x, n=2, *r, k=3):\n    return x * n, k\ndef f(x):\n    a, b = h(x, 4, k=x)\n    return h(a)[0] + b\n",
    "inline_star": "def h(*a, **k):\n    return a[0] * a[1] + k['z']\ndef f(x):\n    return h(*[x, 2], **{'z': x})\n",
    "inline_none": "def h(x):\n    x = x + 1\ndef f(x):\n    return h(x)\n",
    "inline_missing": "def h(x, y):\n    return x\ndef f(x):\n    return h(x)\n",
    "inline_extra": "def h(x):\n    return x\ndef f(x):\n    return h(x, x)\n",
    "inline_unknown_keyword": "def h(x):\n    return x\ndef f(x):\n    return h(x, k=x)\n",
    "recursive": "def h(x, n):\n    return x if n == 0 else h(x + n, n - 1)\ndef f(x):\n    return h(x, 4)\n",
    "closure": "def f(x):\n    def g(y):\n        return x * y + k\n    k = 3\n    return g(g(x))\n",
    "closures_in_list": "def f(x):\n    fs = [lambda v, i=i: v * i for i in range(3)]\n    for g in fs:\n        x = g(x)\n    return x\n",
    "comprehension": "def f(x):\n    return torch.stack([x + i for i in range(3)])\n",
    "constants": "N = 3\nSHAPE = (N, -1)\ndef f(x):\n    return x.view(SHAPE) * N\n",
    "branch_value": "def f(x):\n    if x.sum() > 0:\n        return x\n    return -x\n",
    "branch_none": "def f(x, y=None):\n    if y is None:\n        return x\n    return x + y\n",
    "branch_elif": "def f(x, n=2):\n    m = 2\n    if m == 1:\n        x = x + 1\n    elif m == 2:\n        x = x + 2\n    else:\n        x = x + 3\n    return x\n",
    "loop_value": "def f(x):\n    for a in x:\n        pass\n    return -x\n",
    "loop_range_value": "def f(x):\n    for a in range(x.shape[0]):\n        pass\n    return -x\n",
    "star_value": "def f(x, *args, **kwargs):\n    return torch.add(x, *args, **kwargs)\n",
    "positional_only": "def f(x, y, /, z):\n    return x + y + z\n",
    "raise": "def f(x):\n    raise ValueError('no')\n",
    "raise_not_reached": "def f(x):\n    if False:\n        raise ValueError('no')\n    return x\n",
    "undefined": "def f(x):\n    return x + undefined_name\n",
    "nested_calls": "def f(x, w, b):\n    return F.relu(torch.matmul(torch.sigmoid(x + 1) * 2, w.t()) + b).sum(dim=-1)\n",
    "two_in_a_line": "def f(x):\n    a = x + 1; b = a * 2\n    c, d = a, b\n    c = d = c + d\n    return c - d\n",
    "attention": "def f(q, k, v, mask):\n    scale = q.size(-1) ** -0.5\n    s = torch.matmul(q, k.transpose(-2, -1)) * scale\n    s = s.masked_fill(mask == 0, float('-inf'))\n    return torch.matmul(F.softmax(s, dim=-1), v)\n",
    "names": "def f(x):\n    add = x + 1\n    add_1 = add + 2\n    return torch.add(add_1, add)\n",
    "lists": "def f(x):\n    a = [x, 1]\n    b = a\n    b.append(x + 1)\n    a.insert(0, x * 2)\n    a[1] = a.pop()\n    return a + b[:1]\n",
    "dicts": "def f(x):\n    d = {'a': x}\n    d['b'] = x + 1\n    d.update({'c': 3})\n    return [v for v in d.values()], sorted(d.keys()), d.pop('a')\n",
    "walrus": "def f(x):\n    if (n := 3) > 2:\n        x = x * n\n    return x\n",
    "ternary": "def f(x):\n    return x + 1 if len([1]) == 1 else x\n",
    "docstring": 'def f(x):\n    """What it does."""\n    # a comment\n    return x\n',
    "annotated": "def f(x: torch.Tensor, y: int):\n    b: torch.Tensor = x + 1\n    c: int\n    return b\n",
    "star_return": "def f(x, y):\n    return *[x, y], 3\n",
    "unpack_wrong": "def f(x):\n    a, b = [x]\n    return a\n",
    "many": "def f(x):\n" + "".join(f"    x = torch.relu(x + {i})\n" for i in range(40)) + "    return x\n",
}

MODULES = {
    "parameters": """class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(2, 2)
        self.w = nn.Parameter(torch.ones(2))
        self.register_buffer("b", torch.ones(2))
        self.n = 3
        self.shared = self.w
    def forward(self, x):
        y = self.lin(x) * self.w + self.b * x + self.n
        return y + self.w + self.b + self.shared
""",
    "nested": """class Block(nn.Module):
    def __init__(self, scale):
        super().__init__()
        self.lin = nn.Linear(2, 2)
        self.scale = scale
    def forward(self, x):
        return self.lin(x) * self.scale
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = Block(2)
        self.second = Block(3)
        self.seq = nn.Sequential(nn.ReLU(), Block(4), nn.Sequential(nn.Tanh()))
    def forward(self, x):
        return self.seq(self.second(self.first(x)) + self.first.lin.weight)
""",
    "lists": """class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 2)])
        self.heads = nn.ModuleDict({"a": nn.Tanh(), "b": nn.ReLU()})
    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        for i, layer in enumerate(self.layers[1:]):
            x = layer(x) + i
        return self.layers[-1](x) + self.heads["a"](x) * len(self.layers)
""",
    "methods": """class M(nn.Module):
    SCALE = 2.0
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(2))
        self.use = False
    @property
    def twice(self):
        return self.w * 2
    @staticmethod
    def plain(x):
        return x + 1
    def helper(self, x, n=1):
        return x * self.w * n
    def forward(self, x):
        if self.use:
            x = x + 100
        if self.training:
            x = F.dropout(x, 0.1, self.training)
        self.cache = self.helper(x, n=3) * self.SCALE
        return self.plain(self.cache) + self.twice
""",
    "buffers": """class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("b", torch.ones(2, 3))
        self.register_buffer("c", torch.ones(2, dtype=torch.int32))
    def forward(self, x):
        a = self.b + x, self.b - x, self.b / x, self.b // x, self.b % x, self.b ** x, self.b @ x
        c = self.c << x, self.c & x, self.c | x, self.c ^ x
        d = self.b < x, self.b == x, self.b[x], x[self.b], x + self.b, x == self.b, torch.add(self.b, x)
        return a, c, d, self.b.view(x.shape), [self.b, x], self.b.shape, self.b.size(0), self.b.dim(), self.b.dtype
""",
    "missing": """class M(nn.Module):
    def __init__(self):
        super().__init__()
    def forward(self, x):
        return self.nothing(x)
""",
    "module_as_value": """class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(2, 2)
    def forward(self, x):
        return x + self.lin
""",
    "residual": """class BasicBlock(nn.Module):
    expansion = 1
    def __init__(self, planes, downsample=None):
        super().__init__()
        self.conv1 = nn.Conv2d(planes, planes, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(planes)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = downsample
    def forward(self, x):
        identity = x
        out = self.relu(self.bn1(self.conv1(x)))
        if self.downsample is not None:
            identity = self.downsample(x)
        out += identity
        return self.relu(out)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Sequential(BasicBlock(4), BasicBlock(4, nn.Conv2d(4, 4, 1)))
        self.fc = nn.Linear(4, 10)
    def forward(self, x):
        x = self.layer(x)
        x = torch.flatten(F.adaptive_avg_pool2d(x, (1, 1)), 1)
        return self.fc(x)
""",
    "inherited": """class Base(nn.Module):
    def __init__(self):
        super().__init__()
        self.act = nn.ReLU()
    def scale(self, x):
        return x * 2
    def forward(self, x):
        return self.act(self.scale(x))
class M(Base):
    def scale(self, x):
        return x * 3
""",
}


def members(module):
    """What a module holds: what the native side cannot find in the text."""
    found = []
    for path, child in module.named_modules():
        if path:
            kind = type(child)
            found.append({"path": path, "type": f"{kind.__module__}.{kind.__qualname__}"})
    seen = {}
    for owner, child in module.named_modules():
        prefix = owner + "." if owner else ""
        for name, tensor in child._parameters.items():
            if tensor is None:
                found.append({"path": prefix + name, "value": "None"})
                continue
            entry = {"path": prefix + name, "parameter": list(tensor.shape), "dtype": str(tensor.dtype)}
            if tensor in seen:
                entry["same"] = seen[tensor]
            seen.setdefault(tensor, prefix + name)
            found.append(entry)
        for name, tensor in child._buffers.items():
            found.append({"path": prefix + name, "buffer": list(tensor.shape), "dtype": str(tensor.dtype)})
        for name, value in vars(child).items():
            if not name.startswith("_") and isinstance(value, (bool, int, float, str, tuple, type(None))):
                found.append({"path": prefix + name, "value": repr(value)})
    return found


def record(name, text, entry):
    whole = HEAD + text
    file = f"<{name}>"
    linecache.cache[file] = (len(whole), None, whole.splitlines(True), file)
    space = {"__name__": "case"}
    exec(compile(whole, file, "exec"), space)
    # The rewriting tracer needs the name free.
    root = space.pop(entry) if "assert" in text else space[entry]
    case = {"name": name, "text": whole}
    if isinstance(root, type):
        root = root()
        case["members"] = members(root)
    try:
        tracer = RewritingTracer() if "assert" in text else torch.fx.Tracer()
        graph = tracer.trace(root)
        case["code"] = torch.fx.GraphModule(tracer.root, graph).code
    except Exception as error:
        case["error"] = f"{type(error).__name__}: {error}".splitlines()[0][:120]
    return case


def main():
    warnings.simplefilter("ignore")
    cases = []
    expressions = [part.strip() for line in EXPRESSIONS.splitlines() for part in line.replace("x | y", "x \0 y").split(" | ")]
    for expression in expressions:
        expression = expression.replace("\0", "|")
        cases.append(record(expression, f"def f(x, y):\n    return {expression}\n", "f"))
    for name, text in FUNCTIONS.items():
        cases.append(record(name, text, "f"))
    for name, text in MODULES.items():
        entry = [line for line in text.splitlines() if line.startswith("class ")][-1].split("(")[0][6:]
        cases.append(record(name, text, entry))
    with open("../tests/cases/trace.jsonl", "w") as out:
        for case in cases:
            out.write(json.dumps(case) + "\n")


if __name__ == "__main__":
    main()
