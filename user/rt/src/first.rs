//! What the first component of a partition starts with
//!
//! It holds every capability there is. Pages are handed out one after the other, and so are free
//! addresses of its own space.
#![expect(unsafe_code, reason = "mapped addresses become memory")]

mod boot_data;
mod components;

pub use boot_data::{Timing, argument, argument_text};
pub use components::{Component, SHARED_ADDRESS, Shared, Subsystem, shared};

use crate::call::{Answer, call};
use crate::stack::Stack;
use bulkhead_abi::PAGE_SIZE;
use bulkhead_abi::guest::Function;
use bulkhead_abi::kernel::{
    IMAGE, Operation, Rights, SLOTS, STACK_PAGES, STACK_TOP, Status, first,
};

/// End of the addresses that are handed out: the guard of the stack.
const END: u64 = STACK_TOP - (STACK_PAGES + 1) * PAGE_SIZE;

const THREAD_STACK_PAGES: u64 = 2;

unsafe extern "C" {
    safe static __image_end: u8;
}

/// End of the component's image: from here on addresses are handed out.
pub(crate) fn image_end() -> u64 {
    (&raw const __image_end).addr() as u64
}

/// Leaf and place of one of a component's own slots: the last slot of a leaf holds the next leaf.
#[must_use]
pub const fn leaf_of(slot: u64) -> [u64; 2] {
    match slot / SLOTS {
        0 => [first::LEAF, slot],
        leaf => [leaf * SLOTS - 1, slot % SLOTS],
    }
}

/// Empties one of a component's own slots.
///
/// # Errors
/// The kernel's refusal.
pub fn empty(slot: u64) -> Result<(), Status> {
    let [leaf, place] = leaf_of(slot);
    call(leaf, Operation::Remove, [place]).map(|_| ())
}

/// A page of [`first::MEMORY`] and a slot: what the first component hands out next.
#[derive(Clone, Copy, Debug, Default)]
pub struct Position {
    /// Number of the page.
    pub page: u64,
    /// The slot.
    pub slot: u64,
}

/// The first component's means.
#[derive(Debug)]
pub struct First {
    index: u64,
    guest_page: u64,
    window: u64,
    /// Guest-physical address of page 0 of [`first::MEMORY`].
    memory: u64,
    address: u64,
    page: u64,
    slot: u64,
    /// Slots from here on were never handed out.
    fresh: u64,
    /// Where addresses, pages and slots end.
    address_end: u64,
    end: Position,
    /// Pages of the stacks of threads.
    stack_pages: u64,
    /// The last stack that was made.
    last_stack: Stack,
}

/// Addresses that pages mapped for a moment take turns at: an entry that was unmapped rests until all cores were
/// quiet.
const BRIEFLY: u64 = 32;

/// Maps a page at a free entry of the last level; `false` where another core may hold the former translation.
fn map_entry(words: [u64; 4]) -> Result<bool, Status> {
    match call(first::PAGES[2], Operation::Map, words) {
        Ok(_) => Ok(true),
        Err(Status::Resting) => Ok(false),
        Err(status) => Err(status),
    }
}

impl First {
    pub(crate) fn new(index: u64, guest_page: u64, window: u64, memory: u64) -> Self {
        Self {
            index,
            guest_page,
            window,
            memory,
            address: image_end(),
            page: 0,
            slot: first::FREE,
            fresh: first::FREE,
            address_end: END,
            end: Position {
                page: u64::MAX,
                slot: u64::MAX,
            },
            stack_pages: THREAD_STACK_PAGES,
            last_stack: Stack {
                bottom: END,
                pages: 0,
            },
        }
    }

    /// The stack of the thread that was made last.
    #[must_use]
    pub const fn last_stack(&self) -> Stack {
        self.last_stack
    }

    /// Gives threads that are made from now on stacks of so many pages; without a number, of as many as is usual.
    pub fn set_stack_pages(&mut self, pages: Option<u64>) {
        self.stack_pages = pages.unwrap_or(THREAD_STACK_PAGES);
    }

    /// A part of it, for a thread of another core: `pages` pages of memory, addresses for as many, and the
    /// slots of one leaf, but the last.
    ///
    /// # Errors
    /// No free addresses.
    pub fn part(&mut self, pages: u64) -> Result<Self, Status> {
        let address_end = self.address + pages * PAGE_SIZE;
        if address_end > self.address_end {
            return Err(Status::BadArgument);
        }
        let slot = loop {
            let slot = self.slot();
            if slot.is_multiple_of(SLOTS) {
                break slot;
            }
        };
        let part = Self {
            slot,
            address_end,
            end: Position {
                page: self.page + pages,
                slot: slot + SLOTS - 1,
            },
            ..*self
        };
        (self.address, self.page) = (address_end, part.end.page);
        // The last slot holds the next leaf.
        self.slot = part.end.slot;
        self.slot();
        Ok(part)
    }

    /// The same, in a component whose table has more in it: slots from `slot` on are empty.
    #[must_use]
    pub const fn with_slots_from(mut self, slot: u64) -> Self {
        self.slot = slot;
        self
    }

    /// Has the next `slots` slots lie in one leaf.
    pub fn keep_together(&mut self, slots: u64) {
        while self.slot % SLOTS + slots >= SLOTS {
            self.slot();
        }
    }

    /// What it hands out next.
    #[must_use]
    pub const fn position(&self) -> Position {
        Position {
            page: self.page,
            slot: self.slot,
        }
    }

    /// Hands out from there on, what was handed out before, too: it was given up since.
    pub const fn go_to(&mut self, position: Position) {
        self.page = position.page;
        self.slot = position.slot;
    }

    /// Empties its slots from `slot` on, which it handed out last.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn release(&mut self, slot: u64) -> Result<(), Status> {
        // A slot that holds a leaf keeps it.
        let emptied = |used: &u64| used % SLOTS != SLOTS - 1;
        for used in (slot..self.slot).filter(emptied) {
            empty(used)?;
        }
        self.fresh = self.fresh.max(self.slot);
        self.slot = slot;
        Ok(())
    }

    /// Hands out from now on slots that it never handed out: none that rests.
    pub fn skip_released(&mut self) {
        self.slot = self.fresh.max(self.slot);
    }

    /// Index of the thread that started here; the others' means are only the first component's.
    #[must_use]
    pub const fn index(&self) -> u64 {
        self.index
    }

    /// The next page of [`first::MEMORY`]; where there is none, a number that the kernel refuses.
    pub fn page(&mut self) -> u64 {
        if self.page == self.end.page {
            return u64::MAX;
        }
        self.page += 1;
        self.page - 1
    }

    /// The next empty slot of its table. The last one of a leaf holds the next leaf; where that
    /// cannot be made, what is put into its slots is refused; as in a part, where the leaf is full.
    pub fn slot(&mut self) -> u64 {
        if self.slot == self.end.slot {
            return self.slot;
        }
        if self.slot % SLOTS == SLOTS - 1 {
            let (page, leaf) = (self.page(), self.slot);
            let made = call(first::MEMORY, Operation::MakeTable, [page, leaf, 1]);
            let _refused_later =
                made.and_then(|_| call(first::TABLE, Operation::Copy, [leaf / SLOTS + 1, leaf]));
            self.slot += 1;
        }
        self.slot += 1;
        self.slot - 1
    }

    /// The first of the next `count` pages, which follow each other.
    pub fn pages(&mut self, count: u64) -> u64 {
        let number = self.page;
        if count > self.end.page - number {
            return u64::MAX;
        }
        self.page += count;
        number
    }

    /// Guest-physical address of a page of [`first::MEMORY`].
    #[must_use]
    pub const fn guest_physical(&self, page: u64) -> u64 {
        self.memory.wrapping_add(page.wrapping_mul(PAGE_SIZE))
    }

    /// Makes an object of the next page; its slot.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn make<const N: usize>(&mut self, operation: Operation, words: [u64; N]) -> Answer {
        let (page, slot) = (self.page(), self.slot());
        let word = |number: usize| words.get(number).copied().unwrap_or(0);
        let all = [page, slot, word(0), word(1), word(2)];
        call(first::MEMORY, operation, all).map(|_| slot)
    }

    /// Maps `pages` pages of a range of memory, from page `number` on; their address.
    ///
    /// # Errors
    /// The kernel's refusal, or no free addresses.
    pub fn map(&mut self, memory: u64, number: u64, pages: u64, rights: Rights) -> Answer {
        let address = self.address;
        if address + pages * PAGE_SIZE > self.address_end {
            return Err(Status::BadArgument);
        }
        for page in 0..pages {
            let index = (address - IMAGE) / PAGE_SIZE + page;
            let words = [index, memory, number + page, rights as u64];
            while !map_entry(words)? {}
        }
        self.address += pages * PAGE_SIZE;
        Ok(address)
    }

    /// Maps fresh memory.
    ///
    /// # Errors
    /// As for [`First::map`].
    pub fn memory(&mut self, pages: u64) -> Answer {
        let number = self.pages(pages);
        self.map(first::MEMORY, number, pages, Rights::Write)
    }

    /// Maps fresh memory for a device to share: its address here, and its guest-physical one.
    ///
    /// # Errors
    /// As for [`First::map`].
    pub fn shared_memory(&mut self, pages: u64) -> Result<[u64; 2], Status> {
        let at = self.guest_physical(self.page);
        Ok([self.memory(pages)?, at])
    }

    /// A PCIe function as the guest page gives it, mapped: where this component finds its registers.
    ///
    /// # Errors
    /// As for [`First::map`].
    pub fn function(&mut self, given: &Function) -> Result<Function, Status> {
        given.mapped(|page, pages| self.map(first::DEVICES, page, pages, Rights::Write))
    }

    /// A thread of this component, which notifications run on `time`: its function, which must not
    /// return, gets its index. Its slot.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn thread(&mut self, entry: extern "C" fn(u64) -> !, index: u64, time: u64) -> Answer {
        let thread = self.unbound_thread(entry)?;
        call(thread, Operation::Bind, [first::SCHEDULER, index, time])?;
        Ok(thread)
    }

    /// A thread of this component that is nobody's yet: its function, which must not return, gets the
    /// index at which it is bound. Its slot.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn unbound_thread(&mut self, entry: extern "C" fn(u64) -> !) -> Answer {
        let stack = self.stack(self.stack_pages)?;
        let entry = entry as *const () as u64;
        self.make(Operation::MakeThread, [first::COMPONENT, entry, stack])
    }

    /// A stack; its upper end.
    /// The page below is not mapped.
    pub(crate) fn stack(&mut self, pages: u64) -> Answer {
        self.address += PAGE_SIZE;
        let bottom = self.memory(pages)?;
        self.last_stack = Stack { bottom, pages };
        Ok(bottom + pages * PAGE_SIZE)
    }

    /// Time split off its own: `cycles` (or [`bulkhead_abi::kernel::ALL`]) of `priority`.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn time(&mut self, cycles: u64, priority: u64) -> Answer {
        self.make(Operation::MakeTime, [first::TIME, cycles, priority])
    }

    /// Writes `bytes` to the start of page `number` of its memory, which another component has mapped.
    ///
    /// # Errors
    /// As for [`First::map`].
    pub fn fill(&mut self, number: u64, bytes: &[u8]) -> Result<(), Status> {
        let address = self.map_briefly(first::MEMORY, number, Rights::Write)?;
        let length = bytes.len().min(PAGE_SIZE as usize);
        let page = core::ptr::with_exposed_provenance_mut::<u8>(address as usize);
        // SAFETY: mapped above, of at least that length; who has the page has not started.
        unsafe { core::ptr::copy_nonoverlapping(bytes.as_ptr(), page, length) };
        self.unmap(address)
    }

    /// Maps a page for a moment, at an address behind those in use at which nothing was mapped a moment ago.
    fn map_briefly(&self, memory: u64, number: u64, rights: Rights) -> Answer {
        let left = (self.address_end - self.address) / PAGE_SIZE;
        let mut rests = true;
        while rests {
            rests = false;
            for place in 0..left.min(BRIEFLY) {
                let address = self.address + place * PAGE_SIZE;
                let index = (address - IMAGE) / PAGE_SIZE;
                match map_entry([index, memory, number, rights as u64]) {
                    Ok(true) => return Ok(address),
                    Ok(false) => rests = true,
                    // Something that was made before is there.
                    Err(Status::Occupied) => {}
                    Err(status) => return Err(status),
                }
            }
        }
        Err(Status::BadArgument)
    }

    /// Unmaps a page that was mapped for a moment.
    fn unmap(&self, address: u64) -> Result<(), Status> {
        let index = (address - IMAGE) / PAGE_SIZE;
        call(first::PAGES[2], Operation::Unmap, [index]).map(|_| ())
    }

    /// The number of the page at a guest-physical address of the window.
    ///
    /// # Errors
    /// It lies before the window.
    pub fn window_page(&self, at: u64) -> Answer {
        let offset = at.checked_sub(self.window).ok_or(Status::BadArgument)?;
        Ok(offset / PAGE_SIZE)
    }

    /// Guest-physical address of the guest page.
    #[must_use]
    pub const fn guest_page(&self) -> u64 {
        self.guest_page
    }
}
