"""Environments whose actions are projected."""

import gymnasium
import numpy
import pytest

import fabproj
import fabproj.gymnasium


class Walk(gymnasium.Env):
    """A point that walks; its steps should lie in the set. The goal is at (3, 3)."""

    observation_space = gymnasium.spaces.Box(-20, 20, (2,), "float32")
    action_space = gymnasium.spaces.Box(-3, 3, (2,), "float32")

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place, self.steps = numpy.zeros(2, "float32"), 0
        return self.place.copy(), {}

    def step(self, action):
        self.action = action
        self.place = numpy.clip(self.place + 0.1 * action, -20, 20).astype("float32")
        self.steps += 1
        reward = -float(abs(self.place - 1.0).sum())
        return self.place.copy(), reward, False, self.steps >= 50, {"own": 1}


def disc(y, x):
    return numpy.hypot(*y.T) <= x[:, 0]


@pytest.fixture(scope="module")
def of_x():
    options = {"preset": "quick", "progress": False, "samples": 500, "phase_two": 200, "states": 50}
    return fabproj.train(disc, bounds=[(-3, 3)] * 2, x_bounds=[(0.5, 2.0)], **options).guard(disc)


def radius(observation):
    return numpy.clip(numpy.linalg.norm(observation, axis=-1, keepdims=True), 0.5, 2.0)


def test_actions_are_projected(moons):
    env = fabproj.gymnasium.ProjectAction(Walk(), moons.guard())
    _, info = env.reset(seed=0)
    for action in numpy.random.default_rng(0).uniform(-3, 3, size=(40, 2)).astype("float32"):
        _, _, _, _, info = env.step(action)
        report, taken = info["fabproj"], env.unwrapped.action
        assert info["own"] == 1 and taken.dtype == "float32"
        assert moons.guard().project(taken)[1] == fabproj.Outcome.KEPT
        assert numpy.isclose(report["correction"], numpy.linalg.norm(taken - action), atol=1e-6)
        assert report["outcome"].is_verified and (report["unprojected"] == action).all()
        assert report["feasible_before"] == (report["correction"] == 0)


def test_a_set_that_depends_on_the_observation(of_x):
    env = fabproj.gymnasium.ProjectAction(Walk(), of_x, x=radius)
    observation, _ = env.reset()
    for _ in range(30):
        before = observation
        observation, _, _, _, info = env.step(numpy.array([3.0, 3.0], "float32"))
        assert numpy.linalg.norm(env.unwrapped.action) <= radius(before)[0] * (1 + 1e-6)
        assert info["fabproj"]["outcome"].is_verified


# Processes are forked, which JAX warns about where it was imported by another test.
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("kind", ["SyncVectorEnv", "AsyncVectorEnv"])
def test_vector_environments(of_x, kind):
    envs = getattr(gymnasium.vector, kind)([Walk] * 3)
    env = fabproj.gymnasium.ProjectAction(envs, of_x, x=radius)
    assert isinstance(env, gymnasium.vector.VectorEnv)
    observations, _ = env.reset(seed=1)
    for step in range(60):
        actions = numpy.full((3, 2), 2.9, "float32")
        limits = radius(observations)
        observations, rewards, _, _, info = env.step(actions)
        report = info["fabproj"]
        assert report["correction"].shape == report["outcome"].shape == (3,)
        assert fabproj.verified(report["outcome"]).all() and not report["feasible_before"].any()
        assert numpy.allclose(numpy.hypot(2.9, 2.9) - report["correction"], limits[:, 0], atol=0.6)
    env.close()


def test_a_fallback(of_x):
    env = fabproj.gymnasium.ProjectAction(Walk(), of_x, x=lambda o: [numpy.nan], fallback=[0.1, 0.2])
    env.reset()
    info = env.step(numpy.ones(2, "float32"))[-1]
    assert info["fabproj"]["outcome"] == fabproj.Outcome.NOT_FINITE
    assert numpy.allclose(env.unwrapped.action, [0.1, 0.2])


def test_wrong_use(moons, of_x):
    with pytest.raises(ValueError, match="pass x="):
        fabproj.gymnasium.ProjectAction(Walk(), of_x)
    with pytest.raises(TypeError, match="must be a Box"):
        fabproj.gymnasium.ProjectAction(gymnasium.make("CartPole-v1"), moons.guard())
    with pytest.raises(ValueError, match="actions have shape"):
        fabproj.gymnasium.ProjectAction(gymnasium.make("Pendulum-v1"), moons.guard())
    with pytest.raises(RuntimeError, match="call reset"):
        fabproj.gymnasium.ProjectAction(Walk(), of_x, x=radius).step(numpy.zeros(2, "float32"))


def test_a_real_environment():
    def gentle(y):
        """Torques up to 1.2, but not around nothing: in two pieces."""
        return (abs(y[:, 0]) <= 1.2) & (abs(y[:, 0]) >= 0.3)

    model = fabproj.train(gentle, bounds=[(-2, 2)], preset="quick", progress=False, samples=500, phase_two=200)
    env = fabproj.gymnasium.ProjectAction(gymnasium.make("Pendulum-v1"), model.guard(gentle))
    env.reset(seed=0)
    env.action_space.seed(0)
    for _ in range(100):
        info = env.step(env.action_space.sample())[-1]
        assert info["fabproj"]["outcome"].is_verified
    env.close()


@pytest.mark.filterwarnings("default")
def test_ppo_learns_with_the_wrapper(moons):
    stable_baselines3 = pytest.importorskip("stable_baselines3")
    env = fabproj.gymnasium.ProjectAction(Walk(), moons.guard())
    ppo = stable_baselines3.PPO(
        "MlpPolicy", env, n_steps=400, batch_size=100, learning_rate=3e-3, gamma=0.9, seed=0, device="cpu"
    )

    def score():
        total, (observation, _) = 0.0, env.reset(seed=0)
        for _ in range(50):
            action, _ = ppo.predict(observation, deterministic=True)
            observation, reward, _, _, info = env.step(action)
            assert info["fabproj"]["outcome"].is_verified
            total += reward
        return total

    before = score()
    ppo.learn(8000)
    assert score() > before + 10
