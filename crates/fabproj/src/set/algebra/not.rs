//! The complement within a region.

use fabproj_core::Membership;
use std::sync::Arc;

use crate::set::delegate::same_coordinates;
use crate::set::rows::{narrow, unchanged};
use crate::set::vector::is_finite;
use crate::set::{Description, Interval, Result, Set, SetError};

/// The complement of a set within its bounds.
pub(crate) struct Not {
    set: Arc<dyn Set>,
    bounds: Vec<Interval>,
}

impl Not {
    pub(crate) fn new(set: Arc<dyn Set>) -> Result<Self> {
        if !set.equations().is_empty() {
            return Err(SetError::MixedEquations {
                what: "a complement",
            });
        }
        let bounds = set.bounds();
        Ok(Self { set, bounds })
    }

    /// What is not finite is outside of the original, but must not be inside here.
    fn in_region(&self, y: &[f64], x: &[f64]) -> bool {
        let mut bounded = y.iter().zip(&self.bounds);
        bounded.all(|(y, (low, high))| low <= y && y <= high) && is_finite(x)
    }
}

impl Membership for Not {
    fn contains(&self, y: &[f64], x: &[f64]) -> bool {
        self.in_region(y, x) && !self.set.contains(y, x)
    }

    fn contains_rows(&self, y: &[f64], x: &[f64], inside: &mut [bool]) {
        let rows = inside.len().max(1);
        let (dim, x_dim) = (y.len() / rows, x.len() / rows);
        for (row, inside) in inside.iter_mut().enumerate() {
            *inside = self.in_region(&y[row * dim..][..dim], &x[row * x_dim..][..x_dim]);
        }
        let mut taken = inside.to_vec();
        narrow(self.set.as_ref(), y, x, &mut taken, unchanged);
        for (inside, taken) in inside.iter_mut().zip(taken) {
            *inside &= !taken;
        }
    }
}

impl Set for Not {
    same_coordinates!(self => self.set);

    fn bounds(&self) -> Vec<Interval> {
        self.bounds.clone()
    }

    fn description(&self) -> Description {
        Description::Not {
            set: Box::new(self.set.description()),
        }
    }
}
