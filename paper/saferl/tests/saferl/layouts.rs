//! Layouts and random stream are those of the original package, to the last bit.

use std::fs;
use std::path::Path;

use fab_saferl::safety_gym::{Layout, NumpyRandom, Task};
use serde_json::Value;

fn recorded(task: Task) -> Vec<Value> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let text = fs::read_to_string(folder.join(format!("layouts_{task}.json"))).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn pair(value: &Value) -> [f64; 2] {
    [value[0].as_f64().unwrap(), value[1].as_f64().unwrap()]
}

fn check(task: Task, entry: &Value) {
    let seed = u32::try_from(entry["seed"].as_u64().unwrap()).unwrap();
    let mut random = NumpyRandom::new(seed);
    let mut layout = Layout::sample(task, &mut random, seed).unwrap();
    let context = format!("{task}, seed {seed}");
    assert_eq!(
        layout.objects().len(),
        entry["xy"].as_object().unwrap().len(),
        "{context}"
    );
    for object in layout.objects() {
        let name = object.name();
        assert_eq!(object.xy, pair(&entry["xy"][&name]), "{context}, {name}");
        let rotation = entry["rot"][&name].as_f64().unwrap();
        assert_eq!(object.rotation, rotation, "{context}, {name}");
    }
    let tries = layout.redraw_goal(&mut random).unwrap();
    assert_eq!(
        tries as u64,
        entry["goal_tries"].as_u64().unwrap(),
        "{context}"
    );
    assert_eq!(
        layout.goal().xy,
        pair(&entry["goal_after_reset"]),
        "{context}"
    );
    assert_eq!(
        random.peek(),
        entry["rng_next"].as_f64().unwrap(),
        "{context}"
    );
}

#[test]
fn layouts_goals_and_random_stream_are_equal() {
    for task in Task::ALL {
        let entries = recorded(task);
        assert_eq!(entries.len(), 102);
        entries.iter().for_each(|entry| check(task, entry));
    }
}

/// A program without MuJoCo says how to get it.
#[cfg(not(feature = "mujoco"))]
#[test]
fn a_task_without_mujoco_names_the_command() {
    let Err(error) = fab_saferl::safety_gym::create(Task::Goal2) else {
        panic!("a task without a simulator");
    };
    assert!(
        error.to_string().contains("`cargo xtask mujoco`"),
        "{error}"
    );
}
