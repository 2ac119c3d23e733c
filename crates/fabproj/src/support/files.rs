//! Files that appear as a whole or not at all.

use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use tempfile::NamedTempFile;

/// Reads a file of at most so many bytes, whatever its size is said to be.
///
/// # Errors
/// What the operating system says, or [`ErrorKind::InvalidData`] for a longer file.
pub fn read_at_most(path: &Path, most: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = File::open(path)?;
    file.take(most as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > most {
        let problem = format!("it has more than {most} bytes");
        return Err(io::Error::new(ErrorKind::InvalidData, problem));
    }
    Ok(bytes)
}

/// Reads a safetensors file up to a byte more than `most`, whatever its size is said to be; no more than its first
/// eight bytes if these, the length of its header, are zero or beyond `header`, as those of most devices are. The
/// format's own check gives the error.
///
/// # Errors
/// What the operating system says.
pub fn read_safetensors(path: &Path, header: usize, most: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut file = File::open(path)?.take(most as u64 + 1);
    file.by_ref().take(8).read_to_end(&mut bytes)?;
    let length = bytes
        .first_chunk()
        .map_or(0, |first| u64::from_le_bytes(*first));
    if (1..=header as u64).contains(&length) {
        file.read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

/// Links that are followed: as many as Linux follows.
const MAX_LINKS: usize = 40;

/// Temporary files that are being written, for [`remove_temporaries`].
static TEMPORARIES: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// A file in the making: a temporary file beside its place, which replaces what is there when it is complete.
///
/// A link is followed, so that its target is replaced and the link stays. A file that is replaced keeps its owner
/// and mode, as far as the system allows. Devices, pipes and folders are refused.
pub struct NewFile {
    target: PathBuf,
    temporary: NamedTempFile,
    /// The file that is replaced.
    old: Option<Metadata>,
}

impl NewFile {
    /// Begins a file at a place.
    ///
    /// # Errors
    /// What the operating system says, or that the place is not one for a file.
    pub fn create(path: &Path) -> io::Result<Self> {
        let target = target_of(path)?;
        let old = match fs::metadata(&target) {
            Ok(old) => {
                // Renaming would replace a file that may not be written to.
                File::options().write(true).open(&target)?;
                Some(old)
            }
            Err(_) => None,
        };
        let mut builder = tempfile::Builder::new();
        builder.prefix(".fabproj-").suffix(".tmp");
        // As any new file; one that replaces another is private until it has that one's mode.
        #[cfg(unix)]
        if old.is_none() {
            builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        }
        let temporary = builder.tempfile_in(folder_of(&target))?;
        temporaries().push(temporary.path().to_owned());
        Ok(Self {
            target,
            temporary,
            old,
        })
    }

    /// The file, to be written to.
    pub fn file(&mut self) -> &mut File {
        self.temporary.as_file_mut()
    }

    /// Completes the file: it is on the disk, then it has its name.
    ///
    /// # Errors
    /// What the operating system says; what was there before is still there.
    pub fn commit(self) -> io::Result<()> {
        let Self {
            target,
            temporary,
            old,
        } = self;
        let name = temporary.path().to_owned();
        let committed = (|| {
            if let Some(old) = &old {
                keep_owner_and_mode(temporary.as_file(), old)?;
            }
            temporary.as_file().sync_all()?;
            temporary.persist(&target).map_err(|error| error.error)
        })();
        temporaries().retain(|path| *path != name);
        committed?;
        // The rename itself is durable once the folder is on the disk. Some file systems cannot tell;
        // the file is complete either way.
        #[cfg(unix)]
        let _ = File::open(folder_of(&target)).and_then(|folder| folder.sync_all());
        Ok(())
    }
}

fn temporaries() -> std::sync::MutexGuard<'static, Vec<PathBuf>> {
    TEMPORARIES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes the temporary files of this process, before it ends in the middle of its work.
pub fn remove_temporaries() {
    for path in temporaries().drain(..) {
        let _ = fs::remove_file(path);
    }
}

/// Writes a file as a whole or not at all: to a temporary file beside it, synchronised with the disk,
/// then renamed. After an error, or if the process is killed, what was there before is still there.
///
/// # Errors
/// As for [`NewFile::create`] and [`NewFile::commit`].
pub fn write_atomically(path: &Path, bytes: &[u8]) -> io::Result<()> {
    replace(path, |file| file.write_all(bytes))
}

fn replace(path: &Path, fill: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    let mut new = NewFile::create(path)?;
    fill(new.file())?;
    new.commit()
}

/// The place that a path leads to: the file itself, or what its links point to. A file may be there or not.
///
/// # Errors
/// For a folder, a device or a pipe, and for links that lead in a circle.
pub fn target_of(path: &Path) -> io::Result<PathBuf> {
    let mut target = path.to_owned();
    for _ in 0..MAX_LINKS {
        match fs::read_link(&target) {
            Ok(next) => target = folder_of(&target).join(next),
            Err(_) => return check_place(target),
        }
    }
    Err(io::Error::other("its links lead in a circle"))
}

fn check_place(target: PathBuf) -> io::Result<PathBuf> {
    let refused = |what: &str| io::Error::new(ErrorKind::InvalidInput, what.to_owned());
    match fs::symlink_metadata(&target) {
        Ok(found) if found.is_file() => Ok(target),
        Ok(found) if found.is_dir() => Err(refused("it is a folder; name a file")),
        Ok(_) => Err(refused("it is a device or a pipe, not a file; name a file")),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(target),
        Err(error) => Err(error),
    }
}

/// Whether two paths are one file, by whatever names.
pub fn is_same_file(one: &Path, other: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let identity = |path: &Path| {
            Some((
                fs::metadata(path).ok()?.dev(),
                fs::metadata(path).ok()?.ino(),
            ))
        };
        if let (Some(one), Some(other)) = (identity(one), identity(other)) {
            return one == other;
        }
    }
    let whole = |path: &Path| {
        let target = target_of(path).ok()?;
        let folder = fs::canonicalize(folder_of(&target)).ok()?;
        Some(folder.join(target.file_name()?))
    };
    matches!((whole(one), whole(other)), (Some(one), Some(other)) if one == other)
}

/// The folder of a path.
fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

#[cfg(unix)]
fn keep_owner_and_mode(file: &File, old: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
    let (new, mut mode) = (file.metadata()?, old.mode() & 0o7777);
    let same = (new.uid(), new.gid()) == (old.uid(), old.gid());
    if !same
        && fchown(file, Some(old.uid()), Some(old.gid())).is_err()
        && fchown(file, None, Some(old.gid())).is_err()
    {
        // Another group must not gain what only others had before.
        mode = (mode & 0o707) | (mode & 0o070 & (mode << 3));
    }
    file.set_permissions(PermissionsExt::from_mode(mode))
}

#[cfg(not(unix))]
fn keep_owner_and_mode(file: &File, old: &Metadata) -> io::Result<()> {
    file.set_permissions(old.permissions())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> tempfile::TempDir {
        tempfile::tempdir().expect("a temporary folder")
    }

    #[test]
    fn a_full_disk_leaves_the_old_file() {
        let folder = folder();
        let path = folder.path().join("model");
        write_atomically(&path, b"old").expect("a writable folder");
        let error = replace(&path, |file| {
            file.write_all(b"half of the new")?;
            Err(ErrorKind::StorageFull.into())
        });
        assert_eq!(
            error.map_err(|error| error.kind()),
            Err(ErrorKind::StorageFull)
        );
        assert_eq!(fs::read(&path).expect("still there"), b"old");
        let left = fs::read_dir(folder.path()).expect("a folder").count();
        assert_eq!(left, 1, "the temporary file is gone");
    }

    #[cfg(unix)]
    #[test]
    fn new_files_have_the_usual_mode_and_old_ones_keep_theirs() {
        use std::os::unix::fs::PermissionsExt;
        let folder = folder();
        let (ours, usual) = (folder.path().join("ours"), folder.path().join("usual"));
        write_atomically(&ours, b"").expect("a writable folder");
        fs::write(&usual, b"").expect("a writable folder");
        let mode = |path| fs::metadata(path).expect("there").permissions().mode() & 0o7777;
        assert_eq!(mode(&ours), mode(&usual));
        for wanted in [0o600, 0o640, 0o755] {
            fs::set_permissions(&ours, PermissionsExt::from_mode(wanted)).expect("our file");
            write_atomically(&ours, b"new").expect("a writable file");
            assert_eq!(mode(&ours), wanted);
        }
    }

    #[cfg(unix)]
    #[test]
    fn links_stay_and_their_targets_are_written() {
        use std::os::unix::fs::symlink;
        let folder = folder();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("below")).expect("a writable folder");
        fs::write(at("below/file"), b"old").expect("a writable folder");
        symlink("below/file", at("first")).expect("links");
        symlink("first", at("second")).expect("links");
        symlink("below/missing", at("dangling")).expect("links");
        symlink("circle", at("circle")).expect("links");
        write_atomically(&at("second"), b"new").expect("a link to a link");
        write_atomically(&at("dangling"), b"new").expect("a link to nothing yet");
        assert!(write_atomically(&at("circle"), b"new").is_err());
        for file in ["below/file", "below/missing"] {
            assert_eq!(fs::read(at(file)).expect("written"), b"new");
        }
        for link in ["first", "second", "dangling", "circle"] {
            assert!(fs::symlink_metadata(at(link)).expect("there").is_symlink());
        }
        assert!(is_same_file(&at("second"), &at("below/file")));
        assert!(!is_same_file(&at("second"), &at("below/missing")));
    }

    #[cfg(unix)]
    #[test]
    fn a_device_is_read_no_further_than_a_length() {
        for endless in ["/dev/zero", "/dev/urandom"] {
            let read = read_safetensors(Path::new(endless), 1000, 1 << 20).expect("readable");
            assert_eq!(read.len(), 8, "{endless}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn sockets_are_refused() {
        let folder = folder();
        let path = folder.path().join("socket");
        let socket = std::os::unix::net::UnixListener::bind(&path).expect("a short path");
        let error = write_atomically(&path, b"new").expect_err("not a file");
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        drop(socket);
        assert!(write_atomically(folder.path(), b"new").is_err());
    }
}
