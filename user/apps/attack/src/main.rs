//! Hostile guest: one attack per argument word
//!
//! `attack=NAME` runs the attack in the partition's first life (`lives=N`: in its first N lives) and
//! says on the console what came of it, one line per finding:
//!
//! ```text
//! attack NAME: begin, life E
//! attack NAME: KEY=VALUE …
//! attack NAME: end
//! ```
//!
//! Attacks that end the life of their partition have no `end` line. Afterwards, and in later lives,
//! the guest is a good one: `witness:` lines tell every 100 ms whether its timer, its memory and its
//! image are as they should be. `attack=witness` is that and nothing else: the victim beside the
//! attacker. `attack=list` prints names and fates. Other words: `seed=N`, `step=BYTES`, `count=N`.
#![no_std]
#![no_main]

mod calls;
mod distributor;
mod dma;
mod guard;
mod interface;
mod memory;
mod nic;
mod probe;
mod processor;
mod redistributor;
mod stubborn;
mod system_registers;
mod thread;
mod traffic;
mod witness;

use bulkhead_rtos::{System, println};
use core::convert::Infallible;
use core::fmt::{self, Arguments};

bulkhead_rtos::application!(run);

/// How an attack ends for the one who tries it.
enum Fate {
    /// It is refused, says so and goes on in the same life.
    Lives,
    /// Its life ends; policy gives it another.
    Dies,
    /// As `Dies`, but its core meanwhile takes exceptions without executing anything: an emulator
    /// that derives time from instructions stands still. By the wall clock only.
    Stalls,
}

impl fmt::Display for Fate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Lives => "lives",
            Self::Dies => "dies",
            Self::Stalls => "stalls",
        })
    }
}

/// An attack.
struct Attack {
    /// Its name in `attack=NAME`.
    name: &'static str,
    /// What should become of the attacker where violations are injected.
    fate: Fate,
    /// What it tries.
    what: &'static str,
    run: fn(&mut Context<'_>),
}

const GROUPS: [&[Attack]; 9] = [
    redistributor::ATTACKS,
    distributor::ATTACKS,
    interface::ATTACKS,
    calls::ATTACKS,
    memory::ATTACKS,
    processor::ATTACKS,
    system_registers::ATTACKS,
    stubborn::ATTACKS,
    dma::ATTACKS,
];

fn all() -> impl Iterator<Item = &'static Attack> {
    GROUPS.iter().copied().flatten()
}

/// What an attack works with.
struct Context<'s> {
    system: &'s System,
    name: &'static str,
    random: u64,
}

impl Context<'_> {
    /// One finding.
    fn say(&self, finding: Arguments<'_>) {
        self.system.beat();
        println!("attack {}: {finding}", self.name);
    }

    /// Keeps the watchdog quiet.
    fn beat(&self) {
        self.system.beat();
    }

    /// A number from the description's `key=N`, decimal or with 0x.
    fn number(&self, key: &str, default: u64) -> u64 {
        self.system.argument(key).and_then(parse).unwrap_or(default)
    }

    /// The next of a repeatable sequence (xorshift64*, Vigna 2016).
    fn random(&mut self) -> u64 {
        self.random ^= self.random >> 12;
        self.random ^= self.random << 25;
        self.random ^= self.random >> 27;
        self.random.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn cores(&self) -> u64 {
        u64::from(self.system.cores())
    }

    fn distributor(&self) -> u64 {
        self.system.interrupt_controller()[0]
    }

    fn redistributor(&self) -> u64 {
        self.system.interrupt_controller()[1]
    }

    /// Shared interrupts that are the partition's own: the doorbells it hears.
    fn owns(&self, intid: u32) -> bool {
        self.system
            .channels()
            .iter()
            .any(|end| end.doorbell_in == intid)
    }
}

fn parse(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

fn run(system: &System) -> Result<Infallible, witness::Ended> {
    probe::catch_faults();
    let life = system.link().read().epoch;
    let named = system.argument("attack").unwrap_or("witness");
    let witness = witness::Witness::start(system, life);
    match all().find(|attack| attack.name == named) {
        Some(attack) if u64::from(life) <= lives(system) => strike(system, attack, life),
        Some(_) => println!("attack {named}: over, life {life}"),
        None if named == "list" => {
            all().for_each(|a| println!("list {} {}: {}", a.name, a.fate, a.what))
        }
        None if named == "witness" => {}
        None => println!("attack {named}: no such attack"),
    }
    witness.serve(system)
}

fn lives(system: &System) -> u64 {
    system.argument("lives").and_then(parse).unwrap_or(1)
}

fn strike(system: &System, attack: &Attack, life: u32) {
    let seed = system
        .argument("seed")
        .and_then(parse)
        .unwrap_or(0x9e37_79b9_7f4a_7c15);
    let mut context = Context {
        system,
        name: attack.name,
        random: seed | 1,
    };
    context.say(format_args!("begin, life {life}"));
    (attack.run)(&mut context);
    context.say(format_args!("end"));
}
