//! A split queue: descriptors, what the driver offers, what the card has used (2.7)
//!
//! Each buffer is one descriptor of the same number, so nothing has to be chained or looked for.

use crate::memory::Dma;
use crate::registers as r;
use crate::{BUFFERS, order};

/// Offsets of a queue in its memory, bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    pub(crate) at: usize,
}

const DESCRIPTOR: usize = 16;
/// The driver's area is behind the descriptors, the card's behind that.
const DRIVER: usize = DESCRIPTOR * BUFFERS as usize;
const CARD: usize = (DRIVER + 4 + 2 * BUFFERS as usize).next_multiple_of(8);
const END: usize = CARD + 4 + 8 * BUFFERS as usize;

const _: () = assert!(BUFFERS.is_power_of_two() && END <= crate::QUEUE);

impl Layout {
    /// Of the three areas, as the card calls them.
    pub(crate) fn addresses(self, memory: Dma<'_>) -> [u64; 3] {
        [0, DRIVER, CARD].map(|part| memory.bus(self.at + part))
    }

    pub(crate) fn clear(self, memory: Dma<'_>) {
        for word in (0..END).step_by(8) {
            memory.set_word(self.at + word, 0);
        }
    }
}

/// A queue in use.
#[derive(Debug)]
pub(crate) struct Queue {
    at: usize,
    /// Buffers offered and taken back, ever.
    offered: u16,
    taken: u16,
}

impl Queue {
    pub(crate) const fn new(layout: Layout) -> Self {
        Self {
            at: layout.at,
            offered: 0,
            taken: 0,
        }
    }

    /// Asks the card not to interrupt for it, or to do so.
    pub(crate) fn set_mute(&self, memory: Dma<'_>, mute: bool) {
        let flags = if mute { r::NO_INTERRUPT } else { 0 };
        memory.set_half(self.at + DRIVER, flags);
    }

    /// Says where buffer `number` is, and whether the card writes it.
    pub(crate) fn describe(
        &self,
        memory: Dma<'_>,
        number: u16,
        buffer: usize,
        bytes: usize,
        written: bool,
    ) {
        let at = self.at + DESCRIPTOR * usize::from(number);
        let flags = if written { r::WRITTEN } else { 0 };
        memory.set_word(at, memory.bus(buffer));
        memory.set_word(at + 8, bytes as u64 | u64::from(flags) << 32);
    }

    /// Offers a buffer to the card.
    pub(crate) fn publish(&mut self, memory: Dma<'_>, number: u16) {
        let place = usize::from(self.offered % BUFFERS);
        memory.set_half(self.at + DRIVER + 4 + 2 * place, number);
        order();
        self.offered = self.offered.wrapping_add(1);
        memory.set_half(self.at + DRIVER + 2, self.offered);
    }

    /// Returns true if the card asks for notifications of new buffers.
    pub(crate) fn wants_notice(&self, memory: Dma<'_>) -> bool {
        order();
        memory.half(self.at + CARD) & r::NO_NOTICE == 0
    }

    pub(crate) fn has_used(&self, memory: Dma<'_>) -> bool {
        memory.half(self.at + CARD + 2) != self.taken
    }

    /// A buffer that the card has done with, and how many bytes it says it wrote.
    pub(crate) fn used(&mut self, memory: Dma<'_>) -> Option<(u16, usize)> {
        // What is wrong in more of them than there can be is left for the next time.
        for _ in 0..BUFFERS {
            if !self.has_used(memory) {
                return None;
            }
            order();
            let entry = self.at + CARD + 4 + 8 * usize::from(self.taken % BUFFERS);
            let number = memory.word(entry) >> 32;
            let bytes = memory.word(entry + 4) as u32;
            self.taken = self.taken.wrapping_add(1);
            if number < BUFFERS.into() {
                return Some((number as u16, bytes as usize));
            }
        }
        None
    }
}
