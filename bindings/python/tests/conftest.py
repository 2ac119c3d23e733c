"""Models that the tests share: each is trained once."""

import signal

import numpy
import pytest

import fabproj

# A shell ignores Ctrl-C in what it runs in the background, and programs that the tests start would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)


def plate(y):
    """A plate with a round hole."""
    return (abs(y).max(axis=1) <= 1) & ((y**2).sum(axis=1) >= 0.16)


def disc(y, x):
    """A disc whose radius is x."""
    return (y**2).sum(axis=1) <= x[:, 0] ** 2


@pytest.fixture(scope="session")
def moons():
    return fabproj.train("two-moons", preset="quick", progress=False, samples=5000)


@pytest.fixture(scope="session")
def obstacle():
    """A set that depends on x."""
    return fabproj.train("moving-obstacle", preset="quick", progress=False, samples=5000, phase_two=400)


@pytest.fixture(scope="session")
def of_callable():
    return fabproj.train(
        plate, bounds=[(-2, 2), (-2, 2)], preset="quick", name="plate", progress=False, samples=5000, phase_two=400,
        boundary=2000,
    )


@pytest.fixture
def points():
    return numpy.random.default_rng(0).normal(scale=2.0, size=(500, 2))
