//! What the dimensions of a set decide.

use crate::set::Set;

/// Up to this dimension boundary points can be dense, and the cells of a grid can be counted.
const LOW: usize = 3;

/// The dimensions of y and x, and the questions that training asks about them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Regime {
    dim: usize,
    x_dim: usize,
}

impl Regime {
    /// The regime of a set.
    pub(crate) fn of(set: &dyn Set) -> Self {
        Self {
            dim: set.dim(),
            x_dim: set.x_dim(),
        }
    }

    /// The regime of a set in `dim` dimensions that does not depend on x, or of C(x) at one x.
    pub(crate) fn fixed(dim: usize) -> Self {
        Self { dim, x_dim: 0 }
    }

    /// Dimension of y.
    pub(crate) fn dim(self) -> usize {
        self.dim
    }

    /// At most three dimensions: boundary points are dense enough to take the nearest one as the nearest
    /// feasible point. Above that, nearest points are searched for one by one.
    pub(crate) fn low_dimensional(self) -> bool {
        self.dim <= LOW
    }

    /// At most two dimensions.
    pub(crate) fn in_plane(self) -> bool {
        self.dim <= 2
    }

    /// Whether the feasible set changes with x.
    pub(crate) fn depends_on_x(self) -> bool {
        self.x_dim > 0
    }

    /// Low-dimensional and the same at every x: rows of the pool fill the space of inputs.
    pub(crate) fn is_filled(self) -> bool {
        self.low_dimensional() && !self.depends_on_x()
    }
}
