//! The driver on a model of the card

extern crate std;

use super::*;
use core::cell::{Cell, RefCell};
use core::sync::atomic::AtomicU64;
use std::vec::Vec;

/// The card's address of the first byte of the memory.
const BUS: u64 = 0x4_0000_1000;
const STRIDE: usize = 4;
const ALL: u64 = r::FEATURE_ADDRESS | r::FEATURE_VERSION_1 | r::FEATURE_PLATFORM;

/// Parts of the card that the driver uses, as in the standard.
struct Model<'a> {
    memory: &'a [AtomicU64],
    offered: u64,
    /// The longest queue it can.
    longest: u16,
    taken: Cell<u64>,
    select: Cell<[u32; 3]>,
    status: Cell<u8>,
    interrupt: Cell<bool>,
    queues: [Cell<[u64; 3]>; 2],
    enabled: [Cell<bool>; 2],
    /// Offered buffers taken, and used ones given back.
    done: [Cell<u16>; 2],
    sent: RefCell<Vec<Vec<u8>>>,
    notified: Cell<u32>,
    /// Says that it needs no telling.
    busy: bool,
    /// Capabilities that it hides.
    without: u8,
}

impl<'a> Model<'a> {
    fn new(memory: &'a [AtomicU64]) -> Self {
        Self {
            memory,
            offered: ALL | 1 << 15,
            longest: 256,
            taken: Cell::new(0),
            select: Cell::new([0; 3]),
            status: Cell::new(0xff),
            interrupt: Cell::new(false),
            queues: Default::default(),
            enabled: Default::default(),
            done: Default::default(),
            sent: RefCell::default(),
            notified: Cell::new(0),
            busy: false,
            without: 0,
        }
    }

    fn dma(&self) -> Dma<'a> {
        Dma::new(self.memory, BUS)
    }

    fn at(address: u64) -> usize {
        address.checked_sub(BUS).expect("within the memory") as usize
    }

    /// The next offered buffer: number, place, bytes, whether it may be written.
    fn next(&self, queue: usize) -> Option<(u64, usize, usize, bool)> {
        let [descriptors, driver, _] = self.queues[queue].get().map(Self::at);
        let done = self.done[queue].get();
        if self.dma().half(driver + 2) == done {
            return None;
        }
        let number = self
            .dma()
            .half(driver + 4 + 2 * usize::from(done % BUFFERS));
        let at = descriptors + 16 * usize::from(number);
        let word = self.dma().word(at + 8);
        let flags = (word >> 32) as u16;
        assert_eq!(flags & 1, 0, "no chains");
        let buffer = Self::at(self.dma().word(at));
        Some((number.into(), buffer, word as u32 as usize, flags & 2 != 0))
    }

    fn give_back(&self, queue: usize, number: u64, bytes: u64) {
        let [.., card] = self.queues[queue].get().map(Self::at);
        let done = self.done[queue].get();
        let at = card + 4 + 8 * usize::from(done % BUFFERS);
        let words = [number, bytes].map(|value| value as u32);
        self.dma().write(at, &words[0].to_le_bytes());
        self.dma().write(at + 4, &words[1].to_le_bytes());
        self.done[queue].set(done.wrapping_add(1));
        self.dma().set_half(card + 2, self.done[queue].get());
        self.dma().set_half(card, self.busy.into());
        let [_, driver, _] = self.queues[queue].get().map(Self::at);
        if self.dma().half(driver) & r::NO_INTERRUPT == 0 {
            self.interrupt.set(true);
        }
    }

    /// Sends what was offered.
    fn transmit(&self) {
        while let Some((number, at, bytes, written)) = self.next(1) {
            assert!(!written);
            let mut frame = std::vec![0; bytes];
            self.dma().read(at, &mut frame);
            assert_eq!(frame[..HEADER], [0; HEADER]);
            self.sent.borrow_mut().push(frame.split_off(HEADER));
            self.give_back(1, number, 0);
        }
    }

    /// A frame arrives; whether there was room.
    fn arrive(&self, frame: &[u8]) -> bool {
        let Some((number, at, bytes, written)) = self.next(0) else {
            return false;
        };
        assert!(written && bytes >= HEADER + frame.len());
        self.dma().write(at, &[0; HEADER]);
        self.dma().write(at + HEADER, frame);
        self.give_back(0, number, (HEADER + frame.len()) as u64);
        true
    }

    fn read(&self, at: usize) -> u64 {
        let [offered, _, queue] = self.select.get();
        match at {
            r::OFFERED => self.offered >> (32 * offered),
            r::STATUS => self.status.get().into(),
            r::QUEUE_SIZE => self.longest.into(),
            r::QUEUE_NOTIFY => queue.into(),
            _ => panic!("register {at:#x} is not read"),
        }
    }

    fn write(&self, at: usize, value: u64) {
        let [mut offered, mut taken, mut queue] = self.select.get();
        let selected = queue as usize;
        match at {
            r::OFFERED_SELECT => offered = value as u32,
            r::TAKEN_SELECT => taken = value as u32,
            r::QUEUE_SELECT => queue = value as u32,
            r::TAKEN => self.taken.set(self.taken.get() | value << (32 * taken)),
            r::STATUS => {
                let refused = self.taken.get() & !self.offered != 0;
                let keeps = if refused { !r::AGREED } else { !0 };
                self.status.set(value as u8 & keeps);
            }
            r::QUEUE_SIZE => assert_eq!(value, BUFFERS.into()),
            r::QUEUE_ENABLE => self.enabled[selected].set(true),
            0x20..0x38 => {
                let mut addresses = self.queues[selected].get();
                let place = &mut addresses[(at - 0x20) / 8];
                *place |= value << (at % 8 * 8);
                self.queues[selected].set(addresses);
            }
            _ => panic!("register {at:#x} is not written"),
        }
        self.select.set([offered, taken, queue]);
    }
}

/// The configuration page (number 6), or what is behind a base address register.
struct Window<'m, 'a>(&'m Model<'a>, u8);

/// Locations of the parts: all behind register 4.
const PARTS: [(u8, u32); 4] = [
    (r::COMMON, 0),
    (r::INTERRUPT, 0x1000),
    (r::DEVICE, 0x2000),
    (r::NOTIFY, 0x3000),
];

impl Window<'_, '_> {
    fn configuration(&self, at: usize) -> u64 {
        // Capabilities at 0x40, 0x60, …; the last one is not a vendor's.
        let (number, field) = ((at.saturating_sub(0x40)) / 0x20, at % 0x20);
        let part = PARTS.get(number);
        match (at, part, field) {
            (r::CAPABILITIES, ..) => 0x40,
            (_, Some((part, _)), 0) if *part == self.0.without => 0x11,
            (_, Some(_), 0) => r::VENDOR.into(),
            (_, Some(_), r::NEXT) => 0x40 + 0x20 * (number as u64 + 1),
            (_, Some((part, _)), r::PART) => (*part).into(),
            (_, Some(_), r::BAR) => 4,
            (_, Some((_, offset)), r::OFFSET) => (*offset).into(),
            (_, Some(_), r::MULTIPLIER) => STRIDE as u64,
            (_, None, r::NEXT) => 0,
            (_, None, _) => 0x11,
            _ => panic!("byte {at:#x} of the configuration is not read"),
        }
    }

    fn read(&self, at: usize) -> u64 {
        match (self.1, at) {
            (6, _) => self.configuration(at),
            (4, 0x1000) => u64::from(self.0.interrupt.take()),
            (4, 0x2000..0x2006) => at as u64 - 0x2000 + 0x50,
            (4, _) => self.0.read(at),
            _ => u64::MAX,
        }
    }

    fn write(&self, at: usize, value: u64) {
        match (self.1, at) {
            (4, 0x3000..) => {
                assert_eq!(at, 0x3000 + STRIDE * value as usize);
                self.0.notified.set(self.0.notified.get() + 1);
                if value == 1 {
                    self.0.transmit();
                }
            }
            (4, _) => self.0.write(at, value),
            _ => panic!("nothing is behind register {}", self.1),
        }
    }
}

impl Registers for Window<'_, '_> {
    fn byte(&self, offset: usize) -> u8 {
        self.read(offset) as u8
    }
    fn half(&self, offset: usize) -> u16 {
        self.read(offset) as u16
    }
    fn word(&self, offset: usize) -> u32 {
        self.read(offset) as u32
    }
    fn set_byte(&self, offset: usize, value: u8) {
        self.write(offset, value.into());
    }
    fn set_half(&self, offset: usize, value: u16) {
        self.write(offset, value.into());
    }
    fn set_word(&self, offset: usize, value: u32) {
        self.write(offset, value.into());
    }
}

impl<'m, 'a> Space for &'m Model<'a> {
    type Registers = Window<'m, 'a>;
    fn configuration(&self) -> Window<'m, 'a> {
        Window(self, 6)
    }
    fn bar(&self, number: u8) -> Window<'m, 'a> {
        Window(self, number)
    }
}

fn memory() -> Vec<AtomicU64> {
    // What was there before must not matter.
    (0..MEMORY / 8).map(|_| AtomicU64::new(!0)).collect()
}

fn start<'m, 'a>(model: &'m Model<'a>) -> Result<Card<'a, &'m Model<'a>>, Refused> {
    Card::start(Transport::find(model)?, model.dma())
}

fn frame(number: usize) -> Vec<u8> {
    let length = 60 + number * 37 % (FRAME - 59);
    (0..length).map(|byte| (byte * 7 + number) as u8).collect()
}

#[test]
fn a_card_is_brought_up_and_told_of_its_buffers() {
    let memory = memory();
    let model = Model::new(&memory);
    let card = start(&model).expect("it is one");
    assert_eq!(card.address(), [0x50, 0x51, 0x52, 0x53, 0x54, 0x55]);
    assert_eq!(model.taken.get(), ALL, "what it knows, and nothing else");
    assert_eq!(model.status.get(), 15);
    assert!(model.enabled.iter().all(Cell::get));
    assert!(!card.split().0.has_frame());
    assert_eq!(model.notified.get(), 1);
}

#[test]
fn frames_arrive_in_order_and_more_than_there_are_buffers() {
    let memory = memory();
    let model = Model::new(&memory);
    let mut card = start(&model).expect("it is one");
    let mut into = [0; FRAME];
    for round in 0..5 {
        for number in 0..usize::from(BUFFERS) {
            assert!(model.arrive(&frame(round * 100 + number)));
        }
        assert!(!model.arrive(&frame(0)), "no room");
        assert!(card.acknowledge() && !card.acknowledge());
        for number in 0..usize::from(BUFFERS) {
            let length = card.receive(&mut into).expect("one more");
            assert_eq!(into[..length], frame(round * 100 + number));
        }
        assert_eq!(card.receive(&mut into), None);
    }
}

#[test]
fn a_card_that_is_muted_keeps_what_comes() {
    let memory = memory();
    let model = Model::new(&memory);
    let (mut incoming, _) = start(&model).expect("it is one").split();
    incoming.set_mute(true);
    assert!(model.arrive(&frame(1)));
    assert!(!incoming.acknowledge(), "no interrupt");
    assert!(incoming.has_frame());
    incoming.set_mute(false);
    assert_eq!(incoming.receive(&mut [0; FRAME]), Some(frame(1).len()));
    assert!(model.arrive(&frame(2)) && incoming.acknowledge());
}

#[test]
fn the_halves_work_by_themselves() {
    let memory = memory();
    let model = Model::new(&memory);
    let (mut incoming, mut outgoing) = start(&model).expect("it is one").split();
    let mut into = [0; FRAME];
    for number in 0..3 * usize::from(BUFFERS) {
        assert!(model.arrive(&frame(number)));
        assert_eq!(outgoing.send(&frame(number + 7)), Ok(()));
        let length = incoming.receive(&mut into).expect("it came");
        assert_eq!(into[..length], frame(number));
    }
    assert_eq!(model.sent.take().len(), 3 * usize::from(BUFFERS));
}

#[test]
fn frames_are_sent_and_their_buffers_used_again() {
    let memory = memory();
    let model = Model::new(&memory);
    let mut card = start(&model).expect("it is one");
    for number in 0..3 * usize::from(BUFFERS) {
        assert_eq!(card.send(&frame(number)), Ok(()));
    }
    let sent = model.sent.take();
    assert!(
        sent.iter()
            .eq((0..sent.len()).map(frame).collect::<Vec<_>>().iter())
    );
    assert_eq!(sent.len(), 3 * usize::from(BUFFERS));
    assert!(!card.acknowledge(), "no interrupt for what was sent");
}

#[test]
fn a_card_that_does_not_send_leaves_no_buffer_free() {
    let memory = memory();
    let model = Model {
        busy: true,
        ..Model::new(&memory)
    };
    let mut card = start(&model).expect("it is one");
    // It says only then that it needs no telling.
    assert_eq!(card.send(&frame(0)), Ok(()));
    for number in 1..=usize::from(BUFFERS) {
        assert_eq!(card.send(&frame(number)), Ok(()));
    }
    assert_eq!(card.send(&frame(0)), Err(Full));
    model.transmit();
    assert_eq!(card.send(&frame(0)), Ok(()));
    assert_eq!(
        model.notified.get(),
        2,
        "told of the buffers and the first frame"
    );
}

#[test]
fn what_the_card_writes_is_not_believed() {
    let memory = memory();
    let model = Model::new(&memory);
    let mut card = start(&model).expect("it is one");
    for (number, bytes) in [(BUFFERS.into(), 100), (u64::MAX, 100)] {
        model.give_back(0, number, bytes);
    }
    assert_eq!(card.receive(&mut [0; FRAME]), None, "no such buffers");
    for (bytes, length) in [(0, 0), (5, 0), (u64::MAX, FRAME), (HEADER as u64 + 3, 3)] {
        model.give_back(0, 1, bytes);
        assert_eq!(card.receive(&mut [0; FRAME]), Some(length));
    }
    // An index that ran ahead shows old entries, and ends.
    let [.., area] = model.queues[0].get().map(Model::at);
    let ahead = model.done[0].get().wrapping_sub(1);
    model.dma().set_half(area + 2, ahead);
    let taken = (0..=u16::MAX).map_while(|_| card.receive(&mut [0]));
    assert!(taken.count() < 1 << 16);
}

#[test]
fn what_is_no_such_card_is_refused() {
    let memory = memory();
    let refused = |model: Model<'_>| start(&model).err();
    for (part, _) in PARTS {
        let model = Model {
            without: part,
            ..Model::new(&memory)
        };
        assert_eq!(refused(model), Some(Refused::Part(part)));
    }
    let old = Model {
        offered: r::FEATURE_ADDRESS,
        ..Model::new(&memory)
    };
    assert_eq!(refused(old), Some(Refused::Features));
    let short = Model {
        longest: BUFFERS / 2,
        ..Model::new(&memory)
    };
    assert_eq!(refused(short), Some(Refused::Queue(RECEIVE)));
    let little = Model::new(&memory[1..]);
    assert_eq!(refused(little), Some(Refused::Memory));
    let other = Model {
        status: Cell::new(0),
        offered: r::FEATURE_VERSION_1,
        ..Model::new(&memory)
    };
    assert_eq!(
        refused(other),
        None,
        "it need not have an address or a platform"
    );
}
