//! One guard, eight threads, no allocation in a call.

use fabproj::core::CallError;
use fabproj::set::built_in;
use fabproj::{Membership, Settings};

pub(crate) fn main() -> Result<(), Box<dyn std::error::Error>> {
    let set = built_in("star-shaped")?;
    let guard = fabproj::train(&set, Settings::quick())?.guard(&set)?;
    // The guard is shared; each thread brings a workspace.
    let work = |thread: u32| -> Result<(), CallError> {
        let (mut workspace, mut out) = (guard.workspace(), [0.0; 2]);
        for step in 0..20_000 {
            let angle = f64::from(thread) + 0.001 * f64::from(step);
            let y = [2.0 * angle.cos(), 2.0 * (3.0 * angle).sin()];
            guard.project_into(&y, &[], &mut out, &mut workspace)?;
            assert!(set.contains(&out, &[]));
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let threads = (0..8).map(|thread| scope.spawn(move || work(thread)));
        for thread in threads.collect::<Vec<_>>() {
            thread.join().map_err(|_| "a thread panicked")??;
        }
        println!("160000 points, all of them feasible");
        Ok(())
    })
}
