"""Modules and weights in files (benches/fxir_file_bench.c): what is aimed at, and what was reached."""

import json
import subprocess
import tempfile

# Megabytes a second, at least; of the last two, milliseconds and megabytes, at most.
GOALS = {"write json": 300, "read json": 150, "save": 300, "load": 150, "open": -10, "resident": -20}
WHAT = {"write json": "300,000 nodes written as JSON", "read json": "300,000 nodes read from JSON",
        "save": "300,000 nodes saved in the native form", "load": "300,000 nodes loaded from it",
        "open": "4 GB of weights opened", "resident": "memory that this takes"}


def run(program):
    runs = []
    for turn in range(3):
        print(f"files, round {turn + 1} of 3 ...", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([str(program), folder], check=True, stdout=subprocess.PIPE, text=True)
        runs.append(json.loads(done.stdout))
    return {key: (min if goal < 0 else max)(run[key] for run in runs) for key, goal in GOALS.items()}


def verdicts(found):
    for key, goal in GOALS.items():
        unit = {"open": "ms", "resident": "MB"}.get(key, "MB/s")
        if goal < 0:
            yield f"{WHAT[key]}: at most {-goal} {unit}", found[key] <= -goal, f"{found[key]:.2f} {unit}"
        else:
            yield f"{WHAT[key]}: at least {goal} {unit}", found[key] >= goal, f"{found[key]:.0f} {unit}"
