//! The paper's two moons: everything within 0.15 of a noisy reference cloud.

mod cloud;
mod discs;

use std::sync::OnceLock;

use self::discs::Discs;
use super::Interval;
use super::solid::Solid;
use super::vector::{PULL, positive};
use crate::tree::Tree;

/// How many points the reference cloud has.
const POINTS: usize = 60_000;

/// The seed of the reference cloud, and of the training points.
const SEED: u32 = 42;

/// Radius of the disc around each point of the cloud.
const RADIUS: f64 = 0.15;

/// `count` points around the two arcs, as scikit-learn's `make_moons` draws them with seed 42 and noise 0.05.
/// The set `two-moons` is everything within 0.15 of `moon_points(60_000)`.
pub fn moon_points(count: usize) -> Vec<[f64; 2]> {
    cloud::two_moons(count, SEED)
}

/// The union of discs of radius 0.15 around the reference cloud. Despite its name the set is one
/// connected piece with a hole: the noise fills the gaps between the arcs.
pub(super) struct TwoMoons {
    index: &'static Index,
}

/// The cloud, prepared for both questions that are asked of it.
struct Index {
    discs: Discs,
    cloud: Vec<[f64; 2]>,
    tree: Tree<f64>,
}

impl TwoMoons {
    /// The set; its cloud is drawn and sorted once per process.
    pub(super) fn new() -> Self {
        static INDEX: OnceLock<Index> = OnceLock::new();
        Self {
            index: INDEX.get_or_init(|| {
                let cloud = cloud::two_moons(POINTS, SEED);
                let tree = Tree::new(cloud.as_flattened(), 2);
                let discs = Discs::new(&cloud, &tree, RADIUS);
                Index { discs, cloud, tree }
            }),
        }
    }

    /// The offset of y from the nearest point of the cloud, and that point.
    fn nearest_centre(&self, y: &[f64]) -> ([f64; 2], [f64; 2]) {
        // So far away that squares overflow, all points of the cloud are as near.
        let index = self
            .index
            .tree
            .nearest(&y[..2])
            .map_or(0, |(index, _)| index);
        let centre = self.index.cloud[index];
        (centre, [y[0] - centre[0], y[1] - centre[1]])
    }
}

impl Solid for TwoMoons {
    const NAME: &str = "two-moons";
    /// The box of the paper's training data: that of its moon points, widened by 0.5.
    const BOUNDS: &[Interval] = &[(-1.627, 2.687), (-1.141, 1.648)];

    #[inline]
    fn holds(&self, y: &[f64]) -> bool {
        self.index.discs.contains(y)
    }

    fn excess(&self, y: &[f64], gradient: &mut [f64]) -> f64 {
        let (_, offset) = self.nearest_centre(y);
        let length = offset[0].hypot(offset[1]);
        gradient[0] = offset[0] / length;
        gradient[1] = offset[1] / length;
        positive(length - RADIUS)
    }

    fn nearest(&self, y: &[f64], nearest: &mut [f64]) {
        let (centre, offset) = self.nearest_centre(y);
        let factor = RADIUS * (1.0 - PULL) / offset[0].hypot(offset[1]);
        nearest[0] = centre[0] + factor * offset[0];
        nearest[1] = centre[1] + factor * offset[1];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::set::Set;
    use crate::set::solid::Fixed;
    use fabproj_core::Membership;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    fn brute_force_distance(cloud: &[[f64; 2]], y: [f64; 2]) -> f64 {
        let squared = cloud
            .iter()
            .map(|p| (p[0] - y[0]).powi(2) + (p[1] - y[1]).powi(2))
            .fold(f64::INFINITY, f64::min);
        squared.sqrt()
    }

    #[test]
    fn membership_and_distance_agree_with_a_search_of_the_whole_cloud() {
        let cloud = cloud::two_moons(POINTS, SEED);
        let set = Fixed(TwoMoons::new());
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let mut gradient = [0.0; 2];
        for _ in 0..4000 {
            let y = [
                random.random_range(-2.0..3.0),
                random.random_range(-1.5..2.0),
            ];
            let distance = brute_force_distance(&cloud, y);
            assert_eq!(set.contains(&y, &[]), distance <= RADIUS, "{y:?}");
            let violation = set.violation(&y, &[], &mut gradient).unwrap();
            assert!(
                (violation - (distance - RADIUS).max(0.0)).abs() < 1e-12,
                "{y:?}"
            );
        }
    }

    #[test]
    fn points_at_the_very_edge_are_decided_exactly() {
        let cloud = cloud::two_moons(POINTS, SEED);
        let set = Fixed(TwoMoons::new());
        let mut random = ChaCha8Rng::seed_from_u64(2);
        let mut edge = [0.0; 2];
        for _ in 0..500 {
            let far = [
                random.random_range(-2.0..3.0),
                random.random_range(-1.5..2.0),
            ];
            if set.contains(&far, &[]) || !set.nearest(&far, &[], &mut edge) {
                continue;
            }
            for scale in [1e-12, 1e-6, 1e-3, 1e-2] {
                let y = edge.map(|value| value + scale * random.random_range(-1.0..1.0));
                let inside = brute_force_distance(&cloud, y).powi(2) <= RADIUS * RADIUS;
                assert_eq!(set.contains(&y, &[]), inside, "{y:?}");
            }
        }
    }

    #[test]
    fn the_set_is_one_piece_with_a_hole() {
        let set = Fixed(TwoMoons::new());
        assert!(set.contains(&[0.0, 0.75], &[]) && set.contains(&[1.0, -0.25], &[]));
        assert!(!set.contains(&[0.5, 0.25], &[]));
    }

    #[test]
    fn the_area_is_the_measured_one() {
        let set = Fixed(TwoMoons::new());
        let step = 0.01;
        let cells = (-200..350).flat_map(|i| (-150..250).map(move |j| (i, j)));
        let inside = cells
            .filter(|&(i, j)| set.contains(&[f64::from(i) * step, f64::from(j) * step], &[]))
            .count();
        let area = inside as f64 * step * step;
        assert!((area - 4.31).abs() < 0.02, "{area}");
    }
}
