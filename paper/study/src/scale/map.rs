//! From the output of a peer's network to an answer, and back.

use super::correct::Corrector;
use super::instance::Instance;
use super::linear::{Along, add, dot};
use super::repair::Repair;
use super::seek::Seeker;

/// Memory of one answer.
pub(super) struct Work {
    pub(super) constraints: Vec<f64>,
    pub(super) memory: Vec<f64>,
    pub(super) weights: Vec<f64>,
    pub(super) base: Vec<f64>,
    pub(super) direction: Vec<f64>,
    /// ∇f
    pub(super) gradient: Vec<f64>,
    /// The gradient of something else.
    pub(super) other: Vec<f64>,
    /// How far along the ray the answer is, and the row that ends it.
    pub(super) reached: (f64, Option<usize>),
    /// dy_i/dz_i where the output is squashed.
    slopes: Vec<f64>,
    corrector: Corrector,
    seeker: Seeker,
}

impl Work {
    pub(super) fn new(instance: &Instance) -> Self {
        let (dim, functions) = (instance.dim(), instance.functions());
        Self {
            constraints: vec![0.0; functions.rows()],
            memory: vec![0.0; functions.memory()],
            weights: vec![0.0; functions.rows()],
            base: vec![0.0; dim],
            direction: vec![0.0; dim],
            gradient: vec![0.0; dim],
            other: vec![0.0; dim],
            reached: (1.0, None),
            slopes: vec![0.0; dim],
            corrector: Corrector::default(),
            seeker: Seeker::default(),
        }
    }
}

/// From z to y, and back.
pub(super) struct Map<'a> {
    pub(super) instance: &'a Instance,
    pub(super) along: &'a Along,
    pub(super) repair: Repair,
}

impl Map<'_> {
    pub(super) fn answer(&self, x: &[f64], z: &[f32], y: &mut [f64], work: &mut Work) {
        // What belongs to another x must not help or harm.
        work.memory.fill(0.0);
        self.begin(x, z, work);
        let mut share = 1.0;
        if self.repair == Repair::Ray {
            work.reached = self.reach(x, work);
            share = work.reached.0;
        }
        let ends = work.base.iter().zip(&work.direction);
        let pairs = y.iter_mut().zip(ends);
        pairs.for_each(|(y, (base, direction))| *y = base + share * direction);
        match self.repair {
            Repair::Ray | Repair::Later { .. } => {}
            Repair::Correction {
                steps,
                rate,
                momentum,
                ..
            } => {
                let mut corrector = std::mem::take(&mut work.corrector);
                corrector.correct(self, x, y, work, [rate, momentum], steps);
                work.corrector = corrector;
            }
            Repair::Seek { steps, margin, .. } => {
                let mut seeker = std::mem::take(&mut work.seeker);
                seeker.seek(self, x, y, work, steps, margin);
                work.seeker = seeker;
            }
        }
    }

    /// Base and direction. A network without equations has all of y as output, squashed between the bounds.
    pub(super) fn begin(&self, x: &[f64], z: &[f32], work: &mut Work) {
        let equations = self.instance.equations();
        if equations == 0 {
            let middle = self.instance.middle.iter().zip(self.instance.bounds());
            work.base.copy_from_slice(&self.instance.middle);
            let outputs = work.direction.iter_mut().zip(&mut work.slopes);
            for (((direction, slope), z), (middle, bounds)) in outputs.zip(z).zip(middle) {
                let (value, by_z) = squash(f64::from(*z), *middle, *bounds);
                (*direction, *slope) = (value - middle, by_z);
            }
            return;
        }
        let rows = self.along.anchor.chunks_exact(equations);
        for (base, row) in work.base.iter_mut().zip(rows) {
            *base = dot(row, &x[..equations]);
        }
        work.direction.fill(0.0);
        for (z, direction) in z.iter().zip(&self.along.directions) {
            add(&mut work.direction, f64::from(*z), direction);
        }
    }

    /// Σ max(c + margin, 0)²; its gradient in `other`, ∇f in `gradient`. Infinite where a value does not exist.
    pub(super) fn violation(&self, x: &[f64], y: &[f64], margin: f64, work: &mut Work) -> f64 {
        let functions = self.instance.functions();
        let objective = functions.values(y, x, &mut work.constraints, &mut work.memory);
        if !objective.is_finite() || work.constraints.iter().any(|value| value.is_nan()) {
            return f64::INFINITY;
        }
        let mut sum = 0.0;
        for (weight, value) in work.weights.iter_mut().zip(&work.constraints) {
            let outside = (value + margin).max(0.0);
            sum += outside * outside;
            *weight = 2.0 * outside;
        }
        let memory = &mut work.memory;
        functions.gradient(y, x, &work.weights, &mut work.other, memory);
        work.weights.fill(0.0);
        functions.gradient(y, x, &work.weights, &mut work.gradient, memory);
        add(&mut work.other, -1.0, &work.gradient);
        for ((other, y), (low, high)) in work.other.iter_mut().zip(y).zip(self.instance.bounds()) {
            let outside = (y - high + margin).max(0.0) - (low - y + margin).max(0.0);
            sum += outside * outside;
            *other += 2.0 * outside;
        }
        sum
    }

    /// penalty · ‖max(c, 0)‖; its gradient and ∇f in `gradient`.
    fn penalise(&self, x: &[f64], y: &[f64], penalty: f64, work: &mut Work) -> f64 {
        let length = self.violation(x, y, 0.0, work).sqrt();
        if length > 0.0 {
            let (gradient, other) = (&mut work.gradient, &work.other);
            add(gradient, 0.5 * penalty / length, other);
        }
        penalty * length
    }

    /// The loss, and its gradient with respect to z; none where the objective does not exist.
    pub(super) fn pull_back(
        &self,
        x: &[f64],
        y: &[f64],
        delta: &mut [f32],
        work: &mut Work,
    ) -> Option<f64> {
        let functions = self.instance.functions();
        let mut loss = functions.values(y, x, &mut work.constraints, &mut work.memory);
        if !loss.is_finite() {
            delta.fill(0.0);
            return None;
        }
        let mut scale = 1.0;
        match self.repair {
            Repair::Correction {
                rate,
                momentum,
                penalty,
                ..
            } => {
                loss += self.penalise(x, y, penalty, work);
                let corrector = std::mem::take(&mut work.corrector);
                let mut gradient = work.gradient.clone();
                corrector.pull_back(self, x, &mut gradient, work, [rate, momentum]);
                work.gradient = gradient;
                work.corrector = corrector;
            }
            Repair::Later { penalty } => loss += self.penalise(x, y, penalty, work),
            Repair::Seek {
                margin, distance, ..
            } => {
                let mut seeker = std::mem::take(&mut work.seeker);
                loss += seeker.pull_back(self, x, y, [margin, distance], work);
                let squashed = self.instance.equations() == 0;
                for (i, (delta, slope)) in delta.iter_mut().zip(&seeker.by_z).enumerate() {
                    *delta = (slope * if squashed { work.slopes[i] } else { 1.0 }) as f32;
                }
                work.seeker = seeker;
                return Some(loss);
            }
            Repair::Ray => {
                work.weights.fill(0.0);
                let memory = &mut work.memory;
                functions.gradient(y, x, &work.weights, &mut work.gradient, memory);
                let (share, row) = work.reached;
                scale = share;
                if let Some(row) = row {
                    self.normal(x, y, row, work);
                    // The end of the ray moves along the row: c(base + t d) = 0.
                    let steep = dot(&work.other, &work.direction);
                    if steep > 0.0 {
                        let along = dot(&work.gradient, &work.direction) / steep;
                        add(&mut work.gradient, -along, &work.other);
                    }
                }
            }
        }
        if self.instance.equations() == 0 {
            let terms = work.gradient.iter().zip(&work.slopes);
            let pairs = delta.iter_mut().zip(terms);
            pairs.for_each(|(delta, (gradient, slope))| *delta = (gradient * slope) as f32);
            return Some(loss);
        }
        for (delta, direction) in delta.iter_mut().zip(&self.along.directions) {
            *delta = (scale * dot(direction, &work.gradient)) as f32;
        }
        Some(loss)
    }

    /// ∇c_row at the point of the last values in `other`, bounds after rows. ∇f is in `gradient`.
    pub(super) fn normal(&self, x: &[f64], y: &[f64], row: usize, work: &mut Work) {
        let rows = self.instance.rows();
        if row >= rows {
            work.other.fill(0.0);
            let place = row - rows;
            let (low, high) = self.instance.bounds()[place];
            work.other[place] = (y[place] - 0.5 * (low + high)).signum();
            return;
        }
        work.weights[row] = 1.0;
        let (functions, memory) = (self.instance.functions(), &mut work.memory);
        functions.gradient(y, x, &work.weights, &mut work.other, memory);
        work.weights[row] = 0.0;
        add(&mut work.other, -1.0, &work.gradient);
    }
}

/// low + (high − low) σ(z + constant), which is the middle at 0, and its derivative.
fn squash(z: f64, middle: f64, (low, high): (f64, f64)) -> (f64, f64) {
    /// A middle at a bound would never move.
    const ROOM: f64 = 0.02;
    let width = high - low;
    let part = ((middle - low) / width).clamp(ROOM, 1.0 - ROOM);
    let sigmoid = 1.0 / (1.0 + (-z).exp() * (1.0 - part) / part);
    (low + width * sigmoid, width * sigmoid * (1.0 - sigmoid))
}

#[cfg(test)]
mod tests {
    use super::super::catalogue::FAMILIES;
    use super::super::completion::completion;
    use super::super::correct::longest_step;
    use super::*;

    /// The loss at z, and its gradient.
    fn loss(map: &Map<'_>, x: &[f64], z: &[f32], work: &mut Work) -> (f64, Vec<f32>) {
        let (mut y, mut delta) = (vec![0.0; map.instance.dim()], vec![0.0; z.len()]);
        map.answer(x, z, &mut y, work);
        let loss = map.pull_back(x, &y, &mut delta, work).unwrap();
        (loss, delta)
    }

    #[test]
    fn rays_end_inside_and_gradients_agree_with_differences() {
        for entry in FAMILIES.iter().filter(|entry| entry.is_white_box()) {
            let instance = &entry.instance_of([12, 4, 6], 1);
            let family = instance.family.as_ref().unwrap();
            let along = Along::new(&family.a, &family.q);
            let repair = Repair::Ray;
            let map = Map {
                instance,
                along: &along,
                repair,
            };
            let mut work = Work::new(instance);
            for (round, x) in instance.test_x().take(20).enumerate() {
                let z: Vec<f32> = (0..8).map(|i| (1.3 * (i + round) as f32).sin()).collect();
                let z: Vec<f32> = z.iter().map(|z| 8.0 * z).collect();
                let mut y = vec![0.0; instance.dim()];
                map.answer(x, &z, &mut y, &mut work);
                if work.reached.0 == 0.0 {
                    continue;
                }
                let (_, outside, off) = instance.measure(&y, x);
                assert!(outside <= 1e-9 && off < 1e-12, "{}: {outside}", entry.name);
                let (_, delta) = loss(&map, x, &z, &mut work);
                let row = work.reached.1;
                for i in 0..z.len() {
                    let moved = |by: f32, work: &mut Work| {
                        let mut z = z.clone();
                        z[i] += by;
                        let value = loss(&map, x, &z, work).0;
                        (value, work.reached.1)
                    };
                    let (above, below) = (moved(1e-2, &mut work), moved(-1e-2, &mut work));
                    if (above.1, below.1) == (row, row) {
                        let slope = (above.0 - below.0) / 2e-2;
                        let found = f64::from(delta[i]);
                        let close = (slope - found).abs() < 2e-2 * (0.1 + slope.abs());
                        assert!(close, "{} {slope} {found}", entry.name);
                    }
                }
            }
        }
    }

    #[test]
    fn completion_obeys_the_equations_and_correction_lowers_the_violation() {
        let instance = &FAMILIES[0].instance_of([12, 4, 6], 1);
        let family = instance.family.as_ref().unwrap();
        let along = completion(&family.a, 12);
        let mut work = Work::new(instance);
        for x in instance.test_x().take(20) {
            let z: Vec<f32> = (0..8).map(|i| 5.0 * (1.3 * i as f32).sin()).collect();
            let after = |steps: usize, work: &mut Work| {
                let repair = Repair::Correction {
                    steps,
                    answer_steps: steps,
                    rate: 1e-3,
                    momentum: 0.5,
                    penalty: 1.0,
                };
                let map = Map {
                    instance,
                    along: &along,
                    repair,
                };
                let mut y = vec![0.0; 12];
                map.answer(x, &z, &mut y, work);
                assert!(instance.measure(&y, x).2 < 1e-9);
                map.violation(x, &y, 0.0, work)
            };
            assert!(after(50, &mut work) <= after(0, &mut work));
        }
    }

    #[test]
    fn gradients_go_back_through_corrections() {
        for entry in FAMILIES.iter().filter(|entry| entry.is_white_box()) {
            let instance = &entry.instance_of([12, 4, 6], 1);
            let along = completion(&instance.family.as_ref().unwrap().a, 12);
            let x = instance.test_x().next().unwrap();
            let mut work = Work::new(instance);
            let mut map = Map {
                instance,
                along: &along,
                repair: Repair::Ray,
            };
            map.begin(x, &[0.0; 8], &mut work);
            let rate = 0.2 * longest_step(instance, &along, &work.base, x);
            map.repair = Repair::Correction {
                steps: 3,
                answer_steps: 3,
                rate,
                momentum: 0.5,
                penalty: 0.7,
            };
            let z: Vec<f32> = (0..8).map(|i| 3.0 * (1.3 * i as f32).sin()).collect();
            check_gradient(&map, x, &z, &mut work, entry.name);
        }
    }

    #[test]
    fn gradients_go_back_through_seeking() {
        // Along one violated row a step is Newton's and its derivative exact; of several, H is held fixed.
        for entry in FAMILIES
            .iter()
            .filter(|entry| entry.name.starts_with("qp-100"))
        {
            let instance = &entry.instance_of([12, 4, 1], 1);
            let family = instance.family.as_ref().unwrap();
            let along = Along::new(&family.a, &family.q);
            let x = instance.test_x().next().unwrap();
            let mut work = Work::new(instance);
            let map = Map {
                instance,
                along: &along,
                repair: Repair::Seek {
                    steps: 50,
                    margin: 1e-5,
                    distance: 5.0,
                },
            };
            let z: Vec<f32> = (0..8).map(|i| 9.0 * (1.3 * i as f32).sin()).collect();
            check_gradient(&map, x, &z, &mut work, entry.name);
        }
    }

    /// Compares the loss's gradient with differences.
    fn check_gradient(map: &Map<'_>, x: &[f64], z: &[f32], work: &mut Work, name: &str) {
        let (_, delta) = loss(map, x, z, work);
        for i in 0..z.len() {
            let mut moved = |by: f32| {
                let mut z = z.to_vec();
                z[i] += by;
                loss(map, x, &z, work).0
            };
            let slope = (moved(1e-2) - moved(-1e-2)) / 2e-2;
            let found = f64::from(delta[i]);
            let close = (slope - found).abs() < 2e-2 * (0.3 + slope.abs());
            assert!(close, "{name} {i}: {slope} {found}");
        }
    }
}
