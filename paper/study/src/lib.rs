//! The paper's optimization study: problems, their exact optima, every method, the protocol, tables.
//!
//! A *run* trains one [method] for one set, one [objective](Objective) and one seed, and lets
//! it answer the problems of the [protocol]. Finished runs are kept in a [`Store`](store::Store),
//! a folder of small files, and are never repeated.
//!
//! ```
//! use fab_study::method::{self, Task};
//! use fab_study::protocol::{Evaluation, Protocol};
//! use fab_study::{Context, Effort, Objective, StudySet};
//!
//! let set = StudySet::open("concentric-circles")?;
//! let context = Context::in_memory(Effort::quick());
//! let entry = method::find("projected-gradient")?;
//! let task = Task { set: set.clone(), objective: Objective::Linear, seed: 0, context: &context };
//! let mut trained = entry.make(context.effort()).train(&task)?;
//! let evaluation = Evaluation::prepare(&set, Objective::Linear, &Protocol { draws: 1, problems: 20 })?;
//! let answers = evaluation.evaluate(&set, trained.solver.as_mut());
//! assert_eq!(answers.feasible_share(), 1.0);
//! // Projected gradient as the paper uses it is far from the optimum.
//! assert!(answers.true_gap.mean > 0.1);
//! # Ok::<(), fab_study::StudyError>(())
//! ```

mod context;
mod effort;
mod error;
pub mod hole;
mod machine;
pub mod method;
pub mod optimum;
pub mod plan;
mod problem;
pub mod protocol;
pub mod published;
pub mod report;
pub mod scale;
mod sets;
pub mod solver_net;
pub mod store;
pub mod table;
pub mod weight_search;

pub use context::{Context, ProjectorRecipe, SharedProjector};
pub use effort::Effort;
pub use error::StudyError;
pub use problem::{Objective, Problem};
pub use sets::{PRINTED_SHELLS, SETS, StudySet};
