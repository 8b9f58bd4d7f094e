//! The PCI transport: where a card's registers are, and how it is brought up (4.1, 3.1)

use crate::registers as r;

/// Registers at offsets.
pub trait Registers {
    /// Reads a byte.
    fn byte(&self, offset: usize) -> u8;
    /// Reads two.
    fn half(&self, offset: usize) -> u16;
    /// Reads four.
    fn word(&self, offset: usize) -> u32;
    /// Writes a byte.
    fn set_byte(&self, offset: usize, value: u8);
    /// Writes two.
    fn set_half(&self, offset: usize, value: u16);
    /// Writes four.
    fn set_word(&self, offset: usize, value: u32);
}

/// Address spaces of a function: its configuration page and the regions of its base address registers.
pub trait Space {
    /// One of them.
    type Registers: Registers;
    /// The configuration page.
    fn configuration(&self) -> Self::Registers;
    /// Returns the region of base address register `number`; an absent one reads as ones.
    fn bar(&self, number: u8) -> Self::Registers;
}

/// Why a card is not started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The device lacks a part that the standard requires.
    Part(u8),
    /// The device is older than version 1, or refuses the features.
    Features,
    /// The device lacks the queue, or has a shorter one.
    Queue(u16),
    /// Less memory than [`crate::MEMORY`].
    Memory,
}

/// A part of the registers.
#[derive(Clone, Copy, Debug, Default)]
struct Part {
    bar: u8,
    offset: usize,
}

/// A function's registers, found.
#[derive(Clone, Debug)]
pub struct Transport<S> {
    space: S,
    common: Part,
    notify: Part,
    interrupt: Part,
    device: Part,
    /// Bytes between the places where two queues are told of.
    multiplier: usize,
    notify_at: [usize; 2],
}

/// Capabilities there can be: a list that runs in a circle ends, too.
const MOST: usize = 48;

impl<S: Space> Transport<S> {
    /// Finds the parts of the function's registers.
    ///
    /// # Errors
    /// [`Refused::Part`].
    pub fn find(space: S) -> Result<Self, Refused> {
        let configuration = space.configuration();
        let mut found = [None; 5];
        let mut multiplier = 0;
        let mut at = usize::from(configuration.byte(r::CAPABILITIES)) & !3;
        for _ in 0..MOST {
            if at == 0 {
                break;
            }
            let part = configuration.byte(at + r::PART);
            if configuration.byte(at) == r::VENDOR
                && let Some(place @ None) = found.get_mut(usize::from(part))
            {
                *place = Some(Part {
                    bar: configuration.byte(at + r::BAR),
                    offset: configuration.word(at + r::OFFSET) as usize,
                });
                if part == r::NOTIFY {
                    multiplier = configuration.word(at + r::MULTIPLIER) as usize;
                }
            }
            at = usize::from(configuration.byte(at + r::NEXT)) & !3;
        }
        let part = |number: u8| found[usize::from(number)].ok_or(Refused::Part(number));
        Ok(Self {
            common: part(r::COMMON)?,
            notify: part(r::NOTIFY)?,
            interrupt: part(r::INTERRUPT)?,
            device: part(r::DEVICE)?,
            space,
            multiplier,
            notify_at: [0; 2],
        })
    }

    fn common(&self, offset: usize) -> (S::Registers, usize) {
        (self.space.bar(self.common.bar), self.common.offset + offset)
    }

    fn word(&self, offset: usize) -> u32 {
        let (registers, at) = self.common(offset);
        registers.word(at)
    }

    fn set_word(&self, offset: usize, value: u32) {
        let (registers, at) = self.common(offset);
        registers.set_word(at, value);
    }

    fn half(&self, offset: usize) -> u16 {
        let (registers, at) = self.common(offset);
        registers.half(at)
    }

    fn set_half(&self, offset: usize, value: u16) {
        let (registers, at) = self.common(offset);
        registers.set_half(at, value);
    }

    fn status(&self) -> u8 {
        let (registers, at) = self.common(r::STATUS);
        registers.byte(at)
    }

    fn set_status(&self, value: u8) {
        let (registers, at) = self.common(r::STATUS);
        registers.set_byte(at, value);
    }

    /// Resets the card and agrees with it on version 1 and what of `wanted` it has.
    pub(crate) fn negotiate(&self, requested: u64) -> Result<(), Refused> {
        self.set_status(0);
        // A card takes its time; one that never says that it is done is none (4.1.4.3.2).
        if !(0..1_000_000).any(|_| self.status() == 0) {
            return Err(Refused::Features);
        }
        self.set_status(r::ACKNOWLEDGED | r::DRIVER);
        let offered = [0, 1].map(|half: u32| {
            self.set_word(r::OFFERED_SELECT, half);
            u64::from(self.word(r::OFFERED)) << (32 * half)
        });
        let offered = offered[0] | offered[1];
        if offered & r::FEATURE_VERSION_1 == 0 {
            return Err(Refused::Features);
        }
        let taken = offered & (requested | r::FEATURE_VERSION_1 | r::FEATURE_PLATFORM);
        for half in 0..2 {
            self.set_word(r::TAKEN_SELECT, half);
            self.set_word(r::TAKEN, (taken >> (32 * half)) as u32);
        }
        self.set_status(r::ACKNOWLEDGED | r::DRIVER | r::AGREED);
        match self.status() & r::AGREED {
            0 => Err(Refused::Features),
            _ => Ok(()),
        }
    }

    /// Sets up a queue of `size` entries.
    pub(crate) fn queue(
        &mut self,
        number: u16,
        size: u16,
        addresses: [u64; 3],
    ) -> Result<(), Refused> {
        self.set_half(r::QUEUE_SELECT, number);
        if self.half(r::QUEUE_SIZE) < size {
            return Err(Refused::Queue(number));
        }
        self.set_half(r::QUEUE_SIZE, size);
        for (register, address) in r::QUEUE_ADDRESSES.into_iter().zip(addresses) {
            self.set_word(register, address as u32);
            self.set_word(register + 4, (address >> 32) as u32);
        }
        let place = usize::from(self.half(r::QUEUE_NOTIFY));
        if let Some(at) = self.notify_at.get_mut(usize::from(number)) {
            *at = self.notify.offset + place * self.multiplier;
        }
        self.set_half(r::QUEUE_ENABLE, 1);
        Ok(())
    }

    /// Lets the card work.
    pub(crate) fn run(&self) -> Result<(), Refused> {
        let status = r::ACKNOWLEDGED | r::DRIVER | r::AGREED | r::RUNNING;
        crate::order();
        self.set_status(status);
        match self.status() == status {
            true => Ok(()),
            false => Err(Refused::Features),
        }
    }

    pub(crate) fn notify(&self, queue: u16) {
        if let Some(&at) = self.notify_at.get(usize::from(queue)) {
            self.space.bar(self.notify.bar).set_half(at, queue);
        }
    }

    pub(crate) fn acknowledge(&self) -> bool {
        let registers = self.space.bar(self.interrupt.bar);
        registers.byte(self.interrupt.offset) & 1 != 0
    }

    pub(crate) fn address(&self) -> [u8; 6] {
        let registers = self.space.bar(self.device.bar);
        let byte = |number: usize| registers.byte(self.device.offset + number);
        [0, 1, 2, 3, 4, 5].map(byte)
    }
}
