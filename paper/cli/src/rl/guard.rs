//! Options of the guard between a policy and its task.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Result;
use clap::ValueEnum;
use fab_saferl::fab::{FabFilter, Units, load_projector};
use fab_saferl::filter::ActionFilter;
use fab_saferl::guard::{Candidates, Guard, GuardFilter, GuardFilterSettings};
use fab_saferl::look_ahead::LookAheadSettings;
use fab_saferl::shield::Shield;
use fab_saferl::steering::Rule;

use super::as_usage;

#[derive(clap::Args)]
#[command(next_help_heading = "Guard")]
pub struct GuardOptions {
    /// A guard of `fab-paper rl collect`
    #[arg(long, value_name = "FILE", conflicts_with = "projector")]
    guard: Option<PathBuf>,

    /// The paper's projector of `fab-paper rl collect --recipe paper`, instead of a guard
    #[arg(long, value_name = "FILE")]
    projector: Option<PathBuf>,

    /// The oracle instead of a guard: it looks ahead with true positions, and bounds what a guard can do
    #[arg(long, conflicts_with_all = ["guard", "projector"])]
    shield: bool,

    /// Steps for which the oracle holds an action
    #[arg(long, value_name = "N", default_value_t = LookAheadSettings::default().hold, requires = "shield")]
    hold: usize,

    /// How much larger the oracle takes obstacles to be
    #[arg(long, value_name = "M", default_value_t = LookAheadSettings::default().margin, requires = "shield")]
    margin: f64,

    /// The units that the paper's projector is fed with
    #[arg(long, value_enum, default_value_t = UnitNames::Right)]
    units: UnitNames,

    /// Actions pass with at least this probability of being safe
    #[arg(long, value_name = "P", default_value_t = GuardFilterSettings::default().threshold)]
    threshold: f64,

    /// How a replacement is chosen [default: nearest for the double integrator, else detour]
    #[arg(long, value_enum)]
    rule: Option<RuleName>,

    /// What a replacement is chosen from
    #[arg(long, value_enum, default_value_t = CandidateNames::All)]
    candidates: CandidateNames,

    /// Do not tell the policy what the guard says
    #[arg(long)]
    no_hints: bool,

    /// Tell the policy what the guard says, but replace no action
    #[arg(long, conflicts_with = "no_hints")]
    hints_only: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum UnitNames {
    /// As the released code does: not converted
    Released,
    /// Converted to the units of the training and back
    Right,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum RuleName {
    /// The nearest safe action
    Nearest,
    /// The wanted throttle with the best turn
    Steer,
    /// A way around the obstacle, on one side
    Detour,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum CandidateNames {
    /// Projection, latent disc, turns, grid
    All,
    /// Projection and latent disc
    Latent,
    /// The projection alone
    Projection,
    /// Turns and grid, without the autoencoder
    Grid,
}

impl GuardOptions {
    /// Whether actions go through the paper's projector.
    pub fn is_paper(&self) -> bool {
        self.projector.is_some()
    }

    /// The filter for a task, if a guard or a projector is named.
    pub fn filter(&self, task: &str) -> Result<Option<Box<dyn ActionFilter>>> {
        if let Some(path) = &self.projector {
            let units = match self.units {
                UnitNames::Released => Units::Released,
                UnitNames::Right => Units::Right,
            };
            let filter = FabFilter::new(&load_projector(path)?, units)?;
            return Ok(Some(Box::new(filter)));
        }
        let rule = match self.rule {
            None => Rule::of_task(task),
            Some(RuleName::Nearest) => Rule::Nearest,
            Some(RuleName::Steer) => Rule::Steer,
            Some(RuleName::Detour) => Rule::Detour,
        };
        if self.shield {
            let settings = LookAheadSettings {
                margin: self.margin,
                hold: self.hold,
                ..LookAheadSettings::default()
            };
            settings.validate().map_err(as_usage)?;
            return Ok(Some(Box::new(Shield::new(settings, rule))));
        }
        let Some(path) = &self.guard else {
            return Ok(None);
        };
        let settings = GuardFilterSettings {
            threshold: self.threshold,
            rule,
            candidates: match self.candidates {
                CandidateNames::All => Candidates::All,
                CandidateNames::Latent => Candidates::Latent,
                CandidateNames::Projection => Candidates::Projection,
                CandidateNames::Grid => Candidates::Grid,
            },
            hints: !self.no_hints,
            intervenes: !self.hints_only,
        };
        let guard = Arc::new(Guard::load(path)?);
        guard.check_task(task).map_err(as_usage)?;
        let filter = GuardFilter::new(guard, settings).map_err(as_usage)?;
        Ok(Some(Box::new(filter)))
    }
}
