//! Colours and sizes, in one place.

use plotters::style::RGBColor;

/// The text's typeface; PNG files use the one that is built in.
pub const TYPEFACE: &str = "Roboto, Helvetica, Arial, sans-serif";
/// Heavier, for titles.
pub const TITLE_TYPEFACE: &str = "Roboto Medium, Roboto, Helvetica, Arial, sans-serif";

pub const PAPER: RGBColor = RGBColor(255, 255, 255);
pub const PANEL: RGBColor = RGBColor(247, 249, 251);
pub const FRAME: RGBColor = RGBColor(205, 213, 223);
pub const INK: RGBColor = RGBColor(15, 23, 42);
pub const MUTED: RGBColor = RGBColor(90, 104, 125);
/// The feasible set, and the latent set.
pub const SET: RGBColor = RGBColor(217, 228, 241);
/// What is infeasible.
pub const INFEASIBLE: RGBColor = RGBColor(220, 38, 38);
/// Projections.
pub const ARROW: RGBColor = RGBColor(51, 65, 85);

/// What is feasible, by chart: hues that differ from each other and from the colour of failures.
const CHARTS: [RGBColor; 8] = [
    RGBColor(37, 99, 235),
    RGBColor(13, 148, 136),
    RGBColor(124, 58, 237),
    RGBColor(180, 120, 8),
    RGBColor(3, 105, 161),
    RGBColor(77, 124, 15),
    RGBColor(147, 51, 134),
    RGBColor(71, 85, 105),
];

/// The hue of a chart.
pub fn hue(chart: usize) -> RGBColor {
    CHARTS[chart % CHARTS.len()]
}

/// Sizes in points of the finished figure.
pub const TITLE: f64 = 19.0;
pub const SUBTITLE: f64 = 14.0;
pub const LABEL: f64 = 12.5;
pub const DOT: f64 = 1.6;
pub const LINE: f64 = 1.1;
