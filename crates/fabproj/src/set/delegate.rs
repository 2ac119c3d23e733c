//! Sets behind pointers, and the parts that a wrapper takes over unchanged.

use std::sync::Arc;

use super::Set;

/// The methods of a wrapper whose coordinates and trust are those of another set: `same_coordinates!(self => self.set)`.
macro_rules! same_coordinates {
    ($this:ident => $set:expr) => {
        fn dim(&$this) -> usize {
            $set.dim()
        }

        fn x_dim(&$this) -> usize {
            $set.x_dim()
        }

        fn x_bounds(&$this) -> Vec<$crate::set::Interval> {
            $set.x_bounds()
        }

        fn names(&$this) -> Vec<String> {
            $set.names()
        }

        fn x_names(&$this) -> Vec<String> {
            $set.x_names()
        }

        fn calibration(&$this) -> Option<$crate::set::Calibration> {
            $set.calibration()
        }
    };
}
pub(crate) use same_coordinates;

/// All methods of a set that stands for another: `same_set!(self => self.set)`.
macro_rules! same_set {
    ($this:ident => $set:expr) => {
        $crate::set::delegate::same_coordinates!($this => $set);

        fn nearest(&$this, y: &[f64], x: &[f64], nearest: &mut [f64]) -> bool {
            $set.nearest(y, x, nearest)
        }

        fn bounds(&$this) -> Vec<$crate::set::Interval> {
            $set.bounds()
        }

        fn draw_input(&$this, x: &[f64], uniform: &mut dyn FnMut() -> f64, y: &mut [f64]) {
            $set.draw_input(x, uniform, y);
        }

        fn constraints(&$this) -> Vec<String> {
            $set.constraints()
        }

        fn violated(&$this, y: &[f64], x: &[f64]) -> Vec<String> {
            $set.violated(y, x)
        }

        fn equations(&$this) -> Vec<$crate::set::Equation> {
            $set.equations()
        }

        fn learned(&$this) -> Option<&$crate::set::Learned> {
            $set.learned()
        }

        fn description(&$this) -> $crate::set::Description {
            $set.description()
        }
    };
}
pub(crate) use same_set;

macro_rules! through_pointer {
    ($($pointer:ty),*) => {$(
        impl<T: Set + ?Sized> Set for $pointer {
            same_set!(self => (**self));
        }
    )*};
}

through_pointer!(&T, Box<T>, Arc<T>);
