//! Points on the boundary of a set, found with membership queries alone, and the signed distance
//! that they give.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::oracle::Oracle;
use super::pool::direction;
use super::regime::Regime;
use crate::tree::{Tree, squared_distance};

/// Bisection steps from a feasible to an infeasible point: 2⁻²² of a unit is below f32 resolution
/// of typical coordinates.
const BISECTIONS: usize = 22;
/// Distances of the probes that estimate a normal, working units: the first at which the boundary
/// looks like a graph is taken. In a cusp or a sliver only the small ones see one side alone.
const PROBES: [f32; 3] = [0.01, 0.0025, 0.0006];
/// Bisection steps of one probe: resolves six probe distances to 1 % of one.
const PROBE_BISECTIONS: usize = 9;
/// Up to this many median spacings from the nearest boundary point, its tangent plane is trusted more
/// than the distance to the point itself: in the plane and in space. All but one in a thousand gaps
/// between random points are shorter; on curves their lengths vary more than on surfaces.
const PLANE_REACH: [f32; 2] = [10.0, 3.0];

/// Boundary points of C(x) for one x, each with its inward unit normal, in working units.
#[derive(Clone, Debug)]
pub(crate) struct Boundary {
    dim: usize,
    points: Vec<f32>,
    normals: Vec<f32>,
    /// How far the set reaches inward along each normal; infinite beyond the last step.
    depths: Vec<f32>,
    tree: Tree<f32>,
    /// Median distance from a boundary point to the next one.
    spacing: f32,
    /// Up to this distance a boundary point's tangent plane stands for the boundary.
    plane_reach: f32,
}

impl Boundary {
    /// Finds up to `count` boundary points of C(x) between the given feasible and infeasible rows, and
    /// indexes them.
    pub(crate) fn find(
        oracle: &Oracle,
        x: &[f64],
        feasible: &[f32],
        infeasible: &[f32],
        count: usize,
        rng: &mut ChaCha8Rng,
    ) -> Self {
        let dim = oracle.bounds().len();
        let (points, normals) = find(oracle, x, feasible, infeasible, count, rng);
        let depths = depths(oracle, x, &points, &normals);
        Self::new(points, normals, depths, dim)
    }

    /// Indexes the points; rows of `dim`.
    fn new(points: Vec<f32>, normals: Vec<f32>, depths: Vec<f32>, dim: usize) -> Self {
        let tree = Tree::new(&points, dim);
        let spacing = median_spacing(&points, dim, &tree);
        Self {
            dim,
            points,
            normals,
            depths,
            tree,
            spacing,
            plane_reach: spacing * PLANE_REACH[usize::from(!Regime::fixed(dim).in_plane())],
        }
    }

    /// Number of boundary points.
    pub(crate) fn len(&self) -> usize {
        self.tree.len()
    }

    /// The i-th boundary point.
    pub(crate) fn point(&self, index: usize) -> &[f32] {
        &self.points[index * self.dim..][..self.dim]
    }

    /// The inward normal at the i-th boundary point.
    pub(crate) fn normal(&self, index: usize) -> &[f32] {
        &self.normals[index * self.dim..][..self.dim]
    }

    /// Index of the boundary point nearest to y.
    pub(crate) fn nearest(&self, y: &[f32]) -> Option<usize> {
        self.tree.nearest(y).map(|(index, _)| index)
    }

    /// Whether a boundary point is closer to y than `distance`.
    pub(crate) fn near(&self, y: &[f32], distance: f32) -> bool {
        self.tree
            .nearest_within(y, distance.max(self.spacing))
            .is_some()
    }

    /// Whether a feasible y is at least `margin` from the boundary.
    pub(crate) fn clear_by(&self, y: &[f32], margin: f32) -> bool {
        // A boundary point farther than this cannot bring the boundary itself within the margin.
        let reach = margin.max(self.plane_reach);
        let Some((index, square)) = self.tree.nearest_within(y, reach) else {
            return true;
        };
        let distance = square.sqrt();
        if distance > self.plane_reach {
            return distance >= margin;
        }
        let point = self.point(index);
        let normal = self.normal(index);
        let height: f32 = (0..self.dim).map(|j| (y[j] - point[j]) * normal[j]).sum();
        height >= margin
    }

    /// The signed distance of y to the boundary (positive inside), and its gradient. `inside` is what
    /// the oracle says of y. Infinite when no boundary is known.
    pub(crate) fn signed_distance(&self, y: &[f32], inside: bool, gradient: &mut [f32]) -> f32 {
        let Some((index, square)) = self.tree.nearest(y) else {
            gradient.fill(0.0);
            return if inside {
                f32::INFINITY
            } else {
                f32::NEG_INFINITY
            };
        };
        let (point, normal) = (self.point(index), self.normal(index));
        let sign = if inside { 1.0 } else { -1.0 };
        let distance = square.sqrt();
        let height: f32 = (0..self.dim).map(|j| (y[j] - point[j]) * normal[j]).sum();
        if distance <= self.plane_reach.max(f32::EPSILON) {
            // The tangent plane; on its wrong side only by its own error, which is as good as on it.
            gradient.copy_from_slice(normal);
            return if height * sign > 0.0 { height } else { 0.0 };
        }
        for j in 0..self.dim {
            gradient[j] = sign * (y[j] - point[j]) / distance;
        }
        sign * distance
    }
}

/// Nearest boundary points that are asked about the clearance of one point.
const CLEARANCE_NEIGHBOURS: usize = 6;
/// Half the largest curvature (working units) up to which a neighbour's plane may understate clearance.
const BEND: f32 = 0.75;
/// A point shifted inward by the margin is kept when this share of the margin is really clear.
const CLEARANCE_SHARE: f32 = 0.9;

impl Boundary {
    /// How far the boundary is from a point; negative where the boundary shows that it is infeasible.
    pub(crate) fn clearance(&self, y: &[f32]) -> f32 {
        let mut found = [(0.0, 0); CLEARANCE_NEIGHBOURS];
        self.tree.nearest_several(y, &mut found);
        let reach = self.plane_reach;
        let mut clearance = f32::INFINITY;
        for (square, index) in found {
            if index == u32::MAX {
                break;
            }
            let index = index as usize;
            let (point, normal) = (self.point(index), self.normal(index));
            let distance = square.sqrt();
            let height: f32 = (0..self.dim).map(|j| (y[j] - point[j]) * normal[j]).sum();
            // Beyond the far side of a sliver the nearest boundary point looks the other way.
            let sign = if height < -0.5 * distance { -1.0 } else { 1.0 };
            // Where the boundary bends away from a neighbour's plane, the plane is nearer than it is.
            clearance = clearance.min(if distance <= reach {
                height + BEND * square
            } else {
                sign * distance
            });
        }
        clearance
    }

    /// The boundary of what is left when everything closer than `margin` to this boundary is cut away.
    /// Cusps and slivers thinner than twice the margin are gone.
    pub(crate) fn eroded(&self, margin: f32) -> Self {
        let (mut points, mut normals, mut depths) = (Vec::new(), Vec::new(), Vec::new());
        let mut shifted = vec![0.0; self.dim];
        for index in 0..self.len() {
            let normal = self.normal(index);
            for (j, value) in shifted.iter_mut().enumerate() {
                *value = self.point(index)[j] + margin * normal[j];
            }
            let thick = self.depths[index] >= 2.0 * CLEARANCE_SHARE * margin;
            if thick && self.clearance(&shifted) >= CLEARANCE_SHARE * margin {
                points.extend_from_slice(&shifted);
                normals.extend_from_slice(normal);
                depths.push(self.depths[index] - margin);
            }
        }
        Self::new(points, normals, depths, self.dim)
    }
}

/// Steps inward at which the thickness of the set is tested, working units.
const DEPTHS: [f32; 8] = [0.001, 0.002, 0.004, 0.008, 0.014, 0.022, 0.036, 0.06];

/// How far the set reaches from each boundary point along its inward normal; infinite beyond the last
/// step.
fn depths(oracle: &Oracle, x: &[f64], points: &[f32], normals: &[f32]) -> Vec<f32> {
    let dim = oracle.bounds().len();
    let mut depths = vec![f32::INFINITY; points.len() / dim];
    let mut reached = 0.0;
    for step in DEPTHS {
        let open: Vec<usize> = (0..depths.len())
            .filter(|index| depths[*index] == f32::INFINITY)
            .collect();
        let coordinates = open.iter().flat_map(|index| index * dim..(index + 1) * dim);
        let at: Vec<f32> = coordinates.map(|j| points[j] + step * normals[j]).collect();
        for (index, inside) in open.into_iter().zip(oracle.contains_rows(&at, |_| x)) {
            if !inside {
                depths[index] = reached;
            }
        }
        reached = step;
    }
    depths
}

fn median_spacing(points: &[f32], dim: usize, tree: &Tree<f32>) -> f32 {
    let count = tree.len();
    if count < 2 {
        return 0.0;
    }
    let stride = (count / 256).max(1);
    let mut gaps: Vec<f32> = (0..count)
        .step_by(stride)
        .map(|index| {
            let mut found = [(0.0, 0); 2];
            tree.nearest_several(&points[index * dim..][..dim], &mut found);
            found[1].0.sqrt()
        })
        .collect();
    gaps.sort_by(f32::total_cmp);
    gaps[gaps.len() / 2]
}

/// Moves `inside` to the feasible end of a tiny bracket of the boundary between the two points.
pub(crate) fn bisect(oracle: &Oracle, x: &[f64], inside: &mut [f32], outside: &mut [f32]) {
    let mut middle = vec![0.0; inside.len()];
    for _ in 0..BISECTIONS {
        for (m, (a, b)) in middle.iter_mut().zip(inside.iter().zip(outside.iter())) {
            *m = 0.5 * (a + b);
        }
        if oracle.contains(&middle, x) {
            inside.copy_from_slice(&middle);
        } else {
            outside.copy_from_slice(&middle);
        }
    }
}

/// Finds up to `count` boundary points of C(x) between the given feasible and infeasible rows, with
/// inward normals. Half of the pairs are random, so that every face is seen from far; half are close,
/// so that a thin gap or a small hole is bracketed too; a last third walks along what was found.
fn find(
    oracle: &Oracle,
    x: &[f64],
    feasible: &[f32],
    infeasible: &[f32],
    count: usize,
    rng: &mut ChaCha8Rng,
) -> (Vec<f32>, Vec<f32>) {
    let dim = oracle.bounds().len();
    let (rows_in, rows_out) = (feasible.len() / dim, infeasible.len() / dim);
    let (mut points, mut normals) = (Vec::new(), Vec::new());
    if rows_in == 0 || rows_out == 0 {
        return (points, normals);
    }
    let mut inside = vec![0.0; dim];
    let mut outside = vec![0.0; dim];
    for index in 0..count {
        let walk = index > count / 3 && index % 3 == 0;
        if walk {
            if !straddle(oracle, x, &points, &mut inside, &mut outside, rng) {
                continue;
            }
        } else {
            let out = rng.random_range(0..rows_out);
            outside.copy_from_slice(&infeasible[out * dim..][..dim]);
            let tries = if index % 2 == 0 { 1 } else { 24 };
            let pick = (0..tries)
                .map(|_| rng.random_range(0..rows_in))
                .min_by(|a, b| {
                    let distance =
                        |row: &usize| squared_distance(&feasible[row * dim..][..dim], &outside);
                    distance(a).total_cmp(&distance(b))
                })
                .unwrap_or(0);
            inside.copy_from_slice(&feasible[pick * dim..][..dim]);
        }
        bisect(oracle, x, &mut inside, &mut outside);
        let normal = inward_normal(oracle, x, &inside, &outside, rng);
        points.extend_from_slice(&inside);
        normals.extend_from_slice(&normal);
    }
    (points, normals)
}

/// Draws a feasible and an infeasible point close to a known boundary point; false if that fails.
fn straddle(
    oracle: &Oracle,
    x: &[f64],
    points: &[f32],
    inside: &mut [f32],
    outside: &mut [f32],
    rng: &mut ChaCha8Rng,
) -> bool {
    let dim = inside.len();
    let reach = if rng.random::<bool>() { 0.05f32 } else { 0.3 };
    let pick = rng.random_range(0..points.len() / dim);
    let (mut have_in, mut have_out) = (false, false);
    for _ in 0..12 {
        let candidate: Vec<f32> = points[pick * dim..][..dim]
            .iter()
            .map(|p| p + reach * rng.random_range(-1.0f32..1.0))
            .collect();
        if oracle.contains(&candidate, x) {
            inside.copy_from_slice(&candidate);
            have_in = true;
        } else {
            outside.copy_from_slice(&candidate);
            have_out = true;
        }
        if have_in && have_out {
            return true;
        }
    }
    false
}

/// The inward unit normal at a bracketed boundary point: the slope of the boundary over the tangent
/// directions, each found by bisection; at corners, where that fails, the mean direction of the
/// feasible ones among random probes.
fn inward_normal(
    oracle: &Oracle,
    x: &[f64],
    inside: &[f32],
    outside: &[f32],
    rng: &mut ChaCha8Rng,
) -> Vec<f32> {
    let mut rough = Vec::new();
    for probe in PROBES {
        rough = probe_normal(oracle, x, inside, outside, probe, rng);
        if let Some(normal) = slope_normal(oracle, x, inside, &rough, probe) {
            return normal;
        }
    }
    rough
}

/// The rough normal corrected by the boundary's slope; `None` where the boundary is no graph over the
/// rough tangent plane at this distance.
fn slope_normal(
    oracle: &Oracle,
    x: &[f64],
    point: &[f32],
    rough: &[f32],
    probe: f32,
) -> Option<Vec<f32>> {
    let dim = point.len();
    let mut normal = rough.to_vec();
    for tangent in tangent_basis(rough).chunks_exact(dim) {
        let ahead = boundary_offset(oracle, x, point, tangent, probe, rough)?;
        let behind = boundary_offset(oracle, x, point, tangent, -probe, rough)?;
        let slope = (ahead - behind) / (2.0 * probe);
        for (n, t) in normal.iter_mut().zip(tangent) {
            *n -= slope * t;
        }
    }
    normalise(&mut normal);
    Some(normal)
}

/// Mean direction from infeasible to feasible among random probes around the point.
fn probe_normal(
    oracle: &Oracle,
    x: &[f64],
    inside: &[f32],
    outside: &[f32],
    probe: f32,
    rng: &mut ChaCha8Rng,
) -> Vec<f32> {
    let dim = inside.len();
    let mut normal: Vec<f32> = inside.iter().zip(outside).map(|(a, b)| a - b).collect();
    normalise(&mut normal);
    let directions: Vec<f32> = (0..6 * dim).flat_map(|_| direction(dim, rng)).collect();
    let around = directions.iter().zip(inside.iter().cycle());
    let points: Vec<f32> = around.map(|(d, p)| p + probe * d).collect();
    let feasible = oracle.contains_rows(&points, |_| x);
    let mut sum = vec![0.0; dim];
    for (direction, feasible) in directions.chunks_exact(dim).zip(feasible) {
        let sign = if feasible { 1.0 } else { -1.0 };
        for (s, d) in sum.iter_mut().zip(direction) {
            *s += sign * d;
        }
    }
    if squared_distance(&sum, &vec![0.0; dim]) > 1.0 {
        normalise(&mut sum);
        return sum;
    }
    normal
}

/// Where, along `normal` from the point shifted by `step` tangentially, the boundary lies.
fn boundary_offset(
    oracle: &Oracle,
    x: &[f64],
    point: &[f32],
    tangent: &[f32],
    step: f32,
    normal: &[f32],
) -> Option<f32> {
    let mut probe = vec![0.0; point.len()];
    let mut at = |offset: f32| -> bool {
        for j in 0..point.len() {
            probe[j] = point[j] + step * tangent[j] + offset * normal[j];
        }
        oracle.contains(&probe, x)
    };
    let (mut low, mut high) = (-3.0 * step.abs(), 3.0 * step.abs());
    if at(low) || !at(high) {
        return None;
    }
    for _ in 0..PROBE_BISECTIONS {
        let middle = 0.5 * (low + high);
        if at(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    Some(high)
}

/// An orthonormal basis of the plane orthogonal to the unit vector `normal`, row by row.
fn tangent_basis(normal: &[f32]) -> Vec<f32> {
    let dim = normal.len();
    let mut basis: Vec<f32> = normal.to_vec();
    // The axis most along the normal is left out: the others span the tangent plane with it.
    let skipped = (0..dim)
        .max_by(|a, b| normal[*a].abs().total_cmp(&normal[*b].abs()))
        .unwrap_or(0);
    for axis in (0..dim).filter(|axis| *axis != skipped) {
        let mut vector = vec![0.0; dim];
        vector[axis] = 1.0;
        for other in basis.chunks_exact(dim) {
            let dot: f32 = vector.iter().zip(other).map(|(a, b)| a * b).sum();
            for (v, o) in vector.iter_mut().zip(other) {
                *v -= dot * o;
            }
        }
        normalise(&mut vector);
        basis.extend_from_slice(&vector);
    }
    basis.split_off(dim)
}

/// Scales to unit length; a zero vector becomes the first axis.
pub(crate) fn normalise(vector: &mut [f32]) {
    let norm = vector.iter().map(|v| v * v).sum::<f32>().sqrt();
    if norm > f32::MIN_POSITIVE {
        vector.iter_mut().for_each(|v| *v /= norm);
    } else if let Some(first) = vector.first_mut() {
        *first = 1.0;
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;
    use crate::data::{Pool, PoolSizes};
    use crate::set::built_in;

    const SIZES: PoolSizes = PoolSizes {
        states: 1,
        feasible: 2_000,
        infeasible: 2_000,
        boundary: 3_000,
        draws: 1 << 20,
    };

    /// Signed distance and its gradient for radius 1 to 2, in raw units.
    fn annulus(y: &[f64]) -> (f64, [f64; 2]) {
        let radius = y[0].hypot(y[1]);
        let sign = if radius < 1.5 { 1.0 } else { -1.0 };
        let distance = (radius - 1.0).min(2.0 - radius);
        (distance, [sign * y[0] / radius, sign * y[1] / radius])
    }

    #[test]
    fn signed_distances_are_those_of_the_annulus() {
        let set = built_in("concentric-circles").unwrap();
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let pool = Pool::draw(set.as_ref(), &SIZES, &mut rng).unwrap();
        let units = pool.oracle.units();
        let (mut raw, mut gradient) = ([0.0; 2], [0.0; 2]);
        for _ in 0..500 {
            let y: Vec<f32> = (0..2).map(|_| rng.random_range(-2.5f32..2.5)).collect();
            units.raw(&y, &mut raw);
            let (distance, direction) = annulus(&raw);
            let middle = (raw[0].hypot(raw[1]) - 1.5).abs() < 0.02 || raw[0].hypot(raw[1]) < 0.05;
            let inside = pool.contains(&y, 0);
            let found = f64::from(pool.boundaries[0].signed_distance(&y, inside, &mut gradient));
            assert!(
                (found * units.scale[0] - distance).abs() < 0.01,
                "{raw:?}: {found} {distance}"
            );
            let cosine =
                f64::from(gradient[0]) * direction[0] + f64::from(gradient[1]) * direction[1];
            // Closer to the boundary than its points are to each other, directions are rougher.
            let least = if distance.abs() < 0.03 { 0.7 } else { 0.97 };
            assert!(middle || cosine > least, "{raw:?}: cosine {cosine}");
        }
    }

    #[test]
    fn erosion_leaves_what_is_clear_of_the_boundary_even_in_a_cusp() {
        let set = built_in("blob-with-bite").unwrap();
        let mut rng = ChaCha8Rng::seed_from_u64(2);
        let pool = Pool::draw(set.as_ref(), &SIZES, &mut rng).unwrap();
        let scale = pool.oracle.units().scale[0];
        for margin in [0.006f32, 0.02] {
            let eroded = pool.boundaries[0].eroded(margin);
            assert!(
                eroded.len() > SIZES.boundary * 8 / 10,
                "{} points left",
                eroded.len()
            );
            let mut raw = [0.0; 2];
            for index in 0..eroded.len() {
                pool.oracle.units().raw(eroded.point(index), &mut raw);
                let clear = (2.0 - raw[0].hypot(raw[1])).min((raw[0] - 1.0).hypot(raw[1]) - 1.0);
                assert!(
                    clear > 0.7 * f64::from(margin) * scale,
                    "{raw:?} is {clear} inside"
                );
            }
        }
    }
}
