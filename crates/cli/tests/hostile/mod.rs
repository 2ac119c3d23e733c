//! A hostile user: nothing is lost, nobody is fooled.
//!
//! [`refused`] is a table with a line for each case; the other files hold what needs more than a line.

mod answers;
#[cfg(unix)]
mod files;
mod limits;
mod models;
mod refused;
#[cfg(unix)]
pub mod signals;

use std::collections::BTreeMap;
use std::path::Path;

/// Every file below a folder with its bytes; links and devices with what they are.
fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("a file").path();
        let name = path.display().to_string();
        let kind = std::fs::symlink_metadata(&path).expect("there").file_type();
        if kind.is_dir() {
            found.extend(contents(&path));
            found.insert(name, Vec::new());
        } else if kind.is_file() {
            found.insert(name, std::fs::read(&path).expect("readable"));
        } else {
            found.insert(name, format!("{kind:?}").into_bytes());
        }
    }
    found
}

/// Settings with which a training takes a moment.
const TINY: &str = "--setting width=8 --setting depth=1 --setting phase-one=20 --setting phase-two=60 \
                    --setting feasible=600 --setting infeasible=600 --setting boundary=400 \
                    --setting rounds=1 --samples 500";

/// The words of a command line.
fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}
