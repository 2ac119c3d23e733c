//! The Python package and the C interface, built and tested from the outside.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};

use crate::check;
use crate::metadata::Workspace;
use crate::python::{Environment, FRAMEWORKS, PACKAGE};
use crate::shell::{Skipped, cargo, command, has_program, output, root, step};

/// The folder of the Python package, from the root.
const PACKAGE_FOLDER: &str = "bindings/python";
/// The folder of the C interface, from the root.
const C_FOLDER: &str = "bindings/c";
/// The option of the library path on Linux, where a CUDA build of PyTorch may find no CUDA.
const LIBRARY_PATH: &str = "LD_LIBRARY_PATH";

pub fn run(arguments: &check::Arguments) -> Result<ExitCode> {
    let mut skipped = arguments.skipped();
    let workspace = Workspace::read()?;
    c(&workspace, &mut skipped)?;
    python(&workspace, &mut skipped)?;
    eprintln!("\n{}", skipped.summary("all tests of the bindings passed"));
    Ok(ExitCode::SUCCESS)
}

/// Builds the wheel once, and tests it with NumPy alone, then beside the frameworks.
fn python(workspace: &Workspace, skipped: &mut Skipped) -> Result<()> {
    let everyday = Environment::prepare(&PACKAGE)?;
    let wheel = wheel(workspace, &everyday)?;
    install(&everyday, &wheel)?;
    step(
        "types of the Python package",
        everyday.module("mypy.stubtest").arg("fabproj._native"),
    )?;
    step(
        "tests of the Python package",
        &mut pytest(&everyday, "tests"),
    )?;
    match Environment::prepare(&FRAMEWORKS) {
        Ok(environment) => frameworks(&environment, &wheel),
        Err(error) => skipped.add(
            "PyTorch, JAX, Gymnasium and ONNX Runtime",
            &format!("{error:#}"),
        ),
    }
}

/// The wheel, with the tests' profile: what the tests have compiled is used again.
fn wheel(workspace: &Workspace, environment: &Environment) -> Result<PathBuf> {
    let folder = workspace.target_directory.join("wheels");
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("removing {}", folder.display()))?;
    }
    let manifest = format!("{PACKAGE_FOLDER}/Cargo.toml");
    let mut build = environment.module("maturin");
    build.args([
        "build",
        "--quiet",
        "--profile",
        "dev",
        "--manifest-path",
        &manifest,
    ]);
    build.arg("--interpreter").arg(environment.interpreter());
    step("Python package", build.arg("--out").arg(&folder))?;
    let files = fs::read_dir(&folder).with_context(|| format!("reading {}", folder.display()))?;
    let mut wheels = files.filter_map(|file| Some(file.ok()?.path()));
    wheels.next().context("maturin built no wheel")
}

fn install(environment: &Environment, wheel: &Path) -> Result<()> {
    let options = [
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--force-reinstall",
        "--no-deps",
    ];
    step(
        "installation of the wheel",
        environment.module("pip").args(options).arg(wheel),
    )
}

/// pytest in a folder of the package; it sees what is installed, not the sources.
fn pytest(environment: &Environment, folder: &str) -> std::process::Command {
    let mut tests = environment.module("pytest");
    tests
        .args(["-q", "-p", "no:cacheprovider"])
        .arg(format!("{PACKAGE_FOLDER}/{folder}"));
    tests
}

fn frameworks(environment: &Environment, wheel: &Path) -> Result<()> {
    install(environment, wheel)?;
    let mut tests = pytest(environment, "frameworks");
    if cfg!(target_os = "linux") {
        let bin = environment.interpreter().parent().unwrap_or(Path::new("."));
        let libraries = bin.with_file_name("no-cuda");
        let script = format!("{PACKAGE_FOLDER}/cpu_torch.py");
        step(
            "PyTorch without CUDA",
            environment.script(&script).arg(&libraries),
        )?;
        tests.env(LIBRARY_PATH, libraries);
    }
    step("tests beside the frameworks", &mut tests)
}

/// Compiles the example in C against the static library, and runs it under a sanitizer and under valgrind.
fn c(workspace: &Workspace, skipped: &mut Skipped) -> Result<()> {
    if !cfg!(unix) || !has_program("cc") {
        return skipped.add("C interface", "there is no C compiler named cc");
    }
    step(
        "C interface",
        &mut cargo(&["build", "--package", "fabproj-ffi"]),
    )?;
    let folder = workspace.target_directory.join("c-example");
    fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
    let model = folder.join("disc.safetensors");
    fs::write(&model, disc()).with_context(|| format!("writing {}", model.display()))?;
    let library = workspace
        .target_directory
        .join("debug")
        .join("libfabproj_c.a");
    for (name, options, runner) in [
        (
            "sanitized",
            &["-fsanitize=address,undefined", "-fno-sanitize-recover=all"][..],
            None,
        ),
        ("plain", &[][..], Some("valgrind")),
    ] {
        let program = folder.join(name);
        let mut compile = command("cc");
        compile
            .args(["-std=c99", "-g", "-Wall", "-Wextra", "-Werror", "-pedantic"])
            .args(options);
        compile.arg("-I").arg(root().join(C_FOLDER).join("include"));
        compile
            .arg(root().join(C_FOLDER).join("example/project.c"))
            .arg(&library);
        compile
            .args(["-lpthread", "-ldl", "-lm", "-o"])
            .arg(&program);
        step("C example", &mut compile)?;
        let mut words: Vec<OsString> = match runner {
            Some(runner) if !has_program(runner) => {
                skipped.add(runner, "it is not installed")?;
                continue;
            }
            Some(runner) => [runner, "--quiet", "--leak-check=full", "--error-exitcode=9"]
                .map(OsString::from)
                .to_vec(),
            None => Vec::new(),
        };
        words.extend([program.into_os_string(), model.clone().into_os_string()]);
        let text = output(command(&words[0]).args(&words[1..]))?;
        check_example(&text)?;
    }
    Ok(())
}

/// What the example must print: the disc of radius 0.5, and its right half.
fn check_example(text: &str) -> Result<()> {
    let lines = [
        "projected 0.3000 0.4000 (1)",
        "projected -0.3000 0.4000 (1)",
        "guarded 0.3000 0.4000 (1)",
        "error: `y` is NULL",
    ];
    for line in lines {
        anyhow::ensure!(
            text.lines().any(|found| found == line),
            "the C example did not print {line:?}:\n{text}"
        );
    }
    Ok(())
}

/// The bytes of a model whose networks are the identity and whose latent set is a disc of radius 0.5.
fn disc() -> Vec<u8> {
    let network =
        r#"{\"widths\":[2,2],\"hidden\":\"identity\",\"output\":\"identity\",\"skip_inputs\":0}"#;
    let header = format!(
        r#"{{\"format\":1,\"dim\":2,\"x_dim\":0,\"charts\":[{{\"encoder\":{network},\"decoders\":[{network}],\"decoder_gate\":null,\"latent\":{{\"kind\":\"ball\",\"radius\":0.5,\"smooth\":null}}}}],\"gate\":null,\"discriminator\":null,\"anchors\":0}}"#
    );
    let identity = [1.0_f32, 0.0, 0.0, 1.0];
    let tensors: [(&str, &str, &[f32]); 8] = [
        ("frame.centre", "[2]", &[0.0, 0.0]),
        ("frame.scale", "[2]", &[1.0, 1.0]),
        ("charts.0.frame.centre", "[2]", &[0.0, 0.0]),
        ("charts.0.frame.scale", "[2]", &[1.0, 1.0]),
        ("charts.0.encoder.layers.0.weight", "[2,2]", &identity),
        ("charts.0.encoder.layers.0.bias", "[2]", &[0.0, 0.0]),
        ("charts.0.decoders.0.layers.0.weight", "[2,2]", &identity),
        ("charts.0.decoders.0.layers.0.bias", "[2]", &[0.0, 0.0]),
    ];
    let (mut entries, mut data) = (String::new(), Vec::new());
    for (name, shape, values) in tensors {
        let begin = data.len();
        data.extend(values.iter().flat_map(|value| value.to_le_bytes()));
        entries += &format!(
            r#","{name}":{{"dtype":"F32","shape":{shape},"data_offsets":[{begin},{}]}}"#,
            data.len()
        );
    }
    let text = format!(r#"{{"__metadata__":{{"fabproj":"{header}"}}{entries}}}"#);
    [
        &(text.len() as u64).to_le_bytes()[..],
        text.as_bytes(),
        &data,
    ]
    .concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_example_that_prints_something_else_is_an_error() {
        let error = check_example("projected 0.3000 0.4000 (1)")
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("guarded") || error.contains("-0.3000"),
            "{error}"
        );
    }
}
