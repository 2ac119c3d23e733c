//! Random numbers by seed and stream.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// The random numbers of one use. Each use has a stream of its own, so that one does not shift another.
///
/// ```
/// use fabproj_nn::random::stream;
/// use rand::RngExt;
///
/// let number = |seed, use_| stream(seed, use_).random::<u64>();
/// assert_eq!(number(1, 0), number(1, 0));
/// assert_ne!(number(1, 0), number(1, 1));
/// ```
pub fn stream(seed: u64, stream: u64) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(stream);
    rng
}
