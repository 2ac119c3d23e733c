//! Learning curves, and the front of reward against cost.

use std::ops::Range;

use super::groups::Group;
use super::published::Published;
use crate::store::RunRecord;
use crate::train::EpochRecord;
use fabproj_plot::panel::{Panel, colour, round_ticks, sheet};

/// Size of a panel of curves.
const CURVES: (f64, f64) = (430.0, 220.0);

/// Size of the front.
const FRONT: (f64, f64) = (620.0, 380.0);

const LEFT: f64 = 44.0;
const TOP: f64 = 26.0;

/// The colour of a method.
pub(super) fn hue(index: usize) -> &'static str {
    colour::SERIES[index % colour::SERIES.len()]
}

/// Reward and cost of the last 50 episodes over the steps: mean over the seeds, and their range.
pub(super) fn curves(groups: &[Group]) -> Option<String> {
    let drawn: Vec<(usize, &Group)> = groups
        .iter()
        .enumerate()
        .filter(|(_, group)| group.runs.iter().any(|run| run.curve.len() > 1))
        .collect();
    if drawn.is_empty() {
        return None;
    }
    type Measure = fn(&EpochRecord) -> Option<f64>;
    let measures: [(&str, Measure); 2] = [
        ("reward of the last 50 episodes", |record| record.reward),
        ("cost of the last 50 episodes", |record| record.cost),
    ];
    let panels = measures
        .iter()
        .enumerate()
        .map(|(index, (title, measure))| {
            let place = (LEFT + index as f64 * (CURVES.0 + LEFT + 10.0), TOP);
            curve_panel(place, title, &drawn, *measure)
        });
    let size = (2.0 * (CURVES.0 + LEFT) + 30.0, CURVES.1 + TOP + 24.0);
    Some(sheet(size, panels.collect::<Vec<_>>()))
}

fn curve_panel(
    place: (f64, f64),
    title: &str,
    groups: &[(usize, &Group)],
    measure: fn(&EpochRecord) -> Option<f64>,
) -> Panel {
    let bands: Vec<(usize, Vec<Band>)> = groups
        .iter()
        .map(|(index, group)| (*index, bands(&group.runs, measure)))
        .collect();
    let all = || bands.iter().flat_map(|(_, bands)| bands);
    let steps = 0.0..all().map(|band| band.steps).fold(1.0, f64::max);
    let low = all().map(|band| band.low).fold(0.0, f64::min);
    let high = all().map(|band| band.high).fold(low + 1e-3, f64::max);
    let values = padded(low..high);
    let below = round_ticks(&steps)
        .into_iter()
        .map(|(value, _)| (value, millions(value)))
        .collect::<Vec<_>>();
    let left = round_ticks(&values);
    let mut panel = Panel::new(place, CURVES, steps, values);
    panel.title(title);
    panel.ticks(&below, &left);
    for (index, bands) in &bands {
        let upper = bands.iter().map(|band| (band.steps, band.high));
        let lower = bands.iter().rev().map(|band| (band.steps, band.low));
        panel.area(upper.chain(lower), hue(*index));
        panel.line(
            bands.iter().map(|band| (band.steps, band.mean)),
            hue(*index),
        );
        // Colours repeat; numbers, as in the tables, do not.
        if let Some(last) = bands.last() {
            panel.word(
                (last.steps, last.mean),
                &(index + 1).to_string(),
                hue(*index),
            );
        }
    }
    panel
}

/// One epoch over several seeds.
struct Band {
    steps: f64,
    low: f64,
    mean: f64,
    high: f64,
}

fn bands(runs: &[RunRecord], measure: fn(&EpochRecord) -> Option<f64>) -> Vec<Band> {
    let epochs = runs.iter().map(|run| run.curve.len()).min().unwrap_or(0);
    let band = |epoch: usize| {
        let records = runs.iter().map(|run| &run.curve[epoch]);
        let values: Option<Vec<f64>> = records.map(measure).collect();
        let values = values.filter(|values| !values.is_empty())?;
        Some(Band {
            steps: runs[0].curve[epoch].steps as f64,
            low: values.iter().copied().fold(f64::INFINITY, f64::min),
            mean: values.iter().sum::<f64>() / values.len() as f64,
            high: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        })
    };
    (0..epochs).filter_map(band).collect()
}

/// Reward against cost: ours filled and numbered, published hollow with letters. The cost's axis is
/// logarithmic from 1 on. A line joins the thresholds of one guard.
pub(super) fn front(groups: &[Group], published: &[Published]) -> Option<String> {
    let point = |cost: f64, reward: f64| (squeezed(cost), reward);
    let ours: Vec<(f64, f64)> = groups
        .iter()
        .map(|group| {
            let cost = group.estimate(|summary| summary.cost.mean).mean;
            let reward = group.estimate(|summary| summary.reward.mean).mean;
            point(cost, reward)
        })
        .collect();
    let theirs: Vec<(f64, f64)> = published.iter().map(|p| point(p.cost, p.reward)).collect();
    let all = || ours.iter().chain(&theirs);
    all().next()?;
    let across = -0.05..all().map(|p| p.0).fold(squeezed(10.0), f64::max) * 1.25;
    let low = all().map(|p| p.1).fold(0.0, f64::min);
    let high = all().map(|p| p.1).fold(low + 1e-3, f64::max);
    let up = padded(low..high);
    let costs = [0.0, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0];
    let below: Vec<(f64, String)> = costs
        .iter()
        .map(|cost| (squeezed(*cost), format!("{cost:.0}")))
        .filter(|(place, _)| across.contains(place))
        .collect();
    let left = round_ticks(&up);
    let mut panel = Panel::new((LEFT, TOP), FRONT, across, up);
    panel.title("reward (upwards) against cost (to the right)");
    panel.ticks(&below, &left);
    for (place, row) in theirs.iter().zip(published) {
        panel.dot(*place, colour::MUTED, false);
        panel.word(*place, &row.letter.to_string(), colour::MUTED);
    }
    for thresholds in families(groups) {
        let mut places: Vec<(f64, f64)> = thresholds.iter().map(|index| ours[*index]).collect();
        places.sort_by(|a, b| a.0.total_cmp(&b.0));
        panel.line(places, hue(thresholds[0]));
    }
    for (index, place) in ours.iter().enumerate() {
        panel.dot(*place, hue(index), true);
        panel.word(*place, &(index + 1).to_string(), hue(index));
    }
    Some(sheet(
        (FRONT.0 + LEFT + 12.0, FRONT.1 + TOP + 24.0),
        [panel],
    ))
}

/// Groups that differ in the threshold of their guard only: two or more each.
fn families(groups: &[Group]) -> Vec<Vec<usize>> {
    let mut families: Vec<(String, Vec<usize>)> = Vec::new();
    for (index, group) in groups.iter().enumerate() {
        let family = group.family();
        match families.iter_mut().find(|(name, _)| *name == family) {
            Some((_, members)) => members.push(index),
            None => families.push((family, vec![index])),
        }
    }
    let members = families.into_iter().map(|(_, members)| members);
    members.filter(|members| members.len() > 1).collect()
}

/// Linear near 0, logarithmic from 1 on.
fn squeezed(cost: f64) -> f64 {
    cost.max(0.0).asinh()
}

fn padded(range: Range<f64>) -> Range<f64> {
    let margin = 0.06 * (range.end - range.start);
    range.start - margin..range.end + margin
}

fn millions(steps: f64) -> String {
    match steps {
        s if s >= 1e6 => format!("{:.1} M", s / 1e6),
        s if s >= 1e3 => format!("{:.0} k", s / 1e3),
        s => format!("{s:.0}"),
    }
}
