//! Four-slot ends: the newest message, whole, without waiting

use crate::end::{ChannelError, End, Reason, ended};
use crate::home::Home;
use crate::stamped::{Log, Message, Received, stamp};
use bulkhead_abi::guest::{ChannelKind, Role};
use bulkhead_buffers::four_slot::{Layout, Reader, Writer};
use core::marker::PhantomData;

/// The writing end.
pub struct Publisher<T, H> {
    end: End,
    writer: Writer<'static>,
    log: Log<H>,
    message: PhantomData<fn() -> (T, H)>,
}

impl<T: Message, H: Home> Publisher<T, H> {
    /// Opens the channel `name`.
    ///
    /// # Errors
    /// The description says otherwise.
    pub fn open(home: &H, name: &str) -> Result<Self, ChannelError> {
        let end = End::open(home, name, ChannelKind::FourSlot, Some(Role::Writer))?;
        let layout = layout::<T>(&end)?;
        let writer =
            Writer::attach(end.region, &layout).map_err(|error| end.fail(Reason::Attach(error)))?;
        Ok(Self {
            log: Log::of(end.channel_end.name),
            writer,
            end,
            message: PhantomData,
        })
    }

    /// Returns the message that this end published last, perhaps before a restart; `None` if there
    /// is none. The peer can write the memory, too: check the message before use.
    #[must_use]
    pub fn last(&self) -> Option<T> {
        let mut message = T::new_zeroed();
        self.writer.newest(message.as_mut_bytes()).ok()?;
        Some(message)
    }

    /// Makes `message`, now stamped, the newest one.
    pub fn publish(&mut self, message: &mut T) {
        let ticks = stamp::<T, H>(message, self.writer.sequence() + 1);
        if let Ok(sequence) = self.writer.write(message.as_bytes()) {
            self.log.sent(sequence, ticks);
        }
    }
}

/// The reading end.
pub struct Subscriber<T, H> {
    end: End,
    reader: Reader<'static>,
    log: Log<H>,
    message: PhantomData<fn() -> (T, H)>,
}

impl<T: Message, H: Home> Subscriber<T, H> {
    /// Opens the channel `name`.
    ///
    /// # Errors
    /// The description says otherwise.
    pub fn open(home: &H, name: &str) -> Result<Self, ChannelError> {
        let end = End::open(home, name, ChannelKind::FourSlot, Some(Role::Reader))?;
        let layout = layout::<T>(&end)?;
        let reader =
            Reader::attach(end.region, &layout).map_err(|error| end.fail(Reason::Attach(error)))?;
        Ok(Self {
            log: Log::of(end.channel_end.name),
            reader,
            end,
            message: PhantomData,
        })
    }

    /// The newest message, perhaps seen before; `None` when none was ever written.
    pub fn newest(&mut self) -> Option<Received<T>> {
        let mut message = T::new_zeroed();
        self.reader.read(message.as_mut_bytes()).ok()?;
        Some(self.log.received(message))
    }
}

fn layout<T>(end: &End) -> Result<Layout, ChannelError> {
    Layout::for_messages(end.size_of_message::<T>()?)
        .map_err(|error| end.fail(Reason::Layout(error)))
}

ended!(Publisher);
ended!(Subscriber);
