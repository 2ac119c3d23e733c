"""``fabproj.train``, with a progress line."""

from __future__ import annotations

from collections.abc import Callable

from . import _native
from ._progress import Progress

TYPE_CHECKING = False  # importing `typing` would take longer than everything else here
if TYPE_CHECKING:
    from typing import Any


def train(set: Any, *, progress: bool | Callable[[dict[str, Any]], None] = True, **options: Any) -> _native.Model:
    line = Progress() if progress is True else None
    listener = line or (progress if callable(progress) else None)
    try:
        return _native.train(set, progress=listener, **options)
    finally:
        if line is not None:
            line.close()


train.__doc__ = _native.train.__doc__
train.__module__ = "fabproj"
