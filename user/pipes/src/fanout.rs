//! Endpoints that pipes share through a Main VCPU (Tuned Pipes §3.1.2)
//!
//! A *scatterer* takes the frames from the bottom half, and hands them to every stage that reads
//! the endpoint. A *gatherer* takes the messages of several stages, and sends them one after the
//! other. Each is a thread on its own Main VCPU with a budget for one message. Messages above the
//! guaranteed rate therefore delay no other stage.

use crate::device::{self, ReceivedFrame, To};
use crate::exit_records::{self, StagePosition};
use crate::runtime::{CORE, Failure};
use crate::stage::{self, STAGES};
use crate::{endpoints, shared_state};
use bulkhead_abi::pipe::{ANY, MAX_SHARED, NONE, Stage};
use bulkhead_can_port::Queue;
use bulkhead_component::First;
use bulkhead_component::first::Timing;
use bulkhead_sched::NEVER;
use bulkhead_sched::policy::{Binding, ServerId};
use bulkhead_slite::Mutex;
use bulkhead_stages::link::Input;
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicBool, AtomicU16, AtomicU64};

/// An endpoint for which a VCPU scatters or gathers.
struct Shared {
    /// Number of the VCPU, counted from 1; 0: free.
    vcpu: AtomicU64,
    /// Index of its thread.
    thread: AtomicU64,
    /// Stages that read or write there, by bit.
    stages: AtomicU64,
    /// True if frames are scattered there, and the identifier of these.
    scatters: AtomicBool,
    identifier: AtomicU16,
    /// Frames that wait to be scattered.
    queue: Queue,
}

static ALL: [Shared; MAX_SHARED] = [const {
    Shared {
        vcpu: AtomicU64::new(0),
        thread: AtomicU64::new(0),
        stages: AtomicU64::new(0),
        scatters: AtomicBool::new(false),
        identifier: AtomicU16::new(ANY),
        queue: Queue::new(),
    }
}; MAX_SHARED];
/// Messages that stages left to be sent, by number of the stage.
static OUTGOING: [Mutex<Option<Outgoing>>; STAGES] = [const { Mutex::new(None) }; STAGES];

/// Stages that sent the end of their task as their last message, by bit.
static OVER: AtomicU64 = AtomicU64::new(0);

/// Outgoing messages of a stage.
pub(crate) struct Outgoing {
    pub(crate) messages: Input,
    pub(crate) place: StagePosition,
    pub(crate) to: To,
    /// How long the gatherer waits for the bus, ticks.
    pub(crate) patience: u64,
}

/// Hands the outgoing buffer of a stage to its gatherer.
pub(crate) fn leave(number: usize, outgoing: Outgoing) {
    if let Some(place) = OUTGOING.get(number) {
        let _kept = place.with(&CORE.threads, |place| *place = Some(outgoing));
    }
}

/// Creates the scatterers and gatherers of static stages, and of endpoints that run-time pipes may
/// use.
pub(crate) fn open(
    first: &mut First,
    servers: &[Option<ServerId>],
    timing: &Timing,
) -> Result<(), Failure> {
    let stages = timing.stages.iter();
    let stages = stages.filter(|stage| shared_state::is_here(stage));
    for stage in stages {
        make(first, servers, stage.scatter, stage.identifiers)?;
    }
    let Some(all) = timing.repository else {
        return Ok(());
    };
    for function in endpoints::functions(&all) {
        let scatter = endpoints::of(&all, function).map(|end| end.map_or(NONE, |end| end.scatter));
        make(first, servers, scatter, function.identifiers)?;
    }
    Ok(())
}

/// Creates the missing threads of what a stage reads and writes.
fn make(
    first: &mut First,
    servers: &[Option<ServerId>],
    vcpus: [u32; 2],
    identifiers: [u16; 2],
) -> Result<(), Failure> {
    let bodies: [extern "C" fn(u64) -> !; 2] = [scatter, gather];
    for (end, vcpu) in vcpus
        .into_iter()
        .enumerate()
        .filter(|(_, vcpu)| *vcpu != NONE)
    {
        let name = u64::from(vcpu) + 1;
        let shared = ALL
            .iter()
            .find(|one| [0, name].contains(&one.vcpu.load(Relaxed)))
            .ok_or(Failure::named(
                "can",
                "too many of its endpoints are shared",
            ))?;
        if shared.vcpu.swap(name, Relaxed) != 0 {
            continue;
        }
        let server = servers.get(vcpu as usize).copied().flatten();
        let server = server.ok_or(Failure::named("can", "who scatters has no VCPU"))?;
        let index = CORE
            .threads
            .spawn(first, bodies[end], Binding::main(server))?;
        shared.thread.store(index, Relaxed);
        shared.identifier.store(identifiers[end], Relaxed);
        if end == 0 {
            shared.queue.open();
            shared.scatters.store(true, Relaxed);
        }
    }
    Ok(())
}

/// Registers a stage with a scatterer or gatherer.
pub(crate) fn attach(number: usize, vcpu: u32) {
    let name = u64::from(vcpu) + 1;
    if let Some(shared) = ALL.iter().find(|one| one.vcpu.load(Relaxed) == name) {
        shared.stages.fetch_or(1 << number, Relaxed);
    }
}

/// Removes a stage with no outgoing message left ([`is_over`]).
pub(crate) fn detach(number: usize) {
    for shared in &ALL {
        shared.stages.fetch_and(!(1 << number), Relaxed);
    }
    OVER.fetch_and(!(1 << number), Relaxed);
    if let Some(place) = OUTGOING.get(number) {
        let _dropped = place.with(&CORE.threads, |place| *place = None);
    }
}

/// Returns whether all outgoing messages of an ending stage are sent, its end of task last.
pub(crate) fn is_over(number: usize, stage: &Stage) -> bool {
    stage.scatter[1] == NONE || OVER.load(Relaxed) >> number & 1 != 0
}

/// Hands a frame from the bottom half to its scatterers.
pub(crate) fn take(received: &ReceivedFrame) {
    let scattered = ALL.iter().filter(|one| one.scatters.load(Relaxed));
    let scattered = scattered.filter(|one| one.stages.load(Relaxed) != 0);
    for shared in scattered.filter(|one| device::is_for(&one.identifier, received)) {
        if shared.queue.put(received.words, received.at) {
            CORE.threads.wakeup(shared.thread.load(Relaxed));
        } else {
            shared.numbers().for_each(lost);
        }
    }
}

/// Wakes the gatherer on that VCPU: a message waits.
pub(crate) fn wake(vcpu: u32) {
    let name = u64::from(vcpu) + 1;
    if let Some(shared) = ALL.iter().find(|one| one.vcpu.load(Relaxed) == name) {
        CORE.threads.wakeup(shared.thread.load(Relaxed));
    }
}

fn lost(number: usize) {
    stage::shared(number).dropped.fetch_add(1, Relaxed);
}

impl Shared {
    fn of_thread(index: u64) -> &'static Self {
        let found = ALL.iter().find(|one| one.thread.load(Relaxed) == index);
        found.unwrap_or_else(|| CORE.threads.exit())
    }

    fn numbers(&self) -> impl Iterator<Item = usize> + use<> {
        let stages = self.stages.load(Relaxed);
        (0..STAGES).filter(move |number| stages >> number & 1 != 0)
    }
}

extern "C" fn scatter(index: u64) -> ! {
    let shared = Shared::of_thread(index);
    loop {
        while let Some((words, at)) = shared.queue.oldest() {
            shared.queue.take();
            let give = |number| device::give(number, words, at);
            shared.numbers().for_each(give);
        }
        CORE.threads.block(NEVER);
    }
}

extern "C" fn gather(index: u64) -> ! {
    let shared = Shared::of_thread(index);
    loop {
        let mut idle = true;
        for number in shared.numbers() {
            idle &= !send_next(number);
        }
        if idle {
            CORE.threads.block(NEVER);
        }
    }
}

/// Sends the oldest outgoing message of a stage. Returns whether there was one. Only the gatherer
/// locks this slot.
fn send_next(number: usize) -> bool {
    let next = OUTGOING[number].with(&CORE.threads, |outgoing| {
        let outgoing = outgoing.as_mut()?;
        let message = outgoing.messages.fresh()?;
        Some((message, outgoing.place, outgoing.to, outgoing.patience))
    });
    let Some((message, place, to, patience)) = next.ok().flatten() else {
        return false;
    };
    if message.is_end() {
        OVER.fetch_or(1 << number, Relaxed);
        return true;
    }
    OVER.fetch_and(!(1 << number), Relaxed);
    if device::write(message.data, to, patience) {
        exit_records::record(&place, &message, None);
    } else {
        lost(number);
    }
    true
}
