"""A trained projector as a PyTorch module.

    network = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 2), fabproj.torch.Projector.load("moons.safetensors"))
"""

from __future__ import annotations

import os
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from . import _layout
from ._native import Model
from ._native import Solver as NativeSolver

__all__ = ["Projector", "Solver"]

ACTIVATIONS = {"identity": lambda value: value, "relu": functional.relu, "tanh": torch.tanh, "silu": functional.silu}

# Added to the norm in the smooth ball's map, and the norm below which a shell takes the first axis: as in the
# library.
NORM_OFFSET = 1e-8
NO_DIRECTION = 1e-12


class Projector(nn.Module):
    """The projection onto a model's set, in plain operations of torch.

    Inputs are ``y`` of shape (..., dim) and, where the set depends on x, ``x`` of shape (..., x_dim); or both
    joined in one tensor of shape (..., dim + x_dim), for use in a ``Sequential``. Outputs have the shape and type
    of ``y``. The networks' weights are frozen unless ``trainable``. The names in ``state_dict`` are those of the
    model file.

    ``fast=True`` runs the library's own kernels on the CPU, with gradients with respect to y and x. It has no
    double backward and trains no weights.

    Outputs are not tested. A ``Guard`` does that, outside of the graph.
    """

    def __init__(self, model: Model | str | os.PathLike[str], *, trainable: bool = False, fast: bool = False):
        super().__init__()
        if fast and trainable:
            raise ValueError("fast=True has no gradients of weights; leave it out to train them")
        model = _layout.model_of(model)
        header, arrays = _layout.arrays(model)
        self.dim, self.x_dim = model.dim, model.x_dim
        self._fast = model.projector() if fast else None
        self.frame = _Frame(arrays, "frame")
        self.x_frame = _Frame(arrays, "x_frame")
        self.charts = nn.ModuleList(
            _Chart(chart, arrays, f"charts.{index}") for index, chart in enumerate(header["charts"])
        )
        self.gate = _Network(header["gate"], arrays, "gate") if header.get("gate") else None
        self.equations = _Equations(arrays) if header.get("equations_dim") else None
        fallback = torch.tensor(_layout.fallback(header, arrays))
        self.register_buffer("fallback", fallback, persistent=False)
        self.requires_grad_(trainable)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, trainable: bool = False, fast: bool = False) -> Projector:
        """Reads a model file."""
        return cls(path, trainable=trainable, fast=fast)

    def forward(self, y: Tensor, x: Tensor | None = None) -> Tensor:
        y, x = self._split(y, x)
        if self._fast is not None and y.device.type == "cpu":
            return _Fast.apply(y, x, self._fast)
        finite = torch.isfinite(y).all(-1, keepdim=True) & torch.isfinite(x).all(-1, keepdim=True)
        safe_y, safe_x = torch.where(finite, y, 0), torch.where(finite, x, 0)
        out = self._project(safe_y, safe_x)
        fallback = self.fallback.to(y.dtype).expand(*y.shape[:-1], -1)
        if self.equations is not None:
            fallback = self.equations.raised(fallback, safe_x)
        return torch.where(finite & torch.isfinite(out).all(-1, keepdim=True), out, fallback)

    def extra_repr(self) -> str:
        return f"dim={self.dim}, x_dim={self.x_dim}, charts={len(self.charts)}, fast={self._fast is not None}"

    def _split(self, y: Tensor, x: Tensor | None) -> tuple[Tensor, Tensor]:
        width = y.shape[-1] if y.dim() else 0
        if x is None and self.x_dim and width == self.dim + self.x_dim:
            y, x = y[..., : self.dim], y[..., self.dim :]
        elif width != self.dim:
            joined = f" or {self.dim + self.x_dim} (y and x joined)" if self.x_dim else ""
            raise ValueError(f"`y` must have {self.dim}{joined} numbers in its last dimension, found {tuple(y.shape)}")
        if x is None:
            if self.x_dim:
                raise ValueError(f"`x` is missing: the set of this model depends on {self.x_dim} numbers x")
            x = y.new_zeros((*y.shape[:-1], 0))
        if x.shape[-1] != self.x_dim:
            raise ValueError(f"`x` must have {self.x_dim} numbers in its last dimension, found {tuple(x.shape)}")
        lead = torch.broadcast_shapes(y.shape[:-1], x.shape[:-1])
        return y.expand(*lead, -1), x.to(y.dtype).expand(*lead, -1)

    def _project(self, y: Tensor, x: Tensor) -> Tensor:
        inner = y if self.equations is None else self.equations.lowered(y, x)
        dtype = self.charts[0].encoder.layers[0].weight.dtype
        joined_x = self.x_frame.enter(x).to(dtype)
        outs = [chart(inner, joined_x) for chart in self.charts]
        out = outs[0]
        if self.gate is not None:
            logits = self.gate(torch.cat([self.frame.enter(inner).to(dtype), joined_x], -1))
            chosen = logits.argmax(-1, keepdim=True)
            for index, other in enumerate(outs[1:], start=1):
                out = torch.where(chosen == index, other, out)
        return out if self.equations is None else self.equations.raised(out, x)


class Solver(nn.Module):
    """The answers of a solver, with gradients with respect to x: for networks that choose x.

    Takes a ``fabproj.Solver``, the model of a problem, or its file. Inputs are x of shape (..., x_dim); the library
    answers on the CPU in float64, and outputs have the type of x. There is no double backward.
    """

    def __init__(self, solver: NativeSolver | Model | str | os.PathLike[str]):
        super().__init__()
        self._solver = _layout.solver_of(solver)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Solver:
        """Reads a model file."""
        return cls(path)

    def forward(self, x: Tensor) -> Tensor:
        return _Solve.apply(x, self._solver)

    def extra_repr(self) -> str:
        return f"dim={self._solver.dim}, x_dim={self._solver.x_dim}"


class _Solve(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, x: Tensor, solver: NativeSolver) -> Tensor:
        context.save_for_backward(x)
        context.solver = solver
        return torch.from_numpy(solver(x.detach().cpu().numpy())).to(x)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(context: Any, cotangent: Tensor) -> tuple[Tensor | None, ...]:
        (x,) = context.saved_tensors
        d_x = context.solver.vjp(x.detach().cpu().numpy(), cotangent.cpu().numpy())
        return torch.from_numpy(d_x).to(x), None


class _Frame(nn.Module):
    """A change of units."""

    def __init__(self, arrays: _layout.Arrays, name: str):
        super().__init__()
        for part in ("centre", "scale"):
            values = arrays.get(f"{name}.{part}")
            self.register_buffer(part, torch.zeros(0) if values is None else torch.tensor(values))

    def enter(self, values: Tensor) -> Tensor:
        return (values - self.centre.to(values.dtype)) / self.scale.to(values.dtype)

    def leave(self, values: Tensor, dtype: torch.dtype) -> Tensor:
        return values.to(dtype) * self.scale.to(dtype) + self.centre.to(dtype)


class _Network(nn.Module):
    def __init__(self, header: dict[str, Any], arrays: _layout.Arrays, name: str):
        super().__init__()
        widths = header["widths"]
        self.layers = nn.ModuleList(
            nn.utils.skip_init(nn.Linear, inputs, outputs) for inputs, outputs in zip(widths, widths[1:])
        )
        self.skip_inputs = header["skip_inputs"]
        self.skip = nn.utils.skip_init(nn.Linear, self.skip_inputs, widths[-1], bias=False) if self.skip_inputs else None
        self.hidden, self.output = ACTIVATIONS[header["hidden"]], ACTIVATIONS[header["output"]]
        with torch.no_grad():
            for parameter, values in self.named_parameters():
                values.copy_(torch.tensor(arrays[f"{name}.{parameter}"]))

    def forward(self, inputs: Tensor) -> Tensor:
        value = inputs
        for layer in self.layers[:-1]:
            value = self.hidden(layer(value))
        value = self.layers[-1](value)
        if self.skip is not None:
            value = value + self.skip(inputs[..., : self.skip_inputs])
        return self.output(value)


class _Chart(nn.Module):
    def __init__(self, header: dict[str, Any], arrays: _layout.Arrays, name: str):
        super().__init__()
        self.frame = _Frame(arrays, f"{name}.frame")
        self.encoder = _Network(header["encoder"], arrays, f"{name}.encoder")
        self.latent = header["latent"]
        self.decoders = nn.ModuleList(
            _Network(decoder, arrays, f"{name}.decoders.{index}") for index, decoder in enumerate(header["decoders"])
        )
        gate = header.get("decoder_gate")
        self.decoder_gate = _Network(gate, arrays, f"{name}.decoder_gate") if gate else None

    def forward(self, y: Tensor, x: Tensor) -> Tensor:
        encoded = self.encoder(torch.cat([self.frame.enter(y).to(x.dtype), x], -1))
        inputs = torch.cat([clamp(encoded, self.latent), x], -1)
        if self.decoder_gate is None:
            return self.frame.leave(self.decoders[0](inputs), y.dtype)
        weights = torch.softmax(self.decoder_gate(inputs), -1)
        decodes = torch.stack([decoder(inputs) for decoder in self.decoders], -2)
        return self.frame.leave((weights.unsqueeze(-1) * decodes).sum(-2), y.dtype)


class _Equations(nn.Module):
    """Affine equations, in double precision."""

    def __init__(self, arrays: _layout.Arrays):
        super().__init__()
        origin = torch.tensor(arrays["equations.origin"])
        by_x = arrays.get("equations.by_x")
        self.register_buffer("origin", origin)
        self.register_buffer("basis", torch.tensor(arrays["equations.basis"]))
        self.register_buffer("by_x", origin.new_zeros((len(origin), 0)) if by_x is None else torch.tensor(by_x))

    def foot(self, x: Tensor) -> Tensor:
        return self.origin + x.to(self.origin.dtype) @ self.by_x.T

    def lowered(self, y: Tensor, x: Tensor) -> Tensor:
        return (y.to(self.origin.dtype) - self.foot(x)) @ self.basis

    def raised(self, reduced: Tensor, x: Tensor) -> Tensor:
        return (self.foot(x) + reduced.to(self.origin.dtype) @ self.basis.T).to(x.dtype)


def clamp(latent: Tensor, latent_set: dict[str, Any]) -> Tensor:
    """The map onto a latent set."""
    kind, sharpness = latent_set["kind"], latent_set.get("smooth")
    if kind == "simplex":
        return torch.softmax(latent_set["sharpness"] * latent, -1)
    if kind == "box":
        half = latent_set["half"]
        if sharpness is None:
            return latent.clamp(-half, half)
        below = functional.softplus(sharpness * (-half - latent))
        return half - (functional.softplus(sharpness * (half - latent)) - below) / sharpness
    inner, outer = latent_set.get("inner", 0.0), latent_set.get("outer", latent_set.get("radius"))
    # The norm has no gradient at 0; there the factor does not matter, or the first axis is taken.
    norm = latent.square().sum(-1, keepdim=True).clamp(min=NO_DIRECTION**2).sqrt()
    if sharpness is None:
        gain = torch.where(norm > outer, outer / norm, torch.where(norm < inner, inner / norm, 1.0))
    else:
        # ρ − softplus(β(ρ − outer))/β with the large parts cancelled.
        target = outer - functional.softplus(sharpness * (outer - norm)) / sharpness
        if inner:
            target = target + functional.softplus(sharpness * (inner - norm)) / sharpness
        gain = target / (norm if inner else norm + NORM_OFFSET)
    clamped = latent * gain
    if not inner:
        return clamped
    first = torch.zeros_like(latent)
    first[..., 0] = 1.0
    at_centre = inner if sharpness is None else gain * norm
    return torch.where(norm <= NO_DIRECTION, first * at_centre, clamped)


class _Fast(torch.autograd.Function):
    """The library's kernels."""

    @staticmethod
    def forward(context: Any, y: Tensor, x: Tensor, projector: Any) -> Tensor:
        context.save_for_backward(y, x)
        context.projector = projector
        out, _ = projector.project(*_numpy(projector, y, x))
        return torch.from_numpy(out).to(y.dtype)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(context: Any, cotangent: Tensor) -> tuple[Tensor | None, ...]:
        y, x = context.saved_tensors
        rows = _numpy(context.projector, y, x)
        d_y, d_x = context.projector.vjp(rows[0], cotangent.detach().to(y.dtype).numpy(), rows[1])
        of_x = None if d_x is None else torch.from_numpy(d_x)
        return torch.from_numpy(d_y), of_x, None


def _numpy(projector: Any, y: Tensor, x: Tensor) -> tuple[Any, Any]:
    return y.detach().numpy(), x.detach().numpy() if projector.x_dim else None
