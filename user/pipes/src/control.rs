//! Pipe commands on the partition's console
//!
//! The recorder, the least important thread with a budget, reads the console and executes the short
//! commands: `pipe list`, `pipe functions`, `pipe stop NAME`, `pipe start NAME`. It passes `pipe
//! add NAME FLOW`, `pipe replace NAME FLOW` and `pipe remove NAME`, which need the solver, to the
//! planner ([`crate::planner`]). A stopped pipe ends in the order of its stages: the first stages
//! send an end of task behind their last message, and a stage that received it from all stages
//! before it passes it on and rests. Therefore a lossless pipe loses nothing, and stages, buffers
//! and budgets of other pipes are not touched. A pipe can be started again, at one tick, once all
//! its stages rest.
//!
//! Components give the same commands ([`crate::command_interface`]).
//!
//! Argument word: `commands=MILLISECOND:VERB:NAME,…`: executes these commands at these times,
//! counted from the first release, without a console, so that a run repeats.

use crate::runtime::{CORE, say};
use crate::table::{self, Entry};
use crate::{client_pipes, command_interface, endpoints, planner, stage};
use bulkhead_abi::component::console;
use bulkhead_abi::component::pipes::State;
use bulkhead_abi::name_text;
use bulkhead_abi::pipe::EndpointKind;
use bulkhead_abi::repository::{Function, MAX_LINE, Repository, long_name_field, long_name_text};
use bulkhead_component::first::Timing;
use bulkhead_component::invocation::invoke;
use bulkhead_component::{Environment, clock};
use bulkhead_flows::command::{self, Command};
use bulkhead_slite::Mutex;
use core::fmt;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

/// Slot of the console's capability; 0: there is none.
static CONSOLE: AtomicU64 = AtomicU64::new(0);

/// State of the command line.
pub(crate) struct Shell {
    /// One byte more than the longest line: a full buffer means that the line was too long.
    line: [u8; MAX_LINE + 1],
    filled: usize,
    /// Bytes that were read and not taken, from the lowest on, and how many.
    input: (u64, u8),
    /// Pipes that are ending, by bit, and the tick at which each was stopped.
    ending: u64,
    since: u64,
    script: [u8; SCRIPT_BYTES],
    /// Number of scripted commands that were executed.
    obeyed: usize,
    began: u64,
}

/// Commands of the `commands` argument.
static SCRIPT: Mutex<[u8; SCRIPT_BYTES]> = Mutex::new([0; SCRIPT_BYTES]);
const SCRIPT_BYTES: usize = 96;

/// Opens the console and the scripted commands.
pub(crate) fn open(env: &Environment) {
    let text = env.argument("commands").unwrap_or_default();
    let _kept = SCRIPT.with(&CORE.threads, |script| {
        for (place, byte) in script.iter_mut().zip(text.bytes()) {
            *place = byte;
        }
    });
    CONSOLE.store(env.interface(console::NAME).unwrap_or(0), Relaxed);
}

impl Shell {
    pub(crate) fn new() -> Self {
        let script = SCRIPT.with(&CORE.threads, |script| *script);
        Self {
            script: script.unwrap_or([0; SCRIPT_BYTES]),
            obeyed: 0,
            began: clock::now(),
            line: [0; MAX_LINE + 1],
            filled: 0,
            input: (0, 0),
            ending: 0,
            since: 0,
        }
    }

    /// Executes what was entered, and reports which pipes have ended.
    pub(crate) fn poll(&mut self, timing: &Timing) {
        // While the planner executes a command, the next ones wait in the console's ring.
        while !planner::is_busy()
            && let Some(byte) = self.next_byte()
        {
            self.take(byte, timing);
        }
        if !planner::is_busy() {
            self.follow_script(timing);
        }
        command_interface::poll(|text| self.execute(text, timing));
        if let (stopped @ 1.., since) = planner::stopping() {
            (self.ending, self.since) = (self.ending | stopped, since);
        }
        for (number, pipe) in table::all() {
            if !stage::is_stopped(number) {
                self.ending &= !(1 << number);
            }
            if self.ending >> number & 1 != 0 && stage::rests(&pipe) {
                self.ending &= !(1 << number);
                let took = clock::micros(clock::now() - self.since);
                say!("pipe {} rests after {took} us", pipe.name());
            }
        }
    }

    /// Takes the next byte that was entered.
    fn next_byte(&mut self) -> Option<u8> {
        if self.input.1 == 0 {
            self.input = read_input();
        }
        let (bytes, count) = self.input;
        self.input = (bytes >> 8, count.checked_sub(1)?);
        Some(bytes as u8)
    }

    /// Executes the next scripted command that is due.
    fn follow_script(&mut self, timing: &Timing) {
        let script = self.script;
        let text = core::str::from_utf8(&script).unwrap_or_default();
        let due = text.trim_end_matches('\0').split(',').nth(self.obeyed);
        let mut parts = due.unwrap_or_default().split(':');
        let [at, verb, name] = [(); 3].map(|()| parts.next().unwrap_or_default());
        let passed = clock::micros(clock::now() - self.began) / 1000;
        if at.parse().is_ok_and(|at: u64| at <= passed) {
            self.obeyed += 1;
            self.filled = 0;
            for part in ["pipe ", verb, " ", name, "\n"] {
                part.bytes().for_each(|byte| self.take(byte, timing));
            }
        }
    }

    fn take(&mut self, byte: u8, timing: &Timing) {
        if byte != b'\n' && byte != b'\r' {
            if let Some(place) = self.line.get_mut(self.filled) {
                *place = byte;
                self.filled += 1;
            }
            return;
        }
        let line = self.line;
        let text = line.get(..self.filled).unwrap_or_default();
        self.filled = 0;
        self.execute(text, timing);
    }

    fn execute(&mut self, text: &[u8], timing: &Timing) {
        match command::parse(text) {
            Ok(command) => self.obey(command, text, timing),
            Err(wrong) => say!("{wrong}"),
        }
    }

    fn obey(&mut self, command: Command<'_>, line: &[u8], timing: &Timing) {
        match command {
            Command::Nothing => {}
            Command::List => table::all().for_each(|(number, pipe)| show(number, &pipe)),
            Command::Functions => show_functions(timing),
            Command::Stop(name) | Command::Start(name) if has_remote_sources(name) => {
                leave(line, timing);
            }
            Command::Stop(name) => self.stop(name),
            Command::Start(name) => start(name),
            Command::Add(_) | Command::Replace(_) | Command::Remove(_) => leave(line, timing),
        }
    }

    fn stop(&mut self, name: &str) {
        let Some((number, pipe)) = named(name) else {
            return;
        };
        if stage::is_stopped(number) {
            return say!("it is stopped");
        }
        if client_pipes::is_requested(number) {
            return say!("pipe {name} was typed in another partition: stop it there");
        }
        (self.ending, self.since) = (self.ending | 1 << number, clock::now());
        stage::stop(number, &pipe);
    }
}

/// Bytes entered since the last call, from the lowest on, and how many.
fn read_input() -> (u64, u8) {
    let slot = CONSOLE.load(Relaxed);
    if slot == 0 {
        return (0, 0);
    }
    let reply = invoke(slot, [console::READ, 0, 0, 0, 0]);
    match reply.status {
        0 => (reply.value >> 8, reply.value as u8),
        _ => (0, 0),
    }
}

/// Finds a pipe that the planner is not changing.
fn named(name: &str) -> Option<(usize, Entry)> {
    let found = table::find(name);
    match found {
        Some((number, _)) if planner::changes(number) || stage::is_retired(number) => {
            say!("pipe {name} is being replaced or removed");
            None
        }
        Some(found) => Some(found),
        None => {
            say!("there is no pipe {name}; `pipe list` tells all");
            None
        }
    }
}

/// Returns whether another partition runs first stages of a pipe that is started and stopped here.
fn has_remote_sources(name: &str) -> bool {
    table::find(name).is_some_and(|(number, _)| planner::has_remote_sources(number))
}

fn start(name: &str) {
    let Some((number, pipe)) = named(name) else {
        return;
    };
    if !stage::is_stopped(number) {
        say!("it runs");
    } else if stage::rests(&pipe) {
        stage::begin(number, &pipe);
        say!("starts");
    } else {
        say!("it is ending still");
    }
}

/// Passes a command that needs the solver to the planner.
fn leave(line: &[u8], timing: &Timing) {
    if timing.repository.is_none() {
        say!(
            "no flow can be typed in this partition: `spare_stages` in its description says how many stages may be"
        );
    } else {
        planner::leave(line);
    }
}

fn show(number: usize, entry: &Entry) {
    let state = match command_interface::state(number, entry) {
        State::Runs => "runs",
        State::Ends => "ends",
        State::Rests => "rests",
    };
    let pipe = &entry.pipe;
    let buffers = match pipe.fifo {
        0 => "four-slot",
        _ => "lossless",
    };
    let origin = match client_pipes::is_requested(number) {
        true => ", typed in another partition",
        false => "",
    };
    say!(
        "pipe {}: {state}, {} stages, {buffers}, bound {} us{origin}",
        entry.name(),
        pipe.stages,
        pipe.bound_ns / 1000
    );
}

/// The longest measured time.
struct Measured(u64);

impl fmt::Display for Measured {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => out.write_str("not measured"),
            ns => write!(out, "measured {} us", ns.div_ceil(1000)),
        }
    }
}

/// Prints the functions of which pipes can be made, and the free resources.
fn show_functions(timing: &Timing) {
    let Some(repository) = timing.repository else {
        return say!(
            "nothing is known of functions here: `spare_stages` in the description of the partition has flows be typed"
        );
    };
    let Repository {
        head,
        devices,
        functions,
        cores,
        ..
    } = repository;
    // A function with a unique name is listed twice.
    let alone = |function: &&Function| {
        let short = long_name_field(name_text(&function.function));
        function.name == short || !functions.iter().any(|other| other.name == short)
    };
    for function in functions.iter().filter(alone) {
        let buffers = match function.buffering {
            0 => "any buffers",
            1 => "four-slot buffers",
            _ => "lossless buffers",
        };
        let name = |device: u32, name, kind: EndpointKind| {
            let device = devices.get(device as usize);
            match (device, kind) {
                (Some(device), _) => long_name_text(&device.name),
                (None, EndpointKind::Device) => name_text(name),
                (None, EndpointKind::Absent) => "nothing",
                (None, built_in) => built_in.word(),
            }
        };
        let [source, sink] = function.endpoints();
        let reads = name(function.reads, &function.source, source);
        let writes = name(function.writes, &function.sink, sink);
        let core = cores.get(function.core as usize);
        say!(
            "function {}: on {}, WCET {} us, {}, {} inputs, {} outputs, {buffers}, reads {reads}, writes {writes}",
            long_name_text(&function.name),
            core.map_or("?", |core| long_name_text(&core.name)),
            function.wcet_ns.div_ceil(1000),
            Measured(function.wcmt_ns),
            function.inputs,
            function.outputs,
        );
    }
    for device in devices.iter().filter(|device| endpoints::is_own(device)) {
        say!(
            "endpoint {}: {} of {} places are taken",
            long_name_text(&device.name),
            endpoints::users(&repository, device),
            device.sharers
        );
    }
    planner::show_room(timing, head);
}
