//! Calls with a workspace or a tape do not allocate, and a loaded projector is small. Allocations are
//! counted per thread, so that the tests do not disturb each other.

use crate::common::counting::counted;
use crate::common::{Random, Shape, cast, projector};
use fabproj_core::{CallError, Guard, LatentSet, Membership, Outcome, Projector, RawOutcome, Real};

/// Every part: charts, gates, x, skips, a nonconvex latent set; with equations for an odd seed.
fn rich(seed: u64) -> Projector {
    let shape = Shape {
        x_dim: 2,
        charts: 3,
        decoders: 2,
        anchors: 5,
        skip: true,
        latent: LatentSet::Shell {
            inner: 0.2,
            outer: 0.5,
            smooth: Some(20.0),
        },
        ..Shape::plain()
    };
    projector(&shape.weights(seed))
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

fn projections_and_gradients<T: Real>(projector: &Projector) {
    let (n, p, rows) = (projector.dim(), projector.x_dim(), 1500);
    let mut workspace = projector.workspace();
    let mut tape = projector.tape(rows);
    let mut random = Random(2);
    let y: Vec<T> = cast(&random.floats(rows * n, 3.0));
    let x: Vec<T> = cast(&random.floats(rows * p, 1.0));
    let (mut out, mut d_y, mut d_x) = (y.clone(), y.clone(), x.clone());
    let mut outcomes = vec![RawOutcome::Inside; rows];
    let mut latent = vec![0.0; rows * 2];
    let mut scores = vec![0.0; rows];
    let (result, count) = counted(|| -> Result<(), CallError> {
        projector.project_into(&y[..n], &x[..p], &mut out[..n], &mut workspace)?;
        projector.project_rows_into(&y, &x, &mut out, &mut outcomes, &mut workspace)?;
        for rows in [1, rows] {
            let (y, x) = (&y[..rows * n], &x[..rows * p]);
            let out = &mut out[..rows * n];
            projector.forward(y, x, out, &mut outcomes[..rows], &mut tape)?;
            let (d_y, d_x) = (&mut d_y[..rows * n], &mut d_x[..rows * p]);
            projector.pullback(y, d_y, d_x, &mut tape)?;
        }
        projector.encode(0, &y[..n], &x[..p], &mut latent[..2], &mut workspace)?;
        projector.decode_rows(0, &latent, &x, &mut out, &mut workspace)?;
        projector.score_rows(&y, &x, &mut scores, &mut workspace)
    });
    result.expect("lengths fit");
    assert_eq!(count.allocations, 0);
}

#[test]
fn projections_and_gradients_do_not_allocate() {
    for seed in [10, 11] {
        projections_and_gradients::<f32>(&rich(seed));
        projections_and_gradients::<f64>(&rich(seed));
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

    fn violation(&self, y: &[f64], x: &[f64], _gradient: &mut [f64]) -> Option<f64> {
        Some((y[0] + 0.1 * x[0] - self.offset).max(0.0))
    }
}

fn guarded<T: Real>(projector: &Projector) {
    let mut random = Random(3);
    let (n, p, rows) = (projector.dim(), projector.x_dim(), 300);
    let y: Vec<T> = cast(&random.floats(rows * n, 3.0));
    let x: Vec<T> = cast(&random.floats(rows * p, 1.0));
    let mut out = y.clone();
    let mut outcomes = vec![Outcome::NotFinite; rows];
    // All ways through the guard: from a half plane to a set that neither a decode nor a search meets.
    let mut seen = Vec::new();
    for offset in [1.0, 0.0, -1.0, -4.0, -100.0] {
        let guard = Guard::new(projector.clone(), HalfPlane { offset })
            .expect("anchors are verified at each call");
        let mut workspace = guard.workspace();
        let (result, count) = counted(|| {
            guard.project_into(&y[..n], &x[..p], &mut out[..n], &mut workspace)?;
            guard.project_rows_into(&y, &x, &mut out, &mut outcomes, &mut workspace)
        });
        result.expect("lengths fit");
        assert_eq!(count.allocations, 0);
        seen.extend_from_slice(&outcomes);
    }
    for outcome in Outcome::ALL {
        let exercised = seen.contains(&outcome) || outcome == Outcome::NotFinite;
        assert!(exercised, "{outcome}");
    }
}

#[test]
fn guarded_calls_do_not_allocate() {
    for seed in [10, 11] {
        guarded::<f32>(&rich(seed));
        guarded::<f64>(&rich(seed));
    }
}

#[test]
fn a_loaded_projector_of_the_papers_size_takes_less_than_a_megabyte() {
    let bytes = crate::common::paper_size()
        .to_bytes()
        .expect("valid weights");
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
