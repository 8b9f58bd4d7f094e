//! A network card: a UDP datagram of two words is a message
//!
//! The bottom half inspects each frame in a number of steps that is bounded by its length, and
//! keeps nothing of it. The hardware address of a receiver is learned from frames that it sends.
//! Until then frames go to the broadcast address, so that no message waits for an address
//! resolution.

use crate::device::ReceivedFrame;
use crate::runtime::{CORE, Failure};
use crate::shared_state;
use bulkhead_abi::guest::Function;
use bulkhead_abi::pipe::{CARD_BYTES, MAX_SHARED, Stage};
use bulkhead_component::first::Timing;
use bulkhead_component::{First, clock, println};
use bulkhead_datagram::{Datagram, EVERYBODY, Heard, Station, answer, frame, hear};
use bulkhead_net::{Incoming, Opened, Outgoing, drive_from};
use bulkhead_slite::Mutex;
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicU32, AtomicU64};

const _: () = assert!(
    bulkhead_net::MEMORY as u64 <= CARD_BYTES,
    "the tool counts enough"
);

/// Bytes of a frame that are inspected: a datagram with the longest header.
const LOOKED_AT: usize = 128;

/// The receiving half, until the bottom half takes it, and the sending half.
static INCOMING: Mutex<Option<Incoming<'static, Opened>>> = Mutex::new(None);
static OUTGOING: Mutex<Option<Outgoing<'static, Opened>>> = Mutex::new(None);
/// The card's addresses and the port it sends from.
static OWN: Mutex<Option<(Station, u16)>> = Mutex::new(None);
/// Receivers, and their hardware addresses plus 1; 0: not learned yet.
static RECEIVERS: [(AtomicU32, AtomicU64); MAX_SHARED] =
    [const { (AtomicU32::new(0), AtomicU64::new(0)) }; MAX_SHARED];
/// Number of malformed datagrams, and of frames that the card did not accept.
static MALFORMED: AtomicU64 = AtomicU64::new(0);
static UNSENT: AtomicU64 = AtomicU64::new(0);

/// Returns the address and the port of the card if stages use one, or run-time pipes may.
pub(crate) fn station(timing: &Timing) -> Option<(u32, u16)> {
    let static_stages = timing.stages.iter();
    let static_stages = static_stages.filter(|stage| shared_state::is_here(stage));
    let static_stages = static_stages.map(|stage| (stage.addresses[0], stage.port));
    let run_time = timing.repository.into_iter().flat_map(|all| all.functions);
    let run_time = run_time.map(|function| (function.addresses[0], function.port));
    static_stages
        .chain(run_time)
        .find(|(address, _)| *address != 0)
}

/// Starts the card.
pub(crate) fn open(
    first: &mut First,
    function: &Function,
    (address, port): (u32, u16),
) -> Result<(), Failure> {
    let card = drive_from(first, function);
    let card = card.map_err(|_| Failure::named("card", "no network card that has memory"))?;
    let station = Station {
        hardware: card.address(),
        address: address.to_be_bytes(),
    };
    let (incoming, outgoing) = card.split();
    let _kept = OWN.with(&CORE.threads, |place| *place = Some((station, port)));
    let _kept = INCOMING.with(&CORE.threads, |place| *place = Some(incoming));
    let _kept = OUTGOING.with(&CORE.threads, |place| *place = Some(outgoing));
    let [a, b, c, d] = station.address;
    println!("card: has the address {a}.{b}.{c}.{d}");
    Ok(())
}

/// Returns the handler of the card's interrupts. It passes each received message to `hand_on`.
pub(crate) fn server(mut hand_on: impl FnMut(&ReceivedFrame)) -> impl FnMut() {
    let incoming = INCOMING.with(&CORE.threads, Option::take);
    let station = OWN.with(&CORE.threads, |station| *station);
    let mut both = incoming.ok().flatten().zip(station.ok().flatten());
    move || {
        let Some((incoming, (station, _))) = &mut both else {
            return;
        };
        incoming.acknowledge();
        let mut bytes = [0; LOOKED_AT];
        while let Some(length) = incoming.receive(&mut bytes) {
            take(
                bytes.get(..length).unwrap_or_default(),
                *station,
                &mut hand_on,
            );
        }
    }
}

fn take(bytes: &[u8], station: Station, hand_on: &mut impl FnMut(&ReceivedFrame)) {
    match hear(bytes, station) {
        Heard::Datagram(from, datagram) => {
            learn(from);
            hand_on(&ReceivedFrame {
                identifier: Some(datagram.to),
                words: datagram.words,
                at: clock::now(),
            });
        }
        Heard::Asked(from) => {
            learn(from);
            let _asked_again = send(&answer(station, from));
        }
        Heard::Told(from) => learn(from),
        Heard::Malformed => _ = MALFORMED.fetch_add(1, Relaxed),
        Heard::Nothing => {}
    }
}

/// Stores the hardware address of a receiver.
fn learn(from: Station) {
    let address = u32::from_be_bytes(from.address);
    let mut receivers = RECEIVERS.iter();
    if let Some((_, hardware)) = receivers.find(|(receivers, _)| receivers.load(Relaxed) == address)
    {
        let [a, b, c, d, e, f] = from.hardware;
        hardware.store(u64::from_be_bytes([0, 0, a, b, c, d, e, f]) + 1, Relaxed);
    }
}

/// Registers the receiver of a stage, so that its hardware address is learned.
pub(crate) fn attach(stage: &Stage) {
    let [_, receiver] = stage.addresses;
    let mut places = RECEIVERS.iter().map(|(address, _)| address);
    if receiver != 0
        && let Some(place) = places.find(|one| [0, receiver].contains(&one.load(Relaxed)))
    {
        place.store(receiver, Relaxed);
    }
}

fn whereabouts(address: u32) -> [u8; 6] {
    let mut receivers = RECEIVERS.iter();
    let receivers = receivers.find(|(receivers, _)| receivers.load(Relaxed) == address);
    let hardware = receivers.and_then(|(_, hardware)| hardware.load(Relaxed).checked_sub(1));
    hardware.map_or(EVERYBODY, |hardware| {
        let [_, _, a, b, c, d, e, f] = hardware.to_be_bytes();
        [a, b, c, d, e, f]
    })
}

fn send(frame: &[u8]) -> bool {
    let sent = OUTGOING.with(&CORE.threads, |card| {
        card.as_mut().is_some_and(|card| card.send(frame).is_ok())
    });
    let sent = sent.unwrap_or(false);
    UNSENT.fetch_add((!sent).into(), Relaxed);
    sent
}

/// Sends a message. Returns `false` if the card has no free descriptor.
pub(crate) fn write(words: [u64; 2], port: u16, address: u32) -> bool {
    let Ok(Some((station, from))) = OWN.with(&CORE.threads, |station| *station) else {
        return false;
    };
    let to = Station {
        hardware: whereabouts(address),
        address: address.to_be_bytes(),
    };
    let datagram = Datagram {
        from,
        to: port,
        words,
    };
    send(&frame(station, to, &datagram))
}

/// Prints the error counters of the card if one has changed.
pub(crate) fn tell() {
    let [malformed, unsent] = [&MALFORMED, &UNSENT].map(|count| count.load(Relaxed));
    if malformed + unsent > 0 {
        println!("card: malformed={malformed} unsent={unsent}");
    }
}
