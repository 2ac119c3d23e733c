//! A lock that dies with its process.

use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind, Read, Write};
use std::path::Path;

/// How often another process may remove the file between our opening and locking it.
const ATTEMPTS: usize = 10;

/// A locked file. The lock ends when this is dropped, or with the process.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

impl Lock {
    /// Locks the file at a path, which is made if it is missing. It holds the number of the process.
    ///
    /// # Errors
    /// [`ErrorKind::WouldBlock`], with the holder in its text, where another has the lock; what the operating
    /// system says otherwise.
    pub(crate) fn acquire(path: &Path) -> io::Result<Self> {
        for _ in 0..ATTEMPTS {
            if fs::symlink_metadata(path).is_ok_and(|found| !found.is_file()) {
                return Err(io::Error::other(format!(
                    "{} is not a file",
                    path.display()
                )));
            }
            let mut file = File::options()
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .open(path)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Err(held(file)),
                // A file system without locks.
                Err(TryLockError::Error(_)) => return Ok(Self { _file: file }),
            }
            // A file that was removed meanwhile locks nothing.
            if is_at(&file, path) {
                // Only a message needs the number.
                let _ = file.set_len(0);
                let _ = write!(file, "{}", std::process::id());
                return Ok(Self { _file: file });
            }
        }
        Err(ErrorKind::ResourceBusy.into())
    }
}

fn held(file: File) -> io::Error {
    let mut holder = String::new();
    let _ = file.take(20).read_to_string(&mut holder);
    let holder = match holder.trim().parse::<u32>() {
        Ok(process) => format!("process {process}"),
        Err(_) => "another process".to_owned(),
    };
    io::Error::new(ErrorKind::WouldBlock, format!("{holder} is using it"))
}

#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let identity = |found: fs::Metadata| (found.dev(), found.ino());
    let opened = file.metadata().ok().map(identity);
    opened.is_some() && opened == fs::metadata(path).ok().map(identity)
}

#[cfg(not(unix))]
fn is_at(_file: &File, _path: &Path) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_holder_is_refused_until_the_first_is_gone() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("lock");
        let first = Lock::acquire(&path).expect("free");
        let error = Lock::acquire(&path).expect_err("held");
        assert_eq!(error.kind(), ErrorKind::WouldBlock);
        let holder = format!("process {} is using it", std::process::id());
        assert_eq!(error.to_string(), holder);
        drop(first);
        Lock::acquire(&path).expect("free again");
    }
}
