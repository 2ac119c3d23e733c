"""Episodes of a policy in the original package, safety-gymnasium 1.0.0.

Runs policy and guard in numpy, from their files alone. Prints one JSON list: seed, reward and cost of each
episode, the share of corrected steps.
"""

import argparse
import json
import struct

import numpy as np
import safety_gymnasium
from safetensors.numpy import load_file
from steering import Detour

BINS, REACH, SLOTS = 16, 3.0, 8
GRID = (-1.0, -0.5, 0.0, 0.5, 1.0)
RADIUS, SCALE = 0.5, 0.35


def metadata(path):
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        return json.loads(file.read(length))["__metadata__"]


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


class Policy:
    """The mean of a Gaussian policy."""

    def __init__(self, path):
        self.record = json.loads(metadata(path)["fab-saferl-policy"])
        self.tensors = load_file(path)
        self.layers = sum(name.startswith("mean.") and name.endswith("weight") for name in self.tensors)

    def act(self, observation):
        t = self.tensors
        h = (observation - t["observation.mean"]) / np.sqrt(t["observation.variance"] + 1e-8)
        for i in range(self.layers):
            h = t[f"mean.{i}.weight"] @ h + t[f"mean.{i}.bias"]
            h = np.tanh(h) if i + 1 < self.layers else h
        return h


class Random:
    """Uniform actions."""

    def act(self, _):
        return self.generator.uniform(-1, 1, 2)


class Mlp:
    """Layers from a flat vector: weights [outputs][inputs], then bias, layer by layer. SiLU between."""

    def __init__(self, flat, widths):
        self.layers = []
        for inputs, outputs in zip(widths, widths[1:]):
            weights, flat = flat[: inputs * outputs], flat[inputs * outputs :]
            bias, flat = flat[:outputs], flat[outputs:]
            self.layers.append((weights.reshape(outputs, inputs), bias))
        assert len(flat) == 0

    def __call__(self, x):
        for index, (weights, bias) in enumerate(self.layers):
            x = x @ weights.T + bias
            x = x * sigmoid(x) if index + 1 < len(self.layers) else x
        return x


class SetNet:
    """The same network for every obstacle, pooled, then a head."""

    def __init__(self, tensors, name, widths, outputs):
        hidden, pooled = widths["hidden"], widths["pooled"]
        self.pooled = pooled
        self.slot = Mlp(tensors[f"{name}.slot"], [8, hidden, hidden, pooled])
        self.head = Mlp(tensors[f"{name}.head"], [2 * pooled + 4, hidden, outputs])

    def __call__(self, velocity, slots, inputs):
        rows, count = len(inputs), len(slots)
        most = total = np.zeros((rows, self.pooled))
        if count:
            seen = np.concatenate([slots, np.tile(velocity, (count, 1))], axis=1)
            pairs = np.concatenate([np.tile(seen, (rows, 1)), np.repeat(inputs, count, axis=0)], axis=1)
            values = self.slot(pairs).reshape(rows, count, self.pooled)
            most, total = np.maximum(values.max(axis=1), 0), 0.3 * values.sum(axis=1)
        return self.head(np.concatenate([most, total, inputs, np.tile(velocity, (rows, 1))], axis=1))


class Guard:
    """Passes actions that the discriminator calls safe, drives around what the others would hit."""

    def __init__(self, path, threshold, hints):
        tensors, record = load_file(path), json.loads(metadata(path)["fabproj-checkpoint"])
        settings = record["settings"]
        self.task, self.scale, self.map = record["task"], np.array(record["scale"]), record["map"]
        self.threshold, self.with_hints = threshold, hints
        self.discriminator = SetNet(tensors, "discriminator", settings["discriminator"]["widths"], 3)
        widths = settings["autoencoder"]["widths"]
        self.encoder = SetNet(tensors, "encoder", widths, 2)
        self.decoder = SetNet(tensors, "decoder", widths, 2)
        self.detour = Detour()

    def see(self, observation):
        """Velocity, and the nearest obstacles: x, y, class, present."""
        seen = []
        for kind, start in enumerate(self.map["starts"]):
            seen += decode(observation[start : start + BINS], kind)
        seen = [s for s in seen if np.hypot(s[0], s[1]) < self.map["reach"]]
        seen.sort(key=lambda s: np.hypot(s[0], s[1]))
        return observation[3:5], np.array(seen[:SLOTS])

    def judge(self, state, actions):
        outputs = self.discriminator(*state, np.array(actions))
        return sigmoid(outputs[:, 0]), outputs[:, 1], outputs[:, 2]

    def hints(self, observation):
        probability, _, hold = self.judge(self.see(observation), [(u, t) for u in (1.0, -1.0) for t in GRID])
        return np.stack([probability, hold], axis=1).ravel()

    def filter(self, observation, action):
        """The action to execute, and whether it was replaced."""
        state, wanted = self.see(observation), np.clip(action / self.scale, -1, 1)

        def judge(actions):
            probability, recovery, hold = self.judge(state, actions)
            return probability >= self.threshold, recovery, hold

        def candidates():
            turns = [(wanted[0], turn) for turn in GRID]
            return np.array(list(self.decodes(state, wanted)) + turns + [(a, b) for a in GRID for b in GRID])

        replacement = self.detour.replace(wanted, judge, candidates)
        if replacement is None:
            return action, False
        return replacement * self.scale, True

    def decodes(self, state, wanted):
        """Decodes of the wanted action's latent, on the way to the centre, and of 13 points of the disc."""
        z = SCALE * wanted + self.encoder(*state, np.array([wanted]))[0]
        z *= min(1, RADIUS / max(np.hypot(*z), 1e-12))
        latents = [z, 0.75 * z, 0.5 * z, 0.25 * z, np.zeros(2)]
        for count, radius in ((8, RADIUS), (4, RADIUS / 2)):
            angles = 2 * np.pi * np.arange(count) / count
            latents += [radius * np.array([np.cos(a), np.sin(a)]) for a in angles]
        latents = np.array(latents)
        outputs = self.decoder(*state, latents)
        return np.clip(1.1 * np.tanh(1.2 * (latents / SCALE + outputs)), -1, 1)


def decode(bins, kind):
    """Objects from a lidar. An object at angle (b + a) w gives bin b its value l, b+1 a l, b-1 (1-a) l."""
    share = lambda i: np.clip(
        0.5 + (bins[(i + 1) % BINS] - bins[i - 1]) / (2 * max(bins[i % BINS], 1e-9)), 0, 1
    )
    seen = []
    for b in range(BINS):
        own, after, before = bins[b], bins[(b + 1) % BINS], bins[b - 1]
        if own <= 0:
            continue
        explained = max(share((b - 1) % BINS) * before, (1 - share((b + 1) % BINS)) * after)
        if (own >= after and own > before) or own > explained + 0.02:
            angle, distance = (b + share(b)) * 2 * np.pi / BINS, REACH * (1 - own)
            seen.append((distance * np.cos(angle), distance * np.sin(angle), float(kind), 1.0))
    return seen


def episode(env, policy, guard, seed):
    observation, _ = env.reset(seed=seed)
    policy.generator = np.random.default_rng(seed)
    if guard:
        guard.detour.reset()
    reward = cost = corrected = 0.0
    ended = False
    while not ended:
        seen = observation
        if guard and guard.with_hints:
            seen = np.concatenate([observation, guard.hints(observation)])
        action = policy.act(seen)
        if guard:
            action, replaced = guard.filter(observation, action)
            corrected += replaced
        observation, r, c, terminated, truncated, _ = env.step(np.clip(action, -1, 1))
        reward, cost = reward + r, cost + c
        ended = terminated or truncated
    return {"seed": seed, "reward": reward, "cost": cost, "corrected": corrected / 1000}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("policy", help="a policy file, or random")
    parser.add_argument("--task", help="the task of random actions")
    parser.add_argument("--guard")
    parser.add_argument("--threshold", type=float, default=0.8)
    parser.add_argument("--no-hints", action="store_true")
    parser.add_argument("--episodes", type=int, default=20)
    parser.add_argument("--first-seed", type=int, default=1_000_000)
    arguments = parser.parse_args()
    policy = Random() if arguments.policy == "random" else Policy(arguments.policy)
    task = arguments.task or policy.record["task"]
    guard = arguments.guard and Guard(arguments.guard, arguments.threshold, not arguments.no_hints)
    env = safety_gymnasium.make(f"SafetyPoint{task.capitalize()}-v0")
    seeds = range(arguments.first_seed, arguments.first_seed + arguments.episodes)
    print(json.dumps([episode(env, policy, guard, seed) for seed in seeds]))


main()
