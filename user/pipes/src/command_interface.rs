//! Interface `pipes`: components give the commands of the console, and query pipes
//!
//! A component appends text to its command and has it executed. The recorder executes it as if it had been entered on the
//! console, once the planner is idle; the component waits. What recorder and planner print meanwhile is printed on the
//! console, too, and kept as the answer. Whether a command succeeded is judged by its effect on the table of pipes.

use crate::recorder::{self, Observed};
use crate::runtime::CORE;
use crate::table::{self, Entry};
use crate::{answer, planner, stage};
use bulkhead_abi::component::pipes::{
    ANSWER, APPEND, EXECUTE, Figure, LIST, NAME, QUERY, REFUSED, State, UNKNOWN,
};
use bulkhead_abi::kernel::MAX_COMPONENTS;
use bulkhead_abi::name_field;
use bulkhead_abi::repository::MAX_LINE;
use bulkhead_component::environment;
use bulkhead_component::load::nanoseconds;
use bulkhead_flows::command::{self, Command};
use bulkhead_sched::NEVER;
use bulkhead_slite::Mutex;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicBool, AtomicU64};

/// Command and answer of a component.
struct Client {
    /// One byte more than the longest line: a full buffer means that the line was too long.
    line: [u8; MAX_LINE + 1],
    filled: usize,
}

static CLIENTS: [Mutex<Client>; MAX_COMPONENTS] = [const {
    Mutex::new(Client {
        line: [0; MAX_LINE + 1],
        filled: 0,
    })
}; MAX_COMPONENTS];

/// Components take turns.
static TURN: Mutex<()> = Mutex::new(());
/// Number of the component that requests a command.
static CLIENT: AtomicU64 = AtomicU64::new(0);
/// Index of its thread, which waits.
static WAITER: AtomicU64 = AtomicU64::new(0);
static IS_REQUESTED: AtomicBool = AtomicBool::new(false);
/// The command has begun, and its end has not been reported.
static RUNS: AtomicBool = AtomicBool::new(false);
static OUTCOME: AtomicU64 = AtomicU64::new(0);
/// Generation of the pipe that the command names, before the command; [`ABSENT`]: there was none.
static BEFORE: AtomicU64 = AtomicU64::new(ABSENT);
const ABSENT: u64 = u64::MAX;

/// Returns whether the token of an invocation is that of the interface.
pub(crate) fn is_meant(token: u64) -> bool {
    let interfaces = &environment::info().interfaces;
    let name = interfaces.get((token >> 32) as usize);
    name.is_some_and(|name| *name == name_field(NAME))
}

/// Answers a component that invokes the interface.
pub(crate) fn serve(token: u64, [what, words @ ..]: [u64; 5]) -> u64 {
    let number = u64::from(token as u32);
    let Some(client) = CLIENTS.get(number as usize) else {
        return UNKNOWN;
    };
    let done = match what {
        APPEND => client.with(&CORE.threads, |client| client.append(words)),
        EXECUTE => Ok(execute(number)),
        ANSWER => Ok(answer::eight_of(number, words[0])),
        QUERY => client.with(&CORE.threads, |client| client.query(words[0])),
        LIST => {
            let entry = table::get(words[0] as usize);
            Ok(entry.map_or(0, |entry| answer::eight(&entry.pipe.name, words[1])))
        }
        _ => Ok(UNKNOWN),
    };
    done.unwrap_or(UNKNOWN)
}

impl Client {
    fn append(&mut self, words: [u64; 4]) -> u64 {
        let bytes = words.into_iter().flat_map(u64::to_le_bytes);
        for byte in bytes.take_while(|byte| *byte != 0) {
            if let Some(place) = self.line.get_mut(self.filled) {
                *place = byte;
                self.filled += 1;
            }
        }
        0
    }

    fn line(&self) -> &[u8] {
        self.line.get(..self.filled).unwrap_or_default()
    }

    fn query(&mut self, figure: u64) -> u64 {
        let found = core::str::from_utf8(self.line()).ok().and_then(table::find);
        self.filled = 0;
        let figure = Figure::ALL.get(figure as usize);
        let Some(((number, entry), figure)) = found.zip(figure) else {
            return UNKNOWN;
        };
        let Observed {
            count,
            lost,
            longest,
        } = recorder::observed(number);
        match figure {
            Figure::State => state(number, &entry) as u64,
            Figure::Bound => entry.pipe.bound_ns,
            Figure::Stages => entry.pipe.stages.into(),
            Figure::Delivered => count,
            Figure::Lost => lost,
            Figure::Longest => nanoseconds(longest),
        }
    }
}

/// State of the pipe of that number.
pub(crate) fn state(number: usize, entry: &Entry) -> State {
    match (stage::is_stopped(number), stage::rests(entry)) {
        (false, _) => State::Runs,
        (true, false) => State::Ends,
        (true, true) => State::Rests,
    }
}

/// Has the recorder execute the component's command, and waits.
fn execute(client: u64) -> u64 {
    let executed = TURN.with(&CORE.threads, |()| {
        CLIENT.store(client, Relaxed);
        WAITER.store(CORE.threads.current(), Relaxed);
        IS_REQUESTED.store(true, Release);
        while IS_REQUESTED.load(Acquire) {
            CORE.threads.block(NEVER);
        }
        OUTCOME.load(Relaxed)
    });
    executed.unwrap_or(UNKNOWN)
}

/// Number of the component that requests a command.
fn client() -> usize {
    CLIENT.load(Relaxed) as usize % MAX_COMPONENTS
}

/// The command, and its length.
fn line() -> ([u8; MAX_LINE + 1], usize) {
    let line = CLIENTS[client()].with(&CORE.threads, |client| (client.line, client.filled));
    line.unwrap_or(([0; MAX_LINE + 1], 0))
}

/// Executes the command that a component has requested, if the planner is idle, with `obey`; reports the end of the former
/// one. Called by the recorder.
pub(crate) fn poll(obey: impl FnOnce(&[u8])) {
    if !IS_REQUESTED.load(Acquire) || planner::is_busy() {
        return;
    }
    let (bytes, length) = line();
    let text = bytes.get(..length).unwrap_or_default();
    if !RUNS.swap(true, Relaxed) {
        BEFORE.store(generation(text), Relaxed);
        answer::begin(client(), CORE.threads.current());
        obey(text);
        if planner::is_busy() {
            return answer::follow(planner::thread());
        }
    }
    answer::follow(0);
    let outcome = match is_done(text) {
        true => 0,
        false => REFUSED,
    };
    OUTCOME.store(outcome, Relaxed);
    let _emptied = CLIENTS[client()].with(&CORE.threads, |client| client.filled = 0);
    RUNS.store(false, Relaxed);
    IS_REQUESTED.store(false, Release);
    CORE.threads.wakeup(WAITER.load(Relaxed));
}

/// The pipe that a command names.
fn named(command: Command<'_>) -> Option<&str> {
    match command {
        Command::Nothing | Command::List | Command::Functions => None,
        Command::Stop(name) | Command::Start(name) | Command::Remove(name) => Some(name),
        Command::Add(pipe) | Command::Replace(pipe) => Some(pipe.name),
    }
}

/// Generation of the pipe that a command names; [`ABSENT`]: there is none.
fn generation(text: &[u8]) -> u64 {
    let name = command::parse(text).ok().and_then(named);
    let found = name.and_then(table::find);
    found.map_or(ABSENT, |(_, entry)| entry.generation.into())
}

/// Returns whether the table of pipes is as the command demands.
fn is_done(text: &[u8]) -> bool {
    let Ok(command) = command::parse(text) else {
        return false;
    };
    let (before, now) = (BEFORE.load(Relaxed), generation(text));
    let is_stopped = || {
        let found = named(command).and_then(table::find);
        found.map(|(number, _)| stage::is_stopped(number))
    };
    match command {
        Command::Nothing | Command::List | Command::Functions => true,
        Command::Add(_) | Command::Replace(_) => now != ABSENT && now != before,
        Command::Remove(_) => before != ABSENT && now == ABSENT,
        Command::Stop(_) => is_stopped() == Some(true),
        Command::Start(_) => is_stopped() == Some(false),
    }
}
