//! The partition's shell about pipes: what is typed into the console
//!
//! The recorder, who is the least important with a budget, reads the console and obeys what is quick: `pipe list`, `pipe functions`, `pipe stop
//! NAME`, `pipe start NAME`. What has to be solved, `pipe add NAME FLOW`, `pipe replace NAME FLOW` and `pipe remove NAME`, it leaves to the planner
//! ([`crate::planner`]). A pipe that is stopped ends in the order of its stages: the first ones send an end of task behind their last message, and who has it from
//! all stages before it passes it on and rests. So a lossless pipe loses nothing, and nobody else's stages, buffers or budgets are touched. It can be
//! started again once all its stages rest, all at one tick, as at first.
//!
//! Argument word: `commands=MILLISECOND:VERB:NAME,…`: the same without a console, at these times from the first on, so that a run repeats.

use crate::table::{self, Entry};
use crate::{CORE, client_pipes, endpoints, planner, say, stage};
use bulkhead_abi::component::console;
use bulkhead_abi::name_text;
use bulkhead_abi::repository::{Function, MAX_LINE, Repository, long_name_field, long_name_text};
use bulkhead_component::first::Timing;
use bulkhead_component::invocation::invoke;
use bulkhead_component::{Own, clock};
use bulkhead_flows::command::{self, Command};
use bulkhead_slite::Mutex;
use core::fmt;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

/// Slot of the console's capability; 0: there is none.
static CONSOLE: AtomicU64 = AtomicU64::new(0);

/// What is being typed.
pub(crate) struct Shell {
    /// One byte more than a line has: who fills it has typed too much.
    line: [u8; MAX_LINE + 1],
    filled: usize,
    /// Pipes that end, by bit, and since when.
    ending: u64,
    since: u64,
    script: [u8; SCRIPT_BYTES],
    /// Commands of it that were obeyed.
    obeyed: usize,
    began: u64,
}

/// Commands that come by themselves.
static SCRIPT: Mutex<[u8; SCRIPT_BYTES]> = Mutex::new([0; SCRIPT_BYTES]);
const SCRIPT_BYTES: usize = 96;

/// Finds the console, and what comes by itself.
pub(crate) fn open(own: &Own) {
    let text = own.argument("commands").unwrap_or_default();
    let _kept = SCRIPT.with(&CORE.threads, |script| {
        for (place, byte) in script.iter_mut().zip(text.bytes()) {
            *place = byte;
        }
    });
    CONSOLE.store(own.interface(console::NAME).unwrap_or(0), Relaxed);
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
            ending: 0,
            since: 0,
        }
    }

    /// Takes what was typed, and says which pipes have ended.
    pub(crate) fn poll(&mut self, timing: &Timing) {
        while let Some(typed) = typed() {
            for byte in typed {
                self.take(byte, timing);
            }
        }
        self.follow_script(timing);
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

    /// Obeys the next command that is due.
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

/// Bytes that were typed, if any were.
fn typed() -> Option<impl Iterator<Item = u8>> {
    let slot = CONSOLE.load(Relaxed);
    if slot == 0 {
        return None;
    }
    let reply = invoke(slot, [console::READ, 0, 0, 0, 0]);
    let [count, bytes @ ..] = reply.value.to_le_bytes();
    let some = reply.status == 0 && count != 0;
    some.then(|| bytes.into_iter().take(count.into()))
}

/// A pipe that nobody changes.
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

/// Whether another partition has the first stages of a pipe that is stopped and started here.
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

/// What has to be solved.
fn leave(line: &[u8], timing: &Timing) {
    if timing.repository.is_none() {
        say!(
            "no flow can be typed in this partition: `spare_stages` in its description says how many stages may be"
        );
    } else if !planner::leave(line) {
        say!("the last command is not done yet: this one is not obeyed");
    }
}

fn show(number: usize, entry: &Entry) {
    let state = match (stage::is_stopped(number), stage::rests(entry)) {
        (false, _) => "runs",
        (true, false) => "ends",
        (true, true) => "rests",
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

/// A longest time that was measured.
struct Measured(u64);

impl fmt::Display for Measured {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => out.write_str("not measured"),
            ns => write!(out, "measured {} us", ns.div_ceil(1000)),
        }
    }
}

/// What pipes can be made of, and what room there is.
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
    // One whose name is unique stands there twice.
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
        let end = |device: u32, own: &[u8; bulkhead_abi::NAME_LEN]| {
            let device = devices.get(device as usize);
            device.map_or(long_name_field(name_text(own)), |one| one.name)
        };
        let ends = [
            end(function.reads, &function.source),
            end(function.writes, &function.sink),
        ];
        let [reads, writes] = ends.each_ref().map(|end| match long_name_text(end) {
            "" => "nothing",
            name => name,
        });
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
