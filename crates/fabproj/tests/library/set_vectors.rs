//! Set files with vectors and matrices: NumPy's rules.

use std::sync::Arc;

use fabproj::Membership;
use fabproj::set::{Set, from_toml};
use fabproj::solve::Problem;
use proptest::prelude::*;

/// Three entries of y, two of x, and some arrays.
fn text(constraint: &str) -> String {
    format!(
        "y = 3\nbounds = [-9, 9]\nx = 2\nx_bounds = [-9, 9]\n\
         arrays = {{ p = [1, -2, 3], M = [[1, 2, 3], [4, 5, 6]], h = [10, 20] }}\n\
         [let]\nhalf = \"y / 2\"\n[[constraint]]\nexpr = \"{constraint}\"\n"
    )
}

fn set(constraint: &str) -> Arc<dyn Set> {
    from_toml(&text(constraint)).unwrap_or_else(|error| panic!("{error}"))
}

const Y: [f64; 3] = [1.0, 2.0, 4.0];
const X: [f64; 2] = [3.0, -1.0];

#[test]
fn expressions_mean_what_they_mean_in_numpy() {
    let cases = [
        ("p @ y", 9.0),
        ("y @ p", 9.0),
        ("y @ y", 21.0),
        ("dot(y, half)", 10.5),
        ("(M @ y)[0]", 17.0),
        ("(M @ y)[-1]", 38.0),
        ("(x @ M)[2]", 3.0),
        ("(M.T @ x)[2]", 3.0),
        ("sum(2 * M @ y - h)", 80.0),
        ("(-M / 2 @ y)[0]", -8.5),
        ("sum(y)", 7.0),
        ("sum(y[1:])", 6.0),
        ("sum(y[:2]) + sum(y[-1:])", 7.0),
        ("y[0] + y1 + x[1]", 2.0),
        ("norm(y[0:2])", 5f64.sqrt()),
        ("norm(y - p)", 17f64.sqrt()),
        ("max(y)", 4.0),
        ("min(y * p)", -4.0),
        ("sum(max(y, 2))", 8.0),
        ("sum(min(y, p))", 2.0),
        ("sum(abs(p))", 6.0),
        ("sum(y^2)", 21.0),
        ("sum(sin(y))", 1f64.sin() + 2f64.sin() + 4f64.sin()),
        (
            "y @ sin(half)",
            0.5f64.sin() + 2.0 * 1f64.sin() + 4.0 * 2f64.sin(),
        ),
        ("sum(norm(y, p))", 2f64.sqrt() + 8f64.sqrt() + 5.0),
        ("M @ y @ x", 13.0),
        ("x @ (M @ (y * half))", 3.0 * 28.5 - 60.0),
    ];
    for (expression, expected) in cases {
        for (relation, limit) in [("<=", expected + 1e-9), (">=", expected - 1e-9)] {
            let set = set(&format!("{expression} {relation} {limit:e}"));
            assert!(set.contains(&Y, &X), "{expression} {relation} {expected}");
        }
    }
}

#[test]
fn vectors_are_compared_row_by_row() {
    let rows = set("M @ y <= h");
    assert!(!rows.contains(&Y, &X));
    assert!(rows.contains(&[1.0, 1.0, 1.0], &X));
    assert!(!rows.contains(&[3.0, 2.0, 1.1], &X), "the first row alone");
    assert!(!rows.contains(&[2.0, 2.0, 1.0], &X), "the second row alone");
    let mut gradient = [0.0; 3];
    assert_eq!(rows.violation(&Y, &X, &mut gradient), Some(7.0 + 18.0));
    assert_eq!(gradient, [5.0, 7.0, 9.0]);

    let opposite = text("M @ y <= h").replace("expr =", "not =");
    let opposite = from_toml(&opposite).unwrap();
    assert!(opposite.contains(&[2.0, 2.0, 1.0], &X));
    assert!(!opposite.contains(&[1.0, 1.0, 1.0], &X));
}

#[test]
fn equalities_of_vectors_are_eliminated() {
    let equal = set("M @ y == x");
    assert_eq!(equal.equations().len(), 2);
    // A solution of both rows.
    let y = [-17.0 / 3.0, 13.0 / 3.0, 0.0];
    assert!(equal.contains(&y, &X));
    assert!(!equal.contains(&[0.0; 3], &X));
}

#[test]
fn unnamed_variables_have_numbered_names_and_files_rebuild_themselves() {
    let first = set("M @ y <= x + sum(half)");
    assert_eq!(first.names(), ["y0", "y1", "y2"]);
    assert_eq!(first.x_names(), ["x0", "x1"]);
    let again = first.description().set().unwrap();
    assert_eq!(again.description(), first.description());
    let bounds = text("sum(y) <= 1").replace(
        "bounds = [-9, 9]\nx = 2",
        "bounds = { y0 = [0, 1], y1 = [0, 2], y2 = [0, 3] }\nx = 2",
    );
    assert_eq!(from_toml(&bounds).unwrap().bounds()[2], (0.0, 3.0));
}

#[test]
fn errors_name_both_shapes() {
    let cases = [
        ("M @ x <= h", "the shapes (2, 3) and (2,) do not match"),
        ("y + h <= 1", "the shapes (3,) and (2,) do not match"),
        ("y <= h", "the shapes (3,) and (2,) do not match"),
        ("2 @ y <= h", "the shapes a number and (3,) do not match"),
        ("M @ M <= 1", "matrices take `@` with a vector"),
        ("M + 1 <= 1", "a matrix of shape (2, 3)"),
        ("M <= 1", "a matrix of shape (2, 3)"),
        (
            "y[3] <= 1",
            "index 3 is out of range: the vector has 3 entries",
        ),
        ("y[-4] <= 1", "index -4 is out of range"),
        ("y[2:2] <= 1", "this slice is empty"),
        (
            "y[0.5] <= 1",
            "expected a whole number, found the number 0.5",
        ),
        ("y[] <= 1", "expected a whole number or a slice"),
        ("y[1 <= 1", "expected a whole number, `:` or `]`"),
        (
            "x[0][0] <= 1",
            "only vectors have entries, found shape a number",
        ),
        ("z @ y <= 1", "unknown name `z`"),
    ];
    for (constraint, expected) in cases {
        let error = from_toml(&text(constraint)).err().expect(constraint);
        let message = error.to_string();
        assert!(message.contains(expected), "{constraint}: {message}");
        assert!(message.contains("line 9, column"), "{message}");
    }
}

#[test]
fn arrays_and_objectives_are_checked() {
    let arrays = |arrays: &str| text("sum(y) <= 1").replace("p = [1, -2, 3]", arrays);
    let objective = |line: &str| text("sum(y) <= 1").replace("[let]", &format!("{line}\n[let]"));
    let cases = [
        (arrays("p = []"), "the array `p` must be a list of numbers"),
        (arrays("p = 3"), "the array `p` must be a list of numbers"),
        (arrays("p = [[1], [2, 3]]"), "rows of equal length"),
        (arrays("p = [1, nan]"), "the array `p` holds NaN at entry 1"),
        (arrays("p = [1, inf]"), "the array `p` holds inf at entry 1"),
        (arrays("y = [1]"), "the name `y` is taken"),
        (arrays("sin = [1]"), "the name `sin` is taken"),
        (
            objective("[objective]\nminimise = \"y\""),
            "the objective must be one number, found shape (3,)",
        ),
        (
            objective("[objective]\nminimize = \"sum(y)\""),
            "unknown key `minimize`; did you mean `minimise`",
        ),
        (objective("[objective]"), "the key `minimise` is missing"),
        (objective("objective = 3"), "`objective` must be a table"),
        (
            text("sum(y) <= 1").replace("y = 3", "y = 0"),
            "`y` is empty",
        ),
        (
            text("sum(y) <= 1").replace("y = 3", "y = 2.5"),
            "a list of names, or a number",
        ),
        (
            text("sum(y) <= 1").replace("y = 3", "y = 1000000"),
            "the limit is",
        ),
    ];
    for (text, expected) in cases {
        let error = from_toml(&text).err().expect(expected);
        let message = error.to_string();
        assert!(message.contains(expected), "{message}");
    }
    from_toml(&objective("[objective]\nminimise = \"p @ y\"")).unwrap();
}

#[test]
fn a_problem_is_a_set_with_an_objective() {
    let with = |constraint: &str| {
        text(constraint).replace(
            "[let]",
            "[objective]\nminimise = \"p @ sin(y) + norm(half - p) * x[0]\"\n[let]",
        )
    };
    let problem = Problem::from_toml(&with("M @ (y * half) >= h - x")).unwrap();
    let functions = problem.functions();
    assert_eq!(
        (functions.dim(), functions.x_dim(), functions.rows()),
        (3, 2, 2)
    );
    let mut memory = vec![0.0; functions.memory()];
    let mut at = |y: &[f64; 3]| {
        let mut rows = [0.0; 2];
        let objective = functions.values(y, &X, &mut rows, &mut memory);
        (objective, rows)
    };
    let (_, rows) = at(&Y);
    assert_eq!(rows, [7.0 - 28.5, 21.0 - 60.0]);

    // Derivatives against central differences.
    let (weights, direction, step) = ([0.7, -1.3], [0.2, -0.5, 1.1], 1e-6);
    let mut expected = [0.0; 3];
    for (index, expected) in expected.iter_mut().enumerate() {
        let moved = |by: f64| {
            let mut y = Y;
            y[index] += by;
            y
        };
        let (more, less) = (at(&moved(step)), at(&moved(-step)));
        let rows: f64 = (0..2)
            .map(|row| weights[row] * (more.1[row] - less.1[row]))
            .sum();
        *expected = (more.0 - less.0 + rows) / (2.0 * step);
    }
    let along = |by: f64| std::array::from_fn(|index| Y[index] + by * direction[index]);
    let (more, less) = (at(&along(step)).1, at(&along(-step)).1);
    at(&Y);
    let (mut gradient, mut slopes) = ([0.0; 3], [0.0; 2]);
    functions.gradient(&Y, &X, &weights, &mut gradient, &mut memory);
    functions.slopes(&Y, &X, &direction, &mut slopes, &mut memory);
    for (found, expected) in gradient.iter().zip(expected) {
        assert!((found - expected).abs() < 1e-6, "{found} {expected}");
    }
    for row in 0..2 {
        let expected = (more[row] - less[row]) / (2.0 * step);
        assert!(
            (slopes[row] - expected).abs() < 1e-6,
            "{} {expected}",
            slopes[row]
        );
    }

    // With alternatives there is a membership test only: −1 inside, 1 outside.
    let either = with("y[0] <= 1").replace(
        "expr = \"y[0] <= 1\"",
        "any = [\"y[0] <= 1\", \"y[1] >= 2\"]",
    );
    assert!(from_toml(&either).unwrap().contains(&Y, &X));
    let problem = Problem::from_toml(&either).unwrap();
    let (functions, mut inside) = (problem.functions(), [0.0]);
    let mut memory = vec![0.0; functions.memory()];
    for (y, expected) in [(Y, -1.0), ([2.0, 0.0, 0.0], 1.0)] {
        functions.values(&y, &X, &mut inside, &mut memory);
        assert_eq!(inside, [expected]);
    }
    let message = Problem::from_toml(&text("y <= 1"))
        .err()
        .unwrap()
        .to_string();
    assert!(message.contains("add [objective]"), "{message}");
}

#[cfg(feature = "npz")]
#[test]
fn arrays_come_from_a_file_of_numpy() {
    use fabproj::set::from_file;

    // numpy.savez("dispatch.npz", G=[[1, 2.5, -3], [0.1, 1/3, 4]], h=[1.0, 2.0], single=numpy.float32(…))
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/library/set_texts");
    let set =
        from_file(format!("{folder}/dispatch.toml")).unwrap_or_else(|error| panic!("{error}"));
    assert!(set.contains(&[0.5, 0.0, 0.25], &[]));
    // The second row: 0.1 + y1 / 3 + 4 · 0 ≤ 2.
    assert!(set.contains(&[1.0, -1.0, 0.475], &[]));
    assert!(!set.contains(&[1.0, 0.0, 0.48], &[]));
    // The text alone is the whole set.
    let again = set.description().set().unwrap();
    assert!(!again.contains(&[1.0, 0.0, 0.48], &[]));

    let missing = tempfile::tempdir().unwrap();
    let file = missing.path().join("set.toml");
    std::fs::copy(format!("{folder}/dispatch.toml"), &file).unwrap();
    let message = from_file(&file).err().unwrap().to_string();
    assert!(
        message.contains("cannot read the arrays of `dispatch.npz`"),
        "{message}"
    );
    assert!(message.contains("line 3, column 10"), "{message}");
    let alone = std::fs::read_to_string(&file).unwrap();
    let message = from_toml(&alone).err().unwrap().to_string();
    assert!(message.contains("`arrays` names a file"), "{message}");
}

proptest! {
    /// A product whose vector lies scattered over the tape gives the same values and gradients as the
    /// sums that it stands for.
    #[test]
    fn products_are_sums(
        y in prop::array::uniform3(-3.0..3.0f64),
        x in prop::array::uniform2(-3.0..3.0f64),
        exponent in 1..4i32,
    ) {
        let short = set(&format!("x @ (M @ (p - sin(y)))^{exponent} + M @ y @ x <= -20"));
        let sums = set(&format!(
            "x0 * (1*(1-sin(y0)) + 2*(-2-sin(y1)) + 3*(3-sin(y2)))^{exponent}
             + x1 * (4*(1-sin(y0)) + 5*(-2-sin(y1)) + 6*(3-sin(y2)))^{exponent}
             + x0 * (y0 + 2*y1 + 3*y2) + x1 * (4*y0 + 5*y1 + 6*y2) <= -20"
        ).replace('\n', " "));
        let (mut a, mut b) = ([0.0; 3], [0.0; 3]);
        let (violation, expected) = (short.violation(&y, &x, &mut a), sums.violation(&y, &x, &mut b));
        let (violation, expected) = (violation.unwrap(), expected.unwrap());
        prop_assert!((violation - expected).abs() <= 1e-9 * (1.0 + expected.abs()));
        for (a, b) in a.iter().zip(b) {
            prop_assert!((a - b).abs() <= 1e-9 * (1.0 + b.abs()), "{a} {b}");
        }
    }
}
