//! Commands that must be refused, with what the message must say. No file may change.
//!
//! To add a case, add a line.

use super::{contents, words};
use crate::common::{folder, run_with_input, write};
use fabproj::solve::{Problem, SolveSettings};

/// Command, standard input, exit code, a part of the message.
type Case = (&'static str, &'static str, i32, &'static str);

const CASES: &[Case] = &[
    // An output is never an input, and replaces nothing unless it is told to.
    ("project ring in.csv -o in.csv", "", 1, "is an input"),
    (
        "project ring in.csv -o in.csv --force",
        "",
        1,
        "is an input",
    ),
    (
        "project ring in.csv -o ./in.csv --force",
        "",
        1,
        "is an input",
    ),
    ("project ring in.csv -o ring --force", "", 1, "is an input"),
    ("project ring in.csv -o old.csv", "", 1, "--force"),
    ("project ring in.csv -o .", "", 1, "folder"),
    (
        "project ring in.csv -o nowhere/out.csv",
        "",
        1,
        "no folder nowhere",
    ),
    ("plot ring -o old.svg", "", 1, "--force"),
    ("plot ring -o nowhere/ring.svg", "", 1, "no folder nowhere"),
    ("export ring --onnx ring --force", "", 1, "is an input"),
    ("export ring --c old.csv", "", 1, "--force"),
    ("export ring --onnx nowhere/r", "", 1, "no folder nowhere"),
    ("new old.toml", "", 1, "--force"),
    ("new set.txt", "", 2, ".toml"),
    ("train set.toml -o set.toml --force", "", 1, "is an input"),
    (
        "train set.toml --config old.toml -o old.toml --force",
        "",
        1,
        "is an input",
    ),
    ("train set.toml -o old.csv", "", 1, "--force"),
    ("train set.toml -o m --plot old.svg", "", 1, "--force"),
    (
        "train set.toml -o m --plot nowhere/m.svg",
        "",
        1,
        "no folder nowhere",
    ),
    ("train set.toml -o nowhere/m", "", 1, "no folder nowhere"),
    (
        "train set.toml -o m.svg --plot ./m.svg",
        "",
        1,
        "one file for the model and its figure",
    ),
    (
        "train set.toml --config plain.log.jsonl -o plain",
        "",
        1,
        "is an input",
    ),
    (
        "train labels.csv -o labels.csv --force",
        "",
        1,
        "is an input",
    ),
    // Tables that do not say what they seem to say.
    (
        "project ring",
        "y0,y1\n1,\"2\n3,4\n5,6\n",
        1,
        "line 2 is never closed",
    ),
    (
        "project ring",
        "y0,y1\n1,2\n\"",
        1,
        "line 3 is never closed",
    ),
    ("project ring", "y0;y1\n1;2\n", 1, "--delimiter ';'"),
    ("project ring", "y0\ty1\n1\t2\n", 1, "tab"),
    ("project ring", "y0,y1,y0\n1,2,3\n", 1, "two columns `y0`"),
    (
        "project ring",
        "y0,y1\n1,2,3\n",
        1,
        "expected 2 columns, found 3",
    ),
    ("project ring", "y0,y1\n1,nan\n", 1, "row 1 (line 2)"),
    ("project ring", "y0,y1\n1,2\n\n\n1,x\n", 1, "row 2 (line 5)"),
    ("project ring", "y0,y1\n1,\u{1b}[2J\n", 1, "\\u{1b}[2J"),
    (
        "project ring --refuse-outside",
        "y0,y1\n1,2\n9,0\n",
        1,
        "row 2: y0 = 9.000 is not in",
    ),
    ("project ring --delimiter \"", "", 2, "separates nothing"),
    ("train twins.csv", "", 1, "two columns `a`"),
    ("train twins.csv --y a", "", 1, "two columns `a`"),
    ("train open.csv", "", 1, "line 3 is never closed"),
    ("train semicolons.csv", "", 1, "semicolon"),
    ("certify ring --inputs open.csv", "", 1, "never closed"),
    // Sets that cannot be learned as they are written.
    ("train thin.toml -o m", "", 1, "no inside"),
    ("train far.toml -o m", "", 1, "single precision"),
    ("train huge.toml -o m", "", 1, "single precision"),
    // Problems and solvers.
    ("solve solver x.csv -o x.csv --force", "", 1, "is an input"),
    ("solve solver x.csv -o solver --force", "", 1, "is an input"),
    (
        "solve solver x.csv --problem plants.toml -o plants.toml --force",
        "",
        1,
        "is an input",
    ),
    (
        "train dispatch.toml -o dispatch.npz --force",
        "",
        1,
        "is an input",
    ),
    ("solve ring x.csv", "", 1, "a projector and no solver"),
    ("project solver in.csv", "", 1, "a solver and no projector"),
    ("plot solver", "", 1, "a solver and no projector"),
    ("export solver --c m", "", 1, "a solver and no projector"),
    ("solve solver", "demand\n1e400\n", 1, "not finite"),
    ("solve solver", "demand\n1e308\n", 1, "maybe-infeasible"),
    (
        "solve solver",
        "demand\n\"1\n2\n",
        1,
        "line 2 is never closed",
    ),
    (
        "solve solver x.csv --problem set.toml",
        "",
        2,
        "not a problem file",
    ),
    (
        "certify solver --confidence 0.5",
        "",
        2,
        "is for projectors",
    ),
    (
        "certify solver --samples 99999999999999",
        "",
        1,
        "choose at most",
    ),
    (
        "train plants.toml -o m --samples 99999999999999",
        "",
        1,
        "choose at most",
    ),
    (
        "train plants.toml -o m --setting labels=99999999999999",
        "",
        1,
        "choose a value from 2",
    ),
    (
        "train plants.toml -o m --setting labels=1",
        "",
        1,
        "choose a value from 2",
    ),
    (
        "train plants.toml -o m --setting goal=-1",
        "",
        1,
        "out of range",
    ),
    (
        "train plants.toml -o m --setting max_steps=0",
        "",
        1,
        "from 1 to 1000",
    ),
    (
        "train nowhere.toml --setting labels=9",
        "",
        2,
        "file not found",
    ),
    // Checkpoints of PyTorch.
    (
        "import network set.toml -o set.toml --force",
        "",
        1,
        "is an input",
    ),
    ("import network -o network --force", "", 1, "is an input"),
    ("import normed -o m", "", 1, "`encoder.1.weight`"),
    ("import in.csv -o m", "", 1, "save_file"),
    // Options out of all bounds.
    ("export ring --onnx -", "", 1, "standard output"),
    ("sets --threads 5000", "", 2, "at most"),
    ("sets --threads 0", "", 2, "at least 1"),
];

#[test]
fn what_would_lose_or_fool_is_refused() {
    let folder = folder();
    let files = [
        ("in.csv", "y0,y1\n3,0\n"),
        ("old.csv", "precious"),
        ("old.svg", "precious"),
        ("old.toml", "width = 8\n"),
        ("twins.csv", "a,a,label\n1,2,1\n3,4,0\n"),
        ("open.csv", "y0,y1,label\n1,2,1\n\"3,4,0\n5,6,1\n"),
        ("semicolons.csv", "a;b;label\n1;2;1\n"),
        ("labels.csv", "a,label\n1,1\n2,0\n"),
        ("set.toml", SET),
        ("thin.toml", THIN),
        ("far.toml", FAR),
        ("huge.toml", &FAR.replace("1e9, 1000000001", "0, 1e39")),
        ("plants.toml", PLANTS),
        ("x.csv", "demand\n2\n"),
        ("plain.log.jsonl", "width = 8\n"),
    ];
    for (name, text) in files {
        write(folder.path(), name, text);
    }
    let at = |name: &str| folder.path().join(name);
    for name in ["dispatch.toml", "dispatch.npz"] {
        let texts = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../fabproj/tests/library/set_texts"
        );
        std::fs::copy(format!("{texts}/{name}"), at(name)).unwrap();
    }
    let problem = Problem::from_toml(PLANTS).unwrap();
    let solver = fabproj::solve::train(&problem, &SolveSettings::default());
    solver.unwrap().save(at("solver")).unwrap();
    std::fs::write(at("network"), network(&[])).unwrap();
    std::fs::write(at("normed"), network(&["encoder.1.weight"])).unwrap();
    let before = contents(folder.path());
    for (command, input, code, part) in CASES {
        let ran = run_with_input(folder.path(), &words(command), input);
        assert_eq!(ran.code, Some(*code), "{command}: {}", ran.stderr);
        assert!(ran.stderr.contains("error: "), "{command}: {}", ran.stderr);
        assert!(ran.stderr.contains(part), "{command}: {}", ran.stderr);
        assert!(!ran.stderr.contains(['\u{1b}', '\u{7}']), "{command}");
        assert!(ran.stderr.len() < 3000, "{command}: {}", ran.stderr.len());
        assert!(!ran.stdout.contains("null"), "{command}: {}", ran.stdout);
        remove_logs(folder.path());
        assert!(
            contents(folder.path()) == before,
            "{command} changed a file"
        );
    }
}

/// A training that has begun leaves its log, and its checkpoints to resume from.
fn remove_logs(folder: &std::path::Path) {
    let _ = std::fs::remove_file(folder.join("m.log.jsonl"));
    let _ = std::fs::remove_dir_all(folder.join("m.checkpoint"));
}

/// A state dict of networks of width one, and further tensors of one number.
fn network(more: &[&str]) -> Vec<u8> {
    let own = [
        ("encoder.0.weight", 2),
        ("encoder.0.bias", 1),
        ("decoders.0.0.weight", 2),
        ("decoders.0.0.bias", 2),
    ];
    let all = own.into_iter().chain(more.iter().map(|name| (*name, 1)));
    let (mut header, mut numbers) = (serde_json::Map::new(), 0);
    for (name, count) in all {
        let shape = match name {
            "encoder.0.weight" => vec![1, 2],
            "decoders.0.0.weight" => vec![2, 1],
            _ => vec![count],
        };
        let offsets = [4 * numbers, 4 * (numbers + count)];
        let entry = serde_json::json!({ "dtype": "F32", "shape": shape, "data_offsets": offsets });
        header.insert(name.to_owned(), entry);
        numbers += count;
    }
    let header = serde_json::Value::Object(header).to_string();
    let length = (header.len() as u64).to_le_bytes();
    [&length[..], header.as_bytes(), &vec![0; 4 * numbers]].concat()
}

/// Two plants that meet a demand.
const PLANTS: &str = r#"
name = "plants"
y = ["p1", "p2"]
bounds = { p1 = [0, 5], p2 = [0, 5] }
x = ["demand"]
x_bounds = { demand = [1, 6] }
[objective]
minimise = "0.1*p1^2 + 2*p1 + 0.2*p2^2"
[[constraint]]
expr = "p1 + p2 >= demand"
"#;

const SET: &str = r#"
y = ["a", "b"]
bounds = { a = [-2, 2], b = [-2, 2] }
[[constraint]]
expr = "norm(a, b) <= 1"
"#;

/// An equality in disguise: a set of measure zero.
const THIN: &str = r#"
y = ["a", "b"]
bounds = { a = [-2, 2], b = [-2, 2] }
[[constraint]]
expr = "abs(a - b) <= 0"
"#;

/// Between these bounds single precision has no number.
const FAR: &str = r#"
y = ["a", "b"]
bounds = { a = [1e9, 1000000001], b = [-2, 2] }
[[constraint]]
expr = "a + b <= 1000000000.5"
"#;
