//! Trainings of problems: a solver, its certificate and its summary.

use std::process::ExitCode;
use std::time::Instant;

use anyhow::Result;
use fabproj::Session;
use fabproj::solve::{GapPlan, Problem, SolveSettings, SolverModel, train_with};
use serde_json::json;

use super::log::Log;
use super::made::Made;
use super::place::{self, Place};
use super::settings::Preset;
use super::{Arguments, TIMED_CALLS, finish};
use crate::bench;
use crate::failure::wrong_usage;
use crate::options::Common;
use crate::show::{self, time};
use crate::solve::record;

impl Arguments {
    /// Refuses options that mean nothing to a problem.
    fn check_solver(&self) -> Result<()> {
        let task = &self.task;
        let unused = [
            ("--preset", self.preset != Preset::Default),
            ("--max-queries", self.max_queries.is_some()),
            ("--plot", task.plot.is_some()),
        ];
        match unused.iter().find(|(_, used)| *used) {
            None => Ok(()),
            Some((flag, _)) => Err(wrong_usage(format!(
                "{flag} is for sets; {} is a problem, for which a solver is trained: leave {flag} out, or \
                 remove [objective] to train a projector",
                task.set()
            ))),
        }
    }

    /// The settings of a solver's training as they are typed.
    pub(super) fn solver_settings(&self, common: &Common) -> Result<SolveSettings> {
        let mut settings = self.task.settings.adjusted(&SolveSettings::default())?;
        settings.seed = common.seed;
        settings.quick |= self.task.settings.quick;
        Ok(settings)
    }
}

/// Trains a solver, certifies and saves it.
pub(super) fn run(arguments: &Arguments, common: &Common, problem: &Problem) -> Result<ExitCode> {
    arguments.check_solver()?;
    let task = &arguments.task;
    task.labels.check_unused()?;
    if task.samples == Some(0) {
        return Err(wrong_usage(record::NO_SAMPLES));
    }
    let settings = arguments.solver_settings(common)?;
    let mut plan = GapPlan::default();
    plan.samples = task.samples.unwrap_or(plan.samples);
    plan.seed = common.seed;
    plan.check(problem)?;
    let model = task.model()?;
    task.check_places(&model)?;
    let started = Instant::now();
    let start = json!({
        "problem": problem.description().name(),
        "recipe": "solver",
        "seed": settings.seed,
        "settings": settings,
    });
    let place = Place {
        task,
        common,
        model: &model,
    };
    let complete = |mut trained: SolverModel, log: &Log| {
        let training_seconds = started.elapsed().as_secs_f64();
        let certificate = trained.certify(problem, &plan)?.clone();
        place::saved(&model, trained.save(&model))?;
        log.certified(&certificate, &model);
        let latency = bench::quick_solver_latency(&trained, problem, TIMED_CALLS)?;
        Ok(Summary {
            model: trained,
            made: Made {
                files: vec![model.clone(), log.path.clone()],
                latency_ns: (latency.p50_ns, latency.p99_ns),
                training_seconds,
                seconds: started.elapsed().as_secs_f64(),
            },
        })
    };
    let train = |session: &Session<'_>| train_with(problem, &settings, session);
    let summary = place.run(start, train, complete)?;
    finish(summary, |summary| summary.print(common))
}

/// What a training gave.
struct Summary {
    model: SolverModel,
    made: Made,
}

impl Summary {
    fn print(&self, common: &Common) -> Result<()> {
        let record = self.model.record();
        let figures = json!({
            "certificate": record.certificate,
            "training": record.training,
        });
        let warnings = record::warnings(&self.model);
        let text = || self.text();
        self.made.print(common, figures, text, &warnings)
    }

    fn text(&self) -> String {
        let row = |name: &str, value: String| (name.to_owned(), value);
        let mut rows = record::certificate_rows(self.model.record().certificate.as_ref());
        let model = self.made.model();
        let next = [
            format!("fabproj solve {model} X.csv -o answers.csv"),
            format!("fabproj inspect {model}"),
            format!("fabproj certify {model} --samples 10000"),
        ];
        rows.extend([
            row("tool", record::tool(&self.model)),
            row("learned from", record::learned_from(&self.model)),
            row("steps", record::steps(&self.model)),
            row("one answer", self.made.call()),
            row("training", time(self.made.training_seconds)),
            row("written", self.made.written()),
            row("to go on", next.join("\n")),
        ]);
        show::pairs(&rows)
    }
}
