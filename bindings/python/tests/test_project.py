"""Arrays in and out of projectors and guards."""

import copy
import pickle
import subprocess
import sys
import threading

import numpy
import pytest

import fabproj
from fabproj import Outcome, RawOutcome


def test_one_point_and_many_give_the_same_bits(moons, points):
    projector = moons.projector()
    for dtype in ("float32", "float64"):
        rows = points.astype(dtype)
        many, outcomes = projector.project(rows)
        assert many.dtype == dtype and many.shape == rows.shape
        assert outcomes.dtype == "uint8" and outcomes.shape == (500,)
        for index in range(0, 500, 50):
            one, outcome = projector.project(rows[index])
            assert isinstance(outcome, RawOutcome) and outcome == outcomes[index]
            assert (one == many[index]).all() and one.dtype == dtype


def test_leading_dimensions_stay(moons, points):
    y, outcomes = moons.projector().project(points.reshape(5, 100, 2))
    flat, _ = moons.projector().project(points)
    assert y.shape == (5, 100, 2) and outcomes.shape == (5, 100)
    assert (y.reshape(-1, 2) == flat).all()


def test_what_numpy_takes_is_taken(moons, points):
    project = moons.projector().project
    wanted, _ = project(points)
    assert (project(points.tolist())[0] == wanted).all()
    assert (project(numpy.asfortranarray(points))[0] == wanted).all()
    assert (project(points.astype(">f8"))[0] == wanted).all()
    wide = numpy.zeros((500, 4))
    wide[:, ::2] = points
    assert (project(wide[:, ::2])[0] == wanted).all()
    assert (project(points[::-1])[0] == wanted[::-1]).all()
    frozen = points.copy()
    frozen.flags.writeable = False
    assert (project(frozen)[0] == wanted).all()
    assert (project([0, 1])[0] == project([0.0, 1.0])[0]).all()
    # Numbers that do not lie on a multiple of their size.
    odd = numpy.zeros(500 * 16 + 1, "uint8")[1:].view("float64").reshape(500, 2)
    odd[:] = points
    assert (project(odd)[0] == wanted).all()
    assert project(points.astype("float16"))[0].dtype == "float64"


class Capsule:
    """An array that speaks DLPack only."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_dlpack_in_and_out(moons, points):
    wanted, _ = moons.projector().project(points)
    y, _ = moons.projector().project(Capsule(points))
    assert (numpy.from_dlpack(y) == wanted).all()


def test_no_rows_are_no_rows(moons):
    for runner in (moons.projector(), moons.guard()):
        y, outcomes = runner.project(numpy.zeros((0, 2), "float32"))
        assert y.shape == (0, 2) and y.dtype == "float32" and outcomes.shape == (0,)


def test_numbers_that_are_none_are_an_outcome(moons):
    y, outcomes = moons.projector().project([[numpy.nan, 0.0], [numpy.inf, 0.0], [0.1, 0.2]])
    assert numpy.isfinite(y).all()
    assert outcomes[0] == RawOutcome.NOT_FINITE and outcomes[2] != RawOutcome.NOT_FINITE


@pytest.mark.parametrize(
    "y, error, text",
    [
        ([0.0, 0.0, 0.0], ValueError, r"`y` must have shape \(2,\) or \(rows, 2\), found \(3,\)"),
        (0.5, ValueError, r"found \(\)"),
        ([[1j, 0]], TypeError, "real numbers, found dtype complex128"),
        (["a", "b"], TypeError, "real numbers, found dtype <U1"),
        ([True, False], TypeError, "found dtype bool"),
        ([None, 1.0], TypeError, "found dtype object"),
    ],
)
def test_wrong_arrays(moons, y, error, text):
    for runner in (moons.projector(), moons.guard()):
        with pytest.raises(error, match=text):
            runner.project(y)


def test_x_is_wanted_where_the_set_depends_on_it(moons, obstacle):
    with pytest.raises(ValueError, match="leave `x` out"):
        moons.projector().project([0.0, 0.0], [1.0])
    with pytest.raises(ValueError, match="`x` is missing"):
        obstacle.projector().project([0.0, 0.0])
    x_dim = obstacle.x_dim
    with pytest.raises(ValueError, match=rf"`x` must have shape \({x_dim},\)"):
        obstacle.projector().project([0.0, 0.0], [0.0] * (x_dim + 1))
    with pytest.raises(ValueError, match="different numbers of rows"):
        obstacle.projector().project(numpy.zeros((3, 2)), numpy.zeros((4, x_dim)))


def test_x_is_repeated(obstacle, points):
    projector, x = obstacle.projector(), numpy.full(obstacle.x_dim, 0.2)
    wanted, _ = projector.project(points, numpy.tile(x, (500, 1)))
    assert (projector.project(points, x)[0] == wanted).all()
    assert (projector.project(points, x[None])[0] == wanted).all()
    # One point at many x.
    y, outcomes = projector.project(points[0], numpy.tile(x, (7, 1)))
    assert y.shape == (7, 2) and outcomes.shape == (7,) and (y == wanted[0]).all()
    # x in another type.
    mixed, _ = projector.project(points.astype("float32"), x)
    assert mixed.dtype == "float32"


def test_gradients_are_those_of_differences(moons, obstacle, points):
    rng = numpy.random.default_rng(1)
    for model in (moons, obstacle):
        projector = model.projector()
        y = points[:40]
        x = None if model.x_dim == 0 else rng.uniform(-0.3, 0.3, size=(40, model.x_dim))
        c = rng.normal(size=y.shape)
        d_y, d_x = projector.vjp(y, c, x)
        assert d_y.shape == y.shape
        step, agree = 1e-3, []
        for axis in range(2):
            e = numpy.zeros(2)
            e[axis] = step
            difference = projector(y + e, x) - projector(y - e, x)
            agree.append(abs((difference * c).sum(axis=1) / (2 * step) - d_y[:, axis]))
        # Kinks and changes of the chart are in between for some.
        assert numpy.mean(numpy.max(agree, axis=0) < 0.02) > 0.8
        if x is None:
            assert d_x is None
        else:
            assert d_x.shape == x.shape
            at = numpy.full(model.x_dim, 0.1)
            each = projector.vjp(y, c, numpy.tile(at, (40, 1)))[1]
            together = projector.vjp(y, c, at)[1]
            assert together.shape == at.shape
            assert numpy.allclose(together, each.sum(axis=0))
    with pytest.raises(ValueError, match="`cotangent` must have the shape"):
        moons.projector().vjp(points, points[0])


def test_nothing_that_was_not_tested_counts_as_verified(moons, points):
    assert not fabproj.verified(moons.projector().project(points)[1]).any()
    assert not fabproj.verified(moons.projector().project(points[0])[1])


def test_guarded_points_are_feasible(moons, of_callable, points):
    y, outcomes = moons.guard().project(points)
    assert fabproj.verified(outcomes).all()
    again, kept = moons.guard().project(y)
    assert (kept == Outcome.KEPT).all() and (again == y).all()
    from conftest import plate

    guard = of_callable.guard(plate)
    for rows in (points, points.astype("float32")):
        y, outcomes = guard.project(rows)
        assert plate(y).all() and fabproj.verified(outcomes).all()
    assert not (of_callable.guard(plate, keep_feasible=False).project(y)[1] == Outcome.KEPT).any()


def test_rows_that_cannot_be_verified_fall_back(obstacle):
    guard, x_dim = obstacle.guard(), obstacle.x_dim
    y = numpy.zeros((3, 2))
    x = numpy.zeros((3, x_dim))
    x[1] = numpy.nan
    plain, outcomes = guard.project(y, x)
    assert outcomes[1] == Outcome.NOT_FINITE and numpy.isfinite(plain).all()
    filled, _ = guard.project(y, x, fallback=[7.0, 8.0])
    assert (filled[1] == [7, 8]).all() and (filled[::2] == plain[::2]).all()
    asked, _ = guard.project(y, x, fallback=lambda y, x: y + 5)
    assert (asked[1] == 5).all() and (asked[::2] == plain[::2]).all()
    one, outcome = guard.project(y[1], x[1], fallback=lambda y, x: y - 1)
    assert outcome == Outcome.NOT_FINITE and (one == -1).all()


def test_callables_that_misbehave(of_callable, points):
    model = of_callable

    def raises(y):
        raise KeyError("no answer")

    def scalar(y):
        return True

    def columns(y):
        return y > 0

    def floats(y):
        return y[:, 0]

    def liar(y):
        return numpy.random.default_rng().random(len(y)) < 0.5

    for contains, error, text in (
        (raises, KeyError, "no answer"),
        (scalar, ValueError, "one bool per row"),
        (columns, ValueError, r"found \(\d+, 2\)"),
        (floats, TypeError, "array of bool, found dtype float64"),
        (5, TypeError, "`contains` must be callable, found int"),
    ):
        with pytest.raises(error, match=text):
            model.guard(contains).project(points)
    # Who changes his mind gets points that passed when they were asked about.
    y, outcomes = model.guard(liar).project(points)
    assert numpy.isfinite(y).all()

    calls = []

    def breaks_later(y):
        calls.append(len(y))
        if len(calls) > 100:
            raise RuntimeError("broken")
        return numpy.ones(len(y), bool)

    guard = model.guard(breaks_later)
    with pytest.raises(RuntimeError, match="broken"):
        for _ in range(100):
            guard.project(points)
    # The guard still works.
    calls.clear()
    guard.project(points[0])


def test_a_callable_sees_finite_rows_only(of_callable):
    seen = []

    def contains(y):
        seen.append(y)
        return numpy.ones(len(y), bool)

    of_callable.guard(contains).project([[numpy.nan, 0.0], [0.9, 0.9]])
    assert all(numpy.isfinite(y).all() and y.ndim == 2 and y.dtype == "float64" for y in seen)


def test_pickle_and_copy(moons, of_callable, points):
    from conftest import plate

    wanted = moons.projector()(points)
    for clone in (lambda o: pickle.loads(pickle.dumps(o)), copy.copy, copy.deepcopy):
        assert clone(moons) == moons
        assert (clone(moons.projector())(points) == wanted).all()
        assert (clone(moons.guard())(points) == moons.guard()(points)).all()
        assert plate(clone(of_callable.guard(plate))(points)).all()
        assert clone(moons.certificate) == moons.certificate


def test_threads_share_a_guard(moons, of_callable, points):
    from conftest import plate

    for guard in (moons.guard(), of_callable.guard(plate)):
        wanted, results = guard(points), []
        threads = [threading.Thread(target=lambda: results.append(guard(points))) for _ in range(8)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        assert len(results) == 8 and all((result == wanted).all() for result in results)


def test_numpy_is_imported_when_it_is_needed():
    code = "import fabproj, sys; assert 'numpy' not in sys.modules and 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
