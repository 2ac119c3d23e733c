"""Environments whose actions are projected onto a feasible set.

    env = fabproj.gymnasium.ProjectAction(gymnasium.make("..."), model.guard(), x=lambda observation: observation[:4])
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy
from gymnasium import vector

from ._native import Guard
from ._outcomes import Outcome

__all__ = ["ProjectAction", "ProjectVectorAction"]

# Gymnasium 1 renamed it.
_VectorWrapper: Any = getattr(vector, "VectorWrapper", None) or getattr(vector, "VectorEnvWrapper")


class _Filter:
    """Projects actions at the last observation."""

    def __init__(self, guard: Guard, space: Any, x: Callable[[Any], Any] | None, fallback: Any):
        if not isinstance(space, gymnasium.spaces.Box):
            raise TypeError(f"actions must be a Box, found {space}")
        if space.shape[-1:] != (guard.dim,):
            raise ValueError(f"the guard projects {guard.dim} numbers, actions have shape {space.shape}")
        if guard.x_dim and x is None:
            raise ValueError(
                f"the set depends on {guard.x_dim} numbers x: pass x=, a function from observations to them"
            )
        self.guard, self.dtype, self.x, self.fallback = guard, space.dtype, x, fallback
        self.observation: Any = None

    def __call__(self, action: Any) -> tuple[Any, dict[str, Any]]:
        raw = numpy.asarray(action, dtype=self.dtype)
        x = None
        if self.guard.x_dim:
            assert self.x is not None
            if self.observation is None:
                raise RuntimeError("call reset before step: x is a function of the observation")
            x = numpy.asarray(self.x(self.observation), dtype=self.dtype)
        # In the type of the space: what is tested is what the environment gets.
        projected, outcome = self.guard.project(raw, x, fallback=self.fallback)
        report = {
            "correction": numpy.linalg.norm(projected.astype("float64") - raw, axis=-1),
            "outcome": outcome,
            "feasible_before": outcome == Outcome.KEPT,
            "unprojected": raw,
        }
        return projected, report


class ProjectAction(gymnasium.Wrapper):  # type: ignore[misc]
    """Projects every action onto the feasible set before the environment gets it.

    ``guard`` comes from ``Model.guard``. Where its set depends on x, ``x`` maps the last observation to x. Actions
    that cannot be verified become ``fallback`` (see ``Guard.project``) if there is one.

    ``info["fabproj"]`` holds ``correction``, the length of the change; ``outcome``; ``feasible_before``, whether
    the action was feasible as it came; and ``unprojected``, the action as it came, whose density a policy gradient
    needs.

    A vector environment gets a ``ProjectVectorAction``: the same with an array for each figure; ``x`` then gets
    the observations of all environments.
    """

    def __new__(cls, env: Any, *arguments: Any, **options: Any) -> Any:
        if isinstance(env, vector.VectorEnv):
            return ProjectVectorAction(env, *arguments, **options)
        return super().__new__(cls)

    def __init__(self, env: Any, guard: Guard, *, x: Callable[[Any], Any] | None = None, fallback: Any = None):
        super().__init__(env)
        self._filter = _Filter(guard, env.action_space, x, fallback)

    def reset(self, **options: Any) -> tuple[Any, dict[str, Any]]:
        observation, info = self.env.reset(**options)
        self._filter.observation = observation
        return observation, info

    def step(self, action: Any) -> Any:
        projected, report = self._filter(action)
        observation, *figures, info = self.env.step(projected)
        self._filter.observation = observation
        return observation, *figures, {**info, "fabproj": report}


class ProjectVectorAction(_VectorWrapper):  # type: ignore[misc]
    """``ProjectAction`` for vector environments."""

    def __init__(self, env: Any, guard: Guard, *, x: Callable[[Any], Any] | None = None, fallback: Any = None):
        super().__init__(env)
        self._filter = _Filter(guard, env.action_space, x, fallback)

    def reset(self, **options: Any) -> tuple[Any, dict[str, Any]]:
        observation, info = self.env.reset(**options)
        self._filter.observation = observation
        return observation, info

    def step(self, actions: Any) -> Any:
        projected, report = self._filter(actions)
        observation, *figures, info = self.env.step(projected)
        self._filter.observation = observation
        return observation, *figures, {**info, "fabproj": report}
