//! `fabproj inspect`: what a model file holds.

use std::path::PathBuf;

use anyhow::{Context, Result};
use fabproj::core::{Activation, Chart, LatentSet, Network};
use fabproj::{Certificate, Model};
use serde_json::{Value, json};

use crate::certify;
use crate::find::{self, Loaded};
use crate::options::Common;
use crate::show::{self, bytes, count};
use crate::solve::record;
use crate::train::{self, labels};

#[derive(clap::Args)]
#[command(after_help = "Example:\n  fabproj inspect moons.safetensors\n  \
                        fabproj inspect moons.safetensors --json | jq .certificate")]
pub struct Arguments {
    /// The model file
    model: PathBuf,
}

pub fn run(arguments: &Arguments, common: &Common) -> Result<()> {
    let model = find::load(&arguments.model)?;
    let file = arguments.model.display().to_string();
    let size = std::fs::metadata(&arguments.model)
        .with_context(|| format!("cannot read {file}"))?
        .len();
    let model = match model {
        Loaded::Projector(model) => *model,
        Loaded::Solver(model) if common.json => {
            return show::print_json(&record::json(&model, &file, size)?);
        }
        Loaded::Solver(model) => return show::print(record::text(&model, &file, size)),
    };
    if common.json {
        return show::print_json(&json(&model, &file, size)?);
    }
    show::print(text(&model, &file, size)?)
}

/// Every network of the model with its name.
fn networks(model: &Model) -> Vec<(String, &Network)> {
    let weights = model.weights();
    let gate = weights.gate.iter();
    let mut networks: Vec<_> = gate.map(|gate| ("chart gate".to_owned(), gate)).collect();
    for (index, chart) in weights.charts.iter().enumerate() {
        let chart_name = |part: &str| match weights.charts.len() {
            1 => part.to_owned(),
            _ => format!("chart {index} {part}"),
        };
        networks.push((chart_name("encoder"), &chart.encoder));
        for (index, decoder) in chart.decoders.iter().enumerate() {
            let part = match chart.decoders.len() {
                1 => "decoder".to_owned(),
                _ => format!("decoder {index}"),
            };
            networks.push((chart_name(&part), decoder));
        }
        let gate = chart.decoder_gate.iter();
        networks.extend(gate.map(|gate| (chart_name("decoder gate"), gate)));
    }
    let discriminator = weights.discriminator.iter();
    networks.extend(discriminator.map(|network| ("discriminator".to_owned(), network)));
    networks
}

fn weights(network: &Network) -> usize {
    let layers = network
        .layers
        .iter()
        .map(|layer| layer.weights.len() + layer.bias.len());
    layers.sum::<usize>() + network.skip.as_ref().map_or(0, Vec::len)
}

fn widths(network: &Network) -> Vec<usize> {
    let outputs = network.layers.iter().map(|layer| layer.outputs);
    std::iter::once(network.inputs()).chain(outputs).collect()
}

fn activation(activation: Activation) -> &'static str {
    match activation {
        Activation::Identity => "identity",
        Activation::Relu => "relu",
        Activation::Tanh => "tanh",
        Activation::Silu => "silu",
    }
}

/// A latent set in words.
pub fn latent(set: &LatentSet) -> String {
    let smooth = |smooth: Option<f32>| match smooth {
        Some(sharpness) => format!(", smooth with sharpness {sharpness}"),
        None => String::new(),
    };
    match *set {
        LatentSet::Ball { radius, smooth: s } => format!("ball of radius {radius}{}", smooth(s)),
        LatentSet::Shell {
            inner,
            outer,
            smooth: s,
        } => {
            format!("shell from radius {inner} to {outer}{}", smooth(s))
        }
        LatentSet::Box { half, smooth: s } => format!("box of half side {half}{}", smooth(s)),
        LatentSet::Simplex { sharpness } => format!("simplex with sharpness {sharpness}"),
    }
}

/// How many equations hold in every output.
fn equations(model: &Model) -> usize {
    let equations = model.projector().equations();
    equations.map_or(0, |equations| equations.dim() - equations.reduced_dim())
}

fn charts(charts: &[Chart]) -> String {
    let lines = charts.iter().map(|chart| {
        let decoders = match chart.decoders.len() {
            1 => String::new(),
            several => format!(", {several} decoders"),
        };
        let dimensions = chart.encoder.outputs();
        format!(
            "{}, {dimensions} dimensions{decoders}",
            latent(&chart.latent)
        )
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// What a model holds, for a person.
pub fn text(model: &Model, file: &str, size: u64) -> Result<String> {
    let (record, projector) = (model.record(), model.projector());
    let row = |name: &str, value: String| (name.to_owned(), value);
    let mut rows = vec![
        row("file", format!("{file}, {}", bytes(size))),
        row("set", record.set().name()),
        row("set hash", record.set_hash().to_owned()),
        row("y", record.names.join(", ")),
    ];
    if projector.x_dim() > 0 {
        rows.push(row("x", record.x_names.join(", ")));
    }
    let constraints = constraints(model);
    if !constraints.is_empty() {
        rows.push(row("constraints", constraints.join("\n")));
    }
    if equations(model) > 0 {
        let (all, held) = (projector.dim(), equations(model));
        let text = format!(
            "{held} hold in every output; {} of {all} coordinates are free",
            all - held
        );
        rows.push(row("equations", text));
    }
    let networks = networks(model);
    let total = networks.iter().map(|(_, network)| weights(network)).sum();
    rows.extend([
        row("latent sets", charts(&model.weights().charts)),
        row("weights", count(total)),
        row("anchors", count(projector.anchors().len())),
        row(
            "recipe, seed",
            match record.recipe.as_str() {
                "" => "none: the weights were imported or given by a program".to_owned(),
                recipe => format!("{recipe}, {}", record.seed),
            },
        ),
        row("written by", format!("fabproj {}", record.fabproj)),
    ]);
    if let Some(learned) = record.learned() {
        rows.push(row("labelled points", labels::points(learned)));
        rows.push(row("guard", labels::promise(&learned.calibration)));
    }
    let training: Value = serde_json::from_str(&record.training_json())?;
    if !training.is_null() {
        if !model.met_goals() {
            rows.push(row("targets not reached", train::missed_targets(model)));
        }
        rows.push(row("training", flat(&training)));
    }
    let lines = networks.into_iter().map(|(name, network)| {
        let widths = widths(network)
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join("-");
        let skip = if network.skip.is_some() { "yes" } else { "" };
        let functions = [network.hidden, network.output].map(activation).join(", ");
        vec![
            name,
            widths,
            functions,
            skip.to_owned(),
            count(weights(network)),
        ]
    });
    let header = ["NETWORK", "WIDTHS", "ACTIVATIONS", "SKIP", "WEIGHTS"];
    let table = show::table(&header, &lines.collect::<Vec<_>>(), false);
    Ok(format!(
        "{}\n\n{table}\n\n{}",
        show::pairs(&rows),
        certified(model.certificate())
    ))
}

/// The names of the set's constraints, where it can be rebuilt and has such.
fn constraints(model: &Model) -> Vec<String> {
    model
        .set()
        .map_or_else(|_| Vec::new(), |set| set.constraints())
}

fn certified(certificate: Option<&Certificate>) -> String {
    certificate.map_or_else(
        || "no certificate; `fabproj certify MODEL` makes one".to_owned(),
        certify::text,
    )
}

/// The plain fields of a JSON object, a line each; long ones are left to `--json`.
fn flat(value: &Value) -> String {
    const LONGEST: usize = 90;
    let Value::Object(fields) = value else {
        return value.to_string();
    };
    // The row `goals` says whether a model was accepted.
    let fields = fields.iter().filter(|(name, _)| *name != "accepted");
    let lines = fields.map(|(name, value)| {
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Number(number) if number.is_f64() => {
                show::number(number.as_f64().unwrap_or_default())
            }
            value => value.to_string(),
        };
        let text = if text.len() > LONGEST {
            "see --json".to_owned()
        } else {
            text
        };
        format!("{}: {text}", name.replace('_', " "))
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// What a model holds, as JSON.
pub fn json(model: &Model, file: &str, size: u64) -> Result<Value> {
    let networks = networks(model).into_iter().map(|(name, network)| {
        json!({
            "name": name,
            "widths": widths(network),
            "hidden": activation(network.hidden),
            "output": activation(network.output),
            "skip": network.skip.is_some(),
            "weights": weights(network),
        })
    });
    let charts = model.weights().charts.iter().map(|chart| {
        json!({
            "latent": chart.latent,
            "latent_dimension": chart.encoder.outputs(),
            "decoders": chart.decoders.len(),
        })
    });
    let mut value = serde_json::to_value(model.record())?;
    let more = json!({
        "file": file,
        "bytes": size,
        "set_name": model.record().set().name(),
        "dimension": model.projector().dim(),
        "x_dimension": model.projector().x_dim(),
        "equations": equations(model),
        "constraints": constraints(model),
        "charts": charts.collect::<Vec<_>>(),
        "networks": networks.collect::<Vec<_>>(),
        "anchors": model.projector().anchors().len(),
    });
    if let (Value::Object(fields), Value::Object(more)) = (&mut value, more) {
        fields.extend(more);
    }
    Ok(value)
}
