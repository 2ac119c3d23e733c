"""Models of every kind, trained once, and inputs for them."""

import pathlib
import sys

import numpy
import pytest

import fabproj

# For `pages`.
sys.path.append(str(pathlib.Path(__file__).parents[1] / "tests"))

SHORT = {"preset": "quick", "progress": False, "samples": 1000, "phase_two": 300}
EQUATION = """
y = ["a", "b", "c"]
x = ["load"]
bounds = { a = [0, 1], b = [0, 1], c = [0, 1] }
x_bounds = { load = [0.8, 1.6] }
[[constraint]]
expr = "a + b + c == load"
[[constraint]]
expr = "norm(a - 0.5, b - 0.5) >= 0.2"
"""
KINDS = {
    "several charts": ("two-moons", {}),
    "with x": ("moving-obstacle", {}),
    "equations": (EQUATION, {}),
    "shell": ("concentric-circles", {"latent": "shell"}),
    "smooth ball": ("star-shaped", {"latent": "ball", "smooth": 20.0, "charts": 1}),
    "smooth box": ("star-shaped", {"latent": "box", "smooth": 20.0, "charts": 1}),
    "box": ("star-shaped", {"latent": "box", "charts": 1}),
    "simplex": ("star-shaped", {"latent": "simplex", "charts": 1}),
}


class Case:
    def __init__(self, kind):
        set, settings = KINDS[kind]
        self.kind = kind
        self.model = fabproj.train(set, **SHORT, **settings)
        rng = numpy.random.default_rng(0)
        self.y = rng.normal(scale=1.5, size=(300, self.model.dim)).astype("float32")
        self.x = rng.uniform(0.9, 1.5, size=(300, self.model.x_dim)).astype("float32") if self.model.x_dim else None
        self.cotangent = rng.normal(size=self.y.shape).astype("float32")
        self.wanted, _ = self.model.projector().project(self.y, self.x)
        self.gradients = self.model.projector().vjp(self.y, self.cotangent, self.x)

    def arguments(self, convert):
        return [convert(self.y)] if self.x is None else [convert(self.y), convert(self.x)]


TRAINED = {}


@pytest.fixture(params=KINDS)
def case(request):
    if request.param not in TRAINED:
        TRAINED[request.param] = Case(request.param)
    return TRAINED[request.param]


PROBLEM = """
y = ["a", "b"]
x = ["p", "q"]
bounds = { a = [-2, 2], b = [-2, 2] }
x_bounds = { p = [-2, 2], q = [-2, 2] }
objective = { minimise = "(a - p)^2 + 2*(b - q)^2 + 0.1*a*b" }
[[constraint]]
expr = "a + b <= 1.4"
"""


@pytest.fixture(scope="session")
def solver():
    return fabproj.train(PROBLEM, labels=80, samples=50, progress=False).solver()


@pytest.fixture(scope="session")
def moons():
    return fabproj.train("two-moons", **SHORT)


def rows_that_agree(found, wanted, tolerance=1e-5):
    """The share of rows that are equal up to a tolerance. A row at the border of two charts may be another's."""
    found, wanted = numpy.asarray(found, "float64"), numpy.asarray(wanted, "float64")
    assert found.shape == wanted.shape
    scale = max(1.0, abs(wanted).max())
    return numpy.mean(abs(found - wanted).max(axis=-1) <= tolerance * scale)
