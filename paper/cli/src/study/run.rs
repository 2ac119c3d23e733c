//! `fab-paper study run`: from a selection of methods and sets to results in a store.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::value_parser;
use fab_study::plan::{Outcome, Pending, Plan, Selection};
use fab_study::protocol::Protocol;
use fab_study::report::{SCALE_HEADER, scale_rows};
use fab_study::scale::ScaleRecord;
use fab_study::store::{Found, RunRecord, Store};
use fab_study::table::{Cell, Estimate, Table, tables};
use fab_study::{Context, Effort, Objective, StudyError};

use super::progress::Progress;
use fabproj_cli::failure::wrong_usage;
use fabproj_cli::interrupt::{self, stop_soon};
use fabproj_cli::options::{Common, count_up_to};
use fabproj_cli::show;

#[derive(clap::Args)]
#[command(
    after_help = "The store, a folder of small files, keeps the results: after Ctrl-C (exit code 130), a crash or a \
                  full disk the same command resumes the study. Several processes may work on one store.\n\n\
                  Example:\n  fab-paper study run --quick\n  \
                  fab-paper study run --sets two-moons,star-shaped --methods fab,fabproj --seeds 101,102"
)]
pub struct Arguments {
    #[command(flatten)]
    chosen: Chosen,
}

pub fn run(arguments: &Arguments, common: &Common) -> Result<ExitCode> {
    let chosen = &arguments.chosen;
    let plan = chosen.plan(common)?;
    let store = Store::open(&chosen.store)?;
    let progress = Progress::new(common.quiet);
    let context = Context::in_memory(chosen.effort())
        .with_protocol(chosen.protocol())
        .with_store(&store)
        .with_observer(|event| progress.show(event))
        .with_stop(stop_soon(|| STOPPED.to_owned())?);
    let threads = rayon::current_num_threads();
    let pending = Pending::of(&plan, &context, &store)?;
    progress.announce(&plan, &pending, threads);
    let outcome = pending.execute(threads);
    progress.finish();
    match outcome {
        Ok(outcome) => report(&plan, &context, &store, &outcome, common),
        Err(StudyError::Stopped) => {
            interrupt::say_farewell();
            Ok(ExitCode::from(interrupt::code()))
        }
        Err(error) => Err(error.into()),
    }
}

/// What a study says that was stopped: its store is good at any time.
const STOPPED: &str = "stopped; finished runs are kept, the same command resumes the study";

/// What is run: the options that `run` and `answers` share.
#[derive(clap::Args)]
pub struct Chosen {
    /// The folder of results
    #[arg(long, value_name = "FOLDER", default_value = "study")]
    pub store: PathBuf,

    /// A first impression in minutes: fewer epochs of the paper's method, fewer steps of ours
    #[arg(long)]
    quick: bool,

    /// Sets; all seven by default. shell-sq-3d and its like are the shells as printed. For table scale:
    /// families such as qp-100
    #[arg(long, value_name = "SET,…", value_delimiter = ',')]
    sets: Vec<String>,

    /// Objectives: quadratic, linear, distance; all by default
    #[arg(long, value_name = "OBJECTIVE,…", value_delimiter = ',')]
    objectives: Vec<String>,

    /// Tables: main (by default), fair, parts, ablations, weights (the whole grid of loss weights), scale
    /// (problems with 100 variables and more; a seed is an instance)
    #[arg(long, value_name = "TABLE,…", value_delimiter = ',')]
    tables: Vec<String>,

    /// Methods by name, instead of tables; with `--tables scale` those of that table
    #[arg(long, value_name = "METHOD,…", value_delimiter = ',')]
    methods: Vec<String>,

    /// Seeds of independent trainings; --seed alone by default
    #[arg(long, value_name = "N,…", value_delimiter = ',')]
    seeds: Vec<u64>,

    /// Draws of problems, which the paper calls seeds
    #[arg(long, value_name = "N", default_value_t = Protocol::RELEASED.draws, value_parser = value_parser!(u64).range(1..=1000))]
    draws: u64,

    /// Problems of each draw
    #[arg(long, value_name = "N", default_value_t = Protocol::RELEASED.problems, value_parser = count_up_to(100_000))]
    problems: usize,
}

impl Chosen {
    /// The runs.
    pub fn plan(&self, common: &Common) -> Result<Plan> {
        Plan::new(&self.selection(common), &self.effort()).map_err(wrong_usage)
    }

    fn selection(&self, common: &Common) -> Selection {
        Selection {
            sets: self.sets.clone(),
            objectives: self.objectives.clone(),
            tables: self.tables.clone(),
            methods: self.methods.clone(),
            seeds: match self.seeds.is_empty() {
                true => vec![common.seed],
                false => self.seeds.clone(),
            },
        }
    }

    /// How much each training gets.
    pub fn effort(&self) -> Effort {
        if self.quick {
            Effort::quick()
        } else {
            Effort::full()
        }
    }

    /// How many problems are asked.
    pub fn protocol(&self) -> Protocol {
        Protocol {
            draws: self.draws,
            problems: self.problems,
        }
    }
}

/// Prints the tables of the plan's runs.
fn report(
    plan: &Plan,
    context: &Context<'_>,
    store: &Store,
    outcome: &Outcome,
    common: &Common,
) -> Result<ExitCode> {
    let mut records: Vec<RunRecord> = Vec::new();
    for run in &plan.runs {
        if let Found::This(record) = store.run(&run.key(context.effort(), context.protocol()))? {
            records.push(record);
        }
    }
    let mut scale: Vec<ScaleRecord> = Vec::new();
    for run in &plan.scale {
        if let Found::This(record) = store.scale(&run.key(context))? {
            scale.push(record);
        }
    }
    if common.json {
        match records.is_empty() {
            true => show::print_json(&scale)?,
            false => show::print_json(&records)?,
        }
    } else {
        for rows in scale_rows(&scale).chunk_by(|a, b| a.family == b.family) {
            let entries: Vec<Vec<String>> = rows.iter().map(|row| row.entries().to_vec()).collect();
            show::print(rows[0].family)?;
            show::print(show::table(&SCALE_HEADER, &entries, true))?;
            show::print("")?;
        }
        for table in tables(&records)? {
            show::print(format!("{} ({})", table.set, table.group.name()))?;
            show::print(text(&table))?;
            show::print("")?;
        }
    }
    if !plan.searches.is_empty() {
        common.note("the weights found: `fab-paper study report` writes tuned_weights.csv");
    }
    if !outcome.failed.is_empty() {
        bail!("{} runs failed; the others are kept", outcome.failed.len());
    }
    Ok(ExitCode::SUCCESS)
}

/// A table for a terminal.
fn text(table: &Table) -> String {
    let mut header = vec!["method".to_owned()];
    for objective in Objective::ALL {
        header.extend([
            format!("{objective}: %"),
            "gap".to_owned(),
            "paper".to_owned(),
            "µs".to_owned(),
        ]);
    }
    let mut rows: Vec<Vec<String>> = Vec::new();
    for row in &table.rows {
        let mut line = vec![row.label.clone()];
        row.cells
            .iter()
            .for_each(|cell| line.extend(entries(cell.as_ref())));
        rows.push(line);
    }
    let mut floor = vec!["exact solver".to_owned()];
    for value in table.floors {
        let paper = value.map_or_else(|| "–".to_owned(), |value| format!("{value:.2}"));
        floor.extend(["100".to_owned(), "0".to_owned(), paper, String::new()]);
    }
    rows.push(floor);
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    show::table(&header, &rows, true)
}

fn entries(cell: Option<&Cell>) -> [String; 4] {
    let Some(cell) = cell else {
        return ["–", "–", "–", "–"].map(str::to_owned);
    };
    let with_interval = |estimate: &Estimate, digits: usize| match estimate.half_width {
        Some(half) => format!("{:.digits$}±{half:.digits$}", estimate.mean),
        None => format!("{:.digits$}", estimate.mean),
    };
    [
        show::percent(cell.feasible.mean)
            .trim_end_matches(" %")
            .to_owned(),
        cell.true_gap
            .as_ref()
            .map_or_else(|| "–".to_owned(), |gap| with_interval(gap, 4)),
        with_interval(&cell.paper_gap, 2),
        format!("{:.1}", cell.p50_us),
    ]
}
