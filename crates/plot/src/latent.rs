//! Panels of latent spaces: the latent set, and where inputs are encoded.

use fabproj::core::LatentSet;
use plotters::prelude::*;

use crate::axes::{Axes, Chart};
use crate::canvas::{Area, failed, units};
use crate::error::Result;
use crate::gather::{Encoding, Source};
use crate::histogram::{Histogram, Series};
use crate::style;

/// Charts that are drawn at most, and the size in points that each needs at least.
const MOST_CHARTS: usize = 9;
const LEAST_WIDTH: f64 = 150.0;
const LEAST_HEIGHT: f64 = 130.0;

/// Draws the latent spaces of all charts side by side.
pub fn draw(area: &Area<'_>, source: &Source<'_>, encodings: &[Encoding]) -> Result<()> {
    let (width, height) = area.dim_in_pixel();
    let fit = |length: u32, least: f64| (length as usize / units(least) as usize).max(1);
    let most = fit(width, LEAST_WIDTH) * fit(height, LEAST_HEIGHT);
    let charts = source.projector.charts().min(MOST_CHARTS).min(most);
    // Panels about as wide as high.
    let aspect = f64::from(width) / f64::from(height.max(1));
    let columns = (charts as f64 * aspect).sqrt().round() as usize;
    let columns = columns.clamp(1, charts.max(1)).min(fit(width, LEAST_WIDTH));
    let panels = area.split_evenly((charts.div_ceil(columns), columns));
    for (chart, panel) in panels.iter().enumerate().take(charts) {
        let own: Vec<_> = encodings
            .iter()
            .filter(|encoding| encoding.chart == chart)
            .collect();
        let hidden = source.projector.charts() - charts;
        let title = match source.projector.charts() {
            1 => "latent space".to_owned(),
            _ if hidden > 0 && chart + 1 == charts => format!("chart {chart}; {hidden} not drawn"),
            _ => format!("latent space of chart {chart}"),
        };
        draw_chart(panel, source, chart, &title, &own)?;
    }
    Ok(())
}

fn draw_chart(
    area: &Area<'_>,
    source: &Source<'_>,
    chart: usize,
    title: &str,
    encodings: &[&Encoding],
) -> Result<()> {
    let dim = source.projector.latent_dim(chart).unwrap_or(0);
    match source.projector.latent_set(chart) {
        Some(set @ LatentSet::Simplex { .. }) if dim == 3 => {
            draw_simplex(area, chart, title, &set, encodings)
        }
        Some(set) if dim == 2 && !matches!(set, LatentSet::Simplex { .. }) => {
            draw_plane(area, chart, title, &set, encodings)
        }
        Some(set) => draw_sizes(area, chart, title, &set, encodings),
        None => Ok(()),
    }
}

/// Two latent dimensions, as they are.
fn draw_plane(
    area: &Area<'_>,
    chart: usize,
    title: &str,
    set: &LatentSet,
    encodings: &[&Encoding],
) -> Result<()> {
    let size = f64::from(extent(set));
    let mut sizes: Vec<f64> = encodings
        .iter()
        .map(|encoding| {
            encoding
                .latent
                .iter()
                .fold(0.0, |m: f64, z| m.max(f64::from(z.abs())))
        })
        .collect();
    sizes.sort_by(f64::total_cmp);
    let most = sizes.get(sizes.len() * 19 / 20).copied().unwrap_or(0.0);
    let reach = (1.05 * most).clamp(1.3 * size, 3.0 * size);
    let axes = Axes {
        title,
        labels: ["z0".to_owned(), "z1".to_owned()],
        ranges: [-reach..reach, -reach..reach],
        equal: true,
        numbers: true,
    };
    let mut panel = axes.draw(area)?;
    let (filled, line) = (
        style::SET.filled(),
        style::hue(chart).stroke_width(units(1.2) as u32),
    );
    let mut shape = |points: Vec<(f64, f64)>, filling: ShapeStyle| -> Result<()> {
        panel
            .draw_series([Polygon::new(points.clone(), filling)])
            .map_err(failed)?;
        let outline = points
            .iter()
            .chain(points.first())
            .copied()
            .collect::<Vec<_>>();
        panel
            .draw_series([PathElement::new(outline, line)])
            .map_err(failed)?;
        Ok(())
    };
    match *set {
        LatentSet::Ball { radius, .. } => shape(circle(radius), filled)?,
        LatentSet::Shell { inner, outer, .. } => {
            shape(circle(outer), filled)?;
            shape(circle(inner), style::PANEL.filled())?;
        }
        LatentSet::Box { half, .. } => {
            let half = f64::from(half);
            shape(
                vec![(-half, -half), (half, -half), (half, half), (-half, half)],
                filled,
            )?;
        }
        LatentSet::Simplex { .. } => {}
    }
    let places = encodings.iter().map(|encoding| {
        (
            (f64::from(encoding.latent[0]), f64::from(encoding.latent[1])),
            encoding.feasible,
        )
    });
    dots(&mut panel, chart, places)
}

/// A triangle: the softmax of encodings by their shares of its corners.
fn draw_simplex(
    area: &Area<'_>,
    chart: usize,
    title: &str,
    set: &LatentSet,
    encodings: &[&Encoding],
) -> Result<()> {
    let height = 0.75_f64.sqrt();
    let axes = Axes {
        title,
        labels: ["corner 1 to corner 2".to_owned(), "to corner 3".to_owned()],
        ranges: [-0.1..1.1, -0.1..height + 0.1],
        equal: true,
        numbers: true,
    };
    let mut panel = axes.draw(area)?;
    let corners = vec![(0.0, 0.0), (1.0, 0.0), (0.5, height)];
    panel
        .draw_series([Polygon::new(corners, style::SET.filled())])
        .map_err(failed)?;
    let places = encodings.iter().map(|encoding| {
        let mut latent = encoding.latent.clone();
        set.clamp(&mut latent);
        let shares = [f64::from(latent[1]), f64::from(latent[2])];
        (
            (shares[0] + 0.5 * shares[1], height * shares[1]),
            encoding.feasible,
        )
    });
    dots(&mut panel, chart, places)
}

/// Other dimensions: how far encodings are from the centre, and where the latent set ends.
fn draw_sizes(
    area: &Area<'_>,
    chart: usize,
    title: &str,
    set: &LatentSet,
    encodings: &[&Encoding],
) -> Result<()> {
    let (label, marks): (_, Vec<f64>) = match *set {
        LatentSet::Ball { radius, .. } => ("length of z", vec![radius.into()]),
        LatentSet::Shell { inner, outer, .. } => ("length of z", vec![inner.into(), outer.into()]),
        LatentSet::Box { half, .. } => ("largest |z|", vec![half.into()]),
        LatentSet::Simplex { .. } => ("largest share of a corner", vec![1.0]),
    };
    let size = |encoding: &Encoding| -> f64 {
        let mut latent = encoding.latent.clone();
        match set {
            LatentSet::Ball { .. } | LatentSet::Shell { .. } => {
                let squares = latent.iter().map(|z| f64::from(*z) * f64::from(*z));
                squares.sum::<f64>().sqrt()
            }
            LatentSet::Box { .. } => latent
                .iter()
                .fold(0.0, |m: f64, z| m.max(f64::from(z.abs()))),
            LatentSet::Simplex { .. } => {
                set.clamp(&mut latent);
                latent.iter().fold(0.0, |m: f64, z| m.max(f64::from(*z)))
            }
        }
    };
    let sizes = |feasible: bool| {
        let side = encodings
            .iter()
            .filter(|encoding| encoding.feasible == feasible);
        side.map(|encoding| size(encoding)).collect::<Vec<_>>()
    };
    Histogram {
        title,
        label,
        series: vec![
            Series {
                colour: style::INFEASIBLE,
                values: sizes(false),
            },
            Series {
                colour: style::hue(chart),
                values: sizes(true),
            },
        ],
        marks,
    }
    .draw(area)
}

fn dots(
    panel: &mut Chart<'_>,
    chart: usize,
    places: impl Iterator<Item = ((f64, f64), bool)>,
) -> Result<()> {
    let (horizontal, vertical) = (panel.x_range(), panel.y_range());
    let dots = places.filter_map(|(at, feasible)| {
        let colour = if feasible {
            style::hue(chart).mix(0.6)
        } else {
            style::INFEASIBLE.mix(0.45)
        };
        let visible = horizontal.contains(&at.0) && vertical.contains(&at.1);
        visible.then(|| Circle::new(at, units(style::DOT), colour.filled()))
    });
    panel.draw_series(dots).map_err(failed)?;
    Ok(())
}

fn extent(set: &LatentSet) -> f32 {
    match *set {
        LatentSet::Ball { radius, .. } => radius,
        LatentSet::Shell { outer, .. } => outer,
        LatentSet::Box { half, .. } => half,
        LatentSet::Simplex { .. } => 1.0,
    }
}

fn circle(radius: f32) -> Vec<(f64, f64)> {
    let angles = (0..180).map(|step| f64::from(step) * std::f64::consts::TAU / 180.0);
    angles
        .map(|angle| {
            (
                f64::from(radius) * angle.cos(),
                f64::from(radius) * angle.sin(),
            )
        })
        .collect()
}
