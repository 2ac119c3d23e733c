//! The `fabproj` command.
fn main() {}
