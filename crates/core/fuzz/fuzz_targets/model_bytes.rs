//! Any bytes, read as a model.
#![no_main]

#[path = "../../tests/library/common/hostile.rs"]
mod hostile;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = hostile::read(bytes);
});
