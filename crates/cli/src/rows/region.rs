//! The region that a model was trained for.

use fabproj::Model;
use fabproj::solve::SolverModel;

use crate::points::Chunk;
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
    /// That of a model; of an older file, that of its set.
    pub fn of(model: &Model) -> Option<Self> {
        let record = model.record();
        let (y, x) = match record.bounds.is_empty() {
            false => (record.bounds.clone(), record.x_bounds.clone()),
            true => {
                let set = model.set().ok()?;
                (set.bounds(), set.x_bounds())
            }
        };
        let names = record.names.iter().chain(&record.x_names);
        let names = names.cloned().collect();
        Some(Self { names, y, x })
    }

    /// The range of x that a solver was trained for.
    pub fn of_solver(model: &SolverModel) -> Self {
        Self {
            names: model.record().x_names.clone(),
            y: Vec::new(),
            x: model.weights().x_range.clone(),
        }
    }

    /// What is outside in a row, if anything is.
    pub fn outside(&self, chunk: &Chunk, row: usize) -> Option<String> {
        let y = chunk.y.get(row * self.y.len()..).unwrap_or_default();
        let x = chunk.x.get(row * self.x.len()..).unwrap_or_default();
        let values = y.iter().zip(&self.y).chain(x.iter().zip(&self.x));
        let mut named = values.zip(&self.names);
        let ((value, (low, high)), name) = named.find(|((value, (low, high)), _)| {
            let space = ROUNDING * (high - low);
            **value < low - space || **value > high + space
        })?;
        let (value, low, high) = (number(*value), number(*low), number(*high));
        Some(format!("{name} = {value} is not in [{low}, {high}]"))
    }
}
