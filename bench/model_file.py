"""A reader of fabproj's model files, written from their description alone, and the projector in NumPy.

Slow and plain on purpose: it checks that a program which knows nothing of fabproj's code gets the same
projections out of a model file, and it hands the peers their weights.
"""

import json

import numpy
from safetensors import safe_open


def softplus(value):
    return numpy.logaddexp(0.0, value)


def smooth_radius(radius, sharpness, inner, outer):
    """The smooth clamp of a distance; a ball has no inner radius."""
    value = radius - softplus(sharpness * (radius - outer)) / sharpness
    if inner > 0.0:
        value = value + softplus(sharpness * (inner - radius)) / sharpness
    return value


def clamp_radially(latents, latent_set):
    inner = latent_set.get("inner", 0.0)
    outer = latent_set.get("outer", latent_set.get("radius"))
    norms = numpy.linalg.norm(latents, axis=1, keepdims=True)
    if latent_set.get("smooth") is None:
        target = numpy.clip(norms, inner, outer)
    else:
        target = smooth_radius(norms, latent_set["smooth"], inner, outer)
    return latents * (target / numpy.maximum(norms, 1e-8))


def clamp(latents, latent_set):
    """The map onto a latent set."""
    kind = latent_set["kind"]
    if kind in ("ball", "shell"):
        return clamp_radially(latents, latent_set)
    if kind == "box":
        half, sharpness = latent_set["half"], latent_set.get("smooth")
        if sharpness is None:
            return numpy.clip(latents, -half, half)
        above = softplus(sharpness * (latents - half))
        below = softplus(sharpness * (-half - latents))
        return latents - (above - below) / sharpness
    if kind == "simplex":
        return softmax(latent_set["sharpness"] * latents)
    raise ValueError(f"unknown latent set {kind}")


def softmax(values):
    powers = numpy.exp(values - values.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


ACTIVATIONS = {
    "identity": lambda value: value,
    "relu": lambda value: numpy.maximum(value, 0.0),
    "tanh": numpy.tanh,
    "silu": lambda value: value / (1.0 + numpy.exp(-value)),
}


class Network:
    def __init__(self, header, name, tensors):
        count = len(header["widths"]) - 1
        self.layers = [
            (tensors[f"{name}.layers.{index}.weight"], tensors[f"{name}.layers.{index}.bias"])
            for index in range(count)
        ]
        self.skip = tensors.get(f"{name}.skip.weight")
        self.hidden = ACTIVATIONS[header["hidden"]]
        self.output = ACTIVATIONS[header["output"]]

    def __call__(self, inputs):
        value = inputs
        for weight, bias in self.layers[:-1]:
            value = self.hidden(value @ weight.T + bias)
        weight, bias = self.layers[-1]
        value = value @ weight.T + bias
        if self.skip is not None:
            value = value + inputs[:, : self.skip.shape[1]] @ self.skip.T
        return self.output(value)


class Frame:
    def __init__(self, name, tensors):
        # Arrays of length zero are not written.
        self.centre = tensors.get(f"{name}.centre", numpy.zeros(0))
        self.scale = tensors.get(f"{name}.scale", numpy.ones(0))

    def enter(self, values):
        return (values - self.centre) / self.scale

    def leave(self, values):
        return values * self.scale + self.centre


class Chart:
    def __init__(self, header, name, tensors):
        self.frame = Frame(f"{name}.frame", tensors)
        self.encoder = Network(header["encoder"], f"{name}.encoder", tensors)
        self.latent = header["latent"]
        self.decoders = [
            Network(decoder, f"{name}.decoders.{index}", tensors)
            for index, decoder in enumerate(header["decoders"])
        ]
        gate = header.get("decoder_gate")
        self.gate = Network(gate, f"{name}.decoder_gate", tensors) if gate else None

    def project(self, y, x):
        latents = clamp(self.encoder(numpy.hstack([self.frame.enter(y), x])), self.latent)
        inputs = numpy.hstack([latents, x])
        points = numpy.stack([decoder(inputs) for decoder in self.decoders], axis=1)
        weights = numpy.ones((len(y), 1)) if self.gate is None else softmax(self.gate(inputs))
        return self.frame.leave((weights[:, :, None] * points).sum(axis=1))


class ModelFile:
    """A model file, its arrays in double precision."""

    def __init__(self, path):
        with safe_open(path, framework="numpy") as file:
            self.header = json.loads(file.metadata()["fabproj"])
            tensors = {name: file.get_tensor(name).astype(numpy.float64) for name in file.keys()}
        if self.header["format"] != 2:
            raise ValueError(f"format version {self.header['format']} is not known here")
        self.frame = Frame("frame", tensors)
        self.x_frame = Frame("x_frame", tensors)
        gate = self.header.get("gate")
        self.gate = Network(gate, "gate", tensors) if gate else None
        self.charts = [
            Chart(chart, f"charts.{index}", tensors) for index, chart in enumerate(self.header["charts"])
        ]

    def project(self, y, x=None):
        """The projections of the rows of y, with x where the set depends on it."""
        y = numpy.asarray(y, dtype=numpy.float64)
        x = numpy.zeros((len(y), 0)) if x is None else self.x_frame.enter(x)
        out = numpy.empty_like(y)
        chosen = numpy.zeros(len(y), dtype=int)
        if self.gate is not None:
            chosen = self.gate(numpy.hstack([self.frame.enter(y), x])).argmax(axis=1)
        for index, chart in enumerate(self.charts):
            rows = chosen == index
            out[rows] = chart.project(y[rows], x[rows])
        return out
