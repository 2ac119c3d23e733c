//! The motion of the double integrator: exact.

use super::{Action, Motion};
use crate::double_integrator::DoubleIntegrator;

/// Directions of the manoeuvres that accelerate: the axes and diagonals.
const DIRECTIONS: [Action; 8] = [
    [1.0, 0.0],
    [1.0, 1.0],
    [0.0, 1.0],
    [-1.0, 1.0],
    [-1.0, 0.0],
    [-1.0, -1.0],
    [0.0, -1.0],
    [1.0, -1.0],
];

/// The double integrator with its obstacles.
pub(crate) struct PointMass<'a> {
    task: &'a DoubleIntegrator,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Body {
    position: [f64; 2],
    velocity: [f64; 2],
}

impl<'a> PointMass<'a> {
    pub(crate) fn new(task: &'a DoubleIntegrator) -> Self {
        Self { task }
    }
}

impl Motion for PointMass<'_> {
    type Body = Body;

    fn start(&self) -> Body {
        Body {
            position: self.task.position(),
            velocity: self.task.velocity(),
        }
    }

    fn advance(&self, body: &mut Body, action: Action) {
        let settings = self.task.settings();
        let (dt, reach) = (settings.time_step, settings.extent);
        for (axis, command) in action.iter().enumerate() {
            let acceleration = settings.acceleration * command.clamp(-1.0, 1.0);
            body.position[axis] += body.velocity[axis] * dt + 0.5 * acceleration * dt * dt;
            body.velocity[axis] += acceleration * dt;
            if body.position[axis].abs() > reach {
                body.position[axis] = body.position[axis].clamp(-reach, reach);
                body.velocity[axis] = 0.0;
            }
        }
    }

    fn costs(&self, body: &Body, margin: f64) -> bool {
        let radius = self.task.settings().obstacle_radius + margin;
        let inside = |centre: &[f64; 2]| {
            let [x, y] = [body.position[0] - centre[0], body.position[1] - centre[1]];
            x * x + y * y < radius * radius
        };
        self.task.obstacles().iter().any(inside)
    }

    fn manoeuvres(&self) -> usize {
        1 + DIRECTIONS.len()
    }

    /// The first one brakes, the others accelerate.
    fn manoeuvre(&self, body: &Body, index: usize) -> Action {
        let settings = self.task.settings();
        let stopping = settings.acceleration * settings.time_step;
        match index.checked_sub(1) {
            None => body
                .velocity
                .map(|speed| (-speed / stopping).clamp(-1.0, 1.0)),
            Some(direction) => DIRECTIONS[direction],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::Environment;

    #[test]
    fn the_model_is_the_task() {
        let mut task = DoubleIntegrator::default();
        let mut observation = vec![0.0; task.observation_dim()];
        task.reset(3, &mut observation).unwrap();
        let start = task.clone();
        let model = PointMass::new(&start);
        let mut body = model.start();
        for step in 0..150 {
            let action = [
                (f64::from(step) * 0.1).sin(),
                (f64::from(step) * 0.07).cos(),
            ];
            let result = task.step(&action, &mut observation).unwrap();
            model.advance(&mut body, action);
            assert_eq!(body.position, task.position());
            assert_eq!(body.velocity, task.velocity());
            assert_eq!(model.costs(&body, 0.0), result.cost > 0.0);
        }
    }

    #[test]
    fn the_first_manoeuvre_stops_the_mass() {
        let mut task = DoubleIntegrator::default();
        task.reset(3, &mut vec![0.0; task.observation_dim()])
            .unwrap();
        let model = PointMass::new(&task);
        let mut body = Body {
            position: [0.0; 2],
            velocity: [1.0, -0.55],
        };
        for _ in 0..12 {
            let action = model.manoeuvre(&body, 0);
            model.advance(&mut body, action);
        }
        assert!(body.velocity[0].abs() < 1e-9 && body.velocity[1].abs() < 1e-9);
    }
}
