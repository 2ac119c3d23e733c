//! Words beside points, none over another.

/// The usual width of a letter, in points of the sheet.
const LETTER: f64 = 4.9;
/// From a point to its word.
pub(super) const GAP: f64 = 6.0;
/// From one line of words to the next.
const LINE: f64 = 10.5;
/// Half the width of a dot that words keep off.
const DOT: f64 = 3.0;

/// A word's place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Place {
    /// Its left end.
    pub(super) left: f64,
    /// The middle of its height.
    pub(super) middle: f64,
    /// Its right end.
    pub(super) right: f64,
    /// Whether it is not on a level with its point.
    pub(super) moved: bool,
}

impl Place {
    fn meets(&self, other: &Self) -> bool {
        self.left < other.right
            && other.left < self.right
            && (self.middle - other.middle).abs() < LINE
    }

    fn covers(&self, (x, y): (f64, f64)) -> bool {
        (self.left - DOT..self.right + DOT).contains(&x)
            && (self.middle - y).abs() < 0.5 * LINE + DOT
    }
}

/// Places for the words of some points on a sheet of the given size: on a level with the point if there is room,
/// otherwise as near above or below as there is; to its right, or to its left.
pub(super) fn places(points: &[(f64, f64)], words: &[&str], size: (f64, f64)) -> Vec<Place> {
    let mut taken: Vec<Place> = Vec::new();
    for (&point, word) in points.iter().zip(words) {
        let width = LETTER * word.chars().count() as f64;
        let free = |place: &Place| {
            let inside = place.left >= 0.0
                && place.right <= size.0
                && (LINE..size.1 - LINE).contains(&place.middle);
            inside
                && !taken.iter().any(|other| other.meets(place))
                && !points.iter().any(|dot| place.covers(*dot))
        };
        let found = candidates(point, width, size.1).find(free);
        // A sheet that is full: words lie over each other.
        let place = found.or_else(|| candidates(point, width, size.1).next());
        taken.extend(place);
    }
    taken
}

/// The nearest first.
fn candidates((x, y): (f64, f64), width: f64, height: f64) -> impl Iterator<Item = Place> {
    let rows = (height / LINE) as i32;
    let steps = (0..rows).flat_map(|step| [step, -step]);
    steps.flat_map(move |step| {
        [x + GAP, x - GAP - width].map(|left| Place {
            left,
            middle: y + f64::from(step) * LINE,
            right: left + width,
            moved: step != 0,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_word_lies_over_another_or_over_a_dot() {
        let points: Vec<(f64, f64)> = (0..20)
            .map(|index| (300.0 + f64::from(index % 4), 200.0 + f64::from(index)))
            .chain([(2.0, 200.0), (598.0, 200.0)])
            .collect();
        let words = vec!["a method of many letters"; points.len()];
        let places = places(&points, &words, (600.0, 400.0));
        assert_eq!(places.len(), points.len());
        for (index, place) in places.iter().enumerate() {
            assert!(place.left >= 0.0 && place.right <= 600.0, "{place:?}");
            assert!(!points.iter().any(|dot| place.covers(*dot)), "{place:?}");
            let mut earlier = places[..index].iter();
            assert!(!earlier.any(|other| other.meets(place)), "{place:?}");
        }
    }

    #[test]
    fn a_point_with_room_has_its_word_at_its_side() {
        let at = places(
            &[(10.0, 50.0), (190.0, 50.0)],
            &["one", "two"],
            (200.0, 100.0),
        );
        assert_eq!((at[0].left, at[0].middle, at[0].moved), (16.0, 50.0, false));
        assert_eq!((at[1].right, at[1].moved), (184.0, false));
    }
}
