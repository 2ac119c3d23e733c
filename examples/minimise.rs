//! Minimises a cost over a nonconvex set by gradient descent *through* the projector, from many starts in
//! one batch.
//!
//! ```text
//! cargo run --release --example minimise
//! ```

use std::error::Error;

use fabproj::core::{Gradient, Guard, Projector, Status};
use fabproj::set::built_in;
use fabproj::train::{Session, ShapeConfig, shape};

const STARTS: usize = 64;
const STEPS: usize = 200;
const RATE: f32 = 0.05;
/// Where the cost ‖y − goal‖² would like to be: in the hole of the ring, off its middle.
const GOAL: [f32; 2] = [0.6, 0.3];

fn cost(y: &[f32]) -> f32 {
    (y[0] - GOAL[0]).powi(2) + (y[1] - GOAL[1]).powi(2)
}

fn main() -> Result<(), Box<dyn Error>> {
    let ring = built_in("concentric-circles")?;
    let (model, _) = shape(ring.as_ref(), &ShapeConfig::quick(), 7, &Session::default())?;
    let projector = Projector::new(&model)?;
    let mut workspace = projector.workspace();

    // The free variables u are any points; what counts is the cost of their projections.
    let mut u: Vec<f32> = (0..STARTS)
        .flat_map(|start| {
            let angle = start as f32 * std::f32::consts::TAU / STARTS as f32;
            [1.5 * angle.cos(), 1.5 * angle.sin()]
        })
        .collect();
    let (mut out, mut gradient) = (vec![0.0; u.len()], vec![0.0; u.len()]);
    let mut statuses = vec![Status::Inside; STARTS];
    for _ in 0..STEPS {
        projector.project_batch(&u, &[], &mut out, &mut statuses, &mut workspace)?;
        let slope = |(index, y): (usize, &f32)| 2.0 * (y - GOAL[index % 2]);
        let cotangent: Vec<f32> = out.iter().enumerate().map(slope).collect();
        let into = Gradient {
            y: &mut gradient,
            x: &mut [],
        };
        projector.vjp_batch(&u, &[], &cotangent, &mut out, into, &mut workspace)?;
        for (value, slope) in u.iter_mut().zip(&gradient) {
            *value -= RATE * slope;
        }
    }

    // The answers are the projections of u, also where u itself is feasible; each is checked.
    let contains = |y: &[f64], x: &[f64]| ring.contains(y, x);
    let guard = Guard::new(&projector, contains)?.keep_feasible(false);
    let mut workspace = guard.workspace();
    guard.project_batch(&u, &[], &mut out, &mut statuses, &mut workspace)?;
    let best = out
        .chunks_exact(2)
        .min_by(|a, b| cost(a).total_cmp(&cost(b)))
        .ok_or("no starts")?;
    let length = GOAL[0].hypot(GOAL[1]);
    println!("best point    {best:?}, cost {:.4}", cost(best));
    println!(
        "exact optimum [{}, {}], cost {:.4}",
        GOAL[0] / length,
        GOAL[1] / length,
        (1.0 - length).powi(2)
    );
    Ok(())
}
