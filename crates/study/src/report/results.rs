//! Which runs of a store are reported, and how they were made.

use std::collections::{BTreeMap, BTreeSet};

use crate::method::{Group, find};
use crate::plan::Run;
use crate::protocol::Protocol;
use crate::store::{RunRecord, Store};
use crate::{Effort, SETS, StudyError, StudySet};

/// The runs of a group of methods that belong together: one effort, one protocol.
pub struct Part {
    /// The group.
    pub group: Group,
    /// Whether the effort is the quick one.
    pub quick: bool,
    /// The problems.
    pub protocol: Protocol,
    /// The runs.
    pub records: Vec<RunRecord>,
}

/// What a report is about.
pub struct Results {
    /// A part for each group of methods that the store has runs of.
    pub parts: Vec<Part>,
    /// Runs of other efforts, protocols or versions of the study, which are left out.
    pub left_out: usize,
}

impl Results {
    /// The largest part of each group in the store; of two equal ones, that of the full effort.
    ///
    /// # Errors
    /// [`StudyError`] when the store cannot be read or has no results.
    pub fn gather(store: &Store) -> Result<Self, StudyError> {
        let (all, _) = store.runs()?;
        let count = all.len();
        let mut candidates: BTreeMap<_, Vec<RunRecord>> = BTreeMap::new();
        for record in all {
            let Protocol { draws, problems } = record.key.protocol;
            let Ok(entry) = find(&record.key.method) else {
                continue;
            };
            // What does not train is the same in both efforts.
            for quick in efforts_of(&record)? {
                let key = (entry.group, draws, problems, !quick);
                candidates.entry(key).or_default().push(record.clone());
            }
        }
        let mut parts: Vec<Part> = Vec::new();
        for ((group, draws, problems, full), records) in candidates {
            let part = Part {
                group,
                quick: !full,
                protocol: Protocol { draws, problems },
                records,
            };
            match parts.last_mut().filter(|last| last.group == group) {
                Some(last) if last.records.len() > part.records.len() => {}
                Some(last) => *last = part,
                None => parts.push(part),
            }
        }
        if parts.is_empty() {
            return Err(StudyError::NoResults {
                path: store.folder().to_owned(),
            });
        }
        let reported: usize = parts.iter().map(|part| part.records.len()).sum();
        Ok(Self {
            left_out: count - reported,
            parts,
        })
    }

    /// All runs.
    pub fn records(&self) -> impl Iterator<Item = &RunRecord> {
        self.parts.iter().flat_map(|part| &part.records)
    }
}

impl Part {
    /// The trainings' seeds, with the methods that were trained with them; the usual ones first.
    fn seeds(&self) -> Vec<(Vec<u64>, Vec<&str>)> {
        let mut of_method: BTreeMap<&str, BTreeSet<u64>> = BTreeMap::new();
        for record in &self.records {
            let seeds = of_method.entry(&record.key.method).or_default();
            seeds.insert(record.key.seed);
        }
        let mut methods: BTreeMap<Vec<u64>, Vec<&str>> = BTreeMap::new();
        for (method, seeds) in of_method {
            let seeds = seeds.into_iter().collect();
            methods.entry(seeds).or_default().push(method);
        }
        let mut methods: Vec<_> = methods.into_iter().collect();
        methods.sort_by_key(|(_, methods)| std::cmp::Reverse(methods.len()));
        methods
    }

    /// The commands that make these runs.
    pub fn commands(&self) -> Vec<String> {
        let mut options = String::new();
        if self.quick {
            options.push_str(" --quick");
        }
        let sets = SETS.into_iter().filter(|set| self.has(set));
        let sets: Vec<&str> = sets.collect();
        if sets.len() < SETS.len() {
            options.push_str(&format!(" --sets {}", sets.join(",")));
        }
        if self.protocol != Protocol::RELEASED {
            let Protocol { draws, problems } = self.protocol;
            options.push_str(&format!(" --draws {draws} --problems {problems}"));
        }
        let chosen = |(index, (seeds, methods)): (usize, (Vec<u64>, Vec<&str>))| {
            let what = match index {
                0 => format!("--tables {}", self.group.name()),
                _ => format!("--methods {}", methods.join(",")),
            };
            format!("fabproj study run{options} {what} --seeds {}", list(&seeds))
        };
        self.seeds().into_iter().enumerate().map(chosen).collect()
    }

    fn has(&self, set: &str) -> bool {
        self.records.iter().any(|record| record.key.set == set)
    }

    /// What was run, in a sentence or two.
    pub fn description(&self) -> String {
        let effort = match self.quick {
            true => Effort::quick(),
            false => Effort::full(),
        };
        let mut text = format!(
            "{} draws of {} problems. The paper's method makes {} % of its epochs, with the first entry of its \
             grid of weights; our solver networks make {} steps, invertible networks {}. Trainings:",
            self.protocol.draws,
            self.protocol.problems,
            100.0 * effort.paper_epochs,
            effort.solver_steps,
            effort.mapping_steps
        );
        for (index, (seeds, methods)) in self.seeds().iter().enumerate() {
            let plural = if seeds.len() == 1 { "seed" } else { "seeds" };
            let seeds = list(seeds);
            text.push_str(&match index {
                0 => format!(" {plural} {seeds}"),
                _ => format!("; {} with {plural} {seeds}", methods.join(", ")),
            });
        }
        text.push('.');
        if self.seeds().iter().any(|(seeds, _)| seeds.len() > 1) {
            text.push_str(" ± is the 95 % interval of the mean over trainings.");
        }
        text
    }
}

fn list(seeds: &[u64]) -> String {
    let seeds: Vec<String> = seeds.iter().map(u64::to_string).collect();
    seeds.join(",")
}

/// Whether a record is what the quick effort makes (true), the full one (false), both or neither.
fn efforts_of(record: &RunRecord) -> Result<Vec<bool>, StudyError> {
    let (Ok(entry), Ok(set)) = (find(&record.key.method), StudySet::open(&record.key.set)) else {
        return Ok(Vec::new());
    };
    let run = Run {
        set,
        objective: record.key.objective,
        entry,
        seed: record.key.seed,
    };
    let efforts = [(true, Effort::quick()), (false, Effort::full())];
    let made = efforts
        .into_iter()
        .filter(|(_, effort)| run.key(effort, record.key.protocol) == record.key);
    Ok(made.map(|(quick, _)| quick).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::Objective;

    fn keep(store: &Store, method: &str, effort: &Effort, seed: u64) {
        let run = Run {
            set: StudySet::open("star-shaped").unwrap(),
            objective: Objective::Linear,
            entry: find(method).unwrap(),
            seed,
        };
        let record = RunRecord {
            key: run.key(effort, Protocol::RELEASED),
            training_seconds: 1.0,
            paper_gap_floor: 1.0,
            answers: Default::default(),
            guarded: None,
            curve: Vec::new(),
            model: None,
            machine: String::new(),
        };
        store.save_run(&record).unwrap();
    }

    #[test]
    fn each_table_is_of_one_effort_and_what_does_not_train_belongs_to_both() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let (quick, full) = (Effort::quick(), Effort::full());
        for method in ["projected-gradient", "penalty", "fab", "fabproj"] {
            keep(&store, method, &full, 1);
        }
        keep(&store, "fabproj", &full, 2);
        keep(&store, "fabproj", &quick, 1);
        keep(&store, "fab-w32-d2", &quick, 1);
        let results = Results::gather(&store).unwrap();
        let commands: Vec<String> = results.parts.iter().flat_map(Part::commands).collect();
        let expected = [
            "fabproj study run --sets star-shaped --tables main --seeds 1",
            "fabproj study run --sets star-shaped --methods fabproj --seeds 1,2",
            "fabproj study run --quick --sets star-shaped --tables ablations --seeds 1",
        ];
        assert_eq!(commands, expected);
        assert_eq!((results.records().count(), results.left_out), (6, 1));
        let description = results.parts[0].description();
        assert!(
            description.ends_with(
                "Trainings: seed 1; fabproj with seeds 1,2. ± is the 95 % interval of the mean over trainings."
            ),
            "{description}"
        );
    }
}
