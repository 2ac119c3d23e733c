//! Arrays in and out. Rows of float32 and float64 that lie in order are used where they are; everything else
//! is converted by NumPy.

use fabproj::core::Real;
use numpy::prelude::*;
use numpy::{Element, PyArrayDyn, PyUntypedArray};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyTuple;

use crate::errors::{value, wrong_type};

/// An array of one of the two number types, in C order.
pub enum Array<'py> {
    Single(Bound<'py, PyArrayDyn<f32>>),
    Double(Bound<'py, PyArrayDyn<f64>>),
}

/// f32 or f64, on both sides of the border.
pub trait Number: Real + Element {
    /// NumPy's name of the type.
    const NAME: &'static str;
}

impl Number for f32 {
    const NAME: &'static str = "float32";
}

impl Number for f64 {
    const NAME: &'static str = "float64";
}

/// NumPy, imported at the first call: `import fabproj` does not.
pub fn numpy(py: Python<'_>) -> PyResult<&Bound<'_, PyModule>> {
    static NUMPY: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    let module = NUMPY.get_or_try_init(py, || py.import("numpy").map(Bound::unbind))?;
    Ok(module.bind(py))
}

impl<'py> Array<'py> {
    /// Whatever NumPy makes an array of numbers from; `name` is that of the argument.
    pub fn of(object: &Bound<'py, PyAny>, name: &str) -> PyResult<Self> {
        if let Some(array) = Self::as_it_is(object) {
            return Ok(array);
        }
        let py = object.py();
        let array = if object.is_instance_of::<PyUntypedArray>() {
            object.clone()
        } else if object.hasattr(intern!(py, "__dlpack__"))? {
            numpy(py)?.call_method1(intern!(py, "from_dlpack"), (object,))?
        } else {
            numpy(py)?.call_method1(intern!(py, "asarray"), (object,))?
        };
        let dtype = array.getattr(intern!(py, "dtype"))?;
        let kind: String = dtype.getattr(intern!(py, "kind"))?.extract()?;
        if !matches!(kind.as_str(), "f" | "i" | "u") {
            return Err(wrong_type(format!(
                "`{name}` must be an array of real numbers, found dtype {dtype}; convert it with .astype(float)"
            )));
        }
        let single =
            dtype.getattr(intern!(py, "itemsize"))?.extract::<usize>()? == 4 && kind == "f";
        let wanted = if single { f32::NAME } else { f64::NAME };
        let wanted = (&array, wanted, ["C_CONTIGUOUS", "ALIGNED"]);
        let ordered = numpy(py)?.call_method1(intern!(py, "require"), wanted)?;
        Self::as_it_is(&ordered).ok_or_else(|| {
            wrong_type(format!(
                "`{name}` must be an array of float32 or float64, found {dtype}"
            ))
        })
    }

    fn as_it_is(object: &Bound<'py, PyAny>) -> Option<Self> {
        if let Ok(array) = object.cast::<PyArrayDyn<f64>>() {
            return (array.is_c_contiguous() && aligned(array))
                .then(|| Self::Double(array.clone()));
        }
        let array = object.cast::<PyArrayDyn<f32>>().ok()?;
        (array.is_c_contiguous() && aligned(array)).then(|| Self::Single(array.clone()))
    }

    /// The array in another number type.
    pub fn cast<T: Number>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArrayDyn<T>>> {
        let array = match self {
            Self::Single(array) => array.as_any(),
            Self::Double(array) => array.as_any(),
        };
        if let Ok(array) = array.cast::<PyArrayDyn<T>>() {
            return Ok(array.clone());
        }
        let cast = array.call_method1(intern!(py, "astype"), (T::NAME,))?;
        Ok(cast.cast_into::<PyArrayDyn<T>>()?)
    }
}

fn aligned<T: Element>(array: &Bound<'_, PyArrayDyn<T>>) -> bool {
    (array.data() as usize).is_multiple_of(align_of::<T>())
}

/// The numbers of an array.
///
/// The caller must not write to the array meanwhile from another thread, as with every function of NumPy.
pub fn numbers<'a, T: Element>(array: &'a Bound<'_, PyArrayDyn<T>>) -> &'a [T] {
    // SAFETY: arrays that reach this place are in C order and aligned; no Python runs while the slice lives
    // in this thread.
    unsafe { array.as_slice() }.unwrap_or(&[])
}

/// Rows of one width: `y` or `x` of a call.
pub struct Rows<'py, T: Number> {
    pub array: Bound<'py, PyArrayDyn<T>>,
}

impl<'py, T: Number> Rows<'py, T> {
    /// Checks the last dimension.
    pub fn new(array: Bound<'py, PyArrayDyn<T>>, name: &str, width: usize) -> PyResult<Self> {
        if array.shape().last() == Some(&width) {
            return Ok(Self { array });
        }
        let found = shape_text(array.shape());
        Err(value(format!(
            "`{name}` must have shape ({width},) or (rows, {width}), found {found}"
        )))
    }

    /// The dimensions before the last.
    pub fn lead(&self) -> &[usize] {
        let shape = self.array.shape();
        &shape[..shape.len() - 1]
    }

    pub fn numbers(&self) -> &[T] {
        numbers(&self.array)
    }

    /// The rows repeated to these leading dimensions, by NumPy's rules.
    fn broadcast(&self, lead: &[usize]) -> PyResult<Self> {
        if self.lead() == lead {
            return Ok(Self {
                array: self.array.clone(),
            });
        }
        let py = self.array.py();
        let width = self.array.shape()[self.array.shape().len() - 1];
        let shape = PyTuple::new(py, [lead, &[width]].concat())?;
        let numpy = numpy(py)?;
        let wide = numpy.call_method1(intern!(py, "broadcast_to"), (&self.array, shape))?;
        let ordered = numpy.call_method1(intern!(py, "ascontiguousarray"), (wide,))?;
        let array = ordered.cast_into::<PyArrayDyn<T>>()?;
        Ok(Self { array })
    }
}

/// The arguments y and x of a call, with the same leading dimensions; x is in the type of y.
pub struct Points<'py, T: Number> {
    pub y: Rows<'py, T>,
    x: Option<Rows<'py, T>>,
    /// The leading dimensions that x was given with.
    pub x_lead: Vec<usize>,
}

impl<'py, T: Number> Points<'py, T> {
    pub fn new(
        y: Bound<'py, PyArrayDyn<T>>,
        x: Option<&Bound<'py, PyAny>>,
        (dim, x_dim): (usize, usize),
    ) -> PyResult<Self> {
        let y = Rows::new(y, "y", dim)?;
        let Some(x) = x.filter(|x| !x.is_none()) else {
            if x_dim == 0 {
                return Ok(Self {
                    y,
                    x: None,
                    x_lead: Vec::new(),
                });
            }
            return Err(value(format!(
                "`x` is missing: the set of this model depends on {x_dim} numbers x"
            )));
        };
        if x_dim == 0 {
            return Err(value(
                "the set of this model does not depend on x; leave `x` out",
            ));
        }
        let x = Array::of(x, "x")?.cast::<T>(y.array.py())?;
        let x = Rows::new(x, "x", x_dim)?;
        let x_lead = x.lead().to_vec();
        let Some(lead) = joined(y.lead(), x.lead()) else {
            return Err(value(format!(
                "`y` of shape {} and `x` of shape {} have different numbers of rows",
                shape_text(y.array.shape()),
                shape_text(x.array.shape())
            )));
        };
        let (y, x) = (y.broadcast(&lead)?, Some(x.broadcast(&lead)?));
        Ok(Self { y, x, x_lead })
    }

    pub fn x_numbers(&self) -> &[T] {
        self.x.as_ref().map_or(&[], Rows::numbers)
    }
}

/// Leading dimensions joined by NumPy's rules.
fn joined(a: &[usize], b: &[usize]) -> Option<Vec<usize>> {
    let count = a.len().max(b.len());
    let at = |shape: &[usize], index: usize| match (index + shape.len()).checked_sub(count) {
        Some(index) => shape[index],
        None => 1,
    };
    let join = |index| match (at(a, index), at(b, index)) {
        (1, size) | (size, 1) => Some(size),
        (one, other) => (one == other).then_some(one),
    };
    (0..count).map(join).collect()
}

/// A shape as Python writes it.
pub fn shape_text(shape: &[usize]) -> String {
    let sizes: Vec<_> = shape.iter().map(usize::to_string).collect();
    match sizes.as_slice() {
        [one] => format!("({one},)"),
        sizes => format!("({})", sizes.join(", ")),
    }
}

/// A new array of this shape with these numbers.
pub fn array_of<'py, T: Element + Copy>(
    py: Python<'py>,
    numbers: &[T],
    shape: &[usize],
) -> PyResult<Bound<'py, PyAny>> {
    let flat = numpy::PyArray1::from_slice(py, numbers);
    Ok(flat.reshape(shape.to_vec())?.into_any())
}

/// Rows of float64 of two dimensions, as labelled points and inputs of a certificate are.
pub fn table(object: &Bound<'_, PyAny>, name: &str) -> PyResult<(Vec<f64>, usize, usize)> {
    let array = Array::of(object, name)?.cast::<f64>(object.py())?;
    match array.shape() {
        [rows, width] => Ok((numbers(&array).to_vec(), *rows, *width)),
        shape => Err(value(format!(
            "`{name}` must have shape (rows, columns), found {}",
            shape_text(shape)
        ))),
    }
}
