//! The emulated distributor and redistributors

use crate::fake::{Effect, End};
use crate::world::{
    GICD, GUEST_GICD, GUEST_GICR, GUEST_PRIVATE, HYPERVISOR, Wishes, World, gicr, mpidr, spis,
};
use bulkhead_abi::status::Trap;

/// A data abort that describes a load or store of `2^size` bytes of register `register`.
pub(crate) fn access(size: u64, register: u64, write: bool) -> u64 {
    let form = 1 << 24 | size << 22 | register << 16 | 1 << 15;
    0x24 << 26 | 1 << 25 | form | u64::from(write) << 6 | 0x07
}

fn store(world: &World, core: usize, ipa: u64, size: u64, value: u64) -> Vec<Effect> {
    world.fake.take_effects();
    let frame = &world.cores[core].frame;
    frame.set_ipa(ipa);
    frame.set_x(3, value);
    assert_eq!(world.exception(core, access(size, 3, true)), End::Returned);
    world.fake.take_effects()
}

fn load(world: &World, core: usize, ipa: u64, size: u64) -> u64 {
    let frame = &world.cores[core].frame;
    frame.set_ipa(ipa);
    frame.set_x(3, u64::MAX);
    assert_eq!(world.exception(core, access(size, 3, false)), End::Returned);
    frame.x(3)
}

fn write(pa: u64, bytes: u64, value: u64) -> Effect {
    Effect::Write { pa, bytes, value }
}

#[test]
fn enables_and_the_like_reach_owned_interrupts_only() {
    let world = World::running(Wishes::default());
    for bank in (0x100..0x400).step_by(0x80) {
        let effects = store(&world, 0, GUEST_GICD + bank + 4, 2, u64::MAX);
        assert_eq!(effects, [write(GICD + bank + 4, 4, u64::from(spis(0)[1]))]);
        let effects = store(&world, 2, GUEST_GICD + bank + 24, 2, u64::MAX);
        assert_eq!(effects, [write(GICD + bank + 24, 4, u64::from(spis(1)[6]))]);
        assert_eq!(store(&world, 0, GUEST_GICD + bank + 8, 2, u64::MAX), []);
        assert_eq!(store(&world, 0, GUEST_GICD + bank, 2, u64::MAX), []);
    }
}

#[test]
fn what_others_own_reads_as_zero() {
    let world = World::new(Wishes::default());
    world.fake.0.background.set(0xFF);
    for bank in (0x80..0x400).step_by(0x80) {
        assert_eq!(
            load(&world, 0, GUEST_GICD + bank + 4, 2),
            u64::from(spis(0)[1])
        );
        assert_eq!(
            load(&world, 2, GUEST_GICD + bank + 4, 2),
            u64::from(spis(1)[1])
        );
        assert_eq!(load(&world, 0, GUEST_GICD + bank + 8, 2), 0);
    }
    // Sixteen trigger modes in a word: INTIDs 32 to 39 are in its lower half.
    assert_eq!(load(&world, 0, GUEST_GICD + 0xC08, 2), 0xFFFF);
    assert_eq!(load(&world, 2, GUEST_GICD + 0xC08, 2), 0xFFFF_0000);
}

#[test]
fn groups_and_trigger_modes_are_not_the_guests() {
    let world = World::running(Wishes::default());
    for register in [0x84, 0xC08, 0xD04, 0x804, 0xE04, 0xF00] {
        assert_eq!(store(&world, 0, GUEST_GICD + register, 2, u64::MAX), []);
    }
    for register in [0x80, 0xC00, 0xC04, 0xD00] {
        assert_eq!(
            store(&world, 0, GUEST_GICR + 0x1_0000 + register, 2, u64::MAX),
            []
        );
    }
}

#[test]
fn priorities_stay_below_the_monitors() {
    let world = World::running(Wishes::default());
    let effects = store(&world, 0, GUEST_GICD + 0x400 + 36, 2, 0x00_08_80_FF);
    let bytes = [0xFF, 0x80, 0x10, 0x10];
    let expected: Vec<_> = (0..4)
        .map(|at| write(GICD + 0x400 + 36 + at, 1, bytes[at as usize]))
        .collect();
    assert_eq!(effects, expected);
    let effects = store(&world, 0, GUEST_GICD + 0x400 + 39, 0, 0x1234_5600);
    assert_eq!(effects, [write(GICD + 0x400 + 39, 1, 0x10)]);
    assert_eq!(
        store(&world, 0, GUEST_GICD + 0x400 + 40, 0, 0),
        [],
        "another's"
    );
    assert_eq!(
        store(&world, 0, GUEST_GICD + 0x400 + 40, 2, 0),
        [],
        "another's"
    );
}

#[test]
fn private_interrupts_of_the_monitor_are_out_of_reach() {
    let world = World::running(Wishes::default());
    let frame = GUEST_GICR + 0x1_0000;
    let effects = store(&world, 0, frame + 0x180, 2, u64::MAX);
    assert_eq!(
        effects,
        [write(
            gicr(0) + 0x1_0000 + 0x180,
            4,
            u64::from(GUEST_PRIVATE)
        )]
    );
    for intid in HYPERVISOR {
        assert_eq!(store(&world, 0, frame + 0x400 + intid, 0, 0), []);
    }
    world.fake.poke(gicr(0) + 0x1_0100, 4, u64::MAX);
    assert_eq!(load(&world, 0, frame + 0x100, 2), u64::from(GUEST_PRIVATE));
}

#[test]
fn redistributors_of_own_cores_only() {
    let world = World::running(Wishes::default());
    let second = GUEST_GICR + 0x2_0000 + 0x1_0000 + 0x100;
    let effects = store(&world, 0, second, 2, 1 << 27);
    assert_eq!(effects, [write(gicr(1) + 0x1_0000 + 0x100, 4, 1 << 27)]);
    world.cores[2].frame.set_ipa(GUEST_GICR + 0x2_0000);
    assert_eq!(
        world.exception(2, access(2, 3, false)),
        End::Resumed,
        "a violation"
    );
}

#[test]
fn lpis_are_hidden_and_their_tables_out_of_reach() {
    let world = World::running(Wishes::default());
    world.fake.poke(gicr(0) + 8, 8, u64::MAX);
    assert_eq!(load(&world, 0, GUEST_GICR + 8, 3), 0);
    for register in [0x0, 0x40, 0x48, 0x70, 0x78, 0xA0, 0xB0, 0x14] {
        for size in [2, 3] {
            assert_eq!(
                store(&world, 0, GUEST_GICR + (register & !7), size, u64::MAX),
                []
            );
        }
        assert_eq!(load(&world, 0, GUEST_GICR + register, 2), 0);
    }
}

#[test]
fn the_last_own_redistributor_says_so() {
    let world = World::running(Wishes::default());
    let last = |core, rank: u64| load(&world, core, GUEST_GICR + 0x2_0000 * rank + 8, 2) >> 4 & 1;
    assert_eq!((last(0, 0), last(0, 1), last(2, 0)), (0, 1, 1));
}

#[test]
fn redistributors_and_routes_have_virtual_affinities() {
    let world = World::running(Wishes::default());
    let second = load(&world, 0, GUEST_GICR + 0x2_0000 + 8, 3);
    assert_eq!(
        second,
        1 << 32 | 1 << 8 | 1 << 4,
        "affinity and number are the rank"
    );
    assert_eq!(
        load(&world, 0, GUEST_GICR + 0x2_0000 + 12, 2),
        1,
        "the upper half"
    );
    let only = load(&world, 2, GUEST_GICR + 8, 3);
    assert_eq!(only, 1 << 4, "whatever core it runs on");
    let spi = 32 + 8 + 1;
    let effects = store(&world, 2, GUEST_GICD + 0x6000 + 8 * spi, 3, 0);
    assert_eq!(effects, [write(GICD + 0x6000 + 8 * spi, 8, mpidr(2))]);
}

#[test]
fn interrupts_are_routed_to_own_cores_only() {
    let world = World::running(Wishes::default());
    let router = |intid: u64| 0x6000 + 8 * intid;
    let effects = store(&world, 0, GUEST_GICD + router(33), 3, 1 | 1 << 31);
    assert_eq!(effects, [write(GICD + router(33), 8, mpidr(1))]);
    assert_eq!(
        store(&world, 0, GUEST_GICD + router(33), 3, 2),
        [],
        "another's core"
    );
    assert_eq!(
        store(&world, 0, GUEST_GICD + router(40), 3, mpidr(0)),
        [],
        "another's interrupt"
    );
    assert_eq!(
        store(&world, 0, GUEST_GICD + router(33), 2, 1),
        [],
        "half of it"
    );
    world.fake.poke(GICD + router(33), 8, mpidr(1));
    assert_eq!(load(&world, 0, GUEST_GICD + router(33), 3), 1);
    assert_eq!(load(&world, 2, GUEST_GICD + router(33), 3), 0);
}

#[test]
fn the_control_register_is_the_partitions_own() {
    let world = World::running(Wishes::default());
    assert_eq!(store(&world, 0, GUEST_GICD, 2, u64::MAX), []);
    assert_eq!(load(&world, 0, GUEST_GICD, 2), 0x13);
    assert_eq!(load(&world, 2, GUEST_GICD, 2), 0x10);
    world.fake.poke(GICD, 4, 0xFFFF_FFFF);
    assert_eq!(
        load(&world, 2, GUEST_GICD, 2),
        0x50,
        "security states are the hardware's"
    );
}

#[test]
fn the_type_register_shows_neither_lpis_nor_security() {
    let world = World::running(Wishes::default());
    world.fake.poke(GICD + 4, 4, 0xFFFF_FFFF);
    assert_eq!(
        load(&world, 0, GUEST_GICD + 4, 2) & (1 << 17 | 1 << 16 | 1 << 8 | 1 << 10),
        0
    );
    world.fake.poke(GICD + 4, 4, 0x037A_0007);
    assert_eq!(load(&world, 0, GUEST_GICD + 4, 2), 0x0378_0007);
}

#[test]
fn loads_are_cut_and_extended_as_the_instruction_says() {
    let world = World::running(Wishes::default());
    world.fake.poke(GICD + 0x400 + 32, 4, 0x90A0_B0C0);
    let cases = [
        (0, 0, 1, 0xC0),
        (0, 1, 1, u64::MAX - 0x3F),
        (0, 1, 0, 0xFFFF_FFC0),
    ];
    for (size, signed, wide, expected) in cases {
        let frame = &world.cores[0].frame;
        frame.set_ipa(GUEST_GICD + 0x400 + 32);
        let esr = access(size, 3, false) & !(1 << 15) | signed << 21 | wide << 15;
        world.exception(0, esr);
        assert_eq!(frame.x(3), expected);
    }
    assert_eq!(load(&world, 0, GUEST_GICD + 0x400 + 34, 0), 0xA0);
}

#[test]
fn the_zero_register_is_no_register() {
    let world = World::running(Wishes::default());
    let frame = &world.cores[0].frame;
    frame.set_ipa(GUEST_GICD + 0x104);
    frame.set_elr(0x1000);
    world.exception(0, access(2, 31, true));
    assert_eq!(world.fake.take_effects(), [write(GICD + 0x104, 4, 0)]);
    world.exception(0, access(2, 31, false));
    assert_eq!(frame.elr(), 0x1008);
    assert_eq!(world.counters(0).traps[Trap::Distributor as usize], 2);
}

#[test]
fn accesses_with_an_incomplete_syndrome_are_violations() {
    let complete = access(2, 3, true);
    let cases = [
        ("writeback or pair", complete & !(1 << 24), 0),
        ("table walk", complete | 1 << 7, 0),
        ("permission", complete & !0x3F | 0x0F, 0),
        ("misaligned", complete, 2),
        ("misaligned double", access(3, 3, true), 0),
    ];
    for (what, esr, offset) in cases {
        let world = World::running(Wishes::default());
        world.cores[2].frame.set_ipa(GUEST_GICD + 0x104 + offset);
        assert_eq!(world.exception(2, esr), End::Resumed, "{what}");
        assert_eq!(world.faults(1).len(), 1);
    }
}

#[test]
fn big_endian_guests_find_registers_as_they_are() {
    let world = World::running(Wishes::default());
    let (at_el1, at_el0) = (0x5, 0x0);
    for (sctlr, spsr, swaps) in [
        (1 << 25, at_el1, true),
        (1 << 25, at_el0, false),
        (1 << 24, at_el0, true),
        (1 << 24, at_el1, false),
    ] {
        world.fake.0.sctlr.set(sctlr);
        world.cores[0].frame.set_spsr(spsr);
        let (word, half) = (GUEST_GICD + 0x104, GUEST_GICD + 0x6000 + 8 * 33);
        let value = 1_u32 << 3;
        let sent = if swaps { value.swap_bytes() } else { value };
        let effects = store(&world, 0, word, 2, u64::from(sent));
        assert_eq!(effects, [write(GICD + 0x104, 4, u64::from(value))]);
        let sent = if swaps { 1_u64.swap_bytes() } else { 1 };
        let effects = store(&world, 0, half, 3, sent);
        assert_eq!(effects, [write(GICD + 0x6000 + 8 * 33, 8, mpidr(1))]);
        world.fake.poke(GICD + 0x400 + 36, 4, 0x90A0_B0C0);
        let loaded = load(&world, 0, GUEST_GICD + 0x400 + 36, 2);
        let expected = if swaps { 0xC0B0_A090 } else { 0x90A0_B0C0 };
        assert_eq!(loaded, expected);
        assert_eq!(
            load(&world, 0, GUEST_GICD + 0x400 + 36, 0),
            0xC0,
            "a byte has no order"
        );
    }
}
