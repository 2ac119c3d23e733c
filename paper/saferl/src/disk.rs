//! Files that are written as a whole or not at all.

use std::fs;
use std::path::Path;

use crate::error::{Result, RlError};

/// Replaces a file. Creates its folder if missing. A reader sees the old contents or the new ones.
pub(crate) fn write_atomically(path: &Path, bytes: &[u8]) -> Result<()> {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    folder
        .map_or(Ok(()), fs::create_dir_all)
        .and_then(|()| fabproj::support::write_atomically(path, bytes))
        .map_err(RlError::disk("write", path))
}

/// The contents of a file; `None` if there is none.
pub(crate) fn read_if_there(path: &Path) -> Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(RlError::disk("read", path)(error)),
    }
}
