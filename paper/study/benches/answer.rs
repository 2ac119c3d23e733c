//! Where the time of an answer goes: `cargo bench -p fab-study --bench answer [-- SET...]`.
//!
//! Prints the median of each part in nanoseconds: the solver network with its features, the projection
//! of all its points, the choice among them, all together (with the polish of the default preset), and all
//! under the guard. The networks are hardly trained; that changes what they answer, and how long they take
//! only in so far as fewer answers are feasible at once and polished.

use std::error::Error;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use fab_study::method::{BestHead, Guarded, Solver, Task, choose};
use fab_study::solver_net::{FrozenProjector, Unsupervised};
use fab_study::{Context, Effort, Objective, Problem, ProjectorRecipe, StudySet};
use fabproj::Settings;
use fabproj::core::RawOutcome;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// Calls of which the median is taken.
const CALLS: usize = 20_001;
/// Problems that take turns.
const PROBLEMS: usize = 512;

fn main() -> Result<(), Box<dyn Error>> {
    let named: Vec<String> = std::env::args()
        .skip(1)
        .filter(|name| !name.starts_with('-'))
        .collect();
    let sets = match named.is_empty() {
        true => vec!["star-shaped".to_owned(), "shell-3d".to_owned()],
        false => named,
    };
    println!("set, preset, objective: network, projection, choice, answer, guarded (ns)");
    for name in &sets {
        for charts in [1, 3] {
            let with_charts = |settings| Settings {
                charts: Some(charts),
                ..settings
            };
            let (default, small) = (Unsupervised::default(), Unsupervised::small());
            measure(name, "default", default, with_charts(Settings::default()))?;
            measure(name, "small", small, with_charts(Settings::small()))?;
        }
    }
    Ok(())
}

fn measure(
    name: &str,
    preset: &str,
    training: Unsupervised,
    settings: Settings,
) -> Result<(), Box<dyn Error>> {
    let context = Context::in_memory(Effort::quick());
    let set = StudySet::open(name)?;
    let settings = Settings {
        phase_two: 500,
        rounds: 1,
        ..settings
    };
    let shared = context.projector(&set, &ProjectorRecipe::Default(settings), 1)?;
    let training = Unsupervised {
        steps: 200,
        ..training
    };
    for objective in Objective::ALL {
        let task = Task {
            set: Arc::clone(&set),
            objective,
            seed: 1,
            context: &context,
        };
        let projector = &shared.projector;
        let (net, _) = training.train(&task, &mut FrozenProjector::new(Arc::clone(projector)))?;
        let mut random = ChaCha8Rng::seed_from_u64(2);
        let problems: Vec<Problem> = (0..PROBLEMS)
            .map(|_| Problem::draw(objective, set.dim(), &mut random))
            .collect();
        let (mut work, mut workspace) = (net.work(), projector.workspace());
        let mut points = vec![0.0; net.heads() * set.dim()];
        let (mut answers, mut outcomes) = (points.clone(), vec![RawOutcome::Inside; net.heads()]);
        let mut y = vec![0.0; set.dim()];
        let network = median(&problems, |problem| {
            net.propose(problem, &mut work, &mut points);
        });
        let projection = median(&problems, |_| {
            let (out, outcomes) = (&mut answers, &mut outcomes);
            let done = projector.project_rows_into(&points, &[], out, outcomes, &mut workspace);
            black_box(done.is_ok());
        });
        let choice = median(&problems, |problem| choose(problem, &set, &answers, &mut y));
        let mut solver = BestHead::new(
            net,
            Arc::clone(projector),
            Arc::clone(&set),
            training.polish,
        );
        let answer = median(&problems, |problem| solver.answer(problem, &mut y));
        let mut guarded = Guarded::new(Box::new(solver), &set, projector)?;
        let under_guard = median(&problems, |problem| guarded.answer(problem, &mut y));
        println!(
            "{name}, {preset}, {objective}: {network}, {projection}, {choice}, {answer}, {under_guard} \
             ({} charts)",
            projector.charts()
        );
    }
    Ok(())
}

/// The median time of a call, in nanoseconds.
fn median<T>(problems: &[Problem], mut call: impl FnMut(&Problem) -> T) -> u128 {
    let mut times = Vec::with_capacity(CALLS);
    for problem in problems.iter().cycle().take(CALLS) {
        let start = Instant::now();
        black_box(call(black_box(problem)));
        times.push(start.elapsed().as_nanos());
    }
    times.sort_unstable();
    times[CALLS / 2]
}
