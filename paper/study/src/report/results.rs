//! Which runs of a store are reported, and how they were made.

use std::collections::{BTreeMap, BTreeSet};

use crate::method::{Group, find};
use crate::plan::Run;
use crate::protocol::Protocol;
use crate::store::{RunRecord, Store};
use crate::{Effort, SETS, StudyError, StudySet};

/// Runs of a group's methods that belong together: one effort, one protocol.
pub struct Part {
    /// The group.
    pub group: Group,
    /// Whether it is the largest of its group.
    pub first: bool,
    /// Whether the effort is the quick one.
    pub quick: bool,
    /// The problems.
    pub protocol: Protocol,
    /// The runs.
    pub records: Vec<RunRecord>,
}

/// What a report is about.
pub struct Results {
    /// Group by group, the largest part of each first.
    pub parts: Vec<Part>,
    /// Runs of other efforts, protocols or versions of the study, which are left out.
    pub left_out: usize,
}

impl Results {
    /// Of each method the runs of the effort and protocol that it has most of; of two with equally many,
    /// those that its group has most of, then the larger.
    ///
    /// # Errors
    /// [`StudyError`] when the store cannot be read or has no results.
    pub fn gather(store: &Store) -> Result<Self, StudyError> {
        let (all, _) = store.runs()?;
        let count = all.len();
        let mut methods: BTreeMap<(Group, String), BTreeMap<Kind, Vec<RunRecord>>> =
            BTreeMap::new();
        let mut totals: BTreeMap<(Group, Kind), usize> = BTreeMap::new();
        for record in all {
            for (group, kind) in Kind::of(&record)? {
                *totals.entry((group, kind)).or_default() += 1;
                let method = (group, record.key.method.clone());
                let of_method = methods.entry(method).or_default();
                of_method.entry(kind).or_default().push(record.clone());
            }
        }
        let mut parts: BTreeMap<(Group, Kind), Vec<RunRecord>> = BTreeMap::new();
        for ((group, _), kinds) in methods {
            let rank = |(kind, records): &(Kind, Vec<RunRecord>)| {
                (records.len(), totals.get(&(group, *kind)).copied(), *kind)
            };
            if let Some((kind, records)) = kinds.into_iter().max_by_key(rank) {
                parts.entry((group, kind)).or_default().extend(records);
            }
        }
        if parts.is_empty() {
            return Err(StudyError::NoResults {
                path: store.folder().to_owned(),
            });
        }
        let mut parts: Vec<Part> = parts.into_iter().map(Part::new).collect();
        parts.sort_by_key(|part| (part.group, std::cmp::Reverse(part.records.len())));
        let mut last = None;
        for part in &mut parts {
            part.first = last.replace(part.group) != Some(part.group);
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
    fn new(((group, kind), records): ((Group, Kind), Vec<RunRecord>)) -> Self {
        Self {
            group,
            first: false,
            quick: !kind.full,
            protocol: Protocol {
                draws: kind.draws,
                problems: kind.problems,
            },
            records,
        }
    }

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
            let what = match index == 0 && self.first {
                true => format!("--tables {}", self.group.name()),
                false => format!("--methods {}", methods.join(",")),
            };
            format!(
                "fab-paper study run{options} {what} --seeds {}",
                list(&seeds)
            )
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
            "{} draws of {} problems. The paper's method makes {} % of its epochs; our solver networks make {} \
             steps, invertible networks {}. Trainings:",
            self.protocol.draws,
            self.protocol.problems,
            100.0 * effort.paper_epochs,
            effort.solver_steps,
            effort.mapping_steps
        );
        for (index, (seeds, methods)) in self.seeds().iter().enumerate() {
            let plural = if seeds.len() == 1 { "seed" } else { "seeds" };
            let seeds = list(seeds);
            text.push_str(&match (index, self.first) {
                (0, true) => format!(" {plural} {seeds}"),
                (0, false) => format!(" {} with {plural} {seeds}", methods.join(", ")),
                _ => format!("; {} with {plural} {seeds}", methods.join(", ")),
            });
        }
        text.push('.');
        if self.seeds().iter().any(|(seeds, _)| seeds.len() > 1) {
            text.push_str(
                " ± is the 95 % interval of the mean over trainings, \
                 [ ] are the least and the most of the trainings.",
            );
        }
        text
    }
}

fn list(seeds: &[u64]) -> String {
    let seeds: Vec<String> = seeds.iter().map(u64::to_string).collect();
    seeds.join(",")
}

/// What must be the same for runs to stand side by side; the larger is the better.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Kind {
    draws: u64,
    problems: usize,
    full: bool,
}

impl Kind {
    /// The kinds that a record is of, with its method's group: what does not train is the same in both
    /// efforts, and what was made by another version of the study is of none.
    fn of(record: &RunRecord) -> Result<Vec<(Group, Self)>, StudyError> {
        let (Ok(entry), Ok(set)) = (find(&record.key.method), StudySet::open(&record.key.set))
        else {
            return Ok(Vec::new());
        };
        let run = Run {
            set,
            objective: record.key.objective,
            entry,
            seed: record.key.seed,
        };
        let protocol = record.key.protocol;
        let efforts = [(false, Effort::quick()), (true, Effort::full())];
        let made = efforts
            .into_iter()
            .filter(|(_, effort)| run.key(effort, protocol) == record.key);
        let kinds = made.map(|(full, _)| {
            let kind = Self {
                draws: protocol.draws,
                problems: protocol.problems,
                full,
            };
            (entry.group, kind)
        });
        Ok(kinds.collect())
    }
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
            timed_alone: false,
        };
        store.save_run(&record).unwrap();
    }

    #[test]
    fn each_method_is_of_one_effort_and_what_does_not_train_belongs_to_both() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let (quick, full) = (Effort::quick(), Effort::full());
        for method in ["projected-gradient", "penalty", "fab", "fabproj"] {
            keep(&store, method, &full, 1);
        }
        keep(&store, "fabproj", &full, 2);
        keep(&store, "fabproj", &quick, 1);
        keep(&store, "fab-no-hinge", &quick, 1);
        keep(&store, "fab-w32-d2", &quick, 1);
        let results = Results::gather(&store).unwrap();
        let commands: Vec<String> = results.parts.iter().flat_map(Part::commands).collect();
        let expected = [
            "fab-paper study run --sets star-shaped --tables main --seeds 1",
            "fab-paper study run --sets star-shaped --methods fabproj --seeds 1,2",
            "fab-paper study run --quick --sets star-shaped --methods fab-no-hinge --seeds 1",
            "fab-paper study run --quick --sets star-shaped --tables ablations --seeds 1",
        ];
        assert_eq!(commands, expected);
        assert_eq!((results.records().count(), results.left_out), (7, 1));
        assert!(results.parts[0].first && !results.parts[0].quick && !results.parts[1].first);
        let description = results.parts[0].description();
        assert!(
            description.ends_with(
                "Trainings: seed 1; fabproj with seeds 1,2. ± is the 95 % interval of the mean over trainings, \
                 [ ] are the least and the most of the trainings."
            ),
            "{description}"
        );
    }
}
