"""The paper's networks in PyTorch, as its released code defines them."""

import torch
from torch import nn

WIDTH = 64
HIDDEN_LAYERS = 4
RADIUS = 0.5


def perceptron(inputs, outputs, width=WIDTH, hidden_layers=HIDDEN_LAYERS):
    """`hidden_layers` ReLU layers and a linear one."""
    layers = []
    for _ in range(hidden_layers):
        layers += [nn.Linear(inputs, width), nn.ReLU()]
        inputs = width
    return nn.Sequential(*layers, nn.Linear(inputs, outputs))


def encoder(dim, latent):
    """The encoder's latents lie in the open cube (-1, 1)^k."""
    return nn.Sequential(*perceptron(dim, latent), nn.Tanh())


def discriminator(dim):
    """Ends in a logit."""
    return nn.Sequential(nn.Linear(dim, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 1))


class Decoders(nn.Module):
    """Several decoders blended by a softmax gate; the released code runs the gate even for one."""

    def __init__(self, latent, dim, count=1):
        super().__init__()
        self.decoders = nn.ModuleList(perceptron(latent, dim) for _ in range(count))
        self.gate = nn.Sequential(
            nn.Linear(latent, 32), nn.ReLU(), nn.Linear(32, 16), nn.ReLU(), nn.Linear(16, count)
        )

    def forward(self, latents):
        weights = torch.softmax(self.gate(latents), dim=-1)
        points = torch.stack([decoder(latents) for decoder in self.decoders], dim=1)
        return (weights.unsqueeze(-1) * points).sum(dim=1)


def clamp_to_ball(latents):
    """The hard radial clamp: latents outside the ball move to its surface."""
    norms = latents.norm(dim=-1, keepdim=True)
    return latents * (RADIUS / norms.clamp_min(RADIUS))


class Projector(nn.Module):
    """Normalise, encode, clamp, decode, back to the units of y."""

    def __init__(self, dim, centre, scale):
        super().__init__()
        self.encoder = encoder(dim, dim)
        self.decoder = perceptron(dim, dim)
        self.register_buffer("centre", torch.as_tensor(centre, dtype=torch.float32))
        self.register_buffer("scale", torch.as_tensor(scale, dtype=torch.float32))

    def forward(self, points):
        latents = self.encoder((points - self.centre) / self.scale)
        return self.decoder(clamp_to_ball(latents)) * self.scale + self.centre
