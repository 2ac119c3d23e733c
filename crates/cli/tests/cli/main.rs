//! The command as a user meets it.

mod bad_input;
#[path = "../common/mod.rs"]
mod common;
mod examples;
#[path = "../hostile/mod.rs"]
mod hostile;
mod labelled;
mod model_commands;
mod portfolio;
mod project;
mod set_files;
mod solve;
mod train;
mod two_link_arm;
