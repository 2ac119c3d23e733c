//! Sets up, checks and benches everything.
fn main() {}
