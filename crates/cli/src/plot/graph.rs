//! A panel for one dimension: what each input becomes.

use anyhow::Result;
use plotters::prelude::*;

use super::axes::Axes;
use super::canvas::{Area, failed, units};
use super::gather::Source;
use super::style;

const INPUTS: usize = 800;

/// Draws the output of the projector over its input, at x.
pub fn draw(
    area: &Area<'_>,
    source: &Source<'_>,
    title: &str,
    name: &str,
    x: &[f64],
) -> Result<()> {
    let bounds = source.set.bounds();
    let Some((low, high)) = bounds.first().copied() else {
        return Ok(());
    };
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
        .filter(|y| source.set.contains(&[y + 0.5 * step], x))
        .map(|y| {
            let corners = [(horizontal.start, y), (horizontal.end, y + 1.2 * step)];
            Rectangle::new(corners, style::SET.filled())
        });
    panel.draw_series(bands).map_err(failed)?;
    let mut dots = Vec::new();
    for index in 0..INPUTS {
        let input = low + (high - low) * (index as f64 + 0.5) / INPUTS as f64;
        let projected = source.project(&[input], x)?;
        let output = projected.output[0];
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
