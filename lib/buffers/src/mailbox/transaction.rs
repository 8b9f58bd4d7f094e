//! Messages longer than the slot, part by part
//!
//! Both are resumable: call `advance` whenever the mailbox may have moved; nothing here waits.

use super::{Flags, Mailbox};
use crate::error::Error;

/// A transaction on its way out.
pub struct Outgoing<'b> {
    rest: &'b [u8],
    started: bool,
    over: bool,
}

impl<'b> Outgoing<'b> {
    /// Send `message`, which may be empty; with `over` the floor passes with its last part.
    pub fn new(message: &'b [u8], over: bool) -> Self {
        Self {
            rest: message,
            started: false,
            over,
        }
    }

    /// Send the next part; true when it was the last. Not to be called again after that.
    ///
    /// # Errors
    /// As for [`Mailbox::try_send`]; the part stays the next one.
    pub fn advance(&mut self, mailbox: &mut Mailbox<'_>) -> Result<bool, Error> {
        let (part, rest) = self
            .rest
            .split_at(self.rest.len().min(mailbox.slot_bytes()));
        let end = rest.is_empty();
        let flags = Flags {
            start: !self.started,
            end,
            over: end && self.over,
        };
        mailbox.try_send(part, flags)?;
        self.rest = rest;
        self.started = true;
        Ok(end)
    }
}

/// Transactions on their way in, one after the other.
pub struct Incoming<'b> {
    buffer: &'b mut [u8],
    filled: usize,
    open: bool,
}

/// A transaction that has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transaction<'b> {
    /// The message.
    pub message: &'b [u8],
    /// The floor came with the part.
    pub over: bool,
}

impl<'b> Incoming<'b> {
    /// Collect into `buffer`, which bounds the message.
    pub fn new(buffer: &'b mut [u8]) -> Self {
        Self {
            buffer,
            filled: 0,
            open: false,
        }
    }

    /// Takes the next part; returns the message after the last one. Drops parts of a transaction
    /// with a missed start, and parts of a transaction that the sender began anew.
    ///
    /// # Errors
    /// As for [`Mailbox::try_receive`]; [`Error::Length`] if the message exceeds the buffer: it
    /// is dropped.
    pub fn advance(&mut self, mailbox: &mut Mailbox<'_>) -> Result<Option<Transaction<'_>>, Error> {
        let (_, next) = mailbox.arrived()?;
        if next.flags.start {
            self.filled = 0;
            self.open = true;
        }
        if !self.open {
            return mailbox.discard().map(|_| None);
        }
        let room = self.buffer.get_mut(self.filled..).ok_or(Error::Length)?;
        let part = match mailbox.try_receive(room) {
            Err(Error::Length) => return self.refuse(mailbox),
            received => received?,
        };
        self.filled += part.length;
        self.open = !part.flags.end;
        let message = self.buffer.get(..self.filled).ok_or(Error::Length)?;
        Ok(part.flags.end.then_some(Transaction {
            message,
            over: part.flags.over,
        }))
    }

    fn refuse(&mut self, mailbox: &mut Mailbox<'_>) -> Result<Option<Transaction<'_>>, Error> {
        self.open = false;
        mailbox.discard()?;
        Err(Error::Length)
    }
}
