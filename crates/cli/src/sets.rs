//! `fabproj sets`: what is built in.

use anyhow::Result;
use fabproj::set::Entry;
use serde_json::json;

use crate::options::Common;
use crate::show;

#[derive(clap::Args)]
#[command(after_help = "Example:\n  fabproj sets\n  fabproj sets --json | jq '.[].name'")]
pub struct Arguments {}

pub fn run(_arguments: &Arguments, common: &Common) -> Result<()> {
    if common.json {
        let entries = Entry::ALL.iter().map(|entry| {
            let (least, most) = entry.dims;
            json!({
                "name": entry.name,
                "dimension": { "least": least, "most": most },
                "x_dimension": entry.x_dim,
                "summary": entry.summary,
            })
        });
        return show::print_json(&entries.collect::<Vec<_>>());
    }
    let rows: Vec<_> = Entry::ALL
        .iter()
        .map(|entry| {
            let y = match entry.dims {
                (least, most) if least == most => least.to_string(),
                (least, most) => format!("{least} to {most}"),
            };
            let x = match entry.x_dim {
                0 => "-".to_owned(),
                dim => dim.to_string(),
            };
            vec![entry.name.to_owned(), y, x, entry.summary.to_owned()]
        })
        .collect();
    show::print(show::table(
        &["SET", "Y", "X", "WHAT IS FEASIBLE"],
        &rows,
        false,
    ))
}
