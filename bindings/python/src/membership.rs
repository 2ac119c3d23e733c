//! Python callables as membership tests.

use std::panic::resume_unwind;
use std::thread;
use std::time::Duration;

use fabproj::Membership;
use numpy::prelude::*;
use numpy::{PyArray1, PyArrayDyn};
use pyo3::prelude::*;

use crate::arrays::{array_of, numpy, shape_text};
use crate::errors::{value, wrong_type};

/// A callable `contains(y)` or `contains(y, x)`: arrays of rows in, one boolean per row out.
pub struct Contains(pub Py<PyAny>);

/// What unwinds from a membership test that raised; caught where the library was called.
pub struct Raised(pub PyErr);

impl Contains {
    /// Asks about rows. Rows that are not finite are outside, and the callable does not see them.
    pub fn ask(&self, py: Python<'_>, y: &[f64], x: &[f64], rows: usize) -> PyResult<Vec<bool>> {
        let (dim, x_dim) = (y.len() / rows.max(1), x.len() / rows.max(1));
        let finite = |row: usize| {
            let all = y[row * dim..][..dim]
                .iter()
                .chain(&x[row * x_dim..][..x_dim]);
            all.copied().all(f64::is_finite)
        };
        let seen: Vec<usize> = (0..rows).filter(|row| finite(*row)).collect();
        let mut inside = vec![false; rows];
        if seen.is_empty() {
            return Ok(inside);
        }
        let pick = |values: &[f64], width: usize| -> Vec<f64> {
            let rows = seen.iter().flat_map(|row| &values[row * width..][..width]);
            rows.copied().collect()
        };
        let answers = if seen.len() == rows {
            self.call(py, y, x, rows)?
        } else {
            self.call(py, &pick(y, dim), &pick(x, x_dim), seen.len())?
        };
        for (row, answer) in seen.iter().zip(answers) {
            inside[*row] = answer;
        }
        Ok(inside)
    }

    fn call(&self, py: Python<'_>, y: &[f64], x: &[f64], rows: usize) -> PyResult<Vec<bool>> {
        let y = array_of(py, y, &[rows, y.len() / rows])?;
        let callable = self.0.bind(py);
        let answer = if x.is_empty() {
            callable.call1((y,))?
        } else {
            callable.call1((y, array_of(py, x, &[rows, x.len() / rows])?))?
        };
        answers(&answer, rows)
    }
}

/// The booleans that a callable has returned.
fn answers(answer: &Bound<'_, PyAny>, rows: usize) -> PyResult<Vec<bool>> {
    let array = match answer.cast::<PyArrayDyn<bool>>() {
        Ok(array) => array.clone(),
        Err(_) => {
            let array = numpy(answer.py())?.call_method1("asarray", (answer,))?;
            let dtype = array.getattr("dtype")?;
            array.cast_into::<PyArrayDyn<bool>>().map_err(|_| {
                wrong_type(format!(
                    "`contains` must return an array of bool, found dtype {dtype}; compare numbers, such as \
                     `violation(y) <= 0`"
                ))
            })?
        }
    };
    if array.shape() != [rows] {
        return Err(value(format!(
            "`contains` must return one bool per row, an array of shape ({rows},), found {}; it gets rows of \
             points, such as y[:, 0]",
            shape_text(array.shape())
        )));
    }
    // SAFETY: nothing else runs in Python while this thread is attached.
    let view = unsafe { array.cast::<PyArray1<bool>>()?.as_array() };
    Ok(view.iter().copied().collect())
}

impl Membership for Contains {
    fn contains(&self, y: &[f64], x: &[f64]) -> bool {
        let mut inside = [false];
        self.contains_rows(y, x, &mut inside);
        inside[0]
    }

    fn contains_rows(&self, y: &[f64], x: &[f64], inside: &mut [bool]) {
        match attached(|py| self.ask(py, y, x, inside.len())) {
            Ok(answers) => inside.copy_from_slice(&answers),
            Err(error) => resume_unwind(Box::new(Raised(error))),
        }
    }
}

/// Runs something in Python. An interpreter that is shutting down takes no more threads: this one then waits
/// for the end of the process.
pub fn attached<R>(run: impl FnOnce(Python<'_>) -> R) -> R {
    match Python::try_attach(run) {
        Some(result) => result,
        None => wait_for_the_end(),
    }
}

/// Never returns, because there is no interpreter to return to.
pub fn wait_for_the_end() -> ! {
    loop {
        thread::sleep(Duration::from_secs(3600));
    }
}
