//! A panel for one free coordinate: what each input becomes.

use plotters::prelude::*;

use crate::axes::Axes;
use crate::canvas::{Area, failed, units};
use crate::error::Result;
use crate::gather::Source;
use crate::style;

const INPUTS: usize = 800;

/// Draws the output of the projector over its input, at x.
pub fn draw(area: &Area<'_>, source: &mut Source<'_>, title: &str, x: &[f64]) -> Result<()> {
    let line = source.space.line(&source.centre(x)?);
    let name = &source.set.names()[line.coordinate];
    let (low, high) = source.set.bounds()[line.coordinate];
    let axes = Axes {
        title,
        labels: [format!("{name}, input"), format!("{name}, projected")],
        ranges: [low..high, low..high],
        equal: true,
        numbers: true,
    };
    let mut panel = axes.draw(area)?;
    let (horizontal, vertical) = (panel.x_range(), panel.y_range());
    // Feasible outputs are a band across the panel.
    let step = (vertical.end - vertical.start) / INPUTS as f64;
    let rows = (0..INPUTS).map(|row| vertical.start + row as f64 * step);
    let bands = rows
        .filter(|y| source.set.contains(&line.point(y + 0.5 * step), x))
        .map(|y| {
            let corners = [(horizontal.start, y), (horizontal.end, y + 1.2 * step)];
            Rectangle::new(corners, style::SET.filled())
        });
    panel.draw_series(bands).map_err(failed)?;
    let mut dots = Vec::new();
    for index in 0..INPUTS {
        let input = low + (high - low) * (index as f64 + 0.5) / INPUTS as f64;
        let projected = source.project(&line.point(input), x)?;
        let output = projected.output[line.coordinate];
        if !vertical.contains(&output) {
            continue;
        }
        let colour = if projected.output_feasible {
            style::hue(projected.chart).filled()
        } else {
            style::INFEASIBLE.filled()
        };
        dots.push(Circle::new((input, output), units(style::DOT), colour));
    }
    panel.draw_series(dots).map_err(failed)?;
    Ok(())
}
