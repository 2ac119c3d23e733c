//! Letters as outlines: pictures need no font of the machine, and no library that looks for one.

use std::fmt::Write;

use ttf_parser::{Face, OutlineBuilder};

use crate::error::{PlotError, Result};

const REGULAR: &[u8] = include_bytes!("../assets/Roboto-Regular-subset.ttf");
const MEDIUM: &[u8] = include_bytes!("../assets/Roboto-Medium-subset.ttf");

/// The two faces that are built in.
pub struct Letters {
    regular: Face<'static>,
    heavy: Face<'static>,
}

impl Letters {
    pub fn load() -> Result<Self> {
        let face = |data| {
            Face::parse(data, 0).map_err(|error| PlotError::Drawing {
                problem: format!("the built-in typeface: {error}"),
            })
        };
        Ok(Self {
            regular: face(REGULAR)?,
            heavy: face(MEDIUM)?,
        })
    }

    /// Width of a text of the given size, in the size's unit.
    pub fn width(&self, text: &str, size: f64) -> f64 {
        size * width(&self.regular, text)
    }

    /// The same in the typeface of titles.
    pub fn title_width(&self, text: &str, size: f64) -> f64 {
        size * width(&self.heavy, text)
    }

    /// The figure with the outlines of all its texts in their place.
    pub fn outlined(&self, svg: &str) -> Result<String> {
        let mut outlined = String::with_capacity(2 * svg.len());
        let mut rest = svg;
        while let Some((before, after)) = rest.split_once("<text ") {
            let parts = after.split_once('>').and_then(|(attributes, after)| {
                let (contents, after) = after.split_once("</text>")?;
                Some((attributes, contents, after))
            });
            let (attributes, contents, after) = parts.ok_or_else(|| text("it has no end"))?;
            outlined.push_str(before);
            self.outline(attributes, contents, &mut outlined)?;
            rest = after;
        }
        outlined.push_str(rest);
        Ok(outlined)
    }

    fn outline(&self, attributes: &str, contents: &str, out: &mut String) -> Result<()> {
        let attribute = |name: &str| {
            let (_, after) = attributes.split_once(&format!("{name}=\""))?;
            after.split_once('"').map(|(value, _)| value)
        };
        let number = |name: &str| {
            let value = attribute(name).and_then(|value| value.parse::<f64>().ok());
            value.ok_or_else(|| text(format!("it has no {}", name.trim())))
        };
        let heavy = attribute("font-family").is_some_and(|family| family.contains("Medium"));
        let face = if heavy { &self.heavy } else { &self.regular };
        let letters = unescaped(contents.trim());
        let size = number("font-size")?;
        let width = size * width(face, &letters);
        let left = number(" x").or_else(|_| number("x"))?
            - match attribute("text-anchor") {
                Some("middle") => 0.5 * width,
                Some("end") => width,
                _ => 0.0,
            };
        let down = attribute("dy").map_or(0.0, |shift| size * shifted(face, shift));
        let mut path = Path {
            data: String::new(),
            scale: size / f64::from(face.units_per_em()),
            x: left,
            y: number(" y")? + down,
        };
        for letter in letters.chars() {
            if let Some(glyph) = face.glyph_index(letter) {
                face.outline_glyph(glyph, &mut path);
            }
            path.x += size * advance(face, letter);
        }
        let turned = attribute("transform").map(|transform| format!(" transform=\"{transform}\""));
        let fill = attribute("fill").unwrap_or("#000000");
        let (data, turned) = (path.data, turned.unwrap_or_default());
        out.push_str(&format!("<path d=\"{data}\" fill=\"{fill}\"{turned}/>"));
        Ok(())
    }
}

fn text(problem: impl Into<String>) -> PlotError {
    PlotError::Text {
        problem: problem.into(),
    }
}

/// Width of a text, in units of the size.
fn width(face: &Face<'_>, text: &str) -> f64 {
    text.chars().map(|letter| advance(face, letter)).sum()
}

/// How far a letter moves the next one, in units of the size.
fn advance(face: &Face<'_>, letter: char) -> f64 {
    let glyph = face.glyph_index(letter);
    let advance = glyph.and_then(|glyph| face.glyph_hor_advance(glyph));
    f64::from(advance.unwrap_or(0)) / f64::from(face.units_per_em())
}

/// A shift such as `0.76em` or `-0.5ex`, in units of the size.
fn shifted(face: &Face<'_>, shift: &str) -> f64 {
    let number = |unit: &str| {
        shift
            .strip_suffix(unit)
            .and_then(|text| text.parse::<f64>().ok())
    };
    let height = f64::from(face.x_height().unwrap_or(0)) / f64::from(face.units_per_em());
    number("em")
        .or_else(|| number("ex").map(|number| number * height))
        .unwrap_or(0.0)
}

fn unescaped(text: &str) -> String {
    let entities = [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&apos;", "'"),
        ("&#39;", "'"),
        ("&amp;", "&"),
    ];
    entities
        .iter()
        .fold(text.to_owned(), |text, (entity, sign)| {
            text.replace(entity, sign)
        })
}

/// The data of an SVG path.
struct Path {
    data: String,
    scale: f64,
    x: f64,
    y: f64,
}

impl Path {
    fn push(&mut self, command: char, points: &[(f32, f32)]) {
        self.data.push(command);
        for (x, y) in points {
            let (x, y) = (
                self.x + self.scale * f64::from(*x),
                self.y - self.scale * f64::from(*y),
            );
            // Writing to a string cannot fail.
            let _ = write!(self.data, "{x:.2} {y:.2} ");
        }
    }
}

impl OutlineBuilder for Path {
    fn move_to(&mut self, x: f32, y: f32) {
        self.push('M', &[(x, y)]);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        self.push('L', &[(x, y)]);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        self.push('Q', &[(x1, y1), (x, y)]);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        self.push('C', &[(x1, y1), (x2, y2), (x, y)]);
    }

    fn close(&mut self) {
        self.data.push('Z');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_letter_of_our_texts_is_built_in() {
        let letters = Letters::load().unwrap();
        let used = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 .,:;%()=-−·…|_/";
        for face in [&letters.regular, &letters.heavy] {
            for letter in used.chars() {
                assert!(face.glyph_index(letter).is_some(), "{letter}");
            }
        }
    }

    #[test]
    fn widths_grow_with_text_and_size() {
        let letters = Letters::load().unwrap();
        let width = letters.width("feasible set", 10.0);
        assert!(width > 40.0 && width < 70.0, "{width}");
        assert!((letters.width("feasible set", 20.0) - 2.0 * width).abs() < 1e-9);
        assert!(letters.width("feasible sets", 10.0) > width);
    }

    #[test]
    fn texts_become_paths_and_the_rest_stays() {
        let letters = Letters::load().unwrap();
        let svg = "<svg><text x=\"10\" y=\"20\" dy=\"0.5ex\" text-anchor=\"end\" font-family=\"Roboto\" \
                   font-size=\"8\" fill=\"#123456\" transform=\"rotate(270, 10, 20)\">\na &lt; b\n</text><rect/></svg>";
        let found = letters.outlined(svg).unwrap();
        assert!(
            found.starts_with("<svg><path d=\"M") && found.ends_with("/><rect/></svg>"),
            "{found}"
        );
        assert!(found.contains("fill=\"#123456\"") && found.contains("rotate(270, 10, 20)"));
        assert!(letters.outlined("<text x=\"1\"").is_err());
    }
}
