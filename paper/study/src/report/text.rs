//! The report as Markdown, LaTeX and CSV.

use std::fmt::Write;

use super::view::{Entry, Page, View};
use crate::problem::Objective;
use crate::published::PaperTables;
use crate::table::{Estimate, Table};

/// Markdown: facts and tables; figures are in the page.
pub(super) fn markdown(page: &Page) -> String {
    let mut text = String::from("# The paper's optimization study\n\n");
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
    text.push_str(
        "\nPublished figures are in brackets. `study.html` has the same tables in colour, with the figures.\n",
    );
    for section in page
        .sections
        .iter()
        .filter(|section| !section.tables.is_empty())
    {
        let _ = write!(text, "\n## {}\n\n{}\n", section.title, section.note);
        for table in &section.tables {
            let _ = write!(text, "\n### {}\n\n{}", table.title, markdown_table(table));
        }
    }
    text
}

fn markdown_table(view: &View) -> String {
    let mut names = view
        .groups
        .iter()
        .flat_map(|(name, columns)| std::iter::repeat_n(name, *columns));
    let header: Vec<String> = view
        .header
        .iter()
        .map(|column| match names.next().map_or("", String::as_str) {
            "" => column.clone(),
            name => format!("{name}: {column}"),
        })
        .collect();
    let mut text = format!(
        "| method | {} |\n|---|{}\n",
        header.join(" | "),
        "---|".repeat(header.len())
    );
    for line in &view.rows {
        let entries: Vec<String> = line.entries.iter().map(bracketed).collect();
        let label = if line.ours {
            format!("**{}**", line.label)
        } else {
            line.label.clone()
        };
        let _ = writeln!(text, "| {label} | {} |", entries.join(" | "));
    }
    text
}

fn bracketed(entry: &Entry) -> String {
    match entry.published.as_str() {
        "" => entry.text.clone(),
        published => format!("{} ({published})", entry.text),
    }
}

/// LaTeX: one `table*` for each table, for a document with `booktabs`, `xcolor` and `graphicx`.
pub(super) fn latex(page: &Page) -> String {
    let mut text = String::from(
        "% Needs \\usepackage{booktabs,xcolor,graphicx}. Published figures are grey.\n",
    );
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
        "r".repeat(view.header.len())
    );
    let groups: Vec<String> = view
        .groups
        .iter()
        .map(|(name, columns)| {
            format!("\\multicolumn{{{columns}}}{{c}}{{{}}}", latex_escaped(name))
        })
        .collect();
    let _ = writeln!(text, " & {} \\\\", groups.join(" & "));
    let header: Vec<String> = view
        .header
        .iter()
        .map(|column| latex_escaped(column))
        .collect();
    let _ = writeln!(text, "method & {} \\\\\n\\midrule", header.join(" & "));
    for line in &view.rows {
        let entries: Vec<String> = line.entries.iter().map(latex_entry).collect();
        let label = latex_escaped(&line.label);
        let label = if line.ours {
            format!("\\textbf{{{label}}}")
        } else {
            label
        };
        let _ = writeln!(text, "{label} & {} \\\\", entries.join(" & "));
    }
    let _ = writeln!(
        text,
        "\\bottomrule\n\\end{{tabular}}}}\n\\caption{{{}}}\n\\end{{table*}}",
        latex_escaped(&view.title)
    );
    text
}

fn latex_entry(entry: &Entry) -> String {
    let text = latex_escaped(&entry.text);
    match entry.published.as_str() {
        "" => text,
        published => format!("{text} {{\\color{{gray}}({published})}}"),
    }
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
pub(super) fn csv(tables: &[Table], paper: &PaperTables) -> String {
    let mut text = String::from(
        "table,set,method,guarded,objective,trainings,feasible,feasible_least,feasible_most,\
         true_gap,true_gap_half_width,paper_gap,paper_gap_of_exact_solver,violation,p50_us,p99_us,\
         published_feasible,published_gap,published_ms\n",
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
                let mean = |value: &Option<Estimate>| number(value.map(|value| value.mean));
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
                    number(Some(cell.paper_gap.mean)),
                    number(table.floors[index]),
                    mean(&cell.violation),
                    format!("{:.3}", cell.p50_us),
                    format!("{:.3}", cell.p99_us),
                    number(published.map(|published| published.feasible_percent / 100.0)),
                    number(published.map(|published| published.gap)),
                    number(published.map(|published| published.milliseconds)),
                ];
                let _ = writeln!(text, "{}", fields.join(","));
            }
        }
    }
    text
}
