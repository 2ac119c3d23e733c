//! Set files: what they mean, and what is said about wrong ones.

use fabproj::set::{ConstraintSet, FileSet, SetError, from_description, from_file, from_toml};
use proptest::prelude::*;

const EXAMPLES: [&str; 7] = [
    include_str!("../../../examples/sets/corridor-20d.toml"),
    include_str!("../../../examples/sets/far-crescent.toml"),
    include_str!("../../../examples/sets/rotating-slit.toml"),
    include_str!("../../../examples/sets/spiral.toml"),
    include_str!("../../../examples/sets/swiss-cheese.toml"),
    include_str!("../../../examples/sets/three-islands.toml"),
    include_str!("../../../examples/sets/two-intervals.toml"),
];

/// A set of `a` and `b` in [-10, 10] with more text behind the bounds.
fn plane(rest: &str) -> String {
    format!("y = [\"a\", \"b\"]\nbounds = {{ a = [-10, 10], b = [-10, 10] }}\n{rest}")
}

/// One constraint on `a` and `b`.
fn one(expression: &str) -> FileSet {
    let text = plane(&format!("[[constraint]]\nexpr = \"{expression}\"\n"));
    FileSet::parse(&text).unwrap_or_else(|error| panic!("{error}"))
}

fn message(text: &str) -> String {
    match FileSet::parse(text) {
        Ok(_) => panic!("accepted: {text}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn the_examples_decide_as_they_are_written() {
    let sets = EXAMPLES.map(|text| FileSet::parse(text).unwrap());
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
    assert_eq!((slit.dim(), slit.parameter_dim()), (2, 1));
    assert_eq!(slit.parameter_names(), ["t"]);

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
        let set = FileSet::parse(text).unwrap();
        let (dim, x) = (set.dim(), vec![0.4; set.parameter_dim()]);
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
    let set = FileSet::parse(&text).unwrap();
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
        let opposite = FileSet::parse(&text).unwrap();
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
    let set = FileSet::parse(&text).unwrap();
    assert!(set.contains(&[2.0, 0.0], &[]) && !set.contains(&[2.1, 0.0], &[]));
}

/// The error's line, column, and parts of its message.
#[test]
fn errors_point_into_the_file() {
    let constraint = |text: &str| plane(&format!("[[constraint]]\nname = \"c\"\n{text}\n"));
    let expression = |text: &str| constraint(&format!("expr = \"{text}\""));
    let cases: Vec<(String, usize, usize, &str)> = vec![
        (expression("a + c1 <= 2"), 5, 13, "no name `c1`"),
        (expression("a + B <= 2"), 5, 13, "near names: b"),
        (
            expression("sen(a) <= 2"),
            5,
            9,
            "no function `sen`; near names: sin",
        ),
        (
            expression("sin <= 2"),
            5,
            13,
            "expected `(` after the name of a function",
        ),
        (
            expression("a(2) <= 2"),
            5,
            10,
            "expected an operator, such as `*`",
        ),
        (
            expression("atan2(a) <= 2"),
            5,
            9,
            "`atan2` takes two arguments, not 1",
        ),
        (
            expression("sin() <= 2"),
            5,
            9,
            "`sin` takes one argument, not 0",
        ),
        (expression("norm() <= 2"), 5, 9, "at least one argument"),
        (
            expression("(a + b <= 2"),
            5,
            16,
            "expected an operator or `)`, found `<=`",
        ),
        (
            expression("a + <= 2"),
            5,
            13,
            "expected a number, a name, `-` or `(`, found `<=`",
        ),
        (
            expression("a + b"),
            5,
            14,
            "a comparison (<=, >=, <, > or ==), found the end",
        ),
        (
            expression("0 <= a <= 1"),
            5,
            16,
            "all = [\"a <= b\", \"b <= c\"]",
        ),
        (
            expression("2 a <= 1"),
            5,
            11,
            "an operator or a comparison (<=, >=, <, > or ==), found `a`",
        ),
        (expression("a = 1"), 5, 11, "expected `==` for an equality"),
        (expression("a != 1"), 5, 11, "found `!=`"),
        (expression("a ** 2 <= 1"), 5, 11, "expected `^` for a power"),
        (expression("a <= 1 && b <= 1"), 5, 16, "all = […]"),
        (expression("a ≤ 1"), 5, 11, "`<=` or `>=`, found `≤`"),
        (expression("a $ 1"), 5, 11, "found `$`"),
        (expression("a <= 1e999"), 5, 14, "`1e999` is not a number"),
        (expression("a <= sqrt(1 - 2)"), 5, 14, "its value is NaN"),
        (expression("a <= 1 / 0"), 5, 16, "its value is inf"),
        (expression(""), 5, 8, "expected a number"),
        (
            constraint("expr = '''\n a <= oops'''"),
            6,
            7,
            "no name `oops`",
        ),
        (
            constraint("expr = 3"),
            5,
            8,
            "`expr` must be an expression in quotation marks, and here is a number",
        ),
        (constraint("any = \"a <= 1\""), 5, 7, "`any` must be a list"),
        (constraint("any = []"), 5, 7, "`any` is empty"),
        (
            constraint("any = [\"a <= 1\", 3]"),
            5,
            18,
            "an entry of `any` must be an expression or a table",
        ),
        (
            constraint("any = [{ al = [\"a <= 1\"] }]"),
            5,
            10,
            "no key `al` here; near names: all",
        ),
        (
            constraint("all = [{ any = [\"a <= 1\", \"d <= 1\"] }]"),
            5,
            28,
            "no name `d`",
        ),
        (
            constraint("any = [\"a == 1\", \"b <= 1\"]"),
            5,
            11,
            "give a tolerance there",
        ),
        (
            constraint("not = \"a == 1\""),
            5,
            10,
            "within `any` or `not`",
        ),
        (
            constraint("epxr = \"a <= 1\""),
            5,
            1,
            "no key `epxr` here; near names: expr",
        ),
        (
            constraint(""),
            3,
            1,
            "exactly one of `expr`, `all`, `any`, `not`, and this one has none",
        ),
        (
            constraint("expr = \"a <= 1\"\nall = [\"b <= 1\"]"),
            6,
            7,
            "has expr, all",
        ),
        (plane(""), 1, 1, "`constraint` is missing"),
        (plane("constraint = []"), 3, 14, "at least one constraint"),
        (
            plane("[constraint]\nexpr = \"a <= 1\""),
            3,
            1,
            "two brackets",
        ),
        (
            plane("[lett]\nr = \"1\""),
            3,
            2,
            "no key `lett` here; near names: let",
        ),
        (
            plane("[let]\nr = \"s\"\ns = \"t+1\"\nt = \"r\"\n[[constraint]]\nexpr=\"a<=r\""),
            4,
            1,
            "r → s → t → r",
        ),
        (
            plane("[let]\nr = \"r\"\n[[constraint]]\nexpr=\"a<=r\""),
            4,
            1,
            "r → r",
        ),
        (
            plane("[let]\na = \"1\"\n[[constraint]]\nexpr=\"a<=1\""),
            4,
            1,
            "the name `a` is taken",
        ),
        (
            plane("[let]\nsin = \"1\"\n[[constraint]]\nexpr=\"a<=1\""),
            4,
            1,
            "the name `sin` is taken",
        ),
        (
            plane("[let]\n\"1a\" = \"1\"\n[[constraint]]\nexpr=\"a<=1\""),
            4,
            1,
            "`1a` is not a name",
        ),
        (
            plane("[let]\nr = \"a <= 1\"\n[[constraint]]\nexpr=\"a<=1\""),
            4,
            8,
            "[let] holds values",
        ),
        (
            plane("[let]\nr = inf\n[[constraint]]\nexpr=\"a<=1\""),
            4,
            5,
            "no name `inf`",
        ),
        ("y = [".to_owned(), 1, 6, "not TOML"),
        (String::new(), 1, 1, "`y` is missing"),
        ("y = []\nbounds = {}".to_owned(), 1, 5, "`y` is empty"),
        (
            "y = \"a\"\nbounds = {}".to_owned(),
            1,
            5,
            "`y` must be a list of names, and here is text",
        ),
        ("y = [\"a\"]".to_owned(), 1, 1, "`bounds` is missing"),
        (
            "y = [\"a\"]\nbounds = {}".to_owned(),
            1,
            6,
            "`a` has no bounds: add `a = [low, high]` to `bounds`",
        ),
        (
            "y = [\"a\"]\nbounds = { a = [1, -1] }".to_owned(),
            2,
            16,
            "the bounds of `a` are [1, -1]",
        ),
        (
            "y = [\"a\"]\nbounds = { a = [1, inf] }".to_owned(),
            2,
            16,
            "are [1, inf]",
        ),
        (
            "y = [\"a\"]\nbounds = { a = [nan, 1] }".to_owned(),
            2,
            16,
            "are [NaN, 1]",
        ),
        (
            "y = [\"a\"]\nbounds = { a = [-1.7e308, 1.7e308] }".to_owned(),
            2,
            16,
            "the bounds of `a`",
        ),
        (
            "y = [\"a\"]\nbounds = { a = [1] }".to_owned(),
            2,
            16,
            "two numbers",
        ),
        (
            "y = [\"a\"]\nbounds = { a = [1, \"2\"] }".to_owned(),
            2,
            16,
            "two numbers",
        ),
        (
            "y = [\"a\"]\nbounds = { a = [1, 2], aa = [1, 2] }".to_owned(),
            2,
            24,
            "`aa` is not among the names of `y`; near names: a",
        ),
        (
            "y = [\"a\"]\nbounds = { a = [1, 2] }\nx = [\"t\"]".to_owned(),
            1,
            1,
            "`x_bounds` is missing",
        ),
        (
            "y = [\"a\", \"a\"]\nbounds = { a = [1, 2] }\n[[constraint]]\nexpr = \"a <= 1\""
                .to_owned(),
            1,
            11,
            "the name `a` is taken",
        ),
        (
            "y = [\"pi\"]\nbounds = { pi = [1, 2] }\n[[constraint]]\nexpr = \"pi <= 1\"".to_owned(),
            1,
            6,
            "the name `pi` is taken",
        ),
    ];
    let wrong = cases.into_iter().filter_map(|(text, line, column, part)| {
        let (message, place) = (message(&text), format!("line {line}, column {column}: "));
        let right = message.starts_with(&place) && message.contains(part);
        (!right).then(|| format!("{place}`{part}` expected in\n{message}\n"))
    });
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_line_is_shown_with_a_mark() {
    let text = plane("[[constraint]]\nexpr = \"a + β <= 2\"\n");
    let shown = "line 4, column 13: there is no name `β`; near names: a, b, pi\n  \
                 4 | expr = \"a + β <= 2\"\n    |             ^";
    assert_eq!(message(&text), shown);
    let long = plane(&format!(
        "[[constraint]]\nexpr = \"{}oops <= 2\"\n",
        "a + ".repeat(1000)
    ));
    let message = message(&long);
    assert!(
        message.starts_with("line 4, column 4009: ") && message.len() < 400,
        "{message}"
    );
}

#[test]
fn hostile_texts_are_refused_quickly() {
    let constraint = |text: String| plane(&format!("[[constraint]]\nexpr = \"{text}\"\n"));
    let deep = [
        format!("{}a{} <= 1", "(".repeat(100_000), ")".repeat(100_000)),
        format!("{}a <= 1", "-".repeat(100_000)),
        format!("{}a <= 1", "a^".repeat(100_000)),
        format!("{}a <= 1", "sin(".repeat(100_000)),
    ];
    for expression in deep {
        assert!(message(&constraint(expression)).contains("nested deeper than 200 levels"));
    }
    let nested = format!(
        "{}\"a <= 1\"{}",
        "{ not = ".repeat(10_000),
        " }".repeat(10_000)
    );
    let nested = plane(&format!("[[constraint]]\nnot = {nested}\n"));
    assert!(message(&nested).contains("not TOML"));
    let lists = plane(&format!("[[constraint]]\nall = {}\n", "[".repeat(10_000)));
    assert!(message(&lists).contains("not TOML"));
    assert!(message(&" ".repeat(1_000_001)).contains("1000001; the limit is 1000000"));
    let different = (0..200_000).map(|i| format!("+{i}*a")).take(100_000);
    let many = constraint(format!("a {} <= 1", different.collect::<String>()));
    assert!(message(&many).contains("the limit is"));
    for binary in ["\0\u{1}\u{2}", "\u{feff}\u{feff}", "🦀 = 1"] {
        assert!(message(binary).starts_with("line 1"));
    }
}

#[test]
fn long_but_sound_texts_are_accepted() {
    let sum = (0..5_000)
        .map(|i| format!(" + {i}e-3 * a"))
        .collect::<String>();
    let set = one(&format!("b{sum} <= 1"));
    assert!(set.contains(&[0.0, 0.5], &[]) && !set.contains(&[1.0, 0.5], &[]));
    assert_eq!(set.operations(), 10_000);
    let nested = format!("{}a{}", "(".repeat(150), ")".repeat(150));
    assert!(one(&format!("{nested} <= 1")).contains(&[0.0, 0.0], &[]));
    let lists = (0..30).fold("\"a <= 1\"".to_owned(), |inner, _| {
        format!("{{ all = [{inner}] }}")
    });
    let text = plane(&format!("[[constraint]]\nany = [{lists}]\n"));
    assert!(FileSet::parse(&text).unwrap().contains(&[0.0, 0.0], &[]));
}

#[test]
fn sets_are_rebuilt_from_their_descriptions() {
    for text in EXAMPLES {
        let set = from_toml(text).unwrap();
        let again = from_description(&set.description()).unwrap();
        assert_eq!(again.description(), set.description());
        assert_eq!(again.bounds(), set.bounds());
        let changed = from_toml(&format!("{text}\n")).unwrap();
        assert_ne!(changed.description().hash(), set.description().hash());
    }
}

#[test]
fn files_are_named_in_errors() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("set.toml");
    let missing = from_file(&path).err().unwrap();
    assert!(matches!(missing, SetError::Unreadable { .. }), "{missing}");
    std::fs::write(&path, b"name = \"\xff\"").unwrap();
    let binary = from_file(&path).err().unwrap().to_string();
    assert!(
        binary.contains("set.toml, line 1, column 9: a set file is UTF-8 text"),
        "{binary}"
    );
    std::fs::write(&path, EXAMPLES[1]).unwrap();
    assert!(from_file(&path).unwrap().contains(&[900.0, -550.0], &[]));
}

proptest! {
    #[test]
    fn changed_files_never_panic(
        example in 0..EXAMPLES.len(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), 0usize..4, "[ -~]{0,3}|\\PC"), 1..6),
    ) {
        let mut text: Vec<char> = EXAMPLES[example].chars().collect();
        for (place, length, inserted) in changes {
            let place = place.index(text.len());
            let end = (place + length).min(text.len());
            text.splice(place..end, inserted.chars());
        }
        let text: String = text.into_iter().collect();
        if let Ok(set) = FileSet::parse(&text) {
            let (y, x) = (vec![0.5; set.dim()], vec![0.5; set.parameter_dim()]);
            let mut gradient = vec![0.0; set.dim()];
            let violation = set.violation(&y, &x, &mut gradient);
            prop_assert_eq!(violation == Some(0.0), set.contains(&y, &x));
            prop_assert!(gradient.iter().all(|value| value.is_finite()));
        }
    }

    #[test]
    fn arbitrary_expressions_never_panic(text in "[-+*/^()<>=, .0-9abexpsincoqrtmlg]{0,40}") {
        let text = plane(&format!("[[constraint]]\nexpr = '{text}'\n"));
        let _ = FileSet::parse(&text);
    }
}
