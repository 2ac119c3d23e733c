//! The report: every table of the paper with our figures beside the published ones.

mod figures;
mod svg;
mod text;
mod view;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use fabproj::file::write_atomically;

use crate::method::{Group, find};
use crate::plan::Run;
use crate::protocol::Protocol;
use crate::published::PaperTables;
use crate::store::{RunRecord, Store};
use crate::table::tables;
use crate::weights::tuned_weights;
use crate::{Effort, SETS, StudyError, StudySet};

use self::view::{Page, Section};

/// The page's template.
const TEMPLATE: &str = include_str!("page.html");

/// Runs of a store that belong together: one effort, one protocol.
pub struct Results {
    /// The runs.
    pub records: Vec<RunRecord>,
    /// Whether the effort is the quick one.
    pub quick: bool,
    /// The problems.
    pub protocol: Protocol,
    /// Runs of other efforts, protocols or versions of the study, which are left out.
    pub left_out: usize,
}

impl Results {
    /// The largest group of runs in the store that belong together.
    ///
    /// # Errors
    /// [`StudyError`] when the store cannot be read or has no results.
    pub fn gather(store: &Store) -> Result<Self, StudyError> {
        let (all, _) = store.runs()?;
        let mut groups: BTreeMap<(bool, u64, usize), Vec<RunRecord>> = BTreeMap::new();
        let count = all.len();
        for record in all {
            let Protocol { draws, problems } = record.key.protocol;
            if let Some(quick) = effort_of(&record)? {
                groups
                    .entry((quick, draws, problems))
                    .or_default()
                    .push(record);
            }
        }
        let largest = groups.into_iter().max_by_key(|(_, records)| records.len());
        let Some(((quick, draws, problems), records)) = largest else {
            return Err(StudyError::NoResults {
                path: store.folder().to_owned(),
            });
        };
        Ok(Self {
            left_out: count - records.len(),
            records,
            quick,
            protocol: Protocol { draws, problems },
        })
    }

    fn seeds(&self) -> BTreeSet<u64> {
        self.records.iter().map(|record| record.key.seed).collect()
    }

    /// The command that makes these results.
    pub fn command(&self) -> String {
        let mut command = "fabproj study run".to_owned();
        if self.quick {
            command.push_str(" --quick");
        }
        let methods = self
            .records
            .iter()
            .filter_map(|record| find(&record.key.method).ok());
        let groups: BTreeSet<Group> = methods.map(|entry| entry.group).collect();
        let groups: Vec<&str> = groups.into_iter().map(Group::name).collect();
        command.push_str(&format!(" --tables {}", groups.join(",")));
        let seeds: Vec<String> = self.seeds().iter().map(u64::to_string).collect();
        command.push_str(&format!(" --seeds {}", seeds.join(",")));
        if self.protocol != Protocol::RELEASED {
            let Protocol { draws, problems } = self.protocol;
            command.push_str(&format!(" --draws {draws} --problems {problems}"));
        }
        command
    }
}

/// Whether a record was made with the quick effort (true), the full one (false), or neither.
fn effort_of(record: &RunRecord) -> Result<Option<bool>, StudyError> {
    let (Ok(entry), Ok(set)) = (find(&record.key.method), StudySet::open(&record.key.set)) else {
        return Ok(None);
    };
    let run = Run {
        set,
        objective: record.key.objective,
        entry,
        seed: record.key.seed,
    };
    let matches = |effort: Effort| run.key(&effort, record.key.protocol) == record.key;
    // What does not train is the same in both.
    Ok(if matches(Effort::quick()) {
        Some(true)
    } else {
        matches(Effort::full()).then_some(false)
    })
}

/// Writes `study.html`, `study.md`, `study.tex` and `study.csv` into a folder, and `tuned_weights.csv` if
/// weights were searched; their paths are returned.
///
/// # Errors
/// [`StudyError`] when the store has no results or a file cannot be written.
pub fn write(store: &Store, folder: &Path) -> Result<Vec<PathBuf>, StudyError> {
    let results = Results::gather(store)?;
    let page = page(&results, store)?;
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
        (
            "study.csv",
            text::csv(&tables(&results.records)?, &PaperTables::load()),
        ),
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

fn page(results: &Results, store: &Store) -> Result<Page, StudyError> {
    let paper = PaperTables::load();
    let tables = tables(&results.records)?;
    let names: Vec<&str> = SETS
        .into_iter()
        .filter(|set| results.records.iter().any(|record| record.key.set == *set))
        .collect();
    let main: Vec<_> = tables
        .iter()
        .filter(|table| table.group == Group::Main)
        .cloned()
        .collect();
    let mut sections = Vec::new();
    let mut section = Section::new("Overview", "");
    let overview = view::overview(&main);
    if !overview.rows.is_empty() {
        section.note = view::OVERVIEW_NOTE.to_owned();
        section.tables.push(overview);
    }
    section.add(figures::sets(&names)?);
    section.add(figures::latency(&main));
    sections.push(section);
    for group in Group::ALL {
        let (title, note) = view::heading(group);
        let mut section = Section::new(title, note);
        for table in tables.iter().filter(|table| table.group == group) {
            section.tables.push(view::table(table, &paper));
        }
        if !section.tables.is_empty() {
            sections.push(section);
        }
    }
    let mut section = Section::new("Projectors and training curves", "");
    for name in &names {
        let set = StudySet::open(name)?;
        if set.dim() == 2 {
            section.add(figures::variants(&set, &results.records, store)?);
        }
    }
    section.add(figures::curves(&results.records, "fabproj", &names));
    section.add(figures::curves(&results.records, "fab", &names));
    sections.push(section);
    Ok(Page {
        facts: view::facts(results),
        sections,
    })
}
