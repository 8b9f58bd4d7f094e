//! From a channel to Zenoh
//!
//! A ring loses nothing on this side: a message is taken out of it only while somebody subscribes, and Zenoh waits for room
//! where the network is slow; so the channel fills, and its writer learns of it as of any slow reader. Of four slots the newest
//! counts: it is sent when it is new, and again every [`REPEAT`], older each time, for whoever came late or heard nothing.

use crate::count::{Exported, count, say};
use crate::{Attachment, Error, Export};
use bulkhead_linux::{BytesReader, Channel, Kind};
use std::sync::Arc;
use std::time::{Duration, Instant};
use zenoh::pubsub::Publisher;
use zenoh::qos::CongestionControl;
use zenoh::{Session, Wait};

/// Between looks at a channel, where no doorbell tells, ms.
const LOOK_MS: u16 = 2;
/// Between two times that the same message is sent.
const REPEAT: Duration = Duration::from_millis(100);

/// A channel on its way to Zenoh.
pub(crate) struct Exporter {
    channel: Channel,
    reader: BytesReader,
    publisher: Publisher<'static>,
    start: u64,
    counts: Arc<Exported>,
    /// The last look that found nothing new, so that what is found later was written later.
    empty: Option<Instant>,
    /// Number of what was taken last, and since when it can have been there.
    last: Option<(u64, Option<Instant>)>,
    /// When that was sent last.
    sent: Instant,
}

impl Exporter {
    /// Ready to run.
    pub(crate) fn new(
        session: &Session,
        export: &Export,
        channel: Channel,
        start: u64,
        counts: Arc<Exported>,
    ) -> Result<Self, Error> {
        let reader = channel.bytes_reader()?;
        let control = match channel.description().kind {
            Kind::Ring => CongestionControl::Block,
            _ => CongestionControl::Drop,
        };
        let declared = session.declare_publisher(export.endpoint.key());
        let publisher = declared.congestion_control(control).express(true).wait();
        let declare = |why: zenoh::Error| Error::Declare {
            name: export.endpoint.clone(),
            why: why.to_string(),
        };
        Ok(Self {
            reader,
            publisher: publisher.map_err(declare)?,
            channel,
            start,
            counts,
            empty: None,
            last: None,
            sent: Instant::now(),
        })
    }

    /// Until the program ends, or the channel can no longer be looked at.
    pub(crate) fn run(mut self) {
        loop {
            if self.is_heard() {
                self.drain();
                self.repeat();
            }
            if let Err(error) = self.channel.wait(LOOK_MS) {
                say(format_args!(
                    "export {}: {error}",
                    self.channel.description().name
                ));
                return;
            }
        }
    }

    fn is_heard(&self) -> bool {
        self.publisher
            .matching_status()
            .wait()
            .is_ok_and(|status| status.matching())
    }

    /// Sends all that is new.
    fn drain(&mut self) {
        loop {
            let look = Instant::now();
            match self.reader.take() {
                Ok(Some((number, _))) => {
                    self.last = Some((number, self.empty));
                    self.send();
                    count(&self.counts.sent);
                }
                Ok(None) => {
                    self.empty = Some(look);
                    return;
                }
                Err(_) => count(&self.counts.nonsense),
            }
        }
    }

    /// Only what is the newest can be said again.
    fn repeat(&mut self) {
        let newest = self.channel.description().kind == Kind::FourSlot && self.last.is_some();
        if newest && self.sent.elapsed() >= REPEAT {
            self.send();
            count(&self.counts.repeated);
        }
    }

    fn send(&mut self) {
        let Some((number, written)) = self.last else {
            return;
        };
        self.sent = Instant::now();
        let attachment = Attachment {
            start: self.start,
            number,
            age: written.map(|at| self.sent.saturating_duration_since(at)),
        };
        let put = self
            .publisher
            .put(self.reader.last())
            .attachment(attachment.bytes().as_slice());
        if put.wait().is_err() {
            count(&self.counts.refused);
        }
    }
}
