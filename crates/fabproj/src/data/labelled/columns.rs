//! Which columns of a file mean what.

/// What the columns of a file mean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Columns {
    /// The columns of y, in this order. If empty: those whose names are `y`, or `y` and a number
    /// (`y0`, `y_1`, `y[2]`); if there are none, all other columns.
    pub y: Vec<String>,
    /// The columns of x, in this order. If empty: those whose names are `x`, or `x` and a number,
    /// provided that the columns of y are named or begin with y.
    pub x: Vec<String>,
    /// The column of labels: 1 for feasible, 0 or -1 for infeasible; default `label`.
    pub label: String,
    /// For arrays `X_all` and `feasible_mask`: how many columns of `X_all`, from the left, are x.
    pub state_dim: Option<usize>,
}

impl Default for Columns {
    fn default() -> Self {
        Self {
            y: Vec::new(),
            x: Vec::new(),
            label: "label".to_owned(),
            state_dim: None,
        }
    }
}
