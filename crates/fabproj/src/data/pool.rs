//! The rows that training uses, drawn and labelled through the oracle.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;

use super::boundary::{Boundary, normalise};
use super::draw::Draw;
use super::oracle::{Oracle, Units};
use super::regime::Regime;
use super::restore::Restorer;
use crate::set::Set;

/// How many rows of each kind to draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PoolSizes {
    /// Values of x at which an input-dependent set is sampled.
    pub states: usize,
    /// Feasible rows, over all states.
    pub feasible: usize,
    /// Infeasible rows, over all states.
    pub infeasible: usize,
    /// Boundary points, over all states.
    pub boundary: usize,
    /// Uniform draws after which rejection sampling of feasible rows gives up.
    pub draws: usize,
}

/// Why no pool could be drawn.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PoolError {
    /// Rejection sampling found nothing, or next to nothing.
    #[error(
        "only {found} of {drawn} uniform draws from the bounds were feasible: too few to learn the set; \
         narrow the bounds around it, or give the set a violation with a gradient"
    )]
    TooFewFeasible {
        /// Feasible draws.
        found: usize,
        /// All draws.
        drawn: u64,
    },
    /// Nothing to project onto: every point is feasible.
    #[error(
        "all of {drawn} draws, inside and around the bounds, were feasible: there is nothing to learn; \
         check the set's constraints"
    )]
    NothingInfeasible {
        /// All draws.
        drawn: u64,
    },
}

/// Rows of y in working units, each at one of the pool's states.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rows {
    /// Row after row.
    pub y: Vec<f32>,
    /// Index of each row's state.
    pub state: Vec<u32>,
}

impl Rows {
    /// Number of rows.
    pub(crate) fn len(&self) -> usize {
        self.state.len()
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.state.is_empty()
    }

    pub(crate) fn push(&mut self, y: &[f32], state: usize) {
        self.y.extend_from_slice(y);
        self.state.push(state as u32);
    }
}

/// Training rows with their targets, and the boundary at every state.
pub(crate) struct Pool<'a> {
    /// Membership, in the pool's units.
    pub oracle: Oracle<'a>,
    /// Working units of x.
    pub x_units: Units,
    /// x of every state, raw units.
    pub states: Vec<Vec<f64>>,
    /// x of every state, working units, row after row.
    pub states_inner: Vec<f32>,
    /// Feasible rows.
    pub feasible: Rows,
    /// Feasible rows on the boundary.
    pub edge: Rows,
    /// Infeasible rows.
    pub infeasible: Rows,
    /// The (nearly) nearest feasible point of each infeasible row.
    pub targets: Vec<f32>,
    /// The boundary of C(x) at every state; empty above three dimensions.
    pub boundaries: Vec<Boundary>,
    /// The share of uniform draws from the bounds that were feasible.
    pub feasible_fraction: f64,
    /// The share of values of x at which nothing feasible was found; the pool has no state there.
    pub empty_fraction: f64,
    /// Whether the set has a violation with a gradient.
    pub knows_violation: bool,
}

impl<'a> Pool<'a> {
    /// Draws everything.
    pub(crate) fn draw(
        set: &'a dyn Set,
        sizes: &PoolSizes,
        rng: &mut ChaCha8Rng,
    ) -> Result<Self, PoolError> {
        let oracle = Oracle::new(set);
        let raw = Draw::collect(&oracle, draw_states(set, sizes.states, rng), sizes, rng)?;
        let units = Units::of_rows(&raw.feasible_flat(), oracle.bounds());
        let oracle = oracle.with_units(units);
        let x_units = Units::of_bounds(&set.x_bounds());
        let mut states_inner = Vec::new();
        for x in &raw.states {
            x_units.push(x, &mut states_inner);
        }
        let mut pool = Pool {
            oracle,
            x_units,
            states: raw.states.clone(),
            states_inner,
            feasible: Rows::default(),
            edge: Rows::default(),
            infeasible: Rows::default(),
            targets: Vec::new(),
            boundaries: Vec::new(),
            feasible_fraction: raw.fraction(),
            empty_fraction: raw.empty_fraction(),
            knows_violation: knows_violation(set, &raw),
        };
        pool.convert(&raw, sizes, rng)?;
        pool.find_boundaries(sizes, rng);
        pool.find_targets(rng);
        Ok(pool)
    }

    /// What the dimensions decide.
    pub(crate) fn regime(&self) -> Regime {
        Regime::of(self.oracle.set())
    }

    /// Dimension of y.
    pub(crate) fn dim(&self) -> usize {
        self.oracle.bounds().len()
    }

    /// Dimension of x.
    pub(crate) fn x_dim(&self) -> usize {
        self.x_units.centre.len()
    }

    /// x of a state in working units.
    pub(crate) fn state_inner(&self, state: u32) -> &[f32] {
        let dim = self.x_dim();
        &self.states_inner[state as usize * dim..][..dim]
    }

    /// Whether y (working units) is feasible at the state.
    pub(crate) fn contains(&self, y: &[f32], state: u32) -> bool {
        self.oracle.contains(y, &self.states[state as usize])
    }

    /// [`contains`](Self::contains) for rows, in one question.
    pub(crate) fn contains_rows(&self, y: &[f32], states: &[u32]) -> Vec<bool> {
        let x = |row: usize| self.states[states[row] as usize].as_slice();
        self.oracle.contains_rows(y, x)
    }

    /// Feasible rows into working units, and infeasible rows around them: half uniform in the bounds,
    /// half in all directions beyond the set, so that the encoder never has to extrapolate.
    fn convert(
        &mut self,
        raw: &Draw,
        sizes: &PoolSizes,
        rng: &mut ChaCha8Rng,
    ) -> Result<(), PoolError> {
        let (dim, low_dimensional) = (self.dim(), self.regime().low_dimensional());
        let mut row = Vec::new();
        for (state, rows) in raw.feasible.iter().enumerate() {
            for point in rows.chunks_exact(dim) {
                row.clear();
                self.oracle.units().push(point, &mut row);
                self.feasible.push(&row, state);
            }
        }
        let radius = radius_quantile(&self.feasible.y, dim, 1.0);
        let per_state = sizes.infeasible.div_ceil(self.states.len());
        for state in 0..self.states.len() {
            let uniform = &raw.infeasible[state];
            let available = uniform.len() / dim;
            let wanted = available.min(per_state / 2);
            for point in uniform.chunks_exact(dim).take(wanted) {
                row.clear();
                self.oracle.units().push(point, &mut row);
                self.infeasible.push(&row, state);
            }
            let (mut missing, mut tries) = (per_state - wanted, 20 * per_state);
            while missing > 0 && tries > 0 {
                // So many are needed at least.
                let drawn = missing.min(tries);
                tries -= drawn;
                let mut rows = Vec::with_capacity(drawn * dim);
                for _ in 0..drawn {
                    if low_dimensional {
                        row = direction(dim, rng);
                        let length = 2.0 * radius * rng.random::<f32>();
                        row.iter_mut().for_each(|v| *v *= length);
                    } else {
                        row = self.enlarged_input(state, 1.2, rng);
                    }
                    rows.extend_from_slice(&row);
                }
                let inside = self.contains_rows(&rows, &vec![state as u32; drawn]);
                for (row, _) in rows
                    .chunks_exact(dim)
                    .zip(inside)
                    .filter(|(_, inside)| !inside)
                {
                    self.infeasible.push(row, state);
                    missing -= 1;
                }
            }
        }
        if self.infeasible.is_empty() {
            return Err(PoolError::NothingInfeasible {
                drawn: self.oracle.queries(),
            });
        }
        Ok(())
    }

    /// An input of interest, moved away from the middle of the bounds by the factor; working units.
    pub(crate) fn enlarged_input(
        &self,
        state: usize,
        factor: f64,
        rng: &mut ChaCha8Rng,
    ) -> Vec<f32> {
        let mut raw = self.oracle.draw_input(&self.states[state], rng);
        for (value, (low, high)) in raw.iter_mut().zip(self.oracle.bounds()) {
            let middle = (low + high) / 2.0;
            *value = middle + factor * (*value - middle);
        }
        let mut row = Vec::new();
        self.oracle.units().push(&raw, &mut row);
        row
    }

    fn find_boundaries(&mut self, sizes: &PoolSizes, rng: &mut ChaCha8Rng) {
        let dim = self.dim();
        if !self.regime().low_dimensional() {
            return;
        }
        let per_state = sizes.boundary.div_ceil(self.states.len());
        let inside = by_state(&self.feasible, self.states.len(), dim);
        let outside = by_state(&self.infeasible, self.states.len(), dim);
        for state in 0..self.states.len() {
            let boundary = Boundary::find(
                &self.oracle,
                &self.states[state],
                &inside[state],
                &outside[state],
                per_state,
                rng,
            );
            for index in 0..boundary.len() {
                self.edge.push(boundary.point(index), state);
            }
            self.boundaries.push(boundary);
        }
    }

    fn find_targets(&mut self, rng: &mut ChaCha8Rng) {
        let dim = self.dim();
        if self.regime().low_dimensional() {
            let mut kept = Rows::default();
            for (row, point) in self.infeasible.y.chunks_exact(dim).enumerate() {
                let state = self.infeasible.state[row];
                let boundary = &self.boundaries[state as usize];
                if let Some(index) = boundary.nearest(point) {
                    self.targets.extend_from_slice(boundary.point(index));
                    kept.push(point, state as usize);
                }
            }
            self.infeasible = kept;
            return;
        }
        let restorer = Restorer::new(&self.feasible, self.states.len(), dim);
        let mut target = vec![0.0; dim];
        for (row, point) in self.infeasible.y.chunks_exact(dim).enumerate() {
            let state = self.infeasible.state[row];
            restorer.restore(
                &self.oracle,
                &self.states[state as usize],
                state,
                point,
                &mut target,
                rng,
            );
            self.targets.extend_from_slice(&target);
            self.edge.push(&target, state as usize);
        }
    }
}

/// The q-quantile of ‖row‖.
pub(crate) fn radius_quantile(rows: &[f32], dim: usize, quantile: f64) -> f32 {
    let norm = |row: &[f32]| row.iter().map(|v| v * v).sum::<f32>().sqrt();
    let mut norms: Vec<f32> = rows.chunks_exact(dim).map(norm).collect();
    norms.sort_by(f32::total_cmp);
    let index = ((norms.len() as f64 - 1.0) * quantile).round() as usize;
    norms.get(index).copied().unwrap_or(1.0)
}

/// A uniform unit vector.
pub(crate) fn direction(dim: usize, rng: &mut ChaCha8Rng) -> Vec<f32> {
    let mut vector: Vec<f32> = (0..dim).map(|_| rng.sample(StandardNormal)).collect();
    normalise(&mut vector);
    vector
}

fn by_state(rows: &Rows, states: usize, dim: usize) -> Vec<Vec<f32>> {
    let mut grouped = vec![Vec::new(); states];
    for (point, state) in rows.y.chunks_exact(dim).zip(&rows.state) {
        grouped[*state as usize].extend_from_slice(point);
    }
    grouped
}

fn knows_violation(set: &dyn Set, raw: &Draw) -> bool {
    let y = &raw.feasible[0][..set.dim()];
    let violation = set.violation(y, &raw.states[0], &mut vec![0.0; y.len()]);
    violation.is_some()
}

/// Uniform values of x; for a fixed set the single empty one.
fn draw_states(set: &dyn Set, count: usize, rng: &mut ChaCha8Rng) -> Vec<Vec<f64>> {
    let bounds = set.x_bounds();
    if bounds.is_empty() {
        return vec![Vec::new()];
    }
    let draw =
        |(low, high): &(f64, f64), rng: &mut ChaCha8Rng| low + (high - low) * rng.random::<f64>();
    (0..count)
        .map(|_| bounds.iter().map(|interval| draw(interval, rng)).collect())
        .collect()
}
