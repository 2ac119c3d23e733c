//! What was done, on standard error.

use std::collections::BTreeMap;

use fabproj::support::percent;
use serde_json::{Value, json};

use crate::options::Common;
use crate::show::count;

/// What a command calls its rows.
pub struct Words {
    pub inputs: &'static str,
    pub outputs: &'static str,
    /// The outcomes, in JSON.
    pub outcomes: &'static str,
    /// The outcome that is not verified.
    pub infeasible: &'static str,
    /// What a row outside of the region means, with a semicolon.
    pub outside: &'static str,
}

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

    /// Prints the counts in the words of a command, with `more` in JSON.
    pub fn print(&self, words: &Words, more: Value, common: &Common) {
        let warning = self.warning(words);
        if !common.json {
            if let Some(warning) = warning {
                eprintln!("warning: {warning}");
            }
            let outcomes = listed(&self.outcomes, |name, found| format!("{found} {name}"));
            common.note(format_args!(
                "{} {}: {outcomes}",
                count(self.total()),
                words.outputs
            ));
        } else if !common.quiet {
            let mut report = more;
            report[words.outputs] = json!(self.total());
            report[words.outcomes] = json!(self.outcomes);
            report["outside"] = json!(self.outside);
            report["unverified"] = json!(self.unverified);
            report["warnings"] = json!(warning.into_iter().collect::<Vec<_>>());
            eprintln!("{report}");
        }
    }

    fn warning(&self, words: &Words) -> Option<String> {
        let (row, what) = self.first_outside.as_ref()?;
        Some(format!(
            "{} of {} {} lie outside of the region that the model was trained and certified for; the first is \
             row {row}, where {what}; {}--refuse-outside makes this an error",
            count(self.outside),
            count(self.total()),
            words.inputs,
            words.outside,
        ))
    }

    /// What is wrong with the result as a whole.
    pub fn problem(&self, words: &Words) -> Option<String> {
        (self.unverified > 0).then(|| {
            let (found, total) = (self.unverified, self.total());
            format!(
                "{} of {} {} ({}) are infeasible: no feasible point was found at their x; they are marked \
                 {}; --allow-infeasible accepts them",
                count(found),
                count(total),
                words.outputs,
                percent(found as f64 / total as f64),
                words.infeasible,
            )
        })
    }
}

/// Names with their counts, in one line.
pub fn listed<N: AsRef<str>>(
    counts: &BTreeMap<N, usize>,
    one: impl Fn(&str, String) -> String,
) -> String {
    let parts = counts.iter();
    let parts = parts.map(|(name, found)| one(name.as_ref(), count(*found)));
    parts.collect::<Vec<_>>().join(", ")
}
