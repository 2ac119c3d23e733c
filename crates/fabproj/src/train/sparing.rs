//! Training with a limited number of membership queries, for expensive sets.
//!
//! Some queries go to inputs of interest, most of them to bisections of the boundary. A discriminator learns
//! the set from these points and answers instead of the set while the charts are trained.

use fabproj_core::{Anchor, Membership, Weights};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::error::TrainError;
use super::labelled::LabelledSettings;
use super::purpose::Purpose;
use super::search::{self, Summary};
use super::session::{Event, Session};
use super::settings::Settings;
use crate::data::PoolError;
use crate::data::labelled::{LabelledData, LabelledError};
use crate::set::{Description, Interval, Learned, Set};

/// Share of the queries that go to inputs of interest, wherever they are.
const EVERYWHERE: f64 = 0.3;
/// Share of the queries after which walks from feasible points stop, where these are rare.
const WALKS: f64 = 0.4;
/// Share of the queries that is left for testing anchors.
const ANCHORS: f64 = 0.01;
/// Halvings between a feasible and an infeasible point. More would add little information.
const HALVINGS: usize = 8;

/// Trains with at most `queries` membership queries.
pub(super) fn train_sparingly(
    set: &dyn Set,
    settings: &Settings,
    queries: u64,
    session: &Session,
) -> Result<(Weights, Summary), TrainError> {
    let seed = settings.seed;
    session.emit(&Event::Stage {
        name: "asking the set",
    });
    let gathered = Gathering::new(set, queries, Purpose::Queries.stream(seed)).gather()?;
    let fraction = gathered.fraction();
    let data = gathered.data()?;
    let learned = data.learn("set", &LabelledSettings::default(), seed, session)?;
    let unlimited = Settings {
        max_queries: None,
        ..settings.clone()
    };
    let guess = Guess {
        set,
        learned: &learned,
    };
    let (mut weights, mut summary) = search::train(&guess, &unlimited, session)?;
    let tested = weights.anchors.len() as u64;
    let mut verified = verified(set, &weights.anchors).into_iter();
    weights.anchors.retain(|_| verified.next() == Some(true));
    if weights.anchors.is_empty() {
        weights.anchors = known_points(&weights, &data, settings.anchors);
    }
    summary.feasible_fraction = fraction;
    summary.queries = data.rows() as u64 + tested;
    summary.calibration = Some(learned.record().calibration);
    Ok((weights, summary))
}

fn verified(set: &dyn Set, anchors: &[Anchor]) -> Vec<bool> {
    let wide = |of: fn(&Anchor) -> &[f32]| -> Vec<f64> {
        let values = anchors.iter().flat_map(of);
        values.map(|value| f64::from(*value)).collect()
    };
    let mut verified = vec![false; anchors.len()];
    set.contains_rows(
        &wide(|anchor| &anchor.point),
        &wide(|anchor| &anchor.x),
        &mut verified,
    );
    verified
}

/// Feasible points that were asked about, as anchors without a latent that leads to them.
fn known_points(weights: &Weights, data: &LabelledData, count: usize) -> Vec<Anchor> {
    let narrow = |values: &[f64]| values.iter().map(|v| *v as f32).collect::<Vec<_>>();
    let feasible = (0..data.rows()).filter(|row| data.labels()[*row]);
    let anchor = |row: usize| Anchor {
        chart: 0,
        latent: vec![0.0; weights.charts[0].encoder.outputs()],
        x: narrow(data.x(row)),
        point: narrow(data.y(row)),
    };
    feasible.take(count).map(anchor).collect()
}

/// The set with the membership test of its discriminator.
struct Guess<'a> {
    set: &'a dyn Set,
    learned: &'a Learned,
}

impl Membership for Guess<'_> {
    fn contains(&self, y: &[f64], x: &[f64]) -> bool {
        self.learned.contains(y, x)
    }

    fn contains_rows(&self, y: &[f64], x: &[f64], inside: &mut [bool]) {
        self.learned.contains_rows(y, x, inside);
    }
}

impl Set for Guess<'_> {
    fn dim(&self) -> usize {
        self.set.dim()
    }

    fn x_dim(&self) -> usize {
        self.set.x_dim()
    }

    fn bounds(&self) -> Vec<Interval> {
        self.set.bounds()
    }

    fn draw_input(&self, x: &[f64], uniform: &mut dyn FnMut() -> f64, y: &mut [f64]) {
        self.set.draw_input(x, uniform, y);
    }

    fn x_bounds(&self) -> Vec<Interval> {
        self.set.x_bounds()
    }

    fn description(&self) -> Description {
        self.set.description()
    }
}

/// Points that the set has labelled.
struct Gathering<'a> {
    set: &'a dyn Set,
    /// The largest number of points.
    most: usize,
    y: Vec<f64>,
    x: Vec<f64>,
    labels: Vec<bool>,
    /// How many of the first were inputs of interest.
    inputs: usize,
    rng: ChaCha8Rng,
}

impl<'a> Gathering<'a> {
    fn new(set: &'a dyn Set, queries: u64, rng: ChaCha8Rng) -> Self {
        Self {
            set,
            most: ((1.0 - ANCHORS) * queries as f64) as usize,
            y: Vec::new(),
            x: Vec::new(),
            labels: Vec::new(),
            inputs: 0,
            rng,
        }
    }

    fn gather(mut self) -> Result<Self, PoolError> {
        let share = |share: f64| (share * self.most as f64) as usize;
        let (everywhere, walks) = (share(EVERYWHERE), share(WALKS));
        for _ in 0..everywhere {
            let x = self.draw_x();
            let y = self.draw_input(&x);
            self.y.extend(y);
            self.x.extend(x);
        }
        self.labels.resize(everywhere, false);
        self.set.contains_rows(&self.y, &self.x, &mut self.labels);
        self.inputs = self.labels.len();
        let found = self.labels.iter().filter(|label| **label).count();
        let drawn = self.inputs as u64;
        if found == 0 {
            return Err(PoolError::TooFewFeasible { found, drawn });
        }
        if found == self.inputs {
            return Err(PoolError::NothingInfeasible { drawn });
        }
        while self.labels.len() < walks && self.rare() {
            self.walk();
        }
        while self.labels.len() < self.most {
            self.bisect();
        }
        Ok(self)
    }

    /// Share of feasible inputs of interest.
    fn fraction(&self) -> f64 {
        let inputs = &self.labels[..self.inputs];
        inputs.iter().filter(|label| **label).count() as f64 / self.inputs.max(1) as f64
    }

    /// Whether feasible points are fewer than a tenth.
    fn rare(&self) -> bool {
        10 * self.labels.iter().filter(|label| **label).count() < self.labels.len()
    }

    fn data(self) -> Result<LabelledData, LabelledError> {
        LabelledData::new(
            self.set.names(),
            self.y,
            self.set.x_names(),
            self.x,
            self.labels,
        )
    }

    fn ask(&mut self, y: &[f64], x: &[f64]) -> bool {
        let label = self.set.contains(y, x);
        self.y.extend_from_slice(y);
        self.x.extend_from_slice(x);
        self.labels.push(label);
        label
    }

    fn draw_x(&mut self) -> Vec<f64> {
        let bounds = self.set.x_bounds().into_iter();
        bounds
            .map(|(low, high)| low + (high - low) * self.rng.random::<f64>())
            .collect()
    }

    fn draw_input(&mut self, x: &[f64]) -> Vec<f64> {
        let mut y = vec![0.0; self.set.dim()];
        let rng = &mut self.rng;
        self.set.draw_input(x, &mut || rng.random::<f64>(), &mut y);
        y
    }

    /// A random point with the given label, and its x.
    fn pick(&mut self, label: bool) -> (Vec<f64>, Vec<f64>) {
        let (dim, x_dim) = (self.set.dim(), self.set.x_dim());
        loop {
            let row = self.rng.random_range(0..self.labels.len());
            if self.labels[row] == label {
                return (
                    self.y[row * dim..][..dim].to_vec(),
                    self.x[row * x_dim..][..x_dim].to_vec(),
                );
            }
        }
    }

    /// A step from a feasible point, a tenth of the bounds long at most.
    fn walk(&mut self) {
        let (mut y, x) = self.pick(true);
        let reach = 0.1 * self.rng.random::<f64>();
        for (value, (low, high)) in y.iter_mut().zip(self.set.bounds()) {
            *value += reach * (high - low) * self.rng.random_range(-1.0..1.0);
        }
        self.ask(&y, &x);
    }

    /// Halves the way between a feasible and an infeasible point.
    fn bisect(&mut self) {
        let (mut inside, x) = self.pick(true);
        let (mut outside, at) = self.pick(false);
        // An infeasible point of another x may be feasible at this one.
        if at != x && self.ask(&outside, &x) {
            return;
        }
        for _ in 0..HALVINGS {
            if self.labels.len() >= self.most {
                return;
            }
            let middle: Vec<f64> = inside
                .iter()
                .zip(&outside)
                .map(|(a, b)| 0.5 * (a + b))
                .collect();
            if self.ask(&middle, &x) {
                inside = middle;
            } else {
                outside = middle;
            }
        }
    }
}
