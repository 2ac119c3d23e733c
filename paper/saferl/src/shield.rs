//! A filter that knows the task: it looks ahead for every candidate.
//!
//! Not for use in a product: it needs true positions. It collects data, and it bounds what a learned
//! filter with the same labels can reach.

use serde_json::Value;

use crate::env::Result;
use crate::filter::{ActionFilter, Situation};
use crate::look_ahead::{Action, LookAheadSettings, Outlook};
use crate::steering::{GRID, Judge, Rule, Steering, Verdict, from_units, grid, to_units};
use crate::task::Task;

/// The filter with the look-ahead as its test.
#[derive(Clone, Debug)]
pub struct Shield {
    settings: LookAheadSettings,
    rule: Rule,
    steering: Steering,
}

impl Shield {
    /// A shield.
    pub fn new(settings: LookAheadSettings, rule: Rule) -> Self {
        Self {
            settings,
            rule,
            steering: Steering::new(rule),
        }
    }
}

/// The look-ahead from the task's current state.
struct Oracle<'a> {
    task: &'a dyn Task,
    settings: &'a LookAheadSettings,
}

impl Judge for Oracle<'_> {
    fn judge(&mut self, units: &[Action]) -> Result<Vec<Verdict>> {
        let scale = self.task.action_scale();
        let actions: Vec<Action> = units.iter().map(|u| from_units(*u, scale)).collect();
        let outlooks = self.task.outlooks(&actions, self.settings)?;
        let verdict = |outlook: &Outlook| Verdict {
            safe: outlook.is_safe(),
            recovery: f64::from(outlook.recovery_cost).ln_1p(),
            hold: f64::from(outlook.hold_cost).ln_1p(),
        };
        Ok(outlooks.iter().map(verdict).collect())
    }

    fn candidates(&mut self, wanted: Action) -> Vec<Action> {
        grid().chain(GRID.map(|turn| [wanted[0], turn])).collect()
    }
}

impl ActionFilter for Shield {
    fn filter(
        &mut self,
        situation: Situation<'_>,
        action: &[f64],
        filtered: &mut [f64],
    ) -> Result<bool> {
        let scale = situation.task.action_scale();
        let mut oracle = Oracle {
            task: situation.task,
            settings: &self.settings,
        };
        let wanted = to_units(action, scale);
        let replacement = self.steering.replace(wanted, &mut oracle)?;
        if let Some(units) = replacement {
            filtered.copy_from_slice(&from_units(units, scale));
        }
        Ok(replacement.is_some())
    }

    fn reset(&mut self) {
        self.steering.reset();
    }

    fn memory(&self) -> Value {
        self.steering.memory()
    }

    fn recall(&mut self, memory: &Value) -> Result<()> {
        self.steering.recall(memory)
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
}
