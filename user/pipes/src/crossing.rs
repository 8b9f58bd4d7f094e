//! Buffers to and from stages of other partitions
//!
//! They are channels, which the tool derived. Nobody rings for a message: who reads looks at each of its periods.

use crate::Failure;
use bulkhead_abi::guest::ChannelEnd;
use bulkhead_abi::pipe::Crossing;
use bulkhead_buffers::Region;
use bulkhead_component::Own;
use bulkhead_guest::Home;

/// The end of a crossing's channel that this component holds, if it holds it.
pub(crate) fn end<'o>(own: &'o Own, crossing: &Crossing) -> Option<&'o ChannelEnd> {
    let mut ends = own.channels().iter();
    ends.find(|end| end.name == crossing.channel && end.ipa != 0)
}

/// Its memory.
pub(crate) fn region(
    own: &Own,
    crossing: &Crossing,
    end: Option<&ChannelEnd>,
) -> Result<Region<'static>, Failure> {
    let missing = Failure::Pipe(crossing.channel, "the component does not hold this channel");
    let end = end.ok_or(missing)?;
    Home::memory(own, end).map_err(|_| missing)
}
