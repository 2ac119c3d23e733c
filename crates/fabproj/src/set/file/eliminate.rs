//! Equalities that are affine in y, and the coordinates that they leave.

use fabproj_core::Lift;
use fabproj_core::lift::MAX_LIFTED_DIM;

use super::formula::Formula;
use super::variables::Variable;
use crate::set::expression::{
    Comparison, Degree, Dependence, Fault, Graph, NodeId, Tape, dependences,
};
use crate::set::vector::{dot, norm};
use crate::set::{Interval, Problem};

/// A row that is this near to others (of length 1) is a combination of them.
const DEPENDENT: f64 = 1e-10;
/// How far the right-hand sides of dependent rows may differ, relative to what they are made of.
const SAME: f64 = 1e-9;

/// normal · y = constant + slopes · x, with a normal of length 1.
#[derive(Clone, Debug)]
pub struct Equation {
    pub normal: Vec<f64>,
    pub constant: f64,
    pub slopes: Vec<f64>,
}

impl Equation {
    /// Subtracts a multiple of another equation.
    fn subtract(&mut self, factor: f64, other: &Self) {
        let subtract = |values: &mut [f64], others: &[f64]| {
            for (value, other) in values.iter_mut().zip(others) {
                *value -= factor * other;
            }
        };
        subtract(&mut self.normal, &other.normal);
        subtract(&mut self.slopes, &other.slopes);
        self.constant -= factor * other.constant;
    }

    fn scale(&mut self, factor: f64) {
        let parts = self.normal.iter_mut().chain(&mut self.slopes);
        parts.for_each(|value| *value *= factor);
        self.constant *= factor;
    }

    /// The normal and the negative slopes: all coefficients on one side.
    pub fn coefficients(&self) -> impl Iterator<Item = f64> {
        let slopes = self.slopes.iter().map(|slope| -slope);
        self.normal.iter().copied().chain(slopes)
    }
}

/// Equations with orthonormal normals, and the way from the coordinates that they leave back to y.
pub struct Elimination {
    pub equations: Vec<Equation>,
    pub lift: Lift,
}

impl Elimination {
    /// Eliminates the equalities among the constraints; `None` if there are none.
    pub fn of(
        graph: &Graph,
        formulas: &[Formula],
        y: &[Variable],
        x: &[Variable],
    ) -> Result<Option<Self>, Fault> {
        let equalities: Vec<Comparison> = formulas.iter().flat_map(Formula::equalities).collect();
        let Some(last) = equalities.last() else {
            return Ok(None);
        };
        let dim = y.len();
        if dim > MAX_LIFTED_DIM {
            let problem = Problem::TooLarge {
                what: "variables beside equalities",
                found: dim,
                limit: MAX_LIFTED_DIM,
            };
            return Err(Fault::new(last.at, problem));
        }
        let bounds: Vec<Interval> = y.iter().chain(x).map(|one| one.bounds).collect();
        let dependences = dependences(graph, dim);
        let mut equations: Vec<Equation> = Vec::new();
        for equality in &equalities {
            check_form(equality, &dependences)?;
            let equation = extract(graph, equality, dim, x.len())?;
            check_bounds(equality, &equation, &bounds)?;
            equations.extend(independent(equality, equation, &equations)?);
        }
        if equations.len() == dim {
            let problem = Problem::NothingLeft {
                variables: dim,
                equalities: dim,
            };
            return Err(Fault::new(last.at, problem));
        }
        let lift = lift(&equations, &bounds[..dim], x.len());
        Ok(Some(Self { equations, lift }))
    }
}

/// Only an equality that is affine in y and x together, with constant coefficients, can be eliminated.
fn check_form(equality: &Comparison, dependences: &[Dependence]) -> Result<(), Fault> {
    let of = |id: NodeId| dependences[id.0 as usize];
    let (left, right) = (of(equality.left), of(equality.right));
    let (y, x) = (left.y.max(right.y), left.x.max(right.x));
    let problem = if y == Degree::Other {
        Problem::NotAffine
    } else if left.mixed || right.mixed {
        Problem::CoefficientsDepend
    } else if y == Degree::None {
        Problem::NoVariable
    } else if x == Degree::Other {
        Problem::RightSideNotAffine
    } else {
        return Ok(());
    };
    Err(Fault::new(equality.at, problem))
}

/// The equation of an equality whose form was checked: it is affine, so that its value and derivative
/// at zero are all there is to know.
fn extract(
    graph: &Graph,
    equality: &Comparison,
    dim: usize,
    parameters: usize,
) -> Result<Equation, Fault> {
    let roots = [equality.left, equality.right];
    let (tape, roots) = Tape::compile(graph, dim + parameters, &roots);
    let mut values = vec![0.0; tape.slots()];
    tape.load(&vec![0.0; dim], &vec![0.0; parameters], &mut values);
    tape.run(0..tape.len(), &mut values);
    let (left, right) = (roots[0].slot as usize, roots[1].slot as usize);
    let mut adjoints = vec![0.0; tape.slots()];
    adjoints[left] += 1.0;
    adjoints[right] -= 1.0;
    tape.backward(&values, &mut adjoints);
    let mut equation = Equation {
        normal: adjoints[..dim].to_vec(),
        constant: values[right] - values[left],
        slopes: adjoints[dim..dim + parameters]
            .iter()
            .map(|slope| -slope)
            .collect(),
    };
    let length = norm(&equation.normal);
    // Written with variables, but as 0 · y.
    if length == 0.0 || !length.is_finite() {
        return Err(Fault::new(equality.at, Problem::NoVariable));
    }
    equation.scale(1.0 / length);
    Ok(equation)
}

/// Some point within the bounds must obey the equation.
fn check_bounds(
    equality: &Comparison,
    equation: &Equation,
    bounds: &[Interval],
) -> Result<(), Fault> {
    let (mut low, mut high) = (0.0, 0.0);
    for (weight, bound) in equation.coefficients().zip(bounds) {
        low += (weight * bound.0).min(weight * bound.1);
        high += (weight * bound.0).max(weight * bound.1);
    }
    let space = SAME * (1.0 + low.abs().max(high.abs()));
    if (low - space..=high + space).contains(&equation.constant) {
        return Ok(());
    }
    Err(Fault::new(equality.at, Problem::EqualityOutsideBounds))
}

/// What an equation says beyond those before it; `None` if it says nothing new.
fn independent(
    equality: &Comparison,
    mut equation: Equation,
    before: &[Equation],
) -> Result<Option<Equation>, Fault> {
    let right = equation.slopes.iter().chain([&equation.constant]);
    let size = right.fold(1.0_f64, |size, value| size.max(value.abs()));
    // Twice: the second pass removes what rounding has left.
    for _ in 0..2 {
        for other in before {
            equation.subtract(dot(&equation.normal, &other.normal), other);
        }
    }
    let length = norm(&equation.normal);
    if length > DEPENDENT {
        equation.scale(1.0 / length);
        return Ok(Some(equation));
    }
    let mut right = equation.slopes.iter().chain([&equation.constant]);
    if right.all(|value| value.abs() <= SAME * size) {
        return Ok(None);
    }
    Err(Fault::new(equality.at, Problem::Contradiction))
}

/// The origin is the point nearest to the middle of the bounds that obeys the equations, so that z is
/// small; the basis follows the axes of y, the widest first, so that units that differ stay apart.
fn lift(equations: &[Equation], bounds: &[Interval], parameters: usize) -> Lift {
    let dim = bounds.len();
    let mut origin: Vec<f64> = bounds
        .iter()
        .map(|(low, high)| 0.5 * low + 0.5 * high)
        .collect();
    let mut by_parameter = vec![0.0; dim * parameters];
    let lacking: Vec<f64> = equations
        .iter()
        .map(|equation| equation.constant - dot(&equation.normal, &origin))
        .collect();
    for (equation, lacking) in equations.iter().zip(lacking) {
        for (row, normal) in equation.normal.iter().enumerate() {
            origin[row] += lacking * normal;
            for (column, slope) in equation.slopes.iter().enumerate() {
                by_parameter[row * parameters + column] += normal * slope;
            }
        }
    }
    let columns = null_space(equations, bounds);
    let rows = (0..dim).flat_map(|row| columns.iter().map(move |column| column[row]));
    Lift {
        origin,
        basis: rows.collect(),
        by_parameter,
    }
}

/// An orthonormal basis of the directions in which all equations stay true.
fn null_space(equations: &[Equation], bounds: &[Interval]) -> Vec<Vec<f64>> {
    let dim = bounds.len();
    let mut axes: Vec<usize> = (0..dim).collect();
    let width = |axis: usize| bounds[axis].1 - bounds[axis].0;
    axes.sort_by(|a, b| width(*b).total_cmp(&width(*a)));
    // Of the axes that are left, one is at least this long after all else is taken out of it.
    let enough = 0.5 / (dim as f64).sqrt();
    let mut columns: Vec<Vec<f64>> = Vec::new();
    while columns.len() + equations.len() < dim {
        let found = axes.iter().position(|axis| {
            let column = remainder(*axis, equations, &columns, dim);
            let length = norm(&column);
            if length < enough {
                return false;
            }
            columns.push(column.iter().map(|value| value / length).collect());
            true
        });
        match found {
            Some(place) => drop(axes.remove(place)),
            None => break,
        }
    }
    columns
}

/// What is left of an axis at right angles to all normals and columns.
fn remainder(axis: usize, equations: &[Equation], columns: &[Vec<f64>], dim: usize) -> Vec<f64> {
    let mut rest = vec![0.0; dim];
    rest[axis] = 1.0;
    for _ in 0..2 {
        let normals = equations.iter().map(|equation| &equation.normal);
        for other in normals.chain(columns) {
            let along = dot(&rest, other);
            rest.iter_mut()
                .zip(other)
                .for_each(|(rest, other)| *rest -= along * other);
        }
    }
    rest
}
