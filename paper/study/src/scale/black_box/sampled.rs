//! What answers by membership tests without a projector: a lookup table, random restarts, a plain network.

use fabproj_nn::{Mlp, Tape};

use super::super::ScaleMethod;
use super::super::instance::Instance;
use super::search::Search;
use super::table::{Table, regression};
use crate::{Context, StudyError};

/// Entries of the table that are tried for an answer.
const NEAREST: usize = 16;
/// Tests of a local search, where there are enough for several.
const TESTS: usize = 1_000;
/// The first step from an entry or a prediction, as a share of the bounds' widths.
const SHORT: f64 = 0.03;
/// Halvings of the way from a feasible entry to an infeasible prediction.
const HALVINGS: usize = 8;

/// Membership tests that our solver took.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in super::super) struct Budget {
    /// Its training.
    pub(in super::super) training: u64,
    /// Each answer.
    pub(in super::super) answer: u64,
    /// Number of answers.
    pub(in super::super) answers: u64,
}

/// A method that was set up with as many tests.
pub(in super::super) struct Sampled<'a> {
    instance: &'a Instance,
    tests: usize,
    way: Way,
}

enum Way {
    Restarts,
    Lookup(Table),
    Net(Box<(Table, Mlp, Tape)>),
}

impl<'a> Sampled<'a> {
    /// `None` for a method of another kind.
    pub(in super::super) fn train(
        method: ScaleMethod,
        instance: &'a Instance,
        budget: Budget,
        seed: u64,
        context: &Context<'_>,
    ) -> Result<Option<Self>, StudyError> {
        let table = || Table::build(instance, budget.training, seed, context);
        let mut tests = budget.answer;
        let way = match method {
            ScaleMethod::Restarts => Way::Restarts,
            ScaleMethod::LongRestarts => {
                tests += budget.training / budget.answers.max(1);
                Way::Restarts
            }
            ScaleMethod::Lookup => Way::Lookup(table()?),
            ScaleMethod::PlainNet => {
                let table = table()?;
                let net = regression(&table, seed, context)?;
                Way::Net(Box::new((table, net, Tape::new())))
            }
            _ => return Ok(None),
        };
        Ok(Some(Self {
            instance,
            tests: tests as usize,
            way,
        }))
    }

    /// Whether an answer takes milliseconds.
    pub(in super::super) fn is_slow(&self) -> bool {
        self.tests > 10 * TESTS
    }

    /// Writes the answer; NaN where no feasible point is found.
    pub(in super::super) fn answer(&mut self, x: &[f64], y: &mut [f64]) {
        let mut search = Search::new(self.instance.problem(), x, self.tests);
        match &mut self.way {
            Way::Restarts => search.restart(TESTS.min(self.tests)),
            Way::Lookup(table) => {
                for entry in table.nearest(x, NEAREST) {
                    search.test(entry);
                }
                search.polish(SHORT, 0);
            }
            Way::Net(net) => {
                let (table, net, tape) = &mut **net;
                let output = net.forward(&table.input(x), 1, tape);
                let bounds = output.iter().zip(self.instance.bounds());
                let point: Vec<f64> = bounds
                    .map(|(y, (low, high))| f64::from(*y).clamp(*low, *high))
                    .collect();
                guard(&mut search, &point, || table.nearest(x, NEAREST));
                search.polish(SHORT, 0);
            }
        }
        match search.best() {
            Some((_, best)) => y.copy_from_slice(&best),
            None => y.fill(f64::NAN),
        }
    }
}

/// The point itself if it is feasible, else the last feasible one on the way to it from an entry.
fn guard<'t>(search: &mut Search<'_>, point: &[f64], entries: impl Fn() -> Vec<&'t [f64]>) {
    if search.test(point).0 {
        return;
    }
    let Some(anchor) = entries().into_iter().find(|entry| search.test(entry).0) else {
        return;
    };
    let (mut inside, mut outside) = (0.0, 1.0);
    for _ in 0..HALVINGS {
        let share = 0.5 * (inside + outside);
        let pairs = anchor.iter().zip(point);
        let y: Vec<f64> = pairs.map(|(a, y)| a + share * (y - a)).collect();
        if search.test(&y).0 {
            inside = share;
        } else {
            outside = share;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Effort;
    use crate::scale::FamilyEntry;

    #[test]
    fn methods_keep_to_their_tests_and_return_feasible_points_only() {
        let context = Context::in_memory(Effort::quick());
        let budget = Budget {
            training: 40_000,
            answer: 40,
            answers: 10,
        };
        for family in ["arm", "dispatch-levels", "stability"] {
            let instance = FamilyEntry::find(family).unwrap().instance(0);
            for (method, most) in [
                (ScaleMethod::Restarts, 40),
                (ScaleMethod::Lookup, 40),
                (ScaleMethod::LongRestarts, 4_040),
            ] {
                let before = instance.tests();
                let trained = Sampled::train(method, &instance, budget, 0, &context);
                let mut sampled = trained.unwrap().unwrap();
                assert!(instance.tests() - before <= budget.training, "{family}");
                let mut found = 0;
                for x in instance.test_x().take(5) {
                    let mut y = vec![0.0; instance.dim()];
                    let before = instance.tests();
                    sampled.answer(x, &mut y);
                    assert!(instance.tests() - before <= most, "{family}");
                    let (objective, outside, _) = instance.measure(&y, x);
                    // No feasible point was found.
                    if y[0].is_nan() {
                        continue;
                    }
                    found += 1;
                    assert!(outside <= 0.0, "{family}");
                    // A long search: once for each method.
                    if found > 1 {
                        continue;
                    }
                    let best = instance.best_by_tests(x).unwrap();
                    assert!(
                        objective > best - 1e-6 * best.abs(),
                        "{family}: {objective} {best}"
                    );
                }
                assert!(found > 0, "{family}");
            }
        }
    }
}
