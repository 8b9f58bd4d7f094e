//! From Zenoh into a channel
//!
//! The bridge trusts no received byte: the length must be that of the channel's messages, and number and age must be
//! present; otherwise the message is counted and dropped. Data for a first stage become a message of its pipe
//! ([`value`](crate::value)) and keep a distance to the next ([`Spaced`]). Of four slots only the newest message waits here. If a ring is full,
//! the bridge waits once for [`PATIENCE`], then drops and counts, so that a hanging reader does not delay messages
//! for other readers.

use crate::count::{Imported, count, say};
use crate::pacing::Spaced;
use crate::value::{self, Entering, Value};
use crate::{Arrival, Attachment, Error, Import, Watch};
use bulkhead_linux::{BytesWriter, Channel, Kind, ticks};
use bulkhead_stages::message::{BYTES, Entry, Message};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::sleep;
use std::time::{Duration, Instant};
use zenoh::handlers::{FifoChannel, RingChannel};
use zenoh::sample::Sample;
use zenoh::{Session, Wait};
use zerocopy::IntoBytes;

/// Messages that wait here for a ring; then the network does.
const WAITING: usize = 256;
/// For room in a ring.
const PATIENCE: Duration = Duration::from_millis(100);
/// Between looks for room.
const LOOK: Duration = Duration::from_micros(500);
/// Longest wait for a message at once.
const TICK: Duration = Duration::from_millis(100);

/// Waits so long for what comes; an error once nothing can come any more.
type Next = Box<dyn Fn(Duration) -> zenoh::Result<Option<Sample>> + Send>;

/// An endpoint of another machine on its way into a channel.
pub(crate) struct Importer {
    channel: Channel,
    writer: BytesWriter,
    next: Next,
    import: Import,
    watch: Watch,
    counts: Arc<Imported>,
    /// Messages that wait to enter a pipe.
    spaced: Option<Spaced>,
    /// A message found no room, and none after it did.
    is_full: bool,
    /// The peer has a doorbell.
    rings: bool,
}

impl Importer {
    /// Ready to run.
    pub(crate) fn new(
        session: &Session,
        import: &Import,
        channel: Channel,
        counts: Arc<Imported>,
    ) -> Result<Self, Error> {
        let writer = channel.bytes_writer()?;
        import.endpoint.check(&channel)?;
        let needed = channel.description().message_bytes;
        if import.stage.is_some() && needed != BYTES {
            return Err(Error::Stage {
                channel: import.channel.clone(),
                given: needed,
                needed: BYTES,
            });
        }
        if let Some(fallback) = import
            .fallback
            .as_ref()
            .filter(|bytes| bytes.len() != needed)
        {
            return Err(Error::Fallback {
                channel: import.channel.clone(),
                given: fallback.len(),
                needed,
            });
        }
        let kind = channel.description().kind;
        let next = subscribe(session, import, kind);
        let declare = |why: zenoh::Error| Error::Declare {
            name: import.endpoint.to_string(),
            why: why.to_string(),
        };
        Ok(Self {
            writer,
            next: next.map_err(declare)?,
            watch: Watch::new(import.max_age, Instant::now()),
            spaced: import
                .stage
                .map(|distance| Spaced::new(distance, kind, ticks())),
            import: import.clone(),
            channel,
            counts,
            is_full: false,
            rings: true,
        })
    }

    /// Until the session ends.
    pub(crate) fn run(mut self) {
        let tick = self
            .import
            .max_age
            .map_or(TICK, |age| (age / 4).clamp(Duration::from_millis(1), TICK));
        while let Ok(received) = (self.next)(self.patience(tick)) {
            if let Some(sample) = received {
                self.take(&sample);
            }
            self.enter();
            self.look_after();
        }
    }

    /// Until something is to be done, but no longer than that.
    fn patience(&self, tick: Duration) -> Duration {
        let until = self.spaced.as_ref().and_then(|one| one.until(ticks()));
        until.map_or(tick, |until| until.min(tick))
    }

    /// Takes a sample, if it is a message.
    fn take(&mut self, sample: &Sample) {
        let room = match self.spaced {
            Some(_) => 0,
            None => self.channel.description().message_bytes,
        };
        let value = match self.import.endpoint.topic() {
            Some(topic) => value::of_topic(sample, topic, room),
            None => value::of(sample),
        };
        let taken = value.and_then(|value| match self.spaced {
            Some(_) => self.take_for_stage(&value),
            None => self.take_for_channel(&value),
        });
        if taken.is_none() {
            self.refuse(sample.payload().len());
        }
    }

    /// Into the channel as it is; nothing where it is to be refused.
    fn take_for_channel(&mut self, value: &Value<'_>) -> Option<()> {
        let needed = self.channel.description().message_bytes;
        let attachment = value.attachment.filter(|_| value.payload.len() == needed)?;
        if self.is_wanted(attachment) && self.put(|writer| writer.put(&value.payload)) {
            count(&self.counts.taken);
        }
        Some(())
    }

    /// Into the pipe, when it is time; nothing where it is to be refused.
    fn take_for_stage(&mut self, value: &Value<'_>) -> Option<()> {
        let limited = self.import.max_age.is_some();
        let entering = value::entering(&value.payload, value.attachment.is_some(), limited)?;
        let is_new = value.attachment.is_none_or(|one| self.is_wanted(one));
        if let (Entering::Data(data), true, Some(spaced)) = (entering, is_new, &mut self.spaced) {
            self.counts.dropped.fetch_add(spaced.add(data), Relaxed);
        }
        Some(())
    }

    /// Returns true if a message is new and counts.
    fn is_wanted(&mut self, attachment: Attachment) -> bool {
        let now = Instant::now();
        let fell_back = self.watch.is_stale(now);
        let arrival = self.watch.hear(attachment, now);
        match (arrival, self.channel.description().kind) {
            // Each counts, however old it became on its way.
            (Arrival::New { missed }, Kind::Ring) => {
                self.counts.missed.fetch_add(missed, Relaxed);
                true
            }
            (Arrival::Again, Kind::Ring) => false,
            // In a pipe it is on its way already.
            (Arrival::Again, _) if self.spaced.is_some() => false,
            // After a fallback the message is no longer what the channel holds, even if it comes again.
            (arrival, _) => (arrival != Arrival::Again || fell_back) && !self.watch.is_stale(now),
        }
    }

    /// Puts messages into the pipe at their time.
    fn enter(&mut self) {
        let now = ticks();
        let Some(data) = self.spaced.as_mut().and_then(|one| one.due(now)) else {
            return;
        };
        if self.put(|writer| writer.put(entering(data).as_bytes())) {
            count(&self.counts.taken);
        }
        if let Some(spaced) = &mut self.spaced {
            spaced.put(ticks());
        }
    }

    fn refuse(&self, bytes: usize) {
        if self.counts.refused.fetch_add(1, Relaxed) == 0 {
            let name = &self.import.endpoint;
            let needed = match self.spaced {
                _ if self.import.endpoint.topic().is_some() => "a message is of the topic's type, in little-endian CDR, and says its number and who publishes it".to_owned(),
                Some(_) if self.import.max_age.is_some() => {
                    format!("a pipe takes {BYTES}, 16 or 8 that say their number and age")
                }
                Some(_) => {
                    format!("a pipe takes {BYTES} that say their number and age, or 16 or 8")
                }
                None => format!(
                    "a message has {} and says its number and age",
                    self.channel.description().message_bytes
                ),
            };
            say(format_args!(
                "import {name}: refused {bytes} bytes: {needed}; further ones are only counted"
            ));
        }
    }

    /// The fallback, while nothing fresh is there.
    fn look_after(&mut self) {
        let now = Instant::now();
        let (name, max_age) = (
            &self.import.endpoint,
            self.import.max_age.unwrap_or_default(),
        );
        if self.watch.goes_on(now) {
            say(format_args!("import {name}: goes on"));
        }
        let is_first = !self.watch.has_fallen_back();
        if !self.watch.falls_back(now) {
            return;
        }
        count(&self.counts.fallbacks);
        if is_first {
            say(format_args!(
                "import {name}: falls back: nothing younger than {max_age:?} was heard"
            ));
        }
        if let Some(fallback) = self.import.fallback.clone() {
            self.put(|writer| writer.put(&fallback));
        }
    }

    /// Writes a message; returns false if there was no room.
    fn put(&mut self, put: impl Fn(&mut BytesWriter) -> Result<(), bulkhead_linux::Error>) -> bool {
        let until = Instant::now()
            + if self.is_full {
                Duration::ZERO
            } else {
                PATIENCE
            };
        let done = loop {
            match put(&mut self.writer) {
                Ok(()) => break true,
                Err(error) if error.is_full() && Instant::now() < until => sleep(LOOK),
                Err(_) => break false,
            }
        };
        self.is_full = !done;
        if !done {
            count(&self.counts.dropped);
        }
        // Where the description has no doorbell, the first try says so.
        self.rings = self.rings && done && self.channel.ring().is_ok();
        done
    }
}

/// Returns a message that enters a pipe now, by this machine's clock. Its first stage numbers it.
fn entering(data: [u64; 2]) -> Message {
    let put = ticks();
    let mut message = Message {
        put,
        data,
        ..Message::default()
    };
    message.entries[0] = Entry { number: 1, at: put };
    message
}

fn subscribe(session: &Session, import: &Import, kind: Kind) -> zenoh::Result<Next> {
    let declared = session.declare_subscriber(import.endpoint.key());
    // Where values are kept apart, it is there that some are dropped, and counted.
    Ok(match (kind, import.stage) {
        (Kind::Ring, _) | (_, Some(_)) => {
            let all = declared.with(FifoChannel::new(WAITING)).wait()?;
            Box::new(move |patience| all.recv_timeout(patience))
        }
        _ => {
            let newest = declared.with(RingChannel::new(1)).wait()?;
            Box::new(move |patience| newest.recv_timeout(patience))
        }
    })
}
