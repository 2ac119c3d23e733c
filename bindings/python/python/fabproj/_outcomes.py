"""What projectors, guards and solvers say about each row."""

from collections import namedtuple
from enum import IntEnum


class RawOutcome(IntEnum):
    """What a projector did. Its outputs are not tested, so that none of these counts as verified."""

    INSIDE = 16
    """The latent point was in the latent set."""
    CLAMPED = 17
    """The latent point was moved into the latent set."""
    NOT_FINITE = 18
    """The input was not finite; the output is the first anchor."""


class Outcome(IntEnum):
    """What a guard did. The output is finite in all cases."""

    KEPT = 0
    """The input was feasible and is returned bit for bit."""
    PROJECTED = 1
    """The projection is feasible."""
    REPAIRED = 2
    """The projection failed the test; the output is a feasible point between it and an anchor."""
    ANCHORED = 3
    """The output is an anchor, or a feasible point found by a search."""
    MAYBE_EMPTY = 4
    """No feasible point was found at this x: the output has failed the test."""
    NOT_FINITE = 5
    """x was not finite: the output has not been tested."""

    @property
    def is_verified(self):
        """Whether the output has passed the membership test."""
        return self <= Outcome.ANCHORED


class SolveOutcome(IntEnum):
    """What a solver did."""

    SOLVED = 0
    """The steps ended at a feasible point."""
    PULLED = 1
    """The steps ended outside; the answer lies between their end and a feasible point."""
    MAYBE_INFEASIBLE = 4
    """No feasible point was found at this x: the answer is the least violating point."""
    NOT_FINITE = 5
    """x was not finite: the answer has not been tested."""

    @property
    def is_verified(self):
        """Whether the answer obeys every constraint."""
        return self <= SolveOutcome.PULLED


Answer = namedtuple("Answer", ["y", "outcome", "objective", "in_range"])
Answer.__doc__ = "What a solver returns: for one x, or arrays for many."


def verified(outcomes):
    """Which outputs of a guard or a solver have passed the test.

    >>> import numpy, fabproj
    >>> fabproj.verified(numpy.array([0, 4, 2], dtype="uint8"))
    array([ True, False,  True])
    """
    return outcomes <= Outcome.ANCHORED


def fall_back(out, outcomes, fallback, y, x):
    """Replaces the rows of ``out`` that are not verified."""
    import numpy

    bad = ~numpy.asarray(verified(outcomes))
    if not bad.any():
        return
    if callable(fallback):
        rows = numpy.broadcast_to(numpy.asarray(y), out.shape)[bad]
        if x is None:
            values = fallback(rows)
        else:
            x = numpy.asarray(x)
            values = fallback(rows, numpy.broadcast_to(x, out.shape[:-1] + x.shape[-1:])[bad])
        out[bad] = numpy.asarray(values, dtype=out.dtype).reshape(out[bad].shape)
    else:
        out[bad] = numpy.broadcast_to(numpy.asarray(fallback, dtype=out.dtype), out.shape)[bad]
