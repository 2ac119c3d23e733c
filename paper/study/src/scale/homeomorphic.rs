//! Homeomorphic Projection as a peer: bisection in the coordinates of an invertible network that depends on x.
//!
//! "Low Complexity Homeomorphic Projection to Ensure Neural-Network Solution Feasibility for Optimization over
//! (Non-)Convex Set", Liang, Chen and Low, ICML 2023. A network predicts with a penalty on the violation. Without
//! labels, an invertible network Φ(·; x) is trained to map the unit ball onto the set along the equations. An
//! infeasible prediction is moved from Φ(w; x) to Φ(α w; x) with the largest feasible α that bisection finds; if
//! there is none, the answer is Φ(0; x), feasible or not. Differently from the paper, equations hold throughout,
//! couplings take the place of masked networks, whose inverse takes a pass for each coordinate, and the penalty is
//! on the violations' length instead of their sum.

use fabproj_nn::Cosine;
use fabproj_nn::random::stream;
use rand_chacha::ChaCha8Rng;
use serde::Serialize;

use super::instance::Instance;
use super::linear::{add, dot};
use super::map::{Map, Work};
use super::net::{Net, NetSettings};
use crate::method::homeomorphic::{Mapping, Weights, ball, bisect};
use crate::{Context, StudyError};

/// The stream of Φ's random numbers, beside the prediction's.
const STREAM: u64 = 41;

/// How it is trained and answers.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct HomeomorphicSettings {
    predictor: NetSettings,
    blocks: usize,
    hidden: Vec<usize>,
    steps: u64,
    rows: usize,
    rate: f32,
    /// Weight of violations, against the volume's logarithm for each dimension.
    penalty: f64,
    /// Weight of unequal log-scales.
    distortion: f64,
    /// |y_i| of images at most, where the problem has no bounds: such sets have no largest image. The paper's
    /// problems have bounds of 5.
    reach: f64,
    halvings: usize,
}

impl HomeomorphicSettings {
    pub(super) fn new(steps: u64) -> Self {
        Self {
            predictor: NetSettings::penalised(steps),
            blocks: 3,
            hidden: vec![64],
            steps: steps / 2,
            rows: 128,
            rate: 1e-3,
            penalty: 10.0,
            distortion: 1.0,
            reach: 5.0,
            halvings: 20,
        }
    }
}

/// A trained prediction with Φ.
pub(super) struct Homeomorphic<'a> {
    net: Net<'a>,
    inner: Inner,
}

/// Φ with memory for answers.
struct Inner {
    mapping: Mapping,
    halvings: usize,
    /// The part of x that the set depends on.
    x: Vec<f32>,
    target: Vec<f32>,
    trial: Vec<f32>,
    image: Vec<f64>,
}

impl<'a> Homeomorphic<'a> {
    pub(super) fn train(
        instance: &'a Instance,
        settings: &HomeomorphicSettings,
        seed: u64,
        context: &Context<'_>,
    ) -> Result<Self, StudyError> {
        let net = Net::train(instance, &settings.predictor, seed, context)?;
        let mut random = stream(seed, STREAM);
        let mapping = learn(&net.map(), settings, &mut random, context)?;
        let inner = Inner {
            mapping,
            halvings: settings.halvings,
            x: Vec::new(),
            target: Vec::new(),
            trial: Vec::new(),
            image: vec![0.0; instance.dim()],
        };
        Ok(Self { net, inner })
    }

    /// Answers rows of x: the prediction for all at once, then the bisection row by row.
    pub(super) fn answer_rows(&mut self, x: &[f64], rows: usize, y: &mut [f64]) {
        let inner = &mut self.inner;
        self.net.answer_with(x, rows, y, |map, x, z, y, work| {
            map.answer(x, z, y, work);
            if map.worst_row(x, y, work).is_some() {
                inner.pull_in(map, x, z, y, work);
            }
        });
    }
}

impl Inner {
    /// Writes the last feasible point of the way from Φ(0; x) to z to y.
    fn pull_in(&mut self, map: &Map<'_>, x: &[f64], z: &[f32], y: &mut [f64], work: &mut Work) {
        self.x.clear();
        self.x.extend(shaping(map, x).iter().map(|x| *x as f32));
        self.mapping.given(&self.x);
        self.target.clear();
        self.target.extend_from_slice(z);
        self.mapping.invert(&mut self.target);
        let mut image = std::mem::take(&mut self.image);
        self.feasible(map, x, 0.0, y, work);
        bisect(self.halvings, 0.0, |share| {
            let feasible = self.feasible(map, x, share, &mut image, work);
            if feasible {
                y.copy_from_slice(&image);
            }
            feasible
        });
        self.image = image;
    }

    /// Writes the y of Φ(share · target; x); whether it is feasible.
    fn feasible(
        &mut self,
        map: &Map<'_>,
        x: &[f64],
        share: f32,
        y: &mut [f64],
        work: &mut Work,
    ) -> bool {
        self.trial.clear();
        self.trial
            .extend(self.target.iter().map(|target| share * target));
        map.answer(x, self.mapping.forward(&self.trial), y, work);
        map.worst_row(x, y, work).is_none()
    }
}

/// The part of x that the set depends on: a cost vector is not.
fn shaping<'x>(map: &Map<'_>, x: &'x [f64]) -> &'x [f64] {
    &x[..map.instance.equations()]
}

/// Trains Φ.
fn learn(
    map: &Map<'_>,
    settings: &HomeomorphicSettings,
    random: &mut ChaCha8Rng,
    context: &Context<'_>,
) -> Result<Mapping, StudyError> {
    let (instance, free) = (map.instance, map.along.directions.len());
    let sizes = [free, instance.equations()];
    let mut mapping = Mapping::conditional(sizes, settings.blocks, &settings.hidden, random)?;
    let mut optimisers = mapping.optimisers();
    let mut work = Work::new(instance);
    let mut x = vec![0.0; settings.rows * instance.x_dim()];
    let schedule = Cosine {
        peak: settings.rate,
        end_fraction: 0.001,
        warm_up: settings.steps / 50,
        total: settings.steps,
    };
    for step in 0..settings.steps {
        context.check_stop()?;
        instance.draw_x(&mut x, random);
        let points = ball(free, settings.rows, random);
        let loss = differentiate(&mut mapping, map, settings, &x, &points, &mut work);
        if !loss.is_finite() {
            let what = "a peer's invertible network".to_owned();
            return Err(StudyError::Diverged { what, step });
        }
        mapping.descend(&mut optimisers, schedule.at(step));
    }
    Ok(mapping)
}

/// Φ's mean loss for rows of x and points of the ball; its layers keep the gradient.
fn differentiate(
    mapping: &mut Mapping,
    map: &Map<'_>,
    settings: &HomeomorphicSettings,
    x: &[f64],
    points: &[f32],
    work: &mut Work,
) -> f64 {
    let rows = x.chunks_exact(map.instance.x_dim());
    let given: Vec<f32> = rows
        .clone()
        .flat_map(|x| shaping(map, x).iter().map(|x| *x as f32))
        .collect();
    mapping.given(&given);
    let weights = Weights {
        penalty: settings.penalty,
        distortion: settings.distortion,
    };
    let free = map.along.directions.len();
    mapping.differentiate(points, weights, |images, gradient| {
        let each = images
            .chunks_exact(free)
            .zip(gradient.chunks_exact_mut(free));
        let lengths = rows.zip(each);
        lengths
            .map(|(x, (z, gradient))| outside(map, settings, x, z, gradient, work))
            .sum()
    })
}

/// The length of the violations at z, and its gradient.
fn outside(
    map: &Map<'_>,
    settings: &HomeomorphicSettings,
    x: &[f64],
    z: &[f32],
    gradient: &mut [f32],
    work: &mut Work,
) -> f64 {
    map.begin(x, z, work);
    let mut y = work.base.clone();
    add(&mut y, 1.0, &work.direction);
    let mut square = map.violation(x, &y, 0.0, work);
    if map.instance.bounds().is_empty() {
        for (slope, y) in work.other.iter_mut().zip(&y) {
            let beyond = (y.abs() - settings.reach).max(0.0);
            square += beyond * beyond;
            *slope += 2.0 * beyond * y.signum();
        }
    }
    let length = square.sqrt();
    let share = 0.5 / length.max(f64::MIN_POSITIVE);
    for (gradient, direction) in gradient.iter_mut().zip(&map.along.directions) {
        *gradient = (share * dot(direction, &work.other)) as f32;
    }
    length
}

#[cfg(test)]
mod tests {
    use super::super::catalogue::FAMILIES;
    use super::super::linear::Along;
    use super::super::repair::Repair;
    use super::*;
    use crate::Effort;

    fn settings() -> HomeomorphicSettings {
        HomeomorphicSettings {
            predictor: NetSettings::penalised(150),
            blocks: 2,
            hidden: vec![16],
            steps: 600,
            rate: 3e-3,
            ..HomeomorphicSettings::new(1)
        }
    }

    #[test]
    fn the_loss_is_differentiated_through_all_layers() {
        for entry in FAMILIES.iter().filter(|entry| entry.is_white_box()) {
            let instance = &entry.instance_of([7, 3, 4], 1);
            let family = instance.family.as_ref().unwrap();
            let along = Along::new(&family.a, &family.q);
            let map = Map {
                instance,
                along: &along,
                repair: Repair::Ray,
            };
            let mut random = stream(1, 0);
            let mapping = Mapping::conditional([4, 3], 1, &[5], &mut random).unwrap();
            let mut mapping = mapping.shake(true, &mut random);
            let mut x = vec![0.0; 6 * instance.x_dim()];
            instance.draw_x(&mut x, &mut random);
            // Outside, for the length of no violation is a kink.
            let mut points = ball(4, 6, &mut random);
            points.iter_mut().for_each(|value| *value *= 9.0);
            let settings = HomeomorphicSettings {
                penalty: 0.3,
                ..settings()
            };
            let mut work = Work::new(instance);
            mapping.check_gradient(entry.name, |mapping| {
                differentiate(mapping, &map, &settings, &x, &points, &mut work)
            });
        }
    }

    #[test]
    fn infeasible_predictions_are_pulled_to_the_boundary() {
        let context = Context::in_memory(Effort::quick());
        for entry in FAMILIES.iter().filter(|entry| entry.is_white_box()) {
            let instance = &entry.instance_of([12, 4, 6], 1);
            let mut trained = Homeomorphic::train(instance, &settings(), 1, &context).unwrap();
            let (mut y, mut raw) = (vec![0.0; 12], vec![0.0; 12]);
            let (mut pulled, mut inside) = (0, 0);
            for x in instance.test_x().take(100) {
                trained.answer_rows(x, 1, &mut y);
                trained.net.answer(x, &mut raw);
                let (_, outside, error) = instance.measure(&y, x);
                assert!(error < 1e-9);
                if instance.measure(&raw, x).1 <= 0.0 {
                    assert_eq!(y, raw);
                    continue;
                }
                pulled += 1;
                if outside <= 0.0 {
                    inside += 1;
                    assert!(outside > -0.1, "{}: {outside}", entry.name);
                }
            }
            assert!(pulled > 5, "{}: {pulled}", entry.name);
            assert!(
                inside * 10 >= pulled * 9,
                "{}: {inside} of {pulled}",
                entry.name
            );
        }
    }
}
