//! Model files: what is saved is loaded bit for bit, and nothing else is taken for one.

use std::error::Error;
use std::fs;
use std::path::Path;

use fabproj::core::RawOutcome;
use fabproj::core::{Activation, Anchor, Chart, Frame, LatentSet, Layer, Network, Weights};
use fabproj::set::{FnSet, built_in};
use fabproj::{FileError, Model};
use serde_json::json;

fn network(widths: &[usize], seed: u32, skip: Option<usize>) -> Network {
    let mut state = seed;
    let mut number = move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 24) as f32 - 0.5
    };
    let layers = widths.windows(2).map(|pair| Layer {
        inputs: pair[0],
        outputs: pair[1],
        weights: (0..pair[0] * pair[1]).map(|_| number()).collect(),
        bias: (0..pair[1]).map(|_| number()).collect(),
    });
    let layers = layers.collect();
    let outputs = widths[widths.len() - 1];
    Network {
        layers,
        hidden: Activation::Relu,
        output: Activation::Identity,
        skip: skip.map(|inputs| (0..inputs * outputs).map(|_| number()).collect()),
    }
}

/// Two charts of different latent dimensions, two decoders, x, anchors: every kind of tensor.
fn weights() -> Weights {
    let frame = |dim: usize| Frame {
        centre: vec![0.1; dim],
        scale: vec![1.5; dim],
    };
    let chart = |latent: usize, seed: u32| Chart {
        frame: frame(2),
        encoder: network(&[4, 8, latent], seed, Some(2)),
        latent: LatentSet::Ball {
            radius: 0.3,
            smooth: Some(20.0),
        },
        decoders: vec![
            network(&[latent + 2, 8, 2], seed + 1, None),
            network(&[latent + 2, 2], 3, None),
        ],
        decoder_gate: Some(network(&[latent + 2, 4, 2], seed + 2, None)),
    };
    let anchor = |chart: usize, latent: usize| Anchor {
        chart,
        latent: vec![0.1; latent],
        x: vec![0.25, -0.5],
        point: vec![1.0, f32::MIN_POSITIVE],
    };
    Weights {
        dim: 2,
        x_dim: 2,
        frame: frame(2),
        x_frame: frame(2),
        gate: Some(network(&[4, 6, 2], 9, None)),
        charts: vec![chart(2, 10), chart(3, 20)],
        discriminator: Some(network(&[4, 5, 1], 30, None)),
        anchors: vec![anchor(1, 3), anchor(0, 2)],
        equations: None,
    }
}

fn example() -> Result<Model, Box<dyn Error>> {
    Ok(Model::new(weights(), &built_in("moving-obstacle")?)?)
}

#[test]
fn saving_and_loading_keeps_every_bit() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("model.safetensors");
    let file = example()?;
    file.save(&path)?;
    let loaded = Model::load(&path)?;
    assert_eq!(loaded, file);
    assert_eq!(loaded.to_bytes()?, fs::read(&path)?);
    assert_eq!(
        loaded.record().set_hash(),
        built_in("moving-obstacle")?.description().hash()
    );
    let (before, after) = (file.projector(), loaded.projector());
    let (y, outcome) = before.project(&[2.0, -1.0], &[0.5, 0.5])?;
    assert_ne!(outcome, RawOutcome::NotFinite);
    assert_eq!(after.project(&[2.0, -1.0], &[0.5, 0.5])?, (y, outcome));
    Ok(())
}

/// The layout that `docs/model-file.md` promises to other programs.
#[test]
fn any_safetensors_reader_finds_the_parts() -> Result<(), Box<dyn Error>> {
    let file = example()?;
    let bytes = file.to_bytes()?;
    let tensors = safetensors::SafeTensors::deserialize(&bytes)?;
    let weight = tensors.tensor("charts.0.encoder.layers.0.weight")?;
    assert_eq!(weight.dtype(), safetensors::Dtype::F32);
    assert_eq!(weight.shape(), [8, 4]);
    let first = f32::from_le_bytes(weight.data()[..4].try_into()?);
    assert_eq!(first, file.weights().charts[0].encoder.layers[0].weights[0]);
    assert_eq!(
        tensors.tensor("charts.0.encoder.skip.weight")?.shape(),
        [2, 2]
    );
    assert_eq!(
        tensors.tensor("charts.1.decoders.1.layers.0.bias")?.shape(),
        [2]
    );
    assert_eq!(
        tensors
            .tensor("charts.1.decoder_gate.layers.1.weight")?
            .shape(),
        [2, 4]
    );
    assert_eq!(tensors.tensor("charts.1.frame.scale")?.shape(), [2]);
    assert_eq!(tensors.tensor("gate.layers.0.weight")?.shape(), [6, 4]);
    assert_eq!(tensors.tensor("anchors.latent")?.shape(), [2, 3]);
    assert_eq!(
        tensors.tensor("anchors.chart")?.dtype(),
        safetensors::Dtype::U32
    );

    let (_, metadata) = safetensors::SafeTensors::read_metadata(&bytes)?;
    let entries = metadata.metadata().as_ref().ok_or("no metadata")?;
    assert_eq!(entries.len(), 1);
    let json: serde_json::Value = serde_json::from_str(&entries["fabproj"])?;
    assert_eq!(json["format"], 2);
    assert_eq!(json["charts"][1]["encoder"]["widths"], json!([4, 8, 3]));
    assert_eq!(json["charts"][0]["latent"]["kind"], "ball");
    assert_eq!(json["set"]["description"]["name"], "moving-obstacle");
    assert_eq!(json["names"], json!(["y0", "y1"]));
    Ok(())
}

fn load_error(path: &Path) -> String {
    Model::load(path).expect_err("not a model").to_string()
}

#[test]
fn other_files_are_named_for_what_they_are() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("model.safetensors");
    assert!(load_error(&path).contains("cannot read"));
    assert!(load_error(folder.path()).contains("cannot read"));
    let whole = example()?.to_bytes()?;
    let cases: [(&[u8], &str); 4] = [
        (b"", "empty or truncated"),
        (b"y0,y1\n0.1,0.2\n0.3,0.4\n", "header"),
        (&whole[..whole.len() - 1], "not a whole safetensors file"),
        (&whole[..100], "truncated"),
    ];
    for (bytes, reason) in cases {
        fs::write(&path, bytes)?;
        let message = load_error(&path);
        assert!(message.contains("is not a fabproj model"), "{message}");
        assert!(message.contains(reason), "{message}");
        assert!(message.contains("fabproj train"), "{message}");
    }
    Ok(())
}

#[test]
fn a_later_format_asks_for_an_update() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("model.safetensors");
    let bytes = example()?.to_bytes()?;
    let text = br#"\"format\":2"#;
    let place = bytes.windows(text.len()).position(|window| window == text);
    let mut later = bytes.clone();
    later[place.ok_or("the version")? + text.len() - 1] = b'7';
    fs::write(&path, later)?;
    let error = Model::load(&path).expect_err("a later version");
    assert!(matches!(error, FileError::TooNew { .. }));
    assert!(error.to_string().contains("format version 7"), "{error}");
    Ok(())
}

#[test]
fn a_region_without_end_is_not_recorded() -> Result<(), Box<dyn Error>> {
    let everything = [(f64::NEG_INFINITY, f64::INFINITY); 2];
    let plane = FnSet::new("plane", everything, |_, _| true);
    let latent = LatentSet::Ball {
        radius: 1.0,
        smooth: None,
    };
    let model = Model::new(Weights::identity(2, latent), &plane)?;
    assert!(model.record().bounds.is_empty());
    assert_eq!(Model::from_bytes(&model.to_bytes()?)?, model);
    Ok(())
}

#[test]
fn a_failed_save_leaves_the_old_file() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("model.safetensors");
    example()?.save(&path)?;
    let before = fs::read(&path)?;

    let mut broken = weights();
    broken.charts[0].encoder.layers[0].bias[0] = f32::NAN;
    let error = Model::new(broken, &built_in("moving-obstacle")?).expect_err("NaN does not run");
    assert!(
        error
            .to_string()
            .contains("charts[0].encoder.layers[0].bias"),
        "{error}"
    );

    let file = example()?;
    let nowhere = path.join("below-a-file");
    let error = file.save(&nowhere).expect_err("a file is no folder");
    assert!(matches!(error, FileError::Write { .. }), "{error}");
    assert_eq!(fs::read(&path)?, before);

    let taken = folder.path().join("taken");
    fs::create_dir(&taken)?;
    assert!(matches!(file.save(&taken), Err(FileError::Write { .. })));
    assert_eq!(
        fs::read_dir(folder.path())?.count(),
        2,
        "no temporary files are left"
    );
    Ok(())
}

/// One flipped bit anywhere, and a set whose text was exchanged, are refused.
#[test]
fn damaged_and_edited_files_are_refused() -> Result<(), Box<dyn Error>> {
    let whole = example()?.to_bytes()?;
    for place in 0..whole.len() {
        let mut flipped = whole.clone();
        flipped[place] ^= 1 << (place % 8);
        assert!(Model::from_bytes(&flipped).is_err(), "byte {place}");
    }
    Ok(())
}
