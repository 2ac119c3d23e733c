"""Checks that the peers compute what they are said to compute; its argument is the model file that
they are timed with."""

import sys
import unittest

import torch

from model_file import ModelFile
from peers import answer, data, geometry, networks, phase_one, phase_two, projection

MODEL = ModelFile(sys.argv.pop())


class Geometry(unittest.TestCase):
    def test_both_ways_give_the_same_loss_and_gradient(self):
        torch.manual_seed(3)
        decoder = networks.perceptron(data.DIM, data.DIM).double()
        # The default start is so contracting that epsilon would drown the Jacobians.
        with torch.no_grad():
            for parameter in decoder.parameters():
                parameter.mul_(3.0)
        latents = torch.rand(40, data.DIM, dtype=torch.float64) - 0.5
        losses, gradients = [], []
        for way in (geometry.looped, geometry.pushed):
            decoder.zero_grad()
            loss = way(decoder, latents)
            loss.backward()
            losses.append(loss.item())
            # ReLU: the loss does not depend on the biases, and autograd may leave them out.
            weights = [layer.weight.grad for layer in decoder if isinstance(layer, torch.nn.Linear)]
            gradients.append(torch.cat([weight.flatten() for weight in weights]))
        self.assertGreater(losses[0], 0.1)
        self.assertAlmostEqual(losses[1] / losses[0], 1.0, places=9)
        distance = (gradients[0] - gradients[1]).norm() / gradients[0].norm()
        self.assertLess(distance.item(), 1e-9)


class Projection(unittest.TestCase):
    def test_the_clamp_moves_only_what_is_outside(self):
        latents = torch.tensor([[0.3, 0.0], [0.6, 0.8], [0.0, 0.0]])
        expected = torch.tensor([[0.3, 0.0], [0.3, 0.4], [0.0, 0.0]])
        torch.testing.assert_close(networks.clamp_to_ball(latents), expected)

    def test_all_peers_project_as_the_model_file_says(self):
        for rows in (1, 300):
            expected = torch.from_numpy(MODEL.project(projection.inputs(rows).numpy())).float()
            for peer in (projection.Eager(MODEL, rows), projection.Runtime(MODEL, rows)):
                torch.testing.assert_close(torch.as_tensor(peer()), expected, rtol=1e-3, atol=1e-4)
        released = projection.Released(MODEL)
        expected = torch.from_numpy(MODEL.project([released.point])[0]).float()
        torch.testing.assert_close(torch.as_tensor(released()), expected, rtol=1e-3, atol=1e-4)


class Answer(unittest.TestCase):
    def test_both_styles_give_the_projection_of_the_solver_networks_point(self):
        released, eager = answer.Released(MODEL), answer.Eager(MODEL)
        eager.solver = released.solver
        with torch.no_grad():
            point = released.solver(eager.features)
        expected = torch.from_numpy(MODEL.project(point.numpy())).float()
        torch.testing.assert_close(eager(), expected, rtol=1e-3, atol=1e-4)
        torch.testing.assert_close(torch.as_tensor(released()), expected[0], rtol=1e-3, atol=1e-4)


class Training(unittest.TestCase):
    def test_steps_of_phase_one_reduce_the_loss(self):
        points = phase_one.feasible_points()[:2000]

        def loss(encoder, decoder):
            with torch.no_grad():
                return (decoder(encoder(points)) - points).pow(2).mean().item()

        torch.manual_seed(0)
        released, best = phase_one.Released(), phase_one.Best()
        for step, decoder in ((released, released.decoders), (best, best.decoder)):
            before = loss(step.encoder, decoder)
            for _ in range(60):
                step()
            self.assertLess(loss(step.encoder, decoder), 0.5 * before)

    def test_steps_of_phase_two_teach_the_discriminator(self):
        torch.manual_seed(0)
        step = phase_two.Vectorised()
        for _ in range(150):
            step()
        with torch.no_grad():
            found = step.discriminator(step.points[:4000]).squeeze(-1) > 0.0
        share = (found == (step.labels[:4000] > 0.5)).float().mean().item()
        self.assertGreater(share, 0.8)

    def test_the_released_step_updates_every_network(self):
        torch.manual_seed(0)
        step = phase_two.Released()
        parameters = [*step.encoder.parameters(), *step.decoder.decoders.parameters()]
        parameters += step.discriminator.parameters()
        before = [parameter.detach().clone() for parameter in parameters]
        step()
        for old, new in zip(before, parameters):
            self.assertFalse(torch.equal(old, new))


if __name__ == "__main__":
    torch.set_num_threads(1)
    unittest.main()
