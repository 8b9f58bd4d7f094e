//! Pipes are stopped and started again while others run: the commands of the console
//!
//! `pipe list`, `pipe stop NAME`, `pipe start NAME`. A pipe that is stopped ends in the order of its stages: the first ones send an
//! end of task behind their last message, and who has it from all stages before it passes it on and rests. So a lossless pipe loses nothing, and nobody
//! else's stages, buffers or budgets are touched. It can be started again once all its stages rest, all at one tick, as at first. The
//! recorder, who is the least important, reads the console.
//!
//! Argument word: `commands=MILLISECOND:VERB:NAME,…`: the same without a console, at these times from the first on, so that a run repeats.

use crate::CORE;
use crate::stage;
use bulkhead_abi::component::console;
use bulkhead_abi::name_text;
use bulkhead_component::first::Timing;
use bulkhead_component::invocation::invoke_keeping_fp;
use bulkhead_component::{Own, clock, println};
use bulkhead_slite::Mutex;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

/// Longest command.
const LINE: usize = 64;

/// Slot of the console's capability; 0: there is none.
static CONSOLE: AtomicU64 = AtomicU64::new(0);

/// What is being typed.
pub(crate) struct Shell {
    line: [u8; LINE],
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
            line: [0; LINE],
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
        for (number, pipe) in timing.pipes.iter().enumerate() {
            if self.ending >> number & 1 != 0 && stage::rests(timing, number) {
                self.ending &= !(1 << number);
                let took = clock::micros(clock::now() - self.since);
                println!("pipe {} rests after {took} us", name_text(&pipe.name));
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
            self.obey(["pipe", verb, name].map(Some), timing);
        }
    }

    fn take(&mut self, byte: u8, timing: &Timing) {
        if byte != b'\n' && byte != b'\r' {
            // What is too long is no command: its end is not looked at.
            if let Some(place) = self.line.get_mut(self.filled) {
                *place = byte;
            }
            self.filled = (self.filled + 1).min(LINE + 1);
            return;
        }
        let line = self.line;
        let text = line.get(..self.filled);
        self.filled = 0;
        match text.map(core::str::from_utf8) {
            Some(Ok(text)) => {
                let mut words = text.split_ascii_whitespace();
                let words = [(); 3].map(|()| words.next());
                self.obey(words, timing);
            }
            _ => println!("this is no command"),
        }
    }

    fn obey(&mut self, words: [Option<&str>; 3], timing: &Timing) {
        let named = |name: &str| {
            let mut pipes = timing.pipes.iter();
            let found = pipes.position(|pipe| name_text(&pipe.name) == name);
            if found.is_none() {
                println!("there is no pipe {name}; `pipe list` tells all");
            }
            found
        };
        match words {
            [None, ..] => {}
            [Some("pipe"), Some("list"), _] => list(timing),
            [Some("pipe"), Some("stop"), Some(name)] => {
                if let Some(number) = named(name) {
                    self.stop(number, timing);
                }
            }
            [Some("pipe"), Some("start"), Some(name)] => {
                if let Some(number) = named(name) {
                    start(number, timing);
                }
            }
            _ => println!("this is no command: pipe list, pipe stop NAME, pipe start NAME"),
        }
    }

    fn stop(&mut self, number: usize, timing: &Timing) {
        if stage::is_stopped(number) {
            return println!("it is stopped");
        }
        (self.ending, self.since) = (self.ending | 1 << number, clock::now());
        stage::stop(timing, number);
    }
}

/// Bytes that were typed, if any were.
fn typed() -> Option<impl Iterator<Item = u8>> {
    let slot = CONSOLE.load(Relaxed);
    if slot == 0 {
        return None;
    }
    let reply = invoke_keeping_fp(slot, [console::READ, 0, 0, 0, 0]);
    let [count, bytes @ ..] = reply.value.to_le_bytes();
    let some = reply.status == 0 && count != 0;
    some.then(|| bytes.into_iter().take(count.into()))
}

fn start(number: usize, timing: &Timing) {
    if !stage::is_stopped(number) {
        println!("it runs");
    } else if stage::rests(timing, number) {
        stage::restart(timing, number);
        println!("starts");
    } else {
        println!("it is ending still");
    }
}

fn list(timing: &Timing) {
    for (number, pipe) in timing.pipes.iter().enumerate() {
        let state = match (stage::is_stopped(number), stage::rests(timing, number)) {
            (false, _) => "runs",
            (true, false) => "ends",
            (true, true) => "rests",
        };
        println!(
            "pipe {}: {state}, {} stages, {}, bound {} us",
            name_text(&pipe.name),
            pipe.stages,
            if pipe.fifo == 0 {
                "four-slot"
            } else {
                "lossless"
            },
            pipe.bound_ns / 1000
        );
    }
}
