//! The programs of `examples/`, run to their ends.

#[path = "../../../../examples/closure_set.rs"]
mod closure_set;
#[path = "../../../../examples/core_only.rs"]
mod core_only;
#[path = "../../../../examples/equation.rs"]
mod equation;
#[path = "../../../../examples/labelled_arrays.rs"]
mod labelled_arrays;
#[path = "../../../../examples/own_inputs.rs"]
mod own_inputs;
#[path = "../../../../examples/set_with_x.rs"]
mod set_with_x;
#[path = "../../../../examples/threads.rs"]
mod threads;
#[path = "../../../../examples/train_through.rs"]
mod train_through;
#[path = "../../../../examples/watch_and_cancel.rs"]
mod watch_and_cancel;

macro_rules! runs {
    ($($program:ident)*) => {$(
        #[test]
        fn $program() {
            self::$program::main().expect("it ends well");
        }
    )*};
}

runs! {closure_set set_with_x equation labelled_arrays train_through core_only watch_and_cancel own_inputs threads}
