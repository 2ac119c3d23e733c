//! Texts of set files that several tests use.

/// The set files of the examples.
pub const EXAMPLES: [&str; 7] = [
    include_str!("../../../../../examples/sets/corridor-20d.toml"),
    include_str!("../../../../../examples/sets/far-crescent.toml"),
    include_str!("../../../../../examples/sets/rotating-slit.toml"),
    include_str!("../../../../../examples/sets/spiral.toml"),
    include_str!("../../../../../examples/sets/swiss-cheese.toml"),
    include_str!("../../../../../examples/sets/three-islands.toml"),
    include_str!("../../../../../examples/sets/two-intervals.toml"),
];

/// A set of `a` and `b` in [-10, 10] with more text behind the bounds.
pub fn plane(rest: &str) -> String {
    format!("y = [\"a\", \"b\"]\nbounds = {{ a = [-10, 10], b = [-10, 10] }}\n{rest}")
}
