//! Intersection and union.

use fabproj_core::Membership;
use std::sync::Arc;

use super::x_of;
use crate::set::rows::{narrow, unchanged};
use crate::set::vector::{distance, with_buffer};
use crate::set::{Calibration, Description, Equation, Interval, Result, Set, SetError};

/// Several sets of the same y as one. Sets that depend on x share it; fixed sets may stand beside them.
pub(crate) struct Combined {
    rule: Rule,
    sets: Vec<Arc<dyn Set>>,
    bounds: Vec<Interval>,
    x_bounds: Vec<Interval>,
    /// Which member names the coordinates of x.
    conditional: Option<usize>,
}

#[derive(Clone, Copy)]
enum Rule {
    /// The intersection.
    And,
    /// The union.
    Or,
}

impl Combined {
    /// The intersection of sets.
    pub(crate) fn and(sets: Vec<Arc<dyn Set>>) -> Result<Self> {
        let mut both = Self::new(Rule::And, sets)?;
        both.bounds = intersection(&both.regions())?;
        Ok(both)
    }

    /// The union of sets.
    pub(crate) fn or(sets: Vec<Arc<dyn Set>>) -> Result<Self> {
        let mut either = Self::new(Rule::Or, sets)?;
        let equations = either.sets[0].equations();
        if either.sets.iter().any(|set| set.equations() != equations) {
            return Err(SetError::MixedEquations { what: "a union" });
        }
        either.bounds = hull(&either.regions());
        Ok(either)
    }

    fn new(rule: Rule, sets: Vec<Arc<dyn Set>>) -> Result<Self> {
        let dim = sets.first().ok_or(SetError::NoSets)?.dim();
        let conditional = sets.iter().position(|set| set.x_dim() > 0);
        let x_dim = conditional.map_or(0, |index| sets[index].x_dim());
        for set in &sets {
            check_length("coordinates of a combined set", dim, set.dim())?;
            if set.x_dim() > 0 {
                check_length("coordinates of x of a combined set", x_dim, set.x_dim())?;
            }
        }
        let depend = sets.iter().filter(|set| set.x_dim() > 0);
        let x_regions: Vec<_> = depend.map(|set| set.x_bounds()).collect();
        let x_bounds = if x_regions.is_empty() {
            Vec::new()
        } else {
            intersection(&x_regions)?
        };
        Ok(Self {
            rule,
            sets,
            bounds: Vec::new(),
            x_bounds,
            conditional,
        })
    }

    fn regions(&self) -> Vec<Vec<Interval>> {
        self.sets.iter().map(|set| set.bounds()).collect()
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

impl Membership for Combined {
    fn contains(&self, y: &[f64], x: &[f64]) -> bool {
        let inside = |set: &Arc<dyn Set>| set.contains(y, x_of(set.as_ref(), x));
        match self.rule {
            Rule::And => self.sets.iter().all(inside),
            Rule::Or => self.sets.iter().any(inside),
        }
    }

    fn contains_rows(&self, y: &[f64], x: &[f64], inside: &mut [bool]) {
        inside.fill(matches!(self.rule, Rule::And));
        for set in &self.sets {
            match self.rule {
                Rule::And => narrow(set.as_ref(), y, x, inside, unchanged),
                Rule::Or => {
                    let mut found: Vec<bool> = inside.iter().map(|inside| !inside).collect();
                    narrow(set.as_ref(), y, x, &mut found, unchanged);
                    for (inside, found) in inside.iter_mut().zip(found) {
                        *inside |= found;
                    }
                }
            }
        }
    }

    /// The sum, or the least.
    fn violation(&self, y: &[f64], x: &[f64], gradient: &mut [f64]) -> Option<f64> {
        gradient.fill(0.0);
        with_buffer(y.len(), |part| {
            let (mut total, mut least) = (0.0, f64::INFINITY);
            for set in &self.sets {
                let violation = set.violation(y, x_of(set.as_ref(), x), part)?;
                total += violation;
                match self.rule {
                    Rule::And => {
                        for (sum, part) in gradient.iter_mut().zip(&*part) {
                            *sum += part;
                        }
                    }
                    Rule::Or if violation < least => gradient.copy_from_slice(part),
                    Rule::Or => {}
                }
                least = least.min(violation);
            }
            Some(match self.rule {
                Rule::And => total,
                Rule::Or => least,
            })
        })
    }
}

impl Set for Combined {
    fn dim(&self) -> usize {
        self.sets[0].dim()
    }

    fn x_dim(&self) -> usize {
        self.x_bounds.len()
    }

    /// That of a union is the nearest of the members'; that of an intersection need not be nearest in any of them.
    fn nearest(&self, y: &[f64], x: &[f64], nearest: &mut [f64]) -> bool {
        if matches!(self.rule, Rule::And) {
            return false;
        }
        with_buffer(y.len(), |candidate| {
            let mut least = f64::INFINITY;
            for set in &self.sets {
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
        self.x_bounds.clone()
    }

    fn names(&self) -> Vec<String> {
        self.sets[0].names()
    }

    fn x_names(&self) -> Vec<String> {
        let member = self.conditional.map(|index| self.sets[index].x_names());
        member.unwrap_or_default()
    }

    /// The calibration of the member that can be trusted least.
    fn calibration(&self) -> Option<Calibration> {
        let known = self.sets.iter().filter_map(|set| set.calibration());
        known.min_by(|a, b| a.precision_lower_bound.total_cmp(&b.precision_lower_bound))
    }

    fn equations(&self) -> Vec<Equation> {
        let members = match self.rule {
            Rule::And => &self.sets[..],
            Rule::Or => &self.sets[..1],
        };
        let all = members.iter().flat_map(|set| set.equations());
        // A fixed set may stand beside one that is not.
        let resized = all.map(|mut equation| {
            equation.slopes.resize(self.x_dim(), 0.0);
            equation
        });
        resized.collect()
    }

    fn description(&self) -> Description {
        let sets = self.sets.iter().map(|set| set.description()).collect();
        match self.rule {
            Rule::And => Description::And { sets },
            Rule::Or => Description::Or { sets },
        }
    }
}
