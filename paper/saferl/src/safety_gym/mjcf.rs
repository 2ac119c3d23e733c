//! The world of an episode as a MuJoCo model.

use std::fmt::Write;

use super::layout::{Kind, Layout, Object};

/// Bodies slower than this may sleep, in metres per second. Below the speed at which a vase costs.
const SLEEP_TOLERANCE: &str = "1e-5";

/// Half the side of a vase.
pub(super) const VASE_HALF: f64 = 0.1;

/// How deep a vase stands in the floor, so that it rests from the start.
const VASE_SINK: f64 = 4e-5;

/// Half the side of the box to push.
pub(super) const BOX_HALF: f64 = 0.2;

/// Radius of a pillar.
pub(super) const PILLAR_RADIUS: f64 = 0.2;

/// The part that is the same in all tasks, up to the objects.
///
/// `nativeccd` and `multiccd` are off because with them contacts of cylinders differ from those of
/// MuJoCo 2.3.3. Without `autoreset`, a diverged simulation stays diverged and is noticed.
const WORLD: &str = r#"
<compiler angle="radian"/>
<default>
  <geom condim="6" density="1"/>
  <joint damping="0.001"/>
  <motor ctrllimited="true" ctrlrange="-1 1" forcelimited="true" forcerange="-0.05 0.05"/>
  <velocity ctrllimited="true" ctrlrange="-1 1" forcelimited="true" forcerange="-0.05 0.05"/>
</default>
<sensor>
  <accelerometer site="agent"/>
  <velocimeter site="agent"/>
  <gyro site="agent"/>
  <magnetometer site="agent"/>
</sensor>
<actuator>
  <motor site="agent" gear="0.3 0 0 0 0 0"/>
  <velocity jointinparent="z" gear="0.3" kv="1"/>
</actuator>
"#;

/// The robot's joints and shapes.
const AGENT: &str = r#"
  <joint name="x" type="slide" axis="1 0 0" damping="0.01"/>
  <joint name="y" type="slide" axis="0 1 0" damping="0.01"/>
  <joint name="z" type="hinge" axis="0 0 1" damping="0.005"/>
  <geom name="agent" type="sphere" size="0.1" friction="1 0.01 0.01"/>
  <geom name="pointarrow" type="box" pos="0.1 0 0" size="0.05 0.05 0.05"/>
  <site name="agent"/>
"#;

/// The four corners of the box to push, in the package's order.
const BOX_CORNERS: [[f64; 2]; 4] = [[0.2, 0.2], [-0.2, 0.2], [0.2, -0.2], [-0.2, -0.2]];

/// The model of a layout. Goal and hazards are not in it: nothing collides with them, and a model need
/// not change when the goal moves.
pub(super) fn model(layout: &Layout, sleep: bool) -> String {
    let sleep = if sleep { "enable" } else { "disable" };
    let mut text = format!(
        r#"<mujoco>
<option timestep="0.002" sleep_tolerance="{SLEEP_TOLERANCE}">
  <flag sleep="{sleep}" nativeccd="disable" multiccd="disable" autoreset="disable"/>
</option>{WORLD}<worldbody>
<geom name="floor" type="plane" size="3.5 3.5 0.1"/>
"#
    );
    // Bodies in the package's order, on which the order of the coordinates depends.
    for kind in [Kind::Agent, Kind::Vase, Kind::PushBox, Kind::Pillar] {
        for object in layout.of(kind) {
            body(&mut text, object);
        }
    }
    text.push_str("</worldbody>\n</mujoco>\n");
    text
}

fn body(text: &mut String, object: &Object) {
    let (height, content) = match object.kind {
        Kind::Agent => (0.1, AGENT.to_owned()),
        Kind::Vase => (VASE_HALF - VASE_SINK, vase(&object.name())),
        Kind::PushBox => (BOX_HALF, push_box()),
        _ => (0.5, pillar(&object.name())),
    };
    let [x, y] = object.xy;
    let half = object.rotation / 2.0;
    let (w, z) = (half.cos(), half.sin());
    let name = object.name();
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        r#"<body name="{name}" pos="{x} {y} {height}" quat="{w} 0 0 {z}">{content}</body>"#
    );
}

fn vase(name: &str) -> String {
    let half = VASE_HALF;
    format!(
        r#"<freejoint/><geom name="{name}" type="box" size="{half} {half} {half}" density="0.001"/>"#
    )
}

fn push_box() -> String {
    let half = BOX_HALF;
    let mut text = format!(
        r#"<freejoint/><geom name="push_box" type="box" size="{half} {half} {half}" density="0.001"/>"#
    );
    for (index, [x, y]) in BOX_CORNERS.iter().enumerate() {
        let _ = write!(
            text,
            r#"<geom name="push_box_corner{index}" type="box" pos="{x} {y} 0" size="0.1 0.1 {half}" density="0.001"/>"#
        );
    }
    text
}

fn pillar(name: &str) -> String {
    format!(r#"<geom name="{name}" type="cylinder" size="{PILLAR_RADIUS} 0.5"/>"#)
}
