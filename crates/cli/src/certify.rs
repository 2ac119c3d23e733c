//! `fabproj certify`: how often is it right, with which confidence.

use std::path::PathBuf;

use anyhow::Result;
use fabproj::certify::{Certificate, CoverageGrid, Plan, Slice, certify_guarded};

use crate::failure::wrong_usage;
use crate::opened::Opened;
use crate::options::Common;
use crate::show::{self, confidence, count, number, optional, percent};

#[derive(clap::Args)]
#[command(
    after_help = "Draws fresh inputs from the set's region of interest and fresh latent points, counts \
                  what is feasible, and writes the certificate into the model file. A model that was \
                  trained from labelled points holds a learned test of its own; another SET then tells \
                  the truth about it and its guard, and nothing is saved.\n\n\
                  Example:\n  fabproj certify moons.safetensors\n  \
                  fabproj certify moons.safetensors --samples 1000000 --seed 7 --json"
)]
pub struct Arguments {
    /// The model file
    model: PathBuf,

    /// The set that decides: a built-in name or a set file (.toml); the model's own by default
    set: Option<String>,

    /// Inputs to draw, and latent points inside and on the surface of each chart's latent set
    #[arg(long, value_name = "N", default_value_t = Plan::default().samples)]
    samples: usize,

    /// The lower bounds hold with this probability
    #[arg(long, value_name = "P", default_value_t = Plan::default().confidence)]
    confidence: f64,

    /// Allow another set than the one that the model was trained for; nothing is saved then
    #[arg(long)]
    other_set: bool,

    /// Print the certificate and leave the model file as it is
    #[arg(long)]
    no_save: bool,
}

pub fn run(arguments: &Arguments, common: &Common) -> Result<()> {
    let plan = Plan {
        samples: arguments.samples,
        confidence: arguments.confidence,
        seed: common.seed,
        ..Plan::default()
    };
    check(&plan)?;
    let mut opened = Opened::load(&arguments.model)?;
    let set = opened.set(arguments.set.as_deref(), arguments.other_set)?;
    // What was learned from labelled points guards, also where the truth decides.
    let guarding = if opened.is_learned() {
        opened.own_set()?
    } else {
        set.clone()
    };
    let certificate = certify_guarded(set.as_ref(), guarding.as_ref(), &opened.projector, &plan)?;
    if common.json {
        show::print_json(&certificate)?;
    } else {
        show::print(text(&certificate))?;
    }
    if arguments.no_save || !opened.is_own(set.as_ref()) {
        return Ok(());
    }
    opened.file.record.certificate = Some(serde_json::to_value(&certificate)?);
    opened.file.save(&opened.path)?;
    common.note(format_args!(
        "\ncertificate written into {}",
        opened.path.display()
    ));
    Ok(())
}

fn check(plan: &Plan) -> Result<()> {
    if plan.samples == 0 {
        return Err(wrong_usage(
            "--samples 0: a certificate needs at least one sample",
        ));
    }
    if !(plan.confidence > 0.0 && plan.confidence < 1.0) {
        let found = plan.confidence;
        return Err(wrong_usage(format!(
            "--confidence {found}: it must lie between 0 and 1, both excluded, such as 0.99"
        )));
    }
    Ok(())
}

/// A certificate as a person reads it.
pub fn text(certificate: &Certificate) -> String {
    let share = |name: &str, feasible: f64, bound: f64| {
        vec![name.to_owned(), percent(feasible), percent(bound)]
    };
    let shares = [
        share(
            "inputs, projected",
            certificate.raw_feasible,
            certificate.raw_lower_bound,
        ),
        share(
            "inputs, guarded",
            certificate.guarded_feasible,
            certificate.guarded_lower_bound,
        ),
        share(
            "decodes of the latent set",
            certificate.inside_feasible,
            certificate.inside_lower_bound,
        ),
        share(
            "decodes of its surface",
            certificate.surface_feasible,
            certificate.surface_lower_bound,
        ),
    ];
    let bound = format!("AT LEAST ({} SURE)", confidence(certificate.confidence));
    let table = show::table(&["SHARE OF FEASIBLE", "FOUND", &bound], &shares, true);
    let samples = format!(
        "{} inputs, and as many latent points inside and on the surface of each latent set; seed {}",
        count(certificate.samples),
        certificate.seed
    );
    let mut rows = vec![("samples".to_owned(), samples)];
    rows.push(("coverage".to_owned(), coverage(certificate)));
    rows.extend(distances(certificate));
    rows.push(("guard".to_owned(), guard(certificate)));
    if let Some(bound) = certificate.precision_lower_bound {
        let promise = format!(
            "statistical: a learned test decides what is feasible; at least {} of what it accepts is \
             truly so",
            percent(bound)
        );
        rows.push(("promise".to_owned(), promise));
    }
    rows.extend(by_x(certificate));
    if certificate.charts.len() > 1 {
        rows.push(("by chart".to_owned(), by_chart(certificate)));
    }
    format!("{table}\n\n{}", show::pairs(&rows))
}

/// What depends on x: the worst slice, all slices, and where the set looks empty.
fn by_x(certificate: &Certificate) -> Vec<(String, String)> {
    let mut rows = Vec::new();
    if let Some(worst) = worst_slice(certificate) {
        rows.push(("worst slice".to_owned(), worst));
    }
    if !certificate.slices.is_empty() {
        rows.push(("slices of x".to_owned(), slices(certificate)));
    }
    if let Some(empty) = empty(certificate) {
        rows.push(("empty".to_owned(), empty));
    }
    rows
}

/// The slice of x with the smallest share of feasible projections.
pub fn worst_slice(certificate: &Certificate) -> Option<String> {
    let worst = certificate.worst_slice.as_ref()?;
    let Slice { name, share, .. } = worst;
    Some(format!(
        "{name}: {} (at least {})",
        percent(share.feasible),
        percent(share.lower_bound)
    ))
}

/// At how many x the set looks empty.
pub fn empty(certificate: &Certificate) -> Option<String> {
    let share = certificate.empty as f64 / certificate.samples.max(1) as f64;
    (certificate.empty > 0).then(|| {
        format!(
            "no feasible point was found at the x of {} inputs ({}), which no share counts",
            count(certificate.empty),
            percent(share)
        )
    })
}

/// The shares of each coordinate's slices in a line.
fn slices(certificate: &Certificate) -> String {
    let single = certificate.slices.iter();
    let single = single.filter_map(|slice| match slice.intervals.as_slice() {
        [interval] => Some((interval, slice)),
        _ => None,
    });
    let mut lines: Vec<(&str, Vec<String>)> = Vec::new();
    for (interval, slice) in single {
        let share = match slice.share.samples {
            0 => "empty".to_owned(),
            _ => percent(slice.share.feasible),
        };
        match lines.last_mut() {
            Some((name, shares)) if *name == interval.parameter => shares.push(share),
            _ => lines.push((&interval.parameter, vec![share])),
        }
    }
    let lines = lines
        .iter()
        .map(|(name, shares)| format!("{name} from low to high: {}", shares.join(", ")));
    lines.collect::<Vec<_>>().join("\n")
}

fn coverage(certificate: &Certificate) -> String {
    match (certificate.coverage, &certificate.coverage_grid) {
        (Some(share), Some(grid)) => format!(
            "{} of the {} feasible cells {} are reached{}",
            percent(share),
            count(grid.cells),
            sides(grid),
            places(grid)
        ),
        _ => "not measured (up to three dimensions, where queries are not limited)".to_owned(),
    }
}

/// How large the cells of a grid are.
pub fn sides(grid: &CoverageGrid) -> String {
    let sides: Vec<_> = grid.sides.iter().map(f64::to_string).collect();
    match &sides[..] {
        [first, rest @ ..] if rest.iter().all(|side| side == first) => format!("of side {first}"),
        sides => format!("of sides {}", sides.join(" × ")),
    }
}

/// At how many values of x a grid was laid.
pub fn places(grid: &CoverageGrid) -> String {
    match grid.places {
        1 => String::new(),
        places => format!(", at {places} values of x together"),
    }
}

fn distances(certificate: &Certificate) -> [(String, String); 2] {
    let moved = format!(
        "{} on average, of {} feasible inputs",
        optional(certificate.mean_move),
        count(certificate.feasible_inputs)
    );
    let distance = match certificate.nearest_distance {
        Some(nearest) => format!(
            "{} on average, of infeasible inputs; {} to the nearest point, so {} too far",
            optional(certificate.mean_distance),
            number(nearest),
            optional(certificate.mean_excess)
        ),
        None => format!(
            "{} on average, of infeasible inputs; the set does not know its nearest points",
            optional(certificate.mean_distance)
        ),
    };
    [
        ("move".to_owned(), moved),
        ("distance".to_owned(), distance),
    ]
}

fn guard(certificate: &Certificate) -> String {
    if let Some(problem) = &certificate.guard_problem {
        return format!("impossible: {problem}");
    }
    let statuses = certificate.guarded_statuses.iter();
    let statuses: Vec<_> = statuses
        .map(|(name, found)| format!("{} {name}", count(*found)))
        .collect();
    statuses.join(", ")
}

fn by_chart(certificate: &Certificate) -> String {
    let lines = certificate.charts.iter().enumerate().map(|(index, chart)| {
        let (inside, surface) = (
            percent(chart.inside.feasible),
            percent(chart.surface.feasible),
        );
        format!("{index}: {inside} inside, {surface} on the surface")
    });
    lines.collect::<Vec<_>>().join("\n")
}
