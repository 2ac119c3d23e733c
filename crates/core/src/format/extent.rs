//! How much a JSON text holds, counted before it is parsed: parsed, a small value can take a hundred times the
//! bytes of its text.

use super::FormatError;

/// Limits of a JSON text.
pub(super) struct Limits {
    /// Which text, for the message.
    pub what: &'static str,
    /// The most arrays and objects.
    pub containers: usize,
    /// The most values.
    pub values: usize,
}

/// Refuses a text with more arrays, objects or values than the limits allow. The text need not be valid.
pub(super) fn check(text: &[u8], limits: &Limits) -> Result<(), FormatError> {
    let (mut containers, mut values) = (0, 1);
    let (mut quoted, mut escaped) = (false, false);
    for byte in text {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'{' | b'[' if !quoted => containers += 1,
            b',' if !quoted => values += 1,
            _ => {}
        }
    }
    for (found, limit) in [
        (containers, limits.containers),
        (containers + values, limits.values),
    ] {
        if found > limit {
            let what = limits.what;
            return Err(FormatError::TooManyValues { what, found, limit });
        }
    }
    Ok(())
}
