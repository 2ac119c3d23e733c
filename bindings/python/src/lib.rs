//! The native module of the Python package `fabproj`: arrays, callables and exceptions around the library.
//! No mathematics.

mod arrays;
mod errors;
mod membership;
mod model;
mod problem;
mod run;
mod settings;
mod solver;
mod source;
mod supervise;
mod train;

use std::ffi::OsString;
use std::process::ExitCode;

use pyo3::prelude::*;

/// What `import fabproj` finds.
#[pymodule]
mod _native {
    #[pymodule_export]
    use super::main;
    #[pymodule_export]
    use crate::model::Model;
    #[pymodule_export]
    use crate::run::{Guard, Projector};
    #[pymodule_export]
    use crate::solver::Solver;
    #[pymodule_export]
    use crate::train::train;

    #[pymodule_export]
    #[allow(non_upper_case_globals)]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}

/// Runs the command `fabproj` with these words and returns its exit code.
#[pyfunction]
fn main(py: Python<'_>, words: Vec<OsString>) -> u8 {
    let code = py.detach(|| fabproj_cli::main_with(words));
    // `ExitCode` does not give its number away.
    let same = |number: &u8| ExitCode::from(*number) == code;
    (0..=u8::MAX).find(same).unwrap_or(1)
}
