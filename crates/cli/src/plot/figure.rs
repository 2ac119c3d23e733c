//! Which panels a model's figure has, and where.

use std::ops::Range;

use anyhow::Result;
use fabproj::certify::Certificate;
use fabproj::core::Frame;
use fabproj::set::Set;

use super::canvas::{Area, Look, sheet, units, write};
use super::gather::{Decode, Plane, Source, distance, wide};
use super::histogram::{Histogram, Series};
use super::legend::{self, Entry};
use super::plane::View;
use super::{bars, graph, latent, style};
use crate::opened::Opened;
use crate::show::{confidence, percent};

/// Sizes in points.
const WIDTH: f64 = 1180.0;
const HEADER: f64 = 66.0;
const FOOTER: f64 = 52.0;
const MARGIN: f64 = 22.0;

/// Decodes of a plane's panel, inside and on the surface of the latent sets.
const DECODES: (usize, usize) = (1800, 600);
/// The same where there are several panels.
const FEWER_DECODES: (usize, usize) = (700, 260);
/// Arrows along the longer side of a panel's region.
const MANY_ARROWS: usize = 11;
const FEW_ARROWS: usize = 8;
/// Encoded inputs of latent panels.
const ENCODINGS: usize = 1400;
/// Inputs whose distances are shown.
const DISTANCES: usize = 4000;
/// Coordinates that are drawn as bars, at most.
const MOST_BARS: usize = 24;
/// Places among which the x of panels are chosen, and uniform draws by which the set is looked for there.
const PLACES: usize = 16;
const PLACE_DRAWS: usize = 1000;
/// Inputs that are drawn in search of an infeasible one.
const INPUT_TRIES: usize = 1000;
/// How far from a plane a decode may be to be shown in it, in the model's scale.
const SLAB: f64 = 0.06;

/// The figure of a model as SVG.
pub fn draw(opened: &Opened, set: &dyn Set, seed: u64) -> Result<String> {
    let source = &mut Source::new(&opened.projector, set, seed);
    match (set.dim(), set.x_dim()) {
        (1, _) => one_dimension(opened, source),
        (2, 0) => plane_and_latent(opened, source),
        (2, _) => several_parameters(opened, source),
        _ => many_dimensions(opened, source),
    }
}

/// A sheet with its title and legend; `contents` gets the rest.
fn titled(
    opened: &Opened,
    height: f64,
    entries: &[Entry],
    contents: impl FnOnce(&Area<'_>) -> Result<()>,
) -> Result<String> {
    sheet(WIDTH, height, |area| {
        let title = Look::new(style::TITLE, style::INK).heavy();
        write(area, &opened.set_name(), MARGIN, 24.0, title)?;
        let look = Look::new(style::SUBTITLE - 1.0, style::MUTED);
        write(area, &summary(opened), MARGIN, 47.0, look)?;
        legend::draw(
            area,
            entries,
            MARGIN + 4.0,
            height - FOOTER + 16.0,
            WIDTH - 2.0 * MARGIN,
        )?;
        let side = units(MARGIN / 2.0);
        contents(&area.margin(units(HEADER), units(FOOTER), side, side))
    })
}

/// The certificate in one line.
fn summary(opened: &Opened) -> String {
    let certificate = opened.file.record.certificate.clone();
    let Some(certificate) =
        certificate.and_then(|value| serde_json::from_value::<Certificate>(value).ok())
    else {
        return "not certified yet".to_owned();
    };
    let coverage = certificate
        .coverage
        .map(|share| format!(" · {} of the set is reached", percent(share)))
        .unwrap_or_default();
    format!(
        "{} of inputs are projected to feasible points (at least {}, {} sure) · {} with the guard{coverage}",
        percent(certificate.raw_feasible),
        percent(certificate.raw_lower_bound),
        confidence(certificate.confidence),
        percent(certificate.guarded_feasible),
    )
}

/// What the signs mean. Beyond a few charts their hues are named together.
fn entries(charts: usize, decodes: bool) -> Vec<Entry> {
    let mut entries = vec![Entry::Fill(
        style::SET,
        "feasible set, latent set".to_owned(),
    )];
    let what = if decodes {
        "feasible decode or encoding"
    } else {
        "feasible"
    };
    match charts {
        1 => entries.push(Entry::Dot(style::hue(0), what.to_owned())),
        2..=6 => entries.extend(
            (0..charts).map(|chart| Entry::Dot(style::hue(chart), format!("chart {chart}"))),
        ),
        _ => entries.push(Entry::Dot(
            style::hue(0),
            format!("{what} (a hue for each chart)"),
        )),
    }
    entries.push(Entry::Dot(style::INFEASIBLE, "infeasible".to_owned()));
    entries
}

fn with_arrows(mut entries: Vec<Entry>) -> Vec<Entry> {
    let text = "from an infeasible point to its projection".to_owned();
    entries.push(Entry::Arrow(style::ARROW, text));
    entries
}

fn region(bounds: &[(f64, f64)], first: usize, second: usize) -> [Range<f64>; 2] {
    [first, second].map(|index| bounds[index].0..bounds[index].1)
}

/// A fixed set in two dimensions.
fn plane_and_latent(opened: &Opened, source: &mut Source<'_>) -> Result<String> {
    let encodings = source.encodings(ENCODINGS)?;
    let decodes = source.decodes(&[], DECODES.0, DECODES.1)?;
    let entries = with_arrows(entries(source.projector.charts(), true));
    // As high as the set's region asks for.
    let [horizontal, vertical] = region(&source.set.bounds(), 0, 1);
    let aspect = (vertical.end - vertical.start) / (horizontal.end - horizontal.start);
    let height = (215.0 + 560.0 * aspect).clamp(600.0, 760.0);
    titled(opened, height, &entries, |area| {
        let (left, right) = area.split_horizontally(units(0.54 * WIDTH));
        let names = source.set.names();
        View {
            title: "the set, decodes of the latent set, and projections",
            labels: [names[0].clone(), names[1].clone()],
            plane: Plane::of_coordinates(&[0.0, 0.0], 0, 1, &[]),
            region: region(&source.set.bounds(), 0, 1),
            decodes: &decodes,
            arrows: MANY_ARROWS,
        }
        .draw(&left, source)?;
        latent::draw(&right, source, &encodings)
    })
}

/// An input-dependent set in two dimensions: five x, and the latent space.
fn several_parameters(opened: &Opened, source: &mut Source<'_>) -> Result<String> {
    let encodings = source.encodings(ENCODINGS)?;
    let parameters = parameters(source, 5);
    let decodes = parameters
        .iter()
        .map(|x| source.decodes(x, FEWER_DECODES.0, FEWER_DECODES.1))
        .collect::<Result<Vec<_>>>()?;
    let entries = with_arrows(entries(source.projector.charts(), true));
    titled(opened, 860.0, &entries, |area| {
        let panels = area.split_evenly((2, 3));
        let names = source.set.names();
        for ((panel, x), decodes) in panels.iter().zip(&parameters).zip(&decodes) {
            View {
                title: &parameter_title(opened, x),
                labels: [names[0].clone(), names[1].clone()],
                plane: Plane::of_coordinates(&[0.0, 0.0], 0, 1, x),
                region: region(&source.set.bounds(), 0, 1),
                decodes,
                arrows: FEW_ARROWS,
            }
            .draw(panel, source)?;
        }
        latent::draw(&panels[5], source, &encodings)
    })
}

/// Three planes, and how far points are from the centre in y and in latent space.
fn many_dimensions(opened: &Opened, source: &mut Source<'_>) -> Result<String> {
    let encodings = source.encodings(ENCODINGS)?;
    let (inputs, outputs) = centre_distances(opened, source)?;
    let entries = with_arrows(entries(source.projector.charts(), true));
    let bars = (4..=MOST_BARS).contains(&source.full_set().dim());
    let height = if bars { 1040.0 } else { 800.0 };
    titled(opened, height, &entries, |area| {
        let (top, mut bottom) = area.split_vertically(units(390.0));
        let parameters = parameters(source, 3);
        let panels = top.split_evenly((1, 3));
        for (index, (panel, x)) in panels.iter().zip(&parameters).enumerate() {
            plane_through_centre(opened, source, index, x, panel)?;
        }
        if bars {
            let (middle, rest) = bottom.split_vertically(units(240.0));
            some_inputs(opened, source, &middle)?;
            bottom = rest;
        }
        let (left, right) = bottom.split_horizontally(units(0.5 * WIDTH));
        Histogram {
            title: "distance from the centre: inputs (grey) and their projections (blue)",
            label: "distance from the centre of the set",
            series: vec![
                Series {
                    colour: style::ARROW,
                    values: inputs,
                },
                Series {
                    colour: style::hue(0),
                    values: outputs,
                },
            ],
            marks: Vec::new(),
        }
        .draw(&left)?;
        latent::draw(&right, source, &encodings)
    })
}

/// Infeasible inputs beside their projections, in all coordinates: also those that equations tie
/// together.
fn some_inputs(opened: &Opened, source: &mut Source<'_>, area: &Area<'_>) -> Result<()> {
    let full = source.full_set();
    let (bounds, x_bounds) = (full.bounds(), full.x_bounds());
    for panel in &area.split_evenly((1, 3)) {
        let (mut y, mut x) = (source.uniform(&bounds), source.uniform(&x_bounds));
        for _ in 0..INPUT_TRIES {
            if !full.contains(&y, &x) {
                break;
            }
            (y, x) = (source.uniform(&bounds), source.uniform(&x_bounds));
        }
        let title = if x.is_empty() {
            "an input (grey) and its projection".to_owned()
        } else {
            format!("an input {}", parameter_title(opened, &x))
        };
        let projected = source.project_full(&y, &x)?;
        bars::draw(panel, &title, &full.names(), &bounds, &projected)?;
    }
    Ok(())
}

fn plane_through_centre(
    opened: &Opened,
    source: &mut Source<'_>,
    index: usize,
    x: &[f64],
    panel: &Area<'_>,
) -> Result<()> {
    let dim = source.set.dim();
    let names = source.set.names();
    let centre = wide(&opened.file.model.frame.centre);
    let bounds = source.set.bounds();
    // A fixed set has planes in different directions, an input-dependent one the same at several x.
    let fixed = source.set.x_dim() == 0;
    let direction = if fixed { index } else { 0 };
    let random = dim > 3 && direction > 0;
    let (plane, labels, region) = if random {
        let plane = Plane::random(&centre, x, &mut source.rng);
        let halves = bounds.iter().map(|(low, high)| 0.5 * (high - low));
        let half = halves.fold(f64::INFINITY, f64::min);
        (
            plane,
            ["u", "v"].map(str::to_owned),
            [-half..half, -half..half],
        )
    } else {
        let (first, second) = [(0, 1), (0, 2), (1, 2)][direction];
        let plane = Plane::of_coordinates(&centre, first, second, x);
        let labels = [names[first].clone(), names[second].clone()];
        (plane, labels, region(&bounds, first, second))
    };
    let title = match (fixed, random) {
        (false, _) => parameter_title(opened, x),
        (true, true) => "a random plane through the centre".to_owned(),
        (true, false) => format!(
            "plane of {} and {} through the centre",
            labels[0], labels[1]
        ),
    };
    let decodes = near(&plane, &opened.file.model.frame, source)?;
    View {
        title: &title,
        labels,
        plane,
        region,
        decodes: &decodes,
        arrows: FEW_ARROWS,
    }
    .draw(panel, source)
}

/// Decodes that lie close to a plane; only in three dimensions there are enough of them.
fn near(plane: &Plane, frame: &Frame, source: &mut Source<'_>) -> Result<Vec<Decode>> {
    if source.set.dim() > 3 {
        return Ok(Vec::new());
    }
    let scale = frame.scale.iter().copied().fold(0.0, f32::max);
    let mut decodes = source.decodes(&plane.x, 10 * DECODES.0, 10 * DECODES.1)?;
    decodes.retain(|decode| plane.foot(&decode.point).1 < SLAB * f64::from(scale));
    decodes.truncate(FEWER_DECODES.0 + FEWER_DECODES.1);
    Ok(decodes)
}

/// Distances of inputs and of their projections from the model's centre.
fn centre_distances(opened: &Opened, source: &mut Source<'_>) -> Result<(Vec<f64>, Vec<f64>)> {
    let centre = wide(&opened.file.model.frame.centre);
    let (bounds, x_bounds) = (source.set.bounds(), source.set.x_bounds());
    let mut distances = (Vec::new(), Vec::new());
    for _ in 0..DISTANCES {
        let (y, x) = (source.uniform(&bounds), source.uniform(&x_bounds));
        let projected = source.project(&y, &x)?;
        distances.0.push(distance(&projected.input, &centre));
        distances.1.push(distance(&projected.output, &centre));
    }
    Ok(distances)
}

/// One coordinate: the output over the input.
fn one_dimension(opened: &Opened, source: &mut Source<'_>) -> Result<String> {
    let encodings = source.encodings(ENCODINGS)?;
    let panels = if source.set.x_dim() == 0 { 1 } else { 2 };
    let entries = entries(source.projector.charts(), false);
    titled(opened, 560.0, &entries, |area| {
        let areas = area.split_evenly((1, panels + 1));
        for (panel, x) in areas.iter().zip(parameters(source, panels)) {
            let title = if x.is_empty() {
                "projection".to_owned()
            } else {
                parameter_title(opened, &x)
            };
            graph::draw(panel, source, &title, &source.set.names()[0], &x)?;
        }
        latent::draw(&areas[panels], source, &encodings)
    })
}

/// The x of panels: of the first places of a sequence those where the set is not empty, as far as there are
/// any.
fn parameters(source: &mut Source<'_>, panels: usize) -> Vec<Vec<f64>> {
    let places = (0..PLACES).map(|index| place(source, index));
    let places: Vec<_> = places.collect();
    let (mut found, empty): (Vec<_>, Vec<_>) = places
        .into_iter()
        .partition(|x| source.meets_the_set(x, PLACE_DRAWS));
    found.extend(empty);
    found.truncate(panels);
    found
}

/// The middle first, then places spread over the parameters' bounds.
fn place(source: &Source<'_>, index: usize) -> Vec<f64> {
    if index == 0 {
        return source.middle_x();
    }
    let bounds = source.set.x_bounds();
    // Multiples of these irrational numbers fall evenly into the unit cube: powers of the root of
    // g^(d + 1) = g + 1, the golden ratio in one dimension.
    let power = 1.0 / (bounds.len() as f64 + 1.0);
    let golden = (0..40).fold(1.5_f64, |golden, _| (1.0 + golden).powf(power));
    let places = bounds.iter().enumerate().map(|(coordinate, (low, high))| {
        let step = golden.powi(-(coordinate as i32 + 1));
        low + (high - low) * (0.5 + index as f64 * step).fract()
    });
    places.collect()
}

fn parameter_title(opened: &Opened, x: &[f64]) -> String {
    let named = opened.file.record.x_names.iter().zip(x).take(4);
    let parts: Vec<_> = named
        .map(|(name, value)| {
            let value = format!("{value:.2}").replace('-', "−");
            format!("{name} = {value}")
        })
        .collect();
    let more = if x.len() > parts.len() { ", …" } else { "" };
    format!("at {}{more}", parts.join(", "))
}
