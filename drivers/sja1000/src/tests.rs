//! The driver on a model of the registers

extern crate std;

use super::*;
use crate::frame::{MOST_BYTES, decode, encode};
use core::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::vec::Vec;

const SETTINGS: Settings = Settings::PCICAN_KBIT_500;

/// Registers that the driver uses, as in the data sheet.
#[derive(Default)]
struct Model {
    mode: Cell<u8>,
    status: Cell<u8>,
    enabled: Cell<u8>,
    divider: Cell<u8>,
    timing: Cell<[u8; 2]>,
    mask: Cell<[u8; 8]>,
    errors: Cell<[u8; 2]>,
    buffer: RefCell<[u8; MOST_BYTES]>,
    waiting: RefCell<VecDeque<[u8; MOST_BYTES]>>,
    sent: RefCell<Vec<[u8; MOST_BYTES]>>,
}

impl Model {
    fn new() -> Self {
        let model = Self::default();
        model.mode.set(r::RESET_MODE);
        model.status.set(r::TRANSMITTER_FREE);
        model
    }

    fn resets(&self) -> bool {
        self.mode.get() & r::RESET_MODE != 0
    }

    fn arrive(&self, bytes: [u8; MOST_BYTES]) {
        let mut waiting = self.waiting.borrow_mut();
        if waiting.len() == 5 {
            self.status.set(self.status.get() | r::OVERRUN);
        } else {
            waiting.push_back(bytes);
        }
    }

    /// Too many errors (data sheet, 6.4.5): reset mode by itself, the counter at 127.
    fn go_off(&self) {
        self.mode.set(self.mode.get() | r::RESET_MODE);
        self.status.set(self.status.get() | r::BUS_OFF);
        self.errors.set([0, 127]);
    }
}

impl Registers for &Model {
    fn read(&self, register: u8) -> u8 {
        match register {
            r::MODE => self.mode.get(),
            r::STATUS => self.status.get() | u8::from(!self.waiting.borrow().is_empty()),
            r::FRAME..=28 => match self.waiting.borrow().front() {
                Some(frame) => frame[usize::from(register - r::FRAME)],
                None => 0xa5,
            },
            _ => 0,
        }
    }

    fn write(&self, register: u8, value: u8) {
        let put = |cell: &Cell<[u8; 2]>, place: usize| {
            let mut both = cell.get();
            both[place] = value;
            cell.set(both);
        };
        match register {
            r::MODE => {
                self.mode.set(value);
                if !self.resets() {
                    self.status.set(self.status.get() & !r::BUS_OFF);
                }
            }
            r::COMMAND => {
                if value & r::RELEASE != 0 {
                    self.waiting.borrow_mut().pop_front();
                }
                if value & r::CLEAR_OVERRUN != 0 {
                    self.status.set(self.status.get() & !r::OVERRUN);
                }
                if value & r::TRANSMIT != 0 && !self.resets() {
                    self.sent.borrow_mut().push(*self.buffer.borrow());
                    self.status.set(self.status.get() & !r::TRANSMITTER_FREE);
                }
            }
            r::INTERRUPT_ENABLE => self.enabled.set(value),
            6 | 7 if self.resets() => put(&self.timing, usize::from(register - 6)),
            14 | 15 if self.resets() => put(&self.errors, usize::from(register - 14)),
            16..=23 if self.resets() => {
                let mut mask = self.mask.get();
                mask[usize::from(register - 16)] = value;
                self.mask.set(mask);
            }
            r::FRAME..=28 if !self.resets() => {
                self.buffer.borrow_mut()[usize::from(register - r::FRAME)] = value;
            }
            r::CLOCK_DIVIDER => self.divider.set(value),
            _ => {}
        }
    }
}

fn bytes(head: u8, rest: &[u8]) -> [u8; MOST_BYTES] {
    let mut all = [0; MOST_BYTES];
    all[0] = head;
    all[1..=rest.len()].copy_from_slice(rest);
    all
}

#[test]
fn it_starts_open_to_everything() {
    let model = Model::new();
    Sja1000::start(&model, SETTINGS).unwrap();
    assert!(!model.resets());
    assert_eq!(model.timing.get(), SETTINGS.timing);
    assert_eq!(model.mask.get(), [0, 0, 0, 0, 255, 255, 255, 255]);
    assert_eq!(model.enabled.get(), r::INTERRUPTS);
    assert_ne!(model.divider.get() & 1 << 7, 0);
}

#[test]
fn where_nothing_is_nothing_starts() {
    struct Ones;
    impl Registers for Ones {
        fn read(&self, _: u8) -> u8 {
            0
        }
        fn write(&self, _: u8, _: u8) {}
    }
    assert_eq!(Sja1000::start(Ones, SETTINGS).err(), Some(Absent));
}

#[test]
fn frames_are_laid_out_as_the_data_sheet_says() {
    let model = Model::new();
    let controller = Sja1000::start(&model, SETTINGS).unwrap();
    controller.send(&Frame::new(0x123, &[1, 2, 3])).unwrap();
    assert_eq!(model.sent.borrow()[0], bytes(3, &[0x24, 0x60, 1, 2, 3]));
    assert_eq!(controller.send(&Frame::new(1, &[])), Err(Refused::Busy));
    model.status.set(r::TRANSMITTER_FREE);
    let long = Frame {
        id: 0x1234_5678,
        extended: true,
        ..Frame::new(0, &[9; 8])
    };
    controller.send(&long).unwrap();
    let sent = model.sent.borrow()[1];
    assert_eq!(sent[..6], [0x88, 0x91, 0xa2, 0xb3, 0xc0, 9]);
    let mut counters = Counters::default();
    model.arrive(sent);
    assert_eq!(controller.receive(&mut counters), Some(long));
    assert_eq!(controller.receive(&mut counters), None);
    assert_eq!(counters, Counters::default());
}

#[test]
fn malformed_frames_are_counted_and_passed_over() {
    let model = Model::new();
    let controller = Sja1000::start(&model, SETTINGS).unwrap();
    let mut counters = Counters::default();
    model.arrive(bytes(9, &[0, 0]));
    model.arrive(bytes(r::REMOTE | 1, &[0, 0]));
    model.arrive(bytes(15 | r::EXTENDED, &[0, 0]));
    model.arrive(bytes(1, &[0x20, 0, 7]));
    let frame = controller.receive(&mut counters).unwrap();
    assert_eq!((frame.id, frame.bytes()), (0x100, &[7][..]));
    assert_eq!(counters.malformed, 3);
}

#[test]
fn an_overrun_is_counted_once() {
    let model = Model::new();
    let controller = Sja1000::start(&model, SETTINGS).unwrap();
    let mut counters = Counters::default();
    (0..7).for_each(|_| model.arrive(bytes(0, &[0, 0])));
    controller.attend(&mut counters);
    controller.attend(&mut counters);
    assert_eq!(counters.overruns, 1);
    let frames = core::iter::from_fn(|| controller.receive(&mut counters));
    assert_eq!(frames.count(), 5);
}

#[test]
fn it_comes_back_from_bus_off() {
    let model = Model::new();
    let controller = Sja1000::start(&model, SETTINGS).unwrap();
    let mut counters = Counters::default();
    model.go_off();
    assert_eq!(controller.send(&Frame::new(1, &[])), Err(Refused::Off));
    controller.attend(&mut counters);
    assert_eq!(counters.bus_offs, 1);
    assert_eq!(model.errors.get(), [0, 0]);
    assert_eq!(model.enabled.get(), r::INTERRUPTS);
    controller.send(&Frame::new(1, &[])).unwrap();
    controller.attend(&mut counters);
    assert_eq!(counters.bus_offs, 1);
}

#[test]
fn all_bytes_decode_to_what_encodes_to_them_again() {
    let mut seed = 1_u64;
    let mut random = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 56) as u8
    };
    for _ in 0..20_000 {
        let bytes: [u8; MOST_BYTES] = core::array::from_fn(|_| random());
        if let Ok(frame) = decode(&bytes) {
            assert!(frame.length <= 8 && frame.id < 1 << 29);
            let (encoded, _) = encode(&frame);
            assert_eq!(decode(&encoded), Ok(frame));
        }
    }
}
