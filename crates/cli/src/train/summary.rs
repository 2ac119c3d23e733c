//! The summary of a training: a short table, and advice where it is needed.

use anyhow::Result;
use fabproj::{Certificate, Model};
use serde_json::{Value, json};

use super::labels;
use super::made::Made;
use crate::certify::{self, places};
use crate::options::Common;
use crate::show::{self, confidence, count, number, percent, time};

/// Below these a model deserves a warning.
const GOOD_RAW: f64 = 0.99;
const GOOD_DECODES: f64 = 0.98;
const GOOD_CHART: f64 = 0.95;
const GOOD_COVERAGE: f64 = 0.95;
const GOOD_SLICE: f64 = 0.97;

/// What a training gave.
pub struct Summary {
    pub model: Model,
    pub certificate: Certificate,
    pub made: Made,
    /// What to try where the model falls short.
    pub advice: &'static str,
    /// Membership queries of the training.
    pub queries: u64,
}

impl Summary {
    pub fn print(&self, common: &Common) -> Result<()> {
        let training: Value = serde_json::from_str(&self.model.record().training_json())?;
        let figures = json!({
            "certificate": self.certificate,
            "training": training,
            "met_goals": self.model.met_goals(),
            "queries": self.queries,
            "certificate_queries": self.certificate.queries,
            "statistical": self.certificate.statistical,
            "learned": self.model.record().learned(),
        });
        let text = || self.text();
        self.made.print(common, figures, text, &self.warnings())
    }

    fn text(&self) -> String {
        let certificate = &self.certificate;
        let row = |name: &str, value: String| (name.to_owned(), value);
        let bounded = |share: f64, bound: f64| {
            let sure = confidence(certificate.confidence);
            format!(
                "{} (at least {}, {sure} sure)",
                percent(share),
                percent(bound)
            )
        };
        let coverage = match (certificate.coverage, &certificate.coverage_grid) {
            (Some(share), Some(grid)) => format!(
                "{} of {} cells {}{}",
                percent(share),
                count(grid.cells),
                certify::sides(grid),
                places(grid)
            ),
            _ => "not measured".to_owned(),
        };
        let excess = certificate.mean_excess.map(|excess| {
            row(
                "beyond the nearest",
                format!(
                    "{} on average, Euclidean, in the units of y",
                    number(excess)
                ),
            )
        });
        let mut rows = Vec::new();
        if let Some(record) = self.model.record().learned() {
            rows.push(row("guard", labels::promise(&record.calibration)));
            rows.push(row("labelled points", labels::points(record)));
        }
        if certificate.statistical {
            // The promise above is all that is known about the truth.
            let accepted = format!("{} of raw outputs", percent(certificate.raw_feasible));
            rows.push(row("accepted by its test", accepted));
        } else {
            let raw = bounded(certificate.raw_feasible, certificate.raw_lower_bound);
            rows.push(row("feasible, raw", raw));
            rows.push(row("feasible, guarded", certify::guarded(certificate)));
        }
        rows.push(row("coverage", coverage));
        let worst = certify::worst_slice(certificate);
        rows.extend(worst.map(|worst| row("worst slice of x", worst)));
        rows.extend(certify::empty(certificate).map(|empty| row("empty", empty)));
        rows.extend(excess);
        rows.push(row("search", search(&self.model)));
        rows.extend([
            row("one call", self.made.call()),
            row("training", time(self.made.training_seconds)),
            row(
                "membership queries",
                format!(
                    "{} in training, {} for the certificate",
                    count(self.queries as usize),
                    count(self.certificate.queries as usize)
                ),
            ),
            row("written", self.made.written()),
            row("to go on", self.next_commands().join("\n")),
        ]);
        show::pairs(&rows)
    }

    /// Three commands to go on with.
    fn next_commands(&self) -> [String; 3] {
        let model = self.made.model();
        [
            format!("fabproj project {model} POINTS.csv -o feasible.csv"),
            format!("fabproj inspect {model}"),
            format!("fabproj certify {model} --samples 1000000"),
        ]
    }

    /// What falls short, and what to try.
    fn warnings(&self) -> Vec<String> {
        let certificate = &self.certificate;
        let mut problems = Vec::new();
        if certificate.raw_feasible < GOOD_RAW {
            let share = percent(certificate.raw_feasible);
            problems.push(format!(
                "only {share} of inputs are projected to feasible points"
            ));
        }
        if let Some(worst) = &certificate.worst_slice
            && worst.share.feasible < GOOD_SLICE
        {
            let share = percent(worst.share.feasible);
            problems.push(format!(
                "only {share} of inputs with {} are projected to feasible points",
                worst.name
            ));
        }
        let decodes = certificate
            .inside_feasible
            .min(certificate.surface_feasible);
        if decodes < GOOD_DECODES {
            let share = percent(decodes);
            problems.push(format!(
                "only {share} of the latent set decodes to feasible points"
            ));
        }
        let worst_chart = certificate
            .charts
            .iter()
            .map(|chart| chart.inside.feasible.min(chart.surface.feasible))
            .fold(1.0, f64::min);
        if decodes >= GOOD_DECODES && worst_chart < GOOD_CHART {
            let share = percent(worst_chart);
            problems.push(format!(
                "one chart decodes to feasible points only {share} of the time"
            ));
        }
        if let Some(share) = certificate.coverage.filter(|share| *share < GOOD_COVERAGE) {
            problems.push(format!("only {} of the set is reached", percent(share)));
        }
        if let Some(problem) = &certificate.guard_problem {
            problems.push(format!("no guard is possible: {problem}"));
        }
        let advice = self.advice;
        let problems = problems
            .into_iter()
            .map(|problem| format!("{problem}; {advice}"));
        let of_points = self.model.record().learned().map(labels::warnings);
        problems.chain(of_points.into_iter().flatten()).collect()
    }
}

/// How the search for charts ended. Its targets decide when it may stop early; they are stricter than what
/// deserves a warning.
fn search(model: &Model) -> String {
    let candidates = training(model)["candidates"].as_array().map_or(0, Vec::len);
    let kept = match candidates {
        0 | 1 => "one candidate".to_owned(),
        _ => format!("the best of {candidates} candidates"),
    };
    match model.met_goals() {
        true => format!("{kept}, within all its targets"),
        false => format!("{kept}; `fabproj inspect` compares it with the search's targets"),
    }
}

/// The targets that the search for charts did not reach, one in a line.
pub(crate) fn missed_targets(model: &Model) -> String {
    let training = training(model);
    let missed = training["missed"].as_array().into_iter().flatten();
    let lines = missed.filter_map(|missed| {
        let (found, target) = (missed["found"].as_f64()?, missed["allowed"].as_f64()?);
        let defect = missed["defect"].as_str()?;
        let is_length = defect.starts_with("move") || defect.starts_with("distance");
        let shown = if is_length { number } else { percent };
        Some(format!(
            "{defect} {}, target {}",
            shown(found),
            shown(target)
        ))
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn training(model: &Model) -> Value {
    serde_json::from_str(&model.record().training_json()).unwrap_or_default()
}
