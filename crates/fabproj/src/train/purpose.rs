//! What the random numbers of a training are for.

use fabproj_nn::random::stream;
use rand_chacha::ChaCha8Rng;

/// Keeps learning from labels apart from the training that follows it.
const LABELS: u64 = 0x6c61_6265_6c00;
/// Keeps measuring apart from training.
const MEASURING: u64 = 0x6d65_6173;

/// What a stream of random numbers is for: no two uses share one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Drawing the pool.
    Pool,
    /// Finding connected pieces.
    Pieces,
    /// Finding anchors.
    Anchors,
    /// Choosing the points of a limited number of queries.
    Queries,
    /// Cutting the set into cells, for one kind of latent set after the other.
    Cells { kind: usize },
    /// Training a chart.
    Chart { attempt: usize, chart: usize },
    /// Measuring a candidate.
    Measuring,
    /// Splitting labelled rows.
    LabelSplit,
    /// Training the discriminator on labelled rows.
    Discriminator,
}

impl Purpose {
    /// The random numbers of this use.
    pub(super) fn stream(self, seed: u64) -> ChaCha8Rng {
        match self {
            Self::Pool => stream(seed, 0),
            Self::Pieces => stream(seed, 1),
            Self::Anchors => stream(seed, 2),
            Self::Queries => stream(seed, 3),
            Self::Cells { kind } => stream(seed, 100_000 * (kind as u64 + 1)),
            Self::Chart { attempt, chart } => {
                stream(seed, 200_000 + 1_000 * (attempt as u64 + 1) + chart as u64)
            }
            Self::Measuring => stream(seed ^ MEASURING, 0),
            Self::LabelSplit => stream(seed, LABELS),
            Self::Discriminator => stream(seed, LABELS + 1),
        }
    }
}
