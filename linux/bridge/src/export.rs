//! From a channel to Zenoh
//!
//! A ring loses nothing on this side: the bridge takes a message out only while a subscriber exists, and Zenoh waits for room
//! if the network is slow. The channel then fills, and its writer notices as with any slow reader. Of four slots only the newest
//! message counts: the bridge sends it when it is new, and again every [`REPEAT`] with a greater age, for late subscribers. ROS 2 nodes
//! would take each repetition for a new message, so they receive it once.

use crate::count::{Exported, count, say};
use crate::{Address, Attachment, Error, Export, topic};
use bulkhead_linux::{BytesReader, Channel, Kind};
use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash, Hasher};
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
    address: Address,
    start: u64,
    /// Tells it from others of the same start.
    instance: u64,
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
        export.endpoint.check(&channel)?;
        let control = match channel.description().kind {
            Kind::Ring => CongestionControl::Block,
            _ => CongestionControl::Drop,
        };
        let declared = session.declare_publisher(export.endpoint.key());
        let publisher = declared.congestion_control(control).express(true).wait();
        let declare = |why: zenoh::Error| Error::Declare {
            name: export.endpoint.to_string(),
            why: why.to_string(),
        };
        Ok(Self {
            reader,
            publisher: publisher.map_err(declare)?,
            instance: own_number(&export.channel),
            address: export.endpoint.clone(),
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
        if newest && self.address.topic().is_none() && self.sent.elapsed() >= REPEAT {
            self.send();
            count(&self.counts.repeated);
        }
    }

    fn send(&mut self) {
        let Some((number, written)) = self.last else {
            return;
        };
        self.sent = Instant::now();
        let age = written.map(|at| self.sent.saturating_duration_since(at));
        let message = self.reader.last();
        let (payload, attachment) = match &self.address {
            Address::Endpoint(_) => {
                let start = self.start;
                let attachment = Attachment { start, number, age };
                (Cow::Borrowed(message), attachment.bytes().to_vec())
            }
            Address::Topic(topic) => match topic.published(message) {
                Some(payload) => {
                    let who = [self.start, self.instance];
                    (
                        Cow::Owned(payload),
                        topic::encode_attachment(number, age, who),
                    )
                }
                None => return,
            },
        };
        let put = self.publisher.put(payload.as_ref()).attachment(attachment);
        if put.wait().is_err() {
            count(&self.counts.refused);
        }
    }
}

fn own_number(channel: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    channel.hash(&mut hasher);
    hasher.finish()
}
