"""Peer: torch.fx. The reference workload: N blocks mul -> add -> relu with a residual every 4th block, relu(add(a, b)) rewritten to
hardswish(sub(a, b)).

usage: python bench_torch_fx.py N   -> JSON of seconds per step
"""
import sys, time, json, torch, torch.fx as fx
from torch.fx import Graph, GraphModule
from torch.fx.subgraph_rewriter import replace_pattern
from torch.fx.passes.tools_common import legalize_graph
sys.setrecursionlimit(10**6)
N = int(sys.argv[1])
def build(n):
    g = Graph(); x = g.placeholder("x"); w = g.placeholder("w"); skip = x
    for i in range(n):
        y = g.call_function(torch.mul, (x, w)); z = g.call_function(torch.add, (y, skip if i % 4 == 3 else w))
        x = g.call_function(torch.relu, (z,))
        if i % 4 == 3: skip = x
    g.output(x); return g
r = {}
def t(k, f):
    s = time.perf_counter(); v = f(); r[k] = time.perf_counter() - s; return v
g = t("build", lambda: build(N))
gm = t("graph_module", lambda: GraphModule(torch.nn.Module(), g))
def pat(a, b): return torch.relu(torch.add(a, b))
def rep(a, b): return torch.nn.functional.hardswish(torch.sub(a, b))
ms = t("replace_pattern", lambda: replace_pattern(gm, pat, rep))
r["matches"] = len(ms)
# give legalize work: every third node of the body moves to the front
body = [n for n in gm.graph.nodes if n.op not in ("placeholder", "output")]; head = body[0]
for n in body[3::3]: head.prepend(n)
t("legalize", lambda: legalize_graph(gm))
t("lint", lambda: gm.graph.lint())
t("print", lambda: str(gm.graph))
r["nodes"] = len(gm.graph.nodes); r["version"] = torch.__version__
print(json.dumps(r))
