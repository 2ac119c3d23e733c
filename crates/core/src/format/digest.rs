//! The digest of a file: damage and edits are found before anything else is believed.
//!
//! It is the SHA-256 of the whole file in which the digest's own digits are zeros. It is no signature: who edits
//! a file on purpose can compute it again.

use alloc::string::String;
use core::fmt::Write;

use sha2::{Digest, Sha256};

use super::FormatError;

/// The digits of a file whose digest is not known yet.
pub(super) const BLANK: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// Where the digits stand in a file: their first place in its safetensors header.
fn place(bytes: &[u8], digits: &str) -> Option<usize> {
    let length = usize::try_from(u64::from_le_bytes(*bytes.first_chunk::<8>()?)).ok()?;
    let header = bytes.get(8..)?.get(..length)?;
    let found = header
        .windows(digits.len())
        .position(|window| window == digits.as_bytes())?;
    Some(8 + found)
}

/// The digest of a file whose digits stand at `place`.
fn digest(bytes: &[u8], place: usize) -> String {
    let mut hash = Sha256::new();
    hash.update(&bytes[..place]);
    hash.update(BLANK);
    hash.update(&bytes[place + BLANK.len()..]);
    let mut digits = String::with_capacity(BLANK.len());
    for byte in hash.finalize() {
        // Writing to a string does not fail.
        let _ = write!(digits, "{byte:02x}");
    }
    digits
}

/// Puts the digest into a file that was written with blank digits; false if it has none.
pub(super) fn seal(bytes: &mut [u8]) -> bool {
    let Some(place) = place(bytes, BLANK) else {
        return false;
    };
    let digits = digest(bytes, place);
    bytes[place..place + BLANK.len()].copy_from_slice(digits.as_bytes());
    true
}

/// Compares a file with the digest that it states.
pub(super) fn check(bytes: &[u8], stated: &str) -> Result<(), FormatError> {
    let wrong = |found: String| FormatError::Digest {
        stated: stated.chars().take(BLANK.len()).collect(),
        found,
    };
    let digits =
        stated.len() == BLANK.len() && stated.bytes().all(|digit| digit.is_ascii_hexdigit());
    // First: a digest without digits has no place.
    let place = digits.then(|| place(bytes, stated)).flatten();
    let found = digest(bytes, place.ok_or_else(|| wrong("not its place".into()))?);
    if found == stated {
        return Ok(());
    }
    Err(wrong(found))
}
