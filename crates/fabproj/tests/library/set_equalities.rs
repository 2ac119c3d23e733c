//! Equalities of set files: what they state, what survives combinations, and what is refused.

use std::sync::Arc;

use fabproj::Membership;
use fabproj::set::{Set, SetError, built_in, from_toml};

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

/// y with a + b + c == 1 in [0, 1]³.
fn budget() -> Arc<dyn Set> {
    from_toml(
        "y = [\"a\", \"b\", \"c\"]\nbounds = { a = [0, 1], b = [0, 1], c = [0, 1] }\n\
         [[constraint]]\nexpr = \"a + b + c == 1\"\n",
    )
    .expect("a valid set")
}

#[test]
fn equations_that_follow_from_others_are_dropped() {
    let equations = constraint("a + b == s") + &constraint("2*a == 2*s - 2*b");
    let set = from_toml(&space(1.0, &equations)).unwrap();
    assert_eq!((set.dim(), set.equations().len()), (4, 1));
    let again = set.description().set().unwrap();
    assert_eq!(again.equations(), set.equations(), "the same every time");
}

#[test]
fn equations_survive_combinations() {
    let point = [0.2, 0.3, 0.5];
    let half = from_toml(
        "y = [\"a\", \"b\", \"c\"]\nbounds = { a = [0, 1], b = [0, 1], c = [0, 1] }\n\
         [[constraint]]\nexpr = \"a - b == 0\"\n",
    )
    .unwrap();
    let both = budget().and(half.clone()).unwrap();
    assert_eq!(both.equations().len(), 2);
    let either = budget().or(budget()).unwrap();
    assert_eq!(either.equations(), budget().equations());
    assert!(matches!(
        budget().or(half),
        Err(SetError::MixedEquations { .. })
    ));
    assert!(matches!(
        budget().complement(),
        Err(SetError::MixedEquations { .. })
    ));

    let shrunk = budget().shrink(0.1).unwrap();
    assert_eq!(shrunk.equations(), budget().equations());
    assert!(shrunk.contains(&point, &[]), "probes stay on the plane");
    assert!(!shrunk.contains(&[0.05, 0.45, 0.5], &[]));

    let matrix = vec![2.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 3.0];
    let image = budget().affine(matrix, vec![1.0, -1.0, 0.5]).unwrap();
    let moved = [
        2.0 * point[0] + 1.0,
        point[0] + point[1] - 1.0,
        3.0 * point[2] + 0.5,
    ];
    assert!(image.contains(&moved, &[]));
    for equation in image.equations() {
        let left: f64 = equation.normal.iter().zip(&moved).map(|(n, y)| n * y).sum();
        assert!((left - equation.constant).abs() < 1e-12);
    }
    assert!(built_in("torus").unwrap().equations().is_empty());
}

#[test]
fn points_in_single_precision_obey_equations() {
    let set = from_toml(
        "y = [\"a\", \"b\"]\nbounds = { a = [0, 900], b = [0, 900] }\n\
         [[constraint]]\nexpr = \"a + b == 700\"\n",
    )
    .unwrap();
    let (a, b) = (0.1_f32 + 233.0, 700.0_f32 - 233.0 - 0.1);
    assert!(set.contains(&[f64::from(a), f64::from(b)], &[]));
    assert!(!set.contains(&[f64::from(a), f64::from(b) + 1e-2], &[]));
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
            "make the other part an entry of `x`",
        ),
        (
            one("a + b == sin(s)"),
            6,
            "make the other part an entry of `x`",
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
            "4 independent equalities determine all 4 variables",
        ),
    ];
    for (text, line, part) in cases {
        let message = message(&text);
        assert!(message.starts_with(&format!("line {line}, ")), "{message}");
        assert!(message.contains(part), "`{part}` not in {message}");
    }
}
