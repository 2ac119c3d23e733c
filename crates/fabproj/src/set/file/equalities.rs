//! Equalities that are affine in y, as equations.

use super::formula::Formula;
use super::variables::Variable;
use crate::set::equations::{Equation, MAX_DIM, SAME, beyond};
use crate::set::expression::{
    Comparison, Degree, Dependence, Fault, Graph, NodeId, Tape, dependences,
};
use crate::set::vector::norm;
use crate::set::{Interval, Problem};

/// The equations that the equalities among the constraints state, with orthonormal normals.
pub(super) fn equations(
    graph: &Graph,
    formulas: &[Formula],
    y: &[Variable],
    x: &[Variable],
) -> Result<Vec<Equation>, Fault> {
    let equalities: Vec<Comparison> = formulas.iter().flat_map(Formula::equalities).collect();
    let Some(last) = equalities.last() else {
        return Ok(Vec::new());
    };
    let dim = y.len();
    if dim > MAX_DIM {
        let problem = Problem::TooLarge {
            what: "variables beside equalities",
            found: dim,
            limit: MAX_DIM,
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
        let contradiction = |_| Fault::new(equality.at, Problem::Contradiction);
        equations.extend(beyond(equation, &equations).map_err(contradiction)?);
    }
    if equations.len() == dim {
        let problem = Problem::NothingLeft {
            variables: dim,
            equalities: dim,
        };
        return Err(Fault::new(last.at, problem));
    }
    Ok(equations)
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
    x_dim: usize,
) -> Result<Equation, Fault> {
    let roots = [equality.left, equality.right];
    let (tape, roots) = Tape::compile(graph, dim + x_dim, &roots);
    let mut values = vec![0.0; tape.slots()];
    tape.load(&vec![0.0; dim], &vec![0.0; x_dim], &mut values);
    tape.run(0..tape.len(), &mut values);
    let (left, right) = (roots[0].slot as usize, roots[1].slot as usize);
    let mut adjoints = vec![0.0; tape.slots()];
    adjoints[left] += 1.0;
    adjoints[right] -= 1.0;
    tape.backward(&values, &mut adjoints);
    let mut equation = Equation {
        normal: adjoints[..dim].to_vec(),
        constant: values[right] - values[left],
        slopes: adjoints[dim..dim + x_dim]
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
