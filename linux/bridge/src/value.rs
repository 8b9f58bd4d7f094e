//! Received values that are accepted
//!
//! A channel takes messages of its own length, with number and age; bytes go into it as they are. A first stage of a pipe takes
//! the message of another machine's pipe, of which only the data mean something here, and the bare data of any program.

use crate::Attachment;
use crate::topic::{self, Topic};
use bulkhead_stages::message::{BYTES, Message};
use std::borrow::Cow;
use zenoh::sample::{Sample, SampleKind};
use zerocopy::FromBytes;

/// Bytes of a word of data.
const WORD: usize = size_of::<u64>();

/// A value, and what was said of it.
pub(crate) struct Value<'s> {
    pub(crate) payload: Cow<'s, [u8]>,
    pub(crate) attachment: Option<Attachment>,
}

/// Decodes a sample that is a put with a readable attachment.
pub(crate) fn of(sample: &Sample) -> Option<Value<'_>> {
    let attachment = match sample.attachment() {
        Some(bytes) => Some(Attachment::read(&bytes.to_bytes())?),
        None => None,
    };
    (sample.kind() == SampleKind::Put).then(|| Value {
        payload: sample.payload().to_bytes(),
        attachment,
    })
}

/// Decodes a sample of a topic, filled up to the given number of bytes.
pub(crate) fn of_topic<'s>(sample: &'s Sample, topic: &Topic, room: usize) -> Option<Value<'s>> {
    let attachment = topic::decode_attachment(&sample.attachment()?.to_bytes())?;
    let message = topic.heard(&sample.payload().to_bytes(), room)?;
    (sample.kind() == SampleKind::Put).then_some(Value {
        payload: Cow::Owned(message),
        attachment: Some(attachment),
    })
}

/// Data that enter a pipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entering {
    /// The data.
    Data([u64; 2]),
    /// The other machine's pipe ended a task, which says nothing of the value.
    End,
}

/// Decodes data for a pipe. A message needs number and age, so that a repetition enters once. Bare data
/// need neither, unless a maximum age is configured.
pub(crate) fn entering(payload: &[u8], says: bool, limited: bool) -> Option<Entering> {
    match payload.len() {
        BYTES if says => {
            let message = Message::read_from_bytes(payload).ok()?;
            Some(match message.is_end() {
                true => Entering::End,
                false => Entering::Data(message.data),
            })
        }
        WORD | DATA if says || !limited => Some(Entering::Data(data(payload))),
        _ => None,
    }
}

/// Bytes of all data of a message.
const DATA: usize = 2 * WORD;

/// Little-endian words. One alone is the second: it is what functions compute with, and what a CAN frame carries.
fn data(payload: &[u8]) -> [u64; 2] {
    let mut bytes = [0; DATA];
    bytes[DATA - payload.len()..].copy_from_slice(payload);
    let [mut first, mut second] = [[0; WORD]; 2];
    first.copy_from_slice(&bytes[..WORD]);
    second.copy_from_slice(&bytes[WORD..]);
    [first, second].map(u64::from_le_bytes)
}

#[cfg(test)]
mod tests {
    use super::{Entering, entering};
    use bulkhead_stages::message::{Entry, Message};
    use zerocopy::IntoBytes;

    #[test]
    fn a_message_of_another_machine_brings_its_data() {
        let mut message = Message {
            put: 77,
            data: [1, 2],
            ..Message::default()
        };
        message.entries[2] = Entry { number: 9, at: 70 };
        let bytes = message.as_bytes();
        assert_eq!(entering(bytes, true, false), Some(Entering::Data([1, 2])));
        assert_eq!(
            entering(bytes, false, false),
            None,
            "it has to say its number"
        );
        let end = Message::END;
        assert_eq!(entering(end.as_bytes(), true, true), Some(Entering::End));
    }

    #[test]
    fn bare_data_are_words() {
        let [one, two] = [1_u64, 2].map(u64::to_le_bytes);
        let both = [one, two].concat();
        for says in [false, true] {
            assert_eq!(entering(&two, says, says), Some(Entering::Data([0, 2])));
            assert_eq!(entering(&both, says, says), Some(Entering::Data([1, 2])));
        }
        assert_eq!(entering(&both, false, true), None, "nobody knows its age");
    }

    #[test]
    fn nothing_else_enters() {
        for length in (0..=200).filter(|length| ![8, 16, 88].contains(length)) {
            assert_eq!(entering(&vec![1; length], true, false), None, "{length}");
        }
    }
}
