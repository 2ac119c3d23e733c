"""Times calls from Python beside other runtimes, in one run in which all take turns.

python bench.py [--rounds N] [--json FILE]

Needs the wheel of a release build: `cargo xtask bench-bindings` makes it and its environment. Runtimes that are not
installed are left out. Timings depend on the host's load: compare rows of one run, not of two.
"""

import argparse
import ctypes
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

for threads in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[threads] = "1"
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

import numpy  # noqa: E402

import fabproj  # noqa: E402

# A convex set, which cvxpylayers can project onto as well.
DISC = """
y = ["a", "b"]
bounds = { a = [-3, 3], b = [-3, 3] }
[[constraint]]
expr = "norm(a, b) <= 1"
"""
# The nearest point, as a problem.
NEAREST = """
y = 2
x = 2
bounds = [-3.0, 3.0]
x_bounds = [-3.0, 3.0]
objective = { minimise = "sum((y - x)^2)" }
[[constraint]]
expr = "y[0] + y[1] <= 1"
"""
ROWS = 100_000
KERNELS = 100
# What CBFKit's authors say a filtered action takes.
CLAIMED = 25.0


class Case:
    """A call, and how many points it projects."""

    def __init__(self, call, points=1):
        self.call, self.points, self.times = call, points, []

    def measure(self, least=0.02):
        """Microseconds per point, over as many calls as fill some time."""
        count = 1
        while True:
            start = time.perf_counter()
            for _ in range(count):
                self.call()
            taken = time.perf_counter() - start
            if taken >= least:
                self.times.append(1e6 * taken / count / self.points)
                return
            count *= 4


def own(model, one, many):
    projector, guard = model.projector(), model.guard()
    solver = fabproj.train(NEAREST, progress=False, samples=100).solver()
    kernel = many.copy()
    return {
        "kernel, one point": Case(lambda: projector._repeat(one, KERNELS), KERNELS),
        "projector, one point": Case(lambda: projector.project(one)),
        "guard, one point": Case(lambda: guard.project(one)),
        "solver, quadratic program, one x": Case(lambda: solver.solve(one)),
        "kernel, rows f64": Case(lambda: projector._repeat(kernel, 1), ROWS),
        "projector, rows f64": Case(lambda: projector.project(many), ROWS),
        "guard, rows f64": Case(lambda: guard.project(many), ROWS),
    }


def in_gymnasium(model, one):
    import gymnasium

    import fabproj.gymnasium

    space = gymnasium.spaces.Box(-3, 3, (2,), "float64")
    filter = fabproj.gymnasium._Filter(model.guard(), space, None, None)
    return {"ProjectAction, one action": Case(lambda: filter(one))}


def in_torch(model, one, singles):
    import torch

    import fabproj.torch

    torch.set_num_threads(1)
    module, fast = fabproj.torch.Projector(model), fabproj.torch.Projector(model, fast=True)
    point, rows = torch.tensor(one, dtype=torch.float32)[None], torch.tensor(singles)
    return {
        "PyTorch, one point": Case(lambda: module(point)),
        "PyTorch, fast=True, one point": Case(lambda: fast(point)),
        "PyTorch, rows f32": Case(lambda: module(rows), ROWS),
        "PyTorch, fast=True, rows f32": Case(lambda: fast(rows), ROWS),
    }


def in_jax(model, one, singles):
    import jax

    import fabproj.jax

    project = jax.jit(fabproj.jax.projector(model))
    point, rows = jax.numpy.asarray(one), jax.numpy.asarray(singles)
    return {
        "JAX, jit, one point": Case(lambda: project(point).block_until_ready()),
        "JAX, jit, rows f32": Case(lambda: project(rows).block_until_ready(), ROWS),
    }


def in_onnx(model, singles, folder):
    import onnxruntime

    path = os.path.join(folder, "model.safetensors")
    model.save(path)
    export = [sys.executable, "-m", "fabproj", "-q", "export", path, "--onnx", path + ".onnx"]
    subprocess.run(export, check=True)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path + ".onnx", options, providers=["CPUExecutionProvider"])
    row = singles[:1]
    return {
        "ONNX Runtime, one point": Case(lambda: session.run(None, {"y": row})),
        "ONNX Runtime, rows f32": Case(lambda: session.run(None, {"y": singles}), ROWS),
    }


def in_c(model, singles, folder):
    """The exported C file as a library, with a loop around its function."""
    if shutil.which("cc") is None:
        raise ImportError("no C compiler")
    path, source, library = (os.path.join(folder, name) for name in ("c.safetensors", "set.c", "set.so"))
    model.save(path)
    subprocess.run([sys.executable, "-m", "fabproj", "-q", "export", path, "--c", source], check=True)
    loop = "\nvoid repeat(const float *y, float *out, long n) { while (n-- > 0) set_project(y, 0, out); }\n"
    with open(source, "a", encoding="utf-8") as file:
        file.write(loop)
    subprocess.run(["cc", "-std=c99", "-O3", "-shared", "-fPIC", source, "-o", library, "-lm"], check=True)
    repeat = ctypes.CDLL(library).repeat
    pointer = ctypes.POINTER(ctypes.c_float)
    y, out = singles[0].copy(), numpy.zeros(2, "float32")
    arguments = y.ctypes.data_as(pointer), out.ctypes.data_as(pointer), ctypes.c_long(KERNELS)
    print(f"C file: {os.path.getsize(source) - len(loop)} bytes, library: {os.path.getsize(library)} bytes")
    return {"C file, one point": Case(lambda: repeat(*arguments), KERNELS)}


def in_cvxpylayers(one):
    import cvxpy
    import torch
    from cvxpylayers.torch import CvxpyLayer

    answer, asked = cvxpy.Variable(2), cvxpy.Parameter(2)
    problem = cvxpy.Problem(cvxpy.Minimize(cvxpy.sum_squares(answer - asked)), [cvxpy.norm(answer) <= 1])
    layer, tensor = CvxpyLayer(problem, [asked], [answer]), torch.tensor(one)
    return {"cvxpylayers, one point": Case(lambda: layer(tensor))}


def cases(model, folder):
    one, many = numpy.array([1.5, 0.7]), numpy.random.default_rng(0).normal(scale=2.0, size=(ROWS, 2))
    singles, found = many.astype("float32"), own(model, one, many)
    for others, arguments in (
        (in_gymnasium, (model, one)),
        (in_torch, (model, one, singles)),
        (in_jax, (model, one, singles)),
        (in_onnx, (model, singles, folder)),
        (in_c, (model, singles, folder)),
        (in_cvxpylayers, (one,)),
    ):
        try:
            found.update(others(*arguments))
        except ImportError as error:
            print(f"left out: {others.__name__[3:]} ({error})")
    return found


def importing(count=11):
    """Milliseconds of `import fabproj`, each in a new process."""
    code = "import time; t = time.perf_counter(); import fabproj; print(1e3 * (time.perf_counter() - t))"
    run = lambda: subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return [float(run().stdout) for _ in range(count)]


def spread(values):
    low, middle, high = statistics.quantiles(values, n=4)
    return middle, low, high


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=31)
    parser.add_argument("--json", metavar="FILE", help="also write all times")
    arguments = parser.parse_args()
    model = fabproj.train(DISC, progress=False, samples=1000)
    with tempfile.TemporaryDirectory() as folder:
        found = cases(model, folder)
        for case in found.values():
            case.measure()
            case.times.clear()
        for _ in range(max(arguments.rounds, 2)):
            for case in found.values():
                case.measure()
    print(f"| {'µs per point, ' + str(ROWS) + ' rows':32} | median | quartiles |\n|---|---|---|")
    for name, case in found.items():
        middle, low, high = spread(case.times)
        print(f"| {name:32} | {middle:.3f} | {low:.3f} to {high:.3f} |")
    print(f"| {'CBFKit, one action, as published':32} | {CLAIMED:g} | |")
    pairs = lambda one, other: list(zip(found[one].times, found[other].times))
    required = [
        ("one point beyond the kernel, µs", [a - b for a, b in pairs("projector, one point", "kernel, one point")], 3.0),
        ("rows, times the kernel", [a / b for a, b in pairs("projector, rows f64", "kernel, rows f64")], 1.1),
        ("import fabproj, ms", importing(), 50.0),
    ]
    print(f"\n| {'required':32} | at most | median | quartiles | |\n|---|---|---|---|---|")
    for name, values, most in required:
        middle, low, high = spread(values)
        print(f"| {name:32} | {most:g} | {middle:.3f} | {low:.3f} to {high:.3f} | {'met' if middle <= most else 'MISSED'} |")
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump({name: case.times for name, case in found.items()}, file)


if __name__ == "__main__":
    main()
