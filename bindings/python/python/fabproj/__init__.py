"""Fast, learned projections onto nonconvex feasible sets.

>>> import fabproj
>>> model = fabproj.train("two-moons", preset="quick", progress=False)
>>> guard = model.guard()
>>> y, outcome = guard.project([0.0, 2.0])
>>> outcome.is_verified
True

``fabproj.torch``, ``fabproj.jax`` and ``fabproj.gymnasium`` attach a model to these libraries; they are imported
when they are asked for.
"""

from ._native import Guard, Model, Projector, Solver, __version__
from ._outcomes import Answer, Outcome, RawOutcome, SolveOutcome, verified
from ._problem import Problem
from ._records import Certificate, Figure, Inspection
from ._train import train

__all__ = [
    "Answer",
    "Certificate",
    "Figure",
    "Guard",
    "Inspection",
    "Model",
    "Outcome",
    "Problem",
    "Projector",
    "RawOutcome",
    "SolveOutcome",
    "Solver",
    "__version__",
    "train",
    "verified",
]
