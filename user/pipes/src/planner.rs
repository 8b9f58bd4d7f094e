//! Pipes that are typed: solved here, admitted, and started beside the others
//!
//! The planner is a thread less important than all others, on a VCPU that has what they leave: however long it solves, it delays nobody, and what it
//! changes it changes while nobody else has both work and budget. It obeys one line after the other, which the recorder leaves to it.
//!
//! Nothing is touched before it is certain that all of it fits: stages and buffers that are free or of the pipe that goes, the requirements of all other pipes, and the
//! core with every decision counted. Then a pipe that goes ends in order, as by `pipe stop`; its stages forget it, its buffers are nobody's, and once everything that left it is
//! recorded the new one's stages get their budgets, buffers and plans, and begin at one tick.

mod cores;
mod deployment;
mod remote;
mod removal;
mod server;
mod sources;
mod stages;

use crate::remote_partition::{self, PeerChannel, PeerChannels, RemotePartitions};
use crate::stage::Common;
use crate::table::{self, Entry as Pipe, PIPES};
use crate::{CORE, Failure, client_pipes, memory, say, vcpu_pool, watch};
use bulkhead_abi::name_field;
use bulkhead_abi::repository::{Head, MAX_FLOW, MAX_LINE};
use bulkhead_abi::trace::{Event, EventKind};
use bulkhead_component::clock::ticks;
use bulkhead_component::first::Timing;
use bulkhead_component::stack::Stack;
use bulkhead_component::{First, Own, clock};
use bulkhead_flows::command::{self, Command};
use bulkhead_flows::known::Known;
use bulkhead_flows::propose::Promise;
use bulkhead_guest::Home;
use bulkhead_sched::NEVER;
use bulkhead_sched::policy::{Binding, ServerId};
use bulkhead_slite::Mutex;
use bulkhead_stages::request::{PATHS, Promised};
use bulkhead_tpipe::language::{Flow, MILLION};
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicBool, AtomicU64};
use deployment::{Change, promise};
use removal::Removal;
use server::Server;

/// Pages of its stack, of which about 245 KiB were used at most: what is solved and judged lies there in arrays, as large for small flows as for large ones.
const STACK_PAGES: u64 = 76;

/// The line to be obeyed.
struct Line {
    bytes: [u8; MAX_LINE],
    length: usize,
}

static LINE: Mutex<Line> = Mutex::new(Line {
    bytes: [0; MAX_LINE],
    length: 0,
});
/// It is being obeyed.
static BUSY: AtomicBool = AtomicBool::new(false);
/// Who runs stages for this partition has to be asked again.
static PEER_RESTARTED: AtomicBool = AtomicBool::new(false);
/// The pipe that is being changed, counted from 1; 0: none.
static CHANGED: AtomicU64 = AtomicU64::new(0);
/// Pipes that are started and stopped here and begin in another partition, or there as well, by bit.
static REMOTE_SOURCES: AtomicU64 = AtomicU64::new(0);
/// Those of them that were stopped and of which nobody looks yet whether they rest, and since when.
static STOPPING: AtomicU64 = AtomicU64::new(0);
static STOPPED_SINCE: AtomicU64 = AtomicU64::new(0);
static THREAD: AtomicU64 = AtomicU64::new(0);
/// What it knows.
static MEANS: Mutex<Option<Means>> = Mutex::new(None);
static VCPU: Mutex<Option<ServerId>> = Mutex::new(None);
static STACK: Mutex<Option<Stack>> = Mutex::new(None);
/// What is promised of each pipe and was not announced yet.
static GUARANTEES: [Mutex<Option<PathGuarantees>>; PIPES] = [const { Mutex::new(None) }; PIPES];
/// Those, by bit.
static ANNOUNCE: AtomicU64 = AtomicU64::new(0);

/// What plans are made with.
#[derive(Clone, Copy)]
struct Means {
    timing: Timing,
    common: Common,
    /// Bytes of all buffers that there may be.
    buffers: usize,
    /// Partitions that run stages for this one.
    places: PeerChannels,
    /// The one for which this one runs stages.
    asks: Option<PeerChannel>,
}

/// Makes the planner's VCPU, where flows can be typed. It is the least important of all: who works for nobody works for it.
pub(crate) fn make_vcpu(first: &mut First, timing: &Timing) -> Result<(), Failure> {
    if timing.repository.is_some() {
        let vcpu = CORE.create_least(first);
        let vcpu = vcpu.map_err(|refused| Failure::Vcpu("planner", refused))?;
        let _kept = VCPU.with(&CORE.threads, |place| *place = Some(vcpu));
    }
    Ok(())
}

/// Its VCPU.
pub(crate) fn least() -> Option<ServerId> {
    VCPU.with(&CORE.threads, |vcpu| *vcpu).ok().flatten()
}

/// Makes the planner, where flows can be typed.
pub(crate) fn start(
    first: &mut First,
    own: &Own,
    timing: &Timing,
    common: Common,
) -> Result<(), Failure> {
    let Some(repository) = timing.repository else {
        return Ok(());
    };
    memory::open_common(timing);
    let described = memory::Lines::now().taken(|_| true);
    let means = Means {
        timing: *timing,
        common,
        buffers: described + repository.head.spare_bytes as usize,
        places: remote_partition::open_channels(own, &repository),
        asks: client_pipes::channel(own, &repository),
    };
    let _kept = MEANS.with(&CORE.threads, |place| *place = Some(means));
    let vcpu = least().ok_or(Failure::named("planner", "it has no VCPU"))?;
    first.set_stack_pages(Some(STACK_PAGES));
    let index = CORE.threads.spawn(first, plan, Binding::main(vcpu))?;
    first.set_stack_pages(None);
    let stack = first.last_stack();
    let _kept = STACK.with(&CORE.threads, |place| *place = Some(stack));
    THREAD.store(index, Relaxed);
    Ok(())
}

/// Leaves it a line, unless it has one.
pub(crate) fn leave(line: &[u8]) -> bool {
    if BUSY.swap(true, Acquire) {
        return false;
    }
    let _kept = LINE.with(&CORE.threads, |place| {
        place.length = line.len();
        for (place, byte) in place.bytes.iter_mut().zip(line) {
            *place = *byte;
        }
    });
    CORE.threads.wakeup(THREAD.load(Relaxed));
    true
}

/// Has it look after who runs stages for this partition, where one started anew.
pub(crate) fn look_after_others() {
    let restarted = MEANS.with(&CORE.threads, |known| {
        let places = known.as_ref().map(|known| &known.places);
        places.is_some_and(remote_partition::has_any_restarted)
    });
    if restarted.unwrap_or(false) && !PEER_RESTARTED.swap(true, Relaxed) {
        CORE.threads.wakeup(THREAD.load(Relaxed));
    }
}

/// Whether it changes that pipe.
pub(crate) fn changes(pipe: usize) -> bool {
    CHANGED.load(Relaxed) == pipe as u64 + 1
}

/// Whether it is the planner that starts and stops a pipe, since another partition has its first stages.
pub(crate) fn has_remote_sources(pipe: usize) -> bool {
    REMOTE_SOURCES.load(Relaxed) >> pipe & 1 != 0
}

/// Pipes that it stopped, by bit, and since when: from now on who asks looks after them.
pub(crate) fn stopping() -> (u64, u64) {
    let pipes = STOPPING.swap(0, Acquire);
    (pipes, STOPPED_SINCE.load(Relaxed))
}

/// Whether something is promised that was not announced yet.
pub(crate) fn promises() -> bool {
    ANNOUNCE.load(Relaxed) != 0
}

/// Whether something is promised of a pipe that was not announced yet.
pub(crate) fn is_promised(pipe: usize) -> bool {
    ANNOUNCE.load(Acquire) >> pipe & 1 != 0
}

/// Records what is promised of a pipe; by who records.
pub(crate) fn announce(number: usize, pipe: &Pipe) {
    let Some(place) = GUARANTEES.get(number) else {
        return;
    };
    ANNOUNCE.fetch_and(!(1 << number), Relaxed);
    let _told = place.with(&CORE.threads, |place| {
        if let Some(promise) = place.take() {
            record(pipe, &promise);
        }
    });
}

/// What is promised of the paths of a pipe.
#[derive(Clone, Copy)]
struct PathGuarantees {
    paths: [Promised; PATHS],
    count: usize,
}

impl PathGuarantees {
    fn new(all: impl Iterator<Item = Promised>) -> Self {
        let mut guarantees = Self {
            paths: [Promised::NOTHING; PATHS],
            count: 0,
        };
        for (place, one) in guarantees.paths.iter_mut().zip(all) {
            *place = one;
            guarantees.count += 1;
        }
        guarantees
    }

    fn of(promise: &Promise) -> Self {
        let [lost, rate] = figures(promise);
        Self::new(promise.paths().iter().map(|path| Promised {
            head: path.head as u32,
            tail: path.tail as u32,
            bound_ns: path.bound,
            lost: lost as u32,
            reserved: 0,
            rate,
        }))
    }

    fn paths(&self) -> impl Iterator<Item = Promised> + '_ {
        self.paths.iter().take(self.count).copied()
    }
}

/// Messages of a million that are lost at most, and messages in a million seconds that are required, if any are.
fn figures(promise: &Promise) -> [u64; 2] {
    let lost = (u128::from(promise.loss.0) * u128::from(MILLION)) >> 40;
    let lost = (lost as u32).saturating_add(u32::from(promise.loss.0 != 0));
    let rate = promise.required.map_or(0, |required| match required.flow {
        Flow::Throughput(rate) => rate.0,
        Flow::Loss(_) => 0,
    });
    [lost.into(), rate]
}

fn record(pipe: &Pipe, guarantees: &PathGuarantees) {
    for path in guarantees.paths() {
        let event = Event {
            ticks: clock::now(),
            kind: EventKind::Promised as u32,
            sequence: path.lost,
            a: path.bound_ns,
            b: u64::from(path.head) | u64::from(path.tail) << 8,
            name: pipe.pipe.name,
        };
        Own::record(&event);
        // As it is described.
        if path.bound_ns == 0 {
            continue;
        }
        for (sequence, place) in (0..).zip([path.head, path.tail]) {
            let stage = pipe.stages().nth(place as usize);
            Own::record(&Event {
                kind: EventKind::PathEnd as u32,
                sequence,
                a: path.rate,
                name: stage.map_or(name_field("?"), |(_, stage)| stage.function),
                ..event
            });
        }
    }
}

/// Says what room there is.
pub(crate) fn show_room(timing: &Timing, head: &Head) {
    let buffers = MEANS.with(&CORE.threads, |known| {
        known.map_or(0, |known| known.buffers)
    });
    let taken = memory::Lines::now().taken(|_| true);
    say!(
        "free: {} stages, {} bytes of buffers; {} stages and {} bytes were spare",
        vcpu_pool::free_anywhere(timing, None).count(),
        buffers.unwrap_or(0).saturating_sub(taken),
        head.spare_stages,
        head.spare_bytes
    );
    cores::show_room(timing);
    let stack = STACK.with(&CORE.threads, |stack| *stack).ok().flatten();
    let [used, given] = stack.map_or([0; 2], |stack| [stack.used(), stack.bytes()]);
    let [most, each] = vcpu_pool::stacks();
    let recorder = watch::stack().map_or([0; 2], |stack| [stack.used(), stack.bytes()]);
    say!(
        "stacks: planner {used} of {given} bytes, stages up to {most} of {each}, recorder {} of {}",
        recorder[0],
        recorder[1]
    );
}

/// What was typed as a flow.
#[derive(Clone, Copy)]
struct Text {
    bytes: [u8; MAX_FLOW],
    length: usize,
}

/// The planner's own.
struct Planner {
    timing: Timing,
    common: Common,
    buffers: usize,
    known: Known<'static>,
    /// Partitions that run stages for this one, and what is known of them.
    places: PeerChannels,
    others: RemotePartitions,
    /// Who asks for stages here.
    server: Option<Server>,
    /// By which they know those of each pipe.
    ids: [u64; PIPES],
    /// When those were stopped last that begin in other partitions; 0: they run.
    stops: [u64; PIPES],
    /// Described pipes that were removed, which others are not to run either.
    removals: [Removal; PIPES],
    /// Of each pipe that was typed.
    texts: [Option<Text>; PIPES],
    /// Pipes that there were.
    pipes: u32,
}

extern "C" fn plan(_: u64) -> ! {
    let means = MEANS.with(&CORE.threads, |means| *means).ok().flatten();
    let made = means.and_then(|means| Some((means, Known::of(means.timing.repository?).ok()?)));
    let Some((means, known)) = made else {
        say!("no flow can be typed: what pipes are made of was packed by another tool");
        CORE.threads.exit()
    };
    let mut planner = Planner {
        timing: means.timing,
        common: means.common,
        buffers: means.buffers,
        known,
        places: means.places,
        others: RemotePartitions::new(&means.places),
        server: means.asks.and_then(Server::new),
        ids: [0; PIPES],
        stops: [0; PIPES],
        removals: [Removal::NONE; PIPES],
        texts: [None; PIPES],
        pipes: PIPES as u32,
    };
    planner.find_sources();
    loop {
        while !BUSY.load(Acquire) {
            if PEER_RESTARTED.swap(false, Relaxed) {
                planner.request_again();
                // A line that was left meanwhile woke it from its waits there, and does not again.
                continue;
            }
            planner.serve();
            // Who asks for stages leaves a request in memory, and rings for nobody.
            CORE.threads.block(match planner.server {
                Some(_) => clock::now() + ticks(watch::PAUSE_NS),
                None => NEVER,
            });
        }
        let line = LINE.with(&CORE.threads, |line| (line.bytes, line.length));
        let (bytes, length) = line.unwrap_or(([0; MAX_LINE], 0));
        // Whoever is asked next is asked as it was before, or not at all.
        planner.request_again();
        planner.obey(bytes.get(..length).unwrap_or_default());
        CHANGED.store(0, Relaxed);
        BUSY.store(false, Release);
    }
}

impl Planner {
    fn obey(&mut self, line: &[u8]) {
        match command::parse(line) {
            Ok(Command::Add(typed) | Command::Replace(typed)) if self.server.is_some() => say!(
                "pipe {0} is not started: {1} types the flows that have stages here: type it there",
                typed.name,
                self.client_name()
            ),
            Ok(Command::Add(typed)) => match table::find(typed.name) {
                Some(_) => say!(
                    "there is a pipe {0} already; `pipe replace {0} FLOW` puts another in its place",
                    typed.name
                ),
                None => self.change(&Change { typed, old: None }, line),
            },
            Ok(Command::Replace(typed)) => {
                if let Some(old) = self.removable(typed.name) {
                    self.change(
                        &Change {
                            typed,
                            old: Some(old),
                        },
                        line,
                    );
                }
            }
            Ok(Command::Remove(name)) => {
                if let Some((number, pipe)) = self.removable(name)
                    && self.end(number, &pipe)
                {
                    say!("pipe {name} is no more");
                }
            }
            Ok(Command::Stop(name)) => self.stop_remote(name),
            Ok(Command::Start(name)) => self.start_remote(name),
            // The recorder has read it.
            _ => {}
        }
    }

    /// A pipe that can go, which nobody else changes from now on.
    fn removable(&self, name: &str) -> Option<(usize, Pipe)> {
        let Some((number, pipe)) = table::find(name) else {
            say!("there is no pipe {name}; `pipe list` tells all");
            return None;
        };
        if client_pipes::is_requested(number) {
            say!(
                "pipe {name} was typed in {0}: remove it there",
                self.client_name()
            );
            return None;
        }
        if let Some(removal_refusal) = self.removal_refusal(number, &pipe) {
            say!("pipe {name} stays: {removal_refusal}");
            return None;
        }
        CHANGED.store(number as u64 + 1, Relaxed);
        Some((number, pipe))
    }

    /// The flow of a pipe that there is.
    fn flow(&self, pipe: usize) -> &str {
        match self.texts.get(pipe) {
            Some(Some(text)) => {
                let bytes = text.bytes.get(..text.length).unwrap_or_default();
                core::str::from_utf8(bytes).unwrap_or_default()
            }
            _ => self.known.packed().flow(pipe).unwrap_or_default(),
        }
    }
}
