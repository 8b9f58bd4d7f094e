//! Run-time pipes: solved here, admitted, and started beside the others
//!
//! The planner is the thread with the lowest priority. It runs on a VCPU that gets the time no
//! other thread uses, so it delays none of them however long it solves, and whenever it changes
//! something, every other thread is idle or out of budget. It executes one command after the other,
//! as the recorder passes them on.
//!
//! Nothing changes before the planner has reserved everything: free stages and buffers (or those of
//! the pipe to be replaced), the requirements of all other pipes, and time on the cores, scheduling
//! overhead included. Then the replaced pipe ends in order, as by `pipe stop`. Its stages and
//! buffers are released. Once all messages that left it are recorded, the stages of the new pipe
//! get their budgets, buffers and plans, and begin at one tick.

mod cores;
mod deployment;
mod remote;
mod removal;
mod server;
mod sources;
mod stages;

use crate::remote_partition::{self, PeerChannel, PeerChannels, RemotePartitions};
use crate::runtime::{CORE, Failure, say};
use crate::stage::Common;
use crate::table::{self, Entry as Pipe, PIPES};
use crate::{client_pipes, memory, recorder, vcpu_pool};
use bulkhead_abi::name_field;
use bulkhead_abi::repository::{Head, MAX_FLOW, MAX_LINE};
use bulkhead_abi::trace::{Event, EventKind};
use bulkhead_component::clock::ticks;
use bulkhead_component::first::Timing;
use bulkhead_component::stack::Stack;
use bulkhead_component::{Environment, First, clock};
use bulkhead_flows::catalogue::PipeCatalogue;
use bulkhead_flows::command::{self, Command};
use bulkhead_flows::pipe_admission::Guarantee;
use bulkhead_guest::Home;
use bulkhead_sched::NEVER;
use bulkhead_sched::policy::{Binding, ServerId};
use bulkhead_slite::Mutex;
use bulkhead_stages::request::{PATHS, PathGuarantee};
use bulkhead_stages::stacks;
use bulkhead_tpipe::language::{Flow, MILLION};
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicBool, AtomicU64};
use deployment::{Change, announce_guarantees};
use removal::Removal;
use server::Server;

/// The command to be executed.
struct Line {
    bytes: [u8; MAX_LINE],
    length: usize,
}

static LINE: Mutex<Line> = Mutex::new(Line {
    bytes: [0; MAX_LINE],
    length: 0,
});
/// True if a command is being executed.
static BUSY: AtomicBool = AtomicBool::new(false);
/// True if a remote partition restarted, so that its stages have to be requested again.
static PEER_RESTARTED: AtomicBool = AtomicBool::new(false);
/// The pipe that is being changed, counted from 1; 0: none.
static CHANGED: AtomicU64 = AtomicU64::new(0);
/// Pipes with first stages in other partitions that are started and stopped here, by bit.
static REMOTE_SOURCES: AtomicU64 = AtomicU64::new(0);
/// Pipes of this kind that were stopped while the recorder does not wait for their end yet, and the
/// tick of the stop.
static STOPPING: AtomicU64 = AtomicU64::new(0);
static STOPPED_SINCE: AtomicU64 = AtomicU64::new(0);
static THREAD: AtomicU64 = AtomicU64::new(0);
/// Parameters of the planner.
static MEANS: Mutex<Option<Means>> = Mutex::new(None);
static VCPU: Mutex<Option<ServerId>> = Mutex::new(None);
static STACK: Mutex<Option<Stack>> = Mutex::new(None);
/// Guarantees of each pipe that are not recorded yet.
static GUARANTEES: [Mutex<Option<PathGuarantees>>; PIPES] = [const { Mutex::new(None) }; PIPES];
/// Pipes with such guarantees, by bit.
static ANNOUNCE: AtomicU64 = AtomicU64::new(0);

/// Parameters from which plans are made.
#[derive(Clone, Copy)]
struct Means {
    timing: Timing,
    common: Common,
    /// Bytes of all buffers.
    buffers: usize,
    /// Channels to the partitions that run stages for this one.
    places: PeerChannels,
    /// Channel to the partition for which this one runs stages.
    asks: Option<PeerChannel>,
}

/// Creates the VCPU of the planner, on another core than the first that of the thread that executes its commands, if there can
/// be run-time pipes. It has the lowest priority of all VCPUs: a bottom half without stages to work for runs at its priority.
pub(crate) fn make_vcpu(first: &mut First, timing: &Timing) -> Result<(), Failure> {
    if timing.repository.is_some() {
        let vcpu = CORE.create_least(first);
        let vcpu = vcpu.map_err(|refused| Failure::Vcpu("planner", refused))?;
        let _kept = VCPU.with(&CORE.threads, |place| *place = Some(vcpu));
    }
    Ok(())
}

/// The planner's VCPU.
pub(crate) fn least() -> Option<ServerId> {
    VCPU.with(&CORE.threads, |vcpu| *vcpu).ok().flatten()
}

/// Creates the planner if there can be run-time pipes.
pub(crate) fn start(
    first: &mut First,
    env: &Environment,
    timing: &Timing,
    common: Common,
) -> Result<(), Failure> {
    let Some(repository) = timing.repository else {
        return Ok(());
    };
    memory::open_common(timing);
    let static_bytes = memory::Lines::now().taken(|_| true);
    let means = Means {
        timing: *timing,
        common,
        buffers: static_bytes + repository.head.spare_bytes as usize,
        places: remote_partition::open_channels(env, &repository),
        asks: client_pipes::channel(env, &repository),
    };
    let _kept = MEANS.with(&CORE.threads, |place| *place = Some(means));
    let vcpu = least().ok_or(Failure::named("planner", "it has no VCPU"))?;
    first.set_stack_pages(Some(stacks::PLANNER));
    let index = CORE.threads.spawn(first, plan, Binding::main(vcpu))?;
    first.set_stack_pages(None);
    let stack = first.last_stack();
    let _kept = STACK.with(&CORE.threads, |place| *place = Some(stack));
    THREAD.store(index, Relaxed);
    Ok(())
}

/// Returns whether the planner executes a command.
pub(crate) fn is_busy() -> bool {
    BUSY.load(Acquire)
}

/// Index of the planner's thread; 0: there is none.
pub(crate) fn thread() -> u64 {
    THREAD.load(Relaxed)
}

/// Passes a command to the planner, which is idle ([`is_busy`]).
pub(crate) fn leave(line: &[u8]) {
    let _kept = LINE.with(&CORE.threads, |place| {
        place.length = line.len();
        for (place, byte) in place.bytes.iter_mut().zip(line) {
            *place = *byte;
        }
    });
    BUSY.store(true, Release);
    CORE.threads.wakeup(THREAD.load(Relaxed));
}

/// Wakes the planner if a partition that runs stages for this one has restarted.
pub(crate) fn look_after_others() {
    let restarted = MEANS.with(&CORE.threads, |means| {
        let places = means.as_ref().map(|means| &means.places);
        places.is_some_and(remote_partition::has_any_restarted)
    });
    if restarted.unwrap_or(false) && !PEER_RESTARTED.swap(true, Relaxed) {
        CORE.threads.wakeup(THREAD.load(Relaxed));
    }
}

/// Returns whether the planner is changing that pipe.
pub(crate) fn changes(pipe: usize) -> bool {
    CHANGED.load(Relaxed) == pipe as u64 + 1
}

/// Returns whether the planner starts and stops a pipe because another partition has first stages
/// of it.
pub(crate) fn has_remote_sources(pipe: usize) -> bool {
    REMOTE_SOURCES.load(Relaxed) >> pipe & 1 != 0
}

/// Takes the pipes that the planner stopped, by bit, and the tick of the stop. From now on the
/// caller waits for their end.
pub(crate) fn stopping() -> (u64, u64) {
    let pipes = STOPPING.swap(0, Acquire);
    (pipes, STOPPED_SINCE.load(Relaxed))
}

/// Returns whether guarantees of any pipe are not recorded yet.
pub(crate) fn has_guarantees() -> bool {
    ANNOUNCE.load(Relaxed) != 0
}

/// Returns whether guarantees of a pipe are not recorded yet.
pub(crate) fn is_promised(pipe: usize) -> bool {
    ANNOUNCE.load(Acquire) >> pipe & 1 != 0
}

/// Records the guarantees of a pipe. Called by the recorder.
pub(crate) fn announce(number: usize, pipe: &Pipe) {
    let Some(place) = GUARANTEES.get(number) else {
        return;
    };
    ANNOUNCE.fetch_and(!(1 << number), Relaxed);
    let _told = place.with(&CORE.threads, |place| {
        if let Some(guarantee) = place.take() {
            record(pipe, &guarantee);
        }
    });
}

/// Guarantees of the paths of a pipe.
#[derive(Clone, Copy)]
struct PathGuarantees {
    paths: [PathGuarantee; PATHS],
    count: usize,
}

impl PathGuarantees {
    fn new(all: impl Iterator<Item = PathGuarantee>) -> Self {
        let mut guarantees = Self {
            paths: [PathGuarantee::NOTHING; PATHS],
            count: 0,
        };
        for (place, one) in guarantees.paths.iter_mut().zip(all) {
            *place = one;
            guarantees.count += 1;
        }
        guarantees
    }

    fn of(guarantee: &Guarantee) -> Self {
        let [lost, rate] = figures(guarantee);
        Self::new(guarantee.paths().iter().map(|path| PathGuarantee {
            head: path.head as u32,
            tail: path.tail as u32,
            bound_ns: path.bound,
            lost: lost as u32,
            reserved: 0,
            rate,
        }))
    }

    fn paths(&self) -> impl Iterator<Item = PathGuarantee> + '_ {
        self.paths.iter().take(self.count).copied()
    }
}

/// Maximum loss in messages per million, and required throughput in messages per million seconds,
/// or 0.
fn figures(guarantee: &Guarantee) -> [u64; 2] {
    let lost = (u128::from(guarantee.loss.0) * u128::from(MILLION)) >> 40;
    let lost = (lost as u32).saturating_add(u32::from(guarantee.loss.0 != 0));
    let rate = guarantee
        .required
        .map_or(0, |required| match required.flow {
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
        Environment::record(&event);
        // The guarantee is that of the description.
        if path.bound_ns == 0 {
            continue;
        }
        for (sequence, place) in (0..).zip([path.head, path.tail]) {
            let stage = pipe.stages().nth(place as usize);
            Environment::record(&Event {
                kind: EventKind::PathEnd as u32,
                sequence,
                a: path.rate,
                name: stage.map_or(name_field("?"), |(_, stage)| stage.function),
                ..event
            });
        }
    }
}

/// Prints the free resources.
pub(crate) fn show_room(timing: &Timing, head: &Head) {
    let buffers = MEANS.with(&CORE.threads, |means| {
        means.map_or(0, |means| means.buffers)
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
    let recorder = recorder::stack().map_or([0; 2], |stack| [stack.used(), stack.bytes()]);
    say!(
        "stacks: planner {used} of {given} bytes, stages up to {most} of {each}, recorder {} of {}",
        recorder[0],
        recorder[1]
    );
}

/// The flow of a run-time pipe.
#[derive(Clone, Copy)]
struct Text {
    bytes: [u8; MAX_FLOW],
    length: usize,
}

/// State of the planner.
struct Planner {
    timing: Timing,
    common: Common,
    buffers: usize,
    catalogue: PipeCatalogue<'static>,
    /// Partitions that run stages for this one, and their state.
    places: PeerChannels,
    others: RemotePartitions,
    /// The server for the client partition's requests.
    server: Option<Server>,
    /// Number by which remote partitions identify each pipe.
    ids: [u64; PIPES],
    /// Tick at which each pipe with remote first stages was stopped; 0: it runs.
    stops: [u64; PIPES],
    /// Static pipes that were removed, and the partitions that have to remove them, too.
    removals: [Removal; PIPES],
    /// Flow of each run-time pipe.
    texts: [Option<Text>; PIPES],
    /// Number of pipes that ever existed.
    pipes: u32,
}

extern "C" fn plan(_: u64) -> ! {
    let means = MEANS.with(&CORE.threads, |means| *means).ok().flatten();
    let made =
        means.and_then(|means| Some((means, PipeCatalogue::of(means.timing.repository?).ok()?)));
    let Some((means, catalogue)) = made else {
        say!("no flow can be typed: what pipes are made of was packed by another tool");
        CORE.threads.exit()
    };
    let mut planner = Planner {
        timing: means.timing,
        common: means.common,
        buffers: means.buffers,
        catalogue,
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
                // A command that arrived in the meantime ended an earlier wait of the planner, and
                // sends no second wake-up.
                continue;
            }
            planner.serve();
            // Client partitions place requests in memory, without a notification.
            CORE.threads.block(match planner.server {
                Some(_) => clock::now() + ticks(recorder::PAUSE_NS),
                None => NEVER,
            });
        }
        let line = LINE.with(&CORE.threads, |line| (line.bytes, line.length));
        let (bytes, length) = line.unwrap_or(([0; MAX_LINE], 0));
        // The next command must not find the pipe in the state of this one.
        planner.request_again();
        planner.obey(bytes.get(..length).unwrap_or_default());
        CHANGED.store(0, Relaxed);
        BUSY.store(false, Release);
    }
}

impl Planner {
    fn obey(&mut self, line: &[u8]) {
        match command::parse(line) {
            Ok(Command::Add(entered) | Command::Replace(entered)) if self.server.is_some() => say!(
                "pipe {0} is not started: {1} types the flows that have stages here: type it there",
                entered.name,
                self.client_name()
            ),
            Ok(Command::Add(entered)) => match table::find(entered.name) {
                Some(_) => say!(
                    "there is a pipe {0} already; `pipe replace {0} FLOW` puts another in its place",
                    entered.name
                ),
                None => self.change(&Change { entered, old: None }, line),
            },
            Ok(Command::Replace(entered)) => {
                if let Some(old) = self.removable(entered.name) {
                    self.change(
                        &Change {
                            entered,
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

    /// Finds a pipe that can be removed. From now on only the planner changes it.
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

    /// The flow of a pipe.
    fn flow(&self, pipe: usize) -> &str {
        match self.texts.get(pipe) {
            Some(Some(text)) => {
                let bytes = text.bytes.get(..text.length).unwrap_or_default();
                core::str::from_utf8(bytes).unwrap_or_default()
            }
            _ => self.catalogue.packed().flow(pipe).unwrap_or_default(),
        }
    }
}
