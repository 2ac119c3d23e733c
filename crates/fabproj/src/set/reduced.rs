//! A set whose points obey equations, in the coordinates that these leave.

use fabproj_core::{Equations, Membership};

use super::equations::{MAX_DIM, eliminate, independent};
use super::extent::upper;
use super::rows::narrow;
use super::vector::{is_finite, with_buffer};
use super::{Description, Equation, Interval, Result, Set, SetError};

/// Space around the region that the bounds of y leave, as a part of its width.
const SPACE: f64 = 0.05;
/// The least such space, as a part of the narrowest bounds.
const THINNEST: f64 = 1e-3;

/// The coordinates z of the points y = origin + D x + N z that obey the equations of a set: what training
/// sees of it.
pub(crate) struct Reduced<'a> {
    set: &'a dyn Set,
    equations: Equations,
    bounds: Vec<Interval>,
}

impl<'a> Reduced<'a> {
    /// The set without its equations; `None` where it has none.
    ///
    /// # Errors
    /// [`SetError`] when the equations contradict each other or leave nothing.
    pub(crate) fn of(set: &'a dyn Set) -> Result<Option<Self>> {
        let stated = set.equations();
        if stated.is_empty() {
            return Ok(None);
        }
        let dim = set.dim();
        if dim > MAX_DIM {
            return Err(SetError::Length {
                what: "coordinates beside equations, at most",
                expected: MAX_DIM,
                found: dim,
            });
        }
        let independent = independent(stated)?;
        if independent.len() >= dim {
            return Err(SetError::NothingLeft { dim });
        }
        let equations = eliminate(&independent, &set.bounds(), set.x_dim());
        let bounds = bounds(set, &independent, &equations);
        Ok(Some(Self {
            set,
            equations,
            bounds,
        }))
    }

    /// The way from z to y and back.
    pub(crate) fn equations(&self) -> &Equations {
        &self.equations
    }

    /// Calls `decide` with the point y of z; `None` for what is not finite.
    fn at<T>(&self, z: &[f64], x: &[f64], decide: impl FnOnce(&[f64]) -> T) -> Option<T> {
        if !(is_finite(z) && is_finite(x)) {
            return None;
        }
        with_buffer(self.equations.dim(), |y| {
            self.equations.raise(z, x, y).ok()?;
            Some(decide(y))
        })
    }
}

/// The region of z in which y can lie within its bounds, with some space around it.
fn bounds(set: &dyn Set, stated: &[Equation], equations: &Equations) -> Vec<Interval> {
    let mut all = set.bounds();
    all.extend(set.x_bounds());
    let extent = |column: usize, sign: f64| -> f64 {
        let rows = equations.basis.chunks_exact(equations.reduced_dim());
        let direction: Vec<f64> = rows.map(|row| sign * row[column]).collect();
        // The columns are at right angles to the normals, so that x does not move z.
        let terms = direction.iter().zip(&equations.origin);
        let origin: f64 = terms.map(|(weight, origin)| weight * origin).sum();
        upper(&direction, stated, &all) - origin
    };
    // An interval must have a width, even where the bounds of y leave one point only.
    let widths = all.iter().map(|(low, high)| high - low);
    let least = THINNEST * widths.fold(f64::INFINITY, f64::min);
    let columns = 0..equations.reduced_dim();
    columns
        .map(|column| {
            let (low, high) = (-extent(column, -1.0), extent(column, 1.0));
            let space = (SPACE * (high - low)).max(least);
            (low - space, high + space)
        })
        .collect()
}

impl Membership for Reduced<'_> {
    fn contains(&self, z: &[f64], x: &[f64]) -> bool {
        self.at(z, x, |y| self.set.contains(y, x)).unwrap_or(false)
    }

    fn contains_rows(&self, z: &[f64], x: &[f64], inside: &mut [bool]) {
        inside.fill(true);
        narrow(self.set, z, x, inside, |z, x, points| {
            self.at(z, x, |y| points.extend_from_slice(y)).is_some()
        });
    }

    fn violation(&self, z: &[f64], x: &[f64], gradient: &mut [f64]) -> Option<f64> {
        gradient.fill(0.0);
        let violation = self.at(z, x, |y| {
            with_buffer(y.len(), |by_y| {
                let violation = self.set.violation(y, x, by_y)?;
                let rows = self.equations.basis.chunks_exact(gradient.len());
                for (by_y, row) in by_y.iter().zip(rows) {
                    for (gradient, basis) in gradient.iter_mut().zip(row) {
                        *gradient += by_y * basis;
                    }
                }
                Some(violation)
            })
        });
        violation.unwrap_or(Some(f64::INFINITY))
    }
}

impl Set for Reduced<'_> {
    fn dim(&self) -> usize {
        self.equations.reduced_dim()
    }

    fn x_dim(&self) -> usize {
        self.set.x_dim()
    }

    fn bounds(&self) -> Vec<Interval> {
        self.bounds.clone()
    }

    /// A y as the set draws it, moved onto the equations.
    fn draw_input(&self, x: &[f64], uniform: &mut dyn FnMut() -> f64, z: &mut [f64]) {
        with_buffer(self.equations.dim(), |y| {
            self.set.draw_input(x, uniform, y);
            // The lengths are those of this set, as for every method.
            if self.equations.lower(y, x, z).is_err() {
                z.fill(f64::NAN);
            }
        });
    }

    fn x_bounds(&self) -> Vec<Interval> {
        self.set.x_bounds()
    }

    fn x_names(&self) -> Vec<String> {
        self.set.x_names()
    }

    fn description(&self) -> Description {
        self.set.description()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::set::from_toml;

    /// A set of `a`, `b`, `c` and `d` in [-scale, scale] with x = (s, t) in [0, 1].
    fn space(scale: f64, rest: &str) -> String {
        let names = ["a", "b", "c", "d"];
        let bounds = names.map(|name| format!("{name} = [{}, {scale}]", -scale));
        format!(
            "y = {names:?}\nbounds = {{ {} }}\nx = [\"s\", \"t\"]\n\
             x_bounds = {{ s = [0, 1], t = [0, 1] }}\n{rest}",
            bounds.join(", ")
        )
    }

    fn constraint(expression: &str) -> String {
        format!("[[constraint]]\nexpr = \"{expression}\"\n")
    }

    fn reduced(set: &dyn Set) -> Reduced<'_> {
        Reduced::of(set).unwrap().expect("equalities")
    }

    #[test]
    fn equations_hold_in_every_raised_point() {
        for scale in [1.0, 1e3] {
            let text = space(
                scale,
                "[[constraint]]\nall = [\"2*(a - b)/3 + c == 0.25 + s - 2*t\", \"c <= 0.5\"]\n\
                 [[constraint]]\nexpr = \"-d == a - pi*s\"\n",
            );
            let full = from_toml(&text).unwrap();
            let set = reduced(full.as_ref());
            assert_eq!((set.dim(), set.x_dim()), (2, 2));
            let equations = set.equations();
            for step in 0..200 {
                let wave = |i: usize| (step as f64 * 0.7 + i as f64 * 1.9).sin();
                let (y, x) = (
                    [0, 1, 2, 3].map(|i| scale * wave(i)),
                    [wave(4).abs(), wave(5).abs()],
                );
                let (mut z, mut raised) = ([0.0; 2], [0.0; 4]);
                equations.lower(&y, &x, &mut z).unwrap();
                equations.raise(&z, &x, &mut raised).unwrap();
                let [a, b, c, d] = raised;
                let first = 2.0 * (a - b) / 3.0 + c - (0.25 + x[0] - 2.0 * x[1]);
                let second = -d - (a - std::f64::consts::PI * x[0]);
                assert!(first.abs() < 1e-11 * scale && second.abs() < 1e-11 * scale);
                let inside = raised.iter().all(|y| y.abs() <= scale) && c <= 0.5;
                assert_eq!(set.contains(&z, &x), inside);
                assert_eq!(full.contains(&raised, &x), inside, "bounds are constraints");
                assert!(
                    !full.contains(&[a, b, c + 1e-5 * scale, d], &x),
                    "1e-6 of the sides is the tolerance"
                );
            }
        }
    }

    #[test]
    fn violations_have_the_right_gradients() {
        let text = space(
            1.0,
            &(constraint("a + b + c == s") + &constraint("a^2 + b*d <= 0.1")),
        );
        let full = from_toml(&text).unwrap();
        let set = reduced(full.as_ref());
        let x = [0.3, 0.6];
        let (mut gradient, mut unused) = ([0.0; 3], [0.0; 3]);
        let mut checked = 0;
        for step in 0..100 {
            let z = [0, 1, 2].map(|i| 1.7 * (step as f64 * 0.37 + f64::from(i) * 2.3).sin());
            let violation = set.violation(&z, &x, &mut gradient).unwrap();
            assert_eq!(violation == 0.0, set.contains(&z, &x));
            for i in 0..3 {
                let mut at = |offset: f64| {
                    let mut z = z;
                    z[i] += offset;
                    set.violation(&z, &x, &mut unused).unwrap()
                };
                let (left, right) = (
                    (violation - at(-1e-6)) / 1e-6,
                    (at(1e-6) - violation) / 1e-6,
                );
                if (left - right).abs() < 1e-4 {
                    assert!(
                        (gradient[i] - left).abs() < 1e-4,
                        "{z:?}: {} but {left}",
                        gradient[i]
                    );
                    checked += usize::from(violation > 0.0);
                }
            }
        }
        assert!(checked > 50);
        assert_eq!(
            set.violation(&[f64::NAN, 0.0, 0.0], &x, &mut gradient),
            Some(f64::INFINITY)
        );
    }

    #[test]
    fn inputs_of_interest_come_from_the_box_of_y() {
        let full = from_toml(&space(2.0, &constraint("a + b == s"))).unwrap();
        let set = reduced(full.as_ref());
        let equations = set.equations();
        let mut numbers = [0.9, 0.1, 0.5, 0.25].into_iter();
        let (mut z, mut expected) = ([0.0; 3], [0.0; 3]);
        set.draw_input(&[0.5, 0.0], &mut || numbers.next().unwrap(), &mut z);
        equations
            .lower(&[1.6, -1.6, 0.0, -1.0], &[0.5, 0.0], &mut expected)
            .unwrap();
        for (z, expected) in z.iter().zip(expected) {
            assert!((z - expected).abs() < 1e-12);
        }
    }

    #[test]
    fn units_that_differ_stay_apart() {
        let text = "y = [\"a\", \"b\", \"c\"]\n\
                    bounds = { a = [0, 1], b = [0, 1], c = [0, 10000] }\n"
            .to_owned()
            + &constraint("a + b + c/10000 == 1");
        let full = from_toml(&text).unwrap();
        let set = reduced(full.as_ref());
        let widths: Vec<f64> = set.bounds().iter().map(|(low, high)| high - low).collect();
        assert!(
            widths[0] > 5e3 && widths[1] < 5.0,
            "one large and one small: {widths:?}"
        );
    }

    proptest! {
        /// Points within the box that obey the equations lie within the bounds of z, which are tight to
        /// the space around them.
        #[test]
        fn bounds_hold_the_set(weights in prop::array::uniform4(-3.0f64..3.0), share in 0.1f64..0.9) {
            prop_assume!(weights.iter().all(|weight| weight.abs() > 0.01));
            let reach: f64 = weights.iter().map(|weight| weight.abs()).sum();
            let right = reach * (2.0 * share - 1.0);
            let [w0, w1, w2, w3] = weights;
            let equation = format!("{w0:?}*a + {w1:?}*b + {w2:?}*c + {w3:?}*d == {right:?}");
            let full = from_toml(&space(1.0, &constraint(&equation))).unwrap();
            let set = reduced(full.as_ref());
            let equations = set.equations();
            let bounds = set.bounds();
            let mut low = [f64::INFINITY; 3];
            let mut high = [f64::NEG_INFINITY; 3];
            // The vertices of the box cut by the plane: three coordinates at their ends, the fourth solved.
            for corner in 0..8 {
                for free in 0..4 {
                    let mut y = [0.0; 4];
                    let ends = (0..4).filter(|i| *i != free).enumerate();
                    for (bit, i) in ends {
                        y[i] = if corner >> bit & 1 == 1 { 1.0 } else { -1.0 };
                    }
                    let fixed: f64 = (0..4).filter(|i| *i != free).map(|i| weights[i] * y[i]).sum();
                    y[free] = (right - fixed) / weights[free];
                    if y[free].abs() > 1.0 {
                        continue;
                    }
                    let mut z = [0.0; 3];
                    equations.lower(&y, &[0.0; 2], &mut z)?;
                    for i in 0..3 {
                        low[i] = low[i].min(z[i]);
                        high[i] = high[i].max(z[i]);
                        prop_assert!(bounds[i].0 <= z[i] && z[i] <= bounds[i].1);
                    }
                }
            }
            for i in 0..3 {
                let width = high[i] - low[i];
                prop_assert!(bounds[i].1 - bounds[i].0 <= 1.11 * width + 0.01);
            }
        }
    }
}
