//! The paper's method at its public border.
#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

mod data;
mod memory;
mod recipe;
mod training;

/// The allocator of the core's tests, which counts per thread.
#[path = "../../../../crates/core/tests/library/common/counting.rs"]
mod counting;

#[global_allocator]
static ALLOCATOR: counting::Counting = counting::Counting;
