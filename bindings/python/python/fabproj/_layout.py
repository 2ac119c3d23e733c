"""The arrays of a model file, for projectors in other frameworks. `docs/model-file.md` describes them."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy
from numpy.typing import NDArray

from ._native import Model, Solver

Arrays = dict[str, NDArray[Any]]

DTYPES = {"F32": "<f4", "F64": "<f8", "U32": "<u4"}


def model_of(source: Model | str | os.PathLike[str]) -> Model:
    """A set's model, or the one of a file."""
    model = source if isinstance(source, Model) else Model.load(source)
    model.projector()  # refuses the model of a problem
    return model


def solver_of(source: Solver | Model | str | os.PathLike[str]) -> Solver:
    """A solver, or that of a model or a file."""
    if isinstance(source, Solver):
        return source
    model = source if isinstance(source, Model) else Model.load(source)
    return model.solver()


def arrays(model: Model) -> tuple[dict[str, Any], Arrays]:
    """The header of a model's file and its arrays by name."""
    data = model.to_bytes()
    length = int.from_bytes(data[:8], "little")
    entries = json.loads(data[8 : 8 + length])
    header = json.loads(entries.pop("__metadata__")["fabproj"])
    found = {}
    for name, entry in entries.items():
        begin, end = entry["data_offsets"]
        values = numpy.frombuffer(data[8 + length + begin : 8 + length + end], DTYPES[entry["dtype"]])
        found[name] = values.reshape(entry["shape"])
    return header, found


def fallback(header: dict[str, Any], found: Arrays) -> NDArray[Any]:
    """What is returned for numbers that are not finite, in the networks' coordinates."""
    if header["anchors"]:
        return found["anchors.point"][0]
    return found["frame.centre"]
