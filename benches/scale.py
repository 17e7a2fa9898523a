"""Large graphs, patterns and rule sets (benches/fxir_scale_bench.c): how time grows, and what is aimed at."""

import json
import subprocess

ROUNDS = 5
MOST_PER_DOUBLING = 2.6
# Blocks of ten nodes, and the nodes of a chain, each twice the one before: up to 1,000,000 nodes.
SIZES = {"graph": [12_500, 25_000, 50_000, 100_000], "chain": [125_000, 250_000, 500_000, 1_000_000]}
# Nodes of a pattern; matches that a filter is asked about; matches of the one rule that can match.
OTHERS = {"pattern": 10_000, "filter": 100_000, "rules": 100_000}


def run(program):
    """{subject: {size: {step: seconds}}}, the best of a few rounds that the sizes take turns in."""
    jobs = [(subject, size) for subject, sizes in SIZES.items() for size in sizes] + list(OTHERS.items())
    found = {subject: {} for subject, _ in jobs}
    for turn in range(ROUNDS):
        print(f"large graphs, round {turn + 1} of {ROUNDS} ...", flush=True)
        for subject, size in jobs:
            command = [str(program), subject, str(size)]
            times = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
            best = found[subject].setdefault(size, times)
            found[subject][size] = {step: min(times[step], best[step]) for step in times}
    return found


def growth(found, subject):
    """The largest size, and for each step its seconds there and how many times as long each doubling took."""
    sizes = SIZES[subject]
    steps = found[subject][sizes[-1]]
    ratio = lambda step, n: found[subject][2 * n][step] / found[subject][n][step]
    return sizes[-1], {step: (steps[step], [ratio(step, n) for n in sizes[:-1]]) for step in steps}


def print_growth(found, milliseconds, factor):
    for subject, unit in [("graph", 10), ("chain", 1)]:
        size, steps = growth(found, subject)
        print(f"\n{subject} of {unit * size:,} nodes: each step, and what each doubling up to there cost")
        width = max(map(len, steps))
        for step, (seconds, ratios) in steps.items():
            print(f"{step.ljust(width)}  {milliseconds(seconds).rjust(8)}   {'  '.join(map(factor, ratios))}")
    for step, seconds in found["pattern"][OTHERS["pattern"]].items():
        print(f"a pattern of {OTHERS['pattern']:,} nodes, found ten times: {step} {milliseconds(seconds)}")


def verdicts(found, factor):
    """As run.py's: what is aimed at, whether it was reached, and the figure."""
    for subject, what in [("graph", "1,000,000 nodes"), ("chain", "a chain 1,000,000 deep")]:
        worst = max(ratio for _, ratios in growth(found, subject)[1].values() for ratio in ratios)
        yield f"{what}: each doubling at most {MOST_PER_DOUBLING}x", worst <= MOST_PER_DOUBLING, factor(worst)
    each = found["filter"][OTHERS["filter"]]["each"]
    yield "a filter asked 100,000 times: under 1 us each", each < 1e-6, f"{each * 1e6:.2f} us"
    times = found["rules"][OTHERS["rules"]]
    for kind in ["other anchors", "same anchor"]:
        ratio = times[kind] / times["one"]
        yield f"200 rules, {kind}, of which one can match: under 3 times that one", ratio < 3, factor(ratio)
