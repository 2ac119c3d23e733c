//! Solvers in words: certificate, steps, and what deserves a warning.

use anyhow::Result;
use fabproj::solve::{GapCertificate, Measured, SolverModel};
use fabproj::support::percent;
use serde_json::{Value, json};

use crate::show::{self, bytes, count, number};

/// Wrong usage of every certificate.
pub(crate) const NO_SAMPLES: &str = "--samples 0: a certificate needs at least one sample";

/// A certificate as a person reads it.
pub fn certificate_text(certificate: &GapCertificate) -> String {
    show::pairs(&certificate_rows(Some(certificate)))
}

/// The rows of a certificate.
pub(crate) fn certificate_rows(certificate: Option<&GapCertificate>) -> Vec<(String, String)> {
    let row = |name: &str, value: String| (name.to_owned(), value);
    let Some(certificate) = certificate else {
        let advice = "none; `fabproj certify MODEL` makes one";
        return vec![row("certificate", advice.to_owned())];
    };
    let GapCertificate {
        samples, feasible, ..
    } = *certificate;
    let mut verified = format!(
        "{} of {} answers to fresh x ({}), verified without tolerance",
        count(feasible),
        count(samples),
        percent(feasible as f64 / samples.max(1) as f64)
    );
    if certificate.pulled > 0 {
        let pulled = count(certificate.pulled);
        verified += &format!("; {pulled} by moving toward the anchor");
    }
    let gaps = format!(
        "{} on average, median {}, 99 % below {}, worst {}",
        gap(certificate.mean),
        gap(certificate.median),
        gap(certificate.percentile_99),
        gap(certificate.worst)
    );
    let mut reference = certificate.reference.clone();
    if certificate.without_reference > 0 {
        let without = count(certificate.without_reference);
        reference += &format!("; it found no optimum at {without} x, which are not in the gaps");
    }
    vec![
        row("feasible", verified),
        row("gap to the optimum", gaps),
        row("optima by", reference),
    ]
}

/// What a solver's file holds, as a person reads it.
pub fn text(model: &SolverModel, file: &str, size: u64) -> String {
    let row = |name: &str, value: String| (name.to_owned(), value);
    let (record, weights) = (model.record(), model.weights());
    let range = record.x_names.iter().zip(&weights.x_range);
    let range = range
        .take(SHOWN)
        .map(|(name, (low, high))| format!("{name} from {} to {}", number(*low), number(*high)));
    let mut rows = vec![
        row("file", format!("{file}, {}", bytes(size))),
        row("holds", "a solver; `fabproj solve` runs it".to_owned()),
        row("problem", record.problem.name()),
        row("y", listed(&record.names)),
        row("x", listed(&record.x_names)),
    ];
    if !record.x_names.is_empty() {
        let mut range: Vec<_> = range.collect();
        if record.x_names.len() > SHOWN {
            range.push(format!("and {} more", record.x_names.len() - SHOWN));
        }
        rows.push(row("range of x", range.join("\n")));
    }
    let constraints = match weights.proposer {
        Some(_) => format!(
            "{} beside bounds, tested at every answer",
            count(weights.rows)
        ),
        None => format!(
            "{} beside bounds; {} of all are watched by the steps",
            count(weights.rows),
            count(weights.watched.len())
        ),
    };
    rows.extend([
        row("constraints", constraints),
        row("tool", tool(model)),
        row("steps", steps(model)),
        row(
            "training",
            format!(
                "{}; optima by {}; seed {}",
                learned_from(model),
                record.training.reference,
                record.settings.seed
            ),
        ),
        row("written by", format!("fabproj {}", record.fabproj)),
    ]);
    rows.extend(certificate_rows(record.certificate.as_ref()));
    let candidates = record.training.candidates.iter().map(|one| {
        vec![
            one.tool.name().to_owned(),
            one.steps.max(one.tests).to_string(),
            number(one.margin),
            gap(one.mean_gap),
            gap(one.worst_gap),
            count(one.pulled),
            count(one.failed),
        ]
    });
    let header = [
        "TOOL",
        "STEPS",
        "MARGIN",
        "MEAN GAP",
        "WORST GAP",
        "PULLED",
        "FAILED",
    ];
    let table = show::table(&header, &candidates.collect::<Vec<_>>(), true);
    format!("{}\n\n{table}", show::pairs(&rows))
}

/// Names that fit into a line.
const SHOWN: usize = 8;

fn listed(names: &[String]) -> String {
    match names {
        [] => "none".to_owned(),
        names if names.len() <= SHOWN => format!("{} ({})", names.len(), names.join(", ")),
        names => format!("{} ({}, …)", names.len(), names[..SHOWN].join(", ")),
    }
}

/// What a solver's file holds, as JSON.
pub fn json(model: &SolverModel, file: &str, size: u64) -> Result<Value> {
    let mut value = serde_json::to_value(model.record())?;
    let weights = model.weights();
    let more = json!({
        "file": file,
        "bytes": size,
        "problem_name": model.record().problem.name(),
        "dimension": weights.dim,
        "x_dimension": weights.x_dim,
        "x_range": weights.x_range,
        "tool": model.record().training.chosen.tool.name(),
        "steps": weights.steps,
        "exact": weights.exact,
        "constraints": weights.rows,
        "watched": weights.watched.len(),
    });
    if let (Value::Object(fields), Value::Object(more)) = (&mut value, more) {
        fields.extend(more);
    }
    Ok(value)
}

/// A relative gap in per cent; what rounding leaves is none.
fn gap(gap: f64) -> String {
    match 100.0 * gap {
        percent if percent.abs() < 1e-10 => "0 %".to_owned(),
        percent => format!("{} %", number(percent)),
    }
}

/// What a training learned from.
pub(crate) fn learned_from(model: &SolverModel) -> String {
    let training = &model.record().training;
    match training.labels {
        0 => "membership tests and the objective".to_owned(),
        labels => format!(
            "{} optima with {} active sets",
            count(labels),
            count(training.active_sets)
        ),
    }
}

/// The chosen tool, and what the other one measured.
pub(crate) fn tool(model: &SolverModel) -> String {
    let training = &model.record().training;
    let chosen = &training.chosen;
    let figures = |one: &Measured| {
        format!(
            "mean gap {}, worst {}, {} of {} answers not feasible",
            gap(one.mean_gap),
            gap(one.worst_gap),
            count(one.failed),
            count(one.tested)
        )
    };
    let other = training
        .candidates
        .iter()
        .find(|one| one.tool != chosen.tool);
    match other {
        None => format!("{}: {}", chosen.tool.name(), figures(chosen)),
        Some(other) => format!(
            "{}: {}\nnot {}: {}",
            chosen.tool.name(),
            figures(chosen),
            other.tool.name(),
            figures(other)
        ),
    }
}

/// The steps of an answer, and what they were chosen by.
pub(crate) fn steps(model: &SolverModel) -> String {
    let chosen = &model.record().training.chosen;
    if let Some(proposer) = &model.weights().proposer {
        let heads = proposer.network.outputs() / model.weights().dim;
        let known = match proposer.known.nearest {
            0 => String::new(),
            nearest => format!(", and {nearest} known answers nearby"),
        };
        return format!(
            "{heads} points of a network, brought to the set{known}; the best is improved, with {} membership \
             tests in all",
            count(heads + proposer.tests)
        );
    }
    if model.weights().exact {
        return "one, which is exact for a quadratic program".to_owned();
    }
    let starts = match model.weights().others.len() {
        0 => String::new(),
        others => format!(" from each of {} starts", 1 + others),
    };
    format!(
        "{}{starts} per answer, the fewest of {} candidates within the goal, {}",
        chosen.steps,
        model.record().training.candidates.len(),
        gap(model.record().settings.goal)
    )
}

/// What falls short, and what to try.
pub fn warnings(model: &SolverModel) -> Vec<String> {
    let record = model.record();
    let mut warnings = Vec::new();
    // The learned tool needs no optima.
    if record.training.without_label > 0 && model.weights().proposer.is_none() {
        let without = record.training.without_label;
        let all = record.training.labels + record.training.chosen.tested + without;
        warnings.push(format!(
            "no optimum was found at {} of {} x in training; narrow the region of x, or check the constraints \
             there",
            count(without),
            count(all)
        ));
    }
    let Some(certificate) = &record.certificate else {
        return warnings;
    };
    let infeasible = certificate.samples - certificate.feasible;
    if infeasible > 0 {
        let advice = match &model.weights().proposer {
            Some(_) => {
                "train without --quick, or with a larger --setting network_steps=N".to_owned()
            }
            None => format!(
                "try --setting labels=N with more than {} labels",
                record.training.labels
            ),
        };
        warnings.push(format!(
            "{} of {} answers are not feasible; `fabproj solve` marks such answers; if these x have feasible \
             points, {advice}",
            count(infeasible),
            count(certificate.samples)
        ));
    }
    if model.weights().proposer.is_some() {
        return warnings;
    }
    let goal = record.settings.goal;
    if certificate.worst > goal.max(1e-9) {
        warnings.push(format!(
            "the worst gap, {}, is above the goal, {}; try --setting max_steps=N with more than {} steps; where \
             a problem has several local optima, steps do not help: split it",
            gap(certificate.worst),
            gap(goal),
            record.settings.max_steps
        ));
    }
    warnings
}
