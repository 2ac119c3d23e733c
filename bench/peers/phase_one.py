"""A step of phase 1: reconstruction of feasible points, mean squared error, Adam."""

import torch
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

from . import data, networks

LEARNING_RATE = 1e-3


def feasible_points():
    points, labels = data.training_points()
    return points[labels > 0.5]


def endless(loader):
    """Epoch after epoch, each shuffled afresh."""
    while True:
        yield from loader


class Released:
    """As the paper's released code trains: a DataLoader, eager mode, the gate run for one decoder."""

    def __init__(self):
        self.encoder = networks.encoder(data.DIM, data.DIM)
        self.decoders = networks.Decoders(data.DIM, data.DIM)
        parameters = [*self.encoder.parameters(), *self.decoders.parameters()]
        self.optimizer = torch.optim.Adam(parameters, lr=LEARNING_RATE)
        loader = DataLoader(TensorDataset(feasible_points()), batch_size=data.BATCH, shuffle=True)
        self.batches = endless(loader)
        self.total_loss = 0.0

    def __call__(self):
        (points,) = next(self.batches)
        self.optimizer.zero_grad()
        loss = functional.mse_loss(self.decoders(self.encoder(points)), points)
        loss.backward()
        self.optimizer.step()
        self.total_loss += loss.item()


class Best:
    """The fastest that we found in PyTorch: points in memory, one permutation an epoch, forward and
    backward compiled, all parameters in one buffer for a fused Adam, no gate, and the loss never read."""

    def __init__(self):
        self.encoder = networks.encoder(data.DIM, data.DIM)
        self.decoder = networks.perceptron(data.DIM, data.DIM)
        self.gradient, flat = in_one_buffer([*self.encoder.parameters(), *self.decoder.parameters()])
        self.optimizer = torch.optim.Adam([flat], lr=LEARNING_RATE, fused=True)
        self.points = feasible_points()
        self.loss = torch.compile(self.plain_loss, fullgraph=True)
        self.batches = iter(())

    def plain_loss(self, points):
        return functional.mse_loss(self.decoder(self.encoder(points)), points)

    def next_batch(self):
        batch = next(self.batches, None)
        if batch is None:
            shuffled = self.points[torch.randperm(len(self.points))]
            # Whole batches only: a short one would be compiled again, at the peer's expense.
            self.batches = iter(shuffled.split(data.BATCH)[: len(shuffled) // data.BATCH])
            batch = next(self.batches)
        return batch

    def __call__(self):
        self.loss(self.next_batch()).backward()
        self.optimizer.step()
        self.gradient.zero_()


def in_one_buffer(parameters):
    """Makes all parameters and their gradients views of two flat tensors; returns the gradients' one and
    the parameters' one, which an optimizer updates as if it were a single parameter."""
    flat = torch.nn.Parameter(torch.cat([parameter.detach().flatten() for parameter in parameters]))
    flat.grad = torch.zeros_like(flat)
    begin = 0
    for parameter in parameters:
        end = begin + parameter.numel()
        parameter.data = flat.data[begin:end].view_as(parameter)
        parameter.grad = flat.grad[begin:end].view_as(parameter)
        begin = end
    return flat.grad, flat
