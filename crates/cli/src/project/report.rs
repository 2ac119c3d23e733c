//! What was done, on standard error.

use std::collections::BTreeMap;

use fabproj::set::Set;
use fabproj::support::percent;
use serde_json::json;

use crate::options::Common;
use crate::show::count;
use crate::train::labels;

/// Counts over rows.
#[derive(Default)]
pub struct Report {
    pub outcomes: BTreeMap<&'static str, usize>,
    /// How many inputs violated each constraint that has a name.
    pub violated: BTreeMap<String, usize>,
    /// Inputs outside of the region that the model was trained for.
    pub outside: usize,
    /// The first of them: its row, and what is outside.
    pub first_outside: Option<(usize, String)>,
    /// Outputs that the guard could not make feasible.
    pub unverified: usize,
}

impl Report {
    /// How many rows there are.
    pub fn total(&self) -> usize {
        self.outcomes.values().sum()
    }

    /// Adds the rows that come next.
    pub fn add(&mut self, other: Self) {
        let before = self.total();
        for (name, found) in other.outcomes {
            *self.outcomes.entry(name).or_default() += found;
        }
        for (name, found) in other.violated {
            *self.violated.entry(name).or_default() += found;
        }
        self.outside += other.outside;
        self.unverified += other.unverified;
        if self.first_outside.is_none() {
            let first = other.first_outside;
            self.first_outside = first.map(|(row, what)| (before + row, what));
        }
    }

    /// The warning about inputs outside of the region.
    pub fn warning(&self) -> Option<String> {
        let (row, what) = self.first_outside.as_ref()?;
        Some(format!(
            "{} of {} inputs lie outside of the region that the model was trained and certified for; the first \
             is row {row}, where {what}; --refuse-outside makes this an error",
            count(self.outside),
            count(self.total()),
        ))
    }

    /// Prints the counts; `set` is the guard's.
    pub fn print(&self, set: Option<&dyn Set>, common: &Common) {
        let calibration = set.and_then(Set::calibration);
        if common.json {
            if common.quiet {
                return;
            }
            let report = json!({
                "points": self.total(),
                "outcomes": self.outcomes,
                "violated": self.violated,
                "outside": self.outside,
                "unverified": self.unverified,
                "tested": set.is_some(),
                "warnings": self.warning().into_iter().collect::<Vec<_>>(),
                "statistical": calibration.is_some(),
                "precision_lower_bound": calibration.map(|found| found.precision_lower_bound),
            });
            eprintln!("{report}");
            return;
        }
        if let Some(warning) = self.warning() {
            eprintln!("warning: {warning}");
        }
        if common.quiet {
            return;
        }
        let outcomes = self.outcomes.iter();
        let outcomes = outcomes.map(|(name, found)| format!("{} {name}", count(*found)));
        let outcomes = outcomes.collect::<Vec<_>>().join(", ");
        eprintln!("{} points: {outcomes}", count(self.total()));
        if !self.violated.is_empty() {
            let violated = self.violated.iter();
            let violated = violated.map(|(name, found)| format!("{name} ({})", count(*found)));
            let violated = violated.collect::<Vec<_>>().join(", ");
            eprintln!("inputs violated: {violated}");
        }
        if let Some(calibration) = &calibration {
            eprintln!("guard, {}", labels::promise(calibration));
        }
    }

    /// What is wrong with the result as a whole.
    pub fn problem(&self) -> Option<String> {
        (self.unverified > 0).then(|| {
            let (found, total) = (self.unverified, self.total());
            format!(
                "{} of {} outputs ({}) are infeasible: no feasible point was found at their x; their outcome is \
                 maybe-empty; --allow-infeasible accepts them",
                count(found),
                count(total),
                percent(found as f64 / total as f64)
            )
        })
    }
}
