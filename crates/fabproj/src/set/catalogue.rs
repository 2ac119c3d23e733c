//! The sets that are built in, by name.

use std::sync::Arc;

use super::arcs::DisjointMoons;
use super::bitten_ball::BittenBall;
use super::moons::TwoMoons;
use super::shells::Shells;
use super::solid::Fixed;
use super::star::Star;
use super::torus::Torus;
use super::{Result, Set, SetError};
use crate::support::near_names;

/// What `fabproj sets` says about one set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Entry {
    /// The name; in a family, `N` stands for the dimension.
    pub name: &'static str,
    /// The smallest and the largest dimension of y: the same, except in a family.
    pub dims: (usize, usize),
    /// Dimension of x; 0 for a fixed set.
    pub x_dim: usize,
    /// What is feasible, in one line.
    pub summary: &'static str,
}

impl Entry {
    /// All built-in sets.
    ///
    /// ```
    /// use fabproj::set::Entry;
    /// assert!(Entry::ALL.iter().any(|entry| entry.name == "two-moons"));
    /// ```
    pub const ALL: &'static [Self] = &[
        Self::fixed(
            "blob-with-bite",
            2,
            "‖y‖ ≤ 2 and ‖y - (1, 0)‖ ≥ 1: a disc with a round bite that touches its rim",
        ),
        Self::fixed("concentric-circles", 2, "1 ≤ ‖y‖ ≤ 2: a ring"),
        Self::fixed(
            "star-shaped",
            2,
            "‖y‖ ≤ ρ(θ): five tips of radius 2, valleys of radius 1, linear in the angle between",
        ),
        Self::fixed(
            "two-moons",
            2,
            "within 0.15 of the paper's cloud of 60 000 noisy moon points: one piece with a hole",
        ),
        Self::fixed(
            "two-moons-disjoint",
            2,
            "within 0.15 of one of the two noise-free arcs: two pieces, 0.2 apart",
        ),
        Self::family("shell-Nd", "1 ≤ ‖y‖ ≤ 2 in N dimensions"),
        Self::family("shell-sq-Nd", "1 ≤ ‖y‖² ≤ 2 in N dimensions"),
        Self::fixed("torus", 3, "within 0.5 of a circle of radius 1.5"),
        Self::fixed(
            "sphere-with-bite",
            3,
            "‖y‖ ≤ 2 and ‖y - (1.5, 0, 0)‖ ≥ 1: a ball with a bite that opens its surface",
        ),
        Self::fixed(
            "disconnected-shells",
            3,
            "0.5 ≤ ‖y ∓ (1.5, 0, 0)‖ ≤ 1: two hollow balls, 1 apart",
        ),
        Self {
            name: "moving-obstacle",
            dims: (2, 2),
            x_dim: 2,
            summary: "‖y‖ ≤ 1.5 and ‖y - x‖ ≥ 0.6 for x in [-1, 1]²: a disc without a disc that moves",
        },
    ];

    const fn fixed(name: &'static str, dim: usize, summary: &'static str) -> Self {
        Self {
            name,
            dims: (dim, dim),
            x_dim: 0,
            summary,
        }
    }

    const fn family(name: &'static str, summary: &'static str) -> Self {
        Self {
            name,
            // The widest layer that a projector accepts bounds the dimension.
            dims: (2, 4096),
            x_dim: 0,
            summary,
        }
    }
}

/// A built-in set by its name, such as `star-shaped` or `shell-5d`.
///
/// # Errors
///
/// [`SetError::Unknown`] names the nearest existing names; [`SetError::Dimension`] says which
/// dimensions a family has.
///
/// ```
/// let ring = fabproj::set::built_in("concentric-circles")?;
/// assert!(ring.contains(&[1.5, 0.0], &[]));
/// assert!(!ring.contains(&[0.5, 0.0], &[]));
///
/// let error = fabproj::set::built_in("concentric-circle").err().unwrap();
/// assert!(error.to_string().contains("concentric-circles"));
/// # Ok::<(), fabproj::set::SetError>(())
/// ```
pub fn built_in(name: &str) -> Result<Arc<dyn Set>> {
    Ok(match name {
        "blob-with-bite" => Arc::new(BittenBall::blob_with_bite()),
        "concentric-circles" => Arc::new(Shells::released(name.to_owned(), 2)),
        "star-shaped" => Arc::new(Fixed(Star)),
        "two-moons" => Arc::new(Fixed(TwoMoons::new())),
        "two-moons-disjoint" => Arc::new(Fixed(DisjointMoons)),
        "torus" => Arc::new(Fixed(Torus)),
        "sphere-with-bite" => Arc::new(BittenBall::sphere_with_bite()),
        "disconnected-shells" => Arc::new(Shells::disconnected()),
        "moving-obstacle" => Arc::new(BittenBall::moving_obstacle()),
        _ => return family(name),
    })
}

/// A member of a family: `shell-Nd` or `shell-sq-Nd`.
fn family(name: &str) -> Result<Arc<dyn Set>> {
    // The longer prefix first, as the shorter is part of it.
    let shell_squared = member("shell-sq-Nd", "shell-sq-", name)?;
    if let Some(dim) = shell_squared {
        return Ok(Arc::new(Shells::printed(name.to_owned(), dim)));
    }
    if let Some(dim) = member("shell-Nd", "shell-", name)? {
        return Ok(Arc::new(Shells::released(name.to_owned(), dim)));
    }
    Err(SetError::Unknown {
        name: name.to_owned(),
        near: near_names(name, Entry::ALL.iter().map(|entry| entry.name)),
    })
}

/// The dimension in the name of a family's member; `None` when the name belongs to no member.
fn member(family: &'static str, prefix: &str, name: &str) -> Result<Option<usize>> {
    let digits = name
        .strip_prefix(prefix)
        .and_then(|rest| rest.strip_suffix('d'));
    // "03" is not accepted: a set has one name, since the name is what the hash is made of.
    let dim = digits
        .filter(|digits| !digits.starts_with(['+', '0']) || *digits == "0")
        .and_then(|digits| digits.parse::<usize>().ok());
    let entry = Entry::ALL.iter().find(|entry| entry.name == family);
    match (dim, entry.map(|entry| entry.dims)) {
        (Some(dim), Some((least, most))) if !(least..=most).contains(&dim) => {
            Err(SetError::Dimension {
                family: family.to_owned(),
                least,
                most,
                dim,
            })
        }
        (dim, _) => Ok(dim),
    }
}
