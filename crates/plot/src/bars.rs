//! A panel for many dimensions: one input and its projection, coordinate by coordinate.

use plotters::prelude::*;

use crate::axes::Axes;
use crate::canvas::{Area, failed};
use crate::error::Result;
use crate::gather::Projected;
use crate::style;

/// Half the width of a pair of bars; a coordinate has the width one.
const HALF: f64 = 0.38;
/// Above this ratio of their bounds, coordinates are drawn as shares of their bounds.
const COMPARABLE: f64 = 10.0;

/// Draws the input's coordinates (left bars) beside those of its projection (right bars).
pub fn draw(
    area: &Area<'_>,
    title: &str,
    names: &[String],
    bounds: &[(f64, f64)],
    projected: &Projected,
) -> Result<()> {
    let (input, output, unit) = comparable(bounds, projected);
    let values = || input.iter().chain(&output).copied();
    let (low, high) = (values().fold(0.0, f64::min), values().fold(0.0, f64::max));
    let space = 0.06 * (high - low).max(1e-9);
    let ends = [names.first(), names.last()].map(|name| name.map_or("", String::as_str));
    let axes = Axes {
        title,
        labels: [ends.join(" to "), unit.to_owned()],
        ranges: [
            0.5..names.len() as f64 + 0.5,
            (if low < 0.0 { low - space } else { 0.0 })..high + space,
        ],
        equal: false,
        numbers: true,
    };
    let mut panel = axes.draw(area)?;
    let colour = if projected.output_feasible {
        style::hue(projected.chart)
    } else {
        style::INFEASIBLE
    };
    let sides = [
        (&input, -HALF..0.0, style::ARROW.mix(0.45)),
        (&output, 0.0..HALF, colour.mix(0.9)),
    ];
    for (values, side, colour) in sides {
        let bars = values.iter().enumerate().map(|(index, value)| {
            let middle = index as f64 + 1.0;
            let corners = [(middle + side.start, 0.0), (middle + side.end, *value)];
            Rectangle::new(corners, colour.filled())
        });
        panel.draw_series(bars).map_err(failed)?;
    }
    Ok(())
}

/// Input and output in units that one axis can show, and the unit's name.
fn comparable(bounds: &[(f64, f64)], projected: &Projected) -> (Vec<f64>, Vec<f64>, &'static str) {
    let widths = || bounds.iter().map(|(low, high)| high - low);
    let (least, most) = (
        widths().fold(f64::INFINITY, f64::min),
        widths().fold(0.0, f64::max),
    );
    if most <= COMPARABLE * least {
        return (projected.input.clone(), projected.output.clone(), "value");
    }
    let share = |values: &[f64]| -> Vec<f64> {
        let places = values.iter().zip(bounds);
        places
            .map(|(value, (low, high))| (value - low) / (high - low).max(f64::MIN_POSITIVE))
            .collect()
    };
    let (input, output) = (share(&projected.input), share(&projected.output));
    (input, output, "share of its bounds")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_of_different_units_are_drawn_as_shares() {
        let projected = Projected {
            input: vec![0.5, 5000.0],
            output: vec![0.25, 7500.0],
            chart: 0,
            input_feasible: false,
            output_feasible: true,
        };
        let (input, output, unit) = comparable(&[(0.0, 1.0), (0.0, 10_000.0)], &projected);
        assert_eq!((input, output), (vec![0.5, 0.5], vec![0.25, 0.75]));
        assert_eq!(unit, "share of its bounds");
        let (input, _, unit) = comparable(&[(0.0, 1.0), (0.0, 4.0)], &projected);
        assert_eq!((input, unit), (vec![0.5, 5000.0], "value"));
    }
}
