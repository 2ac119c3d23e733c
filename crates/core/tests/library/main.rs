//! The core as other programs use it.

mod callers_numbers;
mod common;
mod equations;
mod gradient;
mod guard_is_always_feasible;
mod guard_of_sets_that_may_be_empty;
mod latent;
mod learned_solver;
mod misuse;
mod model_bytes;
mod no_allocation;
mod not_finite;
mod one_answer_from_all_calls;
mod recorded_bits;
mod solver;

/// Counts per thread: only tests that ask for it notice.
#[global_allocator]
static ALLOCATOR: common::counting::Counting = common::counting::Counting;
