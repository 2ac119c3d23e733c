//! Problems at the command line: train, solve, certify, inspect, bench.

use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

use crate::common::{folder, run, run_with_input, write};
#[cfg(unix)]
use crate::hostile::signals::stop_when;

/// Two plants that meet a demand; the best answer is known in closed form.
const PLANTS: &str = r#"
name = "plants"
y = ["p1", "p2"]
bounds = { p1 = [0, 5], p2 = [0, 5] }
x = ["demand", "price"]
x_bounds = { demand = [1, 6], price = [1, 3] }
[objective]
minimise = "0.1*p1^2 + 2*p1 + 0.2*p2^2 + price*p2"
[[constraint]]
expr = "p1 + p2 >= demand"
"#;

/// The best p1: marginal costs are equal, within the bounds.
fn best(demand: f64, price: f64) -> f64 {
    // 0.2 p1 + 2 = 0.4 (demand - p1) + price
    let free = (0.4 * demand + price - 2.0) / 0.6;
    free.clamp((demand - 5.0).max(0.0), demand.min(5.0))
}

/// A folder with `plants.toml` and the solver `plants`.
fn plants() -> TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    write(folder.path(), "plants.toml", PLANTS);
    let train = [
        "train",
        "plants.toml",
        "-o",
        "plants",
        "--samples",
        "50",
        "-q",
    ];
    run(folder.path(), &train).done();
    folder
}

/// What a command prints as JSON.
fn json(folder: &Path, arguments: &[&str]) -> Value {
    let mut arguments = arguments.to_vec();
    arguments.push("--json");
    let printed = run(folder, &arguments).done().stdout;
    serde_json::from_str(&printed).expect("JSON")
}

#[test]
fn answers_are_those_of_the_closed_form() {
    let folder = plants();
    let folder = folder.path();
    let mut x = "note,price,demand\n".to_owned();
    for row in 0..40 {
        let (demand, price) = (1.0 + f64::from(row) / 8.0, 1.0 + f64::from(row % 5) / 2.0);
        x += &format!("\"row {row}, kept\",{price},{demand}\n");
    }
    write(folder, "x.csv", &x);
    let solve = ["solve", "plants", "x.csv", "-o", "answers.csv"];
    let said = run(folder, &solve).done().stderr;
    assert!(said.contains("40 answers: 40 solved"), "{said}");
    let mut answers = csv::Reader::from_path(folder.join("answers.csv")).expect("answers");
    let header = ["note", "price", "demand", "p1", "p2", "objective", "status"];
    assert_eq!(answers.headers().expect("a header"), &header[..]);
    let mut seen = 0;
    for (row, record) in answers.records().enumerate() {
        let record = record.expect("a row");
        assert_eq!(record[0], format!("row {row}, kept"));
        let [price, demand, p1, p2, objective] =
            [1, 2, 3, 4, 5].map(|at| record[at].parse::<f64>().expect("a number"));
        assert!(
            (p1 - best(demand, price)).abs() < 1e-8 && p1 + p2 >= demand,
            "{record:?}"
        );
        let cost = 0.1 * p1 * p1 + 2.0 * p1 + 0.2 * p2 * p2 + price * p2;
        assert!((objective - cost).abs() < 1e-12 * cost, "{record:?}");
        assert_eq!(&record[6], "solved");
        seen += 1;
    }
    assert_eq!(seen, 40);
    run(folder, &solve).failed(1, &["answers.csv", "--force"]);
    write(folder, "twice.csv", "demand,price,p1\n1,2,3\n");
    let refused = run(folder, &["solve", "plants", "twice.csv"]);
    refused.failed(2, &["already has a column `p1`"]);
}

#[test]
fn x_that_is_wrong_is_named() {
    let folder = plants();
    let solve = |more: &[&str], x: &str| {
        let mut arguments = vec!["solve", "plants"];
        arguments.extend(more);
        run_with_input(folder.path(), &arguments, x)
    };
    let outside = solve(&[], "demand,price\n2,2\n7,2\n").done();
    for part in [
        "1 of 2 x lie outside",
        "row 2",
        "demand = 7.000",
        "[1.000, 6.000]",
    ] {
        assert!(outside.stderr.contains(part), "{part}: {}", outside.stderr);
    }
    solve(&["--refuse-outside"], "demand,price\n2,2\n7,2\n")
        .failed(1, &["row 2", "demand = 7.000"]);
    let infeasible = "demand,price\n2,2\n11,2\n";
    let ran = solve(&[], infeasible);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("error: 1 of 2 answers"),
        "{}",
        ran.stderr
    );
    assert!(
        ran.stdout
            .lines()
            .nth(2)
            .expect("a row")
            .ends_with(",maybe-infeasible")
    );
    solve(&["--allow-infeasible"], infeasible).done();
    solve(&[], "demand,price\n2,nan\n").failed(1, &["row 1", "price", "NaN"]);
    solve(&[], "demand\n2\n").failed(1, &["price"]);
    solve(&[], "demand,price\n2\n").failed(1, &["row 1"]);
}

#[test]
fn each_command_knows_what_a_file_holds() {
    let projectors = folder();
    let solve = run_with_input(projectors.path(), &["solve", "ring"], "x\n1\n");
    solve.failed(1, &["ring", "projector", "fabproj project"]);
    let folder = plants();
    let folder = folder.path();
    for command in ["project", "plot"] {
        let refused = run_with_input(folder, &[command, "plants"], "p1,p2\n1,1\n");
        refused.failed(1, &["plants", "fabproj solve"]);
    }
    run(folder, &["export", "plants", "--c", "plants.c"]).failed(1, &["plants", "solver"]);

    let inspected = run(folder, &["inspect", "plants"]).done().stdout;
    for part in ["a solver", "p1, p2", "demand from 1.000 to 6.000", "gap"] {
        assert!(inspected.contains(part), "{part}: {inspected}");
    }
    let inspected = json(folder, &["inspect", "plants"]);
    assert_eq!(inspected["dimension"], 2);
    assert_eq!(inspected["certificate"]["samples"], 50);

    let measured = json(folder, &["bench", "plants"]);
    assert!(
        measured["p50_ns"].as_f64().is_some_and(|ns| ns > 0.0),
        "{measured}"
    );

    let certified = json(
        folder,
        &["certify", "plants", "--samples", "200", "--seed", "7"],
    );
    let certificate = &certified;
    assert_eq!(
        (&certificate["samples"], &certificate["feasible"]),
        (&200.into(), &200.into())
    );
    for gap in ["mean", "median", "percentile_99", "worst"] {
        let gap = certificate[gap].as_f64().expect("a gap");
        assert!(gap.abs() < 1e-9, "{certificate}");
    }
    assert!(
        certificate["reference"]
            .as_str()
            .is_some_and(|name| name.len() > 10)
    );
    let kept = json(folder, &["inspect", "plants"]);
    assert_eq!(kept["certificate"], *certificate);

    write(folder, "other.toml", &PLANTS.replace("price*p2", "p2"));
    run(folder, &["certify", "plants", "other.toml"])
        .failed(1, &["was trained for the problem plants"]);
}

#[test]
fn options_of_sets_are_refused_for_problems() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let folder = folder.path();
    write(folder, "plants.toml", PLANTS);
    for (option, value) in [
        ("--plot", "a.svg"),
        ("--max-queries", "100"),
        ("--label", "ok"),
    ] {
        run(folder, &["train", "plants.toml", option, value]).failed(2, &[option]);
    }
    run(folder, &["train", "plants.toml", "--samples", "0"]).failed(2, &["--samples 0"]);
    let unknown = ["train", "plants.toml", "--setting", "goall=1"];
    run(folder, &unknown).failed(2, &["goall", "goal"]);
}

/// Plants that run at certain levels only: a membership test, without gradients.
#[test]
fn a_problem_with_alternatives_is_learned() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let folder = folder.path();
    let levels = "[[constraint]]\nany = [\"p1 <= 0.1\", \"p1 >= 2\"]\n";
    write(folder, "plants.toml", &format!("{PLANTS}{levels}"));
    let learned = |more: &[&str]| {
        let mut arguments = vec!["train", "plants.toml", "-o", "plants", "--force"];
        arguments.extend(more);
        run(folder, &arguments)
    };
    learned(&["--setting", "tool=structured"]).failed(1, &["membership test only", "tool"]);
    let quick = [
        "--quick",
        "--samples",
        "20",
        "--setting",
        "network_steps=300",
        "--setting",
        "known=64",
    ];
    let said = learned(&quick).done().stdout;
    assert!(said.contains("learned: mean gap"), "{said}");
    let inspected = run(folder, &["inspect", "plants"]).done().stdout;
    for part in ["learned: mean gap", "multi-start local search", "16 points"] {
        assert!(inspected.contains(part), "{part}: {inspected}");
    }
    let x: String = (0..30)
        .map(|row| format!("{},2\n", 1.0 + f64::from(row) / 6.0))
        .collect();
    let solved = run_with_input(folder, &["solve", "plants"], &format!("demand,price\n{x}"));
    for row in solved.done().stdout.lines().skip(1) {
        let fields: Vec<&str> = row.split(',').collect();
        let [demand, p1, p2] = [0, 2, 3].map(|at| fields[at].parse::<f64>().expect("a number"));
        assert!(p1 + p2 >= demand && (p1 <= 0.1 || p1 >= 2.0), "{row}");
    }
}

#[test]
fn a_problem_without_x_has_one_answer() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let folder = folder.path();
    let text = "name = \"one\"\ny = 3\nbounds = [0.0, 2.0]\n[objective]\n\
                minimise = \"sum((y - 1)^2)\"\n[[constraint]]\nexpr = \"sum(y) <= 1.5\"\n";
    write(folder, "one.toml", text);
    run(folder, &["train", "one.toml", "-o", "one", "-q"]).done();
    let answer = run(folder, &["solve", "one"]).done().stdout;
    let rows: Vec<&str> = answer.lines().collect();
    assert_eq!(rows[0], "y0,y1,y2,objective,status");
    let numbers = rows[1]
        .split(',')
        .take(4)
        .map(|field| field.parse::<f64>().expect("a number"));
    let numbers: Vec<f64> = numbers.collect();
    assert!(
        numbers[..3].iter().all(|y| (y - 0.5).abs() < 1e-9),
        "{answer}"
    );
    assert!((numbers[3] - 0.75).abs() < 1e-9, "{answer}");
}

#[test]
fn a_problem_without_feasible_points_is_refused() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let folder = folder.path();
    let text = "name = \"bad\"\ny = 2\nbounds = [-9.0, 9.0]\nx = 1\nx_bounds = [0.0, 1.0]\n\
                [objective]\nminimise = \"sum(y^2)\"\n\
                [[constraint]]\nexpr = \"norm(y - 3) <= -1 - x[0]\"\n";
    write(folder, "bad.toml", text);
    run(folder, &["train", "bad.toml", "-q"]).failed(1, &["no feasible point"]);
    assert!(!folder.join("bad.safetensors").exists());
}

#[cfg(unix)]
#[test]
fn a_stopped_training_of_a_solver_goes_on_to_the_same_file() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let folder = folder.path();
    // Sines, so that each optimum takes several steps, and many labels.
    let text = PLANTS.replace("price*p2", "price*p2 + 0.1*sin(3*p1)*sin(2*p2)");
    write(folder, "plants.toml", &text);
    let train = |model: &str| {
        format!(
            "train plants.toml -q --samples 20 --setting labels=8000 --setting tool=structured --threads 1 \
             -o {model}"
        )
    };
    let words = |line: &str| run(folder, &line.split(' ').collect::<Vec<_>>());
    words(&train("whole")).done();
    let said = stop_when(folder, &train("parts"), "parts.checkpoint/training.json");
    assert!(said.contains("--resume"), "{said}");
    assert!(!folder.join("parts").exists());
    words(&format!("{} --resume", train("parts"))).done();
    let file = |name: &str| std::fs::read(folder.join(name)).expect("a model");
    assert_eq!(file("whole"), file("parts"));
}
