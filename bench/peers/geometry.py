"""The geometry loss: the variance over a batch of log det(J J' + eps I), J the decoder's Jacobian.

Two ways to the same number. The released code asks autograd for one Jacobian after the other; the
vectorised way pushes the tangent columns of all rows through the decoder at once.
"""

import torch
from torch import nn

ROWS = 32
EPSILON = 1e-6
SMALLEST, LARGEST = 1e-12, 1e12


def looped(decoder, latents):
    """One autograd Jacobian per row; rows whose determinant is useless are dropped."""
    logarithms = []
    for latent in latents[:ROWS]:
        jacobian = torch.autograd.functional.jacobian(
            lambda z: decoder(z.unsqueeze(0)).squeeze(0), latent, create_graph=True
        )
        gram = jacobian @ jacobian.T + EPSILON * torch.eye(len(jacobian), dtype=latent.dtype)
        determinant = torch.det(gram)
        if torch.isfinite(determinant) and determinant > 0:
            logarithms.append(torch.log(torch.clamp(determinant, SMALLEST, LARGEST)))
    if len(logarithms) < 2:
        return torch.zeros(())
    return torch.stack(logarithms).var()


def pushed(decoder, latents):
    """All rows at once; `decoder` is a Sequential of Linear and ReLU."""
    rows, latent_dim = latents[:ROWS].shape
    primal = latents[:ROWS]
    tangents = torch.eye(latent_dim, dtype=latents.dtype).expand(rows, latent_dim, latent_dim)
    for layer in decoder:
        if isinstance(layer, nn.Linear):
            primal = layer(primal)
            tangents = tangents @ layer.weight.T
        else:
            # ReLU: the primal's mask serves the tangents too.
            tangents = tangents * (primal > 0).unsqueeze(1)
            primal = layer(primal)
    # tangents[row] is J', k by n.
    identity = torch.eye(tangents.shape[2], dtype=latents.dtype)
    gram = tangents.transpose(1, 2) @ tangents + EPSILON * identity
    determinants = torch.linalg.det(gram)
    kept = torch.isfinite(determinants) & (determinants > 0)
    logarithms = torch.log(torch.where(kept, determinants, 1.0).clamp(SMALLEST, LARGEST))
    # The unbiased variance of the kept rows, without a shape that depends on the data.
    weights = kept.to(latents.dtype)
    count = weights.sum()
    mean = (weights * logarithms).sum() / count
    return (weights * (logarithms - mean) ** 2).sum() / (count - 1)
