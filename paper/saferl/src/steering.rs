//! How a filter replaces an action (throttle, turn) that is not safe.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::env::{EnvironmentError, Result};
use crate::look_ahead::Action;

/// How a replacement is chosen among safe actions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// The nearest one.
    Nearest,
    /// For actions (throttle, turn): the one nearest in throttle, with the turn that makes the wanted
    /// throttle least costly. It steers around obstacles where the nearest one brakes.
    Steer,
    /// For actions (throttle, turn): drive around the obstacle on one side, until the wanted action
    /// leads past it. Steering alone changes sides, and stalls.
    Detour,
}

impl Rule {
    /// The rule for a task: nearest where actions are no throttle and turn, detour elsewhere.
    pub fn of_task(task: &str) -> Self {
        match task {
            "double-integrator" => Self::Nearest,
            _ => Self::Detour,
        }
    }
}

/// Values of a coordinate of the candidates.
pub(crate) const GRID: [f64; 5] = [-1.0, -0.5, 0.0, 0.5, 1.0];

/// All pairs of [`GRID`].
pub(crate) fn grid() -> impl Iterator<Item = Action> {
    GRID.into_iter()
        .flat_map(|first| GRID.into_iter().map(move |second| [first, second]))
}

/// Actions in units of the actuators: 1 is full.
pub(crate) fn to_units(action: &[f64], scale: Action) -> Action {
    [0, 1].map(|index| (action[index] / scale[index]).clamp(-1.0, 1.0))
}

/// The inverse of [`to_units`], for actions in the box.
pub(crate) fn from_units(units: Action, scale: Action) -> Action {
    [units[0] * scale[0], units[1] * scale[1]]
}

/// What is expected of an action. Costs are log(1 + steps).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Verdict {
    pub(crate) safe: bool,
    /// Of the best recovery.
    pub(crate) recovery: f64,
    /// If the action is held on.
    pub(crate) hold: f64,
}

/// Judges actions in the current situation, in units of the actuators.
pub(crate) trait Judge {
    fn judge(&mut self, actions: &[Action]) -> Result<Vec<Verdict>>;

    /// Actions that may replace the wanted one.
    fn candidates(&mut self, wanted: Action) -> Vec<Action>;
}

/// A detour goes where an action costs at most this many steps if it is held on: it cuts corners that
/// a brake can still avoid. With less it keeps far away and arrives late, with more it is forced to
/// brake. `docs/safe-rl.md` has the effect of the rule; this and the three below were not varied alone.
const FREE_COST: f64 = 11.0;

/// A detour ends when the wanted action costs at most this many steps if it is held on …
const CLEAR_COST: f64 = 1.7;

/// … in so many steps, one after the other. With fewer the robot turns back to the obstacle.
const PATIENCE: u32 = 5;

/// A detour that lasts so many steps changes its side: the way was closed.
const CHANGE_SIDES: u32 = 100;

/// After so many steps without a safe action the robot drives straight on until there is one. Inside
/// an obstacle all actions look alike, and a choice made anew at every step stays there.
const GIVE_UP: u32 = 20;

/// A rule, and what it remembers of earlier steps.
#[derive(Clone, Debug)]
pub(crate) struct Steering {
    rule: Rule,
    memory: Memory,
}

/// What [`Rule::Detour`] remembers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Memory {
    detour: Option<Detour>,
    /// Steps without a safe action.
    trapped: u32,
    /// The throttle that leads out: 1 or -1, chosen when a trap is recognised.
    way_out: f64,
}

/// A way around an obstacle.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Detour {
    /// 1 ahead, -1 in reverse.
    gear: f64,
    /// The turn that leads away from the obstacle: 1 or -1.
    side: f64,
    /// Steps on this side.
    steps: u32,
    /// Steps for which the wanted action has been clear.
    clear: u32,
}

impl Steering {
    pub(crate) fn new(rule: Rule) -> Self {
        Self {
            rule,
            memory: Memory::default(),
        }
    }

    /// Forgets earlier steps.
    pub(crate) fn reset(&mut self) {
        self.memory = Memory::default();
    }

    /// What it remembers, for a checkpoint.
    pub(crate) fn memory(&self) -> Value {
        serde_json::to_value(self.memory).unwrap_or_default()
    }

    /// Continues with a memory of another.
    pub(crate) fn recall(&mut self, memory: &Value) -> Result<()> {
        let unreadable =
            |error| EnvironmentError::Other(format!("memory of a filter: {error}").into());
        self.memory = Memory::deserialize(memory).map_err(unreadable)?;
        Ok(())
    }

    /// The replacement of an action; none if it may pass.
    pub(crate) fn replace(
        &mut self,
        wanted: Action,
        judge: &mut impl Judge,
    ) -> Result<Option<Action>> {
        let verdict = judge.judge(&[wanted])?[0];
        if self.rule == Rule::Detour {
            return self.drive_around(wanted, verdict, judge);
        }
        if verdict.safe {
            return Ok(None);
        }
        let (weights, target) = match self.rule {
            Rule::Nearest => ([1.0, 1.0], wanted),
            _ => ([1.0, 0.1], [wanted[0], preferred_turn(wanted, judge)?]),
        };
        let (action, _) = best(wanted, weights, target, judge)?;
        Ok(Some(action))
    }

    /// One step of a detour, which starts with an unsafe action and ends with clear ones.
    fn drive_around(
        &mut self,
        wanted: Action,
        verdict: Verdict,
        judge: &mut impl Judge,
    ) -> Result<Option<Action>> {
        let detour = match self.memory.detour {
            None if verdict.safe => return Ok(None),
            None => Detour::begin(wanted, judge)?,
            Some(detour) => detour,
        };
        let Some(detour) = detour.next(verdict) else {
            self.memory = Memory::default();
            return Ok(None);
        };
        self.memory.detour = Some(detour);
        let found = match detour.drive(judge)? {
            Some(action) => Some(action),
            None => detour.turn(judge)?,
        };
        if let Some(action) = found {
            self.memory.trapped = 0;
            return Ok(Some(action));
        }
        let (action, safe) = best(wanted, [1.0, 0.1], [0.0, detour.side], judge)?;
        self.escape(action, safe, judge).map(Some)
    }

    /// `action`, or straight on where no action has been safe for long.
    fn escape(&mut self, action: Action, safe: bool, judge: &mut impl Judge) -> Result<Action> {
        if safe {
            self.memory.trapped = 0;
            return Ok(action);
        }
        self.memory.trapped += 1;
        if self.memory.trapped < GIVE_UP {
            return Ok(action);
        }
        if self.memory.trapped == GIVE_UP {
            let ways = judge.judge(&[[1.0, 0.0], [-1.0, 0.0]])?;
            self.memory.way_out = if ways[0].hold <= ways[1].hold {
                1.0
            } else {
                -1.0
            };
        }
        Ok([self.memory.way_out, 0.0])
    }
}

impl Detour {
    /// The detour of an unsafe action: on the side where full throttle costs least.
    fn begin(wanted: Action, judge: &mut impl Judge) -> Result<Self> {
        let gear = 1f64.copysign(wanted[0]);
        let verdicts = judge.judge(&[1.0, 0.5, -0.5, -1.0].map(|turn| [gear, turn]))?;
        let left = verdicts[0].hold + verdicts[1].hold;
        let right = verdicts[2].hold + verdicts[3].hold;
        let side = if (left - right).abs() > 1e-9 {
            (right - left).signum()
        } else {
            1f64.copysign(wanted[1])
        };
        Ok(Self {
            gear,
            side,
            steps: 0,
            clear: 0,
        })
    }

    /// The detour one step later; none if it has ended.
    fn next(mut self, wanted: Verdict) -> Option<Self> {
        let clear = wanted.safe && wanted.hold <= CLEAR_COST.ln_1p();
        self.clear = if clear { self.clear + 1 } else { 0 };
        if self.clear >= PATIENCE {
            return None;
        }
        self.steps += 1;
        if self.steps > CHANGE_SIDES {
            self.side = -self.side;
            self.steps = 0;
        }
        Some(self)
    }

    /// As fast as possible, and as close to the obstacle as possible.
    fn drive(&self, judge: &mut impl Judge) -> Result<Option<Action>> {
        const TURNS: [f64; 9] = [-1.0, -0.75, -0.5, -0.25, 0.0, 0.25, 0.5, 0.75, 1.0];
        for throttle in [self.gear, 0.5 * self.gear] {
            let actions = TURNS.map(|turn| [throttle, turn * self.side]);
            let free = |verdict: &Verdict| verdict.safe && verdict.hold <= FREE_COST.ln_1p();
            let found = first(&actions, free, judge)?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// Without driving on: turn, or back off.
    fn turn(&self, judge: &mut impl Judge) -> Result<Option<Action>> {
        let Self { gear, side, .. } = *self;
        let ways = [
            [0.0, side],
            [-0.5 * gear, side],
            [-gear, side],
            [-gear, 0.0],
        ];
        first(&ways, |verdict| verdict.safe, judge)
    }
}

/// The first action that passes.
fn first(
    actions: &[Action],
    passes: impl Fn(&Verdict) -> bool,
    judge: &mut impl Judge,
) -> Result<Option<Action>> {
    let verdicts = judge.judge(actions)?;
    Ok(verdicts.iter().position(passes).map(|index| actions[index]))
}

/// The turn that makes the wanted throttle least costly, near the wanted turn.
fn preferred_turn(wanted: Action, judge: &mut impl Judge) -> Result<f64> {
    let verdicts = judge.judge(&GRID.map(|turn| [wanted[0], turn]))?;
    let price =
        |(turn, verdict): &(&f64, &Verdict)| verdict.hold + 0.05 * (**turn - wanted[1]).abs();
    let pairs = GRID.iter().zip(&verdicts);
    let best = pairs.min_by(|a, b| price(a).total_cmp(&price(b)));
    Ok(best.map_or(wanted[1], |(turn, _)| *turn))
}

/// The safe candidate nearest to the target, and whether there was one. If none is safe, the one that
/// leaves soonest: near an obstacle the recovery costs of all actions are almost equal, and the hold
/// cost tells them apart.
fn best(
    wanted: Action,
    weights: Action,
    target: Action,
    judge: &mut impl Judge,
) -> Result<(Action, bool)> {
    let candidates = judge.candidates(wanted);
    let verdicts = judge.judge(&candidates)?;
    // Distances are below 100, so any safe candidate comes before all others.
    let price = |(action, verdict): &(&Action, &Verdict)| match verdict.safe {
        true => {
            weights[0] * (action[0] - target[0]).powi(2)
                + weights[1] * (action[1] - target[1]).powi(2)
        }
        false => 100.0 + verdict.recovery + verdict.hold,
    };
    let pairs = candidates.iter().zip(&verdicts);
    let best = pairs.min_by(|a, b| price(a).total_cmp(&price(b)));
    Ok(best.map_or((wanted, false), |(action, verdict)| (*action, verdict.safe)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A wall ahead, seen by a rule that says what holding an action costs (in steps). More than
    /// `UNSAFE` steps cannot be recovered.
    struct Wall<F: Fn(Action) -> f64>(F);

    const UNSAFE: f64 = 20.0;

    impl<F: Fn(Action) -> f64> Judge for Wall<F> {
        fn judge(&mut self, actions: &[Action]) -> Result<Vec<Verdict>> {
            let verdict = |action: &Action| {
                let cost = (self.0)(*action);
                Verdict {
                    safe: cost <= UNSAFE,
                    recovery: (cost - UNSAFE).max(0.0).ln_1p(),
                    hold: cost.ln_1p(),
                }
            };
            Ok(actions.iter().map(verdict).collect())
        }

        fn candidates(&mut self, _wanted: Action) -> Vec<Action> {
            grid().collect()
        }
    }

    /// Driving ahead costs less, the more the robot turns to the left.
    fn open_on_the_left([throttle, turn]: Action) -> f64 {
        throttle.max(0.0) * (30.0 - 25.0 * turn)
    }

    fn step<F: Fn(Action) -> f64>(
        steering: &mut Steering,
        wanted: Action,
        cost: F,
    ) -> Option<Action> {
        steering.replace(wanted, &mut Wall(cost)).unwrap()
    }

    #[test]
    fn units_are_those_of_the_actuators() {
        assert_eq!(to_units(&[0.025, -3.0], [0.05, 1.0]), [0.5, -1.0]);
        assert_eq!(from_units([0.5, -1.0], [0.05, 1.0]), [0.025, -1.0]);
        assert_eq!(grid().count(), 25);
    }

    #[test]
    fn safe_actions_pass() {
        for rule in [Rule::Nearest, Rule::Steer, Rule::Detour] {
            let mut steering = Steering::new(rule);
            assert_eq!(step(&mut steering, [1.0, 0.2], |_| 0.0), None);
            assert_eq!(steering.memory, Memory::default());
        }
    }

    #[test]
    fn the_nearest_safe_action_brakes_and_the_other_rule_steers() {
        let replaced =
            |rule| step(&mut Steering::new(rule), [1.0, -0.1], open_on_the_left).unwrap();
        assert_eq!(replaced(Rule::Nearest), [0.5, 0.0]);
        assert_eq!(replaced(Rule::Steer), [1.0, 1.0]);
    }

    #[test]
    fn a_detour_keeps_its_side_at_full_throttle() {
        let mut steering = Steering::new(Rule::Detour);
        // 11.25 steps at a turn of 0.75 are too many; 5 at 1 are free.
        let first = step(&mut steering, [1.0, -0.3], open_on_the_left);
        assert_eq!(first, Some([1.0, 1.0]));
        // The wall ends: the robot turns back around it, as far as it may.
        let around = |[throttle, turn]: Action| throttle.max(0.0) * (10.0 - 25.0 * turn).max(0.0);
        assert_eq!(step(&mut steering, [1.0, -1.0], around), Some([1.0, 0.0]));
        // The other side would now be free as well: it stays.
        let symmetric = |[throttle, turn]: Action| throttle.max(0.0) * 30.0 * (1.0 - turn.abs());
        let third = step(&mut steering, [1.0, 0.0], symmetric);
        assert_eq!(third, Some([1.0, -1.0]));
        assert_eq!(steering.memory.detour.unwrap().side, 1.0);
    }

    #[test]
    fn a_detour_ends_when_the_way_has_been_clear_for_a_while() {
        let mut steering = Steering::new(Rule::Detour);
        step(&mut steering, [1.0, 0.0], open_on_the_left);
        for _ in 1..PATIENCE {
            assert!(step(&mut steering, [1.0, 0.0], |_| 1.0).is_some());
        }
        assert_eq!(step(&mut steering, [1.0, 0.0], |_| 1.0), None);
        assert_eq!(steering.memory, Memory::default());
    }

    #[test]
    fn a_detour_without_a_way_changes_sides() {
        let mut steering = Steering::new(Rule::Detour);
        let closed = |[throttle, _]: Action| 30.0 * throttle.abs();
        let first = step(&mut steering, [1.0, 0.5], closed);
        assert_eq!(first, Some([0.0, 1.0]), "turns in place");
        for _ in 1..CHANGE_SIDES {
            step(&mut steering, [1.0, 0.5], closed);
        }
        assert_eq!(step(&mut steering, [1.0, 0.5], closed), Some([0.0, -1.0]));
    }

    #[test]
    fn a_trapped_robot_drives_straight_out() {
        let mut steering = Steering::new(Rule::Detour);
        let inside = |[throttle, _]: Action| 40.0 - throttle;
        for _ in 1..GIVE_UP {
            step(&mut steering, [-1.0, 0.0], inside);
        }
        // Now, and although backwards looks better later.
        assert_eq!(step(&mut steering, [-1.0, 0.0], inside), Some([1.0, 0.0]));
        let other = |[throttle, _]: Action| 40.0 + throttle;
        assert_eq!(step(&mut steering, [-1.0, 0.0], other), Some([1.0, 0.0]));
        // Outside it goes on as before.
        assert!(step(&mut steering, [-1.0, 0.0], |_| 0.0).is_some());
        assert_eq!(steering.memory.trapped, 0);
    }
}
