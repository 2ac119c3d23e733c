//! An episode from above.

use crate::evaluate::{Trace, TracePoint};
use crate::task::{Obstacle, TopView};
use fabproj_plot::panel::{Panel, colour, sheet};

const GOAL: &str = colour::SERIES[6];
const CORRECTED: &str = colour::SERIES[3];

/// Side of the picture in points.
const SIDE: f64 = 480.0;

/// Length of the arrow of a full action, as a share of the extent.
const ARROW: f64 = 0.08;

/// Seconds that the animation takes.
const DURATION: f64 = 12.0;

/// Draws an episode: the path coloured by cost, obstacles, goals, corrected actions as arrows.
/// With `animated`, a dot drives along the path.
pub fn picture(trace: &Trace, title: &str, animated: bool) -> String {
    let extent = reach(trace);
    let range = -extent..extent;
    let mut panel = Panel::new((10.0, 26.0), (SIDE, SIDE), range.clone(), range);
    panel.title(title);
    draw_obstacles(&mut panel, &trace.start);
    draw_goals(&mut panel, trace);
    draw_path(&mut panel, trace);
    draw_corrections(&mut panel, trace, extent);
    panel.dot((trace.origin[0], trace.origin[1]), colour::INK, false);
    if animated {
        animate(&mut panel, trace);
    }
    sheet((SIDE + 20.0, SIDE + 36.0), [panel])
}

/// Half the side of a square that shows the task and the whole path.
fn reach(trace: &Trace) -> f64 {
    let places = trace.points.iter().map(|point| point.position);
    let farthest = places.fold(trace.start.extent, |reach, [x, y]| {
        reach.max(x.abs()).max(y.abs())
    });
    1.05 * farthest.max(1e-6)
}

fn draw_obstacles(panel: &mut Panel, view: &TopView) {
    for Obstacle { kind, disc, square } in &view.obstacles {
        let hue = match *kind {
            "vase" => "#0d9488",
            "box" => "#b47808",
            "pillar" => "#64748b",
            _ => "#933386",
        };
        match square {
            Some(angle) => panel.square(disc.centre, disc.radius, *angle, hue),
            None => panel.disc(disc.centre, disc.radius, hue, hue),
        }
    }
}

/// Every goal of the episode, numbered in the order in which they were reached.
fn draw_goals(panel: &mut Panel, trace: &Trace) {
    let mut goals = vec![trace.start.goal];
    for point in &trace.points {
        if goals.last() != Some(&point.goal) {
            goals.push(point.goal);
        }
    }
    for (index, goal) in goals.iter().enumerate() {
        panel.disc(goal.centre, goal.radius, GOAL, GOAL);
        let place = (goal.centre[0], goal.centre[1]);
        panel.word(place, &(index + 1).to_string(), GOAL);
    }
}

/// Stretches of equal colour: red where a step cost.
fn draw_path(panel: &mut Panel, trace: &Trace) {
    let place = |point: &TracePoint| (point.position[0], point.position[1]);
    let mut last = (trace.origin[0], trace.origin[1]);
    for stretch in trace
        .points
        .chunk_by(|a, b| (a.cost > 0.0) == (b.cost > 0.0))
    {
        let costs = stretch.first().is_some_and(|point| point.cost > 0.0);
        let hue = if costs { colour::BAD } else { colour::GOOD };
        panel.line([last].into_iter().chain(stretch.iter().map(place)), hue);
        last = stretch.last().map_or(last, place);
    }
}

/// Executed actions where the filter intervened: at most 200 of them.
fn draw_corrections(panel: &mut Panel, trace: &Trace, extent: f64) {
    let corrected: Vec<&TracePoint> = trace.points.iter().filter(|p| p.corrected).collect();
    for point in corrected.iter().step_by(corrected.len() / 200 + 1) {
        let step = point.direction.map(|part| ARROW * extent * part);
        panel.arrow(point.position, step, CORRECTED);
    }
}

/// A dot on the path, and the current goal.
fn animate(panel: &mut Panel, trace: &Trace) {
    let list = |values: Vec<f64>| {
        let texts: Vec<String> = values.iter().map(|value| format!("{value:.1}")).collect();
        texts.join(";")
    };
    let every = trace.points.len() / 400 + 1;
    let frames: Vec<&TracePoint> = trace.points.iter().step_by(every).collect();
    let places: Vec<(f64, f64)> = frames
        .iter()
        .map(|point| panel.at((point.position[0], point.position[1])))
        .collect();
    let goals: Vec<(f64, f64)> = frames
        .iter()
        .map(|point| panel.at((point.goal.centre[0], point.goal.centre[1])))
        .collect();
    let radius = panel.length(trace.start.agent_radius).max(5.0);
    let goal_radius = panel.length(trace.start.goal.radius);
    // A circle that starts at the first place, for viewers that do not animate.
    let moving = |places: &[(f64, f64)], mode: &str, look: String| {
        let (x, y): (Vec<f64>, Vec<f64>) = places.iter().copied().unzip();
        let start = places.first().copied().unwrap_or_default();
        let common = format!(r#"dur="{DURATION}s" repeatCount="indefinite" calcMode="{mode}""#);
        format!(
            r#"<circle cx="{:.1}" cy="{:.1}" {look}><animate attributeName="cx" values="{}" {common}/><animate attributeName="cy" values="{}" {common}/></circle>"#,
            start.0,
            start.1,
            list(x),
            list(y)
        )
    };
    let outline = format!(r#"r="{goal_radius:.1}" fill="none" stroke="{GOAL}" stroke-width="3""#);
    let filled = format!(r#"r="{radius:.1}" fill="{}""#, colour::INK);
    let goal = moving(&goals, "discrete", outline);
    let agent = moving(&places, "linear", filled);
    panel.put(format_args!("{goal}{agent}"));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluate::{Controller, trace};
    use crate::filter::Guarded;
    use crate::task::open;

    #[test]
    fn a_picture_shows_obstacles_goals_and_the_path() {
        let task = Guarded::plain(open("double-integrator").unwrap());
        let trace = trace(task, &Controller::Random, 5).unwrap();
        let still = picture(&trace, "random <policy>", false);
        // Four obstacles, a goal, the start.
        assert_eq!(still.matches("<circle").count(), 6);
        assert!(still.contains("random &lt;policy&gt;") && !still.contains("animate"));
        assert!(still.contains(colour::GOOD));
        let moving = picture(&trace, "random", true);
        assert_eq!(moving.matches("<animate").count(), 4);
        let circles = moving.split("<circle ").skip(1);
        assert!(circles.into_iter().all(|circle| circle.starts_with("cx=")));
    }
}
