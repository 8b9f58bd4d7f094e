//! Messages that show whether they are whole

pub(crate) const BYTES: usize = 64;

/// Returns a message in which every word depends on the number.
pub(crate) fn message(number: u64) -> [u8; BYTES] {
    let mut bytes = [0; BYTES];
    for (at, word) in bytes.chunks_exact_mut(8).enumerate() {
        word.copy_from_slice(&number.wrapping_mul(2 * at as u64 + 1).to_ne_bytes());
    }
    bytes
}

/// The number of a message, if all its words belong to it.
pub(crate) fn whole(bytes: &[u8]) -> Option<u64> {
    let number = u64::from_ne_bytes(bytes.get(..8)?.try_into().ok()?);
    (bytes == message(number)).then_some(number)
}

/// The number of a message, which must be whole.
pub(crate) fn number(bytes: &[u8]) -> u64 {
    whole(bytes).expect("torn message")
}
