//! What was done, on standard error.

use std::collections::BTreeMap;

use fabproj::core::{Status, Tally};
use fabproj::set::{Calibration, Set};
use serde_json::json;

use super::runner::Row;
use crate::options::Common;
use crate::show;
use crate::train::labels;

/// Counts over all rows.
#[derive(Default)]
pub struct Report {
    tally: Tally,
    /// How many inputs violated each constraint that has a name.
    violated: BTreeMap<String, usize>,
    /// How far the guard can be trusted, if its test was learned.
    calibration: Option<Calibration>,
}

impl Report {
    /// Begins with nothing counted; the set is the guard's.
    pub fn new(set: Option<&dyn Set>) -> Self {
        Self {
            calibration: set.and_then(Set::calibration),
            ..Self::default()
        }
    }

    /// Counts a row; the set is the guard's.
    pub fn add(&mut self, status: Status, row: &Row, set: Option<&dyn Set>) {
        self.tally.record(status);
        let Some(set) = set.filter(|_| status != Status::Kept) else {
            return;
        };
        let names = match set.reduced() {
            Some(reduced) => reduced.full().violated(&row.y, &row.x),
            None => set.violated(&row.y, &row.x),
        };
        for name in names {
            *self.violated.entry(name).or_default() += 1;
        }
    }

    pub fn print(&self, common: &Common) {
        if common.quiet {
            return;
        }
        if common.json {
            eprintln!("{}", self.json());
            return;
        }
        let statuses: Vec<_> = self
            .tally
            .iter()
            .map(|(status, found)| format!("{} {status}", show::count(found)))
            .collect();
        let done = if statuses.is_empty() {
            "nothing to do".to_owned()
        } else {
            statuses.join(", ")
        };
        eprintln!("{} points: {done}", show::count(self.tally.total()));
        if !self.violated.is_empty() {
            let violated: Vec<_> = self
                .violated
                .iter()
                .map(|(name, found)| format!("{name} ({})", show::count(*found)))
                .collect();
            eprintln!("inputs violated: {}", violated.join(", "));
        }
        if let Some(calibration) = &self.calibration {
            eprintln!("guard, {}", labels::promise(calibration));
        }
    }

    fn json(&self) -> serde_json::Value {
        let statuses = self
            .tally
            .iter()
            .map(|(status, found)| (status.name().to_owned(), found.into()));
        let statuses: serde_json::Map<_, _> = statuses.collect();
        json!({
            "points": self.tally.total(),
            "statuses": statuses,
            "violated": self.violated,
            "statistical": self.calibration.is_some(),
            "precision_lower_bound": self.calibration.map(|found| found.precision_lower_bound),
        })
    }
}
