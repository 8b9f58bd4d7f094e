//! The recorder: records messages that left the pipes, reports once a second, and compares delays
//! with the bounds
//!
//! Each last stage writes records into a queue of its own ([`crate::exit_records`]). The recorder, a
//! thread on the least important VCPU of the first core, empties the queues, so that no stage waits
//! for another one. A delay above the bound is an event of its own. Other cores have no recorder.

use crate::control::{self, Shell};
use crate::exit_records::{self, ExitRecord};
use crate::runtime::{CORE, Failure, SUPERVISOR, give_up, say};
use crate::stage::{self, STAGES};
use crate::table::{self, Entry as Pipe, PIPES};
use crate::{device, planner, profile, shared_state};
use bulkhead_abi::repository::RECORDER_NS;
use bulkhead_abi::trace::{Event, EventKind, PORT};
use bulkhead_abi::{name_text, repository};
use bulkhead_component::clock::{self, ticks};
use bulkhead_component::first::Timing;
use bulkhead_component::load::nanoseconds;
use bulkhead_component::stack::Stack;
use bulkhead_component::{Environment, First};
use bulkhead_guest::Home;
use bulkhead_sched::policy::{Binding, ServerId};
use bulkhead_slite::Mutex;
use bulkhead_stages::message::Entry;
use bulkhead_stages::stacks;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

/// Interval at which the recorder polls the queues, nanoseconds.
pub(crate) const PAUSE_NS: u64 = repository::PAUSE_NS;
/// Maximum number of paths, of all pipes, in the report.
const PATHS: usize = 16;

static TIMING: Mutex<Timing> = Mutex::new(Timing::NOTHING);
/// The recorder's stack.
static STACK: Mutex<Option<Stack>> = Mutex::new(None);

pub(crate) use crate::exit_records::is_drained;

/// Statistics of a path of a pipe.
#[derive(Clone, Copy, Default)]
struct Path {
    pipe: usize,
    number: u64,
    count: u64,
    least: u64,
    most: u64,
    sum: u64,
    last: u64,
    lost: u64,
}

/// Creates the recorder on its VCPU, which the host tool adds to those of the description; without
/// functions, on the time that others leave.
pub(crate) fn start(
    first: &mut First,
    env: &Environment,
    timing: &Timing,
    servers: &[Option<ServerId>],
) -> Result<(), Failure> {
    let mut vcpus = timing.vcpus.iter().zip(servers);
    let found = vcpus.find(|(vcpu, _)| name_text(&vcpu.name) == repository::RECORDER);
    let vcpu = match found.and_then(|(_, server)| *server) {
        Some(vcpu) => vcpu,
        None => {
            let created = CORE.create_least(first);
            created.map_err(|refused| Failure::Vcpu(repository::RECORDER, refused))?
        }
    };
    let _kept = TIMING.with(&CORE.threads, |place| *place = *timing);
    control::open(env);
    first.set_stack_pages(Some(stacks::RECORDER));
    CORE.threads.spawn(first, record, Binding::main(vcpu))?;
    first.set_stack_pages(None);
    let stack = first.last_stack();
    let _kept = STACK.with(&CORE.threads, |place| *place = Some(stack));
    Ok(())
}

/// The recorder's stack.
pub(crate) fn stack() -> Option<Stack> {
    STACK.with(&CORE.threads, |stack| *stack).ok().flatten()
}

/// Messages that left a pipe, over all its paths.
#[derive(Clone, Copy, Default)]
pub(crate) struct Observed {
    pub(crate) count: u64,
    pub(crate) lost: u64,
    /// Longest delay, ticks.
    pub(crate) longest: u64,
}

/// By number of the pipe: the words of [`Observed`] in its order.
static OBSERVED: [[AtomicU64; 3]; PIPES] = [const { [const { AtomicU64::new(0) }; 3] }; PIPES];

/// Returns what left the pipe of that number.
pub(crate) fn observed(pipe: usize) -> Observed {
    let [count, lost, longest] = OBSERVED.get(pipe).map_or([0; 3], |words| {
        [0, 1, 2].map(|word: usize| words[word].load(Relaxed))
    });
    Observed {
        count,
        lost,
        longest,
    }
}

/// State of the recorder.
struct Recorder {
    paths: [Path; PATHS],
    /// Generation of the pipe of each number.
    generations: [u32; PIPES],
    /// Pipes that commands have stopped, by bit.
    stopped: u64,
    /// By stage: jobs that ran the fallback, overruns, early messages and failed jobs, of which events are recorded.
    noted: [[u64; EVENTS]; STAGES],
}

extern "C" fn record(_: u64) -> ! {
    let timing = TIMING.with(&CORE.threads, |timing| *timing);
    let timing = timing.unwrap_or(Timing::NOTHING);
    let mut recorder = Recorder {
        paths: [Path::default(); PATHS],
        generations: [0; PIPES],
        stopped: 0,
        noted: [[0; EVENTS]; STAGES],
    };
    let (pause, second) = (ticks(PAUSE_NS), clock::frequency());
    while !begin(&timing).unwrap_or_else(|failure| give_up(&failure)) {
        CORE.threads.sleep_until(clock::now() + pause);
    }
    let mut shell = Shell::new();
    let mut last_report = clock::now();
    loop {
        CORE.threads.sleep_until(clock::now() + pause);
        profile::note_budgets();
        recorder.look();
        planner::look_after_others();
        shell.poll(&timing);
        if clock::now() >= last_report + second {
            last_report += second;
            recorder.tell();
            profile::tell(timing.stages);
        }
    }
}

/// Lets all stages begin once every core has built its own. Returns whether they did.
fn begin(timing: &Timing) -> Result<bool, Failure> {
    let begins = shared_state::are_built();
    if begins {
        profile::functions_of_components(timing, RECORDER_NS);
        stage::go();
        SUPERVISOR.scheduler_works()?;
    }
    Ok(begins)
}

impl Recorder {
    fn look(&mut self) {
        self.announce();
        for stage in 0..STAGES {
            while let Some(exit) = exit_records::take(stage) {
                self.enter(&exit);
            }
        }
        let before = core::mem::take(&mut self.stopped);
        for (index, pipe) in table::all() {
            note_stages(index, &pipe, &mut self.noted);
            // An overrun stops a pipe, too, but is no command.
            let is_commanded = stage::is_stopped(index) && !stage::is_halted(index);
            let stopped = u64::from(is_commanded) << index;
            if stopped & !before != 0 {
                Environment::record(&Event {
                    ticks: clock::now(),
                    kind: EventKind::Stopped as u32,
                    sequence: 0,
                    a: 0,
                    b: 0,
                    name: pipe.pipe.name,
                });
            }
            self.stopped |= stopped;
        }
    }

    /// Records new guarantees, before any message that left the pipe since.
    fn announce(&mut self) {
        if !planner::has_guarantees() {
            return;
        }
        for (number, pipe) in table::all() {
            if planner::is_promised(number) {
                self.renew(number, &pipe);
                planner::announce(number, &pipe);
            }
        }
    }

    /// Drops the statistics of a former pipe of that number.
    fn renew(&mut self, number: usize, pipe: &Pipe) {
        let Some(generation) = self.generations.get_mut(number) else {
            return;
        };
        if core::mem::replace(generation, pipe.generation) != pipe.generation {
            let paths = self.paths.iter_mut();
            paths
                .filter(|path| path.pipe == number)
                .for_each(|path| *path = Path::default());
            self.publish(number);
        }
    }

    /// Statistics of a path, if there is room for it.
    fn path(&mut self, pipe: usize, number: u64) -> Option<&mut Path> {
        let paths = &mut self.paths;
        let is_it = |path: &Path| path.count != 0 && path.pipe == pipe && path.number == number;
        let place = paths.iter().position(is_it);
        let place = place.or_else(|| paths.iter().position(|path| path.count == 0))?;
        let path = paths.get_mut(place)?;
        (path.pipe, path.number) = (pipe, number);
        Some(path)
    }

    /// Records a message that left, and adds it to the statistics of its paths.
    fn enter(&mut self, exit: &ExitRecord) {
        if planner::is_promised(exit.pipe) {
            self.announce();
        }
        let Some(pipe) = table::get(exit.pipe) else {
            return;
        };
        self.renew(exit.pipe, &pipe);
        let heads = pipe.heads().zip(&exit.entries);
        for (head, entry) in heads.filter(|(_, entry)| entry.number != 0) {
            let number = head as u64 | (exit.tail as u64) << 8;
            trace(&pipe, exit, entry, number);
            let Some(path) = self.path(exit.pipe, number) else {
                continue;
            };
            path.add(entry, exit.at);
            let path = *path;
            self.publish(exit.pipe);
            let delay = exit.at.saturating_sub(entry.at);
            if nanoseconds(delay) > pipe.pipe.bound_ns && delay == path.most {
                say!(
                    "pipe {}: message {} took {} us, above its bound",
                    pipe.name(),
                    entry.number,
                    nanoseconds(delay) / 1000
                );
            }
        }
    }

    /// Adds up the paths of a pipe for those that query it.
    fn publish(&self, pipe: usize) {
        let paths = self.paths.iter().filter(|path| path.pipe == pipe);
        let sum = paths.fold([0; 3], |[count, lost, longest], path: &Path| {
            [
                count + path.count,
                path.lost.saturating_add(lost),
                path.most.max(longest),
            ]
        });
        let words = OBSERVED.get(pipe).into_iter().flatten();
        words
            .zip(sum)
            .for_each(|(word, sum)| word.store(sum, Relaxed));
    }

    fn tell(&mut self) {
        // Messages of a removed pipe are not attributed to its successor.
        for (index, pipe) in table::all() {
            self.renew(index, &pipe);
        }
        for path in self.paths.iter().filter(|path| path.count > 0) {
            if let Some(pipe) = table::get(path.pipe) {
                tell_path(&pipe, path);
            }
        }
        for (index, pipe) in table::all() {
            for number in pipe.numbers() {
                tell_stage(pipe.name(), index, stage::shared(number));
            }
        }
        device::tell();
        let unnoted = exit_records::missing();
        if unnoted > 0 {
            say!("{unnoted} messages left unrecorded");
        }
    }
}

/// Kinds of events of a stage that are counted.
const EVENTS: usize = 4;

/// Records events for stages of a pipe that ran the fallback, overran, or received messages too
/// close together since the last call.
fn note_stages(index: usize, pipe: &Pipe, traced: &mut [[u64; EVENTS]; STAGES]) {
    for (place, number) in pipe.numbers().enumerate() {
        let shared = stage::shared(number);
        let (early, sender, _) = device::early(number);
        let counts = [
            (EventKind::FellBack, shared.fallbacks.load(Relaxed)),
            (EventKind::StageOverran, shared.overruns.load(Relaxed)),
            (EventKind::CameEarly, early),
            (EventKind::JobsFailed, shared.failed.load(Relaxed)),
        ];
        for ((kind, count), traced) in counts.into_iter().zip(&mut traced[number % STAGES]) {
            if core::mem::replace(traced, count) != count {
                Environment::record(&Event {
                    ticks: clock::now(),
                    kind: kind as u32,
                    sequence: count as u32,
                    a: match kind {
                        EventKind::FellBack => shared.oldest.load(Relaxed),
                        EventKind::CameEarly => sender,
                        _ => stage::is_halted(index).into(),
                    },
                    b: place as u64,
                    name: pipe.pipe.name,
                });
            }
        }
    }
}

/// Records that a message left a path.
fn trace(pipe: &Pipe, exit: &ExitRecord, entry: &Entry, number: u64) {
    let event = |kind: EventKind, b| Event {
        ticks: exit.at,
        kind: kind as u32,
        sequence: entry.number as u32,
        a: entry.at,
        b,
        name: pipe.pipe.name,
    };
    Environment::record(&event(EventKind::Delivered, number));
    if let Some([first, second]) = exit.data {
        Environment::record(&Event {
            a: first,
            ..event(EventKind::Mark, second)
        });
    }
}

impl Path {
    fn add(&mut self, entry: &Entry, at: u64) {
        let delay = at.saturating_sub(entry.at);
        self.least = match self.count {
            0 => delay,
            _ => self.least.min(delay),
        };
        self.most = self.most.max(delay);
        // Numbers in a message from another partition are not trusted.
        self.sum = self.sum.saturating_add(delay);
        self.count += 1;
        let next = self.last.saturating_add(1);
        if self.last != 0 && entry.number > next {
            self.lost = self.lost.saturating_add(entry.number - next);
        }
        self.last = self.last.max(entry.number);
    }
}

fn us(ticks: u64) -> u64 {
    nanoseconds(ticks) / 1000
}

fn tell_path(pipe: &Pipe, path: &Path) {
    let bound_ns = pipe.pipe.bound_ns;
    let late = nanoseconds(path.most) > bound_ns;
    say!(
        "pipe {} path {}-{}: {} through, {} lost, {} to {} us, {} on average, bound {} us {}",
        pipe.name(),
        path.number & 0xff,
        path.number >> 8,
        path.count,
        path.lost,
        us(path.least),
        us(path.most),
        us(path.sum / path.count),
        bound_ns / 1000,
        if late { "LATE" } else { "ok" }
    );
}

/// Failures of a stage since the last report.
fn tell_stage(pipe: &str, number: usize, shared: &stage::Shared) {
    let name = shared.name();
    let name = name_text(&name);
    let [overruns, dropped, expiries, fallbacks, oldest] = [
        &shared.overruns,
        &shared.dropped,
        &shared.expiries,
        &shared.fallbacks,
        &shared.oldest,
    ]
    .map(|count| count.load(Relaxed));
    if expiries > 0 {
        say!("pipe {pipe} stage {name}: used up its budget {expiries} times");
    }
    if fallbacks > 0 {
        say!(
            "pipe {pipe} stage {name}: fell back {fallbacks} times, what it reads being up to {} us old",
            us(oldest)
        );
    }
    let (early, sender, distance) = device::early(number);
    if early > 0 {
        let (what, sender) = match sender & PORT {
            0 => ("identifier", sender),
            _ => ("port", sender & !PORT),
        };
        say!(
            "pipe {pipe} stage {name}: {early} messages of {what} {sender:#x} came closer than {} us, dropped",
            us(distance)
        );
    }
    let failed = shared.failed.load(Relaxed);
    if failed > 0 {
        say!("pipe {pipe} stage {name}: {failed} jobs failed in the component of the function");
    }
    if overruns + dropped > 0 {
        let stopped = match stage::is_stopped(number) {
            true => ", stopped",
            false => "",
        };
        say!("pipe {pipe} stage {name}: {overruns} overruns, {dropped} dropped{stopped}");
    }
}
