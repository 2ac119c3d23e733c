"""A step of phase 2: three discriminator steps with oracle labels, then one autoencoder step."""

import torch
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

from . import data, geometry, networks
from .phase_one import LEARNING_RATE, endless

DISCRIMINATOR_STEPS = 3
RADIUS = networks.RADIUS
# The first entry of the released grid of loss weights.
WEIGHTS = {"reconstruction": 1.5, "feasibility": 1.0, "latent": 1.0, "hinge": 0.5, "geometry": 0.025}


def cube_latents(rows):
    """The discriminator's generated points start here: tanh of a normal."""
    return torch.tanh(torch.randn(rows, data.DIM))


def ball_latents(rows):
    """Uniform in the ball."""
    direction = torch.randn(rows, data.DIM)
    direction = direction / (direction.norm(dim=-1, keepdim=True) + 1e-8)
    return direction * torch.rand(rows, 1) ** (1.0 / data.DIM) * RADIUS


def hinge(latents, labels):
    """Feasible points inside the ball, infeasible ones outside."""
    norms = latents.norm(dim=-1)
    inside = torch.clamp(norms - RADIUS, min=0.0)
    outside = torch.clamp(RADIUS - norms, min=0.0)
    return (labels * inside + (1.0 - labels) * outside).mean()


class Step:
    """What both ways of writing the step have in common."""

    def __init__(self, decoder, fused):
        points, self.labels = data.training_points()
        self.centre = points.mean(dim=0)
        self.scale = points.std(dim=0).clamp_min(1e-8)
        self.points = (points - self.centre) / self.scale
        positives = self.labels.sum()
        self.positive_weight = (len(self.labels) - positives) / positives
        self.encoder = networks.encoder(data.DIM, data.DIM)
        self.decoder = decoder
        self.discriminator = networks.discriminator(data.DIM)
        parameters = [*self.encoder.parameters(), *self.decoder.parameters()]
        self.optimizer = torch.optim.Adam(parameters, lr=LEARNING_RATE, fused=fused)
        self.discriminator_optimizer = torch.optim.Adam(
            self.discriminator.parameters(), lr=LEARNING_RATE, fused=fused
        )

    def oracle(self, points):
        """Labels of points in normalised units."""
        return data.oracle(points * self.scale + self.centre)

    def cross_entropy(self, logits, targets):
        return functional.binary_cross_entropy_with_logits(
            logits.squeeze(-1), targets, pos_weight=self.positive_weight
        )

    def autoencoder_loss(self, points, labels, geometry_loss):
        latents = self.encoder(points)
        reconstruction = self.decoder(latents)
        generated = self.discriminator(self.decoder(ball_latents(len(points))))
        generated = torch.nan_to_num(generated, nan=0.0, posinf=50.0, neginf=-50.0)
        return (
            WEIGHTS["reconstruction"] * functional.mse_loss(reconstruction, points)
            + WEIGHTS["feasibility"] * self.cross_entropy(self.discriminator(reconstruction), labels)
            + WEIGHTS["latent"] * self.cross_entropy(generated, torch.ones(len(points)))
            + WEIGHTS["hinge"] * hinge(latents, labels)
            + WEIGHTS["geometry"] * geometry_loss(self.decoder, latents)
        )


class Released(Step):
    """As the paper's released code trains: a DataLoader, the reconstruction and all oracle labels made
    anew in every discriminator step, one autograd Jacobian after the other."""

    def __init__(self):
        super().__init__(networks.Decoders(data.DIM, data.DIM), fused=False)
        dataset = TensorDataset(self.points, self.labels)
        self.batches = endless(DataLoader(dataset, batch_size=data.BATCH, shuffle=True))
        self.total_loss = 0.0

    def __call__(self):
        points, labels = next(self.batches)
        for _ in range(DISCRIMINATOR_STEPS):
            with torch.no_grad():
                reconstruction = self.decoder(self.encoder(points))
                generated = torch.cat([reconstruction, self.decoder(cube_latents(len(points)))])
                real_targets, generated_targets = self.oracle(points), self.oracle(generated)
            self.discriminator_optimizer.zero_grad()
            loss = self.cross_entropy(self.discriminator(points), real_targets)
            loss = loss + self.cross_entropy(self.discriminator(generated), generated_targets)
            loss.backward()
            self.discriminator_optimizer.step()
        self.optimizer.zero_grad()
        loss = self.autoencoder_loss(points, labels, geometry.looped)
        loss.backward()
        self.optimizer.step()
        self.total_loss += loss.item()


class Vectorised(Step):
    """The same mathematics without loops over rows: points in memory, what is constant over the
    discriminator's steps made once, tangents pushed in a batch, fused Adam, no gate."""

    def __init__(self, compiled=False):
        super().__init__(networks.perceptron(data.DIM, data.DIM), fused=True)
        wrap = torch.compile if compiled else lambda function: function
        self.loss = wrap(lambda points, labels: self.autoencoder_loss(points, labels, geometry.pushed))
        self.discriminator_loss = wrap(self.plain_discriminator_loss)
        self.generated = wrap(lambda: self.decoder(cube_latents(data.BATCH)))
        self.reconstruction = wrap(lambda points: self.decoder(self.encoder(points)))
        self.batches = iter(())

    def plain_discriminator_loss(self, real, generated, real_targets, generated_targets):
        logits = self.discriminator(torch.cat([real, generated]))
        return self.cross_entropy(logits[: len(real)], real_targets) + self.cross_entropy(
            logits[len(real) :], generated_targets
        )

    def next_batch(self):
        batch = next(self.batches, None)
        if batch is None:
            order = torch.randperm(len(self.points))
            whole = len(order) // data.BATCH
            points, labels = self.points[order], self.labels[order]
            self.batches = zip(points.split(data.BATCH)[:whole], labels.split(data.BATCH)[:whole])
            batch = next(self.batches)
        return batch

    def __call__(self):
        points, labels = self.next_batch()
        with torch.no_grad():
            reconstruction = self.reconstruction(points)
            real_targets, rebuilt_targets = self.oracle(points), self.oracle(reconstruction)
        for _ in range(DISCRIMINATOR_STEPS):
            with torch.no_grad():
                fresh = self.generated()
                targets = torch.cat([rebuilt_targets, self.oracle(fresh)])
                generated = torch.cat([reconstruction, fresh])
            self.discriminator_loss(points, generated, real_targets, targets).backward()
            self.discriminator_optimizer.step()
            self.discriminator_optimizer.zero_grad(set_to_none=True)
        self.loss(points, labels).backward()
        self.optimizer.step()
        # The loss also left gradients in the discriminator, which is not updated by it.
        self.optimizer.zero_grad(set_to_none=True)
        self.discriminator_optimizer.zero_grad(set_to_none=True)
