//! The sheet that figures are drawn on, and its picture in pixels.

use anyhow::{Context, Result, anyhow};
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use resvg::{tiny_skia, usvg};

use super::letters::Letters;
use super::style;

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
pub fn failed<E: std::error::Error + Send + Sync>(error: DrawingAreaErrorKind<E>) -> anyhow::Error {
    anyhow!("the figure could not be drawn: {error}")
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

/// The figure as PNG bytes, with the typeface that is built in: the same on every machine.
pub fn rasterise(svg: &str, width: u32) -> Result<Vec<u8>> {
    let svg = Letters::load()?.outlined(svg)?;
    let options = usvg::Options::default();
    let tree = usvg::Tree::from_str(&svg, &options).context("the figure could not be read back")?;
    let scale = width as f32 / tree.size().width();
    let height = (tree.size().height() * scale).ceil().max(1.0) as u32;
    let mut pixels = tiny_skia::Pixmap::new(width, height)
        .ok_or_else(|| anyhow!("a picture of {width} × {height} pixels cannot be made"))?;
    let transform = tiny_skia::Transform::from_scale(scale, scale);
    resvg::render(&tree, transform, &mut pixels.as_mut());
    pixels
        .encode_png()
        .map_err(|error| anyhow!("the figure could not be made a PNG: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_show_text_without_any_font_on_the_machine() {
        let draw = |text: &str| {
            let svg = sheet(200.0, 40.0, |area| {
                let look = Look::new(16.0, style::INK);
                write(area, text, 10.0, 20.0, look)?;
                write(area, text, 100.0, 20.0, look.heavy())
            });
            let png = rasterise(&svg.unwrap(), 400).unwrap();
            let pixels = tiny_skia::Pixmap::decode_png(&png).unwrap();
            assert_eq!((pixels.width(), pixels.height()), (400, 80));
            // Dark pixels left (regular) and right (heavy).
            let dark = |from: u32, to: u32| {
                let places = (0..80).flat_map(|y| (from..to).map(move |x| (x, y)));
                let found = places.filter_map(|(x, y)| pixels.pixel(x, y));
                found.filter(|pixel| pixel.red() < 100).count()
            };
            (dark(0, 190), dark(190, 400))
        };
        assert_eq!(draw(""), (0, 0));
        let (regular, heavy) = draw("set φ");
        assert!(regular > 100 && heavy > regular, "{regular} {heavy}");
    }

    #[test]
    fn a_sheet_has_its_size_in_points() {
        let svg = sheet(300.0, 150.0, |_| Ok(())).unwrap();
        assert!(svg.starts_with("<svg width=\"300\" height=\"150\" viewBox=\"0 0 2400 1200\""));
    }
}
