"""The projector as a function of JAX."""

import jax
import jax.numpy as jnp
import numpy
import pytest

import fabproj.jax
from conftest import rows_that_agree


def test_outputs_and_gradients_are_those_of_the_library(case):
    project = fabproj.jax.projector(case.model)
    arguments = case.arguments(jnp.asarray)
    assert rows_that_agree(project(*arguments), case.wanted) == 1.0
    assert rows_that_agree(jax.jit(project)(*arguments), case.wanted) >= 0.99
    _, pull = jax.vjp(project, *arguments)
    for found, wanted in zip(pull(jnp.asarray(case.cotangent)), case.gradients):
        assert rows_that_agree(found, wanted) >= 0.99


def test_rows_one_by_one(case):
    project = fabproj.jax.projector(case.model)
    arguments = case.arguments(lambda values: jnp.asarray(values[:50]))
    each = jax.vmap(project)(*arguments)
    assert rows_that_agree(each, project(*arguments)) >= 0.98


def test_weights_are_a_pytree(moons, tmp_path):
    moons.save(tmp_path / "moons.safetensors")
    project = fabproj.jax.projector(tmp_path / "moons.safetensors")
    y = jnp.asarray(numpy.random.default_rng(0).normal(size=(20, 2)), "float32")

    def loss(weights):
        return project(y, weights=weights).sum()

    gradients = jax.grad(loss)(project.weights)
    assert gradients.keys() == project.weights.keys()
    assert any(abs(gradient).sum() > 0 for gradient in gradients.values())
    moved = jax.tree.map(lambda values: values + 1, project.weights)
    assert not jnp.allclose(project(y, weights=moved), project(y))


def test_numbers_that_are_none_and_wrong_shapes(moons):
    project = fabproj.jax.projector(moons)
    y = jnp.array([[jnp.nan, 0.0], [0.3, 0.2]])
    wanted, _ = moons.projector().project(numpy.asarray(y))
    assert rows_that_agree(project(y), wanted) == 1.0
    assert jnp.isfinite(jax.grad(lambda y: project(y).sum())(y)).all()
    with pytest.raises(ValueError, match="`y` must have 2 numbers"):
        project(jnp.zeros(3))


def test_a_solver_under_jit_vmap_and_grad(solver):
    solve = fabproj.jax.solver(solver)
    x = numpy.random.default_rng(0).normal(size=(20, 2)).astype("float32")
    wanted = solver(x)
    assert numpy.allclose(solve(x), wanted, atol=1e-6)
    assert numpy.allclose(jax.jit(solve)(x), wanted, atol=1e-6)
    assert numpy.allclose(jax.vmap(solve)(jnp.asarray(x)), wanted, atol=1e-6)
    found = jax.jit(jax.vmap(jax.grad(lambda x: solve(x)[0])))(jnp.asarray(x))
    assert numpy.allclose(found, solver.vjp(x, numpy.tile([1.0, 0.0], (20, 1))), atol=1e-5)
    with pytest.raises(ValueError, match="`x` must have 2 numbers"):
        solve(jnp.zeros(3))
