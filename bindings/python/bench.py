"""Times calls from Python beside other runtimes, in one run in which all take turns.

python bench.py [--rounds N]

Needs the wheel of a release build. PyTorch, ONNX Runtime and cvxpylayers are left out where they are not installed.
Timings depend on the host's load: compare rows of one run, not of two.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time

for threads in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[threads] = "1"

import numpy  # noqa: E402

import fabproj  # noqa: E402

# A convex set, which cvxpylayers can project onto as well.
DISC = """
y = ["a", "b"]
bounds = { a = [-3, 3], b = [-3, 3] }
[[constraint]]
expr = "norm(a, b) <= 1"
"""
ROWS = 100_000


def peers(model, folder):
    """Calls by name: one point, and many rows where that makes sense."""
    one, many = numpy.array([1.5, 0.7]), numpy.random.default_rng(0).normal(scale=2.0, size=(ROWS, 2))
    singles = many.astype("float32")
    projector, guard = model.projector(), model.guard()
    calls = {
        "projector, one point": lambda: projector.project(one),
        "guard, one point": lambda: guard.project(one),
        f"projector, {ROWS} rows f64": lambda: projector.project(many),
        f"projector, {ROWS} rows f32": lambda: projector.project(singles),
    }
    try:
        import torch

        import fabproj.torch

        torch.set_num_threads(1)
        module, fast = fabproj.torch.Projector(model), fabproj.torch.Projector(model, fast=True)
        point, rows = torch.tensor(one, dtype=torch.float32)[None], torch.tensor(singles)
        calls["torch, one point"] = lambda: module(point)
        calls["torch fast=True, one point"] = lambda: fast(point)
        calls[f"torch, {ROWS} rows f32"] = lambda: module(rows)
    except ImportError:
        pass
    try:
        import onnxruntime

        path = os.path.join(folder, "model.safetensors")
        model.save(path)
        export = [sys.executable, "-m", "fabproj", "-q", "export", path, "--onnx", path + ".onnx"]
        subprocess.run(export, check=True)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        session = onnxruntime.InferenceSession(path + ".onnx", options, providers=["CPUExecutionProvider"])
        row = singles[:1]
        calls["ONNX Runtime, one point"] = lambda: session.run(None, {"y": row})
        calls[f"ONNX Runtime, {ROWS} rows f32"] = lambda: session.run(None, {"y": singles})
    except ImportError:
        pass
    try:
        import cvxpy
        import torch
        from cvxpylayers.torch import CvxpyLayer

        answer, asked = cvxpy.Variable(2), cvxpy.Parameter(2)
        problem = cvxpy.Problem(cvxpy.Minimize(cvxpy.sum_squares(answer - asked)), [cvxpy.norm(answer) <= 1])
        layer, tensor = CvxpyLayer(problem, [asked], [answer]), torch.tensor(one)
        calls["cvxpylayers, one point"] = lambda: layer(tensor)
    except ImportError:
        pass
    return calls


def seconds(call, least=0.01):
    """The time of a call, over as many as fill a hundredth of a second."""
    count = 1
    while True:
        start = time.perf_counter()
        for _ in range(count):
            call()
        taken = time.perf_counter() - start
        if taken >= least:
            return taken / count
        count *= 4


def import_seconds():
    code = "import time; t = time.perf_counter(); import fabproj; print(time.perf_counter() - t)"
    return float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=11)
    rounds = parser.parse_args().rounds
    model = fabproj.train(DISC, progress=False, samples=1000, preset="quick")
    with tempfile.TemporaryDirectory() as folder:
        calls = peers(model, folder)
        times = {name: [] for name in calls}
        for _ in range(rounds):
            for name, call in calls.items():
                times[name].append(seconds(call))
    print(f"{'import fabproj':40} {1e3 * min(import_seconds() for _ in range(5)):10.1f} ms")
    for name, taken in times.items():
        per = ROWS if "rows" in name else 1
        print(f"{name:40} {1e6 * statistics.median(taken) / per:10.3f} µs per point, least {1e6 * min(taken) / per:.3f}")


if __name__ == "__main__":
    main()
