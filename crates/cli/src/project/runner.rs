//! The projector, with or without its guard, over rows in double precision.

use std::cell::RefCell;

use anyhow::Result;
use fabproj::core::{Guard, GuardWorkspace, Membership, Projector, Status, Workspace};
use fabproj::set::{ConstraintSet, InSet};

/// One point with its parameters, as the file gives them.
pub struct Row {
    pub y: Vec<f64>,
    pub x: Vec<f64>,
}

/// The set at the parameters of the current row. The projector sees x in single precision; what
/// decides is the x that the file holds.
struct AtRow<'a> {
    set: &'a dyn ConstraintSet,
    x: RefCell<Vec<f64>>,
}

impl Membership for AtRow<'_> {
    fn contains(&self, y: &[f64], _rounded: &[f64]) -> bool {
        self.set.contains(y, &self.x.borrow())
    }

    fn violation(&self, y: &[f64], _rounded: &[f64]) -> Option<f64> {
        InSet(self.set).violation(y, &self.x.borrow())
    }
}

enum Kind<'a> {
    Raw(&'a Projector, Box<Workspace>),
    Guarded(Box<Guard<&'a Projector, AtRow<'a>>>, Box<GuardWorkspace>),
}

/// Projects rows one chunk after another.
pub struct Runner<'a> {
    kind: Kind<'a>,
    dim: usize,
    out: Vec<f32>,
}

impl<'a> Runner<'a> {
    pub fn new(projector: &'a Projector, set: Option<&'a dyn ConstraintSet>) -> Result<Self> {
        let kind = match set {
            None => Kind::Raw(projector, Box::new(projector.workspace())),
            Some(set) => {
                let guard = Guard::new(
                    projector,
                    AtRow {
                        set,
                        x: RefCell::default(),
                    },
                )?;
                let workspace = guard.workspace();
                Kind::Guarded(Box::new(guard), Box::new(workspace))
            }
        };
        Ok(Self {
            kind,
            dim: projector.dim(),
            out: Vec::new(),
        })
    }

    /// Projects the rows, and says what was done with each.
    pub fn run(&mut self, rows: &[Row]) -> Result<Vec<Status>> {
        self.out.clear();
        self.out.resize(rows.len() * self.dim, 0.0);
        let narrow = |values: fn(&Row) -> &Vec<f64>| -> Vec<f32> {
            rows.iter()
                .flat_map(|row| values(row).iter().map(|value| *value as f32))
                .collect()
        };
        let (y, x) = (narrow(|row| &row.y), narrow(|row| &row.x));
        match &mut self.kind {
            Kind::Raw(projector, workspace) => {
                let mut statuses = vec![Status::Inside; rows.len()];
                projector.project_batch(&y, &x, &mut self.out, &mut statuses, workspace)?;
                Ok(statuses)
            }
            Kind::Guarded(guard, workspace) => {
                let parameter_dim = guard.projector().parameter_dim();
                let outs = self.out.chunks_exact_mut(self.dim);
                let mut statuses = Vec::with_capacity(rows.len());
                for (index, (row, out)) in rows.iter().zip(outs).enumerate() {
                    let y = &y[index * self.dim..][..self.dim];
                    let x = &x[index * parameter_dim..][..parameter_dim];
                    statuses.push(guarded(guard, row, y, x, out, workspace)?);
                }
                Ok(statuses)
            }
        }
    }

    /// The projection of a row of the last chunk.
    pub fn point(&self, row: usize) -> &[f32] {
        &self.out[row * self.dim..][..self.dim]
    }
}

fn guarded(
    guard: &Guard<&Projector, AtRow<'_>>,
    row: &Row,
    y: &[f32],
    x: &[f32],
    out: &mut [f32],
    workspace: &mut GuardWorkspace,
) -> Result<Status> {
    let membership = guard.membership();
    membership.x.replace(row.x.clone());
    if membership.set.contains(&row.y, &row.x) {
        return Ok(Status::Kept);
    }
    let status = guard.project(y, x, out, workspace)?;
    // Rounding to single precision alone made the point feasible: it has moved, if by little.
    Ok(if status == Status::Kept {
        Status::Projected
    } else {
        status
    })
}
