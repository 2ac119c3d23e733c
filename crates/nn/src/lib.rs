//! The engine inside `fabproj`. It carries no promise of stability: nothing outside of this repository should
//! build on it.
//!
//! Multilayer perceptrons: forward, backward, forward tangents, and the rules that update weights.
//!
//! Every network of this crate is a small MLP, so there is no general differentiation here: an
//! [`Mlp`] holds its parameters in one flat vector, a [`Tape`] holds what one forward pass leaves
//! behind, and gradients are accumulated into flat vectors of the same layout as the parameters.
//!
//! ```
//! use fabproj_core::Activation;
//! use fabproj_nn::{Adam, AdamConfig, Mlp, MlpSpec, Tape};
//! use rand::SeedableRng;
//! use rand_chacha::ChaCha8Rng;
//!
//! // Learn y = x₀ · x₁ on four points.
//! let spec = MlpSpec::new(2, &[16, 16], 1).with_hidden(Activation::Tanh);
//! let mut network = Mlp::new(spec, &mut ChaCha8Rng::seed_from_u64(1))?;
//! let mut adam = Adam::new(AdamConfig::default(), network.parameters().len());
//! let (mut tape, mut gradient) = (Tape::new(), vec![0.0; network.parameters().len()]);
//! let inputs = [1.0, 1.0, 1.0, -1.0, -1.0, 1.0, -1.0, -1.0];
//! let targets = [1.0, -1.0, -1.0, 1.0];
//! let mut loss = f32::INFINITY;
//! for _ in 0..300 {
//!     let outputs = network.forward(&inputs, 4, &mut tape);
//!     let errors: Vec<f32> = outputs.iter().zip(targets).map(|(o, t)| o - t).collect();
//!     loss = errors.iter().map(|e| e * e).sum();
//!     let d_output: Vec<f32> = errors.iter().map(|e| 2.0 * e).collect();
//!     gradient.fill(0.0);
//!     network.backward(&mut tape, &d_output, Some(&mut gradient), None);
//!     adam.update(network.parameters_mut(), &gradient, 1e-2);
//! }
//! assert!(loss < 1e-2);
//! # Ok::<(), fabproj_nn::SpecError>(())
//! ```

mod adam;
mod buffer;
mod clip;
mod eigen;
mod ema;
mod heads;
mod mlp;
mod packed;
mod pass;
pub mod random;
pub mod sample;
mod schedule;
mod spec;
pub mod state;
mod tangent;
mod tape;
#[cfg(test)]
mod testing;

pub use adam::{Adam, AdamConfig};
pub use clip::{clip_norm, clip_norm_all};
pub use eigen::Eigen;
pub use ema::Ema;
pub use heads::soft_minimum;
pub use mlp::Mlp;
pub use schedule::Cosine;
pub use spec::{MlpSpec, SpecError};
pub use tangent::unit_tangents;
pub use tape::Tape;
