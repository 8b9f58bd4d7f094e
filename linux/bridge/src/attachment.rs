//! Attachment of a message: epoch of its writer, sequence number, age
//!
//! 24 bytes, three little-endian words (`doc/interfaces/bridge.md`). The age is an upper bound at the time of the hand-over to
//! Zenoh. It excludes the time in the network, because clocks of machines are not compared.

use std::time::Duration;

const WORD: usize = 8;

/// The words beside a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attachment {
    /// Which start of the sending bridge it is, a number of no further meaning.
    pub start: u64,
    /// Number of the message in its channel, from 1.
    pub number: u64,
    /// Greatest possible age at the time of sending; `None` if unknown, which is older than any limit.
    pub age: Option<Duration>,
}

impl Attachment {
    /// Its bytes.
    #[must_use]
    pub fn bytes(&self) -> [u8; 3 * WORD] {
        let age = self
            .age
            .map(|age| u64::try_from(age.as_nanos()).unwrap_or(u64::MAX));
        let words = [self.start, self.number, age.unwrap_or(u64::MAX)];
        let mut bytes = [0; 3 * WORD];
        for (to, word) in bytes.chunks_exact_mut(WORD).zip(words) {
            to.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    /// Decodes an attachment; `None` for a wrong length and for a message without a number.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; 3 * WORD] = bytes.try_into().ok()?;
        let mut words = bytes
            .chunks_exact(WORD)
            .map(|word| word.try_into().map(u64::from_le_bytes));
        let mut next = || words.next()?.ok();
        let [start, number, age] = [next()?, next()?, next()?];
        (number > 0).then(|| Self {
            start,
            number,
            age: (age < u64::MAX).then(|| Duration::from_nanos(age)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Attachment;
    use std::time::Duration;

    #[test]
    fn what_is_written_is_read() {
        for age in [
            None,
            Some(Duration::ZERO),
            Some(Duration::from_nanos(1 << 40)),
        ] {
            let whole = Attachment {
                start: u64::MAX,
                number: 1,
                age,
            };
            assert_eq!(Attachment::read(&whole.bytes()), Some(whole));
        }
    }

    #[test]
    fn what_no_bridge_wrote_is_nothing() {
        for length in [0, 1, 8, 23, 25, 4096] {
            assert_eq!(Attachment::read(&vec![1; length]), None);
        }
        assert_eq!(Attachment::read(&[0; 24]), None, "there is no message 0");
    }
}
