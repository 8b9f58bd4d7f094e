//! The device through which messages enter and leave: a CAN controller or a network card
//!
//! The bottom half is a thread on the I/O VCPU, with the priority of the most important
//! stage that it works for; every bound assumes at least this, and each counts the time of
//! the bottom half. It puts each received message into a queue of every stage that reads it:
//! CAN frames by identifier, datagrams by port. A stage that writes does so on its own
//! budget. Where a Main VCPU scatters or gathers for an endpoint, it stands between them
//! ([`crate::fanout`]).
//!
//! The planner adds and removes stages at run time ([`crate::planner`]). A message that the bottom
//! half was about to hand to a removed stage still enters that stage's queue; the next stage that
//! gets the queue drains it before its pipe begins.

use crate::runtime::{CORE, Failure};
use crate::stage::{self, STAGES};
use crate::{can, endpoints, fanout, network_card, planner, shared_state, table, vcpu_pool};
use bulkhead_abi::kernel::{Operation, first};
use bulkhead_abi::pipe::{ANY, EndpointKind, NONE, Stage};
use bulkhead_abi::trace::PORT;
use bulkhead_can_port::Queue;
use bulkhead_component::call::call;
use bulkhead_component::clock::ticks;
use bulkhead_component::first::Timing;
use bulkhead_component::{Environment, First, println};
use bulkhead_sched::policy::{Binding, ServerId};
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicBool, AtomicU16, AtomicU64};

/// True if the device is a network card.
static IS_CARD: AtomicBool = AtomicBool::new(false);
/// Queues of received messages, by number of the reading stage.
static QUEUES: [Queue; STAGES] = [const { Queue::new() }; STAGES];
/// Reading stages, by bit.
static READERS: AtomicU64 = AtomicU64::new(0);
/// Identifier that each stage reads, by number.
static IDENTIFIERS: [AtomicU16; STAGES] = [const { AtomicU16::new(ANY) }; STAGES];
/// Shortest distance declared between messages that a stage reads, in ticks, by number of the stage.
/// A sender may break it at any time.
static DISTANCES: [AtomicU64; STAGES] = [const { AtomicU64::new(0) }; STAGES];
/// Tick at which the next message is due, a distance after the one before; 0: none came yet.
static DUE: [AtomicU64; STAGES] = [const { AtomicU64::new(0) }; STAGES];
/// Messages that came closer and were dropped, by number.
static EARLY: [AtomicU64; STAGES] = [const { AtomicU64::new(0) }; STAGES];
/// Capability by which the bottom half waits, and the interrupt.
static LINE: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];
/// Number of the I/O VCPU, counted from 1, and thread of the bottom half; 0: none.
static SERVED: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];

/// A received message.
#[derive(Clone, Copy)]
pub(crate) struct ReceivedFrame {
    /// CAN identifier or UDP port, if stages may have selected it.
    pub(crate) identifier: Option<u16>,
    pub(crate) words: [u64; 2],
    /// Time of reception, ticks.
    pub(crate) at: u64,
}

/// Opens the device and starts its bottom half, if a stage uses it or a run-time pipe may.
pub(crate) fn start(
    first: &mut First,
    env: &Environment,
    timing: &Timing,
    servers: &[Option<ServerId>],
) -> Result<(), Failure> {
    let is_static = timing.stages.iter().any(uses);
    let run_time = timing
        .repository
        .is_some_and(|all| endpoints::functions(&all).next().is_some());
    if !is_static && !run_time {
        return Ok(());
    }
    let (io, intid) = match opened(first, env, timing) {
        Ok(opened) => opened,
        Err(failure) if is_static => return Err(failure),
        Err(failure) => {
            println!("{failure}: no pipe at it can be typed");
            return Ok(());
        }
    };
    fanout::open(first, servers, timing)?;
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
    let [receive, send] = CORE.threads.receive_end(first, index)?;
    LINE[0].store(receive, Relaxed);
    LINE[1].store(intid, Relaxed);
    call(first::INTERRUPT, Operation::Listen, [intid, send])?;
    Ok(())
}

/// Opens the device. Returns the number of its I/O VCPU and its interrupt.
fn opened(first: &mut First, env: &Environment, timing: &Timing) -> Result<(u32, u64), Failure> {
    let io = io(timing).ok_or(Failure::named("endpoints", "they have no I/O VCPU"))?;
    let function = env.function();
    let function = function.ok_or(Failure::named(
        "endpoints",
        "the component drives no device",
    ))?;
    let station = network_card::station(timing);
    match station {
        Some(station) => network_card::open(first, function, station)?,
        None => can::open(function)?,
    }
    IS_CARD.store(station.is_some(), Relaxed);
    Ok((io, function.intid.into()))
}

/// Number of the I/O VCPU that the device interrupts: the one of endpoints that stages read, or may
/// read; if there is none, the one of endpoints that they write.
fn io(timing: &Timing) -> Option<u32> {
    let stages = |uses: fn(&Stage) -> bool| timing.stages.iter().filter(move |stage| uses(stage));
    let is_static = |uses| stages(uses).map(|stage| stage.io).find(|io| *io != NONE);
    let run_time = |end: usize| {
        let all = timing.repository?;
        let mut ends = endpoints::functions(&all).filter_map(|one| endpoints::of(&all, one)[end]);
        ends.next().map(|device| device.vcpu)
    };
    is_static(reads)
        .or_else(|| run_time(0))
        .or_else(|| is_static(writes))
        .or_else(|| run_time(1))
}

/// Returns whether the device is open.
pub(crate) fn is_open() -> bool {
    SERVED[1].load(Relaxed) != 0
}

/// Returns whether a stage uses the device.
pub(crate) fn uses(stage: &Stage) -> bool {
    reads(stage) || writes(stage)
}

/// Connects a stage, before it begins, to the device.
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
            vcpu => fanout::attach(number, vcpu),
        }
    }
    if writes(stage) {
        network_card::attach(stage);
    }
    if writes(stage) && gathers != NONE {
        fanout::attach(number, gathers);
    }
}

/// Disconnects a stage from the device.
pub(crate) fn detach(number: usize) {
    READERS.fetch_and(!(1 << number), Relaxed);
    fanout::detach(number);
}

/// The most important VCPU for which the bottom half works: of the stages that use its I/O VCPU, or
/// of the threads that scatter and gather for them. Without one it is the planner's, the least
/// important of all.
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
                let vcpu = timing.vcpus.get(scatter as usize);
                let cause = match vcpu {
                    Some(main) => Some((main.period_ns, vcpu_pool::server_of(timing, scatter))),
                    None => vcpu_pool::get(number).map(|slot| (stage.period_ns, slot.server)),
                };
                found = cause.into_iter().chain(found).min();
            }
        }
    }
    found.map(|(_, server)| server).or_else(planner::least)
}

/// Lets the bottom half inherit the priority of the most important VCPU that it works for now.
/// Called by the planner.
pub(crate) fn work_for_most_important(timing: &Timing) {
    let [io, thread] = SERVED.each_ref().map(|word| word.load(Relaxed));
    if let (Some(io), Some(cause), true) = (io.checked_sub(1), most_important(timing), is_open()) {
        let vcpu = vcpu_pool::server_of(timing, io as u32);
        let _always = CORE.threads.set_parameters(thread, Binding { vcpu, cause });
    }
}

fn reads(stage: &Stage) -> bool {
    let [source, _] = stage.endpoints();
    shared_state::is_here(stage) && stage.from == 0 && source == EndpointKind::Device
}

fn writes(stage: &Stage) -> bool {
    let [_, sink] = stage.endpoints();
    shared_state::is_here(stage) && sink == EndpointKind::Device
}

/// Returns whether a message is for readers of this identifier.
pub(crate) fn is_for(identifier: &AtomicU16, received: &ReceivedFrame) -> bool {
    let selected = identifier.load(Relaxed);
    selected == ANY || received.identifier == Some(selected)
}

/// Puts a message into the queue of a stage that reads it, unless it came closer than the declared distance to the
/// admitted one before.
///
/// No jitter is admitted: an early message would delay the next one beyond the bound of the pipe. A description declares a
/// distance that is shorter than the period of its sender by the jitter of the sender and of the bottom half.
pub(crate) fn give(number: usize, words: [u64; 2], at: u64) {
    let [distance, due, early] = [&DISTANCES, &DUE, &EARLY].map(|all| &all[number % STAGES]);
    let is_early = at < due.load(Relaxed);
    if is_early {
        early.fetch_add(1, Relaxed);
    }
    if !is_early && QUEUES[number % STAGES].put(words, at) {
        due.store(at.saturating_add(distance.load(Relaxed)), Relaxed);
        stage::shared(number).feed(at);
    } else {
        stage::shared(number).dropped.fetch_add(1, Relaxed);
    }
}

/// Returns the number of messages that came too close to a stage, their sender as in a trace event, and the declared distance in
/// ticks.
pub(crate) fn early(number: usize) -> (u64, u64, u64) {
    let [distance, early] = [&DISTANCES, &EARLY].map(|all| all[number % STAGES].load(Relaxed));
    let identifier = u64::from(IDENTIFIERS[number % STAGES].load(Relaxed));
    let sender = match IS_CARD.load(Relaxed) {
        true => PORT | identifier,
        false => identifier,
    };
    (early, sender, distance)
}

/// Hands a message to all stages that read it.
fn hand_on(received: &ReceivedFrame) {
    let readers = READERS.load(Relaxed);
    let here = (0..STAGES).filter(|number| readers >> number & 1 != 0);
    for number in here.filter(|&number| is_for(&IDENTIFIERS[number], received)) {
        give(number, received.words, received.at);
    }
    fanout::take(received);
}

/// The bottom half.
extern "C" fn serve(_: u64) -> ! {
    let [receive, intid] = LINE.each_ref().map(|word| word.load(Relaxed));
    let serve: [&mut dyn FnMut(); 2] = [
        &mut can::server(hand_on),
        &mut network_card::server(hand_on),
    ];
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
    network_card::tell();
}

/// Time of reception of the oldest message in a stage's queue.
pub(crate) fn waiting(number: usize) -> Option<u64> {
    QUEUES[number % STAGES].oldest().map(|(_, at)| at)
}

/// Takes the oldest message of a stage's queue, with its time of reception.
pub(crate) fn read(number: usize) -> Option<([u64; 2], u64)> {
    let queue = &QUEUES[number % STAGES];
    let oldest = queue.oldest();
    queue.take();
    oldest
}

/// Destination of messages.
#[derive(Clone, Copy)]
pub(crate) struct To {
    /// CAN identifier or UDP port.
    identifier: u16,
    address: u32,
}

impl To {
    /// The destination of a stage.
    pub(crate) const fn of(stage: &Stage) -> Self {
        let [_, identifier] = stage.identifiers;
        let [_, address] = stage.addresses;
        Self {
            identifier,
            address,
        }
    }
}

/// Sends a message. Returns `false` if it could not be sent within `patience` ticks.
pub(crate) fn write(words: [u64; 2], to: To, patience: u64) -> bool {
    match to.address {
        0 => can::write(words, to.identifier, patience),
        address => network_card::write(words, to.identifier, address),
    }
}
