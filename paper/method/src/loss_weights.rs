//! The weights of the losses, the released grid over them, and the released choice from it.

use serde::{Deserialize, Serialize};

/// λ: the weights of the losses of phase 2.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LossWeights {
    /// Of the reconstruction loss; default 1.5.
    pub reconstruction: f32,
    /// Of the feasibility loss, D(R(E(y))) against the label; default 1.
    pub feasibility: f32,
    /// Of the latent loss, D(R(z)) against "feasible"; default 1.
    pub latent: f32,
    /// Of the geometry loss; default 0.025.
    pub geometry: f32,
    /// Of the hinge loss; default 0.5.
    pub hinge: f32,
}

impl Default for LossWeights {
    /// The first entry of the released grid.
    fn default() -> Self {
        Self {
            reconstruction: 1.5,
            feasibility: 1.0,
            latent: 1.0,
            geometry: 0.025,
            hinge: 0.5,
        }
    }
}

impl LossWeights {
    /// The weights by the names of their settings.
    pub(super) fn named(&self) -> [(&'static str, f32); 5] {
        [
            ("weights.reconstruction", self.reconstruction),
            ("weights.feasibility", self.feasibility),
            ("weights.latent", self.latent),
            ("weights.geometry", self.geometry),
            ("weights.hinge", self.hinge),
        ]
    }
}

/// The released grid of 24 weights, in its order: the hinge's weight changes fastest.
///
/// ```
/// use fab_method::{LossWeights, grid};
///
/// assert_eq!(grid().count(), 24);
/// assert_eq!(grid().next(), Some(LossWeights::default()));
/// ```
pub fn grid() -> impl Iterator<Item = LossWeights> {
    [1.5, 2.0].into_iter().flat_map(|reconstruction| {
        [1.0, 1.5, 2.0].into_iter().flat_map(move |feasibility| {
            [1.0, 1.5].into_iter().flat_map(move |latent| {
                [0.5, 1.0].into_iter().map(move |hinge| LossWeights {
                    reconstruction,
                    feasibility,
                    latent,
                    geometry: 0.025,
                    hinge,
                })
            })
        })
    })
}

/// The released choice: the index of the first of the highest scores; `None` without any.
///
/// ```
/// use fab_method::select_released;
///
/// assert_eq!(select_released([0.9, 1.0, 1.0]), Some(1));
/// ```
pub fn select_released(scores: impl IntoIterator<Item = f64>) -> Option<usize> {
    let mut best: Option<(usize, f64)> = None;
    for (index, score) in scores.into_iter().enumerate() {
        if best.is_none_or(|(_, highest)| score > highest) {
            best = Some((index, score));
        }
    }
    best.map(|(index, _)| index)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grid_has_24_different_entries_in_the_released_order() {
        let all: Vec<LossWeights> = grid().collect();
        assert_eq!(all.len(), 24);
        for (index, weights) in all.iter().enumerate() {
            assert!(!all[..index].contains(weights));
            assert_eq!(weights.hinge, if index % 2 == 0 { 0.5 } else { 1.0 });
            assert_eq!(weights.latent, if index / 2 % 2 == 0 { 1.0 } else { 1.5 });
            assert_eq!(weights.feasibility, [1.0, 1.5, 2.0][index / 4 % 3]);
            assert_eq!(weights.reconstruction, if index < 12 { 1.5 } else { 2.0 });
        }
    }

    #[test]
    fn ties_keep_the_first() {
        assert_eq!(select_released([]), None);
        assert_eq!(select_released([0.5, 0.5]), Some(0));
        assert_eq!(select_released([0.1, 0.7, 0.3, 0.7]), Some(1));
    }
}
