from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any, TypeAlias, final

import numpy
from numpy.typing import ArrayLike, NDArray

from ._outcomes import Outcome, RawOutcome
from ._records import Certificate, Figure, Inspection

_Path: TypeAlias = str | PathLike[str]
_Intervals: TypeAlias = Sequence[tuple[float, float]]
_Contains: TypeAlias = Callable[..., Any]
_Points: TypeAlias = NDArray[numpy.floating[Any]]

__all__ = ["main", "Model", "Projector", "Guard", "train", "__version__"]

__version__: str

def main(words: Sequence[str]) -> int: ...
def train(
    set: str | PathLike[str] | tuple[ArrayLike, ArrayLike] | _Contains,
    *,
    preset: str = "default",
    seed: int = 0,
    progress: Callable[[dict[str, Any]], None] | None = None,
    bounds: _Intervals | None = None,
    x_bounds: _Intervals | None = None,
    name: str | None = None,
    names: Sequence[str] | None = None,
    x_names: Sequence[str] | None = None,
    x: ArrayLike | None = None,
    samples: int | None = None,
    threads: int | None = None,
    checkpoint: _Path | None = None,
    resume: bool = False,
    **settings: Any,
) -> Model: ...
@final
class Model:
    @staticmethod
    def load(path: _Path) -> Model: ...
    def save(self, path: _Path) -> None: ...
    @staticmethod
    def from_bytes(bytes: bytes) -> Model: ...
    def to_bytes(self) -> bytes: ...
    def projector(self) -> Projector: ...
    def guard(self, contains: _Contains | None = None, keep_feasible: bool = True) -> Guard: ...
    def certify(
        self,
        *,
        samples: int | None = None,
        confidence: float | None = None,
        seed: int = 0,
        y: ArrayLike | None = None,
        x: ArrayLike | None = None,
        name: str = "rows",
        contains: _Contains | None = None,
        bounds: _Intervals | None = None,
        x_bounds: _Intervals | None = None,
    ) -> Model: ...
    @property
    def certificate(self) -> Certificate | None: ...
    def inspect(self) -> Inspection: ...
    def plot(
        self,
        *,
        seed: int = 0,
        contains: _Contains | None = None,
        bounds: _Intervals | None = None,
        x_bounds: _Intervals | None = None,
    ) -> Figure: ...
    @property
    def dim(self) -> int: ...
    @property
    def x_dim(self) -> int: ...
    @property
    def names(self) -> list[str]: ...
    @property
    def x_names(self) -> list[str]: ...
    @property
    def met_goals(self) -> bool: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class Projector:
    @staticmethod
    def load(path: _Path) -> Projector: ...
    def project(self, y: ArrayLike, x: ArrayLike | None = None) -> tuple[_Points, RawOutcome | NDArray[numpy.uint8]]: ...
    def __call__(self, y: ArrayLike, x: ArrayLike | None = None) -> _Points: ...
    def vjp(
        self, y: ArrayLike, cotangent: ArrayLike, x: ArrayLike | None = None
    ) -> tuple[_Points, _Points | None]: ...
    @property
    def dim(self) -> int: ...
    @property
    def x_dim(self) -> int: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class Guard:
    def project(
        self, y: ArrayLike, x: ArrayLike | None = None, *, fallback: ArrayLike | Callable[..., Any] | None = None
    ) -> tuple[_Points, Outcome | NDArray[numpy.uint8]]: ...
    def __call__(self, y: ArrayLike, x: ArrayLike | None = None) -> _Points: ...
    @property
    def dim(self) -> int: ...
    @property
    def x_dim(self) -> int: ...
    def __reduce__(self) -> tuple[Any, ...]: ...
