"""Checkpoints of FAB's released PyTorch code run here as they run there."""

import subprocess
import sys

import numpy
import pytest
import safetensors.torch
import torch
from torch import nn

import fabproj
import pages

PAGE = pages.GUIDE.parent / "model-file.md"
WIDTH = 16


def sequential(*widths, last=()):
    layers = []
    for inputs, outputs in zip(widths, widths[1:]):
        layers += [nn.Linear(inputs, outputs), nn.ReLU()]
    return nn.Sequential(*layers[:-1], *last)


class Released(nn.Module):
    """The layout of a released autoencoder: its names, and what it does with a point."""

    def __init__(self, dim, x_dim, latent, decoders):
        super().__init__()
        self.encoder = sequential(dim + x_dim, *[WIDTH] * 4, latent, last=[nn.Tanh()])
        self.decoders = nn.ModuleList(sequential(latent + x_dim, *[WIDTH] * 4, dim) for _ in range(decoders))
        self.gating_network = sequential(
            latent + x_dim, WIDTH // 2, WIDTH // 4, decoders, last=[nn.Softmax(dim=-1)]
        )
        self.feasibility_predictor_nn = sequential(x_dim + dim, WIDTH, WIDTH // 2, 1)

    def project(self, y, x, clamp):
        inputs = torch.cat([clamp(self.encoder(torch.cat([y, x], 1))), x], 1)
        decodes = torch.stack([decoder(inputs) for decoder in self.decoders], 1)
        return (self.gating_network(inputs)[:, :, None] * decodes).sum(1)


def hard(z):
    norm = z.norm(dim=1, keepdim=True)
    return torch.where(norm > 0.5, z * 0.5 / norm, z)


def smooth(z):
    norm = z.norm(dim=1, keepdim=True)
    return z * (norm - nn.functional.softplus(20 * (norm - 0.5)) / 20) / (norm + 1e-8)


def box(z):
    return z.clamp(-0.3, 0.3)


def run_import(*words):
    command = [sys.executable, "-m", "fabproj", "import", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.mark.parametrize(
    "dim, x_dim, latent, decoders, clamp, options",
    [
        (2, 0, 2, 1, hard, []),
        (2, 0, 3, 3, hard, []),
        (3, 4, 3, 2, smooth, ["--smooth", "20"]),
        (2, 1, 2, 2, box, ["--latent", "box", "--radius", "0.3"]),
    ],
)
def test_a_checkpoint_gives_what_it_gave(tmp_path, monkeypatch, dim, x_dim, latent, decoders, clamp, options):
    torch.manual_seed(0)
    released = Released(dim, x_dim, latent, decoders)
    with torch.no_grad():
        for parameter in released.parameters():
            parameter *= 2
    mean, std = torch.randn(x_dim + dim), torch.rand(x_dim + dim) + 0.5
    torch.save(released.state_dict(), tmp_path / "checkpoint.pt")

    monkeypatch.chdir(tmp_path)
    (script,) = [text for language, text in pages.blocks(PAGE) if "torch.load" in text]
    exec(compile(script, PAGE.name, "exec"), {"mean": mean, "std": std})
    made = run_import(tmp_path / "checkpoint.safetensors", "-o", tmp_path / "model", *options)
    assert made.returncode == 0, made.stderr
    model = fabproj.Model.load(tmp_path / "model")
    assert (model.dim, model.x_dim) == (dim, x_dim)

    rows = 2 * torch.randn(500, x_dim + dim)
    inner = (rows - mean) / std
    wanted = released.project(inner[:, x_dim:], inner[:, :x_dim], clamp) * std[x_dim:] + mean[x_dim:]
    x = rows[:, :x_dim] if x_dim else None
    found, outcomes = model.projector().project(rows[:, x_dim:], x)
    assert numpy.abs(found - wanted.detach().numpy()).max() < 1e-5
    assert (outcomes == fabproj.RawOutcome.CLAMPED).any()


def test_with_its_set_a_model_is_guarded_and_certified(tmp_path):
    torch.manual_seed(1)
    safetensors.torch.save_file(Released(2, 0, 2, 1).state_dict(), tmp_path / "checkpoint.safetensors")
    words = [tmp_path / "checkpoint.safetensors", "two-moons", "-o", tmp_path / "model"]
    assert run_import(*words).returncode == 0
    assert "exists" in run_import(*words).stderr
    model = fabproj.Model.load(tmp_path / "model").certify(samples=500)
    assert model.certificate.samples == 500
    y, outcomes = model.guard().project(numpy.random.default_rng(0).normal(size=(100, 2)))
    assert fabproj.verified(outcomes).all()


@pytest.mark.parametrize(
    "change, words, text",
    [
        ({"encoder.0.weight": None}, [], "no tensor `encoder.0.weight`"),
        ({"decoders.0.0.weight": None}, [], "no tensor `decoders.0.0.weight`"),
        ({"encoder.2.bias": torch.zeros(3)}, [], r"`encoder.2.bias` of the checkpoint must be of shape [16], found [3]"),
        ({"mean": torch.zeros(5)}, [], "`mean` of the checkpoint must be of shape [2], found [5]"),
        ({"std": torch.zeros(2)}, [], "scale"),
        ({"encoder.0.weight": torch.zeros(16, 2, dtype=torch.int32)}, [], "must be of F32 or F64, found I32"),
        ({"encoder.0.weight": torch.full((16, 2), float("nan"))}, [], "finite"),
        ({}, ["shell-10d"], "the set shell-10d has 10 and 0"),
        ({}, ["--smooth", "nan"], "--smooth must be a positive number, found NaN"),
    ],
)
def test_what_does_not_fit_is_named(tmp_path, change, words, text):
    state = Released(2, 0, 2, 1).state_dict() | change
    state = {name: tensor for name, tensor in state.items() if tensor is not None}
    safetensors.torch.save_file(state, tmp_path / "checkpoint.safetensors")
    made = run_import(tmp_path / "checkpoint.safetensors", *words, "-o", tmp_path / "model")
    assert made.returncode in (1, 2) and text in made.stderr, made.stderr
    assert not (tmp_path / "model").exists()


def test_other_files_are_refused(tmp_path):
    torch.save({"a": torch.zeros(2)}, tmp_path / "checkpoint.pt")
    made = run_import(tmp_path / "checkpoint.pt", "-o", tmp_path / "model")
    assert made.returncode == 1 and "safetensors.torch.save_file" in made.stderr
    made = run_import(tmp_path / "none", "-o", tmp_path / "model")
    assert made.returncode == 1 and "cannot read" in made.stderr
