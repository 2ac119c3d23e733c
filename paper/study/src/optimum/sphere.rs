//! Quadratic functions on a sphere.

use fabproj_nn::Eigen;

use crate::problem::norm;

/// Halvings of the bracket; Newton steps make most of them unnecessary.
const STEPS: usize = 200;

/// A quadratic function ½ yᵀQy + pᵀy in the eigenbasis of Q.
pub(super) struct Quadric {
    eigen: Eigen,
}

impl Quadric {
    pub(super) fn new(matrix: &[f64], dim: usize) -> Self {
        Self {
            eigen: Eigen::new(matrix.to_vec(), dim),
        }
    }

    /// Writes −Q⁻¹p, where the function is smallest of all.
    pub(super) fn unconstrained(&self, p: &[f64], y: &mut [f64]) {
        let inner = self.solution(&self.eigen.enter(p), 0.0);
        self.eigen.leave(&inner, y);
    }

    /// Writes the point of the sphere of radius `radius` around the origin where the function is
    /// smallest: y = −(Q + λI)⁻¹p for the one λ ≥ −(least eigenvalue) that gives it this length.
    pub(super) fn on_sphere(&self, p: &[f64], radius: f64, y: &mut [f64]) {
        let p = self.eigen.enter(p);
        let pole = -self.eigen.least();
        let inner = self
            .hard_case(&p, pole, radius)
            .unwrap_or_else(|| self.solution(&p, self.multiplier(&p, pole, radius)));
        self.eigen.leave(&inner, y);
        // The length is right to rounding already, unless λ is next to the pole.
        let length = norm(y);
        if length > 0.0 {
            y.iter_mut().for_each(|y| *y *= radius / length);
        }
    }

    /// −(Q + λI)⁻¹p
    fn solution(&self, p: &[f64], multiplier: f64) -> Vec<f64> {
        let entries = p.iter().zip(&self.eigen.values);
        entries
            .map(|(p, value)| -p / (value + multiplier))
            .collect()
    }

    /// Where p has no part along the least eigenvector and the rest is too short even at the pole, the
    /// missing length is along that eigenvector, either way.
    fn hard_case(&self, p: &[f64], pole: f64, radius: f64) -> Option<Vec<f64>> {
        let size = norm(p).max(f64::MIN_POSITIVE);
        let spread = self
            .eigen
            .values
            .iter()
            .fold(0.0_f64, |m, v| m.max(v.abs()));
        let at_pole = |value: f64| value + pole <= 1e-12 * spread.max(1e-300);
        let pairs = || p.iter().zip(&self.eigen.values);
        if pairs().any(|(p, value)| at_pole(*value) && p.abs() > 1e-13 * size) {
            return None;
        }
        let mut inner: Vec<f64> = pairs()
            .map(|(p, value)| {
                if at_pole(*value) {
                    0.0
                } else {
                    -p / (value + pole)
                }
            })
            .collect();
        let missing = radius * radius - inner.iter().map(|y| y * y).sum::<f64>();
        let axis = self.eigen.values.iter().position(|value| at_pole(*value))?;
        if missing < 0.0 {
            return None;
        }
        inner[axis] = missing.sqrt();
        Some(inner)
    }

    /// The root of 1/‖y(λ)‖ = 1/radius right of the pole, where the left side rises and is nearly
    /// linear: Newton's steps, kept inside a bracket that is halved when they leave it.
    fn multiplier(&self, p: &[f64], pole: f64, radius: f64) -> f64 {
        let (mut low, mut high) = (pole, pole + norm(p) / radius);
        let mut at = 0.5 * (low + high);
        for _ in 0..STEPS {
            let (mut square, mut slope) = (0.0, 0.0);
            for (p, value) in p.iter().zip(&self.eigen.values) {
                let shifted = value + at;
                square += (p / shifted).powi(2);
                slope += (p / shifted).powi(2) / shifted;
            }
            let length = square.sqrt();
            if length > radius {
                low = at;
            } else {
                high = at;
            }
            let newton = at + (length - radius) / radius * square / slope;
            let inside = newton > low && newton < high;
            let next = if inside { newton } else { 0.5 * (low + high) };
            if next == at || high - low <= f64::EPSILON * high.abs().max(low.abs()) {
                break;
            }
            at = next;
        }
        at
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::problem::Problem;

    fn best_on_circle(problem: &Problem, radius: f64) -> f64 {
        let points = (0..200_000).map(|i| f64::from(i) * std::f64::consts::TAU / 200_000.0);
        points
            .map(|angle| problem.value(&[radius * angle.cos(), radius * angle.sin()]))
            .fold(f64::INFINITY, f64::min)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]
        #[test]
        fn no_point_of_the_circle_is_better(
            a in prop::array::uniform4(-2.0..2.0_f64),
            p in prop::array::uniform2(-3.0..3.0_f64),
            radius in 0.1..3.0_f64,
        ) {
            let q = vec![
                a[0] * a[0] + a[2] * a[2] + 0.01, a[0] * a[1] + a[2] * a[3],
                a[0] * a[1] + a[2] * a[3], a[1] * a[1] + a[3] * a[3] + 0.01,
            ];
            let problem = Problem::quadratic(q.clone(), p.to_vec());
            let mut y = [0.0; 2];
            Quadric::new(&q, 2).on_sphere(&p, radius, &mut y);
            prop_assert!((norm(&y) - radius).abs() < 1e-12 * radius);
            let best = best_on_circle(&problem, radius);
            prop_assert!(problem.value(&y) <= best + 1e-9, "{} {best}", problem.value(&y));
        }
    }

    #[test]
    fn the_hard_case_is_solved() {
        // p has no part along the first axis, the least eigenvector, and a short solution.
        let (q, p) = (vec![1.0, 0.0, 0.0, 4.0], vec![0.0, 0.5]);
        let problem = Problem::quadratic(q.clone(), p.clone());
        let mut y = [0.0; 2];
        Quadric::new(&q, 2).on_sphere(&p, 2.0, &mut y);
        assert!(y[0].abs() > 1.0);
        assert!(problem.value(&y) <= best_on_circle(&problem, 2.0) + 1e-9);
    }

    #[test]
    fn in_ten_dimensions_the_gradient_is_along_the_radius() {
        use rand::SeedableRng;
        let mut random = rand_chacha::ChaCha8Rng::seed_from_u64(9);
        for _ in 0..50 {
            let problem = Problem::draw(crate::Objective::Quadratic, 10, &mut random);
            let quadric = Quadric::new(problem.matrix(), 10);
            for radius in [1.0, 2.0] {
                let (mut y, mut gradient) = ([0.0; 10], [0.0; 10]);
                quadric.on_sphere(problem.vector(), radius, &mut y);
                problem.gradient(&y, &mut gradient);
                let along = crate::problem::dot(&gradient, &y) / (radius * radius);
                let rest: f64 = gradient
                    .iter()
                    .zip(&y)
                    .map(|(g, y)| (g - along * y).powi(2))
                    .sum();
                assert!(rest.sqrt() < 1e-8 * norm(&gradient).max(1.0), "{rest}");
                // The multiplier −along is at least −(least eigenvalue): this is the global minimum.
                let least = Eigen::new(problem.matrix().to_vec(), 10).least();
                assert!(along <= least + 1e-8);
            }
        }
    }
}
