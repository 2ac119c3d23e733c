//! The library as other programs use it.

mod built_in_sets;
mod examples;
mod instances;
#[cfg(all(feature = "csv", feature = "npz", feature = "parquet"))]
mod labelled_files;
mod learned_set;
mod learned_solver;
mod limited_queries;
mod model_bits;
mod model_file;
mod optimal_power_flow;
mod power_flow;
mod problem_files;
mod set_algebra;
mod set_equalities;
mod set_file_errors;
mod set_files;
mod set_texts;
mod set_vectors;
mod solving;
mod training;
