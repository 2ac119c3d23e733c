//! The region that a model was trained for.

use fabproj::Model;
use fabproj::set::Set;
use fabproj::solve::SolverModel;

use crate::show::number;

/// How far outside of its interval a number still counts as inside, as a part of the width.
const ROUNDING: f64 = 1e-9;

/// The intervals of y and x that inputs were drawn from in training.
pub struct Region {
    names: Vec<String>,
    y: Vec<(f64, f64)>,
    x: Vec<(f64, f64)>,
}

impl Region {
    pub fn of(model: &Model, set: &dyn Set) -> Self {
        let record = model.record();
        Self {
            names: record
                .names
                .iter()
                .chain(&record.x_names)
                .cloned()
                .collect(),
            y: set.bounds(),
            x: set.x_bounds(),
        }
    }

    /// The range of x that a solver was trained for.
    pub fn of_solver(model: &SolverModel) -> Self {
        Self {
            names: model.record().x_names.clone(),
            y: Vec::new(),
            x: model.weights().x_range.clone(),
        }
    }

    /// The first number of a row that is outside, and its place.
    pub fn outside(&self, y: &[f64], x: &[f64]) -> Option<(usize, f64)> {
        let values = y.iter().zip(&self.y).chain(x.iter().zip(&self.x));
        let is_outside = |value: f64, (low, high): (f64, f64)| {
            let space = ROUNDING * (high - low);
            value < low - space || value > high + space
        };
        let mut values = values.enumerate();
        let found = values.find(|(_, (value, interval))| is_outside(**value, **interval));
        found.map(|(place, (value, _))| (place, *value))
    }

    /// What [`outside`](Self::outside) has found, in words.
    pub fn described(&self, (place, value): (usize, f64)) -> String {
        let name = self.names.get(place).map_or("?", String::as_str);
        let interval = self.y.iter().chain(&self.x).nth(place);
        let (low, high) = interval.copied().unwrap_or_default();
        let (value, low, high) = (number(value), number(low), number(high));
        format!("{name} = {value} is not in [{low}, {high}]")
    }
}
