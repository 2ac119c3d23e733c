//! What a step costs.

use super::layout::{Kind, Layout};
use super::simulator::Simulator;
use super::task::Task;

/// A vase at this speed or faster costs, in metres per second.
const VASE_SPEED: f64 = 1e-4;

/// The costs by kind before they are turned into indicators, in the order of [`Task::cost_kinds`].
pub(super) fn raw_costs(layout: &Layout, simulator: &Simulator, costs: &mut [f64]) {
    let hazards = hazard_cost(layout, simulator);
    let contacts = simulator.contacts();
    let raw = match layout.task() {
        Task::Goal1 | Task::Push1 => [hazards, 0.0, 0.0],
        Task::Goal2 => [hazards, contacts.free as f64, vase_speeds(simulator)],
        Task::Push2 => [hazards, contacts.pillars as f64, 0.0],
    };
    let kinds = costs.len();
    costs.copy_from_slice(&raw[..kinds]);
}

/// 1 for a positive cost, else 0.
pub(super) fn indicator(raw: f64) -> f64 {
    if raw > 0.0 { 1.0 } else { 0.0 }
}

/// How deep the robot's centre is in hazards.
fn hazard_cost(layout: &Layout, simulator: &Simulator) -> f64 {
    let [x, y, _] = simulator.agent();
    let radius = layout.task().hazard_radius();
    let mut cost = 0.0;
    for hazard in layout.of(Kind::Hazard) {
        let [dx, dy] = [hazard.xy[0] - x, hazard.xy[1] - y];
        let distance = (dx * dx + dy * dy).sqrt();
        if distance <= radius {
            cost += radius - distance;
        }
    }
    cost
}

fn vase_speeds(simulator: &Simulator) -> f64 {
    let moving = simulator.free_speeds().filter(|speed| *speed >= VASE_SPEED);
    moving.sum()
}
