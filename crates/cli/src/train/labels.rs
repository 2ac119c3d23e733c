//! Labelled points in place of a set.

use std::panic;
use std::path::Path;
use std::process;

use anyhow::{Context, Result};
use fabproj::data::labelled::{self, Columns, LabelledData, LabelledError};
use fabproj::set::{Calibration, Learned, LearnedRecord};
use fabproj::train::{LabelledConfig, Session, learn_set};

use super::progress::Progress;
use crate::failure::wrong_usage;
use crate::options::Common;
use crate::show::{confidence, count, percent};

/// Steps of the discriminator in a quick training.
const QUICK_STEPS: u64 = 2500;
/// Fewer feasible points than this share are worth a word.
const RARE: f64 = 0.03;

/// What the columns of labelled points mean, and how sure their guard is to be.
#[derive(clap::Args)]
#[command(next_help_heading = "Labelled points")]
pub struct Labels {
    /// The column of labels: 1 for feasible, 0 or -1 for infeasible [default: label]
    #[arg(long, value_name = "NAME")]
    label: Option<String>,

    /// The columns of y, separated by commas [default: those named y and a number; if there are none,
    /// all that are nothing else]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    y: Vec<String>,

    /// The columns of the parameters x, separated by commas [default: those named x and a number]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    x: Vec<String>,

    /// Arrays X_all and feasible_mask (.npz): how many columns of X_all, from the left, are x
    #[arg(long, value_name = "N")]
    state_dim: Option<usize>,

    /// The share of truly feasible ones among the points that the guard accepts [default: 0.99]
    #[arg(long, value_name = "P")]
    guard_precision: Option<f64>,
}

/// Labelled points from a file.
pub struct Points {
    pub data: LabelledData,
    name: String,
}

impl Labels {
    /// The points, if the set is a file of them.
    pub fn read(&self, set: &str) -> Result<Option<Points>> {
        let path = Path::new(set);
        if !labelled::is_labelled_file(path) {
            return self.check_unused();
        }
        let usual = Columns::default();
        let columns = Columns {
            y: self.y.clone(),
            x: self.x.clone(),
            label: self.label.clone().unwrap_or(usual.label),
            state_dim: self.state_dim,
        };
        let data = read(path, &columns).with_context(|| format!("in {set}"))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        Ok(Some(Points {
            data,
            name: name.into_owned(),
        }))
    }

    fn check_unused(&self) -> Result<Option<Points>> {
        let used = [
            ("--label", self.label.is_some()),
            ("--y", !self.y.is_empty()),
            ("--x", !self.x.is_empty()),
            ("--state-dim", self.state_dim.is_some()),
            ("--guard-precision", self.guard_precision.is_some()),
        ];
        match used.iter().find(|(_, used)| *used) {
            None => Ok(None),
            Some((flag, _)) => Err(wrong_usage(format!(
                "{flag} is for labelled points, whose files end in .{}",
                labelled::ENDINGS.join(", .")
            ))),
        }
    }

    pub fn config(&self, quick: bool) -> Result<LabelledConfig> {
        let mut config = LabelledConfig::default();
        if quick {
            config.steps = QUICK_STEPS;
        }
        config.precision = self.guard_precision.unwrap_or(config.precision);
        config.validate().map_err(|error| {
            wrong_usage(format!("--guard-precision {}: {error}", config.precision))
        })?;
        Ok(config)
    }
}

/// The points of a file. Parquet's reader panics on some damaged ones, and the release build cannot unwind
/// to tell of it: then the program ends here.
fn read(path: &Path, columns: &Columns) -> Result<LabelledData, LabelledError> {
    let usual = panic::take_hook();
    let name = path.display().to_string();
    panic::set_hook(Box::new(move |_| {
        eprintln!("error: in {name}: the file is damaged: its parts contradict each other");
        process::exit(1);
    }));
    let data = labelled::read(path, columns);
    panic::set_hook(usual);
    data
}

impl Points {
    /// Learns what is feasible, and tells what the points held.
    pub fn learn(&self, config: &LabelledConfig, common: &Common) -> Result<Learned> {
        common.note(format_args!(
            "learning what is feasible from {} labelled points",
            count(self.data.rows())
        ));
        let progress = Progress::new(common.quiet);
        let session = Session {
            observers: vec![&progress],
            ..Session::default()
        };
        let learned = learn_set(&self.name, &self.data, config, common.seed, &session);
        progress.finish();
        Ok(learned?)
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
         points were, {} of the {} that only just passed; it accepts {} of the feasible ones",
        percent(calibration.precision_lower_bound),
        confidence(calibration.confidence),
        count(calibration.accepted_feasible),
        count(calibration.accepted),
        count(calibration.edge_feasible),
        count(calibration.edge),
        percent(calibration.recall()),
    )
}

/// What is not good about the points, and what to try.
pub fn warnings(record: &LearnedRecord) -> Vec<String> {
    let (points, calibration) = (&record.points, &record.calibration);
    let mut warnings = Vec::new();
    for column in &points.constant {
        warnings.push(format!(
            "column `{column}` has the same value in every row: it was left out, and the model does not \
             change it"
        ));
    }
    if points.contradictory > 0 {
        warnings.push(format!(
            "{} rows contradict each other (the same numbers with both labels) and were left out; check \
             how they were labelled, or whether a parameter is missing",
            count(points.contradictory)
        ));
    }
    if points.feasible_share() < RARE {
        warnings.push(format!(
            "only {} of the points are feasible; more of them near the feasible ones would help",
            percent(points.feasible_share())
        ));
    }
    if calibration.precision_lower_bound < calibration.target {
        warnings.push(format!(
            "the guard promises {}, not the {} that was asked for: {} held-out points passed it, {} of \
             them feasible; label more points, above all near the boundary",
            percent(calibration.precision_lower_bound),
            percent(calibration.target),
            count(calibration.accepted),
            count(calibration.accepted_feasible),
        ));
    }
    if calibration.recall() < 0.8 {
        warnings.push(format!(
            "to be that sure, the guard refuses {} of the feasible held-out points: the model covers the \
             rest; label more points near the boundary, or lower --guard-precision",
            percent(1.0 - calibration.recall())
        ));
    }
    warnings
}
