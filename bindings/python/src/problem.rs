//! `fabproj.Problem`: Python callables as objective and constraints.

use std::panic::resume_unwind;
use std::sync::Arc;

use fabproj::set::Equation;
use fabproj::solve::{Functions, Problem};
use numpy::prelude::*;
use pyo3::intern;
use pyo3::prelude::*;

use crate::arrays::{Array, array_of, numbers, shape_text, table};
use crate::errors::{value, wrong_type};
use crate::membership::{Raised, attached};
use crate::supervise::Outside;

/// Step of central differences, as a part of the size of a coordinate: the cube root of the rounding error.
const DIFFERENCE: f64 = 6e-6;

/// What a problem's callables are asked for.
#[derive(Clone, Copy)]
pub enum What {
    /// f, then c, for every row.
    Values,
    /// ∇f, then the Jacobian of c, at one point.
    Derivatives,
}

/// The callables of a problem: arrays of rows in, a number or more for each row out.
pub struct Callables {
    objective: Py<PyAny>,
    constraints: Option<Py<PyAny>>,
    gradient: Option<Py<PyAny>>,
    jacobian: Option<Py<PyAny>>,
    /// Dimension of y, dimension of x, constraints.
    sizes: [usize; 3],
}

impl Callables {
    /// The callables of a `fabproj.Problem`. They are asked once, to count the constraints.
    fn of(problem: &Bound<'_, PyAny>, y: &[f64], x: &[f64]) -> PyResult<Self> {
        let callable = |name: &str| {
            let found = problem.getattr(name)?;
            if !found.is_none() && !found.is_callable() {
                let found = found.get_type();
                return Err(wrong_type(format!(
                    "`{name}` must be callable, found {}",
                    found.name()?
                )));
            }
            Ok((!found.is_none()).then(|| found.unbind()))
        };
        let objective = callable("objective")?;
        let mut callables = Self {
            objective: objective.ok_or_else(|| wrong_type("`objective` must be callable"))?,
            constraints: callable("constraints")?,
            gradient: callable("gradient")?,
            jacobian: callable("jacobian")?,
            sizes: [y.len(), x.len(), 0],
        };
        let py = problem.py();
        if let Some(constraints) = &callables.constraints {
            let answer = callables.call(py, constraints, y, x, 1)?;
            let array = Array::of(&answer, "constraints")?.cast::<f64>(py)?;
            callables.sizes[2] = match array.shape() {
                [1] => 1,
                [1, rows] => *rows,
                shape => {
                    return Err(value(format!(
                        "`constraints` must return an array of shape (rows, constraints), found {} for one \
                         row",
                        shape_text(shape)
                    )));
                }
            };
        }
        callables.ask(py, What::Values, y, x, 1)?;
        callables.ask(py, What::Derivatives, y, x, 1)?;
        Ok(callables)
    }

    /// Asks about rows of y; rows that are not finite have no values.
    pub fn ask(
        &self,
        py: Python<'_>,
        what: What,
        y: &[f64],
        x: &[f64],
        rows: usize,
    ) -> PyResult<Vec<f64>> {
        let [dim, _, constraints] = self.sizes;
        let finite = y.iter().all(|number| number.is_finite());
        match what {
            What::Values if finite => self.values(py, y, x, rows),
            What::Values => Ok(vec![f64::NAN; rows * (1 + constraints)]),
            What::Derivatives if finite => self.derivatives(py, y, x),
            What::Derivatives => Ok(vec![f64::NAN; (1 + constraints) * dim]),
        }
    }

    fn values(&self, py: Python<'_>, y: &[f64], x: &[f64], rows: usize) -> PyResult<Vec<f64>> {
        let count = self.sizes[2];
        let f = self.asked(py, &self.objective, "objective", y, x, &[rows])?;
        let Some(constraints) = &self.constraints else {
            return Ok(f);
        };
        let c = self.asked(py, constraints, "constraints", y, x, &[rows, count])?;
        let both = f.iter().enumerate();
        let both = both.flat_map(|(row, f)| [f].into_iter().chain(&c[row * count..][..count]));
        Ok(both.copied().collect())
    }

    /// From the callables for derivatives, or by central differences in one call.
    fn derivatives(&self, py: Python<'_>, y: &[f64], x: &[f64]) -> PyResult<Vec<f64>> {
        let [dim, _, rows] = self.sizes;
        let known = self.gradient.is_some() && (rows == 0 || self.jacobian.is_some());
        let mut all = match known {
            true => Vec::new(),
            false => self.differences(py, y, x)?,
        };
        all.resize((1 + rows) * dim, 0.0);
        let (gradient, jacobian) = all.split_at_mut(dim);
        if let Some(callable) = &self.gradient {
            let found = self.asked(py, callable, "gradient", y, x, &[1, dim])?;
            gradient.copy_from_slice(&found);
        }
        if let Some(callable) = self.jacobian.as_ref().filter(|_| rows > 0) {
            let found = self.asked(py, callable, "jacobian", y, x, &[1, rows, dim])?;
            jacobian.copy_from_slice(&found);
        }
        Ok(all)
    }

    fn differences(&self, py: Python<'_>, y: &[f64], x: &[f64]) -> PyResult<Vec<f64>> {
        let [dim, _, rows] = self.sizes;
        let step = |axis: usize| DIFFERENCE * y[axis].abs().max(1.0);
        let mut moved = y.repeat(2 * dim);
        for (axis, pair) in moved.chunks_exact_mut(2 * dim).enumerate() {
            pair[axis] += step(axis);
            pair[dim + axis] -= step(axis);
        }
        let values = self.values(py, &moved, &x.repeat(2 * dim), 2 * dim)?;
        let mut all = vec![0.0; (1 + rows) * dim];
        for (axis, pair) in values.chunks_exact(2 * (1 + rows)).enumerate() {
            let (above, below) = pair.split_at(1 + rows);
            for (place, (above, below)) in above.iter().zip(below).enumerate() {
                all[place * dim + axis] = (above - below) / (2.0 * step(axis));
            }
        }
        Ok(all)
    }

    fn call<'py>(
        &self,
        py: Python<'py>,
        callable: &Py<PyAny>,
        y: &[f64],
        x: &[f64],
        rows: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        let [dim, x_dim, _] = self.sizes;
        let y = array_of(py, y, &[rows, dim])?;
        match x_dim {
            0 => callable.bind(py).call1((y,)),
            _ => callable
                .bind(py)
                .call1((y, array_of(py, x, &[rows, x_dim])?)),
        }
    }

    fn asked(
        &self,
        py: Python<'_>,
        callable: &Py<PyAny>,
        name: &str,
        y: &[f64],
        x: &[f64],
        shape: &[usize],
    ) -> PyResult<Vec<f64>> {
        let answer = self.call(py, callable, y, x, shape[0])?;
        let array = Array::of(&answer, name)?.cast::<f64>(py)?;
        // One constraint needs no column.
        let flat = array.shape() == &shape[..1] && shape[1..].iter().all(|size| *size == 1);
        if array.shape() != shape && !flat {
            return Err(value(format!(
                "`{name}` must return an array of shape {} for {} rows, found {}",
                shape_text(shape),
                shape[0],
                shape_text(array.shape())
            )));
        }
        Ok(numbers(&array).to_vec())
    }
}

/// Where a solver's questions to callables go.
enum Asked {
    /// To Python, from the thread that asks.
    Here(Arc<Callables>),
    /// To the thread that waits for a training.
    There(Outside),
}

/// Callables as functions of a problem. Derivatives at a point are asked for once, and kept in the memory behind
/// a mark.
struct OfCallables {
    sizes: [usize; 3],
    asked: Asked,
}

impl OfCallables {
    fn ask(&self, what: What, y: &[f64], x: &[f64]) -> Vec<f64> {
        match &self.asked {
            Asked::There(outside) => outside.numbers(what, y, x, 1),
            Asked::Here(callables) => attached(|py| callables.ask(py, what, y, x, 1))
                .unwrap_or_else(|error| resume_unwind(Box::new(Raised(error)))),
        }
    }

    fn derivatives<'a>(
        &self,
        y: &[f64],
        x: &[f64],
        memory: &'a mut [f64],
    ) -> (&'a [f64], &'a [f64]) {
        let (mark, all) = memory.split_at_mut(1);
        if mark[0] == 0.0 {
            all.copy_from_slice(&self.ask(What::Derivatives, y, x));
            mark[0] = 1.0;
        }
        all.split_at(self.sizes[0])
    }
}

impl Functions for OfCallables {
    fn dim(&self) -> usize {
        self.sizes[0]
    }

    fn x_dim(&self) -> usize {
        self.sizes[1]
    }

    fn rows(&self) -> usize {
        self.sizes[2]
    }

    fn memory(&self) -> usize {
        1 + (1 + self.rows()) * self.dim()
    }

    fn values(&self, y: &[f64], x: &[f64], constraints: &mut [f64], memory: &mut [f64]) -> f64 {
        memory[0] = 0.0;
        let values = self.ask(What::Values, y, x);
        constraints.copy_from_slice(&values[1..]);
        values[0]
    }

    fn gradient(
        &self,
        y: &[f64],
        x: &[f64],
        weights: &[f64],
        gradient: &mut [f64],
        memory: &mut [f64],
    ) {
        let (of_objective, jacobian) = self.derivatives(y, x, memory);
        gradient.copy_from_slice(of_objective);
        for (weight, row) in weights.iter().zip(jacobian.chunks_exact(self.dim())) {
            // A constraint without weight may be without value.
            if *weight != 0.0 {
                let pairs = gradient.iter_mut().zip(row);
                pairs.for_each(|(gradient, slope)| *gradient += weight * slope);
            }
        }
    }

    fn slopes(
        &self,
        y: &[f64],
        x: &[f64],
        direction: &[f64],
        slopes: &mut [f64],
        memory: &mut [f64],
    ) {
        let (_, jacobian) = self.derivatives(y, x, memory);
        for (slope, row) in slopes.iter_mut().zip(jacobian.chunks_exact(self.dim())) {
            *slope = row.iter().zip(direction).map(|(a, b)| a * b).sum();
        }
    }
}

/// A problem, and its callables if it is a `fabproj.Problem`.
pub struct Given {
    /// The problem; callables are asked in the thread that needs them.
    pub problem: Problem,
    pub callables: Option<Arc<Callables>>,
}

/// Whether an object is a `fabproj.Problem`.
pub fn is_problem(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = object.py();
    let class = py
        .import(intern!(py, "fabproj._problem"))?
        .getattr(intern!(py, "Problem"))?;
    object.is_instance(&class)
}

impl Given {
    /// A `fabproj.Problem`.
    pub fn of(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        if !is_problem(object)? {
            return Err(wrong_type(format!(
                "`problem` must be a fabproj.Problem, found {}",
                object.get_type().name()?
            )));
        }
        let bounds: Vec<(f64, f64)> = object.getattr("bounds")?.extract()?;
        let (distribution, at) = distribution(object)?;
        let middle = |(low, high): &(f64, f64)| {
            let middle = 0.5 * low + 0.5 * high;
            if middle.is_finite() {
                middle
            } else {
                0.0_f64.max(*low).min(*high)
            }
        };
        let y: Vec<f64> = bounds.iter().map(middle).collect();
        let callables = Arc::new(Callables::of(object, &y, &at)?);
        let name: String = object.getattr("name")?.extract()?;
        let functions = OfCallables {
            sizes: callables.sizes,
            asked: Asked::Here(callables.clone()),
        };
        let problem = Problem::new(name, functions).with_bounds(bounds);
        let problem = problem.with_equations(equations(object, y.len(), at.len())?);
        let problem = match distribution {
            Distribution::Rows(rows) => problem.with_x_rows(rows),
            Distribution::Region(region) => problem.with_x(region),
        };
        let names = |names: &str, usual: &[String]| {
            let own: Option<Vec<String>> = object.getattr(names)?.extract()?;
            Ok::<_, PyErr>(own.unwrap_or_else(|| usual.to_vec()))
        };
        let (names, x_names) = (
            names("names", problem.names())?,
            names("x_names", problem.x_names())?,
        );
        let problem = problem.with_names(names, x_names);
        problem.check().map_err(value)?;
        Ok(Self {
            problem,
            callables: Some(callables),
        })
    }

    /// A problem that the library can ask by itself.
    pub fn of_library(problem: Problem) -> Self {
        Self {
            problem,
            callables: None,
        }
    }

    /// The problem for long work: callables are asked in the thread that waits, and the work can be abandoned.
    pub fn outside(&self, outside: &Outside) -> Problem {
        let outside = outside.clone();
        let functions: Arc<dyn Functions + Send + Sync> = match &self.callables {
            Some(callables) => Arc::new(OfCallables {
                sizes: callables.sizes,
                asked: Asked::There(outside),
            }),
            None => Arc::new(Watched {
                functions: self.problem.functions().clone(),
                outside,
            }),
        };
        self.problem.clone().with_functions(functions)
    }
}

/// Where x comes from.
enum Distribution {
    Region(Vec<(f64, f64)>),
    Rows(Vec<f64>),
}

/// Where x comes from, and one x.
fn distribution(object: &Bound<'_, PyAny>) -> PyResult<(Distribution, Vec<f64>)> {
    let (bounds, x) = (object.getattr("x_bounds")?, object.getattr("x")?);
    if x.is_none() {
        let region: Option<Vec<(f64, f64)>> = bounds.extract()?;
        let region = region.unwrap_or_default();
        let middle = region.iter().map(|(low, high)| 0.5 * low + 0.5 * high);
        let at = middle.collect();
        return Ok((Distribution::Region(region), at));
    }
    if !bounds.is_none() {
        return Err(value(
            "`x_bounds` and `x` both say where x comes from: leave one out",
        ));
    }
    let (rows, count, width) = table(&x, "x")?;
    if count == 0 {
        return Err(value("`x` has no rows"));
    }
    let at = rows[..width].to_vec();
    Ok((Distribution::Rows(rows), at))
}

/// Equations A y = b + B x from (A, b) or (A, b, B).
fn equations(object: &Bound<'_, PyAny>, dim: usize, x_dim: usize) -> PyResult<Vec<Equation>> {
    let given = object.getattr("equations")?;
    if given.is_none() {
        return Ok(Vec::new());
    }
    let parts: Vec<Bound<'_, PyAny>> = given.extract()?;
    let ([a, b] | [a, b, _]) = parts.as_slice() else {
        return Err(value(format!(
            "`equations` must be (A, b) or (A, b, B), for A y = b + B x, found {} arrays",
            parts.len()
        )));
    };
    let (a, rows, width) = table(a, "A")?;
    let b = Array::of(b, "b")?.cast::<f64>(given.py())?;
    let (by_x, x_rows, x_width) = match parts.get(2) {
        Some(by_x) => table(by_x, "B")?,
        None => (vec![0.0; rows * x_dim], rows, x_dim),
    };
    let fits = (width, b.shape(), x_rows, x_width) == (dim, &[rows][..], rows, x_dim);
    if !fits {
        return Err(value(format!(
            "`equations` must be A of shape ({rows}, {dim}), b of ({rows},) and B of ({rows}, {x_dim}), found \
             ({rows}, {width}), {} and ({x_rows}, {x_width})",
            shape_text(b.shape())
        )));
    }
    let row = |(row, constant): (usize, &f64)| Equation {
        normal: a[row * dim..][..dim].to_vec(),
        constant: *constant,
        slopes: by_x[row * x_dim..][..x_dim].to_vec(),
    };
    Ok(numbers(&b).iter().enumerate().map(row).collect())
}

/// Functions of the library that can be abandoned.
struct Watched {
    functions: Arc<dyn Functions + Send + Sync>,
    outside: Outside,
}

impl Functions for Watched {
    fn dim(&self) -> usize {
        self.functions.dim()
    }

    fn x_dim(&self) -> usize {
        self.functions.x_dim()
    }

    fn rows(&self) -> usize {
        self.functions.rows()
    }

    fn memory(&self) -> usize {
        self.functions.memory()
    }

    fn values(&self, y: &[f64], x: &[f64], constraints: &mut [f64], memory: &mut [f64]) -> f64 {
        self.outside.check();
        self.functions.values(y, x, constraints, memory)
    }

    fn objective(&self, y: &[f64], x: &[f64], memory: &mut [f64]) -> Option<f64> {
        self.functions.objective(y, x, memory)
    }

    fn gradient(
        &self,
        y: &[f64],
        x: &[f64],
        weights: &[f64],
        gradient: &mut [f64],
        memory: &mut [f64],
    ) {
        self.functions.gradient(y, x, weights, gradient, memory);
    }

    fn slopes(
        &self,
        y: &[f64],
        x: &[f64],
        direction: &[f64],
        slopes: &mut [f64],
        memory: &mut [f64],
    ) {
        self.functions.slopes(y, x, direction, slopes, memory);
    }
}
