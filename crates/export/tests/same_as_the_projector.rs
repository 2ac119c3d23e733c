//! Graphs and C files give what the projector gives, for every kind of weights.

mod kinds;

use std::process::Command;

use fabproj_core::{LatentSet, Projector, RawOutcome, Weights};
use fabproj_export::{Graph, c};

use kinds::{Numbers, cases};

/// Points near and far, and some that are not finite.
fn points(dim: usize, x_dim: usize) -> Vec<(Vec<f32>, Vec<f32>)> {
    let mut numbers = Numbers(3);
    let mut all: Vec<_> = (0..400)
        .map(|index| {
            let size = if index % 5 == 0 { 30.0 } else { 3.0 };
            (numbers.many(dim, size), numbers.many(x_dim, 1.5))
        })
        .collect();
    let mut bad = numbers.many(dim, 1.0);
    bad[1] = f32::NAN;
    all.push((bad.clone(), numbers.many(x_dim, 1.0)));
    bad[1] = f32::INFINITY;
    all.push((bad, numbers.many(x_dim, 1.0)));
    all
}

fn distance(a: &[f32], b: &[f32]) -> f32 {
    a.iter()
        .zip(b)
        .map(|(a, b)| (a - b).abs())
        .fold(0.0, f32::max)
}

#[test]
fn graphs_give_what_the_projector_gives() {
    for (name, weights) in cases() {
        let (projector, graph) = (
            Projector::new(&weights).unwrap(),
            Graph::new(&weights).unwrap(),
        );
        let mut clamped = 0;
        for (y, x) in points(projector.dim(), projector.x_dim()) {
            let (wanted, outcome) = projector.project(&y, &x).unwrap();
            clamped += usize::from(outcome == RawOutcome::Clamped);
            let found = graph.project(&y, &x);
            assert!(
                distance(&wanted, &found) < 1e-5,
                "{name} {outcome} at {y:?} {x:?}: {found:?}, not {wanted:?}"
            );
        }
        assert!(clamped > 0, "{name} clamps nothing");
    }
}

#[test]
fn c_files_give_what_the_projector_gives() {
    let folder = tempfile::tempdir().unwrap();
    for (name, weights) in cases() {
        let projector = Projector::new(&weights).unwrap();
        let (dim, x_dim) = (projector.dim(), projector.x_dim());
        let source = folder.path().join(format!("{name}.c"));
        let program = folder.path().join(&name);
        std::fs::write(
            &source,
            c(&weights, &name).unwrap() + &main_of(&name, dim, x_dim),
        )
        .unwrap();
        let flags = [
            "-std=c99",
            "-O1",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-pedantic",
            "-fsanitize=undefined,address",
            "-fno-sanitize-recover=all",
        ];
        let compiled = Command::new("cc")
            .args(flags)
            .arg(&source)
            .arg("-o")
            .arg(&program)
            .arg("-lm")
            .output();
        let Ok(compiled) = compiled else {
            eprintln!("no C compiler: skipped");
            return;
        };
        assert!(
            compiled.status.success(),
            "{name}: {}",
            String::from_utf8_lossy(&compiled.stderr)
        );
        let points = points(dim, x_dim);
        let text: Vec<String> = points
            .iter()
            .flat_map(|(y, x)| y.iter().chain(x))
            .map(|value| format!("{value:e}"))
            .collect();
        std::fs::write(folder.path().join("points"), text.join("\n")).unwrap();
        let input = std::fs::File::open(folder.path().join("points")).unwrap();
        let output = Command::new(&program).stdin(input).output().unwrap();
        assert!(
            output.status.success(),
            "{name}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        let output = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.lines().count(), points.len());
        for ((y, x), line) in points.iter().zip(output.lines()) {
            let mut found = line.split(' ').map(|word| word.parse::<f32>().unwrap());
            let (wanted, outcome) = projector.project(y, x).unwrap();
            assert_eq!(
                found.next(),
                Some(f32::from(outcome as u8)),
                "{name} at {y:?} {x:?}"
            );
            let found: Vec<f32> = found.collect();
            assert!(
                distance(&wanted, &found) < 1e-5,
                "{name} at {y:?} {x:?}: {found:?}, not {wanted:?}"
            );
        }
    }
}

/// A program that projects what it reads.
fn main_of(name: &str, dim: usize, x_dim: usize) -> String {
    let x = x_dim.max(1);
    format!(
        "\n#include <stdio.h>\n#include <stdlib.h>\n\
         static int number(float *value) {{\n    char word[64];\n    if (scanf(\"%63s\", word) != 1) return 0;\n    \
         *value = strtof(word, NULL);\n    return 1;\n}}\n\
         int main(void) {{\n    float y[{dim}], x[{x}];\n    size_t i;\n    for (;;) {{\n        int outcome;\n        \
         for (i = 0; i < {dim}; ++i)\n            if (!number(&y[i])) return 0;\n        \
         for (i = 0; i < {x_dim}; ++i)\n            if (!number(&x[i])) return 1;\n        \
         outcome = {name}_project(y, {argument}, y);\n        printf(\"%d\", outcome);\n        \
         for (i = 0; i < {dim}; ++i) printf(\" %.9g\", (double)y[i]);\n        printf(\"\\n\");\n    }}\n}}\n",
        argument = if x_dim > 0 { "x" } else { "NULL" },
    )
    .replace("for (i = 0; i < 0; ++i)\n            if (!number(&x[i])) return 1;\n", "(void)x;\n")
}

#[test]
fn names_and_weights_are_checked() {
    let disc = LatentSet::Ball {
        radius: 0.5,
        smooth: None,
    };
    let mut weights = Weights::identity(2, disc);
    for name in ["", "2d", "a-b", "_x", "ä"] {
        let error = c(&weights, name).unwrap_err().to_string();
        assert!(error.contains("cannot begin a name in C"), "{error}");
    }
    weights.charts[0].encoder.layers[0].bias.pop();
    assert!(Graph::new(&weights).is_err() && c(&weights, "disc").is_err());
}
