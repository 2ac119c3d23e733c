//! Calls do not allocate, and a loaded projector is small. Allocations are counted per thread, so that
//! the tests do not disturb each other.

mod common;

use common::counting::{Counting, counted};
use common::{Random, Shape, projector};
use fabproj_core::{Blend, Gradient, Guard, LatentSet, Membership, Projector, Status};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// A model that uses every part: charts, gates, parameters, skips, a nonconvex latent set.
fn rich(blend: Blend) -> Projector {
    let shape = Shape {
        parameter_dim: 2,
        charts: 3,
        decoders: 2,
        anchors: 5,
        skip: true,
        blend,
        latent: LatentSet::Shell {
            inner: 0.2,
            outer: 0.5,
            smooth: Some(20.0),
        },
        ..Shape::plain()
    };
    projector(&shape.model(11))
}

#[test]
fn the_counter_counts() {
    let (kept, count) = counted(|| {
        drop(vec![0_u8; 5000]);
        vec![0_u8; 1000]
    });
    assert_eq!((count.allocations, count.held, count.most), (2, 1000, 5000));
    drop(kept);
}

#[test]
fn projections_and_gradients_do_not_allocate() {
    for blend in [Blend::Soft, Blend::Hard] {
        let projector = rich(blend);
        let mut workspace = projector.workspace();
        let rows = 1500;
        let mut random = Random(2);
        let (y, x) = (random.floats(rows * 2, 3.0), random.floats(rows * 2, 1.0));
        let (mut out, mut dy, mut dx) = (y.clone(), y.clone(), x.clone());
        let mut statuses = vec![Status::Inside; rows];
        let mut latent = vec![0.0; rows * 2];
        let mut charts = vec![0; rows];
        let mut scores = vec![0.0; rows];
        let (result, count) = counted(|| {
            projector.project(&y[..2], &x[..2], &mut out[..2], &mut workspace)?;
            projector.project_batch(&y, &x, &mut out, &mut statuses, &mut workspace)?;
            let gradient = Gradient {
                y: &mut dy[..2],
                x: &mut dx[..2],
            };
            projector.vjp(
                &y[..2],
                &x[..2],
                &y[..2],
                &mut out[..2],
                gradient,
                &mut workspace,
            )?;
            let gradient = Gradient {
                y: &mut dy,
                x: &mut dx,
            };
            projector.vjp_batch(&y, &x, &y, &mut out, gradient, &mut workspace)?;
            projector.charts_of(&y, &x, &mut charts, &mut workspace)?;
            projector.encode_batch(0, &y, &x, &mut latent, &mut workspace)?;
            projector.decode_batch(0, &latent, &x, &mut out, &mut workspace)?;
            projector.score_batch(&y, &x, &mut scores, &mut workspace)
        });
        result.expect("lengths fit");
        assert_eq!(count.allocations, 0);
    }
}

/// y_0 + x_0 / 10 ≤ offset, with its violation.
struct HalfPlane {
    offset: f64,
}

impl Membership for HalfPlane {
    fn contains(&self, y: &[f64], x: &[f64]) -> bool {
        y[0] + 0.1 * x[0] <= self.offset
    }

    fn violation(&self, y: &[f64], x: &[f64]) -> Option<f64> {
        Some((y[0] + 0.1 * x[0] - self.offset).max(0.0))
    }
}

#[test]
fn guarded_calls_do_not_allocate() {
    let projector = rich(Blend::Soft);
    let mut random = Random(3);
    let rows = 300;
    let (y, x) = (random.floats(rows * 2, 3.0), random.floats(rows * 2, 1.0));
    let mut out = y.clone();
    let mut statuses = vec![Status::Inside; rows];
    // All ways through the guard: from a half plane to a set that neither a decode nor a search meets.
    let mut seen = fabproj_core::Tally::default();
    for offset in [1.0, 0.0, -1.0, -4.0, -100.0] {
        let guard = Guard::new(&projector, HalfPlane { offset })
            .expect("anchors are verified at each call");
        let mut workspace = guard.workspace();
        let (tally, count) = counted(|| {
            guard.project(&y[..2], &x[..2], &mut out[..2], &mut workspace)?;
            guard.project_batch(&y, &x, &mut out, &mut statuses, &mut workspace)
        });
        seen += tally.expect("lengths fit");
        assert_eq!(count.allocations, 0);
    }
    for status in [
        Status::Kept,
        Status::Projected,
        Status::Repaired,
        Status::Anchored,
        Status::MaybeEmpty,
    ] {
        assert!(
            seen.count(status) > 0,
            "{status} was not exercised: {seen:?}"
        );
    }
}

#[test]
fn a_loaded_projector_of_the_papers_size_takes_less_than_a_megabyte() {
    let bytes = common::paper_size().to_bytes().expect("a valid model");
    let (loaded, count) = counted(|| {
        let projector = Projector::from_bytes(&bytes).expect("a valid file");
        let workspace = projector.workspace();
        (projector, workspace)
    });
    assert!(
        count.held < 1_000_000,
        "{} bytes with its workspace",
        count.held
    );
    drop(loaded);
}
