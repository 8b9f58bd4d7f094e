//! Types of messages
//!
//! A type has a number in the description; 0 is that of two words, which needs no description.

use crate::draft::{Draft, Field, MessageDraft};
use bulkhead_abi::pipe::MAX_MESSAGE;
use bulkhead_tpipe::repository::MessageType;

/// Name of the type of two words.
pub(crate) const WORDS: &str = "words";

/// The type that a function names; `None` if it is not described, or not sound.
pub(crate) fn message_type(draft: &Draft, field: &Field<String>) -> Option<MessageType> {
    let Some(name) = field.given().filter(|name| name.value != WORDS) else {
        return (field.is_absent() || field.given().is_some()).then_some(MessageType::WORDS);
    };
    let mut types = draft.messages.iter().enumerate();
    let (index, found) = types.find(|(_, one)| one.name.value == name.value)?;
    Some(MessageType {
        number: index as u32 + 1,
        bytes: bytes(found)?,
    })
}

/// Bytes of each message; `None` if there are too many or none.
pub(crate) fn bytes(message: &MessageDraft) -> Option<u32> {
    let bytes = u32::try_from(message.size.value()?).ok()?;
    (1..=MAX_MESSAGE).contains(&bytes).then_some(bytes)
}
