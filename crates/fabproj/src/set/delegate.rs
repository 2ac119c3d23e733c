//! Sets behind pointers, and the parts that a wrapper takes over unchanged.

use std::sync::Arc;

use super::{Calibration, Description, Equation, Interval, Learned, Set};

/// The methods of a wrapper whose coordinates and trust are those of its field `set`.
macro_rules! same_coordinates {
    () => {
        fn dim(&self) -> usize {
            self.set.dim()
        }

        fn x_dim(&self) -> usize {
            self.set.x_dim()
        }

        fn x_bounds(&self) -> Vec<$crate::set::Interval> {
            self.set.x_bounds()
        }

        fn names(&self) -> Vec<String> {
            self.set.names()
        }

        fn x_names(&self) -> Vec<String> {
            self.set.x_names()
        }

        fn calibration(&self) -> Option<$crate::set::Calibration> {
            self.set.calibration()
        }
    };
}
pub(super) use same_coordinates;

macro_rules! through_pointer {
    ($($pointer:ty),*) => {$(
        impl<T: Set + ?Sized> Set for $pointer {
            fn dim(&self) -> usize {
                (**self).dim()
            }

            fn x_dim(&self) -> usize {
                (**self).x_dim()
            }

            fn nearest(&self, y: &[f64], x: &[f64], nearest: &mut [f64]) -> bool {
                (**self).nearest(y, x, nearest)
            }

            fn bounds(&self) -> Vec<Interval> {
                (**self).bounds()
            }

            fn x_bounds(&self) -> Vec<Interval> {
                (**self).x_bounds()
            }

            fn names(&self) -> Vec<String> {
                (**self).names()
            }

            fn x_names(&self) -> Vec<String> {
                (**self).x_names()
            }

            fn draw_input(&self, x: &[f64], uniform: &mut dyn FnMut() -> f64, y: &mut [f64]) {
                (**self).draw_input(x, uniform, y);
            }

            fn constraints(&self) -> Vec<String> {
                (**self).constraints()
            }

            fn violated(&self, y: &[f64], x: &[f64]) -> Vec<String> {
                (**self).violated(y, x)
            }

            fn equations(&self) -> Vec<Equation> {
                (**self).equations()
            }

            fn calibration(&self) -> Option<Calibration> {
                (**self).calibration()
            }

            fn learned(&self) -> Option<&Learned> {
                (**self).learned()
            }

            fn description(&self) -> Description {
                (**self).description()
            }
        }
    )*};
}

through_pointer!(&T, Box<T>, Arc<T>);
