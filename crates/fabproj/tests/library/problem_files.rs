//! Problem files: where x comes from, and constraints with alternatives.

#[cfg(feature = "csv")]
use fabproj::set::from_file;
#[cfg(feature = "csv")]
use fabproj::solve::{self, GapPlan, SolveSettings, Tool};
use fabproj::solve::{Distribution, Problem};

const DISPATCH: &str = "name = \"dispatch\"\ny = 2\nbounds = [0, 9]\nx = [\"demand\", \"price\"]\n\
    x_data = \"history.csv\"\n[objective]\nminimise = \"y[0]^2 + price*y[1]\"\n[[constraint]]\n\
    expr = \"sum(y) == demand\"\n";

fn folder(toml: &str, csv: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::write(folder.path().join("dispatch.toml"), toml).expect("a file");
    std::fs::write(folder.path().join("history.csv"), csv).expect("a file");
    folder
}

#[cfg(feature = "csv")]
#[test]
fn x_comes_from_the_columns_of_a_table_by_their_names() {
    let folder = folder(DISPATCH, "hour,price,demand\n0,2.5,4\n1,3,5.5\n2,2,6\n");
    let file = folder.path().join("dispatch.toml");
    let problem = Problem::from_file(&file).expect("a problem");
    let rows = vec![4.0, 2.5, 5.5, 3.0, 6.0, 2.0];
    assert_eq!(*problem.distribution(), Distribution::Rows(rows.clone()));
    assert_eq!(
        from_file(&file).expect("a set").x_bounds(),
        [(4.0, 6.0), (2.0, 3.0)]
    );
    // A model file keeps the rows.
    let fabproj::set::Description::File { text, .. } = problem.description() else {
        panic!("not a file");
    };
    let again = Problem::from_toml(text).expect("a problem");
    assert_eq!(*again.distribution(), Distribution::Rows(rows));
}

#[cfg(feature = "csv")]
#[test]
fn what_is_wrong_with_the_data_is_said_where_the_file_names_it() {
    let cases = [
        (
            "hour,demand\n0,4\n",
            vec!["line 5, column 10", "history.csv", "price"],
        ),
        ("price,demand\n2,NaN\n", vec!["line 5", "demand", "NaN"]),
        ("price,demand\n2,x\n", vec!["line 5", "`x`", "not a number"]),
    ];
    for (csv, words) in cases {
        let folder = folder(DISPATCH, csv);
        let error = Problem::from_file(folder.path().join("dispatch.toml"))
            .err()
            .expect("an error")
            .to_string();
        for word in words {
            assert!(error.contains(word), "{word}: {error}");
        }
    }
    let missing = DISPATCH.replace("history", "absent");
    let folder = folder(&missing, "");
    let error = Problem::from_file(folder.path().join("dispatch.toml"))
        .err()
        .expect("an error");
    assert!(error.to_string().contains("absent.csv"), "{error}");
}

#[test]
fn rows_of_another_length_are_refused_with_both_shapes() {
    let text = DISPATCH.replace("\"history.csv\"", "[[1, 2, 3], [4, 5, 6]]");
    let error = Problem::from_toml(&text)
        .err()
        .expect("an error")
        .to_string();
    for word in ["line 5", "(2, 3)", "(2,)"] {
        assert!(error.contains(word), "{word}: {error}");
    }
    let error = Problem::from_toml(DISPATCH)
        .err()
        .expect("an error")
        .to_string();
    assert!(error.contains("x_data = [[1, 2], [3, 4]]"), "{error}");
}

#[test]
fn constraints_with_alternatives_are_only_asked() {
    let text = "name = \"levels\"\ny = [\"p\"]\nbounds = { p = [0, 4] }\nx = [\"t\"]\n\
        x_bounds = { t = [0, 4] }\n[objective]\nminimise = \"(p - t)^2\"\n[[constraint]]\n\
        any = [\"p <= 0.1\", \"p >= 2\"]\n";
    let problem = Problem::from_toml(text).expect("a problem");
    assert!(problem.asked().is_some());
    let mut inside = [0.0];
    let mut memory = vec![0.0; problem.functions().memory()];
    for (p, expected) in [(0.05, -1.0), (1.0, 1.0), (3.0, -1.0), (f64::NAN, 1.0)] {
        problem
            .functions()
            .values(&[p], &[1.0], &mut inside, &mut memory);
        assert_eq!(inside, [expected], "{p}");
    }
}

/// A problem file of the examples.
#[cfg(feature = "csv")]
fn example(path: &str) -> Problem {
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/");
    Problem::from_file(format!("{examples}{path}")).expect("a problem")
}

#[cfg(feature = "csv")]
#[test]
fn the_dispatch_of_the_examples_is_solved_exactly() {
    let problem = example("dispatch/dispatch.toml");
    let mut model = solve::train(&problem, &SolveSettings::default()).expect("a solver");
    assert_eq!(model.record().training.chosen.tool, Tool::Structured);
    let certificate = model
        .certify(&problem, &GapPlan::default())
        .expect("a certificate");
    assert_eq!(certificate.feasible, certificate.samples);
    assert!(certificate.worst < 1e-9, "{certificate:?}");
}

#[cfg(feature = "csv")]
#[test]
fn the_arm_of_the_examples_is_only_asked() {
    let problem = example("arm/arm.toml");
    let arm = problem.asked().expect("a set with alternatives");
    // Stretched out along the first axis, the arm touches a post there and passes one beside.
    assert!(!arm.contains(&[0.0, 0.0, 0.0], &[1.0, 1.0, 1.0, 0.0]));
    assert!(arm.contains(&[0.0, 0.0, 0.0], &[1.0, 1.0, 1.0, 0.6]));
    // The post is beside the second link, and beyond its ends.
    assert!(!arm.contains(&[1.5, -1.5, 0.0], &[1.0, 1.0, 0.6, 0.8]));
    // The wrist locks in steps.
    assert!(!arm.contains(&[1.5, 0.0, 0.6], &[1.0, 1.0, 1.0, -0.8]));
    assert!(arm.contains(&[1.5, 0.0, 1.0], &[1.0, 1.0, 1.0, -0.8]));
}
