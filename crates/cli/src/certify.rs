//! `fabproj certify`: how often a projector is right, and with which confidence.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Result, bail};
use fabproj::solve::{GapPlan, SolverModel};
use fabproj::{Certificate, CoverageGrid, FileError, Inputs, Model, Plan, Slice};

use crate::failure::wrong_usage;
use crate::find::{self, Loaded};
use crate::options::Common;
use crate::points::{Layout, Points};
use crate::show::{self, confidence, count, number, optional, percent};
use crate::solve::record;

#[derive(clap::Args)]
#[command(
    after_help = "Draws fresh inputs from the set's region and fresh latent points, counts what is feasible, \
                  and writes the certificate into the model file. --inputs certifies for your own inputs \
                  instead: the certificate names their file. A model that was trained from labelled points \
                  has a learned test; with another SET that set decides, the learned test still guards, \
                  and nothing is saved. Of a solver: feasibility, and the gap to the optimum, on fresh \
                  x.\n\n\
                  Example:\n  fabproj certify moons.safetensors\n  \
                  fabproj certify moons.safetensors --samples 1000000 --seed 7 --json\n  \
                  fabproj certify moons.safetensors --inputs points.csv"
)]
pub struct Arguments {
    /// The model file
    model: PathBuf,

    /// The set that decides: a built-in name or a set file (.toml); the model's own by default
    set: Option<String>,

    /// CSV file of inputs, with the columns that `fabproj project` takes; drawn from the set's region by
    /// default
    #[arg(long, value_name = "FILE")]
    inputs: Option<PathBuf>,

    /// Inputs to draw, and latent points inside and on the surface of each chart's latent set; of a solver,
    /// x to draw [default: 100000; of a solver 500]
    #[arg(long, value_name = "N")]
    samples: Option<usize>,

    /// The lower bounds hold with this probability [default: 0.99]
    #[arg(long, value_name = "P")]
    confidence: Option<f64>,

    /// Allow a set that the model was not trained for; nothing is saved then
    #[arg(long)]
    other_set: bool,

    /// Print the certificate without saving it
    #[arg(long)]
    no_save: bool,

    /// Replace the model's certificate by one with fewer samples or a lower confidence
    #[arg(long)]
    force: bool,
}

pub fn run(arguments: &Arguments, common: &Common) -> Result<()> {
    let plan = Plan {
        samples: arguments.samples.unwrap_or(Plan::default().samples),
        confidence: (arguments.confidence).unwrap_or(Plan::default().confidence),
        seed: common.seed,
        ..Plan::default()
    };
    check(&plan)?;
    let read = stamp(&arguments.model);
    let mut model = match find::load(&arguments.model)? {
        Loaded::Projector(model) => *model,
        Loaded::Solver(model) => return solver(arguments, common, *model, read),
    };
    let old = model.certificate().cloned();
    let wanted = arguments.set.as_deref();
    let set = find::set_for(&model, &arguments.model, wanted, arguments.other_set)?;
    let rows = arguments.rows(&model)?;
    let plan = match &rows {
        Some(rows) => Plan {
            inputs: rows.inputs(),
            ..plan
        },
        None => plan,
    };
    let own = find::is_own(&model, &set);
    let certificate = if own {
        model.certify(&set, &plan)?.clone()
    } else {
        // A test that was learned from labelled points guards, also where another set decides.
        let guarding = match model.record().learned() {
            Some(_) => model.set()?,
            None => set.clone(),
        };
        let plan = Plan {
            guarding: Some(&guarding),
            ..plan
        };
        model.certify(&set, &plan)?.clone()
    };
    // A reader who has closed the pipe does not stop the certificate from being saved.
    let printed = match common.json {
        true => show::print_json(&certificate),
        false => show::print(text(&certificate)),
    };
    let weaker = old.filter(|old| is_weaker(&certificate, old) && !arguments.force);
    if let Some(old) = weaker.filter(|_| own && !arguments.no_save) {
        common.note(format_args!(
            "\nnot saved: the model's certificate has {} samples from {} and a confidence of {}; --force replaces \
             it",
            count(old.samples),
            old.inputs,
            confidence(old.confidence),
        ));
    } else if own && !arguments.no_save {
        arguments.save(common, read, |path| model.save(path))?;
    }
    printed
}

/// Measures feasibility and gap of a solver's answers.
fn solver(
    arguments: &Arguments,
    common: &Common,
    mut model: SolverModel,
    read: Option<Stamp>,
) -> Result<()> {
    let unused = [
        ("--inputs", arguments.inputs.is_some()),
        ("--other-set", arguments.other_set),
        ("--confidence", arguments.confidence.is_some()),
    ];
    let path = arguments.model.display();
    if let Some((flag, _)) = unused.iter().find(|(_, used)| *used) {
        return Err(wrong_usage(format!(
            "{flag} is for projectors; {path} is a solver"
        )));
    }
    let problem = find::problem_for(&model, &arguments.model, arguments.set.as_deref())?;
    let old = model.record().certificate.clone();
    let mut plan = GapPlan::default();
    plan.samples = arguments.samples.unwrap_or(plan.samples);
    plan.seed = common.seed;
    let certificate = model.certify(&problem, &plan)?.clone();
    let printed = match common.json {
        true => show::print_json(&certificate),
        false => show::print(record::certificate_text(&certificate)),
    };
    let weaker = old.filter(|old| certificate.samples < old.samples && !arguments.force);
    if arguments.no_save {
        return printed;
    }
    if let Some(old) = weaker {
        common.note(format_args!(
            "\nnot saved: the model's certificate has {} samples; --force replaces it",
            count(old.samples)
        ));
        return printed;
    }
    arguments.save(common, read, |path| model.save(path))?;
    printed
}

/// When a file was written, and its length.
type Stamp = (SystemTime, u64);

fn stamp(path: &Path) -> Option<Stamp> {
    let found = std::fs::metadata(path).ok()?;
    Some((found.modified().ok()?, found.len()))
}

/// Whether a certificate says less than another of the same set.
fn is_weaker(new: &Certificate, old: &Certificate) -> bool {
    let weaker = new.samples < old.samples || new.confidence < old.confidence;
    weaker && new.set_hash == old.set_hash
}

/// Numbers of a file of inputs that are kept, at most: a gigabyte.
const MOST_INPUTS: usize = 1 << 27;

/// Rows of a file of inputs.
struct Rows {
    name: String,
    y: Vec<f64>,
    x: Vec<f64>,
}

impl Rows {
    fn inputs(&self) -> Inputs<'_> {
        Inputs::Rows {
            name: &self.name,
            y: &self.y,
            x: &self.x,
        }
    }
}

impl Arguments {
    /// Writes the model with its certificate, unless the file is another one than was read.
    fn save(
        &self,
        common: &Common,
        read: Option<Stamp>,
        save: impl FnOnce(&Path) -> Result<(), FileError>,
    ) -> Result<()> {
        let path = self.model.display();
        if stamp(&self.model) != read {
            bail!("{path} was replaced while its certificate was measured; certify it again");
        }
        save(&self.model)?;
        common.note(format_args!("\ncertificate written into {path}"));
        Ok(())
    }

    /// The inputs of the file that was named.
    fn rows(&self, model: &Model) -> Result<Option<Rows>> {
        let Some(path) = &self.inputs else {
            return Ok(None);
        };
        let mut points = Points::open(
            path,
            &model.record().names,
            &model.record().x_names,
            &Layout::default(),
        )?;
        let (mut y, mut x) = (Vec::new(), Vec::new());
        let mut rows = 0;
        while let Some(block) = points.next_block()? {
            let chunk = points.parse(&block);
            let mut chunk = chunk.map_err(|bad| bad.error(&points.name, rows))?;
            rows += chunk.rows;
            y.append(&mut chunk.y);
            x.append(&mut chunk.x);
            if y.len() + x.len() > MOST_INPUTS {
                let name = points.name;
                bail!("{name} has more than {MOST_INPUTS} numbers; certify a part of its rows");
            }
        }
        let name = points.name;
        if y.is_empty() {
            bail!("{name} has no rows below its header");
        }
        Ok(Some(Rows { name, y, x }))
    }
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
            "--confidence {found}: choose a number between 0 and 1, such as 0.99"
        )));
    }
    Ok(())
}

/// A certificate as a person reads it.
pub fn text(certificate: &Certificate) -> String {
    let mut rows = vec![];
    let promise = certificate.precision_lower_bound.map(statistical);
    let inputs = format!(
        "{} from {}; seed {}",
        count(certificate.samples),
        certificate.inputs,
        certificate.seed
    );
    rows.push(("inputs".to_owned(), inputs));
    rows.push(("coverage".to_owned(), coverage(certificate)));
    rows.extend(distances(certificate));
    rows.push(("guard".to_owned(), guard(certificate)));
    rows.extend(by_x(certificate));
    if certificate.charts.len() > 1 {
        rows.push(("by chart".to_owned(), by_chart(certificate)));
    }
    let promise = promise.map_or_else(String::new, |promise| format!("promise   {promise}\n\n"));
    format!("{promise}{}\n\n{}", shares(certificate), show::pairs(&rows))
}

/// What a guard with a learned test promises.
fn statistical(bound: f64) -> String {
    format!(
        "statistical: a learned test decides; at least {} of what it accepts is truly feasible",
        percent(bound)
    )
}

/// The table of shares. Bounds are left out where they would promise more than is known: a learned test has a
/// promise of its own, and outputs that were all tested need none.
fn shares(certificate: &Certificate) -> String {
    let share = |name: &str, feasible: f64, bound: Option<f64>| {
        let bound = bound.filter(|_| !certificate.statistical);
        let bound = bound.map_or_else(|| "-".to_owned(), percent);
        vec![name.to_owned(), percent(feasible), bound]
    };
    let mut guarded = share("inputs, guarded", certificate.guarded_feasible, None);
    if !certificate.statistical && certificate.guard_problem.is_none() {
        guarded[2] = "all tested".to_owned();
    }
    let mut shares = vec![
        share(
            "inputs, raw",
            certificate.raw_feasible,
            Some(certificate.raw_lower_bound),
        ),
        guarded,
        share(
            "decodes of the latent set",
            certificate.inside_feasible,
            Some(certificate.inside_lower_bound),
        ),
        share(
            "decodes of its surface",
            certificate.surface_feasible,
            Some(certificate.surface_lower_bound),
        ),
    ];
    if let Some(enclosed) = &certificate.enclosed_feasible {
        let bound = Some(enclosed.lower_bound);
        shares.insert(1, share("inputs from holes, raw", enclosed.feasible, bound));
    }
    let title = match certificate.statistical {
        true => "SHARE ACCEPTED BY THE LEARNED TEST",
        false => "SHARE OF FEASIBLE",
    };
    let bound = format!("AT LEAST ({} SURE)", confidence(certificate.confidence));
    show::table(&[title, "FOUND", &bound], &shares, true)
}

/// How often guarded outputs are feasible: they are all tested.
pub fn guarded(certificate: &Certificate) -> String {
    let share = percent(certificate.guarded_feasible);
    if certificate.guard_problem.is_some() {
        return "no guard is possible".to_owned();
    }
    match certificate.guarded_outcomes.get("maybe-empty") {
        None | Some(0) => format!("{share}: every output is tested"),
        Some(_) => format!("{share}: every output is tested; the others are marked maybe-empty"),
    }
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
            "no feasible point was found at the x of {} inputs ({}); the shares leave them out",
            count(certificate.empty),
            percent(share)
        )
    })
}

/// The shares of each coordinate's slices in a line.
fn slices(certificate: &Certificate) -> String {
    let single = certificate.slices.iter();
    let single = single.filter(|slice| slice.intervals.len() == 1);
    let single = single.flat_map(|slice| slice.intervals.keys().map(move |name| (name, slice)));
    let mut lines: Vec<(&str, Vec<String>)> = Vec::new();
    for (name, slice) in single {
        let share = match slice.share.samples {
            0 => "empty".to_owned(),
            _ => percent(slice.share.feasible),
        };
        match lines.last_mut() {
            Some((last, shares)) if *last == name => shares.push(share),
            _ => lines.push((name, vec![share])),
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
        _ => "not measured (only up to three dimensions, without a limit of queries)".to_owned(),
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
            "{} on average, of infeasible inputs: {} beyond the nearest point, which is {} away",
            optional(certificate.mean_distance),
            optional(certificate.mean_excess),
            number(nearest)
        ),
        None => format!(
            "{} on average, of infeasible inputs (the nearest points are unknown)",
            optional(certificate.mean_distance)
        ),
    };
    [
        ("move".to_owned(), moved),
        ("distance (Euclidean)".to_owned(), distance),
    ]
}

fn guard(certificate: &Certificate) -> String {
    if let Some(problem) = &certificate.guard_problem {
        return format!("impossible: {problem}");
    }
    let outcomes = certificate.guarded_outcomes.iter();
    let outcomes: Vec<_> = outcomes
        .map(|(name, found)| format!("{} {name}", count(*found)))
        .collect();
    outcomes.join(", ")
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
