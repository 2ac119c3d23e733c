//! Labelled points in place of a set.

use std::path::Path;

use anyhow::{Context, Result};
use fabproj::set::{
    Calibration, Columns, LabelledData, LabelledSettings, LearnedRecord, is_labelled_file,
};

use crate::failure::{missing_feature, wrong_usage};
use crate::show::{confidence, count, percent};

/// Steps of the discriminator in a quick training.
const QUICK_STEPS: u64 = 2500;
/// A smaller share of feasible points is worth a warning.
const RARE: f64 = 0.03;

/// The columns of labelled points, and the precision of their guard.
#[derive(clap::Args)]
#[command(next_help_heading = "Labelled points")]
pub struct Labels {
    /// The column of labels: 1 for feasible, 0 or -1 for infeasible [default: label]
    #[arg(long, value_name = "NAME")]
    label: Option<String>,

    /// The columns of y, separated by commas [default: those named y and a number; if there are none,
    /// all others]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    y: Vec<String>,

    /// The columns of x, separated by commas [default: those named x and a number]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    x: Vec<String>,

    /// Arrays X_all and feasible_mask (.npz): how many columns of X_all, from the left, are x
    #[arg(long, value_name = "N")]
    state_dim: Option<usize>,

    /// The share of truly feasible points among those that the guard accepts [default: 0.99]
    #[arg(long, value_name = "P")]
    guard_precision: Option<f64>,
}

impl Labels {
    /// The points, if the set is a file of them.
    pub fn read(&self, set: &str) -> Result<Option<LabelledData>> {
        let path = Path::new(set);
        if !is_labelled_file(path) {
            return self.check_unused().map(|()| None);
        }
        if cfg!(not(feature = "parquet")) && set.to_lowercase().ends_with(".parquet") {
            return Err(missing_feature(format!("{set}: Parquet files")));
        }
        let columns = Columns {
            y: self.y.clone(),
            x: self.x.clone(),
            label: self.label.clone().unwrap_or(Columns::default().label),
            state_dim: self.state_dim,
        };
        let data = LabelledData::read(path, &columns).with_context(|| format!("in {set}"))?;
        Ok(Some(data))
    }

    /// Refuses options of labelled points.
    pub fn check_unused(&self) -> Result<()> {
        let used = [
            ("--label", self.label.is_some()),
            ("--y", !self.y.is_empty()),
            ("--x", !self.x.is_empty()),
            ("--state-dim", self.state_dim.is_some()),
            ("--guard-precision", self.guard_precision.is_some()),
        ];
        match used.iter().find(|(_, used)| *used) {
            None => Ok(()),
            Some((flag, _)) => Err(wrong_usage(format!(
                "{flag} is for labelled points (.csv, .npz, .parquet)"
            ))),
        }
    }

    /// The settings of learning the set.
    pub fn settings(&self, quick: bool) -> Result<LabelledSettings> {
        let mut settings = LabelledSettings::default();
        if quick {
            settings.steps = QUICK_STEPS;
        }
        settings.precision = self.guard_precision.unwrap_or(settings.precision);
        settings.validate().map_err(|error| {
            wrong_usage(format!("--guard-precision {}: {error}", settings.precision))
        })?;
        Ok(settings)
    }
}

/// The points in one line of a table.
pub fn points(record: &LearnedRecord) -> String {
    let points = &record.points;
    let mut text = format!(
        "{} used, {} of them feasible",
        count(points.used),
        percent(points.feasible_share())
    );
    let left_out = [
        (points.duplicates, "repeated"),
        (points.contradictory, "contradictory"),
    ];
    for (rows, what) in left_out {
        if rows > 0 {
            text += &format!("; {} {what} left out", count(rows));
        }
    }
    text
}

/// What the guard promises.
pub fn promise(calibration: &Calibration) -> String {
    format!(
        "statistical: at least {} of what it accepts is feasible ({} sure); {} of {} accepted held-out \
         points were, {} of the {} with the lowest scores; it accepts {} of the feasible ones",
        percent(calibration.precision_lower_bound),
        confidence(calibration.confidence),
        count(calibration.accepted_feasible),
        count(calibration.accepted),
        count(calibration.edge_feasible),
        count(calibration.edge),
        percent(calibration.recall()),
    )
}

/// What is wrong with the points, and what to try.
pub fn warnings(record: &LearnedRecord) -> Vec<String> {
    let (points, calibration) = (&record.points, &record.calibration);
    let mut warnings = Vec::new();
    for column in &points.constant {
        warnings.push(format!(
            "column `{column}` has the same value in every row; it was left out, and the model does not \
             change it"
        ));
    }
    if points.contradictory > 0 {
        warnings.push(format!(
            "{} rows contradict each other (the same numbers with both labels) and were left out; check \
             their labels, or whether a column of x is missing",
            count(points.contradictory)
        ));
    }
    if points.feasible_share() < RARE {
        warnings.push(format!(
            "only {} of the points are feasible; add points near the feasible ones",
            percent(points.feasible_share())
        ));
    }
    if calibration.precision_lower_bound < calibration.target {
        warnings.push(format!(
            "the guard promises a precision of {}, not {}: it accepted {} held-out points, {} of them \
             feasible; label more points, above all near the boundary",
            percent(calibration.precision_lower_bound),
            percent(calibration.target),
            count(calibration.accepted),
            count(calibration.accepted_feasible),
        ));
    }
    if calibration.recall() < 0.8 {
        warnings.push(format!(
            "for this precision the guard rejects {} of the feasible held-out points; label more points near \
             the boundary, or lower --guard-precision",
            percent(1.0 - calibration.recall())
        ));
    }
    warnings
}
