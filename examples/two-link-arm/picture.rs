//! Draws the arm of `arm.toml`: the pose that was asked for, and the one that the guarded projector gives,
//! while an obstacle passes by.
//!
//! ```text
//! fabproj train examples/two-link-arm/arm.toml -o arm.safetensors
//! cargo run --release --example two_link_arm -- arm.safetensors arm.svg
//! ```

use std::error::Error;
use std::fmt::Write;

use fabproj::{Model, Outcome};

/// The pose that we would like to keep.
const WANTED: [f64; 2] = [0.1, 0.5];
/// Panels, and the side of each in pixels.
const PANELS: usize = 5;
const SIDE: f64 = 236.0;
/// Metres from a panel's middle to its edge.
const REACH: f64 = 1.2;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(model), Some(picture)) = (arguments.next(), arguments.next()) else {
        return Err("usage: two_link_arm MODEL PICTURE.svg".into());
    };
    let model = Model::load(&model)?;
    let guard = model.guard(model.set()?)?;

    let (width, height) = (PANELS as f64 * SIDE, SIDE + 34.0);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         font-family=\"Roboto, Helvetica, Arial, sans-serif\" font-size=\"13\" fill=\"#5a687d\">\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n"
    );
    for panel in 0..PANELS {
        // From above to below, across the arm.
        let share = panel as f64 / (PANELS - 1) as f64;
        let obstacle = [1.0 - 0.3 * share, 0.5 - 0.9 * share];
        let (pose, outcome) = guard.project(&WANTED, &obstacle)?;
        draw(&mut svg, panel, obstacle, [pose[0], pose[1]], outcome)?;
    }
    svg += "</svg>\n";
    std::fs::write(&picture, svg)?;
    println!("{picture} written");
    Ok(())
}

fn draw(
    svg: &mut String,
    panel: usize,
    obstacle: [f64; 2],
    pose: [f64; 2],
    outcome: Outcome,
) -> std::fmt::Result {
    let scale = 0.5 * SIDE / REACH;
    let left = panel as f64 * SIDE;
    // The arm works to the right: its foot is left of the middle.
    let place = |[x, y]: [f64; 2]| {
        let (right, up) = (x - 0.85, y - 0.1);
        (left + 0.5 * SIDE + scale * right, 0.5 * SIDE - scale * up)
    };
    let (x, y) = place(obstacle);
    let radius = 0.3 * scale;
    writeln!(
        svg,
        "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius:.1}\" fill=\"#f3c7c7\" stroke=\"#dc2626\"/>"
    )?;
    let mut links = |pose: [f64; 2], look: &str, joints: &str| {
        let elbow = [pose[0].cos(), pose[0].sin()];
        let angle = pose[0] + pose[1];
        let hand = [elbow[0] + 0.8 * angle.cos(), elbow[1] + 0.8 * angle.sin()];
        let points = [[0.0, 0.0], elbow, hand].map(place);
        let path = points.map(|(x, y)| format!("{x:.1},{y:.1}")).join(" ");
        writeln!(
            svg,
            "<polyline points=\"{path}\" fill=\"none\" stroke-linecap=\"round\" stroke-linejoin=\"round\" {look}/>"
        )?;
        points.iter().try_for_each(|(x, y)| {
            writeln!(
                svg,
                "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"{joints}\"/>"
            )
        })
    };
    links(
        WANTED,
        "stroke=\"#94a3b8\" stroke-width=\"3\" stroke-dasharray=\"2 6\"",
        "#94a3b8",
    )?;
    links(pose, "stroke=\"#2563eb\" stroke-width=\"5\"", "#0f172a")?;
    let middle = left + 0.5 * SIDE;
    let base = SIDE + 16.0;
    writeln!(
        svg,
        "<text x=\"{middle:.1}\" y=\"{base}\" text-anchor=\"middle\">{outcome}</text>"
    )
}
