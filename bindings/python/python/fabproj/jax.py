"""A trained projector as a pure function of JAX.

    project = fabproj.jax.projector("moons.safetensors")
    y = jax.jit(project)(y)
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy

from . import _layout
from ._native import Model, Solver

__all__ = ["projector", "solver"]

ACTIVATIONS = {"identity": lambda value: value, "relu": jax.nn.relu, "tanh": jnp.tanh, "silu": jax.nn.silu}

# As in the library: added to the norm in the smooth ball's map; the norm below which a shell takes the first axis.
NORM_OFFSET = 1e-8
NO_DIRECTION = 1e-12

Weights = dict[str, jax.Array]


def projector(model: Model | str | os.PathLike[str]) -> Callable[..., jax.Array]:
    """The function ``project(y, x=None, *, weights=project.weights)`` of a model or of its file.

    ``y`` has the shape (..., dim), ``x`` (..., x_dim) where the set depends on x. ``project.weights`` is a dict of
    the arrays of the model file: differentiate with respect to ``weights`` to train them. The function is pure:
    ``jit``, ``vmap`` and ``grad`` apply. Outputs are not tested; a ``Guard`` does that.

    JAX computes in float32 unless 64 bits are enabled; equations then hold to that precision.
    """
    model = _layout.model_of(model)
    header, arrays = _layout.arrays(model)
    own = {name: jnp.asarray(values) for name, values in arrays.items() if not name.startswith("anchors.")}
    fallback = jnp.asarray(_layout.fallback(header, arrays))
    dim, x_dim = model.dim, model.x_dim

    def project(y: Any, x: Any = None, *, weights: Weights = own) -> jax.Array:
        y = jnp.asarray(y)
        y = y if jnp.issubdtype(y.dtype, jnp.floating) else y.astype(float)
        if y.ndim == 0 or y.shape[-1] != dim:
            raise ValueError(f"`y` must have {dim} numbers in its last dimension, found {y.shape}")
        if x is None and x_dim:
            raise ValueError(f"`x` is missing: the set of this model depends on {x_dim} numbers x")
        x = jnp.zeros((*y.shape[:-1], 0), y.dtype) if x is None else jnp.asarray(x, y.dtype)
        if x.shape[-1] != x_dim:
            raise ValueError(f"`x` must have {x_dim} numbers in its last dimension, found {x.shape}")
        lead = jnp.broadcast_shapes(y.shape[:-1], x.shape[:-1])
        y, x = jnp.broadcast_to(y, (*lead, dim)), jnp.broadcast_to(x, (*lead, x_dim))
        finite = jnp.isfinite(y).all(-1, keepdims=True) & jnp.isfinite(x).all(-1, keepdims=True)
        safe_y, safe_x = jnp.where(finite, y, 0), jnp.where(finite, x, 0)
        out = _project(header, weights, safe_y, safe_x)
        other = jnp.broadcast_to(fallback.astype(y.dtype), (*lead, fallback.shape[0]))
        if header.get("equations_dim"):
            other = _raised(weights, other, safe_x)
        return jnp.where(finite & jnp.isfinite(out).all(-1, keepdims=True), out, other)

    project.weights = own  # type: ignore[attr-defined]
    return project


def solver(solver: Solver | Model | str | os.PathLike[str]) -> Callable[[Any], jax.Array]:
    """The function ``solve(x)`` of a ``fabproj.Solver``, of a problem's model or of its file.

    ``x`` has the shape (..., x_dim), the answer (..., dim). The library answers on the host in float64;
    ``jit``, ``vmap`` and ``grad`` apply, second derivatives do not. Answers have the type of x.
    """
    own = _layout.solver_of(solver)

    def called(run: Callable[..., Any], width: int, *arguments: jax.Array) -> jax.Array:
        x = arguments[0]
        shape = jax.ShapeDtypeStruct((*x.shape[:-1], width), x.dtype)
        on_host = lambda *rows: run(*(numpy.asarray(row) for row in rows)).astype(x.dtype)
        return jax.pure_callback(on_host, shape, *arguments, vmap_method="broadcast_all")

    @jax.custom_vjp
    def answers(x: jax.Array) -> jax.Array:
        return called(own, own.dim, x)

    def forward(x: jax.Array) -> tuple[jax.Array, jax.Array]:
        return answers(x), x

    def backward(x: jax.Array, cotangent: jax.Array) -> tuple[jax.Array]:
        return (called(own.vjp, own.x_dim, x, cotangent),)

    answers.defvjp(forward, backward)

    def solve(x: Any) -> jax.Array:
        x = jnp.asarray(x)
        x = x if jnp.issubdtype(x.dtype, jnp.floating) else x.astype(float)
        if x.ndim == 0 or x.shape[-1] != own.x_dim:
            raise ValueError(f"`x` must have {own.x_dim} numbers in its last dimension, found {x.shape}")
        return answers(x)

    return solve


def _project(header: dict[str, Any], weights: Weights, y: jax.Array, x: jax.Array) -> jax.Array:
    equations = bool(header.get("equations_dim"))
    inner = (y - _foot(weights, x)) @ weights["equations.basis"].astype(y.dtype) if equations else y
    joined_x = _enter(weights, "x_frame", x)
    out = None
    chosen = None
    if header.get("gate"):
        inputs = jnp.concatenate([_enter(weights, "frame", inner), joined_x], -1)
        chosen = _network(header["gate"], weights, "gate", inputs).argmax(-1, keepdims=True)
    for index, chart in enumerate(header["charts"]):
        of_chart = _chart(chart, weights, f"charts.{index}", inner, joined_x)
        out = of_chart if out is None else jnp.where(chosen == index, of_chart, out)
    assert out is not None
    return _raised(weights, out, x) if equations else out


def _chart(header: dict[str, Any], weights: Weights, name: str, y: jax.Array, x: jax.Array) -> jax.Array:
    inputs = jnp.concatenate([_enter(weights, f"{name}.frame", y), x], -1)
    latent = clamp(_network(header["encoder"], weights, f"{name}.encoder", inputs), header["latent"])
    inputs = jnp.concatenate([latent, x], -1)
    decodes = [
        _network(decoder, weights, f"{name}.decoders.{index}", inputs)
        for index, decoder in enumerate(header["decoders"])
    ]
    out = decodes[0]
    if header.get("decoder_gate"):
        shares = jax.nn.softmax(_network(header["decoder_gate"], weights, f"{name}.decoder_gate", inputs), -1)
        out = (shares[..., None] * jnp.stack(decodes, -2)).sum(-2)
    return out * weights[f"{name}.frame.scale"] + weights[f"{name}.frame.centre"]


def _network(header: dict[str, Any], weights: Weights, name: str, inputs: jax.Array) -> jax.Array:
    value, last = inputs, len(header["widths"]) - 2
    for index in range(last + 1):
        value = value @ weights[f"{name}.layers.{index}.weight"].T + weights[f"{name}.layers.{index}.bias"]
        value = ACTIVATIONS[header["hidden"]](value) if index < last else value
    if header["skip_inputs"]:
        value = value + inputs[..., : header["skip_inputs"]] @ weights[f"{name}.skip.weight"].T
    return ACTIVATIONS[header["output"]](value)


def _enter(weights: Weights, name: str, values: jax.Array) -> jax.Array:
    if values.shape[-1] == 0:
        return values
    return (values - weights[f"{name}.centre"]) / weights[f"{name}.scale"]


def _foot(weights: Weights, x: jax.Array) -> jax.Array:
    origin = weights["equations.origin"].astype(x.dtype)
    return origin + x @ weights["equations.by_x"].astype(x.dtype).T if x.shape[-1] else origin


def _raised(weights: Weights, reduced: jax.Array, x: jax.Array) -> jax.Array:
    return _foot(weights, x) + reduced @ weights["equations.basis"].astype(x.dtype).T


def clamp(latent: jax.Array, latent_set: dict[str, Any]) -> jax.Array:
    """The map onto a latent set."""
    kind, sharpness = latent_set["kind"], latent_set.get("smooth")
    if kind == "simplex":
        return jax.nn.softmax(latent_set["sharpness"] * latent, -1)
    if kind == "box":
        half = latent_set["half"]
        if sharpness is None:
            return jnp.clip(latent, -half, half)
        below = jax.nn.softplus(sharpness * (-half - latent))
        return half - (jax.nn.softplus(sharpness * (half - latent)) - below) / sharpness
    inner, outer = latent_set.get("inner", 0.0), latent_set.get("outer", latent_set.get("radius"))
    # The norm has no gradient at 0; there the factor does not matter, or the first axis is taken.
    norm = jnp.sqrt(jnp.maximum(jnp.square(latent).sum(-1, keepdims=True), NO_DIRECTION**2))
    if sharpness is None:
        gain = jnp.where(norm > outer, outer / norm, jnp.where(norm < inner, inner / norm, 1.0))
    else:
        # ρ − softplus(β(ρ − outer))/β with the large parts cancelled.
        target = outer - jax.nn.softplus(sharpness * (outer - norm)) / sharpness
        if inner:
            target = target + jax.nn.softplus(sharpness * (inner - norm)) / sharpness
        gain = target / (norm if inner else norm + NORM_OFFSET)
    if not inner:
        return latent * gain
    first = jnp.zeros_like(latent).at[..., 0].set(1.0)
    at_centre = inner if sharpness is None else gain * norm
    return jnp.where(norm <= NO_DIRECTION, first * at_centre, latent * gain)
