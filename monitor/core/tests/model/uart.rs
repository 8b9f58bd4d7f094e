//! The emulated UART

use crate::fake::End;
use crate::interrupt_controller::access;
use crate::world::{
    CONSOLE_IN, CONSOLE_IN_BYTES, CONSOLE_OUT, CONSOLE_OUT_BYTES, GUEST_UART, Wishes, World,
};
use bulkhead_abi::config::flags;
use bulkhead_abi::status::Trap;

const DATA: u64 = GUEST_UART;
const FLAGS: u64 = GUEST_UART + 0x18;

fn world() -> World {
    World::running(Wishes {
        flags: flags::EMULATED_UART,
        ..Wishes::default()
    })
}

fn write(world: &World, ipa: u64, value: u64) {
    world.cores[0].frame.set_ipa(ipa);
    world.cores[0].frame.set_x(1, value);
    assert_eq!(world.exception(0, access(2, 1, true)), End::Returned);
}

fn read(world: &World, ipa: u64) -> u64 {
    world.cores[0].frame.set_ipa(ipa);
    assert_eq!(world.exception(0, access(2, 1, false)), End::Returned);
    world.cores[0].frame.x(1)
}

fn feed(world: &World, text: &[u8]) {
    let tail = world.fake.read(CONSOLE_IN, 8);
    for (at, &byte) in (tail..).zip(text) {
        world.fake.poke(
            CONSOLE_IN + 128 + 8 * (at % CONSOLE_IN_BYTES),
            8,
            u64::from(byte),
        );
    }
    world.fake.poke(CONSOLE_IN, 8, tail + text.len() as u64);
}

#[test]
fn output_is_recorded_and_overwrites_the_oldest() {
    let world = world();
    let text = b"a line that is longer than the recorder";
    for &byte in text {
        write(&world, DATA, u64::from(byte) | 0xFFFF_FF00);
    }
    let length = text.len() as u64;
    assert_eq!(world.fake.read(CONSOLE_OUT, 8), length);
    assert_eq!(world.fake.read(CONSOLE_OUT + 8, 8), length);
    for at in length - CONSOLE_OUT_BYTES..length {
        let kept = world
            .fake
            .read(CONSOLE_OUT + 64 + at % CONSOLE_OUT_BYTES, 1);
        assert_eq!(kept, u64::from(text[at as usize]));
    }
    assert_eq!(world.counters(0).traps[Trap::Uart as usize], length);
}

#[test]
fn input_arrives_once_and_in_order() {
    let world = world();
    assert_eq!(read(&world, FLAGS), 0x90);
    assert_eq!(read(&world, DATA), 0);
    feed(&world, b"abc");
    assert_eq!(read(&world, FLAGS), 0x80);
    feed(&world, b"d");
    let text: Vec<_> = (0..4).map(|_| read(&world, DATA) as u8).collect();
    assert_eq!(text, b"abcd");
    assert_eq!(read(&world, FLAGS), 0x90);
}

#[test]
fn nonsense_in_the_rings_stays_inside() {
    let world = world();
    for cursor in [u64::MAX, 1 << 63, 5] {
        world.fake.poke(CONSOLE_IN + 64, 8, cursor);
        world.fake.poke(CONSOLE_OUT + 8, 8, cursor);
        read(&world, DATA);
        write(&world, DATA, 0x41);
    }
    let memory = world.fake.0.memory.borrow();
    let end = CONSOLE_OUT + 64 + CONSOLE_OUT_BYTES;
    assert!(!memory.keys().any(|pa| (end..CONSOLE_IN).contains(pa)));
}

#[test]
fn it_is_a_pl011_and_does_nothing_else() {
    let world = world();
    let identity: Vec<_> = (0..8)
        .map(|n| read(&world, GUEST_UART + 0xFE0 + 4 * n))
        .collect();
    assert_eq!(identity, [0x11, 0x10, 0x14, 0x00, 0x0D, 0xF0, 0x05, 0xB1]);
    for register in [0x04, 0x24, 0x2C, 0x30, 0x34, 0x38, 0x3C, 0x40, 0x44, 0x48] {
        write(&world, GUEST_UART + register, u64::MAX);
        assert_eq!(read(&world, GUEST_UART + register), 0);
    }
}

#[test]
fn without_emulation_there_is_no_such_device() {
    let world = World::running(Wishes::default());
    world.cores[2].frame.set_ipa(DATA);
    assert_eq!(
        world.exception(2, access(2, 1, true)),
        End::Resumed,
        "a violation"
    );
}
