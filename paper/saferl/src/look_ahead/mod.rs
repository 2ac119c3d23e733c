//! Labels that look ahead: what an action leads to, by a simple model of the task's motion.
//!
//! The cost of one step says little about the action of a body with inertia: inside an obstacle every
//! action costs, and outside the next step is safe whatever the action. So an action is called safe
//! if, after it was held for some steps, a recovery manoeuvre avoids all cost up to a horizon.
//!
//! The models use true positions. They serve to label data and as an oracle; policies and guards see
//! observations only.

mod point_mass;
mod point_robot;

use serde::{Deserialize, Serialize};

pub(crate) use self::point_mass::PointMass;
#[cfg(feature = "mujoco")]
pub(crate) use self::point_robot::{Hazard, PointRobot};

use crate::error::{Result, check_setting};

/// An action of a task with two actuators.
pub type Action = [f64; 2];

/// Settings of a look-ahead.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LookAheadSettings {
    /// Steps for which the action is held. Default 3.
    pub hold: usize,
    /// Steps in all, manoeuvre included. Default 30.
    pub horizon: usize,
    /// Obstacles are larger by this. Default 0.01.
    pub margin: f64,
}

impl Default for LookAheadSettings {
    fn default() -> Self {
        Self {
            hold: 3,
            horizon: 30,
            margin: 0.01,
        }
    }
}

impl LookAheadSettings {
    /// Checks all settings.
    ///
    /// # Errors
    /// [`RlError::Setting`](crate::RlError::Setting) with the name of the setting.
    pub fn validate(&self) -> Result<()> {
        check_setting(self.hold >= 1, "hold", "at least 1", self.hold)?;
        let enough = self.horizon >= self.hold;
        check_setting(enough, "horizon", "at least `hold`", self.horizon)?;
        let margin = self.margin >= 0.0 && self.margin.is_finite();
        check_setting(margin, "margin", "at least 0", self.margin)
    }
}

/// What an action leads to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outlook {
    /// Steps with a cost: the action is held, then the best manoeuvre follows. 0: the action is safe.
    pub recovery_cost: u32,
    /// Steps with a cost if the action is held on, over 15 steps, over 30, and over 20 with obstacles
    /// larger by 0.04, added up. Ranks ways around an obstacle.
    pub hold_cost: u32,
}

impl Outlook {
    /// Whether a manoeuvre avoids all cost.
    pub fn is_safe(self) -> bool {
        self.recovery_cost == 0
    }
}

/// (steps, added margin) of the parts of the hold cost.
const HOLDS: [(usize, f64); 3] = [(15, 0.0), (30, 0.0), (20, 0.04)];

/// A simple model of how a task's agent moves among obstacles that stand still.
pub(crate) trait Motion {
    /// Position, velocity and what else changes.
    type Body: Copy;

    /// The agent now.
    fn start(&self) -> Self::Body;

    /// One step of the task.
    fn advance(&self, body: &mut Self::Body, action: Action);

    /// Whether a step that ends here costs, with obstacles larger by `margin`.
    fn costs(&self, body: &Self::Body, margin: f64) -> bool;

    /// Number of recovery manoeuvres.
    fn manoeuvres(&self) -> usize;

    /// The action of a manoeuvre in the current state.
    fn manoeuvre(&self, body: &Self::Body, index: usize) -> Action;
}

/// Looks ahead for one action.
pub(crate) fn outlook<M: Motion>(
    model: &M,
    action: Action,
    settings: &LookAheadSettings,
) -> Outlook {
    let margin = settings.margin;
    let (mut body, mut held) = (model.start(), 0);
    for _ in 0..settings.hold {
        model.advance(&mut body, action);
        held += u32::from(model.costs(&body, margin));
    }
    let mut best = u32::MAX;
    for index in 0..model.manoeuvres() {
        let (mut body, mut cost) = (body, held);
        for _ in settings.hold..settings.horizon {
            let action = model.manoeuvre(&body, index);
            model.advance(&mut body, action);
            cost += u32::from(model.costs(&body, margin));
            if cost >= best {
                break;
            }
        }
        best = best.min(cost);
        if best == held {
            break;
        }
    }
    Outlook {
        recovery_cost: best,
        hold_cost: hold_cost(model, action, margin),
    }
}

fn hold_cost<M: Motion>(model: &M, action: Action, margin: f64) -> u32 {
    let longest = HOLDS.iter().map(|(steps, _)| *steps).max().unwrap_or(0);
    let (mut body, mut cost) = (model.start(), 0);
    for step in 0..longest {
        model.advance(&mut body, action);
        for (steps, extra) in HOLDS {
            cost += u32::from(step < steps && model.costs(&body, margin + extra));
        }
    }
    cost
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A point on a line that drives towards an obstacle at 0 < x < 1 and can stop at once.
    struct Line(f64);

    impl Motion for Line {
        type Body = f64;

        fn start(&self) -> f64 {
            self.0
        }

        fn advance(&self, body: &mut f64, action: Action) {
            *body += action[0];
        }

        fn costs(&self, body: &f64, margin: f64) -> bool {
            *body > -margin && *body < 1.0 + margin
        }

        fn manoeuvres(&self) -> usize {
            2
        }

        fn manoeuvre(&self, _body: &f64, index: usize) -> Action {
            [[0.0, 0.0], [-0.05, 0.0]][index]
        }
    }

    fn look(start: f64, action: f64) -> Outlook {
        outlook(&Line(start), [action, 0.0], &LookAheadSettings::default())
    }

    #[test]
    fn a_manoeuvre_makes_an_action_safe() {
        // Three steps of 0.1 end before the obstacle, then standing still is safe.
        assert!(look(-0.4, 0.1).is_safe());
        // They end inside it.
        assert!(!look(-0.2, 0.1).is_safe());
        // The margin counts.
        assert!(!look(-0.305, 0.1).is_safe());
    }

    #[test]
    fn costs_are_those_of_the_best_manoeuvre() {
        // One held step inside, at 0.1; then -0.05 a step: 0.05 and 0 cost, the margin is left at -0.05.
        let inside = look(-0.2, 0.1);
        assert_eq!(inside.recovery_cost, 2 + 2);
        let far = look(-9.0, 0.1);
        assert_eq!(far.hold_cost, 0);
        // Held on, the obstacle is crossed in about ten steps.
        assert!(look(-0.2, 0.1).hold_cost > 20);
    }

    #[test]
    fn wrong_settings_are_named() {
        let settings = LookAheadSettings {
            horizon: 2,
            ..LookAheadSettings::default()
        };
        assert!(
            settings
                .validate()
                .unwrap_err()
                .to_string()
                .contains("horizon")
        );
    }
}
