//! The report as Markdown, LaTeX and CSV.

use std::fmt::Write;

use super::view::{Page, View};
use crate::problem::Objective;
use crate::published::{PaperTables, ReleasedRuns, Spread};
use crate::table::{Estimate, Table};

/// Markdown: facts and the tables of sections that are `long` or not; figures are in the page.
pub(super) fn markdown(title: &str, note: &str, page: &Page, long: bool) -> String {
    let mut text = format!("# {title}\n\n");
    for (name, value) in &page.facts {
        let _ = writeln!(
            text,
            "- {name}: {}",
            if name == "command" {
                format!("`{value}`")
            } else {
                value.clone()
            }
        );
    }
    let _ = write!(text, "\n{note}\n");
    for section in page
        .sections
        .iter()
        .filter(|section| section.long == long && !section.tables.is_empty())
    {
        let _ = write!(text, "\n## {}\n\n{}\n", section.title, section.note);
        for table in &section.tables {
            let _ = write!(text, "\n### {}\n\n{}", table.title, markdown_table(table));
        }
    }
    text
}

fn markdown_table(view: &View) -> String {
    let mut text = format!(
        "| {} |\n|{}\n",
        view.header.join(" | "),
        "---|".repeat(view.header.len())
    );
    for line in &view.rows {
        let mut entries = line.entries.clone();
        if let (true, Some(label)) = (line.ours, entries.first_mut()) {
            *label = format!("**{label}**");
        }
        let _ = writeln!(text, "| {} |", entries.join(" | "));
    }
    text
}

/// LaTeX: one `table*` for each table, for a document with `booktabs` and `graphicx`.
pub(super) fn latex(page: &Page) -> String {
    let mut text = String::from("% Needs \\usepackage{booktabs,graphicx}.\n");
    for table in page.sections.iter().flat_map(|section| &section.tables) {
        text.push_str(&latex_table(table));
    }
    text
}

fn latex_table(view: &View) -> String {
    let mut text = String::from("\n\\begin{table*}\n\\centering\n\\resizebox{\\textwidth}{!}{%\n");
    let _ = writeln!(
        text,
        "\\begin{{tabular}}{{l{}}}\n\\toprule",
        "r".repeat(view.header.len().saturating_sub(1))
    );
    let joined = |texts: &[String]| {
        let escaped: Vec<String> = texts.iter().map(|text| latex_escaped(text)).collect();
        escaped.join(" & ")
    };
    let _ = writeln!(text, "{} \\\\\n\\midrule", joined(&view.header));
    for line in &view.rows {
        let bold = if line.ours { "\\bfseries " } else { "" };
        let _ = writeln!(text, "{bold}{} \\\\", joined(&line.entries));
    }
    let _ = writeln!(
        text,
        "\\bottomrule\n\\end{{tabular}}}}\n\\caption{{{}}}\n\\end{{table*}}",
        latex_escaped(&view.title)
    );
    text
}

fn latex_escaped(text: &str) -> String {
    text.replace('%', "\\%")
        .replace('&', "\\&")
        .replace('_', "\\_")
        .replace('<', "$<$")
        .replace('±', "$\\pm$")
        .replace('µ', "$\\mu$")
        .replace('×', "$\\times$")
        .replace('–', "--")
}

/// CSV: a line for each method, set and objective, all digits kept.
pub(super) fn csv(tables: &[Table], paper: &PaperTables, runs: &ReleasedRuns) -> String {
    let mut text = String::from(
        "table,set,method,guarded,objective,trainings,feasible,feasible_least,feasible_most,\
         true_gap,true_gap_half_width,true_gap_largest,paper_gap,paper_gap_deviation,paper_gap_of_exact_solver,\
         violation,p50_us,p99_us,mean_us,deviation_us,published_feasible,published_gap,published_gap_deviation,\
         published_ms,published_ms_deviation,released_code_feasible,released_code_gap\n",
    );
    let number = |value: Option<f64>| value.map_or_else(String::new, |value| format!("{value:.6}"));
    for table in tables {
        for row in &table.rows {
            for (index, objective) in Objective::ALL.into_iter().enumerate() {
                let Some(cell) = &row.cells[index] else {
                    continue;
                };
                let beside = row.paper.as_deref();
                let published = beside.and_then(|beside| paper.cell(&table.set, beside, objective));
                let released = runs.cell(&table.set, &row.method, objective);
                let mean = |value: &Option<Estimate>| number(value.map(|value| value.mean));
                let spread = |value: Option<Spread>| {
                    let value = value.map(|value| (value.mean, value.deviation)).unzip();
                    [number(value.0), number(value.1)]
                };
                let [published_gap, gap_deviation] = spread(published.map(|cell| cell.gap));
                let [published_ms, ms_deviation] = spread(published.map(|cell| cell.milliseconds));
                let fields = [
                    table.group.name().to_owned(),
                    table.set.clone(),
                    row.method.clone(),
                    row.guarded.to_string(),
                    objective.name().to_owned(),
                    cell.trainings.to_string(),
                    number(Some(cell.feasible.mean)),
                    number(Some(cell.feasible.least)),
                    number(Some(cell.feasible.most)),
                    mean(&cell.true_gap),
                    number(cell.true_gap.and_then(|gap| gap.half_width)),
                    number(cell.largest_gap),
                    number(Some(cell.paper_gap.mean)),
                    number(Some(cell.paper_gap_deviation)),
                    number(table.floors[index]),
                    mean(&cell.violation),
                    format!("{:.3}", cell.p50_us),
                    format!("{:.3}", cell.p99_us),
                    format!("{:.3}", cell.mean_us),
                    format!("{:.3}", cell.deviation_us),
                    number(published.map(|published| published.feasible_percent.mean / 100.0)),
                    published_gap,
                    gap_deviation,
                    published_ms,
                    ms_deviation,
                    number(released.map(|run| run.feasible_percent / 100.0)),
                    number(released.and_then(|run| run.gap)),
                ];
                let _ = writeln!(text, "{}", fields.join(","));
            }
        }
    }
    text
}
