//! The writing end of a recorder: a log that overwrites its oldest

use super::stamped::{Log, Message, stamp};
use super::{ChannelError, End, Reason, neighbourly};
use crate::System;
use bulkhead_abi::guest::{ChannelKind, Role};
use bulkhead_buffers::recorder::records::{Layout, Writer};
use core::marker::PhantomData;

/// The writing end.
pub struct Recorder<T> {
    end: End,
    writer: Writer<'static>,
    log: Log,
    message: PhantomData<T>,
}

impl<T: Message> Recorder<T> {
    /// Opens the channel `name`.
    ///
    /// # Errors
    /// The description says otherwise.
    pub fn open(system: &System, name: &str) -> Result<Self, ChannelError> {
        let end = End::open(system, name, ChannelKind::Recorder, Some(Role::Writer))?;
        let layout =
            Layout::for_records(end.size_of_message::<T>()?, end.described.messages as usize)
                .map_err(|error| end.fail(Reason::Layout(error)))?;
        let writer =
            Writer::attach(end.region, &layout).map_err(|error| end.fail(Reason::Attach(error)))?;
        Ok(Self {
            log: Log::of(end.described.name),
            writer,
            end,
            message: PhantomData,
        })
    }

    /// Appends `record`, now stamped; never waits.
    pub fn record(&mut self, record: &mut T) {
        let sequence = self.writer.written() + 1;
        let ticks = stamp(record, sequence);
        if self.writer.write(record.as_bytes()).is_ok() {
            self.log.sent(sequence, ticks);
        }
    }
}

neighbourly!(Recorder);
