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

/// The largest file of networks.
const MAX_BYTES: usize = 256 << 20;

/// The contents of a safetensors file; what is longer, or has no end, is cut, and then is none.
pub(crate) fn read_safetensors(path: &Path) -> Result<Vec<u8>> {
    let bytes = fabproj::support::read_safetensors(path, MAX_BYTES, MAX_BYTES);
    bytes.map_err(RlError::disk("read", path))
}

/// The contents of a file; `None` if there is none.
pub(crate) fn read_if_there(path: &Path) -> Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(RlError::disk("read", path)(error)),
    }
}
