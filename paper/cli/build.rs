//! Lets `fab-paper` with the feature `mujoco` find MuJoCo's library when it starts.

fn main() {
    println!("cargo::rerun-if-env-changed=DEP_FAB_MUJOCO_FOLDER");
    if let Ok(folder) = std::env::var("DEP_FAB_MUJOCO_FOLDER") {
        println!("cargo::rustc-link-arg-bins=-Wl,-rpath,{folder}");
    }
}
