"""Runs the peers on the reference workload, where they are installed.

Debian has both: `apt-get install python3-torch` and `apt-get install libmlir-19-dev llvm-19-dev`. torch is
looked for in python3, in the system's python3 and in what FXIR_BENCH_PYTHON names; MLIR through llvm-config.
Each function returns the peer's name and {N: {step: seconds}}, which is empty where the peer is not there.
"""

import json
import os
import pathlib
import shutil
import subprocess

HERE = pathlib.Path(__file__).parent
# Another major version of MLIR may not compile: its C++ API changes.
LLVM_CONFIGS = ["llvm-config-19", "llvm-config-20", "llvm-config-18", "llvm-config"]


def torch_fx():
    """Up to 20,000, where its rewrite takes a minute or two: time grows as N squared."""
    sizes = [1_000, 4_000, 20_000]
    pythons = [os.environ.get("FXIR_BENCH_PYTHON"), shutil.which("python3"), "/usr/bin/python3"]
    for python in filter(None, pythons):
        if _works([python, "-c", "import torch.fx"]):
            break
    else:
        print("no peer torch.fx: no python3 here has torch")
        return "torch.fx", {}
    times = _run("torch.fx", sizes, lambda n: [python, str(HERE / "bench_torch_fx.py"), str(n)])
    version = next((t["version"] for t in times.values()), "?")
    return f"torch.fx {version}", times


def mlir(sizes, folder):
    """Compiles the C++ program into the folder. Above 10,000 legalize gets nothing to do (see README)."""
    for config in filter(shutil.which, LLVM_CONFIGS):
        said = {key: _output([config, f"--{key}"]) for key in ["includedir", "libdir", "version"]}
        if pathlib.Path(said["includedir"], "mlir/IR/Builders.h").exists():
            break
    else:
        print("no peer MLIR: no llvm-config here knows of MLIR's headers")
        return "MLIR, C++", {}
    major = said["version"].split(".")[0]
    program = folder / f"mlir_bench_{major}"
    folder.mkdir(parents=True, exist_ok=True)
    command = [os.environ.get("CXX", "g++"), "-O2", "-std=c++17", "-fno-rtti", f"-I{said['includedir']}",
               str(HERE / "mlir_bench.cpp"), f"-L{said['libdir']}", f"-Wl,-rpath,{said['libdir']}",
               "-lMLIR", f"-lLLVM-{major}", "-o", str(program)]
    print(f"compiling the peer MLIR {said['version']} ...", flush=True)
    compiled = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if compiled.returncode != 0:
        print(f"no peer MLIR: version {said['version']} does not compile:")
        print("\n".join(compiled.stdout.splitlines()[:5]))
        return "MLIR, C++", {}

    full = os.environ.get("FXIR_BENCH_FULL") == "1"
    shuffled = lambda n: full or n <= 10_000
    times = _run("MLIR", sizes, lambda n: [str(program), str(n)] + ([] if shuffled(n) else ["sorted"]), runs=3)
    for n, found in times.items():
        found["shuffled"] = shuffled(n)
    return f"MLIR {said['version']}, C++", times


def _run(name, sizes, command, runs=1):
    """The best of a few runs for each size; a peer that fails is left out from there on."""
    times = {}
    for n in sizes:
        print(f"{name}, N = {n:,} ...", flush=True)
        for _ in range(runs):
            done = subprocess.run(command(n), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            if done.returncode != 0:
                print(f"{name} failed at {n:,}: {done.stderr.strip()[-300:]}")
                return times
            found = json.loads(done.stdout.splitlines()[-1])
            before = times.get(n, found)
            times[n] = {k: min(v, before[k]) if isinstance(v, float) else v for k, v in found.items()}
    return times


def _works(command):
    return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0 \
        if shutil.which(command[0]) else False


def _output(command):
    return subprocess.run(command, stdout=subprocess.PIPE, text=True).stdout.strip()
