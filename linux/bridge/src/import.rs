//! From Zenoh into a channel
//!
//! What comes from a network is believed in nothing: its length has to be that of the channel's messages, and a number and an
//! age have to be with it; else it is counted and forgotten. Of four slots only the newest waits here; what a ring has no room
//! for is waited with for [`PATIENCE`], once, then dropped and counted, so that a reader that hangs does not hold up what comes
//! for others.

use crate::count::{Imported, count, say};
use crate::{Arrival, Attachment, Error, Import, Watch};
use bulkhead_linux::{BytesWriter, Channel, Kind};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::sleep;
use std::time::{Duration, Instant};
use zenoh::handlers::{FifoChannel, RingChannel};
use zenoh::sample::{Sample, SampleKind};
use zenoh::{Session, Wait};

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
        let needed = channel.description().message_bytes;
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
        let next = subscribe(session, import, channel.description().kind);
        let declare = |why: zenoh::Error| Error::Declare {
            name: import.endpoint.clone(),
            why: why.to_string(),
        };
        Ok(Self {
            writer,
            next: next.map_err(declare)?,
            watch: Watch::new(import.max_age, Instant::now()),
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
        while let Ok(came) = (self.next)(tick) {
            if let Some(sample) = came {
                self.take(&sample);
            }
            self.look_after();
        }
    }

    /// What came, if it is a message.
    fn take(&mut self, sample: &Sample) {
        let payload = sample.payload().to_bytes();
        let attachment = sample
            .attachment()
            .and_then(|bytes| Attachment::read(&bytes.to_bytes()));
        let sound = sample.kind() == SampleKind::Put
            && payload.len() == self.channel.description().message_bytes;
        let Some(attachment) = attachment.filter(|_| sound) else {
            return self.refuse(payload.len());
        };
        let now = Instant::now();
        let fell_back = self.watch.is_stale(now);
        let arrival = self.watch.hear(attachment, now);
        let wanted = match (arrival, self.channel.description().kind) {
            // Each counts, however old it became on its way.
            (Arrival::New { missed }, Kind::Ring) => {
                self.counts.missed.fetch_add(missed, Relaxed);
                true
            }
            (Arrival::Again, Kind::Ring) => false,
            // After a fallback the message is no longer what the channel holds, even if it comes again.
            (arrival, _) => (arrival != Arrival::Again || fell_back) && !self.watch.is_stale(now),
        };
        if wanted && self.put(&payload) {
            count(&self.counts.taken);
        }
    }

    fn refuse(&self, bytes: usize) {
        if self.counts.refused.fetch_add(1, Relaxed) == 0 {
            let (name, needed) = (
                &self.import.endpoint,
                self.channel.description().message_bytes,
            );
            say(format_args!(
                "import {name}: refused {bytes} bytes: a message has {needed} and says its number and age; further ones are only counted"
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
            self.put(&fallback);
        }
    }

    /// Whether there was room.
    fn put(&mut self, message: &[u8]) -> bool {
        let until = Instant::now()
            + if self.is_full {
                Duration::ZERO
            } else {
                PATIENCE
            };
        let done = loop {
            match self.writer.put(message) {
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

fn subscribe(session: &Session, import: &Import, kind: Kind) -> zenoh::Result<Next> {
    let declared = session.declare_subscriber(import.endpoint.key());
    Ok(match kind {
        Kind::Ring => {
            let all = declared.with(FifoChannel::new(WAITING)).wait()?;
            Box::new(move |patience| all.recv_timeout(patience))
        }
        _ => {
            let newest = declared.with(RingChannel::new(1)).wait()?;
            Box::new(move |patience| newest.recv_timeout(patience))
        }
    })
}
