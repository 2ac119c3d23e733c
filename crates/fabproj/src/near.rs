//! Names like a given one, for messages about unknown names.

/// How many names a message offers.
const OFFERED: usize = 3;

/// The names most like `wanted`, best first: those that contain it (or that it contains), then those
/// that differ by the fewest inserted, deleted, changed or swapped letters.
///
/// ```
/// let near = fabproj::near::near_names("two-mons", ["star", "two-moons", "torus"]);
/// assert_eq!(near[0], "two-moons");
/// ```
pub fn near_names<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let wanted = wanted.to_lowercase();
    let mut ranked: Vec<(bool, usize, &str)> = names
        .into_iter()
        .map(|name| {
            let related = !wanted.is_empty() && (name.contains(&wanted) || wanted.contains(name));
            (!related, strsim::damerau_levenshtein(&wanted, name), name)
        })
        .collect();
    ranked.sort();
    ranked
        .iter()
        .take(OFFERED)
        .map(|(_, _, name)| (*name).to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_names_come_before_misspellings() {
        assert_eq!(near_names("moons", ["moo", "two-moons", "noons"])[0], "moo");
        assert_eq!(
            near_names("star", ["stir", "star-shaped"])[0],
            "star-shaped"
        );
    }

    #[test]
    fn at_most_three_are_offered() {
        assert_eq!(near_names("", ["a", "b", "c", "d"]).len(), 3);
    }
}
