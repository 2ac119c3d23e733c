//! Questions about many rows, passed on by wrappers as one.

use super::Set;

/// Takes the marks from rows that are not in the set. Only marked rows are asked about, in one question, at
/// the points that `point` appends for them; where it returns false, the row is outside.
pub(crate) fn narrow(
    set: &dyn Set,
    y: &[f64],
    x: &[f64],
    inside: &mut [bool],
    mut point: impl FnMut(&[f64], &[f64], &mut Vec<f64>) -> bool,
) {
    let rows = inside.len().max(1);
    let (dim, x_dim) = (y.len() / rows, x.len() / rows);
    let (mut points, mut points_x) = (Vec::new(), Vec::new());
    for (row, inside) in inside.iter_mut().enumerate().filter(|(_, inside)| **inside) {
        let (y, x) = (&y[row * dim..][..dim], &x[row * x_dim..][..x_dim]);
        *inside = point(y, x, &mut points);
        // A fixed set may stand beside one that is not.
        if *inside && set.x_dim() > 0 {
            points_x.extend_from_slice(x);
        }
    }
    let mut answers = vec![false; points.len() / set.dim()];
    if answers.is_empty() {
        return;
    }
    set.contains_rows(&points, &points_x, &mut answers);
    let asked = inside.iter_mut().filter(|inside| **inside);
    asked
        .zip(answers)
        .for_each(|(inside, answer)| *inside = answer);
}

/// For [`narrow`]: the row itself.
pub(crate) fn unchanged(y: &[f64], _: &[f64], point: &mut Vec<f64>) -> bool {
    point.extend_from_slice(y);
    true
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use fabproj_core::Membership;

    use super::*;
    use crate::set::{Affine, Description, Equation, Interval, Not, Reduced, Shrink, from_toml};

    /// A disc around x, that counts its questions.
    #[derive(Default)]
    struct Disc {
        questions: AtomicUsize,
        equations: Vec<Equation>,
    }

    impl Membership for Disc {
        fn contains(&self, y: &[f64], x: &[f64]) -> bool {
            self.questions.fetch_add(1, Ordering::Relaxed);
            (y[0] - x[0]).hypot(y[1]) <= 1.0
        }

        fn contains_rows(&self, y: &[f64], x: &[f64], inside: &mut [bool]) {
            self.questions.fetch_add(1, Ordering::Relaxed);
            for (row, inside) in inside.iter_mut().enumerate() {
                *inside = (y[2 * row] - x[row]).hypot(y[2 * row + 1]) <= 1.0;
            }
        }
    }

    impl Set for Disc {
        fn dim(&self) -> usize {
            2
        }

        fn x_dim(&self) -> usize {
            1
        }

        fn bounds(&self) -> Vec<Interval> {
            vec![(-2.0, 2.0); 2]
        }

        fn x_bounds(&self) -> Vec<Interval> {
            vec![(-1.0, 1.0)]
        }

        fn equations(&self) -> Vec<Equation> {
            self.equations.clone()
        }

        fn description(&self) -> Description {
            Description::Closure {
                name: "disc".to_owned(),
            }
        }
    }

    /// Compares rows with single points; the most questions that rows may take.
    fn compare(set: &dyn Set, disc: &Disc, most: usize) {
        let wave = |i: usize| 2.2 * (i as f64 * 0.73).sin();
        let y: Vec<f64> = (0..300 * set.dim()).map(wave).collect();
        let x: Vec<f64> = (0..300).map(|i| 0.4 * wave(7 * i)).collect();
        let mut inside = [true; 300];
        disc.questions.store(0, Ordering::Relaxed);
        set.contains_rows(&y, &x, &mut inside);
        let questions = disc.questions.load(Ordering::Relaxed);
        assert!((1..=most).contains(&questions), "{questions} questions");
        for (row, y) in y.chunks_exact(set.dim()).enumerate() {
            assert_eq!(set.contains(y, &x[row..=row]), inside[row], "row {row}");
        }
        assert!(inside.contains(&true) && inside.contains(&false));
    }

    #[test]
    fn every_wrapper_asks_about_rows_at_once() {
        let disc = Arc::new(Disc::default());
        let set = || Arc::clone(&disc) as Arc<dyn Set>;
        let fixed = "y = [\"a\", \"b\"]\nbounds = { a = [-2, 2], b = [-2, 2] }\n\
                     [[constraint]]\nexpr = \"a >= 0\"\n";
        let half = || from_toml(fixed).unwrap();
        compare(&half().and(set()).unwrap(), &disc, 1);
        compare(&half().or(set()).unwrap(), &disc, 1);
        compare(&Not::new(set()).unwrap(), &disc, 1);
        let turned = Affine::new(set(), vec![0.0, 1.5, -1.0, 0.2], vec![0.1, 0.0]).unwrap();
        compare(&turned, &disc, 1);
        compare(&Shrink::new(set(), 0.1).unwrap(), &disc, 17);
    }

    #[test]
    fn equations_leave_rows_together() {
        let disc = Disc {
            equations: vec![Equation {
                normal: vec![1.0, 1.0],
                constant: 0.3,
                slopes: vec![0.5],
            }],
            ..Disc::default()
        };
        let reduced = Reduced::of(&disc).unwrap().expect("an equation");
        compare(&reduced, &disc, 1);
    }
}
