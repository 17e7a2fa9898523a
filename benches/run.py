#!/usr/bin/env python3
"""Runs the reference workload through fxir's C ABI and through its peers, and says what was reached.

usage: run.py FXIR_BENCH

FXIR_BENCH is benches/fxir_bench.c, built: `fxir_bench N` prints one line of JSON, the seconds that each
step took. Beside it lie fxir_scale_bench, for large graphs and many rules (see scale.py), and
fxir_text_bench, which tells how fast FX code is read and printed. A time is the best of a few runs, each a
process of its own. Peers that are not installed are named and left out (see peers.py). What was measured is
also written to bench.json beside FXIR_BENCH. Nothing else should run on the machine meanwhile.
"""

import json
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "peers"))
import peers
import scale

STEPS = ["build", "replace_pattern", "legalize", "lint", "print"]
TABLE = [1_000, 4_000, 100_000]
# Every pair of N and 2 N in here is a doubling to look at: 4,000 to 256,000, and on to 400,000.
SERIES = [4_000, 8_000, 16_000, 32_000, 64_000, 100_000, 128_000, 200_000, 256_000, 400_000]
MOST_PER_DOUBLING = 2.6
ROUNDS = 10


def fxir(program, sizes):
    """The best time of each step at each N. The sizes take turns, so that a slow minute of the machine meets them all."""
    best = {n: {} for n in sizes}
    for turn in range(ROUNDS):
        print(f"fxir, N = {sizes[0]:,} to {sizes[-1]:,}, round {turn + 1} of {ROUNDS} ...", flush=True)
        for n in sizes:
            out = subprocess.run([program, str(n)], check=True, stdout=subprocess.PIPE, text=True).stdout
            times = json.loads(out)
            best[n] = {step: min(times[step], best[n].get(step, times[step])) for step in STEPS}
    return best


def milliseconds(seconds):
    ms = seconds * 1e3
    return f"{ms:,.0f} ms" if ms >= 100 else f"{ms:.1f} ms" if ms >= 10 else f"{ms:.2f} ms"


def factor(ratio):
    return f"{ratio:,.0f}x" if ratio >= 100 else f"{ratio:.1f}x" if ratio >= 10 else f"{ratio:.2f}x"


def print_rows(rows):
    widths = [max(map(len, column)) for column in zip(*rows)]
    for row in rows:
        first, *rest = (cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths)))
        print("  ".join([first, *rest]).rstrip())


def print_table(n, ours, theirs):
    """One N: our times, then each peer's with how many times ours it is."""
    print(f"\nN = {n:,}   (in brackets: how many times as long as fxir)")
    rows = [["", *STEPS], ["fxir", *(milliseconds(ours[step]) for step in STEPS)]]
    for name, times in theirs.items():
        cells = [f"{milliseconds(times[s])} ({factor(times[s] / ours[s])})" if s in times else "-" for s in STEPS]
        rows.append([name, *cells])
    print_rows(rows)


def print_doublings(times):
    """Each doubling of N, each step: how many times as long. Returns whether all stay in bounds."""
    print(f"\ntimes from N to 2 N (linear is 2x; more than {MOST_PER_DOUBLING}x is marked TOO MUCH)")
    rows, good = [["", *STEPS, ""]], True
    for n in (n for n in SERIES if 2 * n in times):
        ratios = [times[2 * n][step] / times[n][step] for step in STEPS]
        within = max(ratios) <= MOST_PER_DOUBLING
        good &= within
        rows.append([f"{n:,} to {2 * n:,}", *map(factor, ratios), "ok" if within else "TOO MUCH"])
    print_rows(rows)
    return good


def verdicts(ours, torch, mlir, linear):
    """What is aimed at, and (reached or not, or None if it can't be told here, and the figure)."""
    yield from torch_verdicts(ours, torch)
    for n, step, times in [(4_000, "replace_pattern", 3), (100_000, "replace_pattern", 3), (100_000, "build", 1),
                           (100_000, "lint", 1)]:
        what = f"{step} {times} times faster than MLIR in C++ at {n:,}" if times > 1 else \
            f"{step} no slower than MLIR in C++ at {n:,}"
        if n in mlir:
            ratio = mlir[n][step] / ours[n][step]
            yield what, ratio >= times, f"MLIR takes {factor(ratio)} as long"
        else:
            yield what, None, "no MLIR here"
    took = ours[100_000]["legalize"]
    yield "legalize of the shuffled graph in 20 ms at 100,000", took <= 0.020, milliseconds(took)
    yield f"each doubling from 4,000 to 400,000 at most {MOST_PER_DOUBLING}x", linear, "see above"


def torch_verdicts(ours, torch):
    """At 100,000 torch takes most of an hour. What it takes at fewer is a lower bound, and said to be one."""
    for n in [4_000, 100_000]:
        what = f"rewrite 1,000 times faster than torch.fx at {n:,}"
        if not torch:
            yield what, None, "no torch here"
            continue
        most = max(size for size in torch if size <= n)
        ratio = torch[most]["replace_pattern"] / ours[n]["replace_pattern"]
        if most == n:
            yield what, ratio >= 1_000, factor(ratio)
        else:
            yield what, True if ratio >= 1_000 else None, f"more than {factor(ratio)}, what torch takes at {most:,}"


# Megabytes a second; memory in times the text, at most.
TEXT_GOALS = {"read one function": 30, "memory": -25, "read readable nets": 80, "print code": 200,
              "print readable": 200, "print tabular": 200}


def text(program):
    """Reads and prints FX code a few times; returns the best figures."""
    cases = pathlib.Path(__file__).parent.parent / "tests" / "cases"
    nets = sorted(str(path) for path in cases.glob("*/*/*readable.py"))
    runs = []
    for turn in range(3):
        print(f"FX code, round {turn + 1} of 3 ...", flush=True)
        out = subprocess.run([program, *nets], check=True, stdout=subprocess.PIPE, text=True).stdout
        runs.append(json.loads(out))
    return {key: (min if goal < 0 else max)(run[key] for run in runs) for key, goal in TEXT_GOALS.items()}


def text_verdicts(found):
    for key, goal in TEXT_GOALS.items():
        if goal < 0:
            yield f"FX code, {key} while reading at most {-goal}x the text", found[key] <= -goal, f"{found[key]:.1f}x"
        else:
            yield f"FX code, {key} at {goal} MB/s", found[key] >= goal, f"{found[key]:.0f} MB/s"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    program = pathlib.Path(sys.argv[1]).resolve()

    ours = fxir(program, sorted({*TABLE, *SERIES}))
    large = scale.run(program.with_name("fxir_scale_bench"))
    texts = text(program.with_name("fxir_text_bench"))
    torch_name, torch = peers.torch_fx()
    mlir_name, mlir = peers.mlir(TABLE, program.parent / "peers")

    for n in TABLE:
        theirs = {name: times[n] for name, times in [(torch_name, torch), (mlir_name, mlir)] if n in times}
        print_table(n, ours[n], theirs)
    if 100_000 in mlir and not mlir[100_000].get("shuffled"):
        print("MLIR's legalize at 100,000 has nothing out of order; shuffled it takes minutes: FXIR_BENCH_FULL=1")
    linear = print_doublings(ours)
    scale.print_growth(large, milliseconds, factor)

    print()
    all_verdicts = [*verdicts(ours, torch, mlir, linear), *scale.verdicts(large, factor), *text_verdicts(texts)]
    for what, reached, figure in all_verdicts:
        print(f"{ {True: 'reached', False: 'MISSED ', None: '-      '}[reached]}  {what}: {figure}")

    record = {"fxir": ours, "large": large, "text": texts, torch_name: torch, mlir_name: mlir, "cores": os.cpu_count()}
    (program.parent / "bench.json").write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
