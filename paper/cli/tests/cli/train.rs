//! `fab-paper train` as a user meets it.

use std::fmt::Write;

use crate::{folder, run};

/// Rows of a ring in two columns.
fn ring_points(rows: usize) -> String {
    let mut text = String::from("north,east,label\n");
    for row in 0..rows {
        // The golden ratio's multiples fill the square evenly.
        let (north, east) = (
            4.0 * (0.618_034 * row as f64).fract() - 2.0,
            4.0 * (0.414_214 * row as f64).fract() - 2.0,
        );
        let inside = (1.0..=1.8).contains(&f64::hypot(north, east));
        writeln!(text, "{north},{east},{}", u8::from(inside)).expect("text");
    }
    text
}

#[test]
fn labels_alone_are_enough() {
    let folder = folder();
    std::fs::write(folder.path().join("points.csv"), ring_points(1500)).expect("a file");
    let arguments = [
        "train",
        "points.csv",
        "--y",
        "north,east",
        "--quick",
        "--setting",
        "effort=0.002",
        "--samples",
        "500",
        "--json",
    ];
    let json = run(folder.path(), &arguments).done().json();
    assert_eq!(json["training"]["samples"], 1500);
    assert_eq!(json["statistical"], true);
}
