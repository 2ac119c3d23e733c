//! A learned guard for actions: it passes safe actions and replaces the others.
//!
//! 1. [`collect_states`](data::collect_states) labels actions by looking ahead.
//! 2. [`Guard::train`] fits a discriminator and an autoencoder of safe actions to them.
//! 3. [`GuardFilter`] runs both between a policy and its task.

mod autoencoder;
pub mod data;
mod discriminator;
pub mod features;
mod filter;
mod model;
mod projection;
mod set_net;

pub use self::autoencoder::AutoencoderSettings;
pub use self::discriminator::{DiscriminatorSettings, Quality};
pub use self::filter::{Candidates, GuardFilter, GuardFilterSettings};
pub use self::model::{Guard, GuardSettings};
pub use self::set_net::SetNetWidths;
