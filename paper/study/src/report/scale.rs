//! Table `scale` of the report.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::view::{Page, Section, View};
use crate::scale::{FAMILIES, ScaleKey, ScaleMethod, ScaleRecord};
use crate::table::Estimate;

pub(super) const NOTE: &str = "Feasible: c ≤ 0 in every row without tolerance and |A y − x| ≤ 1e-9, then both up to 1e-6. \
     Gap: (f − f*) / |f*| in per cent over answers that are feasible up to 1e-6; f* is clarabel's at 1e-10, or the best \
     of seven local searches where the family is not convex (of a power network one); of sets with a membership test \
     only it is the best known, by enumeration or a long search. Loads that a network cannot \
     serve, as far as that search can tell, are left out. µs: one answer at a time, the median over x; then each of \
     all x at once, one thread. Fresh: feasible answers to other x, without tolerance. Faster: \
     the time of clarabel (its own tolerance; a local search where the family is not convex) beside the same run, \
     divided by that. Tests: membership tests of the training and of an answer, where a set is known by them only. ± is the 95 % interval of the mean over instances. `scale.csv` has all digits.";

/// Results of one method for one family.
pub struct ScaleRow<'a> {
    /// The family's name.
    pub family: &'a str,
    /// What answers.
    pub method: ScaleMethod,
    /// One for each instance.
    pub records: Vec<&'a ScaleRecord>,
}

/// Records of the same protocol by family and method, in the order of the catalogues. Of several protocols or
/// settings, the one with the most records.
pub fn rows(records: &[ScaleRecord]) -> Vec<ScaleRow<'_>> {
    let kind = |key: &ScaleKey| {
        let mut settings = key.settings.clone();
        if let Some(settings) = settings.as_object_mut() {
            // It tells instances apart, not protocols.
            settings.remove("seed");
        }
        (key.version, key.problems, settings.to_string())
    };
    let mut rows = Vec::new();
    for family in FAMILIES {
        for method in ScaleMethod::ALL {
            let of_row = records
                .iter()
                .filter(|one| one.key.family == family.name && one.key.method == method);
            let mut kinds: BTreeMap<_, Vec<&ScaleRecord>> = BTreeMap::new();
            of_row.for_each(|one| kinds.entry(kind(&one.key)).or_default().push(one));
            let most = kinds.into_values().max_by_key(Vec::len);
            rows.extend(most.map(|records| ScaleRow {
                family: family.name,
                method,
                records,
            }));
        }
    }
    rows
}

impl ScaleRow<'_> {
    fn estimate(&self, of: impl Fn(&ScaleRecord) -> Option<f64>) -> Option<Estimate> {
        Estimate::of(self.records.iter().filter_map(|record| of(record)))
    }

    /// The largest gap of all instances.
    fn worst_gap(&self) -> Option<f64> {
        let gaps = self.records.iter().filter_map(|record| record.worst_gap);
        gaps.max_by(f64::total_cmp)
    }

    /// The row for a reader.
    pub fn entries(&self) -> [String; 10] {
        let none = || "–".to_owned();
        let mean = |of: fn(&ScaleRecord) -> Option<f64>| self.estimate(of);
        let share = |of: fn(&ScaleRecord) -> Option<f64>| {
            mean(of).map_or_else(none, |share| percent(share.mean))
        };
        let time = mean(|one| Some(one.p50_us));
        let batch = mean(|one| one.batch_us);
        let faster = mean(|one| Some(one.peer_us? / one.p50_us));
        let seconds = mean(|one| Some(one.training_seconds));
        [
            format!("{} ({})", self.method.label(), self.records.len()),
            format!(
                "{} / {}",
                share(|one| Some(one.feasible)),
                share(|one| Some(one.nearly_feasible))
            ),
            self.fresh(),
            mean(|one| one.mean_gap).map_or_else(none, gap),
            self.quantiles(),
            self.worst_gap()
                .map_or_else(none, |worst| small(100.0 * worst)),
            format!(
                "{} / {}",
                time.map_or_else(none, |time| micros(time.mean)),
                batch.map_or_else(none, |time| micros(time.mean))
            ),
            faster.map_or_else(none, |faster| ratio(faster.mean)),
            seconds.map_or_else(none, |seconds| format!("{:.0}", seconds.mean)),
            self.tests(),
        ]
    }

    /// The median and the 99 % quantile of the gap.
    fn quantiles(&self) -> String {
        let median = self.estimate(|one| one.median_gap);
        let high = self.estimate(|one| one.p99_gap);
        match (median, high) {
            (Some(median), Some(high)) => {
                format!(
                    "{}, {}",
                    small(100.0 * median.mean),
                    small(100.0 * high.mean)
                )
            }
            _ => "–".to_owned(),
        }
    }

    /// Membership tests of the training and of an answer.
    fn tests(&self) -> String {
        let training = self.estimate(|one| Some(one.training_tests? as f64));
        let answer = self.estimate(|one| one.answer_tests);
        match (training, answer) {
            (Some(training), Some(answer)) => {
                format!("{:.2} million, {:.0}", 1e-6 * training.mean, answer.mean)
            }
            _ => "–".to_owned(),
        }
    }

    /// Feasible answers of fresh x, of all instances.
    fn fresh(&self) -> String {
        let sum = |of: fn(&ScaleRecord) -> usize| self.records.iter().map(|one| of(one)).sum();
        let (all, feasible): (usize, usize) = (sum(|one| one.fresh), sum(|one| one.fresh_feasible));
        match all {
            0 => "–".to_owned(),
            _ => format!("{feasible} of {all}"),
        }
    }
}

fn percent(share: f64) -> String {
    let text = format!("{:.2}", 100.0 * share);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A gap in per cent, with its interval.
fn gap(value: Estimate) -> String {
    match value.half_width {
        Some(half) if value.mean.abs() > 1e-9 => {
            format!("{} ± {}", small(100.0 * value.mean), small(100.0 * half))
        }
        _ => small(100.0 * value.mean),
    }
}

/// A number with two digits, whatever its size; what rounding makes is 0.
fn small(value: f64) -> String {
    match value.abs() {
        size if size < 1e-7 => "0".to_owned(),
        size if size < 1e-3 => format!("{value:.1e}"),
        size if size < 0.1 => format!("{value:.4}"),
        _ => format!("{value:.2}"),
    }
}

/// How many times faster.
fn ratio(value: f64) -> String {
    if value < 10.0 {
        format!("{value:.1}")
    } else {
        format!("{value:.0}")
    }
}

fn micros(value: f64) -> String {
    if value < 100.0 {
        format!("{value:.1}")
    } else {
        format!("{value:.0}")
    }
}

/// The header of [`ScaleRow::entries`].
pub const HEADER: [&str; 10] = [
    "method (instances)",
    "feasible %, at 1e-6",
    "fresh",
    "mean gap %",
    "median, 99 %",
    "worst gap %",
    "µs, in a batch",
    "faster",
    "training s",
    "tests",
];

/// The page; `None` without results.
pub(super) fn page(records: &[ScaleRecord]) -> Option<Page> {
    let all = rows(records);
    let first = all.first()?.records.first()?;
    let mut section = Section::new("Families", "");
    for family in FAMILIES {
        let published = family.published;
        let mut view = View::new(format!("{}: {}", family.name, family.label), &HEADER);
        for row in all.iter().filter(|row| row.family == family.name) {
            view.push(row.method == ScaleMethod::Solver, row.entries());
        }
        if view.rows.is_empty() {
            continue;
        }
        let mut line = vec![format!("published: {published}")];
        line.resize(HEADER.len(), String::new());
        view.push(false, line);
        section.tables.push(view);
    }
    let seeds: BTreeSet<u64> = records.iter().map(|record| record.key.seed).collect();
    let seeds: Vec<String> = seeds.iter().map(u64::to_string).collect();
    let machines: BTreeSet<&str> = records.iter().map(|one| one.machine.as_str()).collect();
    let machines: Vec<&str> = machines.into_iter().collect();
    let fact = |name: &str, value: String| (name.to_owned(), value);
    Some(Page {
        facts: vec![
            fact(
                "command",
                format!(
                    "fab-paper study run --tables scale --seeds {} --problems {}",
                    seeds.join(","),
                    first.key.problems
                ),
            ),
            fact("runs", records.len().to_string()),
            fact("machine", machines.join("; ")),
            fact("fabproj", env!("CARGO_PKG_VERSION").to_owned()),
        ],
        sections: vec![section],
    })
}

/// CSV: a line for each run, all digits kept.
pub(super) fn csv(records: &[ScaleRecord]) -> String {
    let mut text = String::from(
        "family,method,instance,problems,feasible,feasible_1e-6,fresh,fresh_feasible,mean_gap,median_gap,p99_gap,worst_gap,p50_us,p99_us,batch_us,\
         peer_us,training_seconds,training_tests,answer_tests,without_reference\n",
    );
    let number =
        |value: Option<f64>| value.map_or_else(String::new, |value| format!("{value:.3e}"));
    for row in rows(records) {
        let mut of_row = row.records;
        of_row.sort_by_key(|record| record.key.seed);
        for record in of_row {
            // Writing into a string cannot fail.
            let _ = writeln!(
                text,
                "{},{},{},{},{},{},{},{},{},{},{},{},{:.2},{:.2},{},{},{:.1},{},{},{}",
                row.family,
                row.method.name(),
                record.key.seed,
                record.key.problems,
                record.feasible,
                record.nearly_feasible,
                record.fresh,
                record.fresh_feasible,
                number(record.mean_gap),
                number(record.median_gap),
                number(record.p99_gap),
                number(record.worst_gap),
                record.p50_us,
                record.p99_us,
                number(record.batch_us),
                number(record.peer_us),
                record.training_seconds,
                record
                    .training_tests
                    .map_or_else(String::new, |count| count.to_string()),
                number(record.answer_tests),
                record.without_reference,
            );
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn record(seed: u64, goal: f64) -> ScaleRecord {
        let key = json!({
            "version": 3, "family": "qp-100", "method": "solver", "seed": seed, "problems": 300,
            "settings": { "seed": seed, "goal": goal },
        });
        let record = json!({
            "key": key, "feasible": 1.0, "nearly_feasible": 1.0, "mean_gap": 0.0, "median_gap": 0.0,
            "p99_gap": 0.0, "worst_gap": 0.0, "fresh": 0, "fresh_feasible": 0, "p50_us": 1.0, "p99_us": 1.0,
            "batch_us": null, "peer_us": null, "training_seconds": 1.0, "training_tests": null,
            "answer_tests": null, "without_reference": 0, "machine": "",
        });
        serde_json::from_value(record).unwrap()
    }

    #[test]
    fn instances_with_the_same_settings_make_one_row() {
        let records = [
            record(0, 1e-6),
            record(1, 1e-6),
            record(2, 1e-6),
            record(0, 1e-3),
        ];
        let rows = rows(&records);
        assert_eq!(rows.len(), 1);
        let seeds: Vec<u64> = rows[0].records.iter().map(|one| one.key.seed).collect();
        assert_eq!(seeds, [0, 1, 2]);
    }
}
