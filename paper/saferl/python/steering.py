"""How a guard drives around an obstacle: the rule `detour` of the crate, in numpy.

A judge takes actions in units of the actuators and returns, for each: is it safe, the cost of the best
recovery, the cost if it is held on. Costs are log(1 + steps).
"""

import numpy as np

FREE_COST, CLEAR_COST = np.log1p(11.0), np.log1p(1.7)
PATIENCE, CHANGE_SIDES, GIVE_UP = 5, 100, 20
TURNS = np.linspace(-1, 1, 9)


class Detour:
    def __init__(self):
        self.reset()

    def reset(self):
        self.side, self.trapped, self.way_out = None, 0, 0.0

    def replace(self, wanted, judge, candidates):
        """The action to execute instead of the wanted one; None if it may pass."""
        safe, _, hold = (values[0] for values in judge([wanted]))
        if self.side is None:
            if safe:
                return None
            self.begin(wanted, judge)
        if self.ends(safe and hold <= CLEAR_COST):
            self.reset()
            return None
        action = self.way(judge)
        if action is not None:
            self.trapped = 0
            return action
        action, found = nearest(candidates(), np.array([0.0, self.side]), judge)
        return self.escape(action, found, judge)

    def begin(self, wanted, judge):
        """On the side where full throttle costs least."""
        self.gear = np.copysign(1.0, wanted[0])
        hold = judge([(self.gear, turn) for turn in (1.0, 0.5, -0.5, -1.0)])[2]
        difference = hold[2] + hold[3] - hold[0] - hold[1]
        self.side = np.sign(difference) if abs(difference) > 1e-9 else np.copysign(1.0, wanted[1])
        self.steps = self.clear = 0

    def ends(self, clear):
        self.clear = self.clear + 1 if clear else 0
        self.steps += 1
        if self.steps > CHANGE_SIDES:
            self.side, self.steps = -self.side, 0
        return self.clear >= PATIENCE

    def way(self, judge):
        """As fast and as close to the obstacle as possible; else turn, or back off."""
        gear, side = self.gear, self.side
        for throttle in (gear, 0.5 * gear):
            actions = [(throttle, turn * side) for turn in TURNS]
            safe, _, hold = judge(actions)
            free = np.flatnonzero(safe & (hold <= FREE_COST))
            if len(free):
                return np.array(actions[free[0]])
        actions = [(0.0, side), (-0.5 * gear, side), (-gear, side), (-gear, 0.0)]
        safe = np.flatnonzero(judge(actions)[0])
        return np.array(actions[safe[0]]) if len(safe) else None

    def escape(self, action, found, judge):
        """`action`, or straight on where no action has been safe for long."""
        self.trapped = 0 if found else self.trapped + 1
        if self.trapped < GIVE_UP:
            return action
        if self.trapped == GIVE_UP:
            hold = judge([(1.0, 0.0), (-1.0, 0.0)])[2]
            self.way_out = 1.0 if hold[0] <= hold[1] else -1.0
        return np.array([self.way_out, 0.0])


def nearest(candidates, target, judge):
    """The safe candidate nearest to the target, else the one that leaves soonest; whether it is safe."""
    safe, recovery, hold = judge(candidates)
    distance = (candidates[:, 0] - target[0]) ** 2 + 0.1 * (candidates[:, 1] - target[1]) ** 2
    best = int(np.argmin(np.where(safe, distance, 100 + recovery + hold)))
    return candidates[best], bool(safe[best])
