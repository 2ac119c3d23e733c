//! What projectors do to decodes, to inputs, and to inputs from the hole.

use std::collections::BTreeSet;

use fabproj::Plan;

use super::view::{Section, View, share};
use crate::method::catalogue;
use crate::store::{Found, RunRecord, Store};
use crate::table::Estimate;
use crate::{PRINTED_SHELLS, SETS, StudyError, StudySet, hole};

/// Points of each kind.
const SAMPLES: usize = 2_000;

const NOTE: &str = "Shares of feasible points: decodes of the latent set, projections of inputs from the set's bounds, and \
     of inputs from the bounded pieces of its complement. The last column is what tells a good projector of annulus \
     and shells from a bad one.";

/// What one projector reaches.
struct Shares {
    decodes: f64,
    inputs: f64,
    hole: Option<f64>,
}

/// A line per set and projector, from the models of the store.
pub(super) fn section(records: &[RunRecord], store: &Store) -> Result<Section, StudyError> {
    let mut section = Section::new("Projectors", NOTE);
    let header = [
        "set",
        "projector of",
        "trainings",
        "decodes %",
        "inputs %",
        "inputs from the hole %",
    ];
    let mut view = View::new("Projectors", &header);
    for name in SETS.into_iter().chain(PRINTED_SHELLS) {
        let set = StudySet::open(name)?;
        let mut seen = BTreeSet::new();
        for entry in catalogue() {
            let of_method = |record: &&RunRecord| {
                record.key.set == name
                    && record.key.method == entry.name
                    && record.key.projector.is_object()
            };
            let keys: BTreeSet<&String> = records
                .iter()
                .filter(of_method)
                .filter_map(|record| record.model.as_ref())
                .collect();
            // Several methods use the same projector: the first of the catalogue names it.
            if keys.is_empty() || !seen.insert(keys.clone()) {
                continue;
            }
            let mut reached = Vec::new();
            for key in keys {
                if let Found::This(model) = store.model(key)? {
                    reached.push(measure(&set, &model)?);
                }
            }
            let texts = [
                name.to_owned(),
                entry.label.clone(),
                reached.len().to_string(),
            ];
            let text = |values: Vec<f64>| {
                Estimate::of(values).map_or_else(|| "–".to_owned(), |values| share(&values))
            };
            let measured = [
                text(reached.iter().map(|shares| shares.decodes).collect()),
                text(reached.iter().map(|shares| shares.inputs).collect()),
                text(reached.iter().filter_map(|shares| shares.hole).collect()),
            ];
            if !reached.is_empty() {
                view.push(
                    entry.name.starts_with("fabproj"),
                    texts.into_iter().chain(measured),
                );
            }
        }
    }
    if !view.rows.is_empty() {
        section.tables.push(view);
    }
    Ok(section)
}

fn measure(set: &StudySet, model: &fabproj::Model) -> Result<Shares, StudyError> {
    let plan = Plan {
        samples: SAMPLES,
        sparing: true,
        ..Plan::default()
    };
    let certificate = model.clone().certify(set.set(), &plan)?.clone();
    Ok(Shares {
        decodes: certificate.inside_feasible,
        inputs: certificate.raw_feasible,
        hole: hole::feasible_share(set, model.projector(), SAMPLES)?,
    })
}
