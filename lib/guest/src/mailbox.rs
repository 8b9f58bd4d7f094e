//! Mailbox ends: one slot, one message per transaction
//!
//! The half of the mailbox that this runtime needs: messages that fit the slot, the floor staying
//! with the sender. Longer transactions and replies are in `lib/buffers`.

use crate::end::{ChannelError, End, Reason, ended};
use crate::home::Home;
use crate::stamped::{Log, Message, Received, stamp};
use bulkhead_abi::guest::{ChannelKind, Role};
use bulkhead_buffers::Error;
use bulkhead_buffers::mailbox::{Flags, Layout, Mailbox, Side};
use core::marker::PhantomData;

/// A message that is a transaction of its own.
pub(crate) const WHOLE: Flags = Flags {
    start: true,
    end: true,
    over: false,
};

/// The sending end.
pub struct MailSender<T, H> {
    end: End,
    mailbox: Mailbox<'static>,
    sent: u64,
    log: Log<H>,
    message: PhantomData<fn() -> (T, H)>,
}

impl<T: Message, H: Home> MailSender<T, H> {
    /// Opens the channel `name`.
    ///
    /// # Errors
    /// The description says otherwise.
    pub fn open(home: &H, name: &str) -> Result<Self, ChannelError> {
        let end = End::open(home, name, ChannelKind::Mailbox, Some(Role::Writer))?;
        let mailbox = attach::<T>(&end, Side::First)?;
        Ok(Self {
            log: Log::of(end.channel_end.name),
            mailbox,
            sent: 0,
            end,
            message: PhantomData,
        })
    }

    /// Puts `message`, now stamped, into the slot; never waits.
    ///
    /// # Errors
    /// [`Error::Full`] while the last one has not been taken; [`Error::Floor`] should the peer
    /// claim the floor.
    pub fn send(&mut self, message: &mut T) -> Result<(), Error> {
        let sequence = self.sent + 1;
        let ticks = stamp::<T, H>(message, sequence);
        self.mailbox.try_send(message.as_bytes(), WHOLE)?;
        self.sent = sequence;
        self.log.sent(sequence, ticks);
        Ok(())
    }
}

/// The receiving end.
pub struct MailReceiver<T, H> {
    end: End,
    mailbox: Mailbox<'static>,
    log: Log<H>,
    message: PhantomData<fn() -> (T, H)>,
}

impl<T: Message, H: Home> MailReceiver<T, H> {
    /// Opens the channel `name`.
    ///
    /// # Errors
    /// The description says otherwise.
    pub fn open(home: &H, name: &str) -> Result<Self, ChannelError> {
        let end = End::open(home, name, ChannelKind::Mailbox, Some(Role::Reader))?;
        let mailbox = attach::<T>(&end, Side::Second)?;
        Ok(Self {
            log: Log::of(end.channel_end.name),
            mailbox,
            end,
            message: PhantomData,
        })
    }

    /// The message in the slot; never waits.
    ///
    /// # Errors
    /// [`Error::Empty`]; [`Error::Corrupt`] when the peer wrote nonsense; [`Error::Length`] when
    /// the message is not whole or not of the described size (it is passed over).
    pub fn receive(&mut self) -> Result<Received<T>, Error> {
        let mut message = T::new_zeroed();
        let part = self.mailbox.try_receive(message.as_mut_bytes())?;
        if part.length != size_of::<T>() || !(part.flags.start && part.flags.end) {
            return Err(Error::Length);
        }
        Ok(self.log.received(message))
    }
}

fn attach<T>(end: &End, side: Side) -> Result<Mailbox<'static>, ChannelError> {
    let layout = Layout::for_slot(end.size_of_message::<T>()?)
        .map_err(|error| end.fail(Reason::Layout(error)))?;
    Mailbox::attach(end.region, &layout, side).map_err(|error| end.fail(Reason::Attach(error)))
}

ended!(MailSender);
ended!(MailReceiver);
