//! The report: every table of the paper with our figures beside the published ones.

mod fair;
mod figures;
mod labels;
mod paper;
mod projectors;
mod results;
mod scale;
mod speed;
mod text;
mod view;

use std::path::{Path, PathBuf};

use fabproj::support::write_atomically;

pub use self::results::{Part, Results};
pub use self::scale::{HEADER as SCALE_HEADER, ScaleRow, rows as scale_rows};
use self::view::{Page, Section};
use crate::method::Group;
use crate::published::{PaperTables, ReleasedRuns};
use crate::store::{RunRecord, Store};
use crate::table::{Table, tables};
use crate::weight_search::tuned_weights;
use crate::{PRINTED_SHELLS, SETS, StudyError, StudySet};

/// The page's template.
const TEMPLATE: &str = include_str!("page.html");

/// The title of the Markdown files.
const TITLE: &str = "The paper's optimization study";

/// How to read the tables of the Markdown files.
const NOTE: &str = "True gap: f(y) − f* over feasible answers, the mean and the largest. Paper gap: |f(y) − f(y_PGD)| \
     over all answers; an exact solver's is not zero. `tables.md` has every method on every problem, `study.html` \
     the figures too, `study.csv` more columns.";

/// Writes `study.html`, `study.md`, `tables.md`, `study.tex` and `study.csv` into a folder, and
/// `tuned_weights.csv` if weights were searched, `scale.md` and `scale.csv` if table `scale` was run; their paths
/// are returned. With the file of `cargo xtask bench --json` there is a section on speed.
///
/// # Errors
/// [`StudyError`] when the store has no results or a file cannot be read or written.
pub fn write(
    store: &Store,
    speed: Option<&Path>,
    folder: &Path,
) -> Result<Vec<PathBuf>, StudyError> {
    let scale = store.scales()?;
    let mut files = Vec::new();
    if let Some(page) = scale::page(&scale) {
        let title = "Problems at the sizes that the field works with";
        files.push(("scale.md", text::markdown(title, scale::NOTE, &page, false)));
        files.push(("scale.csv", scale::csv(&scale)));
    }
    match Results::gather(store) {
        Err(StudyError::NoResults { .. }) if !files.is_empty() => {}
        results => files.extend(study(&results?, speed, store)?),
    }
    std::fs::create_dir_all(folder).map_err(|source| StudyError::Disk {
        action: "write",
        path: folder.to_owned(),
        source,
    })?;
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

/// The files of the paper's tables.
fn study(
    results: &Results,
    speed: Option<&Path>,
    store: &Store,
) -> Result<Vec<(&'static str, String)>, StudyError> {
    let records: Vec<RunRecord> = results.records().cloned().collect();
    let tables = tables(&records)?;
    let page = page(results, &records, &tables, speed, store)?;
    let csv = text::csv(&tables, &PaperTables::load(), &ReleasedRuns::load());
    let mut files = vec![
        ("study.html", render(&page)?),
        ("study.md", text::markdown(TITLE, NOTE, &page, false)),
        ("tables.md", text::markdown(TITLE, NOTE, &page, true)),
        ("study.tex", text::latex(&page)),
        ("study.csv", csv),
    ];
    if let Some(weights) = tuned_weights(store)? {
        files.push(("tuned_weights.csv", weights));
    }
    Ok(files)
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
        .chain(PRINTED_SHELLS)
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
    section.add(figures::gap_against_time(&main));
    section.add(figures::gap_distributions(&main));
    let mut sections = vec![section, paper::agreement(tables, &paper)];
    for group in Group::ALL {
        let parts = results.parts.iter().filter(|part| part.group == group);
        let runs: Vec<String> = parts.map(Part::description).collect();
        let (of_group, wins) = match group {
            Group::Fair => fair::compare(tables),
            _ => (of_group(group).cloned().collect(), String::new()),
        };
        let (title, note) = view::heading(group);
        let mut section = Section::new(title, &format!("{note}{wins} {}", runs.join(" ")));
        section.long = true;
        section
            .tables
            .extend(of_group.iter().flat_map(view::tables));
        if !section.tables.is_empty() {
            sections.push(section);
        }
    }
    sections.push(projectors::section(records, store)?);
    sections.push(paper::beside(tables, &paper, &ReleasedRuns::load()));
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
    sections.retain(|section| !section.tables.is_empty() || !section.figures.is_empty());
    Ok(Page {
        facts: view::facts(results),
        sections,
    })
}
