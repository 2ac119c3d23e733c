//! A panel of distributions.

use plotters::prelude::*;

use crate::axes::Axes;
use crate::canvas::{Area, failed, units};
use crate::error::Result;
use crate::style;

const BINS: usize = 60;

/// Values drawn in one colour.
pub struct Series {
    pub colour: RGBColor,
    pub values: Vec<f64>,
}

/// Distributions over each other, each with the area one, and places that are marked.
pub struct Histogram<'t> {
    pub title: &'t str,
    pub label: &'t str,
    pub series: Vec<Series>,
    pub marks: Vec<f64>,
}

impl Histogram<'_> {
    pub fn draw(&self, area: &Area<'_>) -> Result<()> {
        let (low, high) = self.range();
        let width = (high - low) / BINS as f64;
        let shares: Vec<Vec<f64>> = self
            .series
            .iter()
            .map(|series| {
                let mut shares = vec![0.0; BINS];
                for value in &series.values {
                    let bin = ((value - low) / width).floor();
                    if (0.0..BINS as f64).contains(&bin) {
                        shares[bin as usize] += 1.0 / series.values.len() as f64;
                    }
                }
                shares
            })
            .collect();
        let most = shares.iter().flatten().copied().fold(1e-9, f64::max);
        let axes = Axes {
            title: self.title,
            labels: [self.label.to_owned(), "share of points".to_owned()],
            ranges: [low..high, 0.0..1.08 * most],
            equal: false,
            numbers: true,
        };
        let mut panel = axes.draw(area)?;
        for (series, shares) in self.series.iter().zip(&shares) {
            let mut outline = vec![(low, 0.0)];
            for (bin, share) in shares.iter().enumerate() {
                let left = low + bin as f64 * width;
                outline.extend([(left, *share), (left + width, *share)]);
            }
            outline.push((high, 0.0));
            let filling = Polygon::new(outline.clone(), series.colour.mix(0.22).filled());
            panel.draw_series([filling]).map_err(failed)?;
            let line = series.colour.stroke_width(units(style::LINE) as u32);
            panel
                .draw_series([PathElement::new(outline, line)])
                .map_err(failed)?;
        }
        let line = style::INK.stroke_width(units(1.0) as u32);
        for mark in self.marks.iter().filter(|mark| (low..high).contains(*mark)) {
            let ends = vec![(*mark, 0.0), (*mark, 1.08 * most)];
            panel
                .draw_series([PathElement::new(ends, line)])
                .map_err(failed)?;
        }
        Ok(())
    }

    /// From nothing, or a little below the least value, to what nearly all values stay under.
    fn range(&self) -> (f64, f64) {
        let mut values: Vec<f64> = self
            .series
            .iter()
            .flat_map(|series| series.values.iter().copied())
            .collect();
        values.retain(|value| value.is_finite());
        values.sort_by(f64::total_cmp);
        let at = |share: f64| {
            let last = values.len().saturating_sub(1) as f64;
            values.get((share * last) as usize).copied().unwrap_or(0.0)
        };
        let marks = self.marks.iter().copied();
        let high = marks.fold(at(0.995), f64::max) * 1.08;
        let low = if at(0.0) >= 0.0 {
            0.0
        } else {
            1.08 * at(0.005)
        };
        (low, if high > low { high } else { low + 1.0 })
    }
}
