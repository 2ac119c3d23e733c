//! What a call did, and counts of it.

use core::ops::{Add, AddAssign};

/// What a projection did. Nothing here is an error: the output is always finite.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Status {
    /// The encoder put the point inside the latent set: it was decoded without a clamp.
    Inside,
    /// The latent was clamped to the latent set, then decoded.
    Projected,
    /// By a [`Guard`](crate::Guard): the input was feasible and was returned bit for bit.
    Kept,
    /// By a [`Guard`](crate::Guard): the projection failed the test; the output is a feasible decode
    /// between it and an anchor.
    Repaired,
    /// By a [`Guard`](crate::Guard): the output is a verified anchor or, for an input-dependent set, a
    /// feasible point that a search has found.
    Anchored,
    /// By a [`Guard`](crate::Guard) of an input-dependent set: no feasible point was found for these
    /// parameters, so C(x) may be empty. The output is the least violating point that was tested, or the
    /// projection where violations are not known, and has **not** passed the test.
    MaybeEmpty,
    /// The input held NaN or infinity, or the numbers grew beyond f32 on the way. The output is the
    /// [fallback](crate::Projector::fallback), and has **not** passed any test.
    NotFinite,
}

impl Status {
    /// All statuses, in the order of declaration.
    pub const ALL: [Self; 7] = [
        Self::Inside,
        Self::Projected,
        Self::Kept,
        Self::Repaired,
        Self::Anchored,
        Self::MaybeEmpty,
        Self::NotFinite,
    ];

    /// Whether a [`Guard`](crate::Guard) that returned this status has seen the output pass its test.
    pub fn is_verified(self) -> bool {
        !matches!(self, Self::MaybeEmpty | Self::NotFinite)
    }

    /// A word for tables and logs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Inside => "inside",
            Self::Projected => "projected",
            Self::Kept => "kept",
            Self::Repaired => "repaired",
            Self::Anchored => "anchored",
            Self::MaybeEmpty => "maybe-empty",
            Self::NotFinite => "not-finite",
        }
    }
}

impl core::fmt::Display for Status {
    fn fmt(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        formatter.pad(self.name())
    }
}

/// How often each [`Status`] occurred.
///
/// ```
/// use fabproj_core::{Status, Tally};
///
/// let tally: Tally = [Status::Inside, Status::Projected, Status::Inside].into_iter().collect();
/// assert_eq!(tally.count(Status::Inside), 2);
/// assert_eq!(tally.total(), 3);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    counts: [usize; Status::ALL.len()],
}

impl Tally {
    /// How often `status` occurred.
    pub fn count(&self, status: Status) -> usize {
        self.counts[status as usize]
    }

    /// How many calls were counted.
    pub fn total(&self) -> usize {
        self.counts.iter().sum()
    }

    /// Counts one more.
    pub fn record(&mut self, status: Status) {
        self.counts[status as usize] += 1;
    }

    /// Each status that occurred, with its count.
    pub fn iter(&self) -> impl Iterator<Item = (Status, usize)> + '_ {
        let counts = Status::ALL
            .into_iter()
            .map(|status| (status, self.count(status)));
        counts.filter(|(_, count)| *count > 0)
    }
}

impl FromIterator<Status> for Tally {
    fn from_iter<I: IntoIterator<Item = Status>>(statuses: I) -> Self {
        let mut tally = Self::default();
        statuses.into_iter().for_each(|status| tally.record(status));
        tally
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        for (count, more) in self.counts.iter_mut().zip(other.counts) {
            *count += more;
        }
    }
}

impl Add for Tally {
    type Output = Self;

    fn add(mut self, other: Self) -> Self {
        self += other;
        self
    }
}
