"""An answer to a quadratic problem: the paper's solver network, then the projector of the model file."""

import numpy
import torch

from . import data, networks, projection


def solver():
    """The paper's solver network: the upper triangle of Q and p in, a point out."""
    features = data.DIM * (data.DIM + 3) // 2
    return networks.perceptron(features, data.DIM, width=128, hidden_layers=3).eval()


def problem():
    """Q and p as arrays."""
    generator = numpy.random.default_rng(1)
    factor = generator.standard_normal((data.DIM, data.DIM))
    matrix = factor.T @ factor + 0.01 * numpy.eye(data.DIM)
    return matrix, generator.standard_normal(data.DIM)


class Eager:
    """PyTorch modules called without gradients; the network's input is a tensor already."""

    def __init__(self, model):
        self.solver, self.projector = solver(), projection.projector(model)
        matrix, vector = problem()
        triangle = matrix[numpy.triu_indices(data.DIM)]
        features = numpy.concatenate([triangle, vector])
        self.features = torch.tensor(features, dtype=torch.float32).unsqueeze(0)

    @torch.no_grad()
    def __call__(self):
        return self.projector(self.solver(self.features))


class Released:
    """As in the paper's released evaluation: from the problem's arrays to the point's."""

    def __init__(self, model):
        self.solver, self.projection = solver(), projection.Released(model)
        self.matrix, self.vector = problem()

    def __call__(self):
        with torch.no_grad():
            matrix = torch.tensor(self.matrix, dtype=torch.float32)
            vector = torch.tensor(self.vector, dtype=torch.float32)
            rows, columns = torch.triu_indices(data.DIM, data.DIM)
            features = torch.cat([matrix[rows, columns], vector]).unsqueeze(0)
            return numpy.asarray(self.projection.project(self.solver(features)).squeeze(0))
