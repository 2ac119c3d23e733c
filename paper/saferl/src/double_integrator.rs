//! A point mass in the plane that drives to goals between round obstacles.
//!
//! A small task without a simulator, for tests and as an example of an [`Environment`].

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::env::{
    Environment, EnvironmentError, Interval, Restore, Result, Step, check_action, check_observation,
};

/// Draws of one position before a layout is given up.
const TRIES: usize = 1000;

/// Free space between the rims of two placed objects.
const GAP: f64 = 0.1;

/// A point or a vector of the plane.
pub type Vector = [f64; 2];

/// Settings of a [`DoubleIntegrator`].
#[derive(Clone, Debug, PartialEq)]
pub struct DoubleIntegratorSettings {
    /// Half the side of the square arena. Default 2.
    pub extent: f64,
    /// Number of obstacles. Default 4.
    pub obstacles: usize,
    /// Radius of an obstacle. Default 0.35.
    pub obstacle_radius: f64,
    /// The goal is reached at this distance. Default 0.25.
    pub goal_radius: f64,
    /// Acceleration at action 1. Default 1.
    pub acceleration: f64,
    /// Seconds per step. Default 0.1.
    pub time_step: f64,
    /// Steps per episode. Default 200.
    pub horizon: usize,
}

impl Default for DoubleIntegratorSettings {
    fn default() -> Self {
        Self {
            extent: 2.0,
            obstacles: 4,
            obstacle_radius: 0.35,
            goal_radius: 0.25,
            acceleration: 1.0,
            time_step: 0.1,
            horizon: 200,
        }
    }
}

impl DoubleIntegratorSettings {
    fn validate(&self) -> Result<()> {
        let lengths = [
            ("extent", self.extent),
            ("obstacle_radius", self.obstacle_radius),
            ("goal_radius", self.goal_radius),
            ("acceleration", self.acceleration),
            ("time_step", self.time_step),
            ("horizon", self.horizon as f64),
        ];
        for (name, found) in lengths {
            if !(found.is_finite() && found > 0.0) {
                let expected = "finite and greater than 0";
                return Err(EnvironmentError::Setting {
                    name,
                    expected,
                    found,
                });
            }
        }
        Ok(())
    }
}

/// The point mass: p' = v, v' = a, in a square with obstacles and a goal.
///
/// * Action: the acceleration, two components in [-1, 1]. Walls stop the mass.
/// * Observation: velocity, goal relative to the mass, each obstacle relative to the mass (nearest
///   first), position; two entries each.
/// * Reward: the distance gained towards the goal, and 1 for reaching it. The goal then moves.
/// * Cost: 1 in a step that ends inside an obstacle.
///
/// ```
/// use fab_saferl::{DoubleIntegrator, env::Environment};
///
/// let mut task = DoubleIntegrator::default();
/// let mut observation = vec![0.0; task.observation_dim()];
/// task.reset(7, &mut observation)?;
/// let step = task.step(&[1.0, 0.0], &mut observation)?;
/// assert!(!step.ended());
/// assert_eq!(observation[0], 0.1);
/// # Ok::<(), fab_saferl::env::EnvironmentError>(())
/// ```
#[derive(Clone, Debug)]
pub struct DoubleIntegrator {
    settings: DoubleIntegratorSettings,
    state: DoubleIntegratorState,
    costs: [f64; 1],
}

/// The state of an episode of [`DoubleIntegrator`].
#[derive(Clone, Debug)]
pub struct DoubleIntegratorState {
    random: ChaCha8Rng,
    seed: u32,
    steps: Option<usize>,
    position: Vector,
    velocity: Vector,
    goal: Vector,
    obstacles: Vec<Vector>,
}

impl Default for DoubleIntegrator {
    fn default() -> Self {
        Self::with(DoubleIntegratorSettings::default())
    }
}

impl DoubleIntegrator {
    /// A task with other settings.
    pub fn new(settings: DoubleIntegratorSettings) -> Result<Self> {
        settings.validate()?;
        Ok(Self::with(settings))
    }

    fn with(settings: DoubleIntegratorSettings) -> Self {
        let obstacles = vec![[0.0; 2]; settings.obstacles];
        Self {
            settings,
            state: DoubleIntegratorState {
                random: ChaCha8Rng::seed_from_u64(0),
                seed: 0,
                steps: None,
                position: [0.0; 2],
                velocity: [0.0; 2],
                goal: [0.0; 2],
                obstacles,
            },
            costs: [0.0],
        }
    }

    /// The settings.
    pub fn settings(&self) -> &DoubleIntegratorSettings {
        &self.settings
    }

    /// Position of the mass.
    pub fn position(&self) -> Vector {
        self.state.position
    }

    /// Velocity of the mass.
    pub fn velocity(&self) -> Vector {
        self.state.velocity
    }

    /// Position of the goal.
    pub fn goal(&self) -> Vector {
        self.state.goal
    }

    /// Centres of the obstacles.
    pub fn obstacles(&self) -> &[Vector] {
        &self.state.obstacles
    }

    /// Draws obstacles that leave the start free and do not overlap, then the goal.
    fn place(&mut self) -> Result<()> {
        let radius = self.settings.obstacle_radius;
        self.state.obstacles.clear();
        for index in 0..self.settings.obstacles {
            let centre = self.draw(radius, Some(index))?;
            self.state.obstacles.push(centre);
        }
        self.state.goal = self.draw(self.settings.goal_radius, None)?;
        Ok(())
    }

    /// A place for a disc that touches neither the obstacles nor the mass.
    fn draw(&mut self, radius: f64, obstacle: Option<usize>) -> Result<Vector> {
        let reach = self.settings.extent;
        for _ in 0..TRIES {
            let place = [0; 2].map(|_| self.state.random.random_range(-reach..reach));
            let clear = |other: &Vector| {
                distance(place, *other) >= radius + self.settings.obstacle_radius + GAP
            };
            let state = &self.state;
            if clear(&state.position) && state.obstacles.iter().all(clear) {
                return Ok(place);
            }
        }
        Err(EnvironmentError::Layout {
            object: obstacle.map_or("goal".into(), |index| format!("obstacle{index}")),
            tries: TRIES,
            seed: self.state.seed,
        })
    }

    /// Moves the mass exactly for a constant acceleration, then stops it at the walls.
    fn advance(&mut self, action: &[f64]) {
        let (dt, reach) = (self.settings.time_step, self.settings.extent);
        for (axis, command) in action.iter().enumerate() {
            let acceleration = self.settings.acceleration * command.clamp(-1.0, 1.0);
            let state = &mut self.state;
            state.position[axis] += state.velocity[axis] * dt + 0.5 * acceleration * dt * dt;
            state.velocity[axis] += acceleration * dt;
            if state.position[axis].abs() > reach {
                state.position[axis] = state.position[axis].clamp(-reach, reach);
                state.velocity[axis] = 0.0;
            }
        }
    }

    fn observe(&self, observation: &mut [f64]) {
        let state = &self.state;
        let relative = |other: Vector| [other[0] - state.position[0], other[1] - state.position[1]];
        let mut obstacles: Vec<Vector> = state.obstacles.iter().map(|at| relative(*at)).collect();
        obstacles.sort_by(|a, b| norm(*a).total_cmp(&norm(*b)));
        let entries = [state.velocity, relative(state.goal)]
            .into_iter()
            .chain(obstacles)
            .chain([state.position]);
        for (slot, value) in observation.iter_mut().zip(entries.flatten()) {
            *slot = value;
        }
    }
}

impl Environment for DoubleIntegrator {
    fn observation_dim(&self) -> usize {
        6 + 2 * self.settings.obstacles
    }

    fn action_bounds(&self) -> &[Interval] {
        &[(-1.0, 1.0); 2]
    }

    fn reset(&mut self, seed: u32, observation: &mut [f64]) -> Result<()> {
        check_observation(self, observation)?;
        self.state.random = ChaCha8Rng::seed_from_u64(u64::from(seed));
        self.state.seed = seed;
        self.state.position = [0.0; 2];
        self.state.velocity = [0.0; 2];
        self.state.steps = None;
        self.place()?;
        self.state.steps = Some(0);
        self.costs = [0.0];
        self.observe(observation);
        Ok(())
    }

    fn step(&mut self, action: &[f64], observation: &mut [f64]) -> Result<Step> {
        check_action(self, action)?;
        check_observation(self, observation)?;
        let steps = match self.state.steps {
            Some(steps) if steps < self.settings.horizon => steps + 1,
            _ => return Err(EnvironmentError::NotRunning),
        };
        self.state.steps = Some(steps);
        let before = distance(self.state.position, self.state.goal);
        self.advance(action);
        let (position, radius) = (self.state.position, self.settings.obstacle_radius);
        let inside = |centre: &Vector| distance(position, *centre) < radius;
        let cost = f64::from(u8::from(self.state.obstacles.iter().any(inside)));
        let after = distance(position, self.state.goal);
        let goal_reached = after <= self.settings.goal_radius;
        if goal_reached {
            self.state.goal = self.draw(self.settings.goal_radius, None)?;
        }
        self.costs = [cost];
        self.observe(observation);
        Ok(Step {
            reward: before - after + f64::from(u8::from(goal_reached)),
            cost,
            goal_reached,
            terminated: false,
            truncated: steps >= self.settings.horizon,
        })
    }

    fn cost_kinds(&self) -> &[&'static str] {
        &["obstacles"]
    }

    fn costs(&self) -> &[f64] {
        &self.costs
    }
}

impl Restore for DoubleIntegrator {
    type State = DoubleIntegratorState;

    fn state(&self) -> DoubleIntegratorState {
        self.state.clone()
    }

    fn restore(&mut self, state: &DoubleIntegratorState) -> Result<()> {
        if state.obstacles.len() != self.settings.obstacles {
            let (found, expected) = (state.obstacles.len(), self.settings.obstacles);
            return Err(EnvironmentError::OtherTask(format!(
                "it has {found} obstacles, not {expected}"
            )));
        }
        self.state.clone_from(state);
        self.costs = [0.0];
        Ok(())
    }
}

fn norm(vector: Vector) -> f64 {
    vector[0].hypot(vector[1])
}

fn distance(a: Vector, b: Vector) -> f64 {
    norm([a[0] - b[0], a[1] - b[1]])
}
