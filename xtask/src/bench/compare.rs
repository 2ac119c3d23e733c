//! Measures a group: ours and its peers in turns, round after round.

use anyhow::{Result, ensure};
use serde::Serialize;

use super::requirements::{Against, Group, PEAK};
use super::statistics::Spread;
use super::worker::Worker;

/// One line of the result.
#[derive(Debug, Serialize)]
pub struct Row {
    pub group: &'static str,
    pub what: &'static str,
    pub against: String,
    /// Seconds per call.
    pub ours: Spread,
    /// Seconds per call, or the limit; `None` for the peak, whose calls are of another size.
    pub theirs: Option<Spread>,
    /// How many times faster we are; of the peak, our share; of a limit, how often we fit into it.
    pub ratio: Spread,
    pub required: Option<f64>,
    pub met: Option<bool>,
}

/// Measures our case and all peers of a group in turns.
pub fn measure(
    group: &Group,
    rounds: usize,
    ours: &mut Worker,
    theirs: &mut Worker,
) -> Result<Vec<Row>> {
    ours.warm(group.name)?;
    for against in group.against {
        match against {
            Against::Peer { case, .. } => theirs.warm(case)?,
            Against::Peak { .. } => ours.warm(PEAK)?,
            Against::Limit { .. } => {}
        }
    }
    let mut our_seconds = Vec::with_capacity(rounds);
    let mut their_seconds = vec![Vec::with_capacity(rounds); group.against.len()];
    for round in 0..rounds {
        // The order rotates, so that no side always runs after the same other one.
        let places = group.against.len() + 1;
        for place in (0..places).map(|place| (place + round) % places) {
            match group.against.get(place) {
                None => our_seconds.push(ours.run(group.name)?),
                Some(Against::Peer { case, .. }) => their_seconds[place].push(theirs.run(case)?),
                Some(Against::Peak { .. }) => their_seconds[place].push(ours.run(PEAK)?),
                Some(Against::Limit { seconds }) => their_seconds[place].push(*seconds),
            }
        }
    }
    let mut rows = Vec::new();
    for (against, their_seconds) in group.against.iter().zip(their_seconds) {
        let per_flop = match against {
            Against::Peak { .. } => ours.flops(group.name)? / ours.flops(PEAK)?,
            _ => 1.0,
        };
        rows.push(row(group, against, &our_seconds, &their_seconds, per_flop));
    }
    Ok(rows)
}

/// Both sides must project alike, or the comparison would be of two different things.
pub fn agree(ours: &mut Worker, theirs: &mut Worker) -> Result<()> {
    for (y0, y1) in [
        (0.0, 0.0),
        (1.5, 0.0),
        (-0.4, 2.9),
        (-3.0, -3.0),
        (0.7, -1.1),
    ] {
        let (our_point, their_point) = (ours.project([y0, y1])?, theirs.project([y0, y1])?);
        let pairs = our_point.iter().zip(&their_point);
        let distance = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        // Written so that NaN is refused.
        ensure!(
            our_point.len() == their_point.len() && distance <= 1e-3,
            "({y0}, {y1}) is projected to {our_point:?} by us and to {their_point:?} by the peers"
        );
    }
    Ok(())
}

fn row(group: &Group, against: &Against, ours: &[f64], theirs: &[f64], per_flop: f64) -> Row {
    let ratios = ours
        .iter()
        .zip(theirs)
        .map(|(ours, theirs)| per_flop * theirs / ours);
    let ratio = Spread::of(ratios.collect());
    let (name, required) = match against {
        Against::Peer { what, times, .. } => ((*what).to_owned(), *times),
        Against::Peak { share } => ("multiply-add peak of the core".to_owned(), Some(*share)),
        Against::Limit { seconds } => (format!("limit of {:.1} µs", seconds * 1e6), Some(1.0)),
    };
    let their_spread = match against {
        Against::Peak { .. } => None,
        _ => Some(Spread::of(theirs.to_vec())),
    };
    Row {
        group: group.name,
        what: group.what,
        against: name,
        ours: Spread::of(ours.to_vec()),
        theirs: their_spread,
        ratio,
        required,
        met: required.map(|required| ratio.median >= required),
    }
}

#[cfg(test)]
mod tests {
    use super::super::requirements::peer;
    use super::*;

    fn group() -> &'static Group {
        &super::super::requirements::GROUPS[0]
    }

    #[test]
    fn a_peer_that_takes_thrice_as_long_gives_three() {
        let against = peer("x", "x", Some(2.8));
        let row = row(group(), &against, &[1.0, 2.0, 1.0], &[3.0, 6.0, 9.0], 1.0);
        assert_eq!(row.ratio.median, 3.0);
        assert_eq!(row.met, Some(true));
    }

    #[test]
    fn a_requirement_can_be_missed_and_be_absent() {
        let strict = peer("x", "x", Some(3.1));
        assert_eq!(row(group(), &strict, &[1.0], &[3.0], 1.0).met, Some(false));
        let free = peer("x", "x", None);
        assert_eq!(row(group(), &free, &[1.0], &[3.0], 1.0).met, None);
    }

    #[test]
    fn the_share_of_the_peak_counts_operations() {
        // 80 operations in 2 s, where the peak makes 100 in 2 s.
        let row = row(
            group(),
            &Against::Peak { share: 0.75 },
            &[2.0],
            &[2.0],
            80.0 / 100.0,
        );
        assert_eq!(row.ratio.median, 0.8);
        assert_eq!(row.met, Some(true));
    }

    #[test]
    fn a_limit_is_met_by_what_is_shorter() {
        let limit = Against::Limit { seconds: 0.4e-6 };
        assert_eq!(
            row(group(), &limit, &[0.3e-6], &[0.4e-6], 1.0).met,
            Some(true)
        );
        assert_eq!(
            row(group(), &limit, &[0.5e-6], &[0.4e-6], 1.0).met,
            Some(false)
        );
    }
}
