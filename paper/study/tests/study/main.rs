//! The study at its public border.
#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

mod exact_optima;
mod methods;
mod store;
