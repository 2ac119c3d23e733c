//! The sheet that figures are drawn on.

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::error::{PlotError, Result};
use crate::style;

/// The library draws at whole units; a point of the figure has this many, so that small dots lie where
/// they belong.
const UNITS: f64 = 8.0;

/// Part of a sheet.
pub type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// A length in points as drawing units.
pub fn units(points: f64) -> i32 {
    (points * UNITS).round() as i32
}

/// Draws a sheet of so many points.
pub fn sheet(
    width: f64,
    height: f64,
    draw: impl FnOnce(&Area<'_>) -> Result<()>,
) -> Result<String> {
    let mut svg = String::new();
    let size = (units(width) as u32, units(height) as u32);
    {
        let area = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        area.fill(&style::PAPER).map_err(failed)?;
        draw(&area)?;
        area.present().map_err(failed)?;
    }
    // Shown at its size in points, not in drawing units.
    let header = format!("<svg width=\"{}\" height=\"{}\"", size.0, size.1);
    let sized = format!("<svg width=\"{width}\" height=\"{height}\"");
    // What is the default need not be said thousands of times.
    Ok(svg
        .replacen(&header, &sized, 1)
        .replace(" stroke=\"none\" stroke-width=\"1\"", ""))
}

/// Errors of the drawing library hold a type of its own.
pub fn failed<E: std::error::Error + Send + Sync>(error: DrawingAreaErrorKind<E>) -> PlotError {
    PlotError::Drawing {
        problem: error.to_string(),
    }
}

/// A text's look.
#[derive(Clone, Copy)]
pub struct Look {
    pub size: f64,
    pub colour: RGBColor,
    pub heavy: bool,
    pub place: HPos,
}

impl Look {
    pub fn new(size: f64, colour: RGBColor) -> Self {
        Self {
            size,
            colour,
            heavy: false,
            place: HPos::Left,
        }
    }

    pub fn heavy(self) -> Self {
        Self {
            heavy: true,
            ..self
        }
    }

    pub fn placed(self, place: HPos) -> Self {
        Self { place, ..self }
    }

    pub fn style(self) -> TextStyle<'static> {
        let typeface = if self.heavy {
            style::TITLE_TYPEFACE
        } else {
            style::TYPEFACE
        };
        // The library's sizes are those of a line; 1.24 of them make the size of the letters.
        let font = (typeface, self.size * UNITS * 1.24);
        font.into_font()
            .color(&self.colour)
            .pos(Pos::new(self.place, VPos::Center))
    }
}

/// Writes a text at a place in points, its middle line at `y`.
pub fn write(area: &Area<'_>, text: &str, x: f64, y: f64, look: Look) -> Result<()> {
    area.draw_text(text, &look.style(), (units(x), units(y)))
        .map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sheet_has_its_size_in_points() {
        let svg = sheet(300.0, 150.0, |_| Ok(())).unwrap();
        assert!(svg.starts_with("<svg width=\"300\" height=\"150\" viewBox=\"0 0 2400 1200\""));
    }
}
