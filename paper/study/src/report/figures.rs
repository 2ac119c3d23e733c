//! The figures of the report.

use fabproj::core::{LatentSet, Projector};
use fabproj_nn::sample;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::svg::{Panel, colour, sheet};
use crate::method::catalogue;
use crate::problem::Objective;
use crate::store::{Found, RunRecord, Store};
use crate::table::{Cell, Row, Table};
use crate::{StudyError, StudySet};

/// Dots of a panel of decodes or encodings.
const DOTS: usize = 700;
/// Side of the panels of sets.
const SIDE: f64 = 190.0;
const GAP: f64 = 28.0;
/// Panels beside each other.
const COLUMNS: usize = 5;

/// A figure with its caption.
pub(super) struct Figure {
    pub(super) caption: String,
    pub(super) svg: String,
}

/// The place of panel `index` in a grid.
fn place(index: usize, size: (f64, f64), columns: usize, left: f64) -> (f64, f64) {
    let (row, column) = (index / columns, index % columns);
    (
        left + column as f64 * (size.0 + GAP + left),
        24.0 + row as f64 * (size.1 + GAP + 14.0),
    )
}

/// The size of a sheet with so many panels.
fn sheet_size(count: usize, size: (f64, f64), columns: usize, left: f64) -> (f64, f64) {
    let rows = count.div_ceil(columns).max(1);
    let (x, y) = place(
        (rows - 1) * columns + count.min(columns).max(1) - 1,
        size,
        columns,
        left,
    );
    (x + size.0 + 8.0, y + size.1 + 20.0)
}

fn set_panel(set: &StudySet, index: usize) -> Panel {
    let bounds = set.set().bounds();
    let (x, y) = (bounds[0].0..bounds[0].1, bounds[1].0..bounds[1].1);
    let mut panel = Panel::equal(place(index, (SIDE, SIDE), COLUMNS, 0.0), (SIDE, SIDE), x, y);
    panel.region(|x, y| set.set().contains(&[x, y], &[]));
    panel
}

/// Decodes of the latent sets of every variant, over the set, and beside them the encodings.
pub(super) fn variants(
    set: &StudySet,
    records: &[RunRecord],
    store: &Store,
) -> Result<Option<Figure>, StudyError> {
    let mut panels = Vec::new();
    for entry in catalogue() {
        let of_method = |record: &&RunRecord| {
            record.key.set == set.name()
                && record.key.method == entry.name
                && record.model.is_some()
        };
        let Some(key) = records
            .iter()
            .find(of_method)
            .and_then(|record| record.model.clone())
        else {
            continue;
        };
        // Without the end-to-end network nothing about the projector changes.
        if entry.name == "fab-post-hoc" || entry.group == crate::method::Group::Fair {
            continue;
        }
        let Found::This(model) = store.model(&key)? else {
            continue;
        };
        let projector = model.projector();
        panels.push(decodes(set, projector, panels.len(), &entry.label)?);
        panels.push(encodings(set, projector, panels.len())?);
    }
    if panels.is_empty() {
        return Ok(None);
    }
    // An even number, so that a variant's two panels stay beside each other.
    let size = sheet_size(panels.len(), (SIDE, SIDE), PAIRED, 0.0);
    Ok(Some(Figure {
        caption: format!(
            "{}: for every variant the decodes of its latent set over the feasible set, and beside them \
             the latent space with encodings of points of the region (first chart). Blue is feasible, red is not.",
            set.name()
        ),
        svg: sheet(size, panels),
    }))
}

/// Columns of panels that come in pairs.
const PAIRED: usize = 6;

fn decodes(
    set: &StudySet,
    projector: &Projector,
    index: usize,
    label: &str,
) -> Result<Panel, StudyError> {
    let bounds = set.set().bounds();
    let (x, y) = (bounds[0].0..bounds[0].1, bounds[1].0..bounds[1].1);
    let mut panel = Panel::equal(place(index, (SIDE, SIDE), PAIRED, 0.0), (SIDE, SIDE), x, y);
    panel.title(label);
    panel.region(|x, y| set.set().contains(&[x, y], &[]));
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let mut workspace = projector.workspace();
    let (mut good, mut bad) = (Vec::new(), Vec::new());
    let charts = projector.charts();
    for dot in 0..DOTS {
        let chart = dot % charts;
        let (Some(latent_set), Some(dim)) =
            (projector.latent_set(chart), projector.latent_dim(chart))
        else {
            continue;
        };
        let mut latent = vec![0.0; dim];
        if dot % 4 == 0 {
            sample::surface(&latent_set, &mut latent, &mut random);
        } else {
            sample::inside(&latent_set, &mut latent, &mut random);
        }
        let mut out = [0.0; 2];
        projector.decode(chart, &latent, &[], &mut out, &mut workspace)?;
        let point = (f64::from(out[0]), f64::from(out[1]));
        if set.contains(&out) {
            good.push(point)
        } else {
            bad.push(point)
        }
    }
    panel.dots(good, colour::FEASIBLE, 1.8);
    panel.dots(bad, colour::INFEASIBLE, 1.8);
    Ok(panel)
}

fn encodings(set: &StudySet, projector: &Projector, index: usize) -> Result<Panel, StudyError> {
    let mut panel = Panel::equal(
        place(index, (SIDE, SIDE), PAIRED, 0.0),
        (SIDE, SIDE),
        -1.1..1.1,
        -1.1..1.1,
    );
    let (Some(latent_set), Some(2)) = (projector.latent_set(0), projector.latent_dim(0)) else {
        return Ok(panel);
    };
    match latent_set {
        LatentSet::Ball { radius, .. } => panel.circle((0.0, 0.0), f64::from(radius)),
        LatentSet::Shell { inner, outer, .. } => {
            panel.circle((0.0, 0.0), f64::from(inner));
            panel.circle((0.0, 0.0), f64::from(outer));
        }
        _ => {}
    }
    let bounds = set.set().bounds();
    let mut random = ChaCha8Rng::seed_from_u64(2);
    let mut workspace = projector.workspace();
    let (mut good, mut bad) = (Vec::new(), Vec::new());
    for _ in 0..DOTS {
        let y: Vec<f32> = bounds
            .iter()
            .map(|(low, high)| (low + (high - low) * random.random::<f64>()) as f32)
            .collect();
        let (mut latent, mut decoded) = ([0.0; 2], [0.0; 2]);
        projector.encode(0, &y, &[], &mut latent, &mut workspace)?;
        let mut clamped = latent;
        latent_set.clamp(&mut clamped);
        projector.decode(0, &clamped, &[], &mut decoded, &mut workspace)?;
        // Points of other charts have other projections.
        if projector.project(&y, &[])?.0 != decoded {
            continue;
        }
        let point = (f64::from(latent[0]), f64::from(latent[1]));
        if set.contains(&y) {
            good.push(point)
        } else {
            bad.push(point)
        }
    }
    panel.dots(bad, colour::INFEASIBLE, 1.8);
    panel.dots(good, colour::FEASIBLE, 1.8);
    Ok(panel)
}

/// The sets of the plane.
pub(super) fn sets(names: &[&str]) -> Result<Option<Figure>, StudyError> {
    let mut panels = Vec::new();
    for name in names {
        let set = StudySet::open(name)?;
        if set.dim() == 2 {
            let mut panel = set_panel(&set, panels.len());
            panel.title(name);
            panels.push(panel);
        }
    }
    let size = sheet_size(panels.len(), (SIDE, SIDE), COLUMNS, 0.0);
    Ok((!panels.is_empty()).then(|| Figure {
        caption: "The feasible sets of the plane.".to_owned(),
        svg: sheet(size, panels),
    }))
}

/// Which family a method belongs to, by its hue.
fn hue(row: &Row) -> &'static str {
    let name = row.method.as_str();
    let family = match name {
        "projected-gradient" | "penalty" | "augmented-lagrangian" | "interior-point" => 0,
        _ if name.starts_with("fabproj") => 3,
        _ if name.starts_with("fab") => 2,
        _ => 1,
    };
    colour::SERIES[family]
}

/// Feasibility against latency, a panel for each set, means over the objectives. Methods are numbered:
/// their names would cover each other.
pub(super) fn latency(tables: &[Table]) -> Option<Figure> {
    const SIZE: (f64, f64) = (380.0, 230.0);
    const LEFT: f64 = 34.0;
    let mut names: Vec<&str> = Vec::new();
    for row in tables.iter().flat_map(|table| &table.rows) {
        if !names.contains(&row.label.as_str()) {
            names.push(&row.label);
        }
    }
    let mut panels = Vec::new();
    for table in tables {
        let at = place(panels.len(), SIZE, 3, LEFT);
        let mut panel = Panel::new(at, SIZE, -0.2..4.2, -4.0..106.0);
        panel.title(&table.set);
        let times = ["1 µs", "10 µs", "100 µs", "1 ms", "10 ms"]
            .iter()
            .zip(0_u8..);
        let ticks = times.map(|(text, power)| (f64::from(power), (*text).to_owned()));
        panel.ticks_below(&ticks.collect::<Vec<_>>());
        let shares = [0.0, 25.0, 50.0, 75.0, 100.0];
        panel.ticks_left(&shares.map(|share| (share, format!("{share} %"))));
        let mut taken: Vec<(f64, f64)> = Vec::new();
        for row in &table.rows {
            let Some(point) = speed_and_share(row) else {
                continue;
            };
            panel.dots([point], hue(row), 5.0);
            let mut number = point;
            let covers = |a: &(f64, f64), b: &(f64, f64)| {
                (a.0 - b.0).abs() < 0.15 && (a.1 - b.1).abs() < 4.5
            };
            while taken.iter().any(|other| covers(other, &number)) {
                number.1 -= 4.6;
            }
            taken.push(number);
            let index = names
                .iter()
                .position(|name| *name == row.label)
                .unwrap_or(0);
            panel.word(number, &(index + 1).to_string(), hue(row));
        }
        panels.push(panel);
    }
    let size = sheet_size(panels.len(), SIZE, 3, LEFT);
    let numbered = names.iter().enumerate();
    let numbered: Vec<String> = numbered
        .map(|(index, name)| format!("{} {name}", index + 1))
        .collect();
    (!panels.is_empty()).then(|| Figure {
        caption: format!(
            "Share of feasible answers against the median time of an answer (logarithmic), means over the \
             objectives; where dots are close, their numbers hang below each other. {}.",
            numbered.join(" · ")
        ),
        svg: sheet(size, panels),
    })
}

/// The logarithm of the median time in microseconds, and the feasible per cent.
fn speed_and_share(row: &Row) -> Option<(f64, f64)> {
    let cells: Vec<&Cell> = row.cells.iter().flatten().collect();
    let mean = |measure: &dyn Fn(&Cell) -> f64| {
        cells.iter().map(|cell| measure(cell)).sum::<f64>() / cells.len() as f64
    };
    let point = || {
        (
            mean(&|cell| cell.p50_us.max(1e-3).log10()),
            100.0 * mean(&|cell| cell.feasible.mean),
        )
    };
    (!cells.is_empty()).then(point)
}

/// Training losses of a method's solver networks, a panel for each set.
pub(super) fn curves(records: &[RunRecord], method: &str, names: &[&str]) -> Option<Figure> {
    const SIZE: (f64, f64) = (230.0, 140.0);
    const LEFT: f64 = 34.0;
    let mut panels = Vec::new();
    for name in names {
        let of_set: Vec<&RunRecord> = records
            .iter()
            .filter(|record| record.key.set == *name && record.key.method == method)
            .filter(|record| record.curve.len() > 1)
            .collect();
        let points = || of_set.iter().flat_map(|record| &record.curve);
        let steps = points().map(|(step, _)| *step).max().unwrap_or(0) as f64;
        let low = points()
            .map(|(_, loss)| *loss)
            .fold(f64::INFINITY, f64::min);
        let high = points()
            .map(|(_, loss)| *loss)
            .fold(f64::NEG_INFINITY, f64::max);
        if of_set.is_empty() || high <= low {
            continue;
        }
        let margin = 0.05 * (high - low);
        let at = place(panels.len(), SIZE, 4, LEFT);
        // Room for the last tick's number.
        let mut panel = Panel::new(at, SIZE, 0.0..1.1 * steps, low - margin..high + margin);
        panel.title(name);
        panel.ticks_below(&[(0.0, "0".to_owned()), (steps, format!("{steps:.0}"))]);
        panel.ticks_left(&[(low, format!("{low:.2}")), (high, format!("{high:.2}"))]);
        for record in of_set {
            let hue = match record.key.objective {
                Objective::Quadratic => colour::SERIES[3],
                Objective::Linear => colour::SERIES[2],
                Objective::Distance => colour::SERIES[4],
            };
            panel.line(
                record
                    .curve
                    .iter()
                    .map(|(step, loss)| (*step as f64, *loss)),
                hue,
            );
        }
        panels.push(panel);
    }
    let size = sheet_size(panels.len(), SIZE, 4, LEFT);
    (!panels.is_empty()).then(|| Figure {
        caption: format!(
            "Training losses of the solver networks of {method}: quadratic blue, linear green, distance purple."
        ),
        svg: sheet(size, panels),
    })
}
