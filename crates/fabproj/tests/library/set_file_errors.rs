//! Set files: what is said about wrong ones.

use crate::set_texts::{EXAMPLES, plane};
use fabproj::Membership;
use fabproj::set::{SetError, from_file, from_toml};
use proptest::prelude::*;

fn message(text: &str) -> String {
    match from_toml(text) {
        Ok(_) => panic!("accepted: {text}"),
        Err(error) => error.to_string(),
    }
}

/// The error's line, column, and parts of its message.
#[test]
fn errors_point_into_the_file() {
    let constraint = |text: &str| plane(&format!("[[constraint]]\nname = \"c\"\n{text}\n"));
    let expression = |text: &str| constraint(&format!("expr = \"{text}\""));
    let cases: Vec<(String, usize, usize, &str)> = vec![
        (expression("a + c1 <= 2"), 5, 13, "unknown name `c1`"),
        (expression("a + B <= 2"), 5, 13, "did you mean `b`"),
        (
            expression("sen(a) <= 2"),
            5,
            9,
            "unknown function `sen`; did you mean `sin`",
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
            "unknown name `oops`",
        ),
        (
            constraint("expr = 3"),
            5,
            8,
            "`expr` must be an expression in quotation marks, found a number",
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
            "unknown key `al`; did you mean `all`",
        ),
        (
            constraint("all = [{ any = [\"a <= 1\", \"d <= 1\"] }]"),
            5,
            28,
            "unknown name `d`",
        ),
        (
            constraint("any = [\"a == 1\", \"b <= 1\"]"),
            5,
            11,
            "use a tolerance there",
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
            "unknown key `epxr`; did you mean `expr`",
        ),
        (
            constraint(""),
            3,
            1,
            "exactly one of `expr`, `all`, `any`, `not`, found none",
        ),
        (
            constraint("expr = \"a <= 1\"\nall = [\"b <= 1\"]"),
            6,
            7,
            "found expr, all",
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
            "unknown key `lett`; did you mean `let`",
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
            "invalid name `1a`",
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
            "unknown name `inf`",
        ),
        ("y = [".to_owned(), 1, 6, "as TOML"),
        (String::new(), 1, 1, "`y` is missing"),
        ("y = []\nbounds = {}".to_owned(), 1, 5, "`y` is empty"),
        (
            "y = \"a\"\nbounds = {}".to_owned(),
            1,
            5,
            "`y` must be a list of names, found text",
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
            "the smaller one first, found [1, -1]",
        ),
        (
            "y = [\"a\"]\nbounds = { a = [1, inf] }".to_owned(),
            2,
            16,
            "found [1, inf]",
        ),
        (
            "y = [\"a\"]\nbounds = { a = [nan, 1] }".to_owned(),
            2,
            16,
            "found [NaN, 1]",
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
            "`aa` is not among the names of `y`; did you mean `a`",
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
    let shown = "line 4, column 13: unknown name `β`; did you mean `a`, `b` or `pi`?\n  \
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
    assert!(message(&nested).contains("as TOML"));
    let lists = plane(&format!("[[constraint]]\nall = {}\n", "[".repeat(10_000)));
    assert!(message(&lists).contains("as TOML"));
    assert!(message(&" ".repeat(1_000_001)).contains("1000001; the limit is 1000000"));
    let different = (0..200_000).map(|i| format!("+{i}*a")).take(100_000);
    let many = constraint(format!("a {} <= 1", different.collect::<String>()));
    assert!(message(&many).contains("the limit is"));
    for binary in ["\0\u{1}\u{2}", "\u{feff}\u{feff}", "🦀 = 1"] {
        assert!(message(binary).starts_with("line 1"));
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
        binary.contains("set.toml, line 1, column 9: a set file must be UTF-8 text"),
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
        if let Ok(set) = from_toml(&text) {
            let (y, x) = (vec![0.5; set.dim()], vec![0.5; set.x_dim()]);
            let mut gradient = vec![0.0; set.dim()];
            let violation = set.violation(&y, &x, &mut gradient);
            prop_assert_eq!(violation == Some(0.0), set.contains(&y, &x));
            prop_assert!(gradient.iter().all(|value| value.is_finite()));
        }
    }

    #[test]
    fn arbitrary_expressions_never_panic(text in "[-+*/^()<>=, .0-9abexpsincoqrtmlg]{0,40}") {
        let text = plane(&format!("[[constraint]]\nexpr = '{text}'\n"));
        let _ = from_toml(&text);
    }
}
