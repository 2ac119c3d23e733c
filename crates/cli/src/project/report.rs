//! What was done, on standard error.

use std::collections::BTreeMap;

use fabproj::Outcome;
use fabproj::set::Set;
use serde_json::json;

use crate::options::Common;
use crate::points::Chunk;
use crate::show::count;
use crate::train::labels;

/// Counts over all rows.
pub struct Report<'a> {
    /// The guard's set.
    set: Option<&'a dyn Set>,
    outcomes: BTreeMap<&'static str, usize>,
    /// How many inputs violated each constraint that has a name.
    violated: BTreeMap<String, usize>,
}

impl<'a> Report<'a> {
    pub fn new(set: Option<&'a dyn Set>) -> Self {
        Self {
            set,
            outcomes: BTreeMap::new(),
            violated: BTreeMap::new(),
        }
    }

    /// Counts rows by the names of their outcomes.
    pub fn add(&mut self, rows: &Chunk, outcomes: &[&'static str]) {
        let (dim, x_dim) = (rows.y.len() / outcomes.len(), rows.x.len() / outcomes.len());
        for (row, outcome) in outcomes.iter().enumerate() {
            *self.outcomes.entry(outcome).or_default() += 1;
            let Some(set) = self.set.filter(|_| *outcome != Outcome::Kept.name()) else {
                continue;
            };
            let (y, x) = (&rows.y[row * dim..][..dim], &rows.x[row * x_dim..][..x_dim]);
            for name in set.violated(y, x) {
                *self.violated.entry(name).or_default() += 1;
            }
        }
    }

    pub fn print(&self, common: &Common) {
        if common.quiet {
            return;
        }
        let total: usize = self.outcomes.values().sum();
        let calibration = self.set.and_then(Set::calibration);
        if common.json {
            let report = json!({
                "points": total,
                "outcomes": self.outcomes,
                "violated": self.violated,
                "statistical": calibration.is_some(),
                "precision_lower_bound": calibration.map(|found| found.precision_lower_bound),
            });
            eprintln!("{report}");
            return;
        }
        let outcomes = self.outcomes.iter();
        let outcomes = outcomes.map(|(name, found)| format!("{} {name}", count(*found)));
        let outcomes = outcomes.collect::<Vec<_>>().join(", ");
        eprintln!("{} points: {outcomes}", count(total));
        if !self.violated.is_empty() {
            let violated = self.violated.iter();
            let violated = violated.map(|(name, found)| format!("{name} ({})", count(*found)));
            eprintln!(
                "inputs violated: {}",
                violated.collect::<Vec<_>>().join(", ")
            );
        }
        if let Some(calibration) = &calibration {
            eprintln!("guard, {}", labels::promise(calibration));
        }
    }
}
