//! The paper's optimization study: problems, their exact optima, every method, the protocol, tables.
//!
//! A *run* trains one [method] for one set, one [objective](Objective) and one seed, and lets
//! it answer the problems of the [protocol]. Finished runs are kept in a [`Store`](store::Store),
//! a folder of small files, and are never repeated.
//!
//! ```
//! use fab_study::method::{self, Task};
//! use fab_study::protocol::{Exam, Protocol};
//! use fab_study::{Effort, Objective, StudySet, Workshop};
//!
//! let set = StudySet::open("concentric-circles")?;
//! let shop = Workshop::in_memory(Effort::quick());
//! let entry = method::find("projected-gradient")?;
//! let task = Task { set: set.clone(), objective: Objective::Linear, seed: 0, shop: &shop };
//! let mut trained = entry.make(shop.effort()).train(&task)?;
//! let exam = Exam::prepare(&set, Objective::Linear, &Protocol { draws: 1, problems: 20 })?;
//! let answers = exam.examine(&set, trained.solver.as_mut());
//! assert_eq!(answers.feasible_share(), 1.0);
//! // Projected gradient as the paper uses it is far from the optimum.
//! assert!(answers.true_gap.mean > 0.1);
//! # Ok::<(), fab_study::StudyError>(())
//! ```

mod effort;
mod error;
mod machine;
pub mod method;
pub mod optimum;
pub mod plan;
mod problem;
pub mod protocol;
pub mod published;
pub mod report;
mod sets;
pub mod solver_net;
pub mod store;
pub mod table;
pub mod weights;
mod workshop;

pub use effort::Effort;
pub use error::StudyError;
pub use problem::{Objective, Problem};
pub use sets::{SETS, StudySet};
pub use workshop::{ProjectorRecipe, SharedProjector, Workshop};
