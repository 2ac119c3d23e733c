//! A certificate for the inputs that an application has, not for uniform ones.

use fabproj::set::built_in;
use fabproj::{Inputs, Plan, Settings};

pub(crate) fn main() -> Result<(), Box<dyn std::error::Error>> {
    let set = built_in("two-moons")?;
    let mut model = fabproj::train(&set, Settings::quick())?;

    // Logged proposals of a controller: a slow walk around the set.
    let times = (0..5_000).map(|step| f64::from(step) / 100.0);
    let log = times.flat_map(|t| [0.5 + 2.0 * t.cos(), 0.2 + (1.3 * t).sin()]);
    let (y, x) = (&log.collect::<Vec<_>>(), &[]);
    let name = "logged proposals";
    let logged = Inputs::Rows { name, y, x };
    // Or a distribution: here proposals in the hole.
    let name = "inputs in the hole";
    let draw = &|uniform: &mut dyn FnMut() -> f64, y: &mut [f64], _x: &mut [f64]| {
        (y[0], y[1]) = (0.4 + 0.2 * uniform(), 0.1 + 0.2 * uniform());
    };
    for inputs in [Inputs::Region, logged, Inputs::Draw { name, draw }] {
        let mut plan = Plan::default();
        (plan.inputs, plan.samples) = (inputs, 5_000);
        let found = model.certify(&set, &plan)?;
        let share = 100.0 * found.raw_lower_bound;
        println!("{}: {share:.2} % or more are right", found.inputs);
    }
    Ok(())
}
