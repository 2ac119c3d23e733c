//! A filter that knows the task: it looks ahead for every candidate.
//!
//! Not for use in a product: it needs true positions. It collects data, and it bounds what a learned
//! filter with the same labels can reach.

use crate::env::Result;
use crate::filter::{ActionFilter, Situation};
use crate::look_ahead::{Action, LookAheadSettings, Outlook};

/// How a replacement is chosen among safe actions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// The nearest one.
    Nearest,
    /// For actions (throttle, turn): the one nearest in throttle, with the turn that makes the wanted
    /// throttle least costly. It steers around obstacles where the nearest one brakes.
    Steer,
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

/// The filter with the look-ahead as its test.
#[derive(Clone, Debug)]
pub struct Shield {
    settings: LookAheadSettings,
    rule: Rule,
}

impl Shield {
    /// A shield.
    pub fn new(settings: LookAheadSettings, rule: Rule) -> Self {
        Self { settings, rule }
    }

    /// The turn that makes the wanted throttle least costly, near the wanted turn.
    fn preferred_turn(wanted: Action, turns: &[Outlook]) -> f64 {
        let price = |(turn, outlook): (&f64, &Outlook)| {
            f64::from(outlook.hold_cost) + 0.05 * (turn - wanted[1]).abs()
        };
        let best = GRID
            .iter()
            .zip(turns)
            .min_by(|a, b| price(*a).total_cmp(&price(*b)));
        best.map_or(wanted[1], |(turn, _)| *turn)
    }
}

impl ActionFilter for Shield {
    fn filter(
        &mut self,
        situation: Situation<'_>,
        action: &[f64],
        filtered: &mut [f64],
    ) -> Result<bool> {
        let (task, scale) = (situation.task, situation.task.action_scale());
        let wanted = to_units(action, scale);
        let look = |units: &[Action]| {
            let actions: Vec<Action> = units.iter().map(|u| from_units(*u, scale)).collect();
            task.outlooks(&actions, &self.settings)
        };
        if look(&[wanted])?[0].is_safe() {
            return Ok(false);
        }
        let steered = GRID.map(|turn| [wanted[0], turn]);
        let (weights, target) = match self.rule {
            Rule::Nearest => ([1.0, 1.0], wanted),
            Rule::Steer => {
                let turn = Self::preferred_turn(wanted, &look(&steered)?);
                ([1.0, 0.1], [wanted[0], turn])
            }
        };
        let candidates: Vec<Action> = grid().chain(steered).collect();
        let distance = |units: &Action| {
            weights[0] * (units[0] - target[0]).powi(2)
                + weights[1] * (units[1] - target[1]).powi(2)
        };
        let outlooks = look(&candidates)?;
        let best = candidates.iter().zip(&outlooks).min_by(|a, b| {
            // If nothing is safe, the hold cost tells which action leaves soonest.
            let cost = |o: &Outlook| {
                if o.is_safe() {
                    0
                } else {
                    o.recovery_cost + o.hold_cost
                }
            };
            let costs = cost(a.1).cmp(&cost(b.1));
            costs.then_with(|| distance(a.0).total_cmp(&distance(b.0)))
        });
        if let Some((units, _)) = best {
            filtered.copy_from_slice(&from_units(*units, scale));
        }
        Ok(true)
    }

    fn boxed(&self) -> Box<dyn ActionFilter> {
        Box::new(self.clone())
    }

    fn digest(&self) -> String {
        let LookAheadSettings {
            hold,
            horizon,
            margin,
        } = self.settings;
        format!("shield {:?} {hold} {horizon} {margin}", self.rule)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluate::{Controller, EvaluationSettings, evaluate};
    use crate::task::open;

    #[test]
    fn a_shield_keeps_a_random_policy_safe() {
        let settings = EvaluationSettings {
            episodes: 10,
            ..EvaluationSettings::default()
        };
        let make = || open("double-integrator");
        let shield = Shield::new(LookAheadSettings::default(), Rule::Nearest);
        let run = |filter| evaluate(&make, &Controller::Random, filter, &settings).unwrap();
        let (plain, guarded) = (run(None).summary(), run(Some(&shield)).summary());
        assert!(plain.cost.mean > 5.0, "{}", plain.cost.mean);
        assert_eq!(guarded.cost.max, 0.0);
        assert!(guarded.corrected_share > 0.02 && guarded.corrected_share < 0.9);
        assert!(guarded.distance > 1.0);
    }

    #[test]
    fn units_are_those_of_the_actuators() {
        assert_eq!(to_units(&[0.025, -3.0], [0.05, 1.0]), [0.5, -1.0]);
        assert_eq!(from_units([0.5, -1.0], [0.05, 1.0]), [0.025, -1.0]);
        assert_eq!(grid().count(), 25);
    }
}
