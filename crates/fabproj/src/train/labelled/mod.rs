//! Learning a set from labelled points alone.
//!
//! The rows are split in three. The first part trains a discriminator. The second chooses the best step and
//! the threshold above which a point is accepted. The third measures how often an accepted point is
//! feasible. `docs/labelled-data.md` describes it.

mod calibrate;
mod classifier;
mod split;

use fabproj_core::Frame;
use serde::{Deserialize, Serialize};

pub(crate) use self::calibrate::{Held, calibrate, choose_threshold};
use self::classifier::{Classifier, Rows};
use self::split::Split;
use super::TrainError;
use super::purpose::Purpose;
use super::session::{Event, Session};
use super::settings::check;
use crate::data::labelled::{LabelReport, LabelledData};
use crate::set::{Description, Discriminator, Interval, Learned, LearnedRecord, Scorer};

/// Settings of learning a set from labelled points.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct LabelledSettings {
    /// The share of accepted points that are to be feasible. Default 0.99.
    pub precision: f64,
    /// The probability with which the stated bound of that share holds. Default 0.99.
    pub confidence: f64,
    /// Width of the discriminator's hidden layers. Default 64.
    pub width: usize,
    /// Number of its hidden layers. Default 3.
    pub depth: usize,
    /// Steps of its training. Default 6000.
    pub steps: u64,
    /// Rows per step. Default 512.
    pub rows: usize,
    /// Learning rate at its peak. Default 0.003.
    pub learning_rate: f32,
}

impl Default for LabelledSettings {
    fn default() -> Self {
        Self {
            precision: 0.99,
            confidence: 0.99,
            width: 64,
            depth: 3,
            steps: 6000,
            rows: 512,
            learning_rate: 3e-3,
        }
    }
}

impl LabelledSettings {
    /// Checks every setting.
    ///
    /// # Errors
    /// [`TrainError::Setting`], which names the setting, its value and its range.
    pub fn validate(&self) -> Result<(), TrainError> {
        check("precision", self.precision, 0.5, 0.999_99)?;
        check("confidence", self.confidence, 0.5, 0.999_999)?;
        check("width", self.width as f64, 1.0, 4096.0)?;
        check("depth", self.depth as f64, 0.0, 32.0)?;
        check("steps", self.steps as f64, 1.0, 1e9)?;
        check("rows", self.rows as f64, 8.0, 65_536.0)?;
        check("learning-rate", f64::from(self.learning_rate), 1e-9, 1.0)
    }
}

impl LabelledData {
    /// Learns a set from the points. They are [cleaned](Self::clean) first.
    ///
    /// # Errors
    /// [`TrainError`] when the settings are out of range or the session stops.
    ///
    /// ```
    /// use fabproj::set::{LabelledData, LabelledSettings};
    /// use fabproj::{Membership, Session};
    ///
    /// // The interval from 0 to 1, known by points at every hundredth.
    /// let points: Vec<f64> = (-100..200).map(|i| f64::from(i) / 100.0).collect();
    /// let labels: Vec<bool> = points.iter().map(|y| (0.0..=1.0).contains(y)).collect();
    /// let data = LabelledData::new(vec!["y".into()], points, Vec::new(), Vec::new(), labels)?;
    /// let settings = LabelledSettings { steps: 500, ..LabelledSettings::default() };
    /// let set = data.learn("interval", &settings, 1, &Session::default())?;
    /// assert!(set.contains(&[0.5], &[]) && !set.contains(&[1.4], &[]));
    /// let calibration = set.record().calibration;
    /// assert!(calibration.precision_lower_bound > 0.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn learn(
        &self,
        name: &str,
        settings: &LabelledSettings,
        seed: u64,
        session: &Session,
    ) -> Result<Learned, TrainError> {
        settings.validate()?;
        session.emit(&Event::Stage {
            name: "learning the set from its points",
        });
        let (data, report) = self.clean()?;
        let split = Split::new(&data, &mut Purpose::LabelSplit.stream(seed));
        let region = Region::of(&data);
        let rows = Rows::new(&data, &region.frame, &region.x_frame);
        let mut classifier = Classifier::new(&rows, settings, Purpose::Discriminator.stream(seed))?;
        classifier.train(&rows, &split, &region.near(&data), session)?;
        let mut discriminator = Discriminator {
            network: classifier.network(),
            frame: region.frame.clone(),
            x_frame: region.x_frame.clone(),
        };
        let scorer = Scorer::new(&discriminator)?;
        let held = |part: &[usize]| -> Vec<Held> {
            let held = part.iter().map(|row| Held {
                score: region.score(&scorer, &data, *row),
                feasible: data.labels()[*row],
            });
            held.collect()
        };
        let threshold = choose_threshold(
            &held(&split.choosing),
            settings.precision,
            settings.confidence,
        )
        .max(region.score_inside(&scorer, &data, &split.training));
        let calibration = calibrate(
            &held(&split.stating),
            threshold,
            settings.precision,
            settings.confidence,
        );
        // From here on the threshold is zero.
        if let Some(layer) = discriminator.network.layers.last_mut() {
            layer.bias.iter_mut().for_each(|bias| *bias -= threshold);
        }
        let description = Description::Labelled {
            name: name.to_owned(),
            rows: report.rows,
            hash: data.hash(),
        };
        let names = (data.names().to_vec(), data.x_names().to_vec());
        let record = region.record(report, calibration);
        Ok(Learned::new(description, names, record, discriminator)?)
    }
}

/// Where the points are.
struct Region {
    bounds: Vec<Interval>,
    x_bounds: Vec<Interval>,
    feasible_box: Vec<Interval>,
    /// Units in which the feasible box is [-1, 1], and so is the box of x.
    frame: Frame,
    x_frame: Frame,
}

/// How far inside the boundary between the labels a point is at least to be accepted, in spacings of the
/// rows; and at most, in half-widths of the feasible box. Between rows of different labels the boundary
/// may be anywhere, and projections end up on the guess of it.
const MARGIN: f64 = 0.35;
const LARGEST_MARGIN: f64 = 0.03;
/// Rows at the boundary at which the score's slope is measured.
const SLOPES: usize = 200;

/// Rows up to this many half-widths from the middle of the feasible box are trained on.
const NEAR: f64 = 1.25;

impl Region {
    fn of(data: &LabelledData) -> Self {
        let rows = || 0..data.rows();
        let feasible = rows().filter(|row| data.labels()[*row]);
        let feasible_box = extent(feasible.map(|row| data.y(row)), data.dim());
        let bounds = extent(rows().map(|row| data.y(row)), data.dim());
        let x_bounds = extent(rows().map(|row| data.x(row)), data.x_dim());
        Self {
            frame: frame(&feasible_box, &bounds),
            x_frame: frame(&x_bounds, &x_bounds),
            bounds,
            x_bounds,
            feasible_box,
        }
    }

    /// Whether each row is near enough to the feasible ones to train on: about all others the box
    /// alone decides.
    fn near(&self, data: &LabelledData) -> Vec<bool> {
        let near = |row: usize| {
            let mut inner = data
                .y(row)
                .iter()
                .zip(&self.frame.centre)
                .zip(&self.frame.scale);
            inner.all(|((y, centre), scale)| {
                (y - f64::from(*centre)).abs() <= NEAR * f64::from(*scale)
            })
        };
        (0..data.rows()).map(near).collect()
    }

    /// The score of a row; −∞ outside the feasible box.
    fn score(&self, scorer: &Scorer, data: &LabelledData, row: usize) -> f32 {
        let mut boxed = data.y(row).iter().zip(&self.feasible_box);
        if boxed.all(|(y, (low, high))| y >= low && y <= high) {
            scorer.score(data.y(row), data.x(row))
        } else {
            f32::NEG_INFINITY
        }
    }

    /// The score at the margin inside the boundary, by the slope of the score there.
    fn score_inside(&self, scorer: &Scorer, data: &LabelledData, rows: &[usize]) -> f32 {
        let scores = rows
            .iter()
            .map(|row| (self.score(scorer, data, *row), *row));
        let mut scores: Vec<(f32, usize)> = scores.filter(|(score, _)| score.is_finite()).collect();
        let dim = data.dim() + data.x_dim();
        let spacing = 2.0 * (scores.len().max(1) as f64).powf(-1.0 / dim as f64);
        scores.sort_by(|a, b| a.0.abs().total_cmp(&b.0.abs()));
        let nearest = scores.iter().take(SLOPES);
        let mut slopes: Vec<f64> = nearest
            .map(|(_, row)| self.slope(scorer, data, *row))
            .collect();
        slopes.sort_by(f64::total_cmp);
        let slope = slopes.get(slopes.len() / 2).copied().unwrap_or(0.0);
        (slope * (MARGIN * spacing).min(LARGEST_MARGIN)) as f32
    }

    /// How fast the score changes with y at a row, per half-width of the feasible box.
    fn slope(&self, scorer: &Scorer, data: &LabelledData, row: usize) -> f64 {
        const STEP: f64 = 1e-2;
        let mut y = data.y(row).to_vec();
        let mut square = 0.0;
        for (j, scale) in self.frame.scale.iter().enumerate() {
            let (here, step) = (y[j], STEP * f64::from(*scale));
            let mut moved = |to: f64| {
                y[j] = to;
                f64::from(scorer.score(&y, data.x(row)))
            };
            let slope = (moved(here + step) - moved(here - step)) / (2.0 * STEP);
            moved(here);
            square += slope * slope;
        }
        square.sqrt()
    }

    fn record(self, points: LabelReport, calibration: crate::set::Calibration) -> LearnedRecord {
        LearnedRecord {
            points,
            bounds: self.bounds,
            x_bounds: self.x_bounds,
            feasible_box: self.feasible_box,
            calibration,
        }
    }
}

/// The smallest box that holds all rows.
fn extent<'a>(rows: impl Iterator<Item = &'a [f64]>, dim: usize) -> Vec<Interval> {
    let mut bounds = vec![(f64::INFINITY, f64::NEG_INFINITY); dim];
    for row in rows {
        for ((low, high), value) in bounds.iter_mut().zip(row) {
            *low = low.min(*value);
            *high = high.max(*value);
        }
    }
    bounds
}

/// Units in which each interval is [-1, 1]; where one is a single point, those of the other.
fn frame(intervals: &[Interval], otherwise: &[Interval]) -> Frame {
    let half = |(low, high): &Interval| 0.5 * (high - low);
    let scale = intervals
        .iter()
        .zip(otherwise)
        .map(|(interval, otherwise)| {
            let narrow = half(interval) as f32;
            if narrow > 0.0 {
                narrow
            } else {
                (half(otherwise) as f32).max(f32::MIN_POSITIVE)
            }
        });
    Frame {
        centre: intervals
            .iter()
            .map(|(low, high)| (0.5 * (low + high)) as f32)
            .collect(),
        scale: scale.collect(),
    }
}
