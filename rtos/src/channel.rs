//! Typed channels of an EL1 program
//!
//! The ends are those of [`bulkhead_guest`]; here is how this program maps them, and what it can do
//! about its peers.

use crate::interrupt::{self, Interrupt};
use crate::{System, clock, hypercall, shared, trace};
use bulkhead_abi::guest::{ChannelEnd, NONE};
use bulkhead_abi::trace::Event;
use bulkhead_buffers::Region;
use bulkhead_guest::{Ended, Home, Link, LinkWords, Unmapped};

/// The reading end of a four-slot.
pub type Subscriber<T> = bulkhead_guest::Subscriber<T, System>;
/// The sending end of a ring.
pub type Sender<T> = bulkhead_guest::Sender<T, System>;
/// The receiving end of a ring.
pub type Receiver<T> = bulkhead_guest::Receiver<T, System>;

impl Home for System {
    fn channels(&self) -> &[ChannelEnd] {
        Self::channels(self)
    }

    fn memory(&self, end: &ChannelEnd) -> Result<Region<'static>, Unmapped> {
        let place = match end.key {
            0 => [end.ipa, end.size],
            key => hypercall::attach(key).map_err(|refused| Unmapped::Refused(refused.0))?,
        };
        shared::region(place).map_err(Unmapped::Unfit)
    }

    fn sleep_until(&self, ticks: u64) {
        self.wait_until(ticks);
    }

    fn now() -> u64 {
        clock::now()
    }

    fn frequency() -> u64 {
        clock::frequency()
    }

    fn record(event: &Event) {
        trace::emit(event);
    }
}

/// The link page at `address`, and the standby's, 0 where there is none.
pub(crate) fn link(address: u64, standby: u64) -> Link {
    let words = |address| LinkWords::at(address, shared::word);
    Link {
        page: words(address),
        standby: (standby != 0).then(|| words(standby)),
    }
}

/// An end of a channel, with the link of the partition at the other end.
pub trait Neighbour: Ended {
    /// The link of the partition at the other end; after a failover, of its standby.
    #[must_use]
    fn peer_link(&self) -> Option<Link> {
        let end = self.channel_end();
        (end.link != 0).then(|| link(end.link, end.standby_link))
    }

    /// Enables the doorbell by which the peer calls, if there is one.
    #[must_use]
    fn enable_doorbell(&self) -> Option<Interrupt> {
        let intid = self.channel_end().doorbell_in;
        (intid != NONE)
            .then(|| interrupt::enable(intid, None))
            .flatten()
    }

    /// Rings the peer, if there is a doorbell: an entry to EL2, limited in rate. Receivers that poll
    /// need none.
    fn ring(&self) {
        let index = self.channel_end().doorbell_out;
        if index != NONE {
            let _within_limit = hypercall::ring(index);
        }
    }
}

impl<E: Ended> Neighbour for E {}
