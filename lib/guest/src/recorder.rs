//! The writing end of a recorder: a log that overwrites its oldest

use crate::end::{ChannelError, End, Reason, ended};
use crate::home::Home;
use crate::stamped::{Log, Message, stamp};
use bulkhead_abi::guest::{ChannelKind, Role};
use bulkhead_buffers::recorder::records::{Layout, Writer};
use core::marker::PhantomData;

/// The writing end.
pub struct Recorder<T, H> {
    end: End,
    writer: Writer<'static>,
    log: Log<H>,
    message: PhantomData<fn() -> (T, H)>,
}

impl<T: Message, H: Home> Recorder<T, H> {
    /// Opens the channel `name`.
    ///
    /// # Errors
    /// The description says otherwise.
    pub fn open(home: &H, name: &str) -> Result<Self, ChannelError> {
        let end = End::open(home, name, ChannelKind::Recorder, Some(Role::Writer))?;
        let layout = Layout::for_records(
            end.size_of_message::<T>()?,
            end.channel_end.messages as usize,
        )
        .map_err(|error| end.fail(Reason::Layout(error)))?;
        let writer =
            Writer::attach(end.region, &layout).map_err(|error| end.fail(Reason::Attach(error)))?;
        Ok(Self {
            log: Log::of(end.channel_end.name),
            writer,
            end,
            message: PhantomData,
        })
    }

    /// Appends `record`, now stamped; never waits.
    pub fn record(&mut self, record: &mut T) {
        let sequence = self.writer.written() + 1;
        let ticks = stamp::<T, H>(record, sequence);
        if self.writer.write(record.as_bytes()).is_ok() {
            self.log.sent(sequence, ticks);
        }
    }
}

ended!(Recorder);
