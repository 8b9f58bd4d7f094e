//! Memory that a channel takes

use bulkhead_abi::PAGE_SIZE;
use bulkhead_abi::guest::ChannelKind;
use bulkhead_buffers::{four_slot, mailbox, recorder::records, ring};

/// Bytes of a channel's memory in whole pages; `None` where no such buffer can be.
/// `message` is in bytes; `messages` matters for rings and recorders only.
#[must_use]
pub fn channel_size(kind: ChannelKind, message: u64, messages: u64) -> Option<u64> {
    let size = usize::try_from(message).ok()?;
    let count = usize::try_from(messages).ok()?;
    let bytes = match kind {
        ChannelKind::FourSlot => four_slot::Layout::for_messages(size).ok()?.bytes(),
        ChannelKind::Ring => ring::Layout::for_messages(size, count).ok()?.bytes(),
        ChannelKind::Mailbox => mailbox::Layout::for_slot(size).ok()?.bytes(),
        ChannelKind::Recorder => records::Layout::for_records(size, count).ok()?.bytes(),
        ChannelKind::Memory => size,
    };
    (bytes as u64).checked_next_multiple_of(PAGE_SIZE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_whole_pages_or_nothing() {
        assert_eq!(channel_size(ChannelKind::FourSlot, 64, 1), Some(4096));
        assert_eq!(channel_size(ChannelKind::Memory, 4097, 1), Some(8192));
        assert!(channel_size(ChannelKind::Ring, 128, 4096).is_some_and(|size| size > 512 << 10));
        assert_eq!(channel_size(ChannelKind::Ring, 128, 0), None);
        assert_eq!(
            channel_size(ChannelKind::Recorder, u64::MAX, u64::MAX),
            None
        );
        assert_eq!(channel_size(ChannelKind::Memory, u64::MAX, 1), None);
    }
}
