"""Exported graphs in ONNX Runtime."""

import json
import subprocess
import sys

import numpy
import onnx
import onnxruntime

from conftest import rows_that_agree


def test_graphs_give_what_the_projector_gives(case, tmp_path):
    case.model.save(tmp_path / "model.safetensors")
    words = ["export", tmp_path / "model.safetensors", "--onnx", tmp_path / "model.onnx", "--json"]
    made = subprocess.run([sys.executable, "-m", "fabproj", *words], capture_output=True, text=True, check=True)
    report = json.loads(made.stdout)
    graph = onnx.load(tmp_path / "model.onnx")
    onnx.checker.check_model(graph, full_check=True)
    stored = {entry.key: entry.value for entry in graph.metadata_props}
    assert float(stored["largest_difference"]) == report["largest_difference"]
    assert json.loads(stored["fabproj"])["seed"] == 0
    assert [(entry.domain, entry.version) for entry in graph.opset_import] == [("", report["opset"])]

    session = onnxruntime.InferenceSession(tmp_path / "model.onnx", providers=["CPUExecutionProvider"])
    rng = numpy.random.default_rng(1)
    y = rng.normal(scale=1.5, size=(10_000, case.model.dim)).astype("float32")
    y[0] = numpy.nan
    inputs = {"y": y}
    if case.x is not None:
        inputs["x"] = rng.uniform(0.9, 1.5, size=(10_000, case.model.x_dim)).astype("float32")
    wanted, _ = case.model.projector().project(y, inputs.get("x"))
    (found,) = session.run(["projection"], inputs)
    print(case.kind, "largest difference:", abs(found - wanted).max())
    # A row in ten thousand may lie where two charts are equally good.
    assert rows_that_agree(found, wanted) >= 0.9998
    assert report["largest_difference"] < 1e-5
    one = {name: values[:1] for name, values in inputs.items()}
    assert session.run(["projection"], one)[0].shape == (1, case.model.dim)
