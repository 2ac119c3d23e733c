//! Errors of the library as Python exceptions, with the library's texts.

use std::any::Any;
use std::io;

use fabproj::set::{LabelledError, SetError};
use fabproj::{CertifyError, FileError, TrainError};
use pyo3::PyErr;
use pyo3::exceptions::{
    PyFileExistsError, PyFileNotFoundError, PyIsADirectoryError, PyOSError, PyPermissionError,
    PyRuntimeError, PyTypeError, PyValueError,
};

/// `ValueError`: an argument of the right type that does not fit.
pub fn value(message: impl ToString) -> PyErr {
    PyValueError::new_err(message.to_string())
}

/// `TypeError`: an argument of the wrong type.
pub fn wrong_type(message: impl ToString) -> PyErr {
    PyTypeError::new_err(message.to_string())
}

/// The kind of `OSError` that an error of the operating system is.
pub fn system(kind: io::ErrorKind, message: String) -> PyErr {
    match kind {
        io::ErrorKind::NotFound => PyFileNotFoundError::new_err(message),
        io::ErrorKind::PermissionDenied => PyPermissionError::new_err(message),
        io::ErrorKind::IsADirectory => PyIsADirectoryError::new_err(message),
        io::ErrorKind::AlreadyExists => PyFileExistsError::new_err(message),
        _ => PyOSError::new_err(message),
    }
}

/// An error of a model file.
pub fn file(error: &FileError) -> PyErr {
    match error {
        FileError::Read { source, .. } | FileError::Write { source, .. } => {
            system(source.kind(), error.to_string())
        }
        error => value(error),
    }
}

/// An error of a set.
pub fn set(error: &SetError) -> PyErr {
    match source_of(error) {
        Some(kind) => system(kind, error.to_string()),
        None => value(error),
    }
}

/// An error of the command line, which the package shares.
pub fn command(error: &anyhow::Error) -> PyErr {
    let message = fabproj_cli::shared::message(error);
    let kind = error.chain().find_map(|cause| {
        let io = cause.downcast_ref::<io::Error>();
        io.map(io::Error::kind)
    });
    if message.starts_with("file not found") {
        return system(io::ErrorKind::NotFound, message);
    }
    kind.map_or_else(|| value(&message), |kind| system(kind, message.clone()))
}

/// An error of labelled points.
pub fn labelled(error: &LabelledError) -> PyErr {
    match error {
        LabelledError::Read { source, .. } => system(source.kind(), error.to_string()),
        error => value(error),
    }
}

/// An error of a certificate.
pub fn certify(error: &CertifyError) -> PyErr {
    value(error)
}

/// An error of a training: `RuntimeError` where the training itself failed.
pub fn training(error: &TrainError) -> PyErr {
    match error {
        TrainError::Set(error) => set(error),
        TrainError::Labelled(error) => labelled(error),
        TrainError::CheckpointsUnwritable(source) => system(source.kind(), error.to_string()),
        TrainError::Diverged { .. }
        | TrainError::Model(_)
        | TrainError::Stopped
        | TrainError::Recipe(_) => PyRuntimeError::new_err(error.to_string()),
        error => value(error),
    }
}

/// A panic, which is a bug.
pub fn panicked(payload: &(dyn Any + Send)) -> PyErr {
    let text = payload
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| payload.downcast_ref::<&str>().copied())
        .unwrap_or("no message");
    PyRuntimeError::new_err(format!("internal error: {text}; please report it"))
}

fn source_of(error: &(dyn std::error::Error + 'static)) -> Option<io::ErrorKind> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(io) = error.downcast_ref::<io::Error>() {
            return Some(io.kind());
        }
        next = error.source();
    }
    None
}
