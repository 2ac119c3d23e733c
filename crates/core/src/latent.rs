//! Latent sets S: simple sets with a closed-form map onto them, hard and smooth.

use serde::{Deserialize, Serialize};

/// A set in latent space. The hard map is the Euclidean projection (for the simplex: softmax).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum LatentSet {
    /// ‖z‖ ≤ radius.
    Ball {
        /// Radius of the ball.
        radius: f32,
        /// `None`: the hard radial clamp. `Some(β)`: the smooth one, ρ − softplus(β(ρ − radius))/β.
        smooth: Option<f32>,
    },
    /// inner ≤ ‖z‖ ≤ outer.
    Shell {
        /// Inner radius.
        inner: f32,
        /// Outer radius.
        outer: f32,
        /// As for the ball, at both radii.
        smooth: Option<f32>,
    },
    /// |z_j| ≤ half for every j.
    Box {
        /// Half the side.
        half: f32,
        /// `None`: clamp. `Some(β)`: smooth in each coordinate.
        smooth: Option<f32>,
    },
    /// z_j ≥ 0 and Σ z_j = 1, reached by softmax(β z).
    Simplex {
        /// The softmax's inverse temperature β.
        sharpness: f32,
    },
}
