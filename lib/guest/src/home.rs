//! Services of the platform for both ends of a channel

use crate::end::Unmapped;
use bulkhead_abi::guest::ChannelEnd;
use bulkhead_abi::trace::Event;
use bulkhead_buffers::Region;

/// The program around: its clock, its memory, its trace.
pub trait Home {
    /// The channel ends that it was given.
    fn channels(&self) -> &[ChannelEnd];

    /// The memory of one of them, mapped.
    ///
    /// # Errors
    /// [`Unmapped`].
    fn memory(&self, end: &ChannelEnd) -> Result<Region<'static>, Unmapped>;

    /// Sleeps until tick `ticks`.
    fn sleep_until(&self, ticks: u64);

    /// Ticks since power-on.
    fn now() -> u64;

    /// Ticks per second.
    fn frequency() -> u64;

    /// Records an event; nothing where there is no trace.
    fn record(event: &Event);
}
