"""Problems: from a file or callables to answers."""

import copy
import os
import pickle
import signal

import numpy
import pytest

import fabproj
from fabproj import Problem, SolveOutcome

SHORT = {"labels": 60, "samples": 50, "progress": False}
FILE = """
name = "dispatch"
y = ["a", "b", "c"]
x = ["load"]
bounds = { a = [0, 2], b = [0, 2], c = [0, 2] }
x_bounds = { load = [1.0, 4.0] }
[objective]
minimise = "a^2 + 2*b^2 + 4*c^2"
[[constraint]]
expr = "a + b + c == load"
[[constraint]]
expr = "a - b <= 0.5"
"""


def cost(y, x):
    return y**2 @ [1.0, 2.0, 4.0]


def gap(y, x):
    return y[:, :1] - y[:, 1:2] - 0.5


def problem(**options):
    balance = numpy.ones((1, 3)), numpy.zeros(1), numpy.ones((1, 1))
    given = {"bounds": [(0, 2)] * 3, "x_bounds": [(1, 4)], "equations": balance, "name": "dispatch"}
    return Problem(cost, gap, **{**given, **options})


@pytest.fixture(scope="module")
def model():
    return fabproj.train(FILE, **SHORT)


X = numpy.linspace(1.1, 3.9, 40)[:, None]


def test_one_x_and_many(model):
    solver = model.solver()
    many = solver.solve(X)
    assert many.y.shape == (40, 3) and many.y.dtype == "float64" and many.outcome.dtype == "uint8"
    assert fabproj.verified(many.outcome).all() and many.in_range.all()
    assert (many.y[:, 0] - many.y[:, 1] <= 0.5).all() and (many.y >= 0).all() and (many.y <= 2).all()
    assert numpy.allclose(many.y.sum(axis=1), X[:, 0], atol=1e-12)
    assert numpy.allclose(many.objective, cost(many.y, X))
    one = solver.solve(X[7])
    assert (one.y == many.y[7]).all() and one.outcome is SolveOutcome.SOLVED and one.in_range is True
    assert (solver(X.reshape(5, 8, 1)) == many.y.reshape(5, 8, 3)).all()
    assert (solver(X.astype("float32")) == solver(X.astype("float32").astype("float64"))).all()
    assert (solver([2.0]) == solver.solve([2]).y).all()
    # No other point that the constraints allow is better.
    rng = numpy.random.default_rng(0)
    near = many.y[7] + rng.normal(scale=0.05, size=(2000, 3)) @ (numpy.eye(3) - 1 / 3)
    allowed = near[(near[:, 0] - near[:, 1] <= 0.5) & ((near >= 0) & (near <= 2)).all(axis=1)]
    assert len(allowed) > 100 and cost(allowed, None).min() >= many.objective[7] - 1e-9


def test_x_that_is_wrong(model):
    solver = model.solver()
    answers = solver.solve([[2.0], [numpy.nan], [5.0], [50.0]])
    assert answers.outcome[0] == SolveOutcome.SOLVED and answers.outcome[1] == SolveOutcome.NOT_FINITE
    assert answers.in_range.tolist()[::2] == [True, False]
    # The bounds allow no sum of 50.
    assert answers.outcome[3] == SolveOutcome.MAYBE_INFEASIBLE and numpy.isfinite(answers.y[3]).all()
    assert fabproj.verified(answers.outcome).tolist() == [True, False, True, False]
    assert solver.solve(numpy.zeros((0, 1))).y.shape == (0, 3)
    with pytest.raises(ValueError, match="`x` is missing: the problem depends on 1 numbers"):
        solver.solve()
    with pytest.raises(ValueError, match=r"`x` must have shape \(1,\)"):
        solver.solve([1.0, 2.0])
    with pytest.raises(TypeError, match="real numbers"):
        solver.solve(["a"])


def test_gradients_are_those_of_differences(model):
    solver, rng = model.solver(), numpy.random.default_rng(1)
    c = rng.normal(size=(40, 3))
    difference = ((solver(X + 1e-5) - solver(X - 1e-5)) * c).sum(axis=1) / 2e-5
    found = solver.vjp(X, c)
    assert found.shape == X.shape and numpy.mean(abs(found[:, 0] - difference) < 1e-4) > 0.9
    assert numpy.allclose(solver.vjp(X[3], c[3]), found[3])
    with pytest.raises(ValueError, match=r"`cotangent` must have the shape \(40, 3\)"):
        solver.vjp(X, c[:5])


def test_files_copies_and_words(model, tmp_path):
    path = tmp_path / "dispatch.safetensors"
    model.save(path)
    assert fabproj.Model.load(path) == model == fabproj.Model.from_bytes(model.to_bytes())
    assert repr(model) == "<fabproj.Model solver of dispatch: y of 3, x of 1, seed 0>"
    assert repr(model.solver()) == "<fabproj.Solver of dispatch>"
    assert (model.dim, model.x_dim, model.names, model.x_names) == (3, 1, ["a", "b", "c"], ["load"])
    assert model.met_goals and model.certificate.feasible == model.certificate.samples == 50
    again = model.certify(samples=20, seed=5).certificate
    assert (again.samples, again.seed) == (20, 5) and again.worst < 1e-6
    assert "gap to the optimum" in repr(again) and "a solver" in repr(model.inspect())
    for clone in (lambda o: pickle.loads(pickle.dumps(o)), copy.copy, copy.deepcopy):
        assert clone(model) == model and (clone(model.solver())(X) == model.solver()(X)).all()


def test_what_is_for_the_other_kind(model, moons):
    for call in (model.projector, model.guard, model.plot):
        with pytest.raises(ValueError, match=r"use model.solver\(\)"):
            call()
    with pytest.raises(ValueError, match=r"use model.projector\(\) or model.guard\(\)"):
        moons.solver()
    with pytest.raises(ValueError, match="certify takes samples, seed and problem"):
        model.certify(confidence=0.9)
    with pytest.raises(ValueError, match='preset="quick" is for sets'):
        fabproj.train(FILE, preset="quick")
    with pytest.raises(ValueError, match="unknown setting `lables`; did you mean `labels`"):
        fabproj.train(FILE, lables=5)
    with pytest.raises(ValueError, match="unknown setting"):
        fabproj.train("two-moons", labels=5)


def test_callables_and_the_file_agree(model):
    wanted = model.solver()(X)
    derivatives = {
        "gradient": lambda y, x: 2 * y * [1.0, 2.0, 4.0],
        "jacobian": lambda y, x: numpy.tile([1.0, -1.0, 0.0], (len(y), 1, 1)),
    }
    for given in (problem(), problem(**derivatives), problem(x=numpy.linspace(1, 4, 200)[:, None], x_bounds=None)):
        trained = fabproj.train(given, **SHORT)
        answers = trained.solver(given).solve(X)
        assert fabproj.verified(answers.outcome).all() and numpy.allclose(answers.y, wanted, atol=1e-4)
        with pytest.raises(ValueError, match=r"pass it: model.solver\(problem\)"):
            trained.solver()
        with pytest.raises(ValueError, match="pass it with problem="):
            trained.certify(samples=10)
        assert trained.certify(samples=10, problem=given).certificate.samples == 10
    solver = fabproj.train(problem(), **SHORT).solver(problem())
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(trained.solver(problem(**derivatives)))
    assert (pickle.loads(pickle.dumps(solver))(X) == solver(X)).all()


def test_functions_of_one_point_and_no_x():
    cost = numpy.vectorize(lambda y: (y[0] - 1) ** 2 + (y[1] - 2) ** 2, signature="(n)->()")
    disc = numpy.vectorize(lambda y: y @ y - 1, signature="(n)->()")
    given = Problem(cost, disc, bounds=[(-2, 2)] * 2)
    answer = fabproj.train(given, **SHORT).solver(given).solve()
    assert answer.outcome.is_verified and numpy.allclose(answer.y, numpy.array([1, 2]) / 5**0.5, atol=1e-4)


def test_a_membership_test_is_learned():
    """Trains for half a minute: the projector asks about two million points, one by one."""

    def outside(y):  # a plate with a round hole: all that is known is in or out
        return numpy.where(numpy.hypot(y[:, 0], y[:, 1]) >= 0.5, -1.0, 1.0)

    def distance(y):
        return ((y - [0.1, 0.0]) ** 2).sum(axis=1)

    given = Problem(distance, outside, bounds=[(-1, 1)] * 2, name="plate")
    short = {"quick": True, "network_steps": 200, "width": 16, "heads": 4, "samples": 20, "progress": False}
    trained = fabproj.train(given, tool="learned", **short)
    answer = trained.solver(given).solve()
    assert answer.outcome.is_verified and outside(answer.y[None]) == [-1.0]
    # The nearest point of the hole's edge is 0.4 away.
    assert 0.16 <= answer.objective < 0.17
    assert numpy.allclose(answer.objective, distance(answer.y[None]))
    certificate = trained.certify(samples=10, problem=given).certificate
    assert (certificate.samples, certificate.feasible) == (10, 10)
    assert certificate.worst < 0.05


def test_callables_that_misbehave():
    def raises(y, x):
        raise KeyError("no cost")

    calls = []

    def raises_later(y, x):
        calls.append(y)
        if len(calls) > 300:
            raise ZeroDivisionError("later")
        return cost(y, x)

    def wrong(function, **options):
        return lambda: fabproj.train(Problem(function, bounds=[(0, 2)] * 3, x_bounds=[(1, 4)], **options), **SHORT)

    for train, error, text in (
        (wrong(raises), KeyError, "no cost"),
        (wrong(raises_later, constraints=gap), ZeroDivisionError, "later"),
        (wrong(lambda y, x: y), ValueError, r"`objective` must return an array of shape \(1,\) for 1 rows, found"),
        (wrong(cost, constraints=lambda y, x: y[None]), ValueError, r"shape \(rows, constraints\), found \(1, 1, 3\)"),
        (wrong(cost, gradient=lambda y, x: y[:, :2]), ValueError, "`gradient` must return"),
        (wrong(cost, constraints=lambda y, x: y, jacobian=lambda y, x: y[:, 0]), ValueError, r"shape \(1, 3, 3\)"),
        (wrong(cost, constraints=5), TypeError, "`constraints` must be callable, found int"),
        (wrong(5), TypeError, "`objective` must be callable, found int"),
        (wrong(cost, equations=(numpy.ones((1, 2)), [1.0])), ValueError, "`equations` must be A of shape"),
        (wrong(cost, x=numpy.ones((4, 1))), ValueError, "leave one out"),
        (wrong(lambda y, x: numpy.full(len(y), numpy.nan)), ValueError, "no "),
        (lambda: fabproj.train(problem(bounds=[(2, 0)] * 3), **SHORT), ValueError, "bounds of y"),
        (lambda: fabproj.train(5), TypeError, "a callable or a fabproj.Problem, found int"),
    ):
        with pytest.raises(error, match=text):
            train()
    given = problem()
    trained = fabproj.train(given, **SHORT)
    with pytest.raises(TypeError, match="must be a fabproj.Problem, found function"):
        trained.solver(cost)
    with pytest.raises(ValueError, match="solves dispatch, of 3 y, 1 x and 1 constraints; this problem has 1, 1 and 0"):
        trained.solver(Problem(lambda y, x: y[:, 0], bounds=[(0, 2)], x_bounds=[(1, 4)]))
    flaky = problem()
    solver = trained.solver(flaky)
    calls.clear()
    flaky.objective = raises_later
    later = trained.solver(flaky)
    with pytest.raises(ZeroDivisionError, match="later"):
        later.solve(numpy.repeat(X, 10, axis=0))
    calls.clear()
    assert (later(X[:5]) == solver(X[:5])).all()


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="signals are those of Unix")
def test_an_interrupted_training_goes_on(model):
    stopped = []

    def progress(event):
        if event["event"] == "progress" and not stopped:
            stopped.append(event)
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        fabproj.train(FILE, **{**SHORT, "progress": progress})
    assert fabproj.train(FILE, resume=True, **SHORT) == model
