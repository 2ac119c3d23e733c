//! Intersection and union.

use fabproj_core::Membership;
use std::sync::Arc;

use super::x_of;
use crate::set::rows::{narrow, unchanged};
use crate::set::vector::{distance, with_buffer};
use crate::set::{Calibration, Description, Equation, Interval, Result, Set, SetError};

/// Sets of the same y, with what they agree on. Sets that depend on x share it; fixed sets may
/// stand beside them.
struct Members {
    sets: Vec<Arc<dyn Set>>,
    x_bounds: Vec<Interval>,
    /// Which member names the coordinates of x.
    conditional: Option<usize>,
}

impl Members {
    fn new(sets: Vec<Arc<dyn Set>>) -> Result<Self> {
        let dim = sets.first().ok_or(SetError::NoSets)?.dim();
        let conditional = sets.iter().position(|set| set.x_dim() > 0);
        let x_dim = conditional.map_or(0, |index| sets[index].x_dim());
        for set in &sets {
            check_length("coordinates of a combined set", dim, set.dim())?;
            if set.x_dim() > 0 {
                check_length("coordinates of x of a combined set", x_dim, set.x_dim())?;
            }
        }
        let regions: Vec<_> = sets
            .iter()
            .filter(|set| set.x_dim() > 0)
            .map(|set| set.x_bounds())
            .collect();
        let x_bounds = if regions.is_empty() {
            Vec::new()
        } else {
            intersection(&regions)?
        };
        Ok(Self {
            sets,
            x_bounds,
            conditional,
        })
    }

    fn dim(&self) -> usize {
        self.sets[0].dim()
    }

    fn names(&self) -> Vec<String> {
        self.sets[0].names()
    }

    fn x_names(&self) -> Vec<String> {
        self.conditional
            .map_or_else(Vec::new, |index| self.sets[index].x_names())
    }

    fn bounds(&self) -> Vec<Vec<Interval>> {
        self.sets.iter().map(|set| set.bounds()).collect()
    }

    /// The calibration of the member that can be trusted least.
    fn calibration(&self) -> Option<Calibration> {
        let known = self.sets.iter().filter_map(|set| set.calibration());
        known.min_by(|a, b| a.precision_lower_bound.total_cmp(&b.precision_lower_bound))
    }

    fn descriptions(&self) -> Vec<Description> {
        self.sets.iter().map(|set| set.description()).collect()
    }
}

fn check_length(what: &'static str, expected: usize, found: usize) -> Result<()> {
    if expected == found {
        Ok(())
    } else {
        Err(SetError::Length {
            what,
            expected,
            found,
        })
    }
}

fn intersection(regions: &[Vec<Interval>]) -> Result<Vec<Interval>> {
    let mut common = regions[0].clone();
    for region in &regions[1..] {
        for (common, other) in common.iter_mut().zip(region) {
            *common = (common.0.max(other.0), common.1.min(other.1));
        }
    }
    match common.iter().position(|(low, high)| low >= high) {
        Some(index) => Err(SetError::EmptyIntersection { index }),
        None => Ok(common),
    }
}

fn hull(regions: &[Vec<Interval>]) -> Vec<Interval> {
    let mut hull = regions[0].clone();
    for region in &regions[1..] {
        for (hull, other) in hull.iter_mut().zip(region) {
            *hull = (hull.0.min(other.0), hull.1.max(other.1));
        }
    }
    hull
}

/// The intersection of sets.
pub(crate) struct And {
    members: Members,
    bounds: Vec<Interval>,
}

impl And {
    pub(crate) fn new(sets: Vec<Arc<dyn Set>>) -> Result<Self> {
        let members = Members::new(sets)?;
        let bounds = intersection(&members.bounds())?;
        Ok(Self { members, bounds })
    }
}

impl Membership for And {
    fn contains(&self, y: &[f64], x: &[f64]) -> bool {
        let inside = |set: &Arc<dyn Set>| set.contains(y, x_of(set.as_ref(), x));
        self.members.sets.iter().all(inside)
    }

    fn contains_rows(&self, y: &[f64], x: &[f64], inside: &mut [bool]) {
        inside.fill(true);
        for set in &self.members.sets {
            narrow(set.as_ref(), y, x, inside, unchanged);
        }
    }

    fn violation(&self, y: &[f64], x: &[f64], gradient: &mut [f64]) -> Option<f64> {
        gradient.fill(0.0);
        with_buffer(y.len(), |part| {
            let mut total = 0.0;
            for set in &self.members.sets {
                total += set.violation(y, x_of(set.as_ref(), x), part)?;
                for (sum, part) in gradient.iter_mut().zip(&*part) {
                    *sum += part;
                }
            }
            Some(total)
        })
    }
}

impl Set for And {
    fn dim(&self) -> usize {
        self.members.dim()
    }

    fn x_dim(&self) -> usize {
        self.members.x_bounds.len()
    }

    fn bounds(&self) -> Vec<Interval> {
        self.bounds.clone()
    }

    fn x_bounds(&self) -> Vec<Interval> {
        self.members.x_bounds.clone()
    }

    fn names(&self) -> Vec<String> {
        self.members.names()
    }

    fn x_names(&self) -> Vec<String> {
        self.members.x_names()
    }

    fn calibration(&self) -> Option<Calibration> {
        self.members.calibration()
    }

    fn equations(&self) -> Vec<Equation> {
        let (sets, x_dim) = (self.members.sets.iter(), self.x_dim());
        let mut equations: Vec<Equation> = sets.flat_map(|set| set.equations()).collect();
        // A fixed set beside one that is not.
        for equation in &mut equations {
            equation.slopes.resize(x_dim, 0.0);
        }
        equations
    }

    fn description(&self) -> Description {
        Description::And {
            sets: self.members.descriptions(),
        }
    }
}

/// The union of sets.
pub(crate) struct Or {
    members: Members,
    bounds: Vec<Interval>,
}

impl Or {
    pub(crate) fn new(sets: Vec<Arc<dyn Set>>) -> Result<Self> {
        let members = Members::new(sets)?;
        let equations = members.sets[0].equations();
        if members.sets.iter().any(|set| set.equations() != equations) {
            return Err(SetError::MixedEquations { what: "a union" });
        }
        let bounds = hull(&members.bounds());
        Ok(Self { members, bounds })
    }
}

impl Membership for Or {
    fn contains(&self, y: &[f64], x: &[f64]) -> bool {
        let inside = |set: &Arc<dyn Set>| set.contains(y, x_of(set.as_ref(), x));
        self.members.sets.iter().any(inside)
    }

    fn contains_rows(&self, y: &[f64], x: &[f64], inside: &mut [bool]) {
        inside.fill(false);
        for set in &self.members.sets {
            let mut found: Vec<bool> = inside.iter().map(|inside| !inside).collect();
            narrow(set.as_ref(), y, x, &mut found, unchanged);
            for (inside, found) in inside.iter_mut().zip(found) {
                *inside |= found;
            }
        }
    }

    fn violation(&self, y: &[f64], x: &[f64], gradient: &mut [f64]) -> Option<f64> {
        gradient.fill(0.0);
        with_buffer(y.len(), |part| {
            let mut least = f64::INFINITY;
            for set in &self.members.sets {
                let violation = set.violation(y, x_of(set.as_ref(), x), part)?;
                if violation < least {
                    least = violation;
                    gradient.copy_from_slice(part);
                }
            }
            Some(least)
        })
    }
}

impl Set for Or {
    fn dim(&self) -> usize {
        self.members.dim()
    }

    fn x_dim(&self) -> usize {
        self.members.x_bounds.len()
    }

    fn nearest(&self, y: &[f64], x: &[f64], nearest: &mut [f64]) -> bool {
        with_buffer(y.len(), |candidate| {
            let mut least = f64::INFINITY;
            for set in &self.members.sets {
                if !set.nearest(y, x_of(set.as_ref(), x), candidate) {
                    return false;
                }
                let reach = distance(y, candidate);
                if reach < least {
                    least = reach;
                    nearest.copy_from_slice(candidate);
                }
            }
            least < f64::INFINITY
        })
    }

    fn bounds(&self) -> Vec<Interval> {
        self.bounds.clone()
    }

    fn x_bounds(&self) -> Vec<Interval> {
        self.members.x_bounds.clone()
    }

    fn names(&self) -> Vec<String> {
        self.members.names()
    }

    fn x_names(&self) -> Vec<String> {
        self.members.x_names()
    }

    fn calibration(&self) -> Option<Calibration> {
        self.members.calibration()
    }

    fn equations(&self) -> Vec<Equation> {
        self.members.sets[0].equations()
    }

    fn description(&self) -> Description {
        Description::Or {
            sets: self.members.descriptions(),
        }
    }
}
