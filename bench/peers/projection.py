"""One projection, and a large batch: PyTorch in eager mode, ONNX Runtime, and as released."""

import numpy
import onnxruntime
import torch

from . import data, networks, onnx_model

LARGE_BATCH = 65_536
# The mean and deviation of uniform points in the square of side 4.
CENTRE, SCALE = [0.0, 0.0], [1.1547, 1.1547]


def projector():
    torch.manual_seed(0)
    return networks.Projector(data.DIM, CENTRE, SCALE).eval()


def inputs(rows):
    """Points all over the region of interest, so that inputs inside and outside alternate."""
    generator = torch.Generator().manual_seed(1)
    return 6.0 * torch.rand(rows, data.DIM, generator=generator) - 3.0


class Eager:
    """A PyTorch module called without gradients; its input is a tensor already."""

    def __init__(self, rows):
        self.projector = projector()
        self.points = inputs(rows)

    @torch.no_grad()
    def __call__(self):
        return self.projector(self.points)


class Runtime:
    """ONNX Runtime on one thread with its default optimisations."""

    def __init__(self, rows):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        model = onnx_model.serialised(projector(), rows)
        self.session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        self.feed = {"points": inputs(rows).numpy()}

    def __call__(self):
        return self.session.run(None, self.feed)[0]


class Released:
    """A call as in the paper's released evaluation: array to tensor, normalise, encode, clamp where
    needed, gate and decoders, back to an array."""

    def __init__(self):
        torch.manual_seed(0)
        self.encoder = networks.encoder(data.DIM, data.DIM).eval()
        self.decoders = networks.Decoders(data.DIM, data.DIM).eval()
        self.centre = torch.tensor(CENTRE)
        self.scale = torch.tensor(SCALE)
        self.point = inputs(1)[0].numpy()

    def __call__(self):
        with torch.no_grad():
            point = torch.tensor(self.point, dtype=torch.float32).unsqueeze(0)
            latent = self.encoder((point - self.centre) / self.scale)
            norm = torch.norm(latent, dim=1, keepdim=True)
            latent = torch.where(norm > networks.RADIUS, latent * networks.RADIUS / norm, latent)
            projected = self.decoders(latent) * self.scale + self.centre
            return numpy.asarray(projected.squeeze(0))
