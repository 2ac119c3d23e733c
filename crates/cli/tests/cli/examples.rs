//! The commands of `examples/command-line` work as printed.

#![cfg(unix)]

use std::path::Path;
use std::process::Command;

use fabproj::Model;

#[test]
fn every_printed_command_works() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/command-line");
    let text = std::fs::read_to_string(source.join("README.md")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    for file in ["points.csv", "short.toml", "tighter.toml"] {
        std::fs::copy(source.join(file), folder.path().join(file)).unwrap();
    }
    // The shell finds the command that was just built first.
    let binary = assert_cmd::cargo::cargo_bin("fabproj");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = binary.parent().map(Path::to_path_buf).into_iter();
    let path = std::env::join_paths(folders.chain(std::env::split_paths(&path))).unwrap();
    let mut commands = 0;
    for command in text.lines().filter_map(|line| line.strip_prefix("$ ")) {
        let output = Command::new("sh")
            .args(["-c", command])
            .current_dir(folder.path())
            .env("PATH", &path)
            .output()
            .unwrap();
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{command}: {message}");
        commands += 1;
    }
    assert!(commands > 8, "{commands}");
    let feasible = std::fs::read_to_string(folder.path().join("feasible.csv")).unwrap();
    assert!(
        feasible.contains("c,-1.0,0.4,feasible already"),
        "{feasible}"
    );
    let model = Model::load(folder.path().join("moons.safetensors")).unwrap();
    let certificate = model.certificate().unwrap();
    assert!(certificate.raw_feasible > 0.95, "{certificate:?}");
    assert_eq!(certificate.guarded_feasible, 1.0);
    for file in ["short.toml", "tighter.toml"] {
        let contents = std::fs::read_to_string(source.join(file)).unwrap();
        assert!(text.contains(&contents), "{file} is printed as it is");
    }
}
