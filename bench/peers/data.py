"""The set `concentric-circles`, 1 <= |y| <= 2, and its training data; all peers train on it."""

import torch

DIM = 2
BATCH = 256
ROWS = 60_000


def oracle(points):
    """1 where a point is feasible, else 0."""
    norms = points.norm(dim=-1)
    return ((norms >= 1.0) & (norms <= 2.0)).float()


def training_points(seed=42):
    """The training part, 80 %, of 60 000 points uniform in the square of side 4, and their labels."""
    generator = torch.Generator().manual_seed(seed)
    points = 4.0 * torch.rand(ROWS, DIM, generator=generator) - 2.0
    points = points[: ROWS * 4 // 5]
    return points, oracle(points)
