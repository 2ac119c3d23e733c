//! The example `examples/portfolio`: guarded weights obey the budget and the rule of the least position.

use std::path::Path;

use crate::common::{run, run_with_input};

/// Proposals with a label: weights that take no notice of any rule.
fn proposals(count: usize) -> String {
    let mut text = "fund,w1,w2,w3,w4,w5,w6,w7,w8\n".to_owned();
    for index in 0..count {
        let raw: Vec<f64> = (1..=8)
            .map(|asset| {
                (f64::from(asset) * 0.618_034 + index as f64 * 0.414_214)
                    .fract()
                    .powi(3)
            })
            .collect();
        let total: f64 = raw.iter().sum();
        let weights: Vec<String> = raw.iter().map(|w| (w / total).to_string()).collect();
        text += &format!("fund-{index},{}\n", weights.join(","));
    }
    text
}

#[test]
fn guarded_weights_obey_every_rule() {
    let folder = tempfile::tempdir().unwrap();
    let set = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/portfolio/portfolio.toml");
    let set = set.to_str().unwrap();
    let arguments = ["train", set, "--quick", "--json", "-o", "portfolio"];
    let less = "--samples 10000 --setting phase-two=300 --setting rounds=1";
    let arguments = arguments.into_iter().chain(less.split(' '));
    let json = run(folder.path(), &arguments.collect::<Vec<_>>())
        .done()
        .json();
    assert_eq!(json["certificate"]["guarded_feasible"], 1.0, "{json}");

    let arguments = ["project", "portfolio", "--guard"];
    let ran = run_with_input(folder.path(), &arguments, &proposals(500)).done();
    assert_eq!(
        ran.stdout.lines().next(),
        Some("fund,w1,w2,w3,w4,w5,w6,w7,w8,outcome")
    );
    for line in ran.stdout.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let weights: Vec<f64> = fields[1..9].iter().map(|w| w.parse().unwrap()).collect();
        assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-6, "{line}");
        // Rounding of decimal input may cost a last digit.
        let none = |w: f64| (-1e-9..=0.01 + 1e-9).contains(&w);
        let held = |w: f64| (0.05 - 1e-9..=0.6 + 1e-9).contains(&w);
        assert!(weights.iter().all(|w| none(*w) || held(*w)), "{line}");
    }
}
