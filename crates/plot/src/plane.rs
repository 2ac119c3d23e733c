//! A panel of a plane in the space of y: the set, decodes, and arrows to projections.

use std::ops::Range;

use plotters::prelude::*;
use rand::RngExt;

use crate::axes::{Axes, Chart};
use crate::canvas::{Area, failed, units};
use crate::error::Result;
use crate::gather::{Decode, Projected, Source};
use crate::space::Plane;
use crate::style;

/// Rows and columns on which membership is looked at.
const ROWS: usize = 260;
const COLUMNS: usize = 320;
/// The ratio of a region's sides up to which both are drawn at one scale.
const MOST_UNEQUAL: f64 = 4.0;
/// Halvings of the step in which a row enters or leaves the set.
const REFINEMENTS: usize = 8;

/// What a panel shows.
pub struct View<'t> {
    pub title: &'t str,
    pub labels: [String; 2],
    pub plane: Plane,
    /// Where inputs of arrows come from, in the plane's coordinates.
    pub region: [Range<f64>; 2],
    pub decodes: &'t [Decode],
    /// How many arrows start along the longer side of the region.
    pub arrows: usize,
}

impl View<'_> {
    pub fn draw(&self, area: &Area<'_>, source: &mut Source<'_>) -> Result<()> {
        let axes = Axes {
            title: self.title,
            labels: self.labels.clone(),
            ranges: self.region.clone(),
            equal: comparable(&self.region),
            numbers: true,
        };
        let mut chart = axes.draw(area)?;
        self.draw_set(&mut chart, source)?;
        let (good, bad): (Vec<_>, Vec<_>) = self.decodes.iter().partition(|decode| decode.feasible);
        self.draw_decodes(&mut chart, &good)?;
        self.draw_arrows(&mut chart, source)?;
        self.draw_decodes(&mut chart, &bad)
    }

    /// Fills the set: each row's pieces, joined with those of the row before where they continue them.
    fn draw_set(&self, chart: &mut Chart<'_>, source: &Source<'_>) -> Result<()> {
        let (horizontal, vertical) = (chart.x_range(), chart.y_range());
        let inside = |at: (f64, f64)| source.set.contains(&self.plane.point(at), &self.plane.x);
        let step = (vertical.end - vertical.start) / ROWS as f64;
        let mut strips: Vec<Strip> = Vec::new();
        let mut done = Vec::new();
        for row in 0..ROWS {
            let y = vertical.start + (row as f64 + 0.5) * step;
            let pieces = pieces(&horizontal, |x| inside((x, y)));
            let mut next = Vec::new();
            for (left, right) in &pieces {
                let meets = |a: (f64, f64), b: (f64, f64)| a.0 <= b.1 && b.0 <= a.1;
                let before: Vec<usize> = (0..strips.len())
                    .filter(|index| meets(strips[*index].last(), (*left, *right)))
                    .collect();
                let alone = |strip: &Strip| {
                    pieces
                        .iter()
                        .filter(|piece| meets(strip.last(), **piece))
                        .count()
                        == 1
                };
                let mut strip = match before.as_slice() {
                    [index] if alone(&strips[*index]) => std::mem::take(&mut strips[*index]),
                    _ => Strip::starting((*left, *right), y - 0.6 * step),
                };
                strip.edges.push((*left, *right, y));
                next.push(strip);
            }
            done.extend(strips.into_iter().filter(|strip| !strip.edges.is_empty()));
            strips = next;
        }
        done.extend(strips);
        let polygons = done.iter().map(|strip| {
            Polygon::new(strip.outline(0.6 * step, vertical.end), style::SET.filled())
        });
        chart.draw_series(polygons).map_err(failed)?;
        Ok(())
    }

    fn draw_decodes(&self, chart: &mut Chart<'_>, decodes: &[&Decode]) -> Result<()> {
        let (horizontal, vertical) = (chart.x_range(), chart.y_range());
        let dots = decodes.iter().filter_map(|decode| {
            let (at, _) = self.plane.foot(&decode.point);
            let colour = if decode.feasible {
                style::hue(decode.chart).mix(0.55)
            } else {
                style::INFEASIBLE.mix(0.9)
            };
            let visible = horizontal.contains(&at.0) && vertical.contains(&at.1);
            visible.then(|| Circle::new(at, units(style::DOT), colour.filled()))
        });
        chart.draw_series(dots).map_err(failed)?;
        Ok(())
    }

    fn draw_arrows(&self, chart: &mut Chart<'_>, source: &mut Source<'_>) -> Result<()> {
        let (horizontal, vertical) = (chart.x_range(), chart.y_range());
        let visible = |at: (f64, f64)| horizontal.contains(&at.0) && vertical.contains(&at.1);
        for projected in self.projections(source)? {
            let (from, _) = self.plane.foot(&projected.input);
            let (to, _) = self.plane.foot(&projected.output);
            if !visible(from) || !visible(to) {
                continue;
            }
            let colour = if projected.output_feasible {
                style::ARROW
            } else {
                style::INFEASIBLE
            };
            let line = colour.mix(0.75).stroke_width(units(style::LINE) as u32);
            let path = PathElement::new(vec![from, to], line);
            chart.draw_series([path]).map_err(failed)?;
            let start = Circle::new(from, units(1.7), style::PAPER.filled());
            let ring = Circle::new(from, units(1.7), line);
            chart.draw_series([start, ring]).map_err(failed)?;
            let tip = chart.backend_coord(&to);
            let tail = chart.backend_coord(&from);
            let head = arrow_head(tail, tip);
            chart
                .draw_series([EmptyElement::at(to) + Polygon::new(head, colour.filled())])
                .map_err(failed)?;
        }
        Ok(())
    }

    /// Infeasible points of a jittered grid in the plane, projected.
    fn projections(&self, source: &mut Source<'_>) -> Result<Vec<Projected>> {
        let counts = starts(&self.region, self.arrows);
        let mut projections = Vec::new();
        for row in 0..counts[1] {
            for column in 0..counts[0] {
                let mut place = |range: &Range<f64>, index: usize, count: usize| {
                    let jitter: f64 = source.rng.random_range(0.2..0.8);
                    range.start + (range.end - range.start) * (index as f64 + jitter) / count as f64
                };
                let at = (
                    place(&self.region[0], column, counts[0]),
                    place(&self.region[1], row, counts[1]),
                );
                let projected = source.project(&self.plane.point(at), &self.plane.x)?;
                if !projected.input_feasible {
                    projections.push(projected);
                }
            }
        }
        Ok(projections)
    }
}

/// Whether both directions can be drawn at one scale: not when their units have nothing in common.
fn comparable(region: &[Range<f64>; 2]) -> bool {
    let [first, second] = [&region[0], &region[1]].map(|range| range.end - range.start);
    first.max(second) <= MOST_UNEQUAL * first.min(second)
}

/// How many arrows start along each direction: `most` along the longer one, or along both where they are not
/// drawn at one scale.
fn starts(region: &[Range<f64>; 2], most: usize) -> [usize; 2] {
    if !comparable(region) {
        return [most; 2];
    }
    let lengths = [&region[0], &region[1]].map(|range| range.end - range.start);
    let step = lengths[0].max(lengths[1]) / most as f64;
    lengths.map(|length| (length / step).round().max(1.0) as usize)
}

/// The intervals of a row that are inside, their ends refined.
fn pieces(range: &Range<f64>, inside: impl Fn(f64) -> bool) -> Vec<(f64, f64)> {
    let step = (range.end - range.start) / COLUMNS as f64;
    let mut pieces: Vec<(f64, f64)> = Vec::new();
    let mut before: Option<bool> = None;
    for column in 0..=COLUMNS {
        let x = range.start + column as f64 * step;
        let now = inside(x);
        match before {
            None if now => pieces.push((x, x)),
            Some(false) if now => {
                let edge = edge(x, x - step, &inside);
                pieces.push((edge, x));
            }
            Some(true) if now => {
                if let Some(last) = pieces.last_mut() {
                    last.1 = x;
                }
            }
            Some(true) => {
                if let Some(last) = pieces.last_mut() {
                    last.1 = edge(x - step, x, &inside);
                }
            }
            _ => {}
        }
        before = Some(now);
    }
    pieces
}

/// The last place inside on the way from a place inside to one outside.
fn edge(mut within: f64, mut outside: f64, inside: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..REFINEMENTS {
        let middle = 0.5 * (within + outside);
        if inside(middle) {
            within = middle;
        } else {
            outside = middle;
        }
    }
    within
}

/// Pieces of consecutive rows that continue each other.
#[derive(Default)]
struct Strip {
    /// Left end, right end and height.
    edges: Vec<(f64, f64, f64)>,
}

impl Strip {
    fn starting(piece: (f64, f64), y: f64) -> Self {
        Self {
            edges: vec![(piece.0, piece.1, y)],
        }
    }

    fn last(&self) -> (f64, f64) {
        self.edges
            .last()
            .map_or((f64::NAN, f64::NAN), |edge| (edge.0, edge.1))
    }

    /// Up along the left ends and down along the right ones, a little beyond the last row.
    fn outline(&self, beyond: f64, highest: f64) -> Vec<(f64, f64)> {
        let mut edges = self.edges.clone();
        if let Some((left, right, y)) = edges.last().copied() {
            edges.push((left, right, (y + beyond).min(highest)));
        }
        let up = edges.iter().map(|(left, _, y)| (*left, *y));
        let down = edges.iter().rev().map(|(_, right, y)| (*right, *y));
        up.chain(down).collect()
    }
}

/// The corners of an arrow's head relative to its tip, in drawing units.
fn arrow_head(tail: (i32, i32), tip: (i32, i32)) -> Vec<(i32, i32)> {
    let (dx, dy) = (f64::from(tip.0 - tail.0), f64::from(tip.1 - tail.1));
    let length = dx.hypot(dy);
    if length < 1.0 {
        return vec![(0, 0); 3];
    }
    // Short arrows have small heads.
    let size = f64::from(units(5.5)).min(0.6 * length);
    let (dx, dy) = (dx / length * size, dy / length * size);
    let corner = |side: f64| {
        (
            (-dx - side * 0.4 * dy).round() as i32,
            (-dy + side * 0.4 * dx).round() as i32,
        )
    };
    vec![(0, 0), corner(1.0), corner(-1.0)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrows_start_all_over_the_region() {
        assert_eq!(starts(&[-2.0..2.0, -1.0..1.0], 10), [10, 5]);
        assert_eq!(starts(&[0.0..20_000.0, -1.0..1.0], 10), [10, 10]);
    }

    #[test]
    fn pieces_end_where_membership_does() {
        let found = pieces(&(-2.0..2.0), |x| (0.5..=1.234).contains(&x.abs()));
        assert_eq!(found.len(), 2);
        for (piece, expected) in found.iter().zip([(-1.234, -0.5), (0.5, 1.234)]) {
            assert!((piece.0 - expected.0).abs() < 1e-4 && (piece.1 - expected.1).abs() < 1e-4);
        }
        assert!(pieces(&(0.0..1.0), |_| false).is_empty());
        assert_eq!(pieces(&(0.0..1.0), |_| true), [(0.0, 1.0)]);
    }
}
