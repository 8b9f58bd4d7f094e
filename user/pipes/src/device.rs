//! What brings messages to pipes and takes them from there: a CAN controller or a network card
//!
//! The bottom half is a thread on the I/O VCPU, at the priority of the most important that it works for: no bound counts on less, and each
//! counts on what that may take. It puts what came into a queue of each stage that reads it: with an identifier, the frames that have that one; with a
//! port, the datagrams that come there. Who writes
//! does so on the stage's own budget. Where a Main VCPU scatters or gathers for an endpoint, it stands between ([`share`]).
//!
//! Stages come and go while the planner runs ([`crate::planner`]). A frame that the bottom half was about to hand to one that went finds its
//! queue; whoever has that next drains it before its pipe begins.

use crate::stage::{self, STAGES};
use crate::{CORE, Failure, can, card, ends, planner, seats, share, table, together};
use bulkhead_abi::kernel::{Operation, first};
use bulkhead_abi::name_text;
use bulkhead_abi::pipe::{ANY, NONE, Stage};
use bulkhead_abi::trace::PORT;
use bulkhead_can_port::Queue;
use bulkhead_component::call::call;
use bulkhead_component::clock::ticks;
use bulkhead_component::first::Timing;
use bulkhead_component::{First, Own, println};
use bulkhead_sched::policy::{Binding, ServerId};
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicBool, AtomicU16, AtomicU64};

/// Whether it is a network card.
static IS_CARD: AtomicBool = AtomicBool::new(false);
/// By number of the stage that reads.
static QUEUES: [Queue; STAGES] = [const { Queue::new() }; STAGES];
/// Stages that read, by bit.
static READERS: AtomicU64 = AtomicU64::new(0);
/// What they read, by number.
static IDENTIFIERS: [AtomicU16; STAGES] = [const { AtomicU16::new(ANY) }; STAGES];
/// The shortest distance that is declared of the messages that they read, ticks, by number; any node may send at any time.
static DISTANCES: [AtomicU64; STAGES] = [const { AtomicU64::new(0) }; STAGES];
/// Tick at which the next message is due, a distance after the one before; 0: none came yet.
static DUE: [AtomicU64; STAGES] = [const { AtomicU64::new(0) }; STAGES];
/// Messages that came closer and were dropped, by number.
static EARLY: [AtomicU64; STAGES] = [const { AtomicU64::new(0) }; STAGES];
/// Capability by which the bottom half waits, and the interrupt.
static LINE: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];
/// The number of the I/O VCPU, counted from 1, and the bottom half's thread; 0: there is none.
static SERVED: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];

/// What came.
#[derive(Clone, Copy)]
pub(crate) struct Came {
    /// The identifier or the port, if it has one that stages may have asked for.
    pub(crate) identifier: Option<u16>,
    pub(crate) words: [u64; 2],
    /// When, ticks.
    pub(crate) at: u64,
}

/// Opens the device and starts its bottom half, if a stage reads or writes there, or one that is typed may.
pub(crate) fn start(
    first: &mut First,
    own: &Own,
    timing: &Timing,
    servers: &[Option<ServerId>],
) -> Result<(), Failure> {
    let described = timing.stages.iter().any(uses);
    let typed = timing
        .repository
        .is_some_and(|all| ends::functions(&all).next().is_some());
    if !described && !typed {
        return Ok(());
    }
    let (io, intid) = match opened(first, own, timing) {
        Ok(opened) => opened,
        Err(failure) if described => return Err(failure),
        Err(failure) => {
            println!("{failure}: no pipe at it can be typed");
            return Ok(());
        }
    };
    share::open(first, servers, timing)?;
    for (_, entry) in table::all() {
        entry
            .here()
            .for_each(|(number, stage)| attach(number, &stage));
    }
    SERVED[0].store(u64::from(io) + 1, Relaxed);
    let missing = Failure::named("endpoints", "they have no I/O VCPU");
    let vcpu = servers.get(io as usize).copied().flatten();
    let vcpu = vcpu.ok_or(missing)?;
    let cause = most_important(timing).ok_or(missing)?;
    let index = CORE.threads.spawn(first, serve, Binding { vcpu, cause })?;
    SERVED[1].store(index, Relaxed);
    let [receive, send] = CORE.threads.end_point(first, index)?;
    LINE[0].store(receive, Relaxed);
    LINE[1].store(intid, Relaxed);
    call(first::INTERRUPT, Operation::Listen, [intid, send])?;
    Ok(())
}

/// Opens the device: the number of its I/O VCPU, and its interrupt.
fn opened(first: &mut First, own: &Own, timing: &Timing) -> Result<(u32, u64), Failure> {
    let io = io(timing).ok_or(Failure::named("endpoints", "they have no I/O VCPU"))?;
    let function = own.function();
    let function = function.ok_or(Failure::named(
        "endpoints",
        "the component drives no device",
    ))?;
    let station = card::station(timing);
    match station {
        Some(station) => card::open(first, function, station)?,
        None => can::open(function)?,
    }
    IS_CARD.store(station.is_some(), Relaxed);
    Ok((io, function.intid.into()))
}

/// The number of the I/O VCPU that the device interrupts: of what stages read there, or may; where nobody does, of what they write.
fn io(timing: &Timing) -> Option<u32> {
    let stages = |uses: fn(&Stage) -> bool| timing.stages.iter().filter(move |stage| uses(stage));
    let described = |uses| stages(uses).map(|stage| stage.io).find(|io| *io != NONE);
    let typed = |end: usize| {
        let all = timing.repository?;
        let mut ends = ends::functions(&all).filter_map(|one| ends::of(&all, one)[end]);
        ends.next().map(|device| device.vcpu)
    };
    described(reads)
        .or_else(|| typed(0))
        .or_else(|| described(writes))
        .or_else(|| typed(1))
}

/// Whether the device is there.
pub(crate) fn is_open() -> bool {
    SERVED[1].load(Relaxed) != 0
}

/// Whether a stage reads or writes there.
pub(crate) fn uses(stage: &Stage) -> bool {
    reads(stage) || writes(stage)
}

/// A stage that does nothing yet is handed what comes for it, and may send.
pub(crate) fn attach(number: usize, stage: &Stage) {
    let [scatters, gathers] = stage.scatter;
    if reads(stage) {
        let queue = &QUEUES[number % STAGES];
        queue.open();
        while queue.take() != 0 {}
        IDENTIFIERS[number % STAGES].store(stage.identifiers[0], Relaxed);
        DISTANCES[number % STAGES].store(ticks(stage.distance_ns), Relaxed);
        DUE[number % STAGES].store(0, Relaxed);
        EARLY[number % STAGES].store(0, Relaxed);
        match scatters {
            NONE => _ = READERS.fetch_or(1 << number, Relaxed),
            vcpu => share::attach(number, vcpu),
        }
    }
    if writes(stage) {
        card::attach(stage);
    }
    if writes(stage) && gathers != NONE {
        share::attach(number, gathers);
    }
}

/// Nothing is handed to a stage any more, nor sent for it.
pub(crate) fn detach(number: usize) {
    READERS.fetch_and(!(1 << number), Relaxed);
    share::detach(number);
}

/// Whom the bottom half works for: the most important of those that use its I/O VCPU, or of those that scatter and gather for them; without one,
/// the planner, who is less important than all.
fn most_important(timing: &Timing) -> Option<ServerId> {
    let io = SERVED[0].load(Relaxed);
    let mut found = None;
    for (_, entry) in table::all() {
        let here = entry.here();
        for (number, stage) in here.filter(|(_, stage)| u64::from(stage.io) + 1 == io) {
            let ends = [reads(&stage), writes(&stage)]
                .into_iter()
                .zip(stage.scatter);
            for (_, scatter) in ends.filter(|(at, _)| *at) {
                let known = timing.vcpus.get(scatter as usize);
                let cause = match known {
                    Some(main) => Some((main.period_ns, seats::server_of(timing, scatter))),
                    None => seats::get(number).map(|seat| (stage.period_ns, seat.server)),
                };
                found = cause.into_iter().chain(found).min();
            }
        }
    }
    found.map(|(_, server)| server).or_else(planner::least)
}

/// Has the bottom half work for the most important of those that there are now; by the planner.
pub(crate) fn work_for_most_important(timing: &Timing) {
    let [io, thread] = SERVED.each_ref().map(|word| word.load(Relaxed));
    if let (Some(io), Some(cause), true) = (io.checked_sub(1), most_important(timing), is_open()) {
        let vcpu = seats::server_of(timing, io as u32);
        let _always = CORE.threads.set_parameters(thread, Binding { vcpu, cause });
    }
}

fn reads(stage: &Stage) -> bool {
    together::is_here(stage) && stage.from == 0 && !matches!(name_text(&stage.source), "" | "timer")
}

fn writes(stage: &Stage) -> bool {
    together::is_here(stage) && !matches!(name_text(&stage.sink), "" | "trace" | "null")
}

/// Whether what came is for those who asked for this identifier.
pub(crate) fn is_for(identifier: &AtomicU16, came: &Came) -> bool {
    let wanted = identifier.load(Relaxed);
    wanted == ANY || came.identifier == Some(wanted)
}

/// Hands what came to a stage that reads it, unless it came too close.
///
/// The schedule of the messages before decides, not the last one alone: the driver hands over sooner or later after the wire,
/// and a sender that keeps the distance is never more than that ahead of its schedule. Half a distance is admitted for it.
pub(crate) fn give(number: usize, words: [u64; 2], at: u64) {
    let [distance, due, early] = [&DISTANCES, &DUE, &EARLY].map(|all| &all[number % STAGES]);
    let (distance, expected) = (distance.load(Relaxed), due.load(Relaxed));
    let is_early = at.saturating_add(distance / 2) < expected;
    if is_early {
        early.fetch_add(1, Relaxed);
    }
    if !is_early && QUEUES[number % STAGES].put(words, at) {
        due.store(at.max(expected).saturating_add(distance), Relaxed);
        stage::shared(number).feed(at);
    } else {
        stage::shared(number).dropped.fetch_add(1, Relaxed);
    }
}

/// Messages that came too close to a stage, their sender as a trace event names it, and the distance that is declared, ticks.
pub(crate) fn early(number: usize) -> (u64, u64, u64) {
    let [distance, early] = [&DISTANCES, &EARLY].map(|all| all[number % STAGES].load(Relaxed));
    let identifier = u64::from(IDENTIFIERS[number % STAGES].load(Relaxed));
    let sender = match IS_CARD.load(Relaxed) {
        true => PORT | identifier,
        false => identifier,
    };
    (early, sender, distance)
}

/// Hands it to all whom it is for.
fn hand_on(came: &Came) {
    let readers = READERS.load(Relaxed);
    let here = (0..STAGES).filter(|number| readers >> number & 1 != 0);
    for number in here.filter(|&number| is_for(&IDENTIFIERS[number], came)) {
        give(number, came.words, came.at);
    }
    share::take(came);
}

/// The bottom half.
extern "C" fn serve(_: u64) -> ! {
    let [receive, intid] = LINE.each_ref().map(|word| word.load(Relaxed));
    let serve: [&mut dyn FnMut(); 2] = [&mut can::server(hand_on), &mut card::server(hand_on)];
    let which = usize::from(IS_CARD.load(Relaxed));
    loop {
        serve[which]();
        // Refused where none is held: nothing was raised yet.
        let _held = call(first::INTERRUPT, Operation::Complete, [intid]);
        let _merged = CORE.threads.wait_notified(receive);
    }
}

/// Says what went wrong, if anything did.
pub(crate) fn tell() {
    can::tell();
    card::tell();
}

/// When the oldest message came that waits for a stage.
pub(crate) fn waiting(number: usize) -> Option<u64> {
    QUEUES[number % STAGES].oldest().map(|(_, at)| at)
}

/// The oldest message that waits for a stage, and when it came.
pub(crate) fn read(number: usize) -> Option<([u64; 2], u64)> {
    let queue = &QUEUES[number % STAGES];
    let oldest = queue.oldest();
    queue.take();
    oldest
}

/// Where messages go.
#[derive(Clone, Copy)]
pub(crate) struct To {
    /// Identifier or port.
    identifier: u16,
    address: u32,
}

impl To {
    /// Where a stage writes.
    pub(crate) const fn of(stage: &Stage) -> Self {
        let [_, identifier] = stage.identifiers;
        let [_, address] = stage.addresses;
        Self {
            identifier,
            address,
        }
    }
}

/// Sends a message; `false` where it could not be within so many ticks.
pub(crate) fn write(words: [u64; 2], to: To, patience: u64) -> bool {
    match to.address {
        0 => can::write(words, to.identifier, patience),
        address => card::write(words, to.identifier, address),
    }
}
