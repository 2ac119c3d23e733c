//! Signals: a stop takes half a second from anywhere.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::words;
use crate::common::{folder, write};

/// Half a second is promised; a busy machine gets more.
const PATIENCE: Duration = Duration::from_secs(3);

/// Sends a signal by its name.
pub(super) fn send(child: &Child, signal: &str) {
    let sent = Command::new("kill")
        .args([signal, &child.id().to_string()])
        .status();
    assert!(sent.expect("kill runs").success());
}

fn start(folder: &Path, command: &str) -> Child {
    Command::new(assert_cmd::cargo::cargo_bin("fabproj"))
        .args(words(command))
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts")
}

/// Ends a command after a while; gives what it said.
fn end(mut child: Child, after: u64, signal: &str, code: i32) -> String {
    std::thread::sleep(Duration::from_millis(after));
    assert!(
        child.try_wait().expect("a child").is_none(),
        "it ended by itself"
    );
    send(&child, signal);
    let asked = Instant::now();
    let output = child.wait_with_output().expect("it ends");
    let (took, said) = (
        asked.elapsed(),
        String::from_utf8_lossy(&output.stderr).into_owned(),
    );
    assert_eq!(output.status.code(), Some(code), "{said}");
    assert!(took < PATIENCE, "{took:?}");
    said
}

/// Stops a command as soon as a file exists; gives what it said.
pub fn stop_when(folder: &Path, command: &str, file: &str) -> String {
    let mut child = start(folder, command);
    while !folder.join(file).exists() {
        let ended = child.try_wait().expect("a child").is_some();
        assert!(!ended, "it ended by itself");
        std::thread::sleep(Duration::from_millis(2));
    }
    end(child, 0, "-INT", 130)
}

/// A set whose membership takes milliseconds: drawing its rows takes minutes.
fn slow_set() -> String {
    let terms: Vec<String> = (0..6000)
        .map(|index| format!("sin({index} * a + b)"))
        .collect();
    format!(
        "y = [\"a\", \"b\"]\nbounds = {{ a = [-2, 2], b = [-2, 2] }}\n[[constraint]]\n\
         expr = \"{} <= 100\"\n",
        terms.join(" + ")
    )
}

#[test]
fn every_part_of_a_training_hears_a_signal() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    write(folder.path(), "slow.toml", &slow_set());
    // While rows are drawn.
    for (model, signal, code) in [("one", "-TERM", 143), ("two", "-INT", 130)] {
        let child = start(folder.path(), &format!("train slow.toml -o {model}"));
        let said = end(child, 1500, signal, code);
        assert!(
            said.contains("stopped;") && said.contains("--resume"),
            "{said}"
        );
        assert!(said.contains("begins again"), "{said}");
    }
    // While networks are trained.
    let long = "train concentric-circles --setting phase-two=1000000 -o three";
    let said = end(start(folder.path(), long), 4000, "-TERM", 143);
    assert!(
        said.contains("stopped;") && said.contains("--resume"),
        "{said}"
    );
}

#[test]
fn a_certificate_hears_a_signal_and_the_model_stays() {
    let folder = folder();
    let before = std::fs::read(folder.path().join("shell")).expect("a model");
    let child = start(folder.path(), "certify shell --samples 100000000");
    end(child, 1000, "-TERM", 143);
    assert_eq!(
        std::fs::read(folder.path().join("shell")).expect("a model"),
        before
    );
}
