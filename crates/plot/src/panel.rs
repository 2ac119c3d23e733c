//! Panels with lines, dots and words as SVG text, for reports: a page has hundreds of thousands of dots, so that
//! all of one kind are one path.
//!
//! ```
//! use fabproj_plot::panel::{Panel, colour, round_ticks, sheet};
//!
//! let mut panel = Panel::new((40.0, 20.0), (200.0, 100.0), 0.0..1.0, 0.0..4.0);
//! panel.title("cost");
//! panel.line([(0.0, 1.0), (1.0, 3.0)], colour::SERIES[0]);
//! panel.ticks(&round_ticks(&(0.0..1.0)), &[]);
//! assert!(sheet((260.0, 140.0), [panel]).starts_with("<svg"));
//! ```

use std::fmt::Write;
use std::ops::Range;

/// Colours of reports.
pub mod colour {
    /// Text.
    pub const INK: &str = "#0f172a";
    /// Numbers along axes.
    pub const MUTED: &str = "#5a687d";
    /// Borders of panels.
    pub const FRAME: &str = "#cdd5df";
    /// Background of panels.
    pub const PANEL: &str = "#f7f9fb";
    /// Feasible regions.
    pub const SET: &str = "#d9e4f1";
    /// What is as it should be.
    pub const GOOD: &str = "#2563eb";
    /// What is not.
    pub const BAD: &str = "#dc2626";
    /// For lines and groups, in turn.
    pub const SERIES: [&str; 8] = [
        "#2563eb", "#dc2626", "#0d9488", "#b47808", "#933386", "#64748b", "#16a34a", "#0f172a",
    ];
}

/// A rectangle with coordinates of its own.
pub struct Panel {
    left: f64,
    top: f64,
    width: f64,
    height: f64,
    x: Range<f64>,
    y: Range<f64>,
    body: String,
}

impl Panel {
    /// At (left, top), with the given size in points, showing these ranges.
    pub fn new(place: (f64, f64), size: (f64, f64), x: Range<f64>, y: Range<f64>) -> Self {
        let mut panel = Self {
            left: place.0,
            top: place.1,
            width: size.0,
            height: size.1,
            x,
            y,
            body: String::new(),
        };
        panel.put(format_args!(
            r#"<rect x="{:.1}" y="{:.1}" width="{:.1}" height="{:.1}" fill="{}" stroke="{}"/>"#,
            place.0,
            place.1,
            size.0,
            size.1,
            colour::PANEL,
            colour::FRAME
        ));
        panel
    }

    /// As [`new`](Self::new), one range widened so that a unit is as long both ways.
    pub fn equal(place: (f64, f64), size: (f64, f64), x: Range<f64>, y: Range<f64>) -> Self {
        let unit = ((x.end - x.start) / size.0).max((y.end - y.start) / size.1);
        let widened = |range: Range<f64>, length: f64| {
            let (middle, half) = (0.5 * (range.start + range.end), 0.5 * unit * length);
            middle - half..middle + half
        };
        Self::new(place, size, widened(x, size.0), widened(y, size.1))
    }

    /// Adds SVG text as it is.
    pub fn put(&mut self, text: std::fmt::Arguments<'_>) {
        // Writing into a string cannot fail.
        let _ = self.body.write_fmt(text);
    }

    /// Where a point is on the sheet.
    pub fn at(&self, (x, y): (f64, f64)) -> (f64, f64) {
        let across = (x - self.x.start) / (self.x.end - self.x.start);
        let up = (y - self.y.start) / (self.y.end - self.y.start);
        (
            self.left + across * self.width,
            self.top + (1.0 - up) * self.height,
        )
    }

    /// A length of the x axis in points.
    pub fn length(&self, length: f64) -> f64 {
        length / (self.x.end - self.x.start) * self.width
    }

    fn path(&self, points: impl IntoIterator<Item = (f64, f64)>) -> String {
        let mut path = String::new();
        for (x, y) in points {
            let inside = (
                x.clamp(self.x.start, self.x.end),
                y.clamp(self.y.start, self.y.end),
            );
            let (x, y) = self.at(inside);
            let letter = if path.is_empty() { 'M' } else { 'L' };
            let _ = write!(path, "{letter}{x:.1} {y:.1}");
        }
        path
    }

    /// Fills the cells of a grid where `inside` holds, row by row.
    pub fn region(&mut self, inside: impl Fn(f64, f64) -> bool) {
        const CELLS: usize = 150;
        let (dx, dy) = (
            (self.x.end - self.x.start) / CELLS as f64,
            (self.y.end - self.y.start) / CELLS as f64,
        );
        let (wide, high) = (self.width / CELLS as f64, self.height / CELLS as f64);
        let mut path = String::new();
        for row in 0..CELLS {
            let y = self.y.start + (row as f64 + 0.5) * dy;
            let holds = |column: usize| inside(self.x.start + (column as f64 + 0.5) * dx, y);
            let mut column = 0;
            while column < CELLS {
                let start = column;
                while column < CELLS && holds(column) {
                    column += 1;
                }
                if column > start {
                    let (left, top) = (
                        self.left + start as f64 * wide,
                        self.top + self.height - (row + 1) as f64 * high,
                    );
                    let length = (column - start) as f64 * wide;
                    let _ = write!(
                        path,
                        "M{left:.1} {top:.1}h{length:.1}v{:.1}h-{length:.1}z",
                        high + 0.1
                    );
                }
                column += 1;
            }
        }
        self.put(format_args!(r#"<path d="{path}" fill="{}"/>"#, colour::SET));
    }

    /// Dots of one colour; those outside the panel are left out.
    pub fn dots(&mut self, points: impl IntoIterator<Item = (f64, f64)>, hue: &str, size: f64) {
        let mut path = String::new();
        for point in points {
            if self.x.contains(&point.0) && self.y.contains(&point.1) {
                let (x, y) = self.at(point);
                // A dot is a stroke with round ends. Some viewers leave out those without any length.
                let _ = write!(path, "M{x:.1} {y:.1}h.01");
            }
        }
        if !path.is_empty() {
            self.put(format_args!(
                r#"<path d="{path}" stroke="{hue}" stroke-width="{size}" stroke-linecap="round" fill="none"/>"#
            ));
        }
    }

    /// A line through points.
    pub fn line(&mut self, points: impl IntoIterator<Item = (f64, f64)>, hue: &str) {
        let path = self.path(points);
        self.put(format_args!(
            r#"<path d="{path}" stroke="{hue}" stroke-width="1.5" fill="none" stroke-linejoin="round"/>"#
        ));
    }

    /// A filled area between points.
    pub fn area(&mut self, points: impl IntoIterator<Item = (f64, f64)>, hue: &str) {
        let path = self.path(points);
        self.put(format_args!(
            r#"<path d="{path}z" fill="{hue}" fill-opacity="0.15"/>"#
        ));
    }

    /// A dot, filled or hollow.
    pub fn dot(&mut self, point: (f64, f64), hue: &str, filled: bool) {
        let (x, y) = self.at(point);
        let fill = if filled { hue } else { "none" };
        self.put(format_args!(
            r#"<circle cx="{x:.1}" cy="{y:.1}" r="4" fill="{fill}" stroke="{hue}"/>"#
        ));
    }

    /// A circle with a radius in the panel's units.
    pub fn disc(&mut self, centre: [f64; 2], radius: f64, fill: &str, stroke: &str) {
        let (x, y) = self.at((centre[0], centre[1]));
        let radius = self.length(radius);
        self.put(format_args!(
            r#"<circle cx="{x:.1}" cy="{y:.1}" r="{radius:.1}" fill="{fill}" fill-opacity="0.25" stroke="{stroke}"/>"#
        ));
    }

    /// A square with half its side in the panel's units, turned by an angle.
    pub fn square(&mut self, centre: [f64; 2], half: f64, angle: f64, hue: &str) {
        let (sin, cos) = angle.sin_cos();
        let corner = |(a, b): (f64, f64)| {
            (
                centre[0] + half * (a * cos - b * sin),
                centre[1] + half * (a * sin + b * cos),
            )
        };
        let corners = [(1.0, 1.0), (-1.0, 1.0), (-1.0, -1.0), (1.0, -1.0)].map(corner);
        let path = self.path(corners);
        self.put(format_args!(
            r#"<path d="{path}z" fill="{hue}" fill-opacity="0.4" stroke="{hue}"/>"#
        ));
    }

    /// An arrow from a point, in the panel's units.
    pub fn arrow(&mut self, from: [f64; 2], step: [f64; 2], hue: &str) {
        let (x, y) = self.at((from[0], from[1]));
        let (tip_x, tip_y) = self.at((from[0] + step[0], from[1] + step[1]));
        let angle = (tip_y - y).atan2(tip_x - x);
        let barb = |turn: f64| {
            let angle = angle + turn;
            (tip_x - 5.0 * angle.cos(), tip_y - 5.0 * angle.sin())
        };
        let ((a, b), (c, d)) = (barb(0.5), barb(-0.5));
        self.put(format_args!(
            r#"<path d="M{x:.1} {y:.1}L{tip_x:.1} {tip_y:.1}M{a:.1} {b:.1}L{tip_x:.1} {tip_y:.1}L{c:.1} {d:.1}" stroke="{hue}" fill="none"/>"#
        ));
    }

    /// A word beside a point.
    pub fn word(&mut self, point: (f64, f64), text: &str, hue: &str) {
        let (x, y) = self.at(point);
        let (x, y, text) = (x + 6.0, y + 3.0, escaped(text));
        self.put(format_args!(
            r#"<text x="{x:.1}" y="{y:.1}" fill="{hue}" font-size="9">{text}</text>"#
        ));
    }

    /// The title above the panel.
    pub fn title(&mut self, text: &str) {
        let (x, y, text) = (self.left, self.top - 6.0, escaped(text));
        self.put(format_args!(
            r#"<text x="{x:.1}" y="{y:.1}" fill="{}" font-size="12">{text}</text>"#,
            colour::INK
        ));
    }

    /// Numbers along the lower and the left edge.
    pub fn ticks(&mut self, below: &[(f64, String)], left: &[(f64, String)]) {
        for (place, text) in below {
            let (x, y) = self.at((*place, self.y.start));
            self.tick((x, y + 13.0), "middle", text);
        }
        for (place, text) in left {
            let (x, y) = self.at((self.x.start, *place));
            self.tick((x - 4.0, y + 3.0), "end", text);
        }
    }

    fn tick(&mut self, (x, y): (f64, f64), anchor: &str, text: &str) {
        let text = escaped(text);
        self.put(format_args!(
            r#"<text x="{x:.1}" y="{y:.1}" fill="{}" font-size="9" text-anchor="{anchor}">{text}</text>"#,
            colour::MUTED
        ));
    }
}

/// Panels on a sheet of the given size.
pub fn sheet(size: (f64, f64), panels: impl IntoIterator<Item = Panel>) -> String {
    let body: String = panels.into_iter().map(|panel| panel.body).collect();
    let (width, height) = size;
    format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0} {height:.0}" width="{width:.0}" height="{height:.0}" font-family="system-ui, sans-serif">{body}</svg>"#
    )
}

/// Three or more round numbers that span a range.
pub fn round_ticks(range: &Range<f64>) -> Vec<(f64, String)> {
    let width = (range.end - range.start).max(1e-12);
    let power = 10f64.powf((width / 4.0).log10().floor());
    let choices = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power);
    let step = choices.into_iter().find(|step| width / step <= 5.0);
    let step = step.unwrap_or(10.0 * power);
    let digits = (-step.log10().floor()).max(0.0) as usize;
    let (first, last) = (
        (range.start / step).ceil() as i64,
        (range.end / step).floor() as i64,
    );
    let tick = |index: i64| {
        let value = index as f64 * step;
        (value, format!("{value:.digits$}"))
    };
    (first..=last).map(tick).collect()
}

/// Text that XML may hold.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_inside() {
        let texts = |range: Range<f64>| -> Vec<String> {
            round_ticks(&range).into_iter().map(|tick| tick.1).collect()
        };
        assert_eq!(texts(0.0..1.0), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(texts(-3.0..26.0), ["0", "10", "20"]);
        assert!(texts(5.0..5.0).len() <= 6);
    }

    #[test]
    fn sheets_are_balanced_xml() {
        let mut panel = Panel::new((10.0, 20.0), (100.0, 50.0), 0.0..1.0, 0.0..2.0);
        panel.title("a < b & c");
        panel.line([(0.0, 0.0), (1.0, 2.0)], colour::GOOD);
        panel.arrow([0.5, 1.0], [0.1, 0.1], colour::BAD);
        let text = sheet((200.0, 100.0), [panel]);
        assert!(text.contains("a &lt; b &amp; c"));
        assert_eq!(text.matches('<').count(), text.matches('>').count());
    }
}
