//! The CAN controller as a device pipe
//!
//! The bottom half is a thread on the I/O VCPU, at the priority of the first that it works for. It puts what
//! came into a queue of each stage that reads it: with an identifier, the frames that have that one. Who writes does so
//! on the stage's own budget. Where a Main VCPU scatters or gathers for an endpoint, it stands between ([`share`]).

use crate::stage::{self, STAGES};
use crate::{CORE, Failure, share};
use bulkhead_abi::can::Frame;
use bulkhead_abi::kernel::{Operation, first};
use bulkhead_abi::name_text;
use bulkhead_abi::pipe::{ANY, NONE, Stage};
use bulkhead_can_port::{Counters, Port, Queue, SETTINGS, Sent};
use bulkhead_component::call::call;
use bulkhead_component::first::Timing;
use bulkhead_component::{First, Own, clock, println};
use bulkhead_sched::policy::{Binding, ServerId};
use bulkhead_slite::Mutex;
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicU16, AtomicU64};

static PORT: Port = Port::new();
/// Who sends: a stage that is cut while it writes the controller goes on at the expense of who waits for it.
static SENDER: Mutex<()> = Mutex::new(());
/// By number of the stage that reads.
static QUEUES: [Queue; STAGES] = [const { Queue::new() }; STAGES];
/// Stages that read, by bit.
static READERS: AtomicU64 = AtomicU64::new(0);
/// What they read, by number.
static IDENTIFIERS: [AtomicU16; STAGES] = [const { AtomicU16::new(ANY) }; STAGES];
/// Capability by which the bottom half waits, and the interrupt.
static LINE: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];
/// Overruns, malformed frames, times off the bus.
static WRONG: [AtomicU64; 3] = [const { AtomicU64::new(0) }; 3];

/// Opens the controller and starts its bottom half, if a stage reads or writes there.
pub(crate) fn start(
    first: &mut First,
    own: &Own,
    timing: &Timing,
    servers: &[ServerId],
) -> Result<(), Failure> {
    let mut users = timing.stages.iter().filter(|one| reads(one) || writes(one));
    if users.clone().next().is_none() {
        return Ok(());
    }
    let function = own
        .function()
        .ok_or(Failure::named("can", "the component drives no controller"))?;
    let opened = PORT.open(function);
    opened.map_err(|_| Failure::named("can", "no controller answers"))?;
    println!("can: on the bus at {} bit/s", SETTINGS.bits_per_s);
    let stages = timing.stages.iter().enumerate();
    for (number, stage) in stages.filter(|(_, stage)| reads(stage) || writes(stage)) {
        share::open(first, servers, number, stage)?;
        if !reads(stage) {
            continue;
        }
        if stage.scatter[0] == NONE {
            READERS.fetch_or(1 << number, Relaxed);
        }
        IDENTIFIERS[number % STAGES].store(stage.identifiers[0], Relaxed);
        QUEUES[number % STAGES].open();
    }
    let served = users.find(|stage| stage.io != NONE);
    let served = served.ok_or(Failure::named("can", "its endpoints have no I/O VCPU"))?;
    let server = |number: u32| servers.get(number as usize).copied();
    let mut shares = served.scatter.into_iter().filter(|vcpu| *vcpu != NONE);
    let cause = shares.next().unwrap_or(served.vcpu);
    let (Some(vcpu), Some(cause)) = (server(served.io), server(cause)) else {
        return Err(Failure::named("can", "it has no I/O VCPU"));
    };
    let index = CORE.threads.spawn(first, serve, Binding { vcpu, cause })?;
    let [receive, send] = CORE.threads.end_point(first, index)?;
    let intid = function.intid.into();
    LINE[0].store(receive, Relaxed);
    LINE[1].store(intid, Relaxed);
    call(first::INTERRUPT, Operation::Listen, [intid, send])?;
    Ok(())
}

fn reads(stage: &Stage) -> bool {
    stage.is_here() && stage.from == 0 && !matches!(name_text(&stage.source), "" | "timer")
}

fn writes(stage: &Stage) -> bool {
    stage.is_here() && !matches!(name_text(&stage.sink), "" | "trace" | "null")
}

/// Whether a frame is one of those with this identifier.
pub(crate) fn is_for(identifier: &AtomicU16, frame: &Frame) -> bool {
    let wanted = identifier.load(Relaxed);
    wanted == ANY || !frame.extended && frame.id == u32::from(wanted)
}

/// Hands a frame to a stage that reads it.
pub(crate) fn give(number: usize, frame: &Frame, at: u64) {
    if QUEUES[number % STAGES].put(frame, at) {
        stage::shared(number).feed(at);
    } else {
        stage::shared(number).dropped.fetch_add(1, Relaxed);
    }
}

/// The bottom half.
extern "C" fn serve(_: u64) -> ! {
    let [receive, intid] = LINE.each_ref().map(|word| word.load(Relaxed));
    let mut known = Counters::default();
    loop {
        PORT.serve(&mut known, |frame, at| {
            let readers = READERS.load(Relaxed);
            let here = (0..STAGES).filter(|number| readers >> number & 1 != 0);
            for number in here.filter(|&number| is_for(&IDENTIFIERS[number], frame)) {
                give(number, frame, at);
            }
            share::take(frame, at);
        });
        let counts = [known.overruns, known.malformed, known.bus_offs];
        for (place, count) in WRONG.iter().zip(counts) {
            place.store(count.into(), Relaxed);
        }
        // Refused where none is held: nothing was raised yet.
        let _held = call(first::INTERRUPT, Operation::Complete, [intid]);
        let _merged = CORE.threads.wait_notified(receive);
    }
}

/// Says what went wrong, if anything did.
pub(crate) fn tell() {
    let [overruns, malformed, bus_offs] = WRONG.each_ref().map(|count| count.load(Relaxed));
    if overruns + malformed + bus_offs > 0 {
        println!("can: overruns={overruns} malformed={malformed} bus-offs={bus_offs}");
    }
}

/// When the oldest frame came that waits for a stage.
pub(crate) fn waiting(number: usize) -> Option<u64> {
    QUEUES[number % STAGES].oldest().map(|(_, at)| at)
}

/// The oldest frame that waits for a stage, and when it came.
pub(crate) fn read(number: usize) -> Option<([u64; 2], u64)> {
    let queue = &QUEUES[number % STAGES];
    let oldest = queue.oldest();
    queue.take();
    oldest
}

/// Sends a frame, of the identifier if one is given; `false` where the bus was not free, or the controller not on it, for
/// so many ticks.
pub(crate) fn write(words: [u64; 2], identifier: u16, patience: u64) -> bool {
    let frame = match identifier {
        ANY => Frame::of(words),
        given => Some(Frame::new(given, &words[1].to_le_bytes())),
    };
    let Some(frame) = frame else {
        return false;
    };
    let until = clock::now() + patience;
    loop {
        match SENDER.with(&CORE.threads, |()| PORT.send(&frame)) {
            Ok(Sent::Now) => return true,
            Ok(Sent::From(tick)) if tick <= until => CORE.threads.sleep_until(tick),
            Ok(Sent::From(_) | Sent::Off) | Err(_) => return false,
        }
    }
}
