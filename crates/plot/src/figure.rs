//! Which panels a model's figure has, and where.

use std::ops::Range;

use fabproj::Model;
use fabproj::set::Set;
use fabproj::support::{confidence, percent};

use crate::canvas::{Area, Look, sheet, units, write};
use crate::error::{PlotError, Result};
use crate::gather::{Decode, Source};
use crate::histogram::{Histogram, Series};
use crate::legend::{self, Entry};
use crate::plane::View;
use crate::space::{Plane, distance};
use crate::{bars, graph, latent, style};

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
pub fn draw(model: &Model, set: &dyn Set, seed: u64) -> Result<String> {
    let projector = model.projector();
    let dimensions = [
        ("y", projector.dim(), set.dim()),
        ("x", projector.x_dim(), set.x_dim()),
    ];
    for (what, model, set) in dimensions {
        if model != set {
            return Err(PlotError::Dimension { what, model, set });
        }
    }
    let mut source = Source::new(projector, set, seed);
    match (source.space.freedom(), set.x_dim()) {
        (1, _) => one_dimension(model, &mut source),
        (2, 0) => plane_and_latent(model, &mut source),
        (2, _) => several_x(model, &mut source),
        _ => many_dimensions(model, &mut source),
    }
}

/// A sheet with its title and legend; `contents` gets the rest.
fn titled(
    model: &Model,
    height: f64,
    entries: &[Entry],
    contents: impl FnOnce(&Area<'_>) -> Result<()>,
) -> Result<String> {
    sheet(WIDTH, height, |area| {
        let title = Look::new(style::TITLE, style::INK).heavy();
        write(area, &model.record().set().name(), MARGIN, 24.0, title)?;
        let look = Look::new(style::SUBTITLE - 1.0, style::MUTED);
        write(area, &summary(model), MARGIN, 47.0, look)?;
        let (top, width) = (height - FOOTER + 16.0, WIDTH - 2.0 * MARGIN);
        legend::draw(area, entries, MARGIN + 4.0, top, width)?;
        let side = units(MARGIN / 2.0);
        contents(&area.margin(units(HEADER), units(FOOTER), side, side))
    })
}

/// The certificate in one line.
fn summary(model: &Model) -> String {
    let Some(certificate) = model.certificate() else {
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

/// A plane through the model's centre with the names of its axes and the region that it shows.
struct Section {
    plane: Plane,
    labels: [String; 2],
    region: [Range<f64>; 2],
    /// Whether its directions are random.
    random: bool,
}

impl Section {
    /// Along a pair of coordinates, or along random directions where there is no such pair.
    fn new(source: &mut Source<'_>, x: &[f64], pair: Option<(usize, usize)>) -> Result<Self> {
        let (centre, bounds) = (source.centre(x)?, source.set.bounds());
        let Some((first, second)) = pair else {
            let halves = bounds.iter().map(|(low, high)| 0.5 * (high - low));
            let half = halves.fold(f64::INFINITY, f64::min);
            return Ok(Self {
                plane: source.space.random_plane(&centre, x, &mut source.rng),
                labels: ["random direction 1", "random direction 2"].map(str::to_owned),
                region: [-half..half, -half..half],
                random: true,
            });
        };
        let names = source.set.names();
        Ok(Self {
            plane: source.space.plane(&centre, (first, second), x),
            labels: [names[first].clone(), names[second].clone()],
            region: region(&bounds, first, second),
            random: false,
        })
    }

    /// The plane of the first two coordinates that can be chosen freely.
    fn first(source: &mut Source<'_>, x: &[f64]) -> Result<Self> {
        let pair = source.space.pairs().next();
        Self::new(source, x, pair)
    }

    fn draw(
        self,
        area: &Area<'_>,
        source: &mut Source<'_>,
        title: &str,
        decodes: &[Decode],
        arrows: usize,
    ) -> Result<()> {
        View {
            title,
            labels: self.labels,
            plane: self.plane,
            region: self.region,
            decodes,
            arrows,
        }
        .draw(area, source)
    }
}

/// A fixed set with two free coordinates.
fn plane_and_latent(model: &Model, source: &mut Source<'_>) -> Result<String> {
    let encodings = source.encodings(ENCODINGS)?;
    let decodes = source.decodes(&[], DECODES.0, DECODES.1)?;
    let entries = with_arrows(entries(source.projector.charts(), true));
    let section = Section::first(source, &[])?;
    // As high as the set's region asks for.
    let [horizontal, vertical] = &section.region;
    let aspect = (vertical.end - vertical.start) / (horizontal.end - horizontal.start);
    let height = (215.0 + 560.0 * aspect).clamp(600.0, 760.0);
    titled(model, height, &entries, |area| {
        let (left, right) = area.split_horizontally(units(0.54 * WIDTH));
        let title = "the set, decodes of the latent set, and projections";
        section.draw(&left, source, title, &decodes, MANY_ARROWS)?;
        latent::draw(&right, source, &encodings)
    })
}

/// A set that depends on x, with two free coordinates: five x, and the latent space.
fn several_x(model: &Model, source: &mut Source<'_>) -> Result<String> {
    let encodings = source.encodings(ENCODINGS)?;
    let places = places(source, 5)?;
    let decodes = places
        .iter()
        .map(|x| source.decodes(x, FEWER_DECODES.0, FEWER_DECODES.1))
        .collect::<Result<Vec<_>>>()?;
    let entries = with_arrows(entries(source.projector.charts(), true));
    titled(model, 860.0, &entries, |area| {
        let panels = area.split_evenly((2, 3));
        for ((panel, x), decodes) in panels.iter().zip(&places).zip(&decodes) {
            let (section, title) = (Section::first(source, x)?, x_title(model, x));
            section.draw(panel, source, &title, decodes, FEW_ARROWS)?;
        }
        latent::draw(&panels[5], source, &encodings)
    })
}

/// Three planes, and how far points are from the centre in y and in latent space.
fn many_dimensions(model: &Model, source: &mut Source<'_>) -> Result<String> {
    let encodings = source.encodings(ENCODINGS)?;
    let (inputs, outputs) = centre_distances(source)?;
    let entries = with_arrows(entries(source.projector.charts(), true));
    let bars = (4..=MOST_BARS).contains(&source.set.dim());
    let height = if bars { 1040.0 } else { 800.0 };
    titled(model, height, &entries, |area| {
        let (top, mut bottom) = area.split_vertically(units(390.0));
        let places = places(source, 3)?;
        let panels = top.split_evenly((1, 3));
        for (index, (panel, x)) in panels.iter().zip(&places).enumerate() {
            plane_through_centre(model, source, index, x, panel)?;
        }
        if bars {
            let (middle, rest) = bottom.split_vertically(units(240.0));
            some_inputs(model, source, &middle)?;
            bottom = rest;
        }
        let (left, right) = bottom.split_horizontally(units(0.5 * WIDTH));
        let series = |colour, values| Series { colour, values };
        Histogram {
            title: "distance from the centre: inputs (grey) and their projections (blue)",
            label: "distance from the centre of the set",
            series: vec![series(style::ARROW, inputs), series(style::hue(0), outputs)],
            marks: Vec::new(),
        }
        .draw(&left)?;
        latent::draw(&right, source, &encodings)
    })
}

/// Infeasible inputs beside their projections, in all coordinates: also those that equations determine.
fn some_inputs(model: &Model, source: &mut Source<'_>, area: &Area<'_>) -> Result<()> {
    let (names, bounds) = (source.set.names(), source.set.bounds());
    for panel in &area.split_evenly((1, 3)) {
        let (mut y, mut x) = source.input();
        for _ in 0..INPUT_TRIES {
            if !source.set.contains(&y, &x) {
                break;
            }
            (y, x) = source.input();
        }
        let title = if x.is_empty() {
            "an input (grey) and its projection".to_owned()
        } else {
            format!("an input {}", x_title(model, &x))
        };
        let projected = source.project(&y, &x)?;
        bars::draw(panel, &title, &names, &bounds, &projected)?;
    }
    Ok(())
}

fn plane_through_centre(
    model: &Model,
    source: &mut Source<'_>,
    index: usize,
    x: &[f64],
    panel: &Area<'_>,
) -> Result<()> {
    // A fixed set has planes in different directions, an input-dependent one the same at several x.
    let fixed = source.set.x_dim() == 0;
    let direction = if fixed { index } else { 0 };
    let pair = match direction > 0 && source.space.freedom() > 3 {
        true => None,
        false => source.space.pairs().nth(direction),
    };
    let section = Section::new(source, x, pair)?;
    let title = match (fixed, section.random) {
        (false, _) => x_title(model, x),
        (true, true) => "a random plane through the centre".to_owned(),
        (true, false) => format!(
            "plane of {} through the centre",
            section.labels.join(" and ")
        ),
    };
    let decodes = near(&section.plane, source)?;
    section.draw(panel, source, &title, &decodes, FEW_ARROWS)
}

/// Decodes that lie close to a plane; only in three dimensions there are enough of them.
fn near(plane: &Plane, source: &mut Source<'_>) -> Result<Vec<Decode>> {
    if source.space.freedom() > 3 {
        return Ok(Vec::new());
    }
    let scale = source.projector.frame().scale.iter();
    let scale = f64::from(scale.copied().fold(0.0, f32::max));
    let mut decodes = source.decodes(&plane.x, 10 * DECODES.0, 10 * DECODES.1)?;
    decodes.retain(|decode| plane.foot(&decode.point).1 < SLAB * scale);
    decodes.truncate(FEWER_DECODES.0 + FEWER_DECODES.1);
    Ok(decodes)
}

/// Distances of inputs and of their projections from the model's centre.
fn centre_distances(source: &mut Source<'_>) -> Result<(Vec<f64>, Vec<f64>)> {
    let mut distances = (Vec::new(), Vec::new());
    for _ in 0..DISTANCES {
        let (y, x) = source.settled_input()?;
        let (output, _) = source.projector.project(&y, &x)?;
        let centre = source.centre(&x)?;
        distances.0.push(distance(&y, &centre));
        distances.1.push(distance(&output, &centre));
    }
    Ok(distances)
}

/// One free coordinate: the output over the input.
fn one_dimension(model: &Model, source: &mut Source<'_>) -> Result<String> {
    let encodings = source.encodings(ENCODINGS)?;
    let panels = if source.set.x_dim() == 0 { 1 } else { 2 };
    let entries = entries(source.projector.charts(), false);
    titled(model, 560.0, &entries, |area| {
        let areas = area.split_evenly((1, panels + 1));
        for (panel, x) in areas.iter().zip(places(source, panels)?) {
            let title = if x.is_empty() {
                "projection".to_owned()
            } else {
                x_title(model, &x)
            };
            graph::draw(panel, source, &title, &x)?;
        }
        latent::draw(&areas[panels], source, &encodings)
    })
}

/// The x of panels: of the first places of a sequence those where the set is not empty, as far as there are
/// any.
fn places(source: &mut Source<'_>, panels: usize) -> Result<Vec<Vec<f64>>> {
    let (mut found, mut empty) = (Vec::new(), Vec::new());
    for index in 0..PLACES {
        let x = place(source, index);
        if source.meets_the_set(&x, PLACE_DRAWS)? {
            found.push(x);
        } else {
            empty.push(x);
        }
    }
    found.append(&mut empty);
    found.truncate(panels);
    Ok(found)
}

/// The middle first, then places spread over the bounds of x.
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

fn x_title(model: &Model, x: &[f64]) -> String {
    let named = model.record().x_names.iter().zip(x).take(4);
    let parts: Vec<_> = named
        .map(|(name, value)| {
            let value = format!("{value:.2}").replace('-', "−");
            format!("{name} = {value}")
        })
        .collect();
    let more = if x.len() > parts.len() { ", …" } else { "" };
    format!("at {}{more}", parts.join(", "))
}
