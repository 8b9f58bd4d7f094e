//! A channel as written

use crate::channel_size;
use crate::document::At;
use crate::registry::channel_keys::ChannelDraft;
use bulkhead_abi::PAGE_SIZE;
use bulkhead_abi::guest::ChannelKind;

/// Name of the tool on the host as an end of a channel.
pub(crate) const HOST: &str = "host";

/// Sizes that messages of a kind can have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MessageSizes {
    unit: u64,
    largest: u64,
}

impl MessageSizes {
    /// Plain memory is whole pages; everything else is words, and just below 16 MiB as every kind
    /// of buffer allows.
    pub(crate) fn of(kind: ChannelKind) -> Self {
        match kind {
            ChannelKind::Memory => Self {
                unit: PAGE_SIZE,
                largest: 16 << 20,
            },
            _ => Self {
                unit: 8,
                largest: (16 << 20) - 8,
            },
        }
    }

    /// Returns whether a message can have this size, bytes.
    pub(crate) fn admit(self, size: u64) -> bool {
        (self.unit..=self.largest).contains(&size) && size.is_multiple_of(self.unit)
    }

    /// Of what it must be a multiple, and the largest, bytes.
    pub(crate) fn bounds(self) -> (u64, u64) {
        (self.unit, self.largest)
    }
}

impl ChannelDraft {
    /// The readers, as named.
    pub(crate) fn readers(&self) -> impl Iterator<Item = &At<String>> {
        self.to.given().into_iter().flat_map(|to| &to.value)
    }

    /// All ends, as named, the writer first.
    pub(crate) fn ends(&self) -> impl Iterator<Item = &At<String>> {
        self.from.given().into_iter().chain(self.readers())
    }

    /// Bytes of memory it takes, whole pages, the largest number there is where no such buffer can
    /// be; nothing where a value is wrong by itself.
    pub(crate) fn size(&self) -> Option<u64> {
        let (kind, message) = (self.kind.value()?, self.message.value()?);
        let messages = self.messages.or(1)?;
        let sound = MessageSizes::of(kind).admit(message) && messages > 0;
        sound.then(|| channel_size(kind, message, messages).unwrap_or(u64::MAX))
    }

    /// Sender and receiver of each doorbell.
    pub(crate) fn doorbells(&self) -> impl Iterator<Item = (&str, &str)> {
        let ring = !self.doorbell.is_absent();
        let reply = !self.reply_doorbell.is_absent();
        let from = self.from.given().map(|from| from.value.as_str());
        self.readers()
            .filter(|reader| reader.value != HOST)
            .filter_map(move |reader| Some((from?, reader.value.as_str())))
            .flat_map(move |(from, to)| {
                [ring.then_some((from, to)), reply.then_some((to, from))]
                    .into_iter()
                    .flatten()
            })
    }
}
