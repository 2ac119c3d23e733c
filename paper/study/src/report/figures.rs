//! The figures of the report.

use std::ops::Range;

use fabproj::core::{LatentSet, Projector};
use fabproj_nn::sample;
use fabproj_plot::panel::{Panel, colour, sheet};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::labels;
use crate::method::{Group, catalogue};
use crate::problem::Objective;
use crate::protocol::QUANTILES;
use crate::store::{Found, RunRecord, Store};
use crate::table::{Cell, Row, Table};
use crate::{StudyError, StudySet};

/// Dots of a panel of decodes or encodings.
const DOTS: usize = 700;
/// Side of the panels of sets.
const SIDE: f64 = 190.0;
const GAP: f64 = 28.0;
/// For families of methods and for lines.
const HUES: [&str; 5] = {
    let hues = colour::SERIES;
    [hues[5], hues[3], hues[2], hues[0], hues[4]]
};
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
        let repeats = entry.name.ends_with("-post-hoc") || entry.group == Group::Parts;
        if repeats || entry.group == Group::Fair {
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
    panel.dots(good, colour::GOOD, 1.8);
    panel.dots(bad, colour::BAD, 1.8);
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
        LatentSet::Ball { radius, .. } => {
            panel.disc([0.0; 2], f64::from(radius), "none", colour::MUTED)
        }
        LatentSet::Shell { inner, outer, .. } => {
            panel.disc([0.0; 2], f64::from(inner), "none", colour::MUTED);
            panel.disc([0.0; 2], f64::from(outer), "none", colour::MUTED);
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
    panel.dots(bad, colour::BAD, 1.8);
    panel.dots(good, colour::GOOD, 1.8);
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
        "exact" | "lookup" | "violation-descent" => 4,
        "projected-gradient" | "penalty" | "augmented-lagrangian" => 0,
        _ if name.starts_with("interior-point") => 0,
        _ if name.starts_with("fabproj") => 3,
        _ if name.starts_with("fab") => 2,
        _ => 1,
    };
    HUES[family]
}

/// Powers of ten on an axis, from the first to the last.
fn decades(first: i32, last: i32, text: impl Fn(i32) -> String) -> Vec<(f64, String)> {
    (first..=last)
        .map(|power| (f64::from(power), text(power)))
        .collect()
}

/// Gaps below this are drawn at it: they are rounding.
const LEAST_GAP: f64 = 1e-5;

fn log_gap(gap: f64) -> f64 {
    gap.max(LEAST_GAP).log10()
}

fn gap_ticks() -> Vec<(f64, String)> {
    decades(-5, 1, |power| match power {
        -5 => "≤ 1e-5".to_owned(),
        0.. => format!("{}", 10_i32.pow(power.unsigned_abs())),
        _ => format!("{:.*}", power.unsigned_abs() as usize, 10.0_f64.powi(power)),
    })
}

/// The true gap against the time of an answer, both logarithmic, a panel for each set, every method by name.
pub(super) fn gap_against_time(tables: &[Table]) -> Option<Figure> {
    const SIZE: (f64, f64) = (620.0, 420.0);
    const LEFT: f64 = 44.0;
    let mut panels = Vec::new();
    for table in tables {
        let at = place(panels.len(), SIZE, 2, LEFT);
        let mut panel = Panel::new(at, SIZE, TIMES, GAPS);
        panel.title(&table.set);
        let times = ["0.1 µs", "1 µs", "10 µs", "100 µs", "1 ms", "10 ms"];
        panel.ticks(
            &decades(-1, 4, |power| times[(power + 1) as usize].to_owned()),
            &gap_ticks(),
        );
        named_points(&mut panel, table, SIZE);
        panels.push(panel);
    }
    let size = sheet_size(panels.len(), SIZE, 2, LEFT);
    (!panels.is_empty()).then(|| Figure {
        caption: "True gap of feasible answers against the median time of an answer, both logarithmic, geometric means \
                  over the objectives. Methods without a feasible answer have no point."
            .to_owned(),
        svg: sheet(size, panels),
    })
}

/// What the panels of gaps and times show, in powers of ten.
const TIMES: Range<f64> = -1.7..4.6;
const GAPS: Range<f64> = -5.3..1.6;

/// A dot for each method of a table, with its name; a thin line leads to names that are not beside their dot.
fn named_points(panel: &mut Panel, table: &Table, (width, height): (f64, f64)) {
    // Where answers are guarded, that is the row that counts.
    let unguarded = |row: &&Row| {
        let same = |other: &Row| other.method == row.method && other.guarded && !row.guarded;
        !table.rows.iter().any(same)
    };
    let (mut points, mut names, mut hues) = (Vec::new(), Vec::new(), Vec::new());
    for row in table.rows.iter().filter(unguarded) {
        let Some((point, feasible)) = time_and_gap(row) else {
            continue;
        };
        points.push((
            point.0.clamp(TIMES.start + 0.05, TIMES.end - 0.05),
            point.1.clamp(GAPS.start + 0.05, GAPS.end - 0.05),
        ));
        names.push(match feasible < 0.995 {
            true => format!("{} ({:.0} % feasible)", row.label, 100.0 * feasible),
            false => row.label.clone(),
        });
        hues.push(hue(row));
    }
    let (across, up) = (
        width / (TIMES.end - TIMES.start),
        height / (GAPS.end - GAPS.start),
    );
    let on_sheet = |(x, y): &(f64, f64)| (across * (x - TIMES.start), up * (y - GAPS.start));
    let back = |x: f64, y: f64| (TIMES.start + x / across, GAPS.start + y / up);
    let words: Vec<&str> = names.iter().map(String::as_str).collect();
    let placed = points.iter().map(on_sheet).collect::<Vec<_>>();
    let places = labels::places(&placed, &words, (width, height));
    for (index, place) in places.iter().enumerate() {
        let (point, hue) = (points[index], hues[index]);
        if place.moved {
            let right = place.left > placed[index].0;
            let end = if right { place.left } else { place.right };
            let ((x, y), (end_x, end_y)) = (panel.at(point), panel.at(back(end, place.middle)));
            panel.put(format_args!(
                r#"<path d="M{x:.1} {y:.1}L{end_x:.1} {end_y:.1}" stroke="{hue}" stroke-width="0.5" fill="none"/>"#
            ));
        }
        panel.dots([point], hue, 5.0);
        panel.word(
            back(place.left - labels::GAP, place.middle),
            words[index],
            hue,
        );
    }
}

/// The logarithms of the median time in microseconds and of the true gap, and the feasible share.
fn time_and_gap(row: &Row) -> Option<((f64, f64), f64)> {
    let cells: Vec<&Cell> = row.cells.iter().flatten().collect();
    let mean = |measure: &dyn Fn(&Cell) -> Option<f64>| {
        let values: Option<Vec<f64>> = cells.iter().map(|cell| measure(cell)).collect();
        let values = values.filter(|values| !values.is_empty())?;
        Some(values.iter().sum::<f64>() / values.len() as f64)
    };
    let time = mean(&|cell| Some(cell.p50_us.max(1e-3).log10()))?;
    let gap = mean(&|cell| cell.true_gap.map(|gap| log_gap(gap.mean)))?;
    Some(((time, gap), mean(&|cell| Some(cell.feasible.mean))?))
}

/// The methods whose gaps are shown as distributions, with a short name and their colours.
const DISTRIBUTIONS: [(&str, &str, usize); 5] = [
    ("fab", "FAB", 2),
    ("fabproj", "fabproj", 3),
    ("lookup", "table", 0),
    ("violation-descent", "gradient", 4),
    ("fsnet", "FSNet", 1),
];

/// Quantiles of gaps, a panel for each set and objective: means hide tails.
pub(super) fn gap_distributions(tables: &[Table]) -> Option<Figure> {
    const SIZE: (f64, f64) = (400.0, 190.0);
    const LEFT: f64 = 44.0;
    let last = (QUANTILES.len() - 1) as f64;
    let mut panels = Vec::new();
    for table in tables {
        for (index, objective) in Objective::ALL.into_iter().enumerate() {
            let at = place(panels.len(), SIZE, 3, LEFT);
            let mut panel = Panel::new(at, SIZE, -0.2..last + 2.6, -5.2..1.6);
            panel.title(&format!("{}, {objective}", table.set));
            let shares = QUANTILES.iter().enumerate();
            let ticks = shares.map(|(place, share)| (place as f64, format!("{}", 100.0 * share)));
            panel.ticks(&ticks.collect::<Vec<_>>(), &gap_ticks());
            let mut ends: Vec<f64> = Vec::new();
            for (method, name, colour) in DISTRIBUTIONS {
                let guarded = method == "fabproj";
                let mut rows = table.rows.iter();
                let row = rows.find(|row| row.method == method && row.guarded == guarded);
                let Some(cell) = row.and_then(|row| row.cells[index].as_ref()) else {
                    continue;
                };
                let gaps = cell.gap_quantiles.iter().enumerate();
                let points: Vec<_> = gaps.map(|(x, gap)| (x as f64, log_gap(*gap))).collect();
                let Some(end) = points.last() else { continue };
                let mut word = end.1;
                while ends.iter().any(|other| (other - word).abs() < 0.42) {
                    word -= 0.1;
                }
                ends.push(word);
                panel.word((end.0, word), name, HUES[colour]);
                panel.line(points, HUES[colour]);
            }
            if !ends.is_empty() {
                panels.push(panel);
            }
        }
    }
    let size = sheet_size(panels.len(), SIZE, 3, LEFT);
    (!panels.is_empty()).then(|| Figure {
        caption: "Quantiles of the true gap over problems, in per cent, means over trainings; logarithmic. The mean of a \
                  table says little about the right end. Table: of 1000 points; gradient: projected gradient along the \
                  violation."
            .to_owned(),
        svg: sheet(size, panels),
    })
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
        panel.ticks(
            &[(0.0, "0".to_owned()), (steps, format!("{steps:.0}"))],
            &[(low, format!("{low:.2}")), (high, format!("{high:.2}"))],
        );
        for record in of_set {
            let hue = match record.key.objective {
                Objective::Quadratic => HUES[3],
                Objective::Linear => HUES[2],
                Objective::Distance => HUES[4],
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
