//! A set file with an equation, which holds in every output.

use fabproj::Settings;
use fabproj::set::from_toml;

const DISPATCH: &str = r#"
name = "dispatch"
y = ["p1", "p2", "p3"]                    # power of three generators
bounds = { p1 = [0, 60], p2 = [0, 60], p3 = [0, 60] }
x = ["load"]
x_bounds = { load = [40, 120] }
[[constraint]]
expr = "p1 + p2 + p3 == load"
[[constraint]]
any = ["p1 <= 0.5", "p1 >= 20"]           # off, or at least at its minimum
"#;

pub(crate) fn main() -> Result<(), Box<dyn std::error::Error>> {
    let set = from_toml(DISPATCH)?;
    let model = fabproj::train(&set, Settings::quick())?;
    let guard = model.guard(&set)?;
    for load in [50.0, 75.5, 110.0] {
        let (p, outcome) = guard.project(&[10.0, 40.0, 30.0], &[load])?;
        println!("load {load:5.1}: {p:6.2?} ({outcome})");
        assert!(outcome.is_verified() && (p.iter().sum::<f64>() - load).abs() < 1e-9);
    }
    Ok(())
}
