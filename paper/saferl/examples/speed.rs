use fab_saferl::train::*;
struct Print;
impl Observer for Print {
    fn observe(&self, e: &Event<'_>) {
        if let Event::Epoch { record, .. } = e {
            println!(
                "{} rollout {:.3} update {:.3} passes {:?} reward {:?} cost {:?}",
                record.epoch,
                record.rollout_seconds,
                record.update_seconds,
                record.figures.get("passes"),
                record.reward,
                record.cost
            );
        }
    }
}
fn main() {
    let a: Vec<String> = std::env::args().collect();
    rayon::ThreadPoolBuilder::new()
        .num_threads(a[1].parse().unwrap())
        .build_global()
        .unwrap();
    let mut s = TrainSettings {
        steps: a[3].parse().unwrap(),
        algorithm: AlgorithmSettings::named(&a[2]).unwrap(),
        ..Default::default()
    };
    s.rollout.steps_per_epoch = a[4].parse().unwrap();
    let t = train(
        &s.validate().unwrap(),
        9,
        None,
        &Session {
            observer: Some(&Print),
            ..Default::default()
        },
    )
    .unwrap();
    println!(
        "{}",
        t.curve
            .iter()
            .map(|r| r.rollout_seconds + r.update_seconds)
            .sum::<f64>()
    );
}
