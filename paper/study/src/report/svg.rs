//! Small drawings as SVG text: dots, lines, axes. A page has hundreds of thousands of dots, so that
//! each kind is one path.

use std::fmt::Write;
use std::ops::Range;

/// Colours of the report, in one place.
pub(super) mod colour {
    pub(crate) const SET: &str = "#d9e4f1";
    pub(crate) const FEASIBLE: &str = "#2563eb";
    pub(crate) const INFEASIBLE: &str = "#dc2626";
    pub(crate) const FRAME: &str = "#cdd5df";
    pub(crate) const INK: &str = "#0f172a";
    pub(crate) const MUTED: &str = "#5a687d";
    pub(crate) const PANEL: &str = "#f7f9fb";
    /// For families of methods and for lines.
    pub(crate) const SERIES: [&str; 5] = ["#64748b", "#b47808", "#0d9488", "#2563eb", "#933386"];
}

/// A rectangle of a drawing with coordinates of its own.
pub(super) struct Panel {
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
    pub(super) fn new(place: (f64, f64), size: (f64, f64), x: Range<f64>, y: Range<f64>) -> Self {
        let mut panel = Self {
            left: place.0,
            top: place.1,
            width: size.0,
            height: size.1,
            x,
            y,
            body: String::new(),
        };
        let (left, top) = place;
        panel.put(format_args!(
            r#"<rect x="{left:.1}" y="{top:.1}" width="{:.1}" height="{:.1}" fill="{}" stroke="{}"/>"#,
            size.0,
            size.1,
            colour::PANEL,
            colour::FRAME
        ));
        panel
    }

    /// As [`new`](Self::new), one range widened so that a unit is as long both ways.
    pub(super) fn equal(place: (f64, f64), size: (f64, f64), x: Range<f64>, y: Range<f64>) -> Self {
        let unit = ((x.end - x.start) / size.0).max((y.end - y.start) / size.1);
        let widened = |range: Range<f64>, length: f64| {
            let (middle, half) = (0.5 * (range.start + range.end), 0.5 * unit * length);
            middle - half..middle + half
        };
        Self::new(place, size, widened(x, size.0), widened(y, size.1))
    }

    fn put(&mut self, text: std::fmt::Arguments<'_>) {
        // Writing into a string cannot fail.
        let _ = self.body.write_fmt(text);
    }

    fn at(&self, (x, y): (f64, f64)) -> (f64, f64) {
        let across = (x - self.x.start) / (self.x.end - self.x.start);
        let up = (y - self.y.start) / (self.y.end - self.y.start);
        (
            self.left + across * self.width,
            self.top + (1.0 - up) * self.height,
        )
    }

    fn shows(&self, (x, y): (f64, f64)) -> bool {
        self.x.contains(&x) && self.y.contains(&y)
    }

    /// Fills the cells of a grid where `inside` holds, row by row.
    pub(super) fn region(&mut self, inside: impl Fn(f64, f64) -> bool) {
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
    pub(super) fn dots(
        &mut self,
        points: impl IntoIterator<Item = (f64, f64)>,
        hue: &str,
        size: f64,
    ) {
        let mut path = String::new();
        for point in points {
            if self.shows(point) {
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
    pub(super) fn line(&mut self, points: impl IntoIterator<Item = (f64, f64)>, hue: &str) {
        let mut path = String::new();
        for point in points {
            let (x, y) = self.at((
                point.0.clamp(self.x.start, self.x.end),
                point.1.clamp(self.y.start, self.y.end),
            ));
            let _ = write!(
                path,
                "{}{x:.1} {y:.1}",
                if path.is_empty() { 'M' } else { 'L' }
            );
        }
        self.put(format_args!(
            r#"<path d="{path}" stroke="{hue}" stroke-width="1.2" fill="none"/>"#
        ));
    }

    /// A circle with a radius in the panel's units.
    pub(super) fn circle(&mut self, centre: (f64, f64), radius: f64) {
        let (x, y) = self.at(centre);
        let size = radius / (self.x.end - self.x.start) * self.width;
        self.put(format_args!(
            r#"<circle cx="{x:.1}" cy="{y:.1}" r="{size:.1}" fill="none" stroke="{}"/>"#,
            colour::MUTED
        ));
    }

    /// A word beside a point of the panel.
    pub(super) fn word(&mut self, point: (f64, f64), text: &str, hue: &str) {
        let (x, y) = self.at(point);
        let text = escaped(text);
        self.put(format_args!(
            r#"<text x="{:.1}" y="{:.1}" fill="{hue}" font-size="9">{text}</text>"#,
            x + 4.0,
            y + 3.0
        ));
    }

    /// The title above the panel.
    pub(super) fn title(&mut self, text: &str) {
        let (left, top) = (self.left, self.top);
        let text = escaped(text);
        self.put(format_args!(
            r#"<text x="{left:.1}" y="{:.1}" fill="{}" font-size="12">{text}</text>"#,
            top - 6.0,
            colour::INK
        ));
    }

    /// Numbers along the lower edge: (place, text).
    pub(super) fn ticks_below(&mut self, ticks: &[(f64, String)]) {
        for (place, text) in ticks {
            let (x, _) = self.at((*place, self.y.start));
            let y = self.top + self.height + 12.0;
            self.put(format_args!(
                r#"<text x="{x:.1}" y="{y:.1}" fill="{}" font-size="9" text-anchor="middle">{}</text>"#,
                colour::MUTED,
                escaped(text)
            ));
        }
    }

    /// Numbers along the left edge: (place, text).
    pub(super) fn ticks_left(&mut self, ticks: &[(f64, String)]) {
        for (place, text) in ticks {
            let (_, y) = self.at((self.x.start, *place));
            let x = self.left - 4.0;
            self.put(format_args!(
                r#"<text x="{x:.1}" y="{:.1}" fill="{}" font-size="9" text-anchor="end">{}</text>"#,
                y + 3.0,
                colour::MUTED,
                escaped(text)
            ));
        }
    }

    fn finish(self) -> String {
        self.body
    }
}

/// Panels on a sheet of the given size.
pub(super) fn sheet(size: (f64, f64), panels: impl IntoIterator<Item = Panel>) -> String {
    let body: String = panels.into_iter().map(Panel::finish).collect();
    format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0:.0} {1:.0}" width="{0:.0}" height="{1:.0}" font-family="system-ui, sans-serif">{body}</svg>"#,
        size.0, size.1
    )
}

pub(super) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
