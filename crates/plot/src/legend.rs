//! What the colours mean, in one line.

use plotters::prelude::*;

use crate::canvas::{Area, Look, failed, units, write};
use crate::error::Result;
use crate::letters::Letters;
use crate::style;

/// A sign and what it stands for.
pub enum Entry {
    Fill(RGBColor, String),
    Dot(RGBColor, String),
    Arrow(RGBColor, String),
}

/// Space between entries, and between a sign and its text, in points.
const GAP: f64 = 26.0;
const SIGN: f64 = 22.0;

/// Writes the entries from the left, over as many lines as they need.
pub fn draw(area: &Area<'_>, entries: &[Entry], left: f64, top: f64, width: f64) -> Result<()> {
    let letters = Letters::load()?;
    let (mut x, mut y) = (left, top);
    for entry in entries {
        let (Entry::Fill(_, text) | Entry::Dot(_, text) | Entry::Arrow(_, text)) = entry;
        let needed = SIGN + letters.width(text, style::LABEL);
        if x > left && x + needed > left + width {
            (x, y) = (left, y + 20.0);
        }
        draw_sign(area, entry, x, y)?;
        write(
            area,
            text,
            x + SIGN,
            y,
            Look::new(style::LABEL, style::MUTED),
        )?;
        x += needed + GAP;
    }
    Ok(())
}

fn draw_sign(area: &Area<'_>, entry: &Entry, x: f64, y: f64) -> Result<()> {
    match entry {
        Entry::Fill(colour, _) => {
            let corners = [
                (units(x), units(y - 6.0)),
                (units(x + 15.0), units(y + 6.0)),
            ];
            area.draw(&Rectangle::new(corners, colour.filled()))
                .map_err(failed)
        }
        Entry::Dot(colour, _) => {
            let middle = (units(x + 8.0), units(y));
            area.draw(&Circle::new(middle, units(4.0), colour.filled()))
                .map_err(failed)
        }
        Entry::Arrow(colour, _) => {
            let line = colour.stroke_width(units(style::LINE) as u32);
            let ends = vec![(units(x), units(y)), (units(x + 13.0), units(y))];
            area.draw(&PathElement::new(ends, line)).map_err(failed)?;
            let head = [(16.0, 0.0), (10.0, -3.0), (10.0, 3.0)];
            let head = head.map(|(dx, dy)| (units(x + dx), units(y + dy)));
            area.draw(&Polygon::new(head.to_vec(), colour.filled()))
                .map_err(failed)
        }
    }
}
