//! Ring ends: every message, once, in order

use crate::end::{ChannelError, End, Reason, ended};
use crate::home::Home;
use crate::stamped::{Log, Message, Received, stamp};
use bulkhead_abi::guest::{ChannelKind, Role};
use bulkhead_buffers::Error;
use bulkhead_buffers::ring::{Consumer, Layout, Producer};
use core::marker::PhantomData;

/// The sending end.
pub struct Sender<T, H> {
    end: End,
    producer: Producer<'static>,
    log: Log<H>,
    message: PhantomData<fn() -> (T, H)>,
}

impl<T: Message, H: Home> Sender<T, H> {
    /// Opens the channel `name`.
    ///
    /// # Errors
    /// The description says otherwise.
    pub fn open(home: &H, name: &str) -> Result<Self, ChannelError> {
        let end = End::open(home, name, ChannelKind::Ring, Some(Role::Writer))?;
        let layout = layout::<T>(&end)?;
        let producer = Producer::attach(end.region, &layout)
            .map_err(|error| end.fail(Reason::Attach(error)))?;
        Ok(Self {
            log: Log::of(end.channel_end.name),
            producer,
            end,
            message: PhantomData,
        })
    }

    /// The number that the next message will have.
    #[must_use]
    pub fn next_sequence(&self) -> u64 {
        self.producer.pushed().wrapping_add(1)
    }

    /// Puts in `message`, now stamped; never waits.
    ///
    /// # Errors
    /// [`Error::Full`], counted as a refused message; [`Error::Corrupt`] when the peer wrote nonsense.
    pub fn send(&mut self, message: &mut T) -> Result<(), Error> {
        let sequence = self.next_sequence();
        let ticks = stamp::<T, H>(message, sequence);
        let sent = self.producer.try_push(message.as_bytes());
        match sent {
            Ok(()) => self.log.sent(sequence, ticks),
            Err(_) => self.producer.count_refused(),
        }
        sent
    }
}

/// The receiving end.
pub struct Receiver<T, H> {
    end: End,
    consumer: Consumer<'static>,
    log: Log<H>,
    message: PhantomData<fn() -> (T, H)>,
}

impl<T: Message, H: Home> Receiver<T, H> {
    /// Opens the channel `name`.
    ///
    /// # Errors
    /// The description says otherwise.
    pub fn open(home: &H, name: &str) -> Result<Self, ChannelError> {
        let end = End::open(home, name, ChannelKind::Ring, Some(Role::Reader))?;
        let layout = layout::<T>(&end)?;
        let consumer = Consumer::attach(end.region, &layout)
            .map_err(|error| end.fail(Reason::Attach(error)))?;
        Ok(Self {
            log: Log::of(end.channel_end.name),
            consumer,
            end,
            message: PhantomData,
        })
    }

    /// The oldest message; never waits.
    ///
    /// # Errors
    /// [`Error::Empty`]; [`Error::Corrupt`] when the peer wrote nonsense.
    pub fn receive(&mut self) -> Result<Received<T>, Error> {
        let mut message = T::new_zeroed();
        self.consumer.try_pop(message.as_mut_bytes())?;
        Ok(self.log.received(message))
    }
}

fn layout<T>(end: &End) -> Result<Layout, ChannelError> {
    Layout::for_messages(
        end.size_of_message::<T>()?,
        end.channel_end.messages as usize,
    )
    .map_err(|error| end.fail(Reason::Layout(error)))
}

ended!(Sender);
ended!(Receiver);
