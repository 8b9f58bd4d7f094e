//! Sequence numbers and the messages that did not arrive

/// The numbers seen on one channel.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sequence {
    last: Option<u64>,
}

/// Result of comparing a sequence number with the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// The message seen last, again.
    Again,
    /// A new one, after so many that were not seen.
    New {
        /// Messages missed between the last one and this.
        missed: u64,
    },
}

impl Sequence {
    /// Takes note of `number`. The first one says nothing about those before it; one that is
    /// smaller than the last comes from a sender that began anew.
    pub fn note(&mut self, number: u64) -> Arrival {
        let last = self.last.replace(number);
        match last {
            Some(last) if number == last => Arrival::Again,
            Some(last) if number > last => Arrival::New {
                missed: number - last - 1,
            },
            _ => Arrival::New { missed: 0 },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Arrival, Sequence};

    #[test]
    fn counts_gaps_only() {
        let mut sequence = Sequence::default();
        assert_eq!(sequence.note(40), Arrival::New { missed: 0 });
        assert_eq!(sequence.note(40), Arrival::Again);
        assert_eq!(sequence.note(41), Arrival::New { missed: 0 });
        assert_eq!(sequence.note(45), Arrival::New { missed: 3 });
        assert_eq!(
            sequence.note(1),
            Arrival::New { missed: 0 },
            "the sender began anew"
        );
        assert_eq!(sequence.note(2), Arrival::New { missed: 0 });
    }
}
