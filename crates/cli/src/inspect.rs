//! `fabproj inspect`: what a model file holds.

use std::path::PathBuf;

use anyhow::{Context, Result};
use fabproj::certify::Certificate;
use fabproj::core::{Activation, LatentSet, Network};
use serde_json::{Value, json};

use crate::certify;
use crate::opened::Opened;
use crate::options::Common;
use crate::show::{self, bytes, count};
use crate::train::labels;

#[derive(clap::Args)]
#[command(after_help = "Example:\n  fabproj inspect moons.safetensors\n  \
                        fabproj inspect moons.safetensors --json | jq .certificate")]
pub struct Arguments {
    /// The model file
    model: PathBuf,
}

pub fn run(arguments: &Arguments, common: &Common) -> Result<()> {
    let opened = Opened::load(&arguments.model)?;
    let size = std::fs::metadata(&opened.path)
        .with_context(|| format!("cannot read {}", opened.path.display()))?
        .len();
    if common.json {
        return show::print_json(&json(&opened, size)?);
    }
    show::print(text(&opened, size))
}

/// Every network of the model with its name.
fn networks(opened: &Opened) -> Vec<(String, &Network)> {
    let model = &opened.file.model;
    let mut networks = Vec::new();
    networks.extend(
        model
            .gate
            .iter()
            .map(|gate| ("chart gate".to_owned(), gate)),
    );
    for (index, chart) in model.charts.iter().enumerate() {
        let chart_name = |part: &str| match model.charts.len() {
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
    let discriminator = model.discriminator.iter();
    networks.extend(discriminator.map(|network| ("discriminator".to_owned(), network)));
    networks
}

fn parameters(network: &Network) -> usize {
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

fn text(opened: &Opened, size: u64) -> String {
    let (record, model) = (&opened.file.record, &opened.file.model);
    let row = |name: &str, value: String| (name.to_owned(), value);
    let charts = model.charts.iter().map(|chart| {
        let decoders = match chart.decoders.len() {
            1 => String::new(),
            several => format!(", {several} decoders"),
        };
        format!(
            "{}, {} dimensions{decoders}",
            latent(&chart.latent),
            chart.latent_dim()
        )
    });
    let total = networks(opened)
        .iter()
        .map(|(_, network)| parameters(network))
        .sum();
    let mut rows = vec![
        row(
            "file",
            format!("{}, {}", opened.path.display(), bytes(size)),
        ),
        row("set", opened.set_name()),
        row("set hash", record.set.hash.clone()),
        row("y", record.names.join(", ")),
    ];
    if model.parameter_dim > 0 {
        rows.push(row("x", record.x_names.join(", ")));
    }
    let constraints = constraints(opened);
    if !constraints.is_empty() {
        rows.push(row("constraints", constraints.join("\n")));
    }
    if let Some(lift) = &model.lift {
        let (all, left) = (lift.dim(), lift.reduced_dim());
        let equations = format!(
            "{} hold exactly: {left} of {all} coordinates are left",
            all - left
        );
        rows.push(row("equalities", equations));
    }
    rows.extend([
        row("latent sets", charts.collect::<Vec<_>>().join("\n")),
        row("parameters", count(total)),
        row("anchors", count(model.anchors.len())),
        row(
            "preset, seed",
            format!("{}, {}", record.preset, record.seed),
        ),
        row("written by", format!("fabproj {}", record.fabproj)),
    ]);
    if let Some(learned) = &record.learned {
        rows.push(row("labelled points", labels::points(learned)));
        rows.push(row("guard", labels::promise(&learned.calibration)));
    }
    if !record.training.is_null() {
        rows.push(row("training", flat(&record.training)));
    }
    let lines = networks(opened).into_iter().map(|(name, network)| {
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
            count(parameters(network)),
        ]
    });
    let header = ["NETWORK", "WIDTHS", "ACTIVATIONS", "SKIP", "PARAMETERS"];
    let table = show::table(&header, &lines.collect::<Vec<_>>(), false);
    format!(
        "{}\n\n{table}\n\n{}",
        show::pairs(&rows),
        certified(&record.certificate)
    )
}

/// The names of the set's constraints, where it can be built and has such.
fn constraints(opened: &Opened) -> Vec<String> {
    opened
        .own_set()
        .map_or_else(|_| Vec::new(), |set| set.constraints())
}

fn certified(certificate: &Option<Value>) -> String {
    let Some(value) = certificate else {
        return "no certificate: `fabproj certify MODEL` makes one".to_owned();
    };
    match serde_json::from_value::<Certificate>(value.clone()) {
        Ok(certificate) => certify::text(&certificate),
        Err(_) => format!("certificate of another version of fabproj:\n{value:#}"),
    }
}

/// The plain fields of a JSON object, a line each; long ones are left to `--json`.
fn flat(value: &Value) -> String {
    const LONGEST: usize = 90;
    let Value::Object(fields) = value else {
        return value.to_string();
    };
    let lines = fields.iter().map(|(name, value)| {
        let text = match value {
            Value::String(text) => text.clone(),
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

fn json(opened: &Opened, size: u64) -> Result<Value> {
    let (record, model) = (&opened.file.record, &opened.file.model);
    let networks = networks(opened).into_iter().map(|(name, network)| {
        json!({
            "name": name,
            "widths": widths(network),
            "hidden": activation(network.hidden),
            "output": activation(network.output),
            "skip": network.skip.is_some(),
            "parameters": parameters(network),
        })
    });
    let charts = model.charts.iter().map(|chart| {
        Ok(json!({
            "latent": serde_json::to_value(chart.latent)?,
            "latent_dimension": chart.latent_dim(),
            "decoders": chart.decoders.len(),
        }))
    });
    let mut value = serde_json::to_value(record)?;
    let more = json!({
        "file": opened.path.display().to_string(),
        "bytes": size,
        "set_name": opened.set_name(),
        "dimension": model.dim,
        "parameter_dimension": model.parameter_dim,
        "equalities": model.lift.as_ref().map_or(0, |lift| lift.dim() - lift.reduced_dim()),
        "constraints": constraints(opened),
        "charts": charts.collect::<Result<Vec<_>>>()?,
        "networks": networks.collect::<Vec<_>>(),
        "anchors": model.anchors.len(),
    });
    if let (Value::Object(fields), Value::Object(more)) = (&mut value, more) {
        fields.extend(more);
    }
    Ok(value)
}
