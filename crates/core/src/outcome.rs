//! What a call did.

use core::fmt;

/// What a [`Projector`](crate::Projector) did. It says nothing about feasibility: that takes a
/// [`Guard`](crate::Guard). The output is finite in all cases.
///
/// ```
/// use fabproj_core::{LatentSet, Projector, RawOutcome, Weights};
///
/// let disc = LatentSet::Ball { radius: 0.5, smooth: None };
/// let projector = Projector::new(&Weights::identity(2, disc))?;
/// assert_eq!(projector.project(&[0.1, 0.2], &[])?.1, RawOutcome::Inside);
/// assert_eq!(projector.project(&[3.0, 4.0], &[])?.1, RawOutcome::Clamped);
/// assert_eq!(projector.project(&[f64::NAN, 0.0], &[])?.1.name(), "not-finite");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RawOutcome {
    /// The latent was inside the latent set and was decoded as it is.
    Inside,
    /// The latent was clamped to the latent set, then decoded.
    Clamped,
    /// The input held NaN or infinity, or a number on the way was too large for f32. The output is the
    /// first anchor or, without anchors, the centre of the frame.
    NotFinite,
}

impl RawOutcome {
    /// All outcomes, in the order of declaration.
    pub const ALL: [Self; 3] = [Self::Inside, Self::Clamped, Self::NotFinite];

    /// A word for tables and logs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Inside => "inside",
            Self::Clamped => "clamped",
            Self::NotFinite => "not-finite",
        }
    }
}

impl fmt::Display for RawOutcome {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

/// What a [`Guard`](crate::Guard) did. The output is finite in all cases, and has passed the membership
/// test if [`is_verified`](Self::is_verified).
///
/// ```
/// use fabproj_core::{Guard, LatentSet, Outcome, Projector, Weights};
///
/// let disc = LatentSet::Ball { radius: 0.5, smooth: None };
/// let projector = Projector::new(&Weights::identity(2, disc))?;
/// let guard = Guard::from_fn(projector, |y, _x| y[0] >= 0.0)?;
/// let (y, outcome) = guard.project(&[-3.0, 4.0], &[])?;
/// assert_eq!(outcome, Outcome::Repaired);
/// assert!(outcome.is_verified() && y[0] >= 0.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// The input was feasible and is returned bit for bit.
    Kept,
    /// The projection is feasible.
    Projected,
    /// The projection failed the test; the output is a feasible decode between it and an anchor.
    Repaired,
    /// The output is an anchor or, for a set that depends on x, a feasible point found by a search.
    Anchored,
    /// No feasible point was found at this x: the set may be empty there. The output has **failed** the
    /// test. It is the least violating point that was tested, or the projection where violations are
    /// not known.
    MaybeEmpty,
    /// x held NaN or infinity, so there is no set to test against. The output has **not** been tested.
    NotFinite,
}

impl Outcome {
    /// All outcomes, in the order of declaration.
    pub const ALL: [Self; 6] = [
        Self::Kept,
        Self::Projected,
        Self::Repaired,
        Self::Anchored,
        Self::MaybeEmpty,
        Self::NotFinite,
    ];

    /// Whether the output has passed the membership test.
    pub fn is_verified(self) -> bool {
        !matches!(self, Self::MaybeEmpty | Self::NotFinite)
    }

    /// A word for tables and logs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Projected => "projected",
            Self::Repaired => "repaired",
            Self::Anchored => "anchored",
            Self::MaybeEmpty => "maybe-empty",
            Self::NotFinite => "not-finite",
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}
