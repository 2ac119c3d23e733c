//! The projector, with or without its guard, over rows in double precision.

use std::cell::RefCell;

use anyhow::Result;
use fabproj::core::{Guard, GuardWorkspace, Lift, Membership, Projector, Status, Workspace};
use fabproj::set::{InSet, Set};

use crate::opened::Opened;

/// One point with its parameters, as the file gives them.
pub struct Row {
    pub y: Vec<f64>,
    pub x: Vec<f64>,
}

/// The set at the parameters of the current row. The projector sees x in single precision; what
/// decides is the x that the file holds.
struct AtRow<'a> {
    set: &'a dyn Set,
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
    /// The way between the rows and what the projector sees, where the rows obey equations.
    lift: Option<&'a Lift>,
    /// Coordinates of the projector.
    dim: usize,
    out: Vec<f32>,
    /// The results, in the coordinates of the rows.
    points: Vec<f64>,
}

impl<'a> Runner<'a> {
    pub fn new(opened: &'a Opened, set: Option<&'a dyn Set>) -> Result<Self> {
        let projector = &opened.projector;
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
            lift: opened.file.model.lift.as_ref(),
            dim: projector.dim(),
            out: Vec::new(),
            points: Vec::new(),
        })
    }

    /// Projects the rows, and says what was done with each.
    pub fn run(&mut self, rows: &[Row]) -> Result<Vec<Status>> {
        self.out.clear();
        self.out.resize(rows.len() * self.dim, 0.0);
        let y = self.lowered(rows)?;
        let x: Vec<f32> = rows
            .iter()
            .flat_map(|row| row.x.iter().map(|value| *value as f32))
            .collect();
        let mut statuses = vec![Status::Inside; rows.len()];
        match &mut self.kind {
            Kind::Raw(projector, workspace) => {
                projector.project_batch(&y, &x, &mut self.out, &mut statuses, workspace)?;
            }
            Kind::Guarded(guard, workspace) => {
                let x_dim = guard.projector().parameter_dim();
                let outs = self.out.chunks_exact_mut(self.dim);
                for (index, (row, out)) in rows.iter().zip(outs).enumerate() {
                    let y = &y[index * self.dim..][..self.dim];
                    let x = &x[index * x_dim..][..x_dim];
                    statuses[index] = guarded(guard, row, y, x, out, workspace)?;
                }
            }
        }
        self.raise(rows)?;
        Ok(statuses)
    }

    /// The rows as the projector sees them.
    fn lowered(&self, rows: &[Row]) -> Result<Vec<f32>> {
        let mut lowered = Vec::with_capacity(rows.len() * self.dim);
        let mut z = vec![0.0; self.dim];
        for row in rows {
            let y = match self.lift {
                Some(lift) => {
                    lift.lower(&row.y, &row.x, &mut z)?;
                    &z
                }
                None => &row.y,
            };
            lowered.extend(y.iter().map(|value| *value as f32));
        }
        Ok(lowered)
    }

    /// Brings the outputs into the coordinates of the rows.
    fn raise(&mut self, rows: &[Row]) -> Result<()> {
        self.points.clear();
        let wide = self.out.iter().copied().map(f64::from);
        let Some(lift) = self.lift else {
            self.points.extend(wide);
            return Ok(());
        };
        let wide: Vec<f64> = wide.collect();
        let mut y = vec![0.0; lift.dim()];
        for (row, z) in rows.iter().zip(wide.chunks_exact(self.dim)) {
            lift.raise(z, &row.x, &mut y)?;
            self.points.extend(&y);
        }
        Ok(())
    }

    /// The projection of a row of the last chunk.
    pub fn point(&self, row: usize) -> &[f64] {
        let dim = self.lift.map_or(self.dim, Lift::dim);
        &self.points[row * dim..][..dim]
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
    let feasible = match membership.set.reduced() {
        Some(reduced) => reduced.contains_full(&row.y, &row.x),
        None => membership.set.contains(&row.y, &row.x),
    };
    if feasible {
        return Ok(Status::Kept);
    }
    let status = guard.project(y, x, out, workspace)?;
    // Rounding to single precision or the equations alone made the point feasible: it has moved, if by
    // little.
    Ok(if status == Status::Kept {
        Status::Projected
    } else {
        status
    })
}
