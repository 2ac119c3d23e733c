//! Points of an affine subspace: their coordinates within it, and back.

use alloc::format;
use alloc::vec;
use alloc::vec::Vec;
use core::borrow::Borrow;

use crate::format::FormatError;
use crate::guard::{Guard, GuardWorkspace, Membership};
use crate::model::Model;
use crate::projector::call::length;
use crate::projector::{CallError, Projector};
use crate::status::Status;
use crate::validate::{ModelError, dimension, limit};
use crate::workspace::Workspace;

/// The most coordinates of a y that obeys equations.
pub const MAX_LIFTED_DIM: usize = 1024;
/// How far the columns of a basis may be from orthonormal.
const ORTHONORMAL: f64 = 1e-9;

/// Where y obeys affine equations, A y = c + D x, a model works on coordinates z without any:
/// y = origin + by_parameter · x + basis · z. In double precision, so that the equations hold far beyond
/// the precision of the networks.
///
/// ```
/// use fabproj_core::Lift;
/// // y0 + y1 = x0
/// let half = 0.5_f64.sqrt();
/// let lift = Lift {
///     origin: vec![0.0, 0.0],
///     basis: vec![half, -half],
///     by_parameter: vec![0.5, 0.5],
/// };
/// let (mut z, mut y) = ([0.0], [0.0; 2]);
/// lift.lower(&[4.0, 2.0], &[3.0], &mut z)?;
/// lift.raise(&z, &[3.0], &mut y)?;
/// assert!((y[0] - 2.5).abs() < 1e-12 && (y[1] - 0.5).abs() < 1e-12);
/// # Ok::<(), fabproj_core::CallError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Lift {
    /// One number for each coordinate of y.
    pub origin: Vec<f64>,
    /// `[y][z]`; the columns are orthonormal and solve A y = 0.
    pub basis: Vec<f64>,
    /// `[y][x]`
    pub by_parameter: Vec<f64>,
}

impl Lift {
    /// Dimension of y.
    pub fn dim(&self) -> usize {
        self.origin.len()
    }

    /// Dimension of z, the coordinates that the model works on.
    pub fn reduced_dim(&self) -> usize {
        self.basis.len() / self.dim().max(1)
    }

    /// Dimension of the parameters x.
    pub fn parameter_dim(&self) -> usize {
        self.by_parameter.len() / self.dim().max(1)
    }

    /// The coordinates z of the point nearest to y that obeys the equations at x.
    ///
    /// # Errors
    /// [`CallError`] when a slice has the wrong length; nothing is written then.
    pub fn lower(&self, y: &[f64], x: &[f64], z: &mut [f64]) -> Result<(), CallError> {
        self.check(y.len(), x.len(), z.len())?;
        z.fill(0.0);
        let (reduced, parameters) = (z.len(), x.len());
        for (row, y) in y.iter().enumerate() {
            let offset = y - self.foot(row, parameters, x);
            let basis = &self.basis[row * reduced..][..reduced];
            for (z, basis) in z.iter_mut().zip(basis) {
                *z += basis * offset;
            }
        }
        Ok(())
    }

    /// The point y with the coordinates z, which obeys the equations at x.
    ///
    /// # Errors
    /// [`CallError`] when a slice has the wrong length; nothing is written then.
    pub fn raise(&self, z: &[f64], x: &[f64], y: &mut [f64]) -> Result<(), CallError> {
        self.check(y.len(), x.len(), z.len())?;
        let (reduced, parameters) = (z.len(), x.len());
        for (row, y) in y.iter_mut().enumerate() {
            let basis = &self.basis[row * reduced..][..reduced];
            let along: f64 = basis.iter().zip(z).map(|(basis, z)| basis * z).sum();
            *y = self.foot(row, parameters, x) + along;
        }
        Ok(())
    }

    /// A coordinate of origin + by_parameter · x.
    #[inline]
    fn foot(&self, row: usize, parameters: usize, x: &[f64]) -> f64 {
        let weights = &self.by_parameter[row * parameters..][..parameters];
        let moved: f64 = weights.iter().zip(x).map(|(weight, x)| weight * x).sum();
        self.origin[row] + moved
    }

    fn check(&self, y: usize, x: usize, z: usize) -> Result<(), CallError> {
        length("y", y, self.dim())?;
        length("x", x, self.parameter_dim())?;
        length("z", z, self.reduced_dim())
    }

    /// Checks sizes and numbers for a model of z and x.
    pub(crate) fn validate(&self, reduced: usize, parameters: usize) -> Result<(), ModelError> {
        let dim = self.dim();
        limit(|| "lift's dim".into(), dim, MAX_LIFTED_DIM)?;
        limit(|| "lift's reduced dim".into(), reduced, dim)?;
        let parts = [
            ("lift.origin", &self.origin, dim),
            ("lift.basis", &self.basis, dim * reduced),
            ("lift.by_parameter", &self.by_parameter, dim * parameters),
        ];
        for (part, values, expected) in parts {
            dimension(|| format!("the length of {part}"), values.len(), expected)?;
            if let Some(index) = values.iter().position(|value| !value.is_finite()) {
                return Err(ModelError::NotFinite {
                    part: part.into(),
                    index,
                    value: values[index] as f32,
                });
            }
        }
        self.validate_basis(reduced)
    }

    fn validate_basis(&self, reduced: usize) -> Result<(), ModelError> {
        for first in 0..reduced {
            for second in 0..=first {
                let rows = self.basis.chunks_exact(reduced);
                let product: f64 = rows.map(|row| row[first] * row[second]).sum();
                let expected = if first == second { 1.0 } else { 0.0 };
                let close = (product - expected).abs() <= ORTHONORMAL;
                if !close {
                    return Err(ModelError::Basis {
                        first,
                        second,
                        product,
                    });
                }
            }
        }
        Ok(())
    }
}

/// What [`Lifted`] can run: a projector, or a guard.
pub trait Runs: sealed::Sealed {
    /// Memory for calls.
    type Workspace;
    /// Makes memory for calls.
    fn workspace(&self) -> Self::Workspace;
    /// The projector that runs.
    fn projector(&self) -> &Projector;
    /// Projects one point.
    ///
    /// # Errors
    /// [`CallError`] when something does not fit.
    fn run(
        &self,
        y: &[f32],
        x: &[f32],
        out: &mut [f32],
        workspace: &mut Self::Workspace,
    ) -> Result<Status, CallError>;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for crate::Projector {}
    impl<P, M> Sealed for crate::Guard<P, M> {}
}

impl Runs for Projector {
    type Workspace = Workspace;

    fn workspace(&self) -> Workspace {
        self.workspace()
    }

    fn projector(&self) -> &Projector {
        self
    }

    fn run(
        &self,
        y: &[f32],
        x: &[f32],
        out: &mut [f32],
        workspace: &mut Workspace,
    ) -> Result<Status, CallError> {
        self.project(y, x, out, workspace)
    }
}

impl<P: Borrow<Projector>, M: Membership> Runs for Guard<P, M> {
    type Workspace = GuardWorkspace;

    fn workspace(&self) -> GuardWorkspace {
        self.workspace()
    }

    fn projector(&self) -> &Projector {
        self.projector()
    }

    fn run(
        &self,
        y: &[f32],
        x: &[f32],
        out: &mut [f32],
        workspace: &mut GuardWorkspace,
    ) -> Result<Status, CallError> {
        self.project(y, x, out, workspace)
    }
}

/// A projector or a guard together with a [`Lift`]: takes and gives y in double precision, and every
/// output obeys the equations.
///
/// A guard's membership test is asked about z: `|z, x| set.contains(z, x)` with the set that the model was
/// trained for.
///
/// ```
/// # use fabproj_core::*;
/// # let half = 0.5_f64.sqrt();
/// # let model = Model {
/// #     dim: 1,
/// #     parameter_dim: 0,
/// #     frame: Frame::unit(1),
/// #     parameter_frame: Frame::unit(0),
/// #     gate: None,
/// #     charts: vec![Chart {
/// #         frame: Frame::unit(1),
/// #         encoder: Network::identity(1),
/// #         latent: LatentSet::Ball { radius: 0.5, smooth: None },
/// #         decoders: vec![Network::identity(1)],
/// #         decoder_gate: None,
/// #         blend: Blend::Soft,
/// #     }],
/// #     discriminator: None,
/// #     anchors: Vec::new(),
/// #     lift: Some(Lift { origin: vec![0.5; 2], basis: vec![half, -half], by_parameter: vec![] }),
/// # };
/// # let file = model.to_bytes()?;
/// // The file of a model that was trained for points with y0 + y1 = 1.
/// let lifted = Lifted::from_bytes(&file)?;
/// let mut out = [0.0; 2];
/// lifted.project(&[9.0, 4.0], &[], &mut out, &mut lifted.workspace())?;
/// assert!((out[0] + out[1] - 1.0).abs() < 1e-12);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Lifted<R> {
    inner: R,
    lift: Lift,
}

/// Memory for the calls of a [`Lifted`].
#[derive(Clone, Debug)]
pub struct LiftedWorkspace<W> {
    inner: W,
    wide: Vec<f64>,
    z: Vec<f32>,
    x: Vec<f32>,
    out: Vec<f32>,
}

impl Lifted<Projector> {
    /// Reads the bytes of a model file.
    ///
    /// # Errors
    /// [`FormatError`] for bytes that are not a model, or of one without equations: such a model is run
    /// by a [`Projector`] alone.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, FormatError> {
        let model = Model::from_bytes(bytes)?;
        let missing = || ModelError::Empty {
            part: "lift".into(),
        };
        let lift = model.lift.clone().ok_or_else(missing)?;
        Ok(Self::new(Projector::new(&model)?, lift)?)
    }
}

impl<R: Runs> Lifted<R> {
    /// Puts a projector or a guard and its lift together.
    ///
    /// # Errors
    /// [`ModelError`] when they do not fit each other.
    pub fn new(inner: R, lift: Lift) -> Result<Self, ModelError> {
        let projector = inner.projector();
        lift.validate(projector.dim(), projector.parameter_dim())?;
        Ok(Self { inner, lift })
    }

    /// The projector or guard inside.
    pub fn inner(&self) -> &R {
        &self.inner
    }

    /// The lift.
    pub fn lift(&self) -> &Lift {
        &self.lift
    }

    /// Memory for calls: one per thread.
    pub fn workspace(&self) -> LiftedWorkspace<R::Workspace> {
        let (reduced, parameters) = (self.lift.reduced_dim(), self.lift.parameter_dim());
        LiftedWorkspace {
            inner: self.inner.workspace(),
            wide: vec![0.0; reduced],
            z: vec![0.0; reduced],
            x: vec![0.0; parameters],
            out: vec![0.0; reduced],
        }
    }

    /// Projects one point y, with the parameters x (empty for a fixed set), into `out`. No allocation.
    ///
    /// An input that a guard keeps has been moved onto the equations and rounded all the same, so that
    /// its status is [`Status::Projected`].
    ///
    /// # Errors
    /// [`CallError`] when a slice has the wrong length or the workspace belongs to another projector;
    /// nothing is written then.
    pub fn project(
        &self,
        y: &[f64],
        x: &[f64],
        out: &mut [f64],
        workspace: &mut LiftedWorkspace<R::Workspace>,
    ) -> Result<Status, CallError> {
        length("out", out.len(), self.lift.dim())?;
        if workspace.wide.len() != self.lift.reduced_dim() || workspace.x.len() != x.len() {
            return Err(CallError::Workspace);
        }
        self.lift.lower(y, x, &mut workspace.wide)?;
        narrow(&workspace.wide, &mut workspace.z);
        narrow(x, &mut workspace.x);
        let status = self.inner.run(
            &workspace.z,
            &workspace.x,
            &mut workspace.out,
            &mut workspace.inner,
        )?;
        for (wide, out) in workspace.wide.iter_mut().zip(&workspace.out) {
            *wide = f64::from(*out);
        }
        self.lift.raise(&workspace.wide, x, out)?;
        Ok(match status {
            Status::Kept => Status::Projected,
            status => status,
        })
    }
}

fn narrow(from: &[f64], to: &mut [f32]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to = *from as f32;
    }
}
