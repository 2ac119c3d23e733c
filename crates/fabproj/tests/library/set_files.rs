//! Set files: what they mean.

use std::sync::Arc;

use crate::set_texts::{EXAMPLES, plane};
use fabproj::Membership;
use fabproj::set::{Set, from_toml};

/// One constraint on `a` and `b`.
fn one(expression: &str) -> Arc<dyn Set> {
    let text = plane(&format!("[[constraint]]\nexpr = \"{expression}\"\n"));
    from_toml(&text).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn the_examples_decide_as_they_are_written() {
    let sets = EXAMPLES.map(|text| from_toml(text).unwrap());
    let [corridor, crescent, slit, spiral, cheese, islands, intervals] = &sets;

    let mut y = [0.0; 20];
    assert!(!corridor.contains(&y, &[]), "the ring has a hole");
    y[0] = 0.7;
    assert!(corridor.contains(&y, &[]));
    y[2..7].fill(1.0);
    assert_eq!(corridor.violated(&y, &[]), ["budget"]);
    y[2..8].fill(-1.001);
    assert_eq!(corridor.violated(&y, &[]), ["box"]);

    assert!(crescent.contains(&[900.0, -550.0], &[]));
    assert!(!crescent.contains(&[1080.0, -470.0], &[]), "the bite");
    assert!(!crescent.contains(&[700.0, -500.0], &[]), "beyond the disc");

    assert!(slit.contains(&[0.0, 1.0], &[0.0]));
    assert!(!slit.contains(&[0.0, 1.0], &[std::f64::consts::FRAC_PI_2]));
    assert_eq!((slit.dim(), slit.x_dim()), (2, 1));
    assert_eq!(slit.x_names(), ["t"]);

    let inside = |m: f64, n: f64| {
        let radius = (m * m + n * n).sqrt();
        (n.atan2(m) - 3.0 * radius).sin() >= 0.3 && (0.4..=2.0).contains(&radius)
    };
    for step in 0..1000 {
        let (m, n) = (
            (step as f64 * 0.37).sin() * 2.2,
            (step as f64 * 0.73).cos() * 2.2,
        );
        assert_eq!(spiral.contains(&[m, n], &[]), inside(m, n), "({m}, {n})");
    }

    assert!(cheese.contains(&[0.0, 0.0], &[]));
    assert_eq!(cheese.violated(&[1.0, 1.0], &[]), ["hole 1"]);
    assert_eq!(cheese.violated(&[5.0, 5.0], &[]), ["block"]);

    assert!(islands.contains(&[-2.0, -2.5], &[]) && islands.contains(&[2.0, -1.0], &[]));
    assert!(!islands.contains(&[0.0, 0.0], &[]));

    assert!(intervals.contains(&[0.0], &[]) && intervals.contains(&[2.5], &[]));
    assert!(!intervals.contains(&[1.5], &[]));
}

#[test]
fn violations_are_zero_exactly_inside_and_have_the_right_gradients() {
    for text in EXAMPLES {
        let set = from_toml(text).unwrap();
        let (dim, x) = (set.dim(), vec![0.4; set.x_dim()]);
        let mut gradient = vec![0.0; dim];
        let mut unused = vec![0.0; dim];
        let mut checked = 0;
        for point in 0..200 {
            let draw = |i: usize, (low, high): (f64, f64)| {
                let share = ((point * 31 + i * 17) as f64 * 0.618_033_988_7).fract();
                low + (high - low) * share
            };
            let bounds = set.bounds().into_iter().enumerate();
            let y: Vec<f64> = bounds.map(|(i, bounds)| draw(i, bounds)).collect();
            let violation = set.violation(&y, &x, &mut gradient).unwrap();
            assert_eq!(violation == 0.0, set.contains(&y, &x));
            for i in 0..dim {
                let mut at = |offset: f64| {
                    let mut y = y.clone();
                    y[i] += offset;
                    set.violation(&y, &x, &mut unused).unwrap()
                };
                let scale = y[i].abs().max(1.0);
                let step = 1e-6 * scale;
                let (right, left) = (
                    (at(step) - violation) / step,
                    (violation - at(-step)) / step,
                );
                // Kinks have no derivative.
                if (right - left).abs() < 1e-3 * (1.0 + right.abs()) {
                    let difference = 0.5 * (left + right);
                    let error = (gradient[i] - difference).abs();
                    assert!(
                        error <= 1e-3 * (1.0 + difference.abs()),
                        "{}: {y:?} coordinate {i}: {} but {difference}",
                        set.description().hash(),
                        gradient[i]
                    );
                    checked += usize::from(violation > 0.0);
                }
            }
        }
        assert!(checked > 50, "enough points outside");
    }
}

#[test]
fn expressions_mean_what_mathematics_means() {
    let cases = [
        ("-a^2", -4.0),
        ("2^3^2", 512.0),
        ("2^-a", 0.25),
        ("1 - 2 - 3", -4.0),
        ("12 / 3 / 2", 2.0),
        ("2 * -a", -4.0),
        ("1e-3 + .5 + 2.", 2.501),
        ("a + b * a", 8.0),
        ("(a + b) * a", 10.0),
        ("min(a, b, -1)", -1.0),
        ("max(a, b, -1)", 3.0),
        ("norm(a, b, 6)", 7.0),
        ("norm(-a)", 2.0),
        ("pow(b, a)", 9.0),
        ("b^0.5", 3f64.sqrt()),
        ("atan2(a, b)", 2f64.atan2(3.0)),
        (
            "sin(a) + cos(a) + tan(a)",
            2f64.sin() + 2f64.cos() + 2f64.tan(),
        ),
        (
            "asin(a/4) + acos(a/4) + atan(a)",
            0.5f64.asin() + 0.5f64.acos() + 2f64.atan(),
        ),
        (
            "sinh(a) + cosh(a) + tanh(a)",
            2f64.sinh() + 2f64.cosh() + 2f64.tanh(),
        ),
        (
            "exp(a) + log(a) + sqrt(a) + abs(-a)",
            2f64.exp() + 2f64.ln() + 2f64.sqrt() + 2.0,
        ),
        ("cos(pi) + a", 1.0),
    ];
    for (expression, expected) in cases {
        let (below, above) = (expected - 1e-9, expected + 1e-9);
        let set = one(&format!("{expression} <= {above:e}"));
        assert!(
            set.contains(&[2.0, 3.0], &[]),
            "{expression} is larger than {expected}"
        );
        let set = one(&format!("{expression} >= {below:e}"));
        assert!(
            set.contains(&[2.0, 3.0], &[]),
            "{expression} is smaller than {expected}"
        );
    }
}

#[test]
fn boundaries_are_as_the_comparison_says() {
    for (expression, inside) in [
        ("a <= 1", true),
        ("a >= 1", true),
        ("a < 1", false),
        ("a > 1", false),
    ] {
        let set = one(expression);
        assert_eq!(set.contains(&[1.0, 0.0], &[]), inside, "{expression}");
        let violation = set.violation(&[1.0, 0.0], &[], &mut [0.0; 2]).unwrap();
        assert_eq!(violation == 0.0, inside, "{expression}");
    }
}

#[test]
fn lists_nest_and_not_turns_them_round() {
    let text = plane(
        "[[constraint]]\nany = [\"a <= 0\", { all = [\"a >= 1\", { not = \"b < 2\" }] }]\n\
         [[constraint]]\nnot = { any = [\"b > 5\", { all = [\"b > 3\", \"a > 3\"] }] }\n",
    );
    let set = from_toml(&text).unwrap();
    let expected =
        |a: f64, b: f64| (a <= 0.0 || (a >= 1.0 && b >= 2.0)) && !(b > 5.0 || (b > 3.0 && a > 3.0));
    for i in -20..=20 {
        for j in -20..=20 {
            let (a, b) = (f64::from(i) * 0.5, f64::from(j) * 0.5);
            assert_eq!(set.contains(&[a, b], &[]), expected(a, b), "({a}, {b})");
            let violation = set.violation(&[a, b], &[], &mut [0.0; 2]).unwrap();
            assert_eq!(violation == 0.0, expected(a, b), "({a}, {b})");
        }
    }
    assert_eq!(
        set.violated(&[0.5, 6.0], &[]),
        ["constraint 1", "constraint 2"]
    );
    // The smallest violation of a list of which any may hold, the sum of one that must hold as a whole.
    let mut gradient = [0.0; 2];
    assert_eq!(set.violation(&[0.75, 1.75], &[], &mut gradient), Some(0.5));
    assert_eq!(gradient, [-1.0, -1.0]);
}

#[test]
fn what_is_not_a_number_is_never_inside() {
    for expression in [
        "sqrt(a) >= -1",
        "log(a) < 100",
        "max(sqrt(a), 1) <= 2",
        "sqrt(a)^0 <= 2",
    ] {
        assert!(!one(expression).contains(&[-1.0, 0.0], &[]), "{expression}");
        let text = plane(&format!("[[constraint]]\nnot = \"{expression}\"\n"));
        let opposite = from_toml(&text).unwrap();
        assert!(!opposite.contains(&[-1.0, 0.0], &[]), "not {expression}");
        let violation = opposite.violation(&[-1.0, 0.0], &[], &mut [0.0; 2]);
        assert_eq!(violation, Some(f64::INFINITY));
    }
    let set = one("b <= 1");
    assert!(
        !set.contains(&[f64::NAN, 0.0], &[]),
        "also where no constraint looks"
    );
    assert!(!set.contains(&[f64::INFINITY, 0.0], &[]));
}

#[test]
fn named_expressions_come_in_any_order() {
    let text = plane(
        "[let]\nz = \"half * a\"\nhalf = 0.5\ncount = 3\nbig = \"z * count\"\nangle_1 = \"-z\"\n\
         [[constraint]]\nexpr = \"big + angle_1 <= 2\"\n",
    );
    let set = from_toml(&text).unwrap();
    assert!(set.contains(&[2.0, 0.0], &[]) && !set.contains(&[2.1, 0.0], &[]));
}

#[test]
fn long_but_sound_texts_are_accepted() {
    let sum = (0..5_000)
        .map(|i| format!(" + {i}e-3 * a"))
        .collect::<String>();
    let set = one(&format!("b{sum} <= 1"));
    assert!(set.contains(&[0.0, 0.5], &[]) && !set.contains(&[1.0, 0.5], &[]));
    let nested = format!("{}a{}", "(".repeat(150), ")".repeat(150));
    assert!(one(&format!("{nested} <= 1")).contains(&[0.0, 0.0], &[]));
    let lists = (0..30).fold("\"a <= 1\"".to_owned(), |inner, _| {
        format!("{{ all = [{inner}] }}")
    });
    let text = plane(&format!("[[constraint]]\nany = [{lists}]\n"));
    assert!(from_toml(&text).unwrap().contains(&[0.0, 0.0], &[]));
}

#[test]
fn sets_are_rebuilt_from_their_descriptions() {
    for text in EXAMPLES {
        let set = from_toml(text).unwrap();
        let again = set.description().set().unwrap();
        assert_eq!(again.description(), set.description());
        assert_eq!(again.bounds(), set.bounds());
        let hash = |text: &str| from_toml(text).unwrap().description().hash();
        let commented = format!("# A comment.\n{text}\n");
        assert_eq!(hash(&commented), hash(text), "what it means is the same");
        let name = &set.names()[0];
        let narrower = format!("{text}\n[[constraint]]\nexpr = \"{name} <= 1e6\"\n");
        assert_ne!(hash(&narrower), hash(text));
    }
}
