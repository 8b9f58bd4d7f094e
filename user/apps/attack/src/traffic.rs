//! Messages that must not notice the attack
//!
//! By the names of the channels it holds: a partition that writes `stream` sends one message a
//! millisecond, one that reads it checks number and content of each. `bait` and `noise` come from the
//! attacker: what is read there is worth nothing, but reading it must do no harm. What becomes of the
//! partition at the other end of `stream` is told when it happens:
//!
//! ```text
//! peer: Down, start 2
//! ```

use bulkhead_abi::trace::Stamp;
use bulkhead_rtos::interrupt::Interrupt;
use bulkhead_rtos::{Link, LinkState, Neighbour, Receiver, Sender, Subscriber, System, println};
use core::fmt;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Words that depend on the number of the message.
const WORDS: usize = 6;
/// Messages taken per look.
const AT_MOST: usize = 8;

#[repr(C)]
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
struct Beacon {
    stamp: Stamp,
    content: [u64; WORDS],
}

fn content(number: u64) -> [u64; WORDS] {
    core::array::from_fn(|word| (number + word as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// The ends it holds, and what went through.
pub(crate) struct Traffic {
    stream_out: Option<Sender<Beacon>>,
    stream_in: Option<Receiver<Beacon>>,
    peer: Option<Link>,
    peer_was: LinkState,
    bait: Option<Receiver<Beacon>>,
    noise: Option<Subscriber<Beacon>>,
    doorbell: Option<Interrupt>,
    sent: u64,
    full: u64,
    received: u64,
    lost: u64,
    corrupt: u64,
}

impl Traffic {
    pub(crate) fn open(system: &System) -> Self {
        let bait = Receiver::open(system, "bait").ok();
        let stream_out = Sender::open(system, "stream").ok();
        let stream_in = Receiver::open(system, "stream").ok();
        let peer = stream_out.as_ref().and_then(Neighbour::peer_link);
        Self {
            peer: peer.or_else(|| stream_in.as_ref().and_then(Neighbour::peer_link)),
            peer_was: LinkState::NEVER,
            stream_out,
            stream_in,
            doorbell: bait.as_ref().and_then(Neighbour::enable_doorbell),
            bait,
            noise: Subscriber::open(system, "noise").ok(),
            sent: 0,
            full: 0,
            received: 0,
            lost: 0,
            corrupt: 0,
        }
    }

    /// Sends one message and takes those that are there.
    pub(crate) fn flow(&mut self) {
        self.watch();
        self.send();
        self.take();
        for _ in 0..AT_MOST {
            let _worthless = self.bait.as_mut().map(Receiver::receive);
        }
        let _worthless = self.noise.as_mut().map(Subscriber::newest);
    }

    fn watch(&mut self) {
        let Some(peer) = self.peer else { return };
        let is = peer.read();
        if is != self.peer_was {
            println!("peer: {:?}, start {}", is.state, is.epoch);
            self.peer_was = is;
        }
    }

    fn send(&mut self) {
        let Some(out) = &mut self.stream_out else {
            return;
        };
        let number = out.next_sequence();
        let mut beacon = Beacon {
            stamp: Stamp::default(),
            content: content(number),
        };
        match out.send(&mut beacon) {
            Ok(()) => self.sent += 1,
            Err(_) => self.full += 1,
        }
        // Also when it is full: then its reader sleeps. Nothing where there is no doorbell.
        out.ring();
    }

    fn take(&mut self) {
        let Some(stream) = &mut self.stream_in else {
            return;
        };
        let arrived = core::iter::from_fn(|| stream.receive().ok());
        for received in arrived.take(AT_MOST) {
            self.received += 1;
            self.lost += received.missed;
            let sound = received.message.content == content(received.stamp.sequence);
            self.corrupt += u64::from(!sound);
        }
    }
}

impl fmt::Display for Traffic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "sent={} full={} received={} lost={} corrupt={} doorbells={}",
            self.sent,
            self.full,
            self.received,
            self.lost,
            self.corrupt,
            self.doorbell.map_or(0, |doorbell| doorbell.count())
        )
    }
}
