//! Helpers that the commands of this repository share. Not a part of the public interface.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

/// How many names a message offers.
const OFFERED: usize = 3;

/// The names most like `wanted`, best first: those that contain it (or that it contains), then those
/// that differ by the fewest inserted, deleted, changed or swapped letters.
///
/// ```
/// let near = fabproj::support::near_names("two-mons", ["star", "two-moons", "torus"]);
/// assert_eq!(near[0], "two-moons");
/// ```
pub fn near_names<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let wanted = wanted.to_lowercase();
    let mut ranked: Vec<(bool, usize, &str)> = names
        .into_iter()
        .map(|name| {
            let related = !wanted.is_empty() && (name.contains(&wanted) || wanted.contains(name));
            (!related, strsim::damerau_levenshtein(&wanted, name), name)
        })
        .collect();
    ranked.sort();
    ranked
        .iter()
        .take(OFFERED)
        .map(|(_, _, name)| (*name).to_owned())
        .collect()
}

/// `; did you mean `a`, `b` or `c`?`, or nothing where there are no names.
///
/// ```
/// use fabproj::support::did_you_mean;
/// assert_eq!(did_you_mean(&["star".into(), "torus".into()]), "; did you mean `star` or `torus`?");
/// assert_eq!(did_you_mean(&[]), "");
/// ```
pub fn did_you_mean(near: &[String]) -> String {
    let quoted: Vec<String> = near.iter().map(|name| format!("`{name}`")).collect();
    match quoted.split_last() {
        None => String::new(),
        Some((last, [])) => format!("; did you mean {last}?"),
        Some((last, others)) => format!("; did you mean {} or {last}?", others.join(", ")),
    }
}

/// A share in per cent. Never rounded up to 100 or down to 0: those are said only when they are true.
pub fn percent(share: f64) -> String {
    let value = 100.0 * share;
    let digits = if value >= 100.0 || value <= 0.0 {
        return format!("{value:.0} %");
    } else if value > 99.99 {
        4
    } else if !(1.0..=99.0).contains(&value) {
        2
    } else {
        1
    };
    let scale = 10_f64.powi(digits);
    let value = (value * scale).floor() / scale;
    format!("{value:.*} %", digits as usize)
}

/// A confidence in per cent, as it was asked for.
pub fn confidence(share: f64) -> String {
    let text = format!("{:.6}", 100.0 * share);
    format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
}

/// Writes a file as a whole or not at all: to a temporary file beside it, synchronised with the disk,
/// then renamed. After an error, or if the process is killed, what was there before is still there.
///
/// # Errors
/// What the operating system says.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> io::Result<()> {
    replace(path, |file| file.write_all(bytes))
}

fn replace(path: &Path, fill: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let mut builder = tempfile::Builder::new();
    builder.prefix(".fabproj-").suffix(".tmp");
    // As any new file: temporary files are readable by their owner alone unless told otherwise.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut file = builder.tempfile_in(folder)?;
    fill(file.as_file_mut())?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    // The rename itself is durable once the folder is on the disk. Some file systems cannot tell;
    // the file is complete either way.
    #[cfg(unix)]
    let _ = File::open(folder).and_then(|folder| folder.sync_all());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_names_come_before_misspellings() {
        assert_eq!(near_names("moons", ["moo", "two-moons", "noons"])[0], "moo");
        assert_eq!(
            near_names("star", ["stir", "star-shaped"])[0],
            "star-shaped"
        );
    }

    #[test]
    fn at_most_three_are_offered() {
        assert_eq!(near_names("", ["a", "b", "c", "d"]).len(), 3);
    }

    #[test]
    fn shares_are_never_made_better_than_they_are() {
        assert_eq!(percent(1.0), "100 %");
        assert_eq!(percent(0.999_999_9), "99.9999 %");
        assert_eq!(percent(0.999_96), "99.9960 %");
        assert_eq!(percent(0.995_49), "99.54 %");
        assert_eq!(percent(0.5), "50.0 %");
        assert_eq!(percent(0.000_42), "0.04 %");
        assert_eq!(percent(0.0), "0 %");
    }

    #[test]
    fn a_full_disk_leaves_the_old_file() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("model");
        write_atomically(&path, b"old").expect("a writable folder");
        let error = replace(&path, |file| {
            file.write_all(b"half of the new")?;
            Err(io::ErrorKind::StorageFull.into())
        });
        assert_eq!(
            error.map_err(|error| error.kind()),
            Err(io::ErrorKind::StorageFull)
        );
        assert_eq!(std::fs::read(&path).expect("still there"), b"old");
        let left = std::fs::read_dir(folder.path()).expect("a folder").count();
        assert_eq!(left, 1, "the temporary file is gone");
    }

    #[cfg(unix)]
    #[test]
    fn files_are_readable_by_others_as_usual() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (ours, usual) = (folder.path().join("ours"), folder.path().join("usual"));
        write_atomically(&ours, b"").expect("a writable folder");
        std::fs::write(&usual, b"").expect("a writable folder");
        let mode = |path| std::fs::metadata(path).expect("there").permissions().mode();
        assert_eq!(mode(&ours), mode(&usual));
    }
}
