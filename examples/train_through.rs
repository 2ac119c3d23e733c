//! A network of your own, trained through a frozen projector: here y = w · goal.

use fabproj::Settings;
use fabproj::core::RawOutcome;
use fabproj::set::built_in;

pub(crate) fn main() -> Result<(), Box<dyn std::error::Error>> {
    let ring = built_in("concentric-circles")?;
    let model = fabproj::train(&ring, Settings::quick())?;
    let projector = model.projector();
    // Goals in the hole of the ring; the loss is the mean of |project(y) - goal|².
    let goals = [0.6, 0.0, 0.0, 0.5, -0.4, 0.3, 0.2, -0.6];
    let (mut tape, mut outcomes) = (projector.tape(4), [RawOutcome::Inside; 4]);
    let (mut w, mut out, mut d_y) = (3.3, [0.0; 8], [0.0; 8]);
    let mut losses = Vec::new();
    for _ in 0..60 {
        let y = goals.map(|goal| w * goal);
        projector.forward(&y, &[], &mut out, &mut outcomes, &mut tape)?;
        let errors: Vec<f64> = out.iter().zip(goals).map(|(y, g)| y - g).collect();
        losses.push(errors.iter().map(|error| error * error).sum::<f64>() / 4.0);
        // The pullback uses what the forward pass has kept.
        projector.pullback(&errors, &mut d_y, &mut [], &mut tape)?;
        let d_w: f64 = d_y.iter().zip(goals).map(|(d, g)| 0.5 * d * g).sum();
        w -= 0.5 * d_w;
    }
    println!("loss {:.3} at first, {:.3} at last", losses[0], losses[59]);
    assert!(losses[59] < 0.7 * losses[0]);
    Ok(())
}
