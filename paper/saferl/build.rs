//! Lets programs with the feature `mujoco` find the library when they start.
//!
//! Programs of other packages need the same: their build script prints
//! `cargo::rustc-link-arg-bins=-Wl,-rpath,FOLDER`, with the folder from `DEP_FAB_MUJOCO_FOLDER`.

use std::env;
use std::path::PathBuf;

fn main() {
    println!("cargo::rerun-if-env-changed=MUJOCO_DYNAMIC_LINK_DIR");
    if env::var_os("CARGO_FEATURE_MUJOCO").is_none() {
        return;
    }
    let Some(folder) = env::var_os("MUJOCO_DYNAMIC_LINK_DIR").map(PathBuf::from) else {
        return;
    };
    // This crate's own folder holds only a linker script until the library is fetched.
    let library = folder.join("libmujoco.so.3.17.0");
    println!("cargo::rerun-if-changed={}", library.display());
    if folder.ends_with("paper/saferl/mujoco") && !library.is_file() {
        println!("cargo::error=MuJoCo's library is missing: run `cargo xtask mujoco`");
        return;
    }
    println!("cargo::metadata=FOLDER={}", folder.display());
    println!("cargo::rustc-link-arg=-Wl,-rpath,{}", folder.display());
}
