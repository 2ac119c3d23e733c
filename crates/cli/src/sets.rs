//! `fabproj sets`: what is built in.

use anyhow::Result;
use fabproj::set::{Dimension, catalogue};
use serde_json::json;

use crate::options::Common;
use crate::show;

#[derive(clap::Args)]
#[command(after_help = "Example:\n  fabproj sets\n  fabproj sets --json | jq '.[].name'")]
pub struct Arguments {}

pub fn run(_arguments: &Arguments, common: &Common) -> Result<()> {
    if common.json {
        let entries = catalogue().iter().map(|entry| {
            let (least, most) = match entry.dim {
                Dimension::Between { least, most } => (least, most),
                Dimension::Exactly(dim) => (dim, dim),
                _ => (0, 0),
            };
            json!({
                "name": entry.name,
                "dimension": { "least": least, "most": most },
                "x_dimension": entry.x_dim,
                "summary": entry.summary,
            })
        });
        return show::print_json(&entries.collect::<Vec<_>>());
    }
    let rows: Vec<_> = catalogue()
        .iter()
        .map(|entry| {
            let x = match entry.x_dim {
                0 => "-".to_owned(),
                dim => dim.to_string(),
            };
            vec![
                entry.name.to_owned(),
                entry.dim.to_string(),
                x,
                entry.summary.to_owned(),
            ]
        })
        .collect();
    show::print(show::table(
        &["SET", "Y", "X", "WHAT IS FEASIBLE"],
        &rows,
        false,
    ))
}
