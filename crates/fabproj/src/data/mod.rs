//! Points with labels: what training sees of a set.

pub(crate) mod boundary;
mod descent;
mod draw;
pub(crate) mod labelled;
pub(crate) mod oracle;
pub(crate) mod pieces;
pub(crate) mod pool;
pub(crate) mod regime;
pub(crate) mod restore;
mod segments;
pub(crate) mod slices;

pub(crate) use oracle::Units;
pub(crate) use pool::{Pool, PoolError, PoolSizes, Rows};
pub(crate) use regime::Regime;
