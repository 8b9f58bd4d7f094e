//! Plain shared memory, laid out by its users

use crate::end::{ChannelError, End};
use crate::home::Home;
use bulkhead_abi::guest::ChannelKind;
use bulkhead_buffers::Region;

/// Memory that all its holders see.
pub struct SharedMemory {
    end: End,
}

impl SharedMemory {
    /// Opens the channel `name`.
    ///
    /// # Errors
    /// The description says otherwise.
    pub fn open(home: &impl Home, name: &str) -> Result<Self, ChannelError> {
        Ok(Self {
            end: End::open(home, name, ChannelKind::Memory, None)?,
        })
    }

    /// The memory, for the buffers of `lib/buffers` or for words of one's own.
    #[must_use]
    pub fn region(&self) -> Region<'static> {
        self.end.region
    }
}
