//! Random entries: no panic, no endless loop, and nothing outside the partition is touched

use crate::fake::{Effect, End};
use crate::world::{
    ALARM, ATTACHED, CONSOLE_IN, CONSOLE_OUT, DOORBELL_INTID, GICD, GUEST_GICD, GUEST_GICR,
    GUEST_PRIVATE, GUEST_UART, Wishes, World, gicr, mpidr, roots, spis, target, vttbr,
};
use bulkhead_abi::config::flags;
use bulkhead_abi::hypercall;
use bulkhead_abi::status::Action;
use bulkhead_monitor_core::Entry;

const ROUNDS: u64 = 300_000;

/// Marsaglia, "Xorshift RNGs", 2003.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    /// Often small, often all ones, often a power of two.
    fn value(&mut self) -> u64 {
        match self.below(4) {
            0 => self.below(64),
            1 => u64::MAX >> self.below(64),
            2 => 1 << self.below(64),
            _ => self.next(),
        }
    }
}

fn owned(intid: u64) -> bool {
    intid < 1024 && spis(0)[intid as usize / 32] >> (intid % 32) & 1 != 0
}

/// Returns whether a write to a register with one or eight bits per interrupt concerns only owned
/// ones.
fn bank_write_is_allowed(offset: u64, bytes: u64, value: u64, owned: impl Fn(u64) -> bool) -> bool {
    match (offset, bytes) {
        (0x100..0x400, 4) => {
            let first = (offset & 0x7F) * 8;
            (0..32).all(|bit| value >> bit & 1 == 0 || owned(first + bit))
        }
        (0x400..0x800, 1) => value >= 0x10 && owned(offset - 0x400),
        _ => false,
    }
}

fn distributor_write_is_allowed(offset: u64, bytes: u64, value: u64) -> bool {
    match offset {
        0x6000..0x8000 => {
            bytes == 8
                && offset.is_multiple_of(8)
                && owned((offset - 0x6000) / 8)
                && (value == mpidr(0) || value == mpidr(1))
        }
        0x204 if value == 1 << (DOORBELL_INTID % 32) => true,
        _ => bank_write_is_allowed(offset, bytes, value, owned),
    }
}

fn private_write_is_allowed(offset: u64, bytes: u64, value: u64) -> bool {
    let owned = |intid: u64| intid < 32 && GUEST_PRIVATE >> intid & 1 != 0;
    // The monitor's own interrupt: enabled and pending to stop a core, the opposite to start it.
    if matches!(offset, 0x100 | 0x180 | 0x200 | 0x280) && value == u64::from(ALARM) {
        return true;
    }
    bank_write_is_allowed(offset, bytes, value, owned)
}

fn write_is_allowed(pa: u64, bytes: u64, value: u64) -> bool {
    let own_root = roots(0)
        .iter()
        .any(|entry| entry.pa == pa && (value == 0 || value == entry.open));
    let redistributor = |core| (gicr(core) + 0x1_0000..gicr(core) + 0x2_0000).contains(&pa);
    match pa {
        GICD..0x0801_0000 => distributor_write_is_allowed(pa - GICD, bytes, value),
        CONSOLE_OUT..0x6000_0058 | CONSOLE_IN..0x6001_00A0 => true,
        ATTACHED..0x6003_0018 => bytes == 8,
        _ if own_root => true,
        _ => (0..2).any(|core| {
            redistributor(core)
                && private_write_is_allowed(pa - gicr(core) - 0x1_0000, bytes, value)
        }),
    }
}

fn check(effect: Effect) {
    match effect {
        Effect::Write { pa, bytes, value } => {
            assert!(
                write_is_allowed(pa, bytes, value),
                "{bytes} bytes {value:#x} at {pa:#x}"
            );
        }
        Effect::Ipi(value) => {
            assert!(
                [target(0), target(1)].contains(&(value & !(0xF << 24))),
                "sends {value:#x}"
            );
        }
        Effect::Forget(whose) => assert_eq!(whose, vttbr(0)),
        _ => {}
    }
}

/// One random exception on core 0, whatever comes of it; then the next guest has its turn.
fn round(world: &World, random: &mut Random, esr: impl Fn(&mut Random) -> u64) {
    let frame = &world.cores[0].frame;
    for register in 0..31 {
        frame.set_x(register, random.value());
    }
    frame.set_elr(random.value());
    frame.set_spsr(random.value());
    frame.set_far(random.value());
    world.fake.0.patience.set(1);
    let esr = esr(random);
    if world.exception(0, esr) == End::Waits {
        world.idle(0);
    }
    world.fake.take_effects().into_iter().for_each(check);
}

fn run(wishes: Wishes, seed: u64, esr: impl Fn(&World, &mut Random) -> u64) {
    let world = World::running(wishes);
    world.fake.0.background.set(0x5A);
    let mut random = Random(seed);
    for _ in 0..ROUNDS {
        round(&world, &mut random, |random| esr(&world, random));
        // A page of memory is enough: what was written by chance is forgotten.
        if world.fake.0.memory.borrow().len() > 1 << 16 {
            world.fake.0.memory.borrow_mut().clear();
        }
    }
    let others = [world.link(1), world.link(2)].map(|link| link.epoch);
    assert_eq!(others, [1, 0], "nobody else was started");
    assert!(world.faults(1).is_empty());
}

fn wishes() -> Wishes {
    Wishes {
        action: Action::Inject,
        flags: flags::EMULATED_UART,
        ..Wishes::default()
    }
}

#[test]
fn accesses_to_devices() {
    run(wishes(), 1, |world, random| {
        let window = [
            GUEST_GICD,
            GUEST_GICR,
            GUEST_GICR + 0x1_0000,
            GUEST_GICR + 0x2_0000,
            GUEST_UART,
        ];
        let base = window[random.below(5) as usize];
        let offset = match random.below(3) {
            0 => random.below(0x1000),
            1 => 0x6000 + random.below(0x2000),
            _ => random.below(0x2_1000),
        };
        world.cores[0].frame.set_ipa(base + offset);
        let form = 1 << 24 | random.below(1 << 10) << 14 | random.below(2) << 6 | 0x07;
        0x24 << 26 | 1 << 25 | form
    });
}

#[test]
fn registers_and_instructions() {
    run(wishes(), 2, |_, random| 0x18 << 26 | random.below(1 << 26));
}

#[test]
fn any_class_at_all() {
    run(wishes(), 3, |world, random| {
        world.cores[0].frame.set_ipa(random.value());
        random.next() & 0xFFFF_FFFF
    });
}

#[test]
fn calls() {
    run(wishes(), 4, |world, random| {
        let function = match random.below(4) {
            0 => hypercall::BASE + random.below(0x100),
            1 => 0x8400_0000 + random.below(0x20),
            2 => 0xC400_0000 + random.below(0x20),
            _ => random.value(),
        };
        world.cores[0].frame.set_x(0, function);
        let argument = random.below(4);
        world.cores[0].frame.set_x(1, argument);
        let class = 0x16 + random.below(2);
        let immediate = u64::from(random.below(64) == 0);
        class << 26 | 1 << 25 | immediate
    });
}

#[test]
fn stops_and_system_errors_at_any_time() {
    let world = World::running(wishes());
    let mut random = Random(5);
    for _ in 0..10_000 {
        world.cores[0]
            .requests
            .store(random.below(64), std::sync::atomic::Ordering::Relaxed);
        let end = if random.below(2) == 0 {
            world.fetch(0)
        } else {
            world.enter(0, Entry::SError)
        };
        if end == End::Waits {
            world.idle(0);
        }
        world.fake.take_effects().into_iter().for_each(check);
    }
}
