"""The projector as a module of PyTorch."""

import numpy
import pytest
import torch
from torch import nn

import fabproj
import fabproj.torch
from conftest import rows_that_agree


def test_outputs_are_those_of_the_library(case):
    module = fabproj.torch.Projector(case.model)
    assert rows_that_agree(module(*case.arguments(torch.tensor)), case.wanted) == 1.0
    double = [values.double() for values in case.arguments(torch.tensor)]
    assert rows_that_agree(module(*double), case.wanted) == 1.0 and module(*double).dtype == torch.float64
    fast = fabproj.torch.Projector(case.model, fast=True)
    assert (fast(*case.arguments(torch.tensor)).numpy() == case.wanted).all()


@pytest.mark.parametrize("fast", [False, True])
def test_gradients_are_those_of_the_library(case, fast):
    module = fabproj.torch.Projector(case.model, fast=fast)
    inputs = case.arguments(lambda values: torch.tensor(values, requires_grad=True))
    module(*inputs).backward(torch.tensor(case.cotangent))
    for found, wanted in zip(inputs, case.gradients):
        assert rows_that_agree(found.grad, wanted) >= 0.99


def test_x_is_joined_or_repeated(case):
    if case.x is None:
        pytest.skip("a fixed set")
    module = fabproj.torch.Projector(case.model)
    y, x = case.arguments(torch.tensor)
    assert (module(torch.cat([y, x], -1)) == module(y, x)).all()
    assert torch.allclose(module(y, x[0]), module(y, x[:1].expand(300, -1)))


def test_numbers_that_are_none(moons):
    module = fabproj.torch.Projector(moons)
    y = torch.tensor([[numpy.nan, 0.0], [0.3, 0.2]], requires_grad=True)
    out = module(y)
    wanted, _ = moons.projector().project(y.detach().numpy())
    assert rows_that_agree(out.detach(), wanted) == 1.0
    out.sum().backward()
    assert (y.grad[0] == 0).all() and torch.isfinite(y.grad).all()


def test_a_second_derivative(moons):
    module = fabproj.torch.Projector(moons).double()
    y = torch.tensor([[0.2, 0.1], [1.5, 2.0]], dtype=torch.float64, requires_grad=True)
    (first,) = torch.autograd.grad(module(y).square().sum(), y, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), y)
    assert torch.isfinite(second).all() and second.abs().sum() > 0


def test_state_and_training(moons, tmp_path):
    frozen = fabproj.torch.Projector(moons)
    assert not any(parameter.requires_grad for parameter in frozen.parameters())
    moons.save(tmp_path / "moons.safetensors")
    trainable = fabproj.torch.Projector.load(tmp_path / "moons.safetensors", trainable=True)
    assert all(parameter.requires_grad for parameter in trainable.parameters())
    assert "charts.0.encoder.layers.0.weight" in trainable.state_dict()
    y = torch.randn(20, 2)
    trainable(y).sum().backward()
    assert trainable.charts[0].encoder.layers[0].weight.grad is not None
    with torch.no_grad():
        for parameter in trainable.parameters():
            parameter.zero_()
    assert not torch.equal(trainable(y), frozen(y))
    trainable.load_state_dict(frozen.state_dict())
    assert torch.equal(trainable(y), frozen(y))
    assert frozen.to("cpu") is frozen and "charts=" in repr(frozen)
    meta = fabproj.torch.Projector(moons).to("meta")
    assert meta(torch.zeros(5, 2, device="meta")).shape == (5, 2)


def test_compiled_graphs(moons):
    module = fabproj.torch.Projector(moons)
    # Traced and cut nowhere; a backend that compiles C++ would need a compiler and minutes.
    compiled = torch.compile(module, backend="eager", fullgraph=True)
    y = torch.randn(50, 2)
    assert torch.allclose(compiled(y), module(y), atol=1e-6)


def test_wrong_shapes(moons):
    module = fabproj.torch.Projector(moons)
    with pytest.raises(ValueError, match="`y` must have 2 numbers"):
        module(torch.zeros(3))
    with pytest.raises(ValueError, match="trains? them|has no gradients"):
        fabproj.torch.Projector(moons, fast=True, trainable=True)


@pytest.mark.parametrize("fast", [False, True])
def test_a_network_learns_through_it(moons, fast):
    """A network whose last line is the projector: its answers are feasible, and nearly the best."""
    torch.manual_seed(0)
    layers = nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 2)
    network = nn.Sequential(*layers, fabproj.torch.Projector(moons, fast=fast))
    optimizer = torch.optim.Adam(network.parameters(), lr=2e-2)
    inputs = torch.linspace(0, 6.28, 100)[:, None]
    directions = torch.cat([inputs.cos(), inputs.sin()], 1)
    losses = []
    for _ in range(80):
        loss = -(network(inputs) * directions).sum(1).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] - 0.3
    answers = network(inputs).detach().numpy().astype("float64")
    _, outcomes = moons.guard().project(answers)
    assert numpy.mean(outcomes == fabproj.Outcome.KEPT) > 0.9
    assert fabproj.verified(moons.guard().project(answers)[1]).all()


def test_tensors_go_in_and_out_without_copies(moons):
    y = torch.randn(10, 2)
    out, _ = moons.projector().project(y)
    assert out.dtype == "float32"
    back = torch.from_dlpack(out)
    back[0] = 7.0
    assert (out[0] == 7.0).all()


def test_a_solver_between_layers(solver, moons):
    torch.manual_seed(0)
    module = fabproj.torch.Solver(solver)
    x = torch.randn(30, 2, dtype=torch.float64, requires_grad=True)
    y = module(x)
    assert (y.detach().numpy() == solver(x.detach().numpy())).all() and "x_dim=2" in repr(module)
    c = torch.randn(30, 2, dtype=torch.float64)
    y.backward(c)
    assert numpy.allclose(x.grad.numpy(), solver.vjp(x.detach().numpy(), c.numpy()))
    # What x has the answer (1, 0.3)? A network finds it.
    layer = nn.Linear(1, 2)
    network = nn.Sequential(layer, module)
    optimizer = torch.optim.Adam(network.parameters(), lr=0.1)
    losses = []
    for _ in range(100):
        loss = (network(torch.ones(1, 1)) - torch.tensor([1.0, 0.3])).square().sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert network(torch.ones(1, 1)).dtype == torch.float32 and min(losses) < losses[0] / 100
    with pytest.raises(ValueError, match=r"use model.projector\(\)"):
        fabproj.torch.Solver(moons)
