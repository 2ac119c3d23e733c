//! The report: every table of the paper with our figures beside the published ones.

mod fair;
mod figures;
mod results;
mod speed;
mod svg;
mod text;
mod view;

use std::path::{Path, PathBuf};

use fabproj::support::write_atomically;

pub use self::results::{Part, Results};
use self::view::{Page, Section};
use crate::method::Group;
use crate::published::PaperTables;
use crate::store::{RunRecord, Store};
use crate::table::{Table, tables};
use crate::weight_search::tuned_weights;
use crate::{SETS, StudyError, StudySet};

/// The page's template.
const TEMPLATE: &str = include_str!("page.html");

/// Writes `study.html`, `study.md`, `study.tex` and `study.csv` into a folder, and `tuned_weights.csv` if
/// weights were searched; their paths are returned. With the file of `cargo xtask bench --json` there is a
/// section on speed.
///
/// # Errors
/// [`StudyError`] when the store has no results or a file cannot be read or written.
pub fn write(
    store: &Store,
    speed: Option<&Path>,
    folder: &Path,
) -> Result<Vec<PathBuf>, StudyError> {
    let results = Results::gather(store)?;
    let records: Vec<RunRecord> = results.records().cloned().collect();
    let tables = tables(&records)?;
    let page = page(&results, &records, &tables, speed, store)?;
    std::fs::create_dir_all(folder).map_err(|source| StudyError::Disk {
        action: "write",
        path: folder.to_owned(),
        source,
    })?;
    let html = render(&page)?;
    let mut files = vec![
        ("study.html", html),
        ("study.md", text::markdown(&page)),
        ("study.tex", text::latex(&page)),
        ("study.csv", text::csv(&tables, &PaperTables::load())),
    ];
    if let Some(weights) = tuned_weights(store)? {
        files.push(("tuned_weights.csv", weights));
    }
    let mut paths = Vec::new();
    for (name, contents) in files {
        let path = folder.join(name);
        write_atomically(&path, contents.as_bytes()).map_err(|source| StudyError::Disk {
            action: "write",
            path: path.clone(),
            source,
        })?;
        paths.push(path);
    }
    Ok(paths)
}

fn render(page: &Page) -> Result<String, StudyError> {
    let mut environment = minijinja::Environment::new();
    let template = |error: minijinja::Error| StudyError::Template(error.to_string());
    // The ending makes the engine escape what it inserts.
    environment
        .add_template("page.html", TEMPLATE)
        .map_err(template)?;
    let page = minijinja::Value::from(minijinja::value::Serde(page));
    let rendered = environment.get_template("page.html").map_err(template)?;
    rendered.render(page).map_err(template)
}

fn page(
    results: &Results,
    records: &[RunRecord],
    tables: &[Table],
    speed: Option<&Path>,
    store: &Store,
) -> Result<Page, StudyError> {
    let paper = PaperTables::load();
    let names: Vec<&str> = SETS
        .into_iter()
        .filter(|set| records.iter().any(|record| record.key.set == *set))
        .collect();
    let of_group = |group: Group| tables.iter().filter(move |table| table.group == group);
    let main: Vec<Table> = of_group(Group::Main).cloned().collect();
    let mut section = Section::new("Overview", "");
    let overview = view::overview(&main);
    if !overview.rows.is_empty() {
        section.note = view::OVERVIEW_NOTE.to_owned();
        section.tables.push(overview);
    }
    section.add(figures::sets(&names)?);
    section.add(figures::latency(&main));
    let mut sections = vec![section];
    for group in Group::ALL {
        let parts = results.parts.iter().filter(|part| part.group == group);
        let runs: Vec<String> = parts.map(Part::description).collect();
        let (of_group, wins) = match group {
            Group::Fair => fair::compare(tables),
            _ => (of_group(group).cloned().collect(), String::new()),
        };
        let (title, note) = view::heading(group);
        let mut section = Section::new(title, &format!("{note}{wins} {}", runs.join(" ")));
        let views = of_group.iter().map(|table| view::table(table, &paper));
        section.tables.extend(views);
        if !section.tables.is_empty() {
            sections.push(section);
        }
    }
    if let Some(path) = speed {
        sections.push(speed::section(path, &main)?);
    }
    let mut section = Section::new("Projectors and training curves", "");
    for name in &names {
        let set = StudySet::open(name)?;
        if set.dim() == 2 {
            section.add(figures::variants(&set, records, store)?);
        }
    }
    section.add(figures::curves(records, "fabproj", &names));
    section.add(figures::curves(records, "fab", &names));
    sections.push(section);
    Ok(Page {
        facts: view::facts(results),
        sections,
    })
}
