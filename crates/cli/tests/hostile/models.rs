//! Model files that were damaged or edited.

use super::words;
use crate::common::{folder, run, run_with_input};

#[test]
fn flipped_bits_and_edited_sets_are_refused() {
    let folder = folder();
    let whole = std::fs::read(folder.path().join("ring")).unwrap();
    let header = 8 + u64::from_le_bytes(whole[..8].try_into().unwrap()) as usize;
    let bad = folder.path().join("bad");
    // In the lengths, the header, and the weights.
    let places = (0..8)
        .chain((8..header).step_by(41))
        .chain((header..whole.len()).step_by(7));
    for place in places {
        let mut flipped = whole.clone();
        flipped[place] ^= 1 << (place % 8);
        std::fs::write(&bad, flipped).unwrap();
        let refused = fabproj::Model::load(&bad).map(drop);
        assert!(refused.is_err(), "byte {place}");
    }
    // Another set under the model's own networks: the guard would keep what is infeasible.
    let from = b"concentric-circles";
    let place = whole
        .windows(from.len())
        .position(|window| window == from)
        .unwrap();
    let mut edited = whole.clone();
    edited[place..place + from.len()].copy_from_slice(b"star-shaped-please");
    std::fs::write(&bad, edited).unwrap();
    run_with_input(folder.path(), &words("project bad"), "y0,y1\n0,0\n")
        .failed(1, &["bad", "damaged or edited"]);
    run(folder.path(), &words("inspect bad")).failed(1, &["damaged or edited"]);
}

#[test]
fn an_archive_with_a_wrong_checksum_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let source = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../fabproj/tests/library/labelled/plain.npz"
    );
    let mut bytes = std::fs::read(source).unwrap();
    // The last byte of the first array: another number, and the archive's checksum is wrong.
    let next = bytes
        .windows(4)
        .skip(4)
        .position(|window| window == b"PK\x03\x04")
        .unwrap()
        + 4;
    bytes[next - 1] ^= 0x40;
    std::fs::write(folder.path().join("bad.npz"), bytes).unwrap();
    run(folder.path(), &words("train bad.npz")).failed(1, &["bad.npz", "damaged"]);
}
