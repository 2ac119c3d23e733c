"""One projection, and a large batch: PyTorch in eager mode, ONNX Runtime, and as released.

All run the network of the given model file, the one that our side is timed with.
"""

import numpy
import onnxruntime
import torch

from torch import nn

from . import data, networks, onnx_model

LARGE_BATCH = 65_536


def fill(layers, network):
    """Copies the weights of a network of the model file."""
    linear = [layer for layer in layers if isinstance(layer, nn.Linear)]
    for layer, (weight, bias) in zip(linear, network.layers, strict=True):
        with torch.no_grad():
            layer.weight.copy_(torch.from_numpy(weight))
            layer.bias.copy_(torch.from_numpy(bias))


def projector(model):
    """The only chart of the model file as a PyTorch module."""
    (chart,) = model.charts
    built = networks.Projector(data.DIM, chart.frame.centre, chart.frame.scale)
    fill(built.encoder, chart.encoder)
    fill(built.decoder, chart.decoders[0])
    return built.eval()


def inputs(rows):
    """Points all over the region of interest, so that inputs inside and outside alternate."""
    generator = torch.Generator().manual_seed(1)
    return 6.0 * torch.rand(rows, data.DIM, generator=generator) - 3.0


class Eager:
    """A PyTorch module called without gradients; its input is a tensor already."""

    def __init__(self, model, rows):
        self.projector = projector(model)
        self.points = inputs(rows)

    @torch.no_grad()
    def __call__(self):
        return self.projector(self.points)


class Runtime:
    """ONNX Runtime on one thread with its default optimisations."""

    def __init__(self, model, rows):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        graph = onnx_model.serialised(projector(model), rows)
        self.session = onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
        self.feed = {"points": inputs(rows).numpy()}

    def __call__(self):
        return self.session.run(None, self.feed)[0]


class Released:
    """A call as in the paper's released evaluation: array to tensor, normalise, encode, clamp where
    needed, gate and decoders, back to an array."""

    def __init__(self, model):
        plain = projector(model)
        self.encoder, self.centre, self.scale = plain.encoder, plain.centre, plain.scale
        self.decoders = networks.Decoders(data.DIM, data.DIM).eval()
        self.decoders.decoders[0] = plain.decoder
        self.point = inputs(1)[0].numpy()

    def project(self, points):
        latent = self.encoder((points - self.centre) / self.scale)
        norm = torch.norm(latent, dim=1, keepdim=True)
        latent = torch.where(norm > networks.RADIUS, latent * networks.RADIUS / norm, latent)
        return self.decoders(latent) * self.scale + self.centre

    def __call__(self):
        with torch.no_grad():
            point = torch.tensor(self.point, dtype=torch.float32).unsqueeze(0)
            return numpy.asarray(self.project(point).squeeze(0))
