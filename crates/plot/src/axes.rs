//! A panel with its frame, ticks and title.

use std::ops::Range;

use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

use crate::canvas::{Area, Look, failed, units, write};
use crate::error::Result;
use crate::letters::Letters;
use crate::style;

/// A panel's inside, with its coordinates.
pub type Chart<'a> = ChartContext<'a, SVGBackend<'a>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;

/// What a panel shows besides its contents.
pub struct Axes<'t> {
    pub title: &'t str,
    pub labels: [String; 2],
    pub ranges: [Range<f64>; 2],
    /// One unit is as long on both axes: the shorter range is widened.
    pub equal: bool,
    /// The vertical axis has numbers.
    pub numbers: bool,
}

/// Space for a panel's title, its labels and its numbers, in points.
const TOP: f64 = 30.0;
const BOTTOM: f64 = 38.0;
const LEFT: f64 = 54.0;
const RIGHT: f64 = 12.0;

impl Axes<'_> {
    /// Draws the frame; what it returns draws inside.
    pub fn draw<'a>(&self, area: &Area<'a>) -> Result<Chart<'a>> {
        let (width, height) = area.dim_in_pixel();
        let inside = (
            f64::from(width) - f64::from(units(LEFT + RIGHT)),
            f64::from(height) - f64::from(units(TOP + BOTTOM)),
        );
        let [horizontal, vertical] = if self.equal {
            equalised(&self.ranges, inside)
        } else {
            self.ranges.clone()
        };
        let to_points = f64::from(units(1.0));
        // A narrow panel has a smaller title rather than half of one.
        let space = f64::from(width) / to_points - LEFT;
        let needed = Letters::load()?.title_width(self.title, style::SUBTITLE);
        let size = style::SUBTITLE * (space / needed).min(1.0);
        let title = Look::new(size, style::INK).heavy();
        write(area, self.title, LEFT, TOP / 2.0 + 2.0, title)?;
        let mut chart = ChartBuilder::on(area)
            .margin_top(units(TOP))
            .margin_right(units(RIGHT))
            .set_label_area_size(LabelAreaPosition::Left, units(LEFT))
            .set_label_area_size(LabelAreaPosition::Bottom, units(BOTTOM))
            .build_cartesian_2d(horizontal, vertical)
            .map_err(failed)?;
        chart.plotting_area().fill(&style::PANEL).map_err(failed)?;
        let numbers = Look::new(style::LABEL - 1.0, style::MUTED);
        let vertical_numbers = self.numbers;
        chart
            .configure_mesh()
            .disable_mesh()
            .axis_style(style::FRAME.stroke_width(units(0.8) as u32))
            .label_style(numbers.style())
            .x_labels(5)
            .y_labels(5)
            .x_label_formatter(&|value| tick(*value))
            .y_label_formatter(&|value| {
                if vertical_numbers {
                    tick(*value)
                } else {
                    String::new()
                }
            })
            .set_tick_mark_size(LabelAreaPosition::Left, units(3.0))
            .set_tick_mark_size(LabelAreaPosition::Bottom, units(3.0))
            .draw()
            .map_err(failed)?;
        let look = Look::new(style::LABEL, style::MUTED).placed(HPos::Center);
        let (width, height) = (f64::from(width) / to_points, f64::from(height) / to_points);
        let middle = LEFT + (width - LEFT - RIGHT) / 2.0;
        write(area, &self.labels[0], middle, height - 9.0, look)?;
        let sideways = look.style().transform(FontTransform::Rotate270);
        let middle = TOP + (height - TOP - BOTTOM) / 2.0;
        area.draw_text(&self.labels[1], &sideways, (units(10.0), units(middle)))
            .map_err(failed)?;
        Ok(chart)
    }
}

/// A number of an axis, without the zeros that say nothing.
fn tick(value: f64) -> String {
    let text = format!("{value:.4}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    match text {
        "-0" | "" => "0".to_owned(),
        text => text.replace('-', "−"),
    }
}

/// The ranges, one of them widened so that a unit is as long in both directions.
fn equalised(ranges: &[Range<f64>; 2], inside: (f64, f64)) -> [Range<f64>; 2] {
    let length = |range: &Range<f64>| range.end - range.start;
    let per_pixel = (length(&ranges[0]) / inside.0).max(length(&ranges[1]) / inside.1);
    let widened = |range: &Range<f64>, pixels: f64| {
        let middle = 0.5 * (range.start + range.end);
        let half = 0.5 * per_pixel * pixels;
        middle - half..middle + half
    };
    [widened(&ranges[0], inside.0), widened(&ranges[1], inside.1)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_short() {
        assert_eq!(tick(0.5), "0.5");
        assert_eq!(tick(-2.0), "−2");
        assert_eq!(tick(-1e-12), "0");
        assert_eq!(tick(200.0), "200");
    }

    #[test]
    fn units_become_equally_long() {
        let [x, y] = equalised(&[0.0..4.0, 0.0..1.0], (200.0, 100.0));
        assert_eq!((x, y), (0.0..4.0, -0.5..1.5));
    }
}
