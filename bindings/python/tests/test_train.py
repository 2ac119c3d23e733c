"""Training: what a set may be, interruptions, and what goes wrong."""

import os
import pathlib
import signal
import subprocess
import sys
import textwrap
import time

import numpy
import pytest

import fabproj
from conftest import disc, plate

# Small in every way: callables are asked about each point of the boundary on its own.
SHORT = {
    "preset": "quick", "progress": False, "samples": 500, "phase_two": 100, "rounds": 1,
    "feasible": 2000, "infeasible": 2000, "boundary": 1000, "states": 50,
}
TEXT = """
y = ["a", "b"]
bounds = { a = [-2, 2], b = [-2, 2] }
[[constraint]]
expr = "norm(a, b) <= 1"
"""


def test_a_set_file_or_its_text(tmp_path):
    of_text = fabproj.train(TEXT, **SHORT)
    path = tmp_path / "disc.toml"
    path.write_text(TEXT)
    of_path, of_name = fabproj.train(path, **SHORT), fabproj.train(str(path), **SHORT)
    assert of_text.names == of_path.names == ["a", "b"]
    y = numpy.random.default_rng(0).normal(size=(50, 2))
    assert (of_text.projector()(y) == of_path.projector()(y)).all()
    assert (of_path.projector()(y) == of_name.projector()(y)).all()
    assert (numpy.hypot(*of_path.guard()(3 * y).T) <= 1).all()


def test_labelled_arrays():
    y = numpy.random.default_rng(0).uniform(-2, 2, size=(4000, 2))
    label = numpy.hypot(*y.T) <= 1
    model = fabproj.train((y, label), **SHORT)
    assert "statistical" in repr(model.certificate)
    points, outcomes = model.guard().project(y[:100])
    assert fabproj.verified(outcomes).all()
    assert numpy.mean(numpy.hypot(*points.T) <= 1.02) > 0.9
    for pair, text in (
        ((y, label[:-1]), r"`label` must have shape \(4000,\)"),
        ((y, label + 0.5), "0 and 1, found"),
        ((y, label, label), "a pair"),
        ((y[0], label), r"`y` must have shape \(rows, columns\)"),
        ((y, numpy.ones(4000)), "all 4,?000"),
        ((y * numpy.nan, label), "NaN"),
    ):
        with pytest.raises(ValueError, match=text):
            fabproj.train(pair, **SHORT)


def test_labelled_arrays_with_x():
    rng = numpy.random.default_rng(0)
    y, x = rng.uniform(-2, 2, size=(4000, 1)), rng.uniform(0.5, 1.5, size=(4000, 1))
    model = fabproj.train((y, (abs(y) <= x)[:, 0]), x=x, **SHORT)
    assert (model.dim, model.x_dim) == (1, 1)


def test_a_callable_of_x():
    model = fabproj.train(disc, bounds=[(-2, 2)] * 2, x_bounds=[(0.5, 1.5)], x_names=["radius"], **SHORT)
    assert model.x_names == ["radius"]
    y, outcomes = model.guard(disc).project(numpy.full((20, 2), 1.9), [1.0])
    assert fabproj.verified(outcomes).all() and (numpy.hypot(*y.T) <= 1).all()


def test_the_same_seed_gives_the_same_model(of_callable):
    def train(**options):
        return fabproj.train(plate, bounds=[(-2, 2)] * 2, name="plate", **SHORT, **options)

    assert train(threads=1) == train(threads=3)
    assert train(seed=1) != train(seed=2)


@pytest.mark.parametrize(
    "set, options, error, text",
    [
        ("two-mons", {}, ValueError, "unknown set `two-mons`; did you mean `two-moons`"),
        ("none.toml", {}, FileNotFoundError, "file not found: none.toml"),
        ("y = [\n", {}, ValueError, "line 1|line 2"),
        ("none.csv", {}, FileNotFoundError, "none.csv"),
        (5, {}, TypeError, "found int"),
        (plate, {}, ValueError, "needs `bounds`"),
        (plate, {"bounds": [(2, -2)] * 2}, ValueError, "bounds"),
        ("two-moons", {"preset": "fast"}, ValueError, "unknown preset `fast`"),
        ("two-moons", {"phase_tow": 5}, ValueError, "unknown setting `phase_tow`; did you mean `phase_two`"),
        ("two-moons", {"width": 0}, ValueError, "width = 0 is out of range"),
        ("two-moons", {"width": "wide"}, ValueError, "width=wide"),
        ("two-moons", {"threads": 0}, ValueError, "threads=0"),
        ("two-moons", {"resume": True}, ValueError, "nothing to resume"),
        ("two-moons", {"seed": -1}, OverflowError, "int"),
    ],
)
def test_wrong_arguments(set, options, error, text):
    with pytest.raises(error, match=text):
        fabproj.train(set, **{**SHORT, **options})


def test_callables_that_misbehave():
    def raises(y):
        raise KeyError("no answer")

    calls = []

    def raises_later(y):
        calls.append(y)
        if len(calls) > 50:
            raise ZeroDivisionError("later")
        return plate(y)

    for contains, error, text in (
        (raises, KeyError, "no answer"),
        (raises_later, ZeroDivisionError, "later"),
        (lambda y: y[:, 0] > 0 if len(y) < 2 else y > 0, ValueError, "one bool per row"),
        (lambda y: numpy.zeros(len(y), bool), ValueError, "feasible"),
        (lambda: None, TypeError, "takes 0 positional"),
    ):
        with pytest.raises(error, match=text):
            fabproj.train(contains, bounds=[(-2, 2)] * 2, **SHORT)
    # Who changes his mind gets some model, or an error; the interpreter lives.
    rng = numpy.random.default_rng(0)
    try:
        fabproj.train(lambda y: rng.random(len(y)) < 0.5, bounds=[(-2, 2)] * 2, **SHORT)
    except (ValueError, RuntimeError):
        pass


def test_events_and_a_listener_that_raises():
    events = []
    fabproj.train("star-shaped", **{**SHORT, "progress": events.append})
    kinds = {event["event"] for event in events}
    assert {"stage", "progress", "measured"} <= kinds
    assert all(0 <= event["done"] <= 1 for event in events if event["event"] == "progress")

    def raises(event):
        raise KeyError("heard enough")

    with pytest.raises(KeyError, match="heard enough"):
        fabproj.train("star-shaped", **{**SHORT, "progress": raises})


def run(code, *arguments, **options):
    """Runs a program with the names that the tests use."""
    head = f"import sys; sys.path.insert(0, {str(pathlib.Path(__file__).parent)!r})\n"
    head += "import fabproj, numpy, os, time, threading\nfrom conftest import plate\n"
    return subprocess.Popen(
        [sys.executable, "-c", head + textwrap.dedent(code), *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


needs_signals = pytest.mark.skipif(sys.platform == "win32", reason="signals are those of Unix")


@needs_signals
def test_an_interrupted_training_goes_on(tmp_path):
    program = run(
        """
        folder = sys.argv[1]
        def progress(event):
            if event["event"] == "progress" and event["step"] > 0:
                print("training", flush=True)
        try:
            fabproj.train("star-shaped", preset="quick", phase_two=4000, rounds=1, seed=3, samples=500,
                          progress=progress, checkpoint=folder)
            print("done", flush=True)
        except KeyboardInterrupt:
            print(f"stopped {time.time()}", flush=True)
        """,
        tmp_path / "state",
    )
    assert program.stdout.readline().strip() == "training"
    sent = time.time()
    program.send_signal(signal.SIGINT)
    rest, errors = program.communicate(timeout=60)
    stopped = [line for line in rest.splitlines() if line.startswith("stopped")]
    assert stopped, (rest, errors)
    # Half a second, with room for a machine that is busy.
    assert float(stopped[0].split()[1]) - sent < 2.0
    options = {"preset": "quick", "phase_two": 4000, "rounds": 1, "seed": 3, "samples": 500, "progress": False}
    with pytest.raises(FileExistsError, match="resume=True resumes it"):
        fabproj.train("star-shaped", checkpoint=tmp_path / "state", **options)
    with pytest.raises(ValueError, match="belong to another training"):
        fabproj.train("star-shaped", checkpoint=tmp_path / "state", resume=True, **{**options, "seed": 4})
    resumed = fabproj.train("star-shaped", checkpoint=tmp_path / "state", resume=True, **options)
    assert resumed == fabproj.train("star-shaped", **options)
    assert not (tmp_path / "state").exists()
    with pytest.raises(FileNotFoundError, match="nothing to resume"):
        fabproj.train("star-shaped", checkpoint=tmp_path / "state", resume=True, **options)


@needs_signals
def test_an_interruption_is_resumed_from_memory():
    interrupted = []

    def progress(event):
        if event["event"] == "progress" and event["step"] > 0 and not interrupted:
            interrupted.append(event)
            os.kill(os.getpid(), signal.SIGINT)

    options = {**SHORT, "phase_two": 3000}
    with pytest.raises(KeyboardInterrupt):
        fabproj.train("star-shaped", **{**options, "progress": progress})
    assert fabproj.train("star-shaped", resume=True, **options) == fabproj.train("star-shaped", **options)


@needs_signals
def test_ctrl_c_ends_a_callable_that_hangs():
    program = run(
        """
        def hangs(y):
            print("asked", flush=True)
            time.sleep(600)
        try:
            fabproj.train(hangs, bounds=[(-1, 1)], progress=False)
        except KeyboardInterrupt:
            print("stopped", flush=True)
        """
    )
    assert program.stdout.readline().strip() == "asked"
    program.send_signal(signal.SIGINT)
    rest, errors = program.communicate(timeout=20)
    assert rest.strip() == "stopped", (rest, errors)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_process_trains_and_projects():
    program = run(
        """
        options = dict(preset="quick", progress=False, samples=500, phase_two=100, rounds=1)
        model = fabproj.train("star-shaped", **options)
        guard = model.guard()
        wanted = guard(numpy.ones((1000, 2)))
        child = os.fork()
        same = fabproj.train("star-shaped", **options) == model
        same = same and bool((guard(numpy.ones((1000, 2))) == wanted).all())
        if child == 0:
            os._exit(0 if same else 3)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        print(code, same, flush=True)
        """
    )
    rest, errors = program.communicate(timeout=120)
    assert rest.strip() == "0 True", (rest, errors)


@pytest.mark.parametrize("source", ['"star-shaped"', "plate, bounds=[(-2, 2)] * 2"])
def test_the_interpreter_may_end_during_a_training(source):
    program = run(
        f"""
        started = threading.Event()
        def train():
            fabproj.train({source}, progress=lambda event: started.set())
        threading.Thread(target=train, daemon=True).start()
        assert started.wait(60)
        time.sleep(0.3)
        print("end", flush=True)
        """
    )
    rest, errors = program.communicate(timeout=60)
    assert (program.returncode, rest.strip(), errors) == (0, "end", "")


def test_the_command_comes_with_the_package(tmp_path):
    command = pathlib.Path(sys.executable).with_name("fabproj")
    listed = subprocess.run([command, "sets"], capture_output=True, text=True, check=True)
    assert "two-moons" in listed.stdout
    module = subprocess.run([sys.executable, "-m", "fabproj", "--version"], capture_output=True, text=True)
    assert module.stdout.strip() == f"fabproj {fabproj.__version__}" and module.returncode == 0
    wrong = subprocess.run([command, "train", "two-mons"], capture_output=True, text=True, cwd=tmp_path)
    assert wrong.returncode == 2 and "did you mean" in wrong.stderr
    usage = subprocess.run([command, "trian"], capture_output=True, text=True)
    assert usage.returncode == 2


@needs_signals
def test_the_command_stops_at_ctrl_c(tmp_path):
    command = pathlib.Path(sys.executable).with_name("fabproj")
    program = subprocess.Popen(
        [command, "train", "two-moons", "-o", "moons.safetensors"], cwd=tmp_path, stderr=subprocess.PIPE, text=True
    )
    while not list(tmp_path.glob("moons.safetensors.checkpoint/*.state")):
        assert program.poll() is None
        time.sleep(0.05)
    program.send_signal(signal.SIGINT)
    _, errors = program.communicate(timeout=60)
    assert program.returncode == 130
    assert "fabproj train two-moons -o moons.safetensors --resume" in errors
