//! The example `examples/two-link-arm`: what the guard returns really clears the obstacle.

use std::f64::consts::PI;
use std::path::Path;

use crate::common::{run, run_with_input};

/// The arm of the set file once more, independently of it: the least distance from the obstacle's centre
/// to either link.
fn clearance(q: [f64; 2], obstacle: [f64; 2]) -> f64 {
    let elbow = [q[0].cos(), q[0].sin()];
    let hand = [
        elbow[0] + 0.8 * (q[0] + q[1]).cos(),
        elbow[1] + 0.8 * (q[0] + q[1]).sin(),
    ];
    to_segment(obstacle, [0.0, 0.0], elbow).min(to_segment(obstacle, elbow, hand))
}

fn to_segment(point: [f64; 2], from: [f64; 2], to: [f64; 2]) -> f64 {
    let along = [to[0] - from[0], to[1] - from[1]];
    let offset = [point[0] - from[0], point[1] - from[1]];
    let dot = |a: [f64; 2], b: [f64; 2]| a[0] * b[0] + a[1] * b[1];
    let share = (dot(offset, along) / dot(along, along)).clamp(0.0, 1.0);
    (offset[0] - share * along[0]).hypot(offset[1] - share * along[1])
}

/// Poses and obstacles all over their ranges.
fn points(count: usize) -> String {
    let mut text = "time,q1,q2,ox,oy\n".to_owned();
    for index in 0..count {
        let at = |step: f64, low: f64, high: f64| {
            let share = (0.5 + index as f64 * step).fract();
            low + (high - low) * share
        };
        // Steps of the four-dimensional golden ratio.
        text += &format!(
            "{index},{},{},{},{}\n",
            at(0.856_674_883_854_502_8, -PI, PI),
            at(0.733_891_856_627_126, -PI, PI),
            at(0.628_706_721_037_701_1, 0.5, 1.1),
            at(0.538_597_257_223_609_3, -0.6, 0.6)
        );
    }
    text
}

#[test]
fn a_quick_model_under_guard_never_touches_the_obstacle() {
    let folder = tempfile::tempdir().unwrap();
    let set = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/two-link-arm/arm.toml");
    let set = set.to_str().unwrap();
    let arguments = ["train", set, "--quick", "--json", "-o", "arm"];
    let less = "--samples 20000 --setting phase-two=500 --setting rounds=1";
    let arguments = arguments.into_iter().chain(less.split(' '));
    let json = run(folder.path(), &arguments.collect::<Vec<_>>())
        .done()
        .json();
    let certificate = &json["certificate"];
    assert!(
        certificate["raw_feasible"].as_f64().unwrap() > 0.8,
        "{certificate}"
    );
    assert_eq!(certificate["guarded_feasible"], 1.0);
    assert_eq!(certificate["slices"].as_array().unwrap().len(), 32);
    let named = certificate["worst_slice"]["name"].as_str().unwrap();
    assert!(named.contains("in ["), "{named}");

    let points = points(2000);
    let ran = run_with_input(folder.path(), &["project", "arm", "--guard"], &points).done();
    let mut moved = 0;
    for line in ran.stdout.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let number = |index: usize| fields[index].parse::<f64>().unwrap();
        let (q, obstacle) = ([number(1), number(2)], [number(3), number(4)]);
        assert!(clearance(q, obstacle) >= 0.3, "{line}");
        assert!(q[0].abs() <= 2.9 && q[1].abs() <= 2.6, "{line}");
        moved += usize::from(fields[5] != "kept");
    }
    assert!(moved > 500, "{moved}");

    let without = points.replace("oy\n", "height\n");
    let ran = run_with_input(folder.path(), &["project", "arm", "--guard"], &without);
    ran.failed(1, &["no column `oy`", "q1,q2,ox,oy"]);
}
