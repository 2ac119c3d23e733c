//! What is to be run, and running it.

mod estimate;
mod execute;
mod times;

use std::collections::BTreeSet;
use std::sync::Arc;

use fabproj::support::near_names;
use serde_json::Value;

use crate::method::{Entry, Group, Method, catalogue, find};
use crate::problem::Objective;
use crate::protocol::Protocol;
use crate::scale::{FAMILIES, FamilyEntry, ScaleMethod, ScaleRun};
use crate::store::{RunKey, VERSION};
use crate::weight_search::Search;
use crate::{Effort, ProjectorRecipe, SETS, StudyError, StudySet};

pub use self::execute::{Given, Outcome, Pending};
pub use self::times::{Retimed, time_again};

/// What the user asks for. Empty lists stand for everything (methods: everything in the tables).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Sets by name, and families of table `scale`.
    pub sets: Vec<String>,
    /// Objectives by name.
    pub objectives: Vec<String>,
    /// Tables by name (`main`, `fair`, `ablations`, `weights`, `scale`); the main ones if empty.
    pub tables: Vec<String>,
    /// Methods by name, instead of tables; with the table `scale` its own.
    pub methods: Vec<String>,
    /// Seeds of independent trainings.
    pub seeds: Vec<u64>,
}

/// One training of one method, and its answers.
#[derive(Clone)]
pub struct Run {
    /// The set.
    pub set: Arc<StudySet>,
    /// The objective.
    pub objective: Objective,
    /// The method.
    pub entry: &'static Entry,
    /// The seed of the training.
    pub seed: u64,
}

impl Run {
    /// A name for messages.
    pub fn name(&self) -> String {
        let (set, method) = (self.set.name(), &self.entry.name);
        format!("{set}, {}, {method}, seed {}", self.objective, self.seed)
    }

    /// The projector that the run needs: its method's, or ours where its answers are guarded.
    pub fn projector(&self, method: &dyn Method, effort: &Effort) -> Option<ProjectorRecipe> {
        let ours = || ProjectorRecipe::Default(effort.projector.clone());
        method.projector().or_else(|| self.entry.guarded.then(ours))
    }

    /// What the run's result is kept under.
    pub fn key(&self, effort: &Effort, protocol: Protocol) -> RunKey {
        let method = self.entry.make(effort);
        let projector = self.projector(method.as_ref(), effort);
        RunKey {
            version: VERSION,
            set: self.set.name().to_owned(),
            objective: self.objective,
            method: self.entry.name.clone(),
            settings: method.settings(),
            projector: projector.map_or(Value::Null, |recipe| recipe.key()),
            seed: self.seed,
            protocol,
        }
    }
}

/// All runs of a study.
pub struct Plan {
    /// The runs, set by set.
    pub runs: Vec<Run>,
    /// The searches of loss weights, after the runs.
    pub searches: Vec<Search>,
    /// The runs of table `scale`, at the end.
    pub scale: Vec<ScaleRun>,
}

/// The table of the grid search of loss weights, which has no methods of its own.
const WEIGHTS: &str = "weights";
/// The table of problems at the sizes that the field works with, which has methods of its own.
const SCALE: &str = "scale";

impl Plan {
    /// What a selection means. Methods are left out where tables do not have them, unless they were named.
    ///
    /// # Errors
    /// [`StudyError::Unknown`] for a name that is not known, with the names most like it.
    pub fn new(selection: &Selection, effort: &Effort) -> Result<Self, StudyError> {
        if !selection.methods.is_empty() && selection.tables.iter().any(|table| table != SCALE) {
            return Err(StudyError::MethodsAndTables);
        }
        let (scale, selection) = &scale(selection)?;
        let sets = match selection.sets.is_empty() {
            true => SETS.map(str::to_owned).to_vec(),
            false => selection.sets.clone(),
        };
        let sets: Result<Vec<_>, _> = sets.iter().map(|name| StudySet::open(name)).collect();
        let objectives = match selection.objectives.is_empty() {
            true => Objective::ALL.to_vec(),
            false => parsed(&selection.objectives)?,
        };
        let entries = entries(selection)?;
        let seeds = match selection.seeds.is_empty() {
            true => vec![0],
            false => selection.seeds.clone(),
        };
        let (mut runs, mut searches) = (Vec::new(), Vec::new());
        let search_weights = selection.tables.iter().any(|table| table == WEIGHTS);
        for set in sets? {
            for &seed in &seeds {
                if search_weights {
                    let known = catalogue().iter().filter(|entry| entry.is_for(set.dim()));
                    searches.extend(known.filter_map(|entry| {
                        Search::new(&set, &entry.name, entry.make(effort).projector(), seed)
                    }));
                }
                for &entry in &entries {
                    if !entry.is_for(set.dim()) && selection.methods.is_empty() {
                        continue;
                    }
                    runs.extend(objectives.iter().map(|&objective| Run {
                        set: Arc::clone(&set),
                        objective,
                        entry,
                        seed,
                    }));
                }
            }
        }
        // Several methods use the same projector.
        let mut seen = BTreeSet::new();
        searches.retain(|search: &Search| seen.insert(search.subject()));
        let scale = scale.clone();
        Ok(Self {
            runs,
            searches,
            scale,
        })
    }
}

fn parsed(names: &[String]) -> Result<Vec<Objective>, StudyError> {
    names.iter().map(|name| name.parse()).collect()
}

/// The runs of table `scale`, and the rest of the selection: families and methods of that table are taken out.
fn scale(selection: &Selection) -> Result<(Vec<ScaleRun>, Selection), StudyError> {
    let mut rest = selection.clone();
    let is_family = |name: &String| FAMILIES.iter().any(|family| family.name == *name);
    let asked =
        selection.tables.iter().any(|table| table == SCALE) || selection.sets.iter().any(is_family);
    // A name that both tables have means the other one, unless table `scale` is asked for.
    let is_method =
        |name: &String| ScaleMethod::find(name).is_ok() && (asked || find(name).is_err());
    rest.sets.retain(|name| !is_family(name));
    rest.methods.retain(|name| !is_method(name));
    let named: Vec<&String> = selection
        .methods
        .iter()
        .filter(|name| is_method(name))
        .collect();
    // Families alone mean all their methods.
    let unnamed = selection.tables.is_empty() && selection.methods.is_empty();
    let families_alone = unnamed && rest.sets.is_empty() && asked;
    let whole = selection.tables.iter().any(|table| table == SCALE) || families_alone;
    if named.is_empty() && !whole {
        return Ok((Vec::new(), selection.clone()));
    }
    if let Some(name) = rest.methods.first().filter(|_| whole) {
        ScaleMethod::find(name)?;
    }
    if rest.methods.is_empty() && rest.tables.is_empty() {
        // Nothing else was asked for.
        rest.tables.push(SCALE.to_owned());
    }
    let methods: Result<Vec<_>, _> = named.iter().map(|name| ScaleMethod::find(name)).collect();
    let methods = match named.is_empty() {
        true => ScaleMethod::ALL.to_vec(),
        false => methods?,
    };
    let families = selection.sets.iter().filter(|name| is_family(name));
    let families: Result<Vec<_>, _> = families.map(|name| FamilyEntry::find(name)).collect();
    let families = match families? {
        named if named.is_empty() => FAMILIES.iter().collect(),
        named => named,
    };
    let seeds = match selection.seeds.is_empty() {
        true => vec![0],
        false => selection.seeds.clone(),
    };
    let mut runs = Vec::new();
    for family in families {
        for &seed in &seeds {
            let all = methods.iter().map(|&method| ScaleRun {
                family,
                method,
                seed,
            });
            runs.extend(all.filter(ScaleRun::is_possible));
        }
    }
    Ok((runs, rest))
}

/// The methods that were named, or those of the tables.
fn entries(selection: &Selection) -> Result<Vec<&'static Entry>, StudyError> {
    if !selection.methods.is_empty() {
        return selection.methods.iter().map(|name| find(name)).collect();
    }
    let mut groups = BTreeSet::new();
    let tables = selection.tables.iter();
    for name in tables.filter(|name| *name != WEIGHTS && *name != SCALE) {
        let found = Group::ALL.into_iter().find(|group| group.name() == name);
        groups.insert(found.ok_or_else(|| {
            StudyError::Unknown {
                what: "table",
                name: name.clone(),
                near: near_names(
                    name,
                    Group::ALL
                        .map(Group::name)
                        .into_iter()
                        .chain([WEIGHTS, SCALE]),
                ),
            }
        })?);
    }
    if selection.tables.is_empty() {
        groups.insert(Group::Main);
    }
    let all = catalogue().iter();
    Ok(all.filter(|entry| groups.contains(&entry.group)).collect())
}
