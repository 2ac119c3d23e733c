"""A task of Safety Gymnasium whose actions are projected onto a set that moves with the observation."""

import gymnasium
import numpy
import pytest
import safety_gymnasium

import fabproj
import fabproj.gymnasium

# Lidar bins of hazards in the observation of SafetyPointGoal1-v0, and those that look ahead.
HAZARDS, AHEAD = slice(28, 44), [0, 1, 14, 15]
TASK = "SafetyPointGoal1-v0"
# The nearer a hazard, the slower; and close to one the point turns, to the left or to the right.
SLOW = """
y = ["forward", "turn"]
x = ["near"]
bounds = { forward = [-1, 1], turn = [-1, 1] }
x_bounds = { near = [0, 1] }
[[constraint]]
expr = "forward <= 1.2 - 1.6 * near"
[[constraint]]
any = ["near <= 0.6", "turn <= -0.4", "turn >= 0.4"]
"""


def near(observations):
    """How near the nearest hazard ahead is, for one observation or many."""
    return observations[..., HAZARDS][..., AHEAD].max(axis=-1, keepdims=True)


def is_slow(actions, observations):
    x, forward, turn = near(observations)[..., 0], actions[..., 0], actions[..., 1]
    return (forward <= 1.2 - 1.6 * x) & ((x <= 0.6) | (abs(turn) >= 0.4))


class Recorder(gymnasium.Wrapper):
    """Keeps the action that the task gets."""

    def step(self, action):
        self.taken = action
        return self.env.step(action)


@pytest.fixture(scope="module")
def guard():
    return fabproj.train(SLOW, preset="quick", progress=False, samples=1000).guard()


def test_every_action_is_allowed_where_it_is_taken(guard):
    assert gymnasium.__version__.startswith("0.28")
    task = Recorder(safety_gymnasium.make(TASK))
    env = fabproj.gymnasium.ProjectAction(task, guard, x=near)
    observation, _ = env.reset(seed=3)
    rng, corrected, seen = numpy.random.default_rng(0), 0, 0.0
    for _ in range(400):
        action, before = numpy.array([1.0, 0.5 * rng.normal()]).clip(-1, 1), observation
        # One figure more than in Gymnasium: the cost.
        observation, reward, cost, terminated, truncated, info = env.step(action)
        report = info["fabproj"]
        assert is_slow(task.taken, before) and "cost_sum" in info
        assert report["outcome"].is_verified and (report["unprojected"] == action).all()
        assert report["feasible_before"] == is_slow(action, before)
        corrected += report["correction"] > 0
        seen = max(seen, near(before)[0])
        if terminated or truncated:
            observation, _ = env.reset()
    assert corrected > 20 and seen > 0.6
    env.close()


def test_vector_environments(guard):
    envs = safety_gymnasium.vector.make(TASK, num_envs=2)
    env = fabproj.gymnasium.ProjectAction(envs, guard, x=near)
    assert isinstance(env, gymnasium.vector.VectorEnv)
    observations, _ = env.reset(seed=1)
    for _ in range(50):
        before, actions = observations, numpy.ones((2, 2))
        observations, rewards, costs, _, _, info = env.step(actions)
        report = info["fabproj"]
        assert costs.shape == report["correction"].shape == (2,)
        assert (report["feasible_before"] == is_slow(actions, before)).all()
        assert fabproj.verified(report["outcome"]).all()
    env.close()
