//! The report: tables, learning curves, and the front of reward against cost.

mod figures;
mod groups;
mod picture;
mod published;
mod tables;

use std::path::{Path, PathBuf};

use serde::Serialize;

pub use self::picture::picture;

use self::groups::{Group, groups};
use self::published::{Published, published};
use self::tables::Table;
use crate::disk::write_atomically;
use crate::error::{Result, RlError};
use crate::store::Store;

/// The page's template.
const TEMPLATE: &str = include_str!("page.html");

/// The page.
#[derive(Serialize)]
struct Page<'a> {
    sections: &'a [Section],
}

/// One task's part of the page.
#[derive(Serialize)]
struct Section {
    task: String,
    tables: Vec<Table>,
    legend: Vec<Legend>,
    figures: Vec<Figure>,
}

/// A method's colour.
#[derive(Serialize)]
struct Legend {
    number: usize,
    label: String,
    hue: &'static str,
}

/// A figure with its caption.
#[derive(Serialize)]
struct Figure {
    svg: String,
    caption: &'static str,
}

/// Writes `rl.html`, `rl.md` and `rl.csv` into a folder, and returns their paths.
///
/// # Errors
/// If the store is empty, or a file cannot be read or written.
pub fn write(store: &Store, folder: &Path) -> Result<Vec<PathBuf>> {
    let groups = groups(&store.runs()?);
    if groups.is_empty() {
        let what = "it holds no finished run; `fab-paper rl train` makes one";
        return Err(RlError::damaged(store.folder(), what));
    }
    let sections: Vec<Section> = groups
        .chunk_by(|a, b| a.task == b.task)
        .map(section)
        .collect();
    let page = render(&sections).map_err(|error| RlError::damaged("page.html", error))?;
    let files = [
        ("rl.html", page),
        ("rl.md", tables::markdown(&sections)),
        ("rl.csv", tables::csv(&groups)),
    ];
    let mut paths = Vec::new();
    for (name, contents) in files {
        let path = folder.join(name);
        write_atomically(&path, contents.as_bytes())?;
        paths.push(path);
    }
    Ok(paths)
}

fn section(groups: &[Group]) -> Section {
    let task = groups[0].task.clone();
    let published = published(&task);
    let legend = groups.iter().enumerate().map(|(index, group)| Legend {
        number: index + 1,
        label: group.label.clone(),
        hue: figures::hue(index),
    });
    let curves = figures::curves(groups).map(|svg| Figure {
        svg,
        caption: "Learning curves: mean over the training seeds, and their range.",
    });
    let front = figures::front(groups, &published).map(|svg| Figure {
        svg,
        caption: "Evaluated policies (filled, numbered) and published figures (hollow, with letters). A line joins the thresholds of one \
                  guard. Up and left is better.",
    });
    Section {
        tables: tables::tables(groups, &published),
        legend: legend.collect(),
        figures: curves.into_iter().chain(front).collect(),
        task,
    }
}

fn render(sections: &[Section]) -> std::result::Result<String, minijinja::Error> {
    let mut environment = minijinja::Environment::new();
    // The ending makes the engine escape what it inserts.
    environment.add_template("page.html", TEMPLATE)?;
    let page = minijinja::Value::from(minijinja::value::Serde(Page { sections }));
    environment.get_template("page.html")?.render(page)
}
