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

mod attack;
mod calls;
mod distributor;
mod dma;
mod guard;
mod hangs;
mod interface;
mod memory;
mod nic;
mod probe;
mod processor;
mod redistributor;
mod system_registers;
mod thread;
mod traffic;
mod witness;

use attack::{Attack, Context, parse};
use bulkhead_rtos::{System, println};
use core::convert::Infallible;

bulkhead_rtos::application!(run);

const GROUPS: [&[Attack]; 9] = [
    redistributor::ATTACKS,
    distributor::ATTACKS,
    interface::ATTACKS,
    calls::ATTACKS,
    memory::ATTACKS,
    processor::ATTACKS,
    system_registers::ATTACKS,
    hangs::ATTACKS,
    dma::ATTACKS,
];

fn all() -> impl Iterator<Item = &'static Attack> {
    GROUPS.iter().copied().flatten()
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
