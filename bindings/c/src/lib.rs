//! The C interface: load a model, project, guard, gradient.
//!
//! No panic crosses the border: calls that fail return NULL or -1, and [`fabproj_last_error`] says why. Projectors
//! and guards may be used by several threads at once.

use std::any::Any;
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::slice;

use fabproj_core::{Guard, Membership, Outcome, Projector, RawOutcome, Real};

/// A trained projector.
pub struct FabprojProjector(Projector);

/// A projector whose outputs have passed a membership test.
pub struct FabprojGuard(Guard<Test>);

/// Whether y is feasible at x. It may be called from every thread that uses the guard, and must neither unwind nor
/// jump out of the call.
pub type FabprojContains =
    Option<unsafe extern "C" fn(y: *const f64, x: *const f64, context: *mut c_void) -> bool>;

/// A callback as a membership test.
struct Test {
    contains: unsafe extern "C" fn(*const f64, *const f64, *mut c_void) -> bool,
    context: *mut c_void,
}

// SAFETY: the caller promises that the callback may be called with its context from any thread.
unsafe impl Send for Test {}
// SAFETY: as above.
unsafe impl Sync for Test {}

impl Membership for Test {
    fn contains(&self, y: &[f64], x: &[f64]) -> bool {
        // SAFETY: the callback gets as many numbers as the projector has dimensions.
        unsafe { (self.contains)(y.as_ptr(), x.as_ptr(), self.context) }
    }
}

thread_local! {
    static ERROR: RefCell<CString> = RefCell::default();
}

/// Why the last call of this thread failed; empty if none has. Valid until the next call of this thread.
#[unsafe(no_mangle)]
pub extern "C" fn fabproj_last_error() -> *const c_char {
    ERROR.with(|error| error.borrow().as_ptr())
}

/// The version of the library.
#[unsafe(no_mangle)]
pub extern "C" fn fabproj_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}

/// Reads a model file. NULL if that fails; to be freed with `fabproj_free`.
///
/// # Safety
/// `path` must be NULL or a text that ends with 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fabproj_load(path: *const c_char) -> *mut FabprojProjector {
    attempt(ptr::null_mut(), || {
        not_null(path, "path")?;
        // SAFETY: the caller promises a text that ends with 0.
        let path = unsafe { CStr::from_ptr(path) }.to_string_lossy();
        let bytes =
            std::fs::read(path.as_ref()).map_err(|error| format!("cannot read {path}: {error}"))?;
        let projector = Projector::from_bytes(&bytes)
            .map_err(|error| format!("{path} is not a fabproj model: {error}"))?;
        Ok(Box::into_raw(Box::new(FabprojProjector(projector))))
    })
}

/// Reads the bytes of a model file. NULL if that fails; to be freed with `fabproj_free`.
///
/// # Safety
/// `bytes` must point to `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fabproj_from_bytes(
    bytes: *const u8,
    length: usize,
) -> *mut FabprojProjector {
    attempt(ptr::null_mut(), || {
        // SAFETY: the caller promises so many bytes.
        let bytes = unsafe { input(bytes, length, "bytes") }?;
        let projector = Projector::from_bytes(bytes)
            .map_err(|error| format!("not a fabproj model: {error}"))?;
        Ok(Box::into_raw(Box::new(FabprojProjector(projector))))
    })
}

/// Frees a projector; NULL is allowed. Guards made from it stay usable.
///
/// # Safety
/// `projector` must come from this library and not be used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fabproj_free(projector: *mut FabprojProjector) {
    // SAFETY: promised by the caller.
    unsafe { free(projector) }
}

/// The dimension of y; 0 for NULL.
///
/// # Safety
/// `projector` must be NULL or come from this library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fabproj_dim(projector: *const FabprojProjector) -> usize {
    // SAFETY: promised by the caller.
    unsafe { projector.as_ref() }.map_or(0, |projector| projector.0.dim())
}

/// The dimension of x; 0 for a fixed set and for NULL.
///
/// # Safety
/// `projector` must be NULL or come from this library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fabproj_x_dim(projector: *const FabprojProjector) -> usize {
    // SAFETY: promised by the caller.
    unsafe { projector.as_ref() }.map_or(0, |projector| projector.0.x_dim())
}

/// Projects rows of y at rows of x (NULL for a fixed set) into `out`, which must not overlap them. Returns 0, or -1
/// if that fails. `outcomes` is NULL or gets one number per row: 0 inside, 1 clamped, 2 not finite.
///
/// # Safety
/// `y` and `out` must hold `rows` times `fabproj_dim` numbers, `x` `rows` times `fabproj_x_dim`, `outcomes` `rows`
/// bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fabproj_project(
    projector: *const FabprojProjector,
    y: *const f64,
    x: *const f64,
    rows: usize,
    out: *mut f64,
    outcomes: *mut u8,
) -> c_int {
    // SAFETY: promised by the caller.
    unsafe { project(projector, y, x, rows, out, outcomes) }
}

/// `fabproj_project` in single precision.
///
/// # Safety
/// As for `fabproj_project`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fabproj_project_f32(
    projector: *const FabprojProjector,
    y: *const f32,
    x: *const f32,
    rows: usize,
    out: *mut f32,
    outcomes: *mut u8,
) -> c_int {
    // SAFETY: promised by the caller.
    unsafe { project(projector, y, x, rows, out, outcomes) }
}

/// Pulls `cotangent`, the gradient of a loss with respect to the projections of rows, back to y and x. `d_x` is
/// NULL if it is not wanted. Returns 0, or -1 if that fails.
///
/// # Safety
/// As for `fabproj_project`; `cotangent` and `d_y` are as long as `y`, `d_x` is as long as `x`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fabproj_vjp(
    projector: *const FabprojProjector,
    y: *const f64,
    x: *const f64,
    cotangent: *const f64,
    rows: usize,
    d_y: *mut f64,
    d_x: *mut f64,
) -> c_int {
    attempt(-1, || {
        // SAFETY: promised by the caller.
        let projector = &unsafe { projector.as_ref() }
            .ok_or("`projector` is NULL")?
            .0;
        // SAFETY: promised by the caller.
        let (y, x) = unsafe { arguments(projector, y, x, rows) }?;
        // SAFETY: promised by the caller.
        let (cotangent, d_y) = unsafe {
            (
                input(cotangent, y.len(), "cotangent")?,
                output(d_y, y.len(), "d_y")?,
            )
        };
        let (of_y, of_x) = projector
            .vjp(y, x, cotangent)
            .map_err(|error| error.to_string())?;
        d_y.copy_from_slice(&of_y);
        if !d_x.is_null() {
            // SAFETY: promised by the caller.
            unsafe { output(d_x, x.len(), "d_x") }?.copy_from_slice(&of_x);
        }
        Ok(0)
    })
}

/// Guards a projector by a callback. NULL if that fails, as where no feasible point is found; to be freed with
/// `fabproj_guard_free`. The projector may be freed before.
///
/// # Safety
/// `projector` must come from this library. `contains` must be callable with `context` as long as the guard lives,
/// from every thread that uses it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fabproj_guard(
    projector: *const FabprojProjector,
    contains: FabprojContains,
    context: *mut c_void,
) -> *mut FabprojGuard {
    attempt(ptr::null_mut(), || {
        // SAFETY: promised by the caller.
        let projector = unsafe { projector.as_ref() }.ok_or("`projector` is NULL")?;
        let contains = contains.ok_or("`contains` is NULL")?;
        let guard = Guard::new(projector.0.clone(), Test { contains, context });
        let guard = guard.map_err(|error| error.to_string())?;
        Ok(Box::into_raw(Box::new(FabprojGuard(guard))))
    })
}

/// Frees a guard; NULL is allowed.
///
/// # Safety
/// `guard` must come from this library and not be used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fabproj_guard_free(guard: *mut FabprojGuard) {
    // SAFETY: promised by the caller.
    unsafe { free(guard) }
}

/// `fabproj_project` with outputs that have passed the test. `outcomes` gets 0 kept, 1 projected, 2 repaired, 3
/// anchored; 4 maybe empty and 5 not finite are outputs that have **not** passed.
///
/// # Safety
/// As for `fabproj_project`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fabproj_guard_project(
    guard: *const FabprojGuard,
    y: *const f64,
    x: *const f64,
    rows: usize,
    out: *mut f64,
    outcomes: *mut u8,
) -> c_int {
    // SAFETY: promised by the caller.
    unsafe { guarded(guard, y, x, rows, out, outcomes) }
}

/// `fabproj_guard_project` in single precision; the callback sees the numbers that are returned.
///
/// # Safety
/// As for `fabproj_project`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fabproj_guard_project_f32(
    guard: *const FabprojGuard,
    y: *const f32,
    x: *const f32,
    rows: usize,
    out: *mut f32,
    outcomes: *mut u8,
) -> c_int {
    // SAFETY: promised by the caller.
    unsafe { guarded(guard, y, x, rows, out, outcomes) }
}

/// Frees what `Box::into_raw` has made.
unsafe fn free<T>(pointer: *mut T) {
    if !pointer.is_null() {
        attempt((), || {
            // SAFETY: promised by the caller.
            drop(unsafe { Box::from_raw(pointer) });
            Ok(())
        });
    }
}

unsafe fn project<T: Real>(
    projector: *const FabprojProjector,
    y: *const T,
    x: *const T,
    rows: usize,
    out: *mut T,
    outcomes: *mut u8,
) -> c_int {
    attempt(-1, || {
        // SAFETY: promised by the caller.
        let projector = &unsafe { projector.as_ref() }
            .ok_or("`projector` is NULL")?
            .0;
        // SAFETY: promised by the caller.
        let (y, x) = unsafe { arguments(projector, y, x, rows) }?;
        let (points, found) = projector
            .project_rows(y, x)
            .map_err(|error| error.to_string())?;
        let codes = found.into_iter().map(|outcome: RawOutcome| outcome as u8);
        // SAFETY: promised by the caller.
        unsafe { write(&points, codes, rows, out, outcomes) }
    })
}

unsafe fn guarded<T: Real>(
    guard: *const FabprojGuard,
    y: *const T,
    x: *const T,
    rows: usize,
    out: *mut T,
    outcomes: *mut u8,
) -> c_int {
    attempt(-1, || {
        // SAFETY: promised by the caller.
        let guard = &unsafe { guard.as_ref() }.ok_or("`guard` is NULL")?.0;
        // SAFETY: promised by the caller.
        let (y, x) = unsafe { arguments(guard.projector(), y, x, rows) }?;
        let (points, found) = guard
            .project_rows(y, x)
            .map_err(|error| error.to_string())?;
        let codes = found.into_iter().map(|outcome: Outcome| outcome as u8);
        // SAFETY: promised by the caller.
        unsafe { write(&points, codes, rows, out, outcomes) }
    })
}

/// Writes points, and what was done with each if that is wanted.
unsafe fn write<T: Real>(
    points: &[T],
    codes: impl Iterator<Item = u8>,
    rows: usize,
    out: *mut T,
    outcomes: *mut u8,
) -> Result<c_int, String> {
    // SAFETY: promised by the caller.
    unsafe { output(out, points.len(), "out") }?.copy_from_slice(points);
    if !outcomes.is_null() {
        // SAFETY: promised by the caller.
        let outcomes = unsafe { output(outcomes, rows, "outcomes") }?;
        outcomes
            .iter_mut()
            .zip(codes)
            .for_each(|(outcome, code)| *outcome = code);
    }
    Ok(0)
}

/// Rows of y and x.
unsafe fn arguments<'a, T>(
    projector: &Projector,
    y: *const T,
    x: *const T,
    rows: usize,
) -> Result<(&'a [T], &'a [T]), String> {
    // SAFETY: promised by the caller.
    unsafe {
        Ok((
            input(y, numbers(rows, projector.dim())?, "y")?,
            input(x, numbers(rows, projector.x_dim())?, "x")?,
        ))
    }
}

fn numbers(rows: usize, width: usize) -> Result<usize, String> {
    let most = isize::MAX as usize / size_of::<f64>();
    let count = rows.checked_mul(width).filter(|count| *count <= most);
    count.ok_or_else(|| format!("{rows} rows are more than memory can hold"))
}

fn not_null<T>(pointer: *const T, name: &str) -> Result<(), String> {
    if pointer.is_null() {
        Err(format!("`{name}` is NULL"))
    } else {
        Ok(())
    }
}

unsafe fn input<'a, T>(pointer: *const T, length: usize, name: &str) -> Result<&'a [T], String> {
    if length == 0 {
        return Ok(&[]);
    }
    not_null(pointer, name)?;
    // SAFETY: promised by the caller.
    Ok(unsafe { slice::from_raw_parts(pointer, length) })
}

unsafe fn output<'a, T>(pointer: *mut T, length: usize, name: &str) -> Result<&'a mut [T], String> {
    if length == 0 {
        return Ok(&mut []);
    }
    not_null(pointer, name)?;
    // SAFETY: promised by the caller.
    Ok(unsafe { slice::from_raw_parts_mut(pointer, length) })
}

/// Runs a call; what goes wrong is kept for [`fabproj_last_error`].
fn attempt<R>(failed: R, call: impl FnOnce() -> Result<R, String>) -> R {
    let problem = match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(result)) => return result,
        Ok(Err(problem)) => problem,
        Err(payload) => format!("internal error: {}", message(&*payload)),
    };
    let text = CString::new(problem.replace('\0', " ")).unwrap_or_default();
    ERROR.with(|error| *error.borrow_mut() = text);
    failed
}

fn message(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| payload.downcast_ref::<&str>().copied())
        .unwrap_or("no message")
}
