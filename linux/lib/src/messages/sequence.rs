//! What the numbers of messages tell

/// The number seen last.
#[derive(Default)]
pub(super) struct Sequence {
    last: Option<u64>,
}

impl Sequence {
    /// Takes note of `number`: `None` for the message seen last, else how many were missed before
    /// it. A number that is smaller comes from a sender that began anew.
    pub(super) fn note(&mut self, number: u64) -> Option<u64> {
        match self.last.replace(number) {
            Some(last) if number == last => None,
            Some(last) if number > last => Some(number - last - 1),
            _ => Some(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Sequence;

    #[test]
    fn counts_gaps_only() {
        let mut sequence = Sequence::default();
        let missed = [7, 7, 8, 12, 1, 2].map(|number| sequence.note(number));
        assert_eq!(missed, [Some(0), None, Some(0), Some(3), Some(0), Some(0)]);
    }
}
