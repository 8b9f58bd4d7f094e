//! Creates, queries, stops, replaces and removes tuned pipes while others run
//!
//! Each step is printed with its outcome, and for a refusal the scheduler's reason. A step that does not end as it must panics.
//! Argument word: `repeats=N`: creates and removes a pipe so often, and compares what is free before and after.
#![no_std]
#![no_main]

use bulkhead_abi::component::pipes::State;
use bulkhead_abi::name_text;
use bulkhead_component::pipes::{PipeStatus, Pipes, Refused};
use bulkhead_component::{Environment, First, clock, println};
use bulkhead_guest::Home;

bulkhead_component::component!(run);

const NAME: &str = "extra";

fn run(_: First) -> ! {
    let env = Environment::open();
    if let Err(status) = env.ready() {
        panic!("not ready: {status:?}");
    }
    let Some(pipes) = Pipes::open(&env) else {
        println!("creator: it may not create pipes");
        loop {
            env.sleep_until(clock::now() + clock::frequency());
        }
    };
    let steps = Steps { env: &env, pipes };
    steps.refusals();
    steps.life();
    steps.repeat(env.number("repeats", 0));
    println!("creator: done");
    loop {
        env.sleep_until(clock::now() + clock::frequency());
    }
}

struct Steps<'e> {
    env: &'e Environment,
    pipes: Pipes,
}

impl Steps<'_> {
    /// Commands without effect.
    fn refusals(&self) {
        let flows = [
            ("no flow", "* sample | "),
            ("unknown function", "sample | nothing | emit"),
            ("too fast", "* sample | filter | emit [5000/s, 100 us]"),
        ];
        for (what, flow) in flows {
            self.refused(what, self.pipes.create(NAME, flow));
        }
        self.refused("bad name", self.pipes.create("Extra", "sample | emit"));
        self.refused("long flow", self.pipes.create(NAME, LONG));
        self.refused("taken name", self.pipes.create("log", "sample | emit"));
        self.refused("unknown pipe", self.pipes.remove("nothing"));
        if self.pipes.query(NAME).is_some() {
            panic!("a refused pipe exists");
        }
    }

    fn refused(&self, what: &str, result: Result<(), Refused>) {
        let mut buffer = [0; 160];
        let reason = self.pipes.answer(&mut buffer);
        match result {
            Err(Refused) => println!("creator: {what}: {}", reason.trim_end()),
            Ok(()) => panic!("{what} was accepted"),
        }
    }

    /// Creates a pipe, and changes it until it is removed.
    fn life(&self) {
        self.done(
            "create",
            self.pipes
                .create(NAME, "* sample | filter | emit [20/s, 200 ms]"),
        );
        for name in self.pipes.list() {
            println!("creator: there is {}", name_text(&name));
        }
        let status = self.observe(10);
        println!(
            "creator: {} stages, {} delivered, {} lost, within bound: {}",
            status.stages,
            status.delivered,
            status.lost,
            status.longest_ns <= status.bound_ns
        );
        self.done("stop", self.pipes.stop(NAME));
        self.reach(State::Rests);
        self.done("start", self.pipes.start(NAME));
        self.reach(State::Runs);
        self.done(
            "replace",
            self.pipes.replace(NAME, "sample | emit [20 %, 100 ms]"),
        );
        println!("creator: {} stages now", self.status().stages);
        self.done("remove", self.pipes.remove(NAME));
        if self.pipes.query(NAME).is_some() {
            panic!("a removed pipe exists");
        }
    }

    fn done(&self, what: &str, result: Result<(), Refused>) {
        let mut buffer = [0; 160];
        match result {
            Ok(()) => println!("creator: {what}: done"),
            Err(Refused) => panic!("{what}: {}", self.pipes.answer(&mut buffer)),
        }
    }

    fn status(&self) -> PipeStatus {
        match self.pipes.query(NAME) {
            Some(status) => status,
            None => panic!("the pipe does not exist"),
        }
    }

    /// Waits until so many messages have left the pipe.
    fn observe(&self, count: u64) -> PipeStatus {
        loop {
            let status = self.status();
            if status.delivered >= count {
                return status;
            }
            self.pause();
        }
    }

    /// Waits until the pipe has that state.
    fn reach(&self, state: State) {
        while self.status().state != state {
            self.pause();
        }
        println!("creator: {state:?}");
    }

    fn pause(&self) {
        self.env
            .sleep_until(clock::now() + clock::frequency() / 100);
    }

    /// Creates and removes a pipe again and again: nothing of it stays.
    fn repeat(&self, repeats: u64) {
        for round in 0..repeats {
            let created = self
                .pipes
                .create(NAME, "* sample | filter | emit [20/s, 200 ms]");
            let removed = self.pipes.remove(NAME);
            if (created, removed) != (Ok(()), Ok(())) {
                panic!("round {round}: created {created:?}, removed {removed:?}");
            }
        }
        println!("creator: {repeats} repeats");
    }
}

/// Longer than a flow may be.
const LONG: &str = "sample | filter | filter | filter | filter | filter | filter | filter | filter | filter \
                    | filter | filter | filter | filter | filter | filter | filter | filter | filter | filter \
                    | filter | filter | filter | filter | filter | filter | filter | filter | filter | filter \
                    | filter | filter | filter | filter | filter | filter | filter | filter | emit";
