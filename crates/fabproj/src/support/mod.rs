//! Helpers that the commands of this repository share. Not a part of the public interface.

mod files;
mod lock;
mod rows;

pub use self::files::{
    NewFile, is_same_file, read_at_most, read_safetensors, remove_temporaries, target_of,
    write_atomically,
};
pub(crate) use self::lock::Lock;
pub use self::rows::{MAX_ROW_BYTES, RowError, RowScanner, WholeRows};

/// How many names a message offers.
const OFFERED: usize = 3;
/// Nothing is like a longer name; comparing takes time in proportion to its length.
const LONGEST_NAME: usize = 100;
/// Longer text is cut where a message quotes it.
const LONGEST_SHOWN: usize = 120;

/// Text of a user or a file as a message may show it: cut where it is long, and without characters that a
/// terminal obeys.
///
/// ```
/// assert_eq!(fabproj::support::shown("load"), "load");
/// assert_eq!(fabproj::support::shown("\u{1b}[2J"), "\\u{1b}[2J");
/// ```
pub fn shown(text: &str) -> String {
    let mut plain = String::new();
    for letter in text.chars().take(LONGEST_SHOWN) {
        if is_obeyed(letter) {
            plain.extend(letter.escape_default());
        } else {
            plain.push(letter);
        }
    }
    if text.len() > LONGEST_SHOWN {
        let length = text.chars().count();
        if length > LONGEST_SHOWN {
            plain += &format!("… ({length} characters)");
        }
    }
    plain
}

/// Whether a terminal may obey a character: controls, and marks that turn the direction of writing.
pub fn is_obeyed(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The names most like `wanted`, best first: those that contain it (or that it contains), then those
/// that differ by the fewest inserted, deleted, changed or swapped letters.
///
/// ```
/// let near = fabproj::support::near_names("two-mons", ["star", "two-moons", "torus"]);
/// assert_eq!(near[0], "two-moons");
/// ```
pub fn near_names<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    if wanted.len() > LONGEST_NAME {
        return Vec::new();
    }
    let wanted = wanted.to_lowercase();
    let mut ranked: Vec<(bool, usize, &str)> = names
        .into_iter()
        .filter(|name| name.len() <= LONGEST_NAME)
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

/// `; did you mean `a`, `b` or `c`?`, or nothing where there are no names.
///
/// ```
/// use fabproj::support::did_you_mean;
/// assert_eq!(did_you_mean(&["star".into(), "torus".into()]), "; did you mean `star` or `torus`?");
/// assert_eq!(did_you_mean(&[]), "");
/// ```
pub fn did_you_mean(near: &[String]) -> String {
    let quoted: Vec<String> = near.iter().map(|name| format!("`{name}`")).collect();
    match quoted.split_last() {
        None => String::new(),
        Some((last, [])) => format!("; did you mean {last}?"),
        Some((last, others)) => format!("; did you mean {} or {last}?", others.join(", ")),
    }
}

/// A share in per cent. Never rounded up to 100 or down to 0: those are said only when they are true.
pub fn percent(share: f64) -> String {
    let value = 100.0 * share;
    let digits = if value >= 100.0 || value <= 0.0 {
        return format!("{value:.0} %");
    } else if value > 99.99 {
        4
    } else if !(1.0..=99.0).contains(&value) {
        2
    } else {
        1
    };
    let scale = 10_f64.powi(digits);
    let value = (value * scale).floor() / scale;
    format!("{value:.*} %", digits as usize)
}

/// A confidence in per cent, as it was asked for.
pub fn confidence(share: f64) -> String {
    let text = format!("{:.6}", 100.0 * share);
    format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
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

    #[test]
    fn shares_are_never_made_better_than_they_are() {
        assert_eq!(percent(1.0), "100 %");
        assert_eq!(percent(0.999_999_9), "99.9999 %");
        assert_eq!(percent(0.999_96), "99.9960 %");
        assert_eq!(percent(0.995_49), "99.54 %");
        assert_eq!(percent(0.5), "50.0 %");
        assert_eq!(percent(0.000_42), "0.04 %");
        assert_eq!(percent(0.0), "0 %");
    }

    #[test]
    fn long_and_strange_text_is_shown_short_and_plain() {
        assert_eq!(shown("a\u{1b}[2Jb\r"), "a\\u{1b}[2Jb\\r");
        let long = shown(&"é".repeat(30_000));
        assert!(long.chars().count() < 200 && long.ends_with("… (30000 characters)"));
        assert!(near_names(&"x".repeat(30_000), ["xx"]).is_empty());
    }
}
