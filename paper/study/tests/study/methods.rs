//! Methods from training to answer, with trainings that are too short to be good.

use std::collections::BTreeSet;
use std::sync::Arc;

use fab_study::method::{Guarded, Method, Ours, Polish, Task, catalogue, find};
use fab_study::plan::{Plan, Selection};
use fab_study::protocol::{Answers, Evaluation, Protocol};
use fab_study::solver_net::Unsupervised;
use fab_study::store::digest;
use fab_study::{Context, Effort, Objective, ProjectorRecipe, SETS, StudySet};
use fabproj::Settings;

use crate::counting::allocations;

const FEW: Protocol = Protocol {
    draws: 1,
    problems: 40,
};

fn tiny() -> Effort {
    let projector = Settings {
        phase_two: 500,
        samples: 1000,
        feasible: 3000,
        infeasible: 3000,
        boundary: 2000,
        rounds: 1,
        ..Settings::quick()
    };
    Effort {
        paper_epochs: 0.001,
        small_projector: projector.clone(),
        projector,
        solver_steps: 200,
        mapping_steps: 300,
    }
}

fn answers(method: &str, set: &str, objective: Objective) -> (Answers, Option<Answers>) {
    let context = Context::in_memory(tiny());
    let set = StudySet::open(set).unwrap();
    let entry = find(method).unwrap();
    let made = entry.make(context.effort());
    let task = Task {
        set: set.clone(),
        objective,
        seed: 3,
        context: &context,
    };
    let mut trained = made.train(&task).unwrap();
    let evaluation = Evaluation::prepare(&set, objective, &FEW).unwrap();
    let raw = evaluation.evaluate(&set, trained.solver.as_mut());
    let guarded = made.projector().filter(|_| entry.guarded).map(|recipe| {
        let shared = context.projector(&set, &recipe, 3).unwrap();
        let mut guarded = Guarded::new(trained.solver, &set, &shared.projector).unwrap();
        evaluation.evaluate(&set, &mut guarded)
    });
    (raw, guarded)
}

#[test]
fn ours_is_near_the_optimum_even_after_a_short_training_and_guarded_always_feasible() {
    for objective in Objective::ALL {
        let (raw, guarded) = answers("fabproj-small", "concentric-circles", objective);
        assert!(raw.feasible_share() > 0.8, "{objective}: {raw:?}");
        assert!(raw.true_gap.mean < 0.4, "{objective}: {raw:?}");
        assert!(raw.true_gap.mean > -1e-6);
        assert_eq!(guarded.unwrap().feasible_share(), 1.0);
    }
}

#[test]
fn polished_answers_are_nearer_to_the_optimum() {
    let (context, set) = (
        Context::in_memory(tiny()),
        StudySet::open("star-shaped").unwrap(),
    );
    for objective in Objective::ALL {
        let evaluation = Evaluation::prepare(&set, objective, &FEW).unwrap();
        let gap = |polish: Option<Polish>| {
            let ours = Ours {
                // A projector that is good enough for the polish to matter.
                projector: ProjectorRecipe::Default(Settings {
                    feasible: Settings::quick().feasible,
                    infeasible: Settings::quick().infeasible,
                    boundary: Settings::quick().boundary,
                    ..context.effort().projector.clone()
                }),
                solver: Unsupervised {
                    steps: 200,
                    polish,
                    ..Unsupervised::default()
                },
            };
            let task = Task {
                set: Arc::clone(&set),
                objective,
                seed: 3,
                context: &context,
            };
            let mut trained = ours.train(&task).unwrap();
            evaluation
                .evaluate(&set, trained.solver.as_mut())
                .true_gap
                .mean
        };
        let (plain, polished) = (gap(None), gap(Some(Polish::default())));
        assert!(
            polished < 0.7 * plain,
            "{objective}: {plain}, then {polished}"
        );
    }
}

#[test]
fn the_papers_method_runs_from_end_to_end() {
    for method in ["fab", "fab-first-post-hoc", "fab-2-decoders", "fab-text"] {
        let (raw, guarded) = answers(method, "blob-with-bite", Objective::Linear);
        assert_eq!(raw.count, 40);
        assert!(raw.paper_gap.mean.is_finite() && guarded.is_none());
    }
}

#[test]
fn the_network_baselines_run_from_end_to_end() {
    for method in ["penalty-net", "fsnet", "homeomorphic"] {
        let (raw, guarded) = answers(method, "star-shaped", Objective::Linear);
        assert!(raw.paper_gap.mean.is_finite() && guarded.is_none());
        assert!(raw.feasible > 0, "{method}: {raw:?}");
    }
    for method in ["fsnet-fair", "homeomorphic-fair"] {
        let (raw, _) = answers(method, "star-shaped", Objective::Linear);
        assert_eq!(raw.feasible_share(), 1.0, "{method}");
        assert!(raw.true_gap.mean < 0.5, "{method}: {raw:?}");
    }
    let (raw, _) = answers("penalty-net-fair", "star-shaped", Objective::Linear);
    assert!(raw.feasible_share() > 0.3, "{raw:?}");
    assert!(raw.true_gap.mean < 0.5, "{raw:?}");
}

#[test]
fn simple_competitors_are_feasible_and_nearly_optimal() {
    for set in SETS {
        let planar = StudySet::open(set).unwrap().dim() == 2;
        for objective in Objective::ALL {
            let (exact, _) = answers("exact", set, objective);
            assert_eq!(exact.feasible_share(), 1.0, "{set} {objective}");
            let worst = exact.true_gap.most;
            assert!(worst < 1e-4, "{set} {objective}: {worst}");
            let (table, _) = answers("lookup", set, objective);
            assert_eq!(table.feasible_share(), 1.0, "{set} {objective}");
            let gap = table.true_gap.mean;
            assert!(!planar || gap < 0.01, "{set} {objective}: {gap}");
            let (descent, _) = answers("violation-descent", set, objective);
            assert_eq!(descent.feasible_share(), 1.0, "{set} {objective}");
            let gap = descent.true_gap.mean;
            assert!(planar || gap < 0.1, "{set} {objective}: {gap}");
        }
    }
}

#[test]
fn answers_allocate_nothing() {
    let context = Context::in_memory(tiny());
    let set = StudySet::open("concentric-circles").unwrap();
    let evaluation = Evaluation::prepare(&set, Objective::Quadratic, &FEW).unwrap();
    for method in [
        "fabproj",
        "fabproj-no-network",
        "lookup",
        "violation-descent",
        "projected-gradient",
        "penalty",
        "augmented-lagrangian",
        "interior-point",
        "penalty-net",
        "fsnet",
        "penalty-net-fair",
        "fsnet-fair",
        "homeomorphic",
        "homeomorphic-fair",
    ] {
        let task = Task {
            set: set.clone(),
            objective: Objective::Quadratic,
            seed: 3,
            context: &context,
        };
        let made = find(method).unwrap().make(context.effort());
        let mut trained = made.train(&task).unwrap();
        let mut y = [0.0; 2];
        trained.solver.answer(&evaluation.problems()[0], &mut y);
        let before = allocations();
        for problem in evaluation.problems() {
            trained.solver.answer(problem, &mut y);
        }
        assert_eq!(allocations(), before, "{method}");
    }
}

#[test]
fn every_method_has_a_name_and_a_key_of_its_own() {
    let names: BTreeSet<_> = catalogue().iter().map(|entry| &entry.name).collect();
    assert_eq!(names.len(), catalogue().len());
    let selection = Selection {
        sets: vec!["star-shaped".to_owned()],
        methods: names.iter().map(|name| (*name).clone()).collect(),
        ..Selection::default()
    };
    let effort = Effort::quick();
    let plan = Plan::new(&selection, &effort).unwrap();
    let keys: BTreeSet<_> = plan
        .runs
        .iter()
        .map(|run| digest(&run.key(&effort, FEW)))
        .collect();
    assert_eq!(keys.len(), plan.runs.len());
}

#[test]
fn methods_of_the_plane_stay_there_unless_they_are_named() {
    let effort = Effort::quick();
    let mut selection = Selection {
        sets: vec!["shell-3d".to_owned()],
        ..Selection::default()
    };
    let plan = Plan::new(&selection, &effort).unwrap();
    assert!(plan.runs.iter().all(|run| run.entry.is_for(3)));
    selection.methods = vec!["penalty".to_owned()];
    assert_eq!(Plan::new(&selection, &effort).unwrap().runs.len(), 3);
}
