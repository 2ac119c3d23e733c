//! The same seed and settings give the same model, bit for bit, from one version to the next. A change of
//! these checksums is a change of the recipe: raise `Settings::VERSION` and say why.

use std::sync::Arc;

use fabproj::core::kernel::{InstructionSet, Kernel};
use fabproj::core::{LatentSet, Network, Weights};
use fabproj::set::{Set, built_in, from_file};
use fabproj::{Session, Settings, train_with};

const CHECKSUMS: &str = include_str!("model_bits.txt");

#[test]
fn a_seed_gives_the_model_that_it_always_gave() {
    let column = match Kernel::detect().instruction_set() {
        InstructionSet::Avx512 => 1,
        InstructionSet::Avx2 => 2,
        other => {
            println!("no checksums are known for {other:?}");
            return;
        }
    };
    let mut wrong = Vec::new();
    for line in CHECKSUMS.lines().filter(|line| !line.starts_with('#')) {
        let words: Vec<&str> = line.split(' ').collect();
        let model = train_with(&set(words[0]), &short(), &Session::new()).expect("it trains");
        let found = checksum(model.weights());
        if found != words[column] {
            wrong.push(format!("{}: {found}, not {}", words[0], words[column]));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

fn set(name: &str) -> Arc<dyn Set> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../");
    match name.ends_with(".toml") {
        true => from_file(format!("{folder}{name}")).expect("a set file"),
        false => built_in(name).expect("built in"),
    }
}

fn short() -> Settings {
    Settings {
        seed: 101,
        phase_one: 20,
        phase_two: 120,
        gate_steps: 50,
        feasible: 2_000,
        infeasible: 2_000,
        boundary: 1_500,
        states: 60,
        samples: 1_000,
        anchors: 8,
        rounds: 2,
        ..Settings::quick()
    }
}

/// A digest of every number of the weights.
fn checksum(weights: &Weights) -> String {
    let mut hash = blake3::Hasher::new();
    let frames = [&weights.frame, &weights.x_frame].into_iter();
    for frame in frames.chain(weights.charts.iter().map(|chart| &chart.frame)) {
        numbers(&mut hash, &frame.centre);
        numbers(&mut hash, &frame.scale);
    }
    let outer = weights.gate.iter().chain(&weights.discriminator);
    outer.for_each(|one| network(&mut hash, one));
    for chart in &weights.charts {
        network(&mut hash, &chart.encoder);
        let decoders = chart.decoders.iter().chain(&chart.decoder_gate);
        decoders.for_each(|one| network(&mut hash, one));
        numbers(&mut hash, &latent(&chart.latent));
    }
    for anchor in &weights.anchors {
        numbers(&mut hash, &[anchor.chart as f32]);
        numbers(&mut hash, &anchor.latent);
        numbers(&mut hash, &anchor.x);
        numbers(&mut hash, &anchor.point);
    }
    hash.finalize().to_hex()[..16].to_string()
}

fn numbers(hash: &mut blake3::Hasher, values: &[f32]) {
    hash.update(&(values.len() as u64).to_le_bytes());
    for value in values {
        hash.update(&value.to_bits().to_le_bytes());
    }
}

fn network(hash: &mut blake3::Hasher, network: &Network) {
    for layer in &network.layers {
        numbers(hash, &layer.weights);
        numbers(hash, &layer.bias);
    }
    numbers(hash, network.skip.as_deref().unwrap_or(&[]));
}

fn latent(set: &LatentSet) -> Vec<f32> {
    match *set {
        LatentSet::Ball { radius, smooth } => vec![0.0, radius, smooth.unwrap_or(-1.0)],
        LatentSet::Shell {
            inner,
            outer,
            smooth,
        } => vec![1.0, inner, outer, smooth.unwrap_or(-1.0)],
        LatentSet::Box { half, smooth } => vec![2.0, half, smooth.unwrap_or(-1.0)],
        LatentSet::Simplex { .. } => vec![3.0],
    }
}
