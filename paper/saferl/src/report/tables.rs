//! The tables of the report.

use std::fmt::Write;

use serde::Serialize;

use super::groups::Group;
use super::{Published, Section};

/// A table as text.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Table {
    title: &'static str,
    header: Vec<String>,
    rows: Vec<Vec<String>>,
}

/// All tables of one task.
pub(super) fn tables(groups: &[Group], published: &[Published]) -> Vec<Table> {
    let mut tables = vec![main(groups), spread(groups), behaviour(groups)];
    if groups.iter().any(|group| corrected(group) > 0.0) {
        tables.push(corrections(groups));
    }
    if !published.is_empty() {
        tables.push(published_table(published));
    }
    tables
}

fn table(
    title: &'static str,
    header: &[&str],
    groups: &[Group],
    row: impl Fn(&Group) -> Vec<String>,
) -> Table {
    let labelled = |(index, group): (usize, &Group)| {
        let label = format!("{} {}", index + 1, group.label);
        [label].into_iter().chain(row(group)).collect()
    };
    let first = ["method"].into_iter().chain(header.iter().copied());
    Table {
        title,
        header: first.map(str::to_owned).collect(),
        rows: groups.iter().enumerate().map(labelled).collect(),
    }
}

fn main(groups: &[Group]) -> Table {
    let title = "Means over training seeds, with 95 % intervals where there are several";
    let header = ["steps", "seeds", "reward", "cost", "zero-cost episodes"];
    table(title, &header, groups, |group| {
        vec![
            group.steps.to_string(),
            group.runs.len().to_string(),
            group.estimate(|s| s.reward.mean).text(2),
            group.estimate(|s| s.cost.mean).text(1),
            percent(group.estimate(|s| s.zero_cost_share).mean),
        ]
    })
}

fn spread(groups: &[Group]) -> Table {
    let title = "Over episodes: standard deviation, then quantiles 0.1, 0.5 and 0.9";
    let header = ["reward sd", "reward quantiles", "cost sd", "cost quantiles"];
    table(title, &header, groups, |group| {
        let mean = |measure: fn(&crate::evaluate::Summary) -> f64| group.estimate(measure).mean;
        vec![
            format!("{:.2}", mean(|s| s.reward.std)),
            format!(
                "{:.1}, {:.1}, {:.1}",
                mean(|s| s.reward.p10),
                mean(|s| s.reward.median),
                mean(|s| s.reward.p90)
            ),
            format!("{:.1}", mean(|s| s.cost.std)),
            format!(
                "{:.0}, {:.0}, {:.0}",
                mean(|s| s.cost.p10),
                mean(|s| s.cost.median),
                mean(|s| s.cost.p90)
            ),
        ]
    })
}

fn behaviour(groups: &[Group]) -> Table {
    let title = "Behaviour: cost by its kinds, and the times of an episode and of the training";
    let kinds = groups
        .first()
        .map_or(&[][..], |group| group.summaries[0].cost_by_kind.as_slice());
    let mut header = vec!["goals", "distance"];
    header.extend(kinds.iter().map(|(kind, _)| kind.as_str()));
    header.extend(["ms per episode", "training"]);
    table(title, &header, groups, |group| {
        let runs = group.runs.len() as f64;
        let seconds: f64 = group.runs.iter().map(|run| run.training_seconds()).sum();
        let mut row = vec![
            group.estimate(|s| s.goals).text(2),
            group.estimate(|s| s.distance).text(1),
        ];
        row.extend((0..kinds.len()).map(|index| {
            let cost = group.estimate(|s| s.cost_by_kind[index].1).mean;
            format!("{cost:.1}")
        }));
        row.extend([
            format!("{:.1}", 1e3 * group.estimate(|s| s.seconds).mean),
            if seconds > 0.0 {
                format!("{:.0} s", seconds / runs)
            } else {
                "–".to_owned()
            },
        ]);
        row
    })
}

fn corrected(group: &Group) -> f64 {
    group.estimate(|s| s.corrected_share).mean
}

fn corrections(groups: &[Group]) -> Table {
    let title = "Corrected actions";
    let header = ["share of steps", "mean distance when corrected"];
    table(title, &header, groups, |group| {
        vec![
            percent(corrected(group)),
            format!("{:.2}", group.estimate(|s| s.correction).mean),
        ]
    })
}

fn published_table(published: &[Published]) -> Table {
    let header = ["method", "source", "steps", "reward", "cost"];
    let row = |row: &Published| {
        vec![
            format!("{} {}", row.letter, row.method),
            row.source.to_owned(),
            row.steps.to_owned(),
            format!("{:.2}", row.reward),
            format!("{:.1}", row.cost),
        ]
    };
    Table {
        title: "Published figures",
        header: header.map(str::to_owned).to_vec(),
        rows: published.iter().map(row).collect(),
    }
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

/// All tables as Markdown.
pub(super) fn markdown(sections: &[Section]) -> String {
    let mut text = String::new();
    for section in sections {
        let _ = write!(text, "## {}\n\n", section.task);
        for table in &section.tables {
            let _ = write!(text, "{}:\n\n", table.title);
            let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
            text.push_str(&line(&table.header));
            let rule: Vec<String> = table.header.iter().map(|_| "---".to_owned()).collect();
            text.push_str(&line(&rule));
            table.rows.iter().for_each(|row| text.push_str(&line(row)));
            text.push('\n');
        }
    }
    text
}

/// One line per run.
pub(super) fn csv(groups: &[Group]) -> String {
    let mut text =
        "task,method,seed,steps,episodes,reward,reward_sd,cost,cost_sd,zero_cost_share,goals,\
                    distance,corrected_share,correction,seconds_per_episode,training_seconds\n"
            .to_owned();
    for group in groups {
        for (run, s) in group.runs.iter().zip(&group.summaries) {
            let label = format!("\"{}\"", group.label.replace('"', "\"\""));
            let _ = writeln!(
                text,
                "{},{label},{},{},{},{},{},{},{},{},{},{},{},{},{},{}",
                group.task,
                run.key.seed,
                run.steps(),
                s.episodes,
                s.reward.mean,
                s.reward.std,
                s.cost.mean,
                s.cost.std,
                s.zero_cost_share,
                s.goals,
                s.distance,
                s.corrected_share,
                s.correction,
                s.seconds,
                run.training_seconds()
            );
        }
    }
    text
}
