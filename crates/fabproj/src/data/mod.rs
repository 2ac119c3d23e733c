//! Points with labels: what training sees of a set.

pub mod boundary;
mod descent;
mod draw;
pub mod labelled;
pub mod oracle;
pub mod pieces;
pub mod pool;
pub mod restore;
pub mod slices;
pub mod tree;

pub use oracle::{Oracle, Units};
pub use pool::{Pool, PoolError, PoolSizes, Rows};
