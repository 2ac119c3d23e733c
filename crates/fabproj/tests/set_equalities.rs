//! Equalities of set files: what is eliminated, and what is refused.

use fabproj::core::Lift;
use fabproj::set::{FileSet, Set, from_description, from_toml};
use proptest::prelude::*;

/// A set of `a`, `b`, `c` and `d` in [-scale, scale] with the parameters s and t in [0, 1].
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

fn message(text: &str) -> String {
    let error = from_toml(text).err();
    error
        .unwrap_or_else(|| panic!("accepted: {text}"))
        .to_string()
}

fn lift_of(set: &dyn Set) -> &Lift {
    set.reduced().expect("equalities").lift()
}

#[test]
fn equations_hold_in_every_raised_point() {
    for scale in [1.0, 1e3] {
        let text = space(
            scale,
            "[[constraint]]\nall = [\"2*(a - b)/3 + c == 0.25 + s - 2*t\", \"c <= 0.5\"]\n\
             [[constraint]]\nexpr = \"-d == a - pi*s\"\n",
        );
        let set = from_toml(&text).unwrap();
        assert_eq!((set.dim(), set.x_dim()), (2, 2));
        let lift = lift_of(set.as_ref());
        let full = FileSet::parse(&text).unwrap();
        for step in 0..200 {
            let wave = |i: usize| (step as f64 * 0.7 + i as f64 * 1.9).sin();
            let (y, x) = (
                [0, 1, 2, 3].map(|i| scale * wave(i)),
                [wave(4).abs(), wave(5).abs()],
            );
            let (mut z, mut raised) = ([0.0; 2], [0.0; 4]);
            lift.lower(&y, &x, &mut z).unwrap();
            lift.raise(&z, &x, &mut raised).unwrap();
            let [a, b, c, d] = raised;
            let first = 2.0 * (a - b) / 3.0 + c - (0.25 + x[0] - 2.0 * x[1]);
            let second = -d - (a - std::f64::consts::PI * x[0]);
            assert!(first.abs() < 1e-11 * scale && second.abs() < 1e-11 * scale);
            let inside = raised.iter().all(|y| y.abs() <= scale) && c <= 0.5;
            assert_eq!(set.contains(&z, &x), inside);
            assert_eq!(
                full.contains(&raised, &x),
                c <= 0.5,
                "the full set has no bounds"
            );
            assert!(
                !full.contains(&[a, b, c + 1e-5, d], &x),
                "1e-6 is the tolerance"
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
    let set = from_toml(&text).unwrap();
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
fn equations_that_follow_from_others_are_dropped() {
    let equations = constraint("a + b == s") + &constraint("2*a == 2*s - 2*b");
    let set = from_toml(&space(1.0, &equations)).unwrap();
    assert_eq!(set.dim(), 3);
    let again = from_description(&set.description()).unwrap();
    assert_eq!(
        lift_of(again.as_ref()),
        lift_of(set.as_ref()),
        "the same every time"
    );
}

#[test]
fn inputs_of_interest_come_from_the_box_of_y() {
    let set = from_toml(&space(2.0, &constraint("a + b == s"))).unwrap();
    let lift = lift_of(set.as_ref());
    let mut numbers = [0.9, 0.1, 0.5, 0.25].into_iter();
    let (mut z, mut expected) = ([0.0; 3], [0.0; 3]);
    set.draw_input(&[0.5, 0.0], &mut || numbers.next().unwrap(), &mut z);
    lift.lower(&[1.6, -1.6, 0.0, -1.0], &[0.5, 0.0], &mut expected)
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
    let set = from_toml(&text).unwrap();
    let widths: Vec<f64> = set.bounds().iter().map(|(low, high)| high - low).collect();
    assert!(
        widths[0] > 5e3 && widths[1] < 5.0,
        "one large and one small: {widths:?}"
    );
}

#[test]
fn what_cannot_be_eliminated_is_refused_with_a_remedy() {
    let one = |expression: &str| space(1.0, &constraint(expression));
    let cases = [
        (one("a*b == 1"), 6, "not affine in y"),
        (one("a^2 == 1"), 6, "abs(left - right) <= tolerance"),
        (one("sin(a) + b == s"), 6, "not affine in y"),
        (one("a / b == 2"), 6, "not affine in y"),
        (
            one("s*a + b == 1"),
            6,
            "coefficients of y in this equality depend on x",
        ),
        (
            one("a / s == 1"),
            6,
            "coefficients of y in this equality depend on x",
        ),
        (
            one("a + b == s*t"),
            6,
            "make the part that is not affine a parameter",
        ),
        (
            one("a + b == sin(s)"),
            6,
            "make the part that is not affine a parameter",
        ),
        (one("s == t"), 6, "does not depend on y"),
        (one("0*a == 1"), 6, "does not depend on y"),
        (one("a + b == 5"), 6, "no point within the bounds"),
        (
            space(
                1.0,
                &(constraint("a + b == 1") + &constraint("a == 0.5 - b")),
            ),
            8,
            "contradicts those before it",
        ),
        (
            space(1.0, &(constraint("a + b == s") + &constraint("a + b == t"))),
            8,
            "contradicts those before it",
        ),
        (
            space(
                1.0,
                "[[constraint]]\nall = [\"a == 0\", \"b == 0\", \"c == s\", \"d == 0\"]\n",
            ),
            6,
            "nothing left to decide: 4 variables, and 4 equalities",
        ),
    ];
    for (text, line, part) in cases {
        let message = message(&text);
        assert!(message.starts_with(&format!("line {line}, ")), "{message}");
        assert!(message.contains(part), "`{part}` not in {message}");
    }
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
        let set = from_toml(&space(1.0, &constraint(&equation))).unwrap();
        let lift = lift_of(set.as_ref());
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
                lift.lower(&y, &[0.0; 2], &mut z)?;
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
