//! The programs of `examples/`, run to their ends.

#[path = "../../../../examples/closure_set.rs"]
mod closure_set;

#[test]
fn closure_set_runs() {
    closure_set::main().expect("it ends well");
}

#[path = "../../../../examples/set_with_x.rs"]
mod set_with_x;

#[test]
fn set_with_x_runs() {
    set_with_x::main().expect("it ends well");
}

#[path = "../../../../examples/equation.rs"]
mod equation;

#[test]
fn equation_runs() {
    equation::main().expect("it ends well");
}

#[path = "../../../../examples/labelled_arrays.rs"]
mod labelled_arrays;

#[test]
fn labelled_arrays_runs() {
    labelled_arrays::main().expect("it ends well");
}

#[path = "../../../../examples/train_through.rs"]
mod train_through;

#[test]
fn train_through_runs() {
    train_through::main().expect("it ends well");
}

#[path = "../../../../examples/core_only.rs"]
mod core_only;

#[test]
fn core_only_runs() {
    core_only::main().expect("it ends well");
}

#[path = "../../../../examples/watch_and_cancel.rs"]
mod watch_and_cancel;

#[test]
fn watch_and_cancel_runs() {
    watch_and_cancel::main().expect("it ends well");
}

#[path = "../../../../examples/own_inputs.rs"]
mod own_inputs;

#[test]
fn own_inputs_runs() {
    own_inputs::main().expect("it ends well");
}

#[path = "../../../../examples/threads.rs"]
mod threads;

#[test]
fn threads_runs() {
    threads::main().expect("it ends well");
}
