//! Published figures, to stand beside ours.

/// A row of a published table.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Published {
    /// Its name in the figure: a, b, …
    pub(super) letter: char,
    pub(super) method: &'static str,
    pub(super) source: &'static str,
    pub(super) steps: &'static str,
    pub(super) reward: f64,
    pub(super) cost: f64,
}

const TABLE: &str = include_str!("published.csv");

/// Published rows of a task.
pub(super) fn published(task: &str) -> Vec<Published> {
    let row = |line: &'static str| {
        let mut cells = line.split(',');
        let of = cells.next()?;
        let (method, source, steps) = (cells.next()?, cells.next()?, cells.next()?);
        let (reward, cost) = (cells.next()?.parse().ok()?, cells.next()?.parse().ok()?);
        (of == task).then_some(Published {
            letter: 'a',
            method,
            source,
            steps,
            reward,
            cost,
        })
    };
    let rows = TABLE.lines().skip(1).filter_map(row);
    let lettered = ('a'..='z').zip(rows);
    lettered
        .map(|(letter, row)| Published { letter, ..row })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_read() {
        let rows = published("goal2").len() + published("push2").len();
        assert_eq!(rows, TABLE.lines().count() - 1);
        assert!(published("double-integrator").is_empty());
    }
}
