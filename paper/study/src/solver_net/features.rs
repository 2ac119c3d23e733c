//! A problem's numbers as a network reads them.

use serde::{Deserialize, Serialize};

use crate::problem::{MOST, Objective, Problem, norm};

/// Points and targets farther out than this are shortened to it: where the optimum on a set of radius 2
/// lies hardly depends on how far they are.
const REACH: f64 = 4.0;
/// Length of the base point of linear problems with [`Features::Rim`].
const RIM: f64 = 2.0;

/// How problems are presented.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Features {
    /// As released: the upper triangle of Q and p; c; t. Outputs are points.
    Paper,
    /// Without the scales that do not change the answer, and with the unconstrained minimiser of
    /// quadratic problems. Outputs are added to that minimiser, or to the target of a distance.
    Unaimed,
    /// The same, and linear problems have −2c/‖c‖ as a base point. On five of the seven sets that point is the
    /// optimum: the row with it shows what such knowledge is worth.
    #[serde(rename = "scale-free")]
    Rim,
}

impl Features {
    /// How many there are.
    pub fn count(self, objective: Objective, dim: usize) -> usize {
        let triangle = dim * (dim + 1) / 2;
        match (self, objective) {
            (Self::Paper, Objective::Quadratic) => triangle + dim,
            (Self::Paper, _) | (_, Objective::Linear) => dim,
            (_, Objective::Distance) => 2 * dim,
            (_, Objective::Quadratic) => triangle + 2 * dim + 1,
        }
    }

    /// Writes them, and the base point.
    pub fn write(self, problem: &Problem, features: &mut [f32], base: &mut [f32]) {
        match (self, problem.objective()) {
            (Self::Paper, Objective::Quadratic) => {
                base.fill(0.0);
                let rest = write_triangle(problem, 1.0, features);
                write_scaled(problem.vector(), 1.0, rest);
            }
            (Self::Paper, _) => {
                base.fill(0.0);
                write_scaled(problem.vector(), 1.0, features);
            }
            (_, Objective::Linear) => {
                let scale = 1.0 / norm(problem.vector()).max(f64::MIN_POSITIVE);
                write_scaled(problem.vector(), scale, features);
                let length = if self == Self::Rim { RIM } else { 0.0 };
                write_scaled(problem.vector(), -length * scale, base);
            }
            (_, Objective::Distance) => {
                let length = norm(problem.vector()).max(f64::MIN_POSITIVE);
                let (direction, shortened) = features.split_at_mut(base.len());
                write_scaled(problem.vector(), 1.0 / length, direction);
                write_scaled(problem.vector(), length.min(REACH) / length, shortened);
                base.copy_from_slice(shortened);
            }
            (_, Objective::Quadratic) => quadratic(problem, features, base),
        }
    }
}

/// Writes the point where f is smallest of all; false for a linear problem, which has none.
pub(crate) fn unconstrained(problem: &Problem, out: &mut [f32]) -> bool {
    match problem.objective() {
        Objective::Linear => return false,
        Objective::Distance => write_scaled(problem.vector(), 1.0, out),
        Objective::Quadratic => minimise(problem.matrix(), problem.vector(), out),
    }
    true
}

/// Writes a point far downhill: the unconstrained minimiser, or one that no set of the study reaches.
pub(crate) fn far_downhill(problem: &Problem, out: &mut [f32]) {
    if !unconstrained(problem, out) {
        let scale = -REACH / norm(problem.vector()).max(f64::MIN_POSITIVE);
        write_scaled(problem.vector(), scale, out);
    }
}

fn quadratic(problem: &Problem, features: &mut [f32], base: &mut [f32]) {
    let (dim, matrix, vector) = (problem.dim(), problem.matrix(), problem.vector());
    let trace: f64 = matrix.iter().step_by(dim + 1).sum();
    let rest = write_triangle(problem, dim as f64 / trace, features);
    let (linear, rest) = rest.split_at_mut(dim);
    write_scaled(vector, dim as f64 / (trace + norm(vector)), linear);
    rest[0] = (1.0 / (1.0 + trace)) as f32;
    let minimiser = &mut rest[1..];
    minimise(matrix, vector, minimiser);
    let length = minimiser.iter().map(|y| y * y).sum::<f32>().sqrt();
    let scale = REACH as f32 / length.max(REACH as f32);
    for (minimiser, base) in minimiser.iter_mut().zip(base) {
        *minimiser *= scale;
        *base = *minimiser;
    }
}

fn write_scaled(values: &[f64], scale: f64, out: &mut [f32]) {
    for (out, value) in out.iter_mut().zip(values) {
        *out = (scale * value) as f32;
    }
}

/// Writes the rows of Q's upper triangle; what is left of `out` is returned.
fn write_triangle<'o>(problem: &Problem, scale: f64, out: &'o mut [f32]) -> &'o mut [f32] {
    let dim = problem.dim();
    let mut rest = out;
    for (row, entries) in problem.matrix().chunks_exact(dim).enumerate() {
        let (part, tail) = rest.split_at_mut(dim - row);
        write_scaled(&entries[row..], scale, part);
        rest = tail;
    }
    rest
}

/// Writes −Q⁻¹p.
fn minimise(matrix: &[f64], vector: &[f64], out: &mut [f32]) {
    // With a column more than there are dimensions, in whole vectors: loops of a known length are faster.
    match vector.len() {
        0..=3 => minimise_within::<4>(matrix, vector, out),
        4..=7 => minimise_within::<8>(matrix, vector, out),
        8..=11 => minimise_within::<12>(matrix, vector, out),
        _ => minimise_within::<{ MOST + 4 }>(matrix, vector, out),
    }
}

/// The same in less than N dimensions, by elimination in single precision, since the point is a hint: the
/// ridge of the study's problems bounds its error. What remains of Q stays symmetric, so that the pivot's row
/// is its column.
fn minimise_within<const N: usize>(matrix: &[f64], vector: &[f64], out: &mut [f32]) {
    let dim = vector.len();
    // For a Q that is not positive the point may be anywhere, but it is finite.
    let trace: f64 = matrix.iter().step_by(dim + 1).sum();
    let floor = (1e-6 * trace / dim as f64) as f32;
    let floor = floor.max(f32::EPSILON);
    // Q and, as a last column, −p.
    let mut rows = [[0.0_f32; N]; N];
    for ((row, entries), p) in rows.iter_mut().zip(matrix.chunks_exact(dim)).zip(vector) {
        write_scaled(entries, 1.0, row);
        row[dim] = -*p as f32;
    }
    for pivot in 0..dim {
        let column = rows[pivot];
        let inverse = 1.0 / column[pivot].max(floor);
        let row = column.map(|entry| entry * inverse);
        for (below, factor) in rows[..dim].iter_mut().zip(&column).skip(pivot + 1) {
            for (below, entry) in below.iter_mut().zip(&row) {
                *below -= factor * entry;
            }
        }
        rows[pivot] = row;
    }
    for row in (0..dim).rev() {
        let later = rows[row][row + 1..dim].iter().zip(&out[row + 1..]);
        let later: f32 = later.map(|(entry, y)| entry * y).sum();
        out[row] = rows[row][dim] - later;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    #[test]
    fn the_minimiser_has_no_gradient() {
        let mut random = ChaCha8Rng::seed_from_u64(2);
        for dim in [2, 3, 5, 10, 16] {
            let problem = Problem::draw(Objective::Quadratic, dim, &mut random);
            let (mut y, mut gradient) = (vec![0.0; dim], vec![0.0; dim]);
            minimise(problem.matrix(), problem.vector(), &mut y);
            let y: Vec<f64> = y.into_iter().map(f64::from).collect();
            problem.gradient(&y, &mut gradient);
            assert!(norm(&gradient) < 1e-4, "{dim}: {gradient:?}");
        }
    }

    #[test]
    fn scale_free_features_do_not_change_with_the_scale_of_a_linear_problem() {
        let write = |scale: f64| {
            let problem = Problem::linear(vec![scale * 0.3, -scale]);
            let (mut features, mut base) = ([0.0; 2], [0.0; 2]);
            Features::Unaimed.write(&problem, &mut features, &mut base);
            (features, base)
        };
        assert_eq!(write(1.0), write(4.0));
    }

    #[test]
    fn every_feature_is_written() {
        let mut random = ChaCha8Rng::seed_from_u64(5);
        for kind in [Features::Paper, Features::Unaimed, Features::Rim] {
            for objective in Objective::ALL {
                let problem = Problem::draw(objective, 3, &mut random);
                let mut features = vec![f32::NAN; kind.count(objective, 3)];
                let mut base = [f32::NAN; 3];
                kind.write(&problem, &mut features, &mut base);
                assert!(features.iter().chain(&base).all(|value| value.is_finite()));
            }
        }
    }
}
