"""Problems whose objective and constraints are functions of Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence

TYPE_CHECKING = False  # importing `typing` would take longer than everything else here
if TYPE_CHECKING:
    from typing import Any

Intervals = Sequence[tuple[float, float]]


class Problem:
    """Minimise an objective over y where all constraints are at most 0, for every x.

    ``objective(y, x)`` gets rows of points and returns a number for each; ``constraints(y, x)`` returns an array
    of shape (rows, constraints). ``numpy.vectorize`` makes them of functions for one point. Without x they get
    y alone. Both must be smooth: NaN or infinity means infeasible.

    ``bounds`` has one interval for each coordinate of y; an end may be infinite. x comes from the region
    ``x_bounds``, or is each row of ``x``. ``equations`` are arrays (A, b) or (A, b, B) with A y = b + B x.
    ``gradient(y, x)`` of shape (rows, dim) and ``jacobian(y, x)`` of shape (rows, constraints, dim) are
    derivatives with respect to y; without them central differences are taken.

    >>> import fabproj
    >>> problem = fabproj.Problem(
    ...     lambda y, x: ((y - 2) ** 2).sum(axis=1),
    ...     lambda y, x: (y**2).sum(axis=1) - x[:, 0] ** 2,  # a disc of radius x
    ...     bounds=[(-3, 3)] * 2, x_bounds=[(0.5, 1.5)],
    ... )
    >>> solver = fabproj.train(problem, labels=60, samples=50, progress=False).solver(problem)
    >>> solver([1.0]).round(4)
    array([0.7071, 0.7071])
    """

    def __init__(
        self,
        objective: Callable[..., Any],
        constraints: Callable[..., Any] | None = None,
        *,
        bounds: Intervals,
        x_bounds: Intervals | None = None,
        x: Any = None,
        equations: Sequence[Any] | None = None,
        gradient: Callable[..., Any] | None = None,
        jacobian: Callable[..., Any] | None = None,
        name: str = "callable",
        names: Sequence[str] | None = None,
        x_names: Sequence[str] | None = None,
    ):
        self.objective, self.constraints = objective, constraints
        self.bounds, self.x_bounds, self.x = bounds, x_bounds, x
        self.equations, self.gradient, self.jacobian = equations, gradient, jacobian
        self.name, self.names, self.x_names = name, names, x_names

    def __repr__(self) -> str:
        return f"<fabproj.Problem {self.name}: y of {len(self.bounds)}>"
