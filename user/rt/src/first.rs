//! Resources of the first component of a partition
//!
//! The first component has all capabilities of the partition. Pages, and free addresses of its own
//! space, are allocated in ascending order.
#![expect(unsafe_code, reason = "mapped addresses become memory")]

mod boot_data;
mod components;

pub use boot_data::{Timing, argument, argument_text};
pub(crate) use components::INVOKED;
pub use components::{Component, SHARED_ADDRESS, Shared, Subsystem, TASK, shared};

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

/// The resources of the first component.
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
    /// First slot that was never allocated.
    fresh: u64,
    /// Ends of the addresses, pages and slots that can be allocated.
    address_end: u64,
    end: Position,
    /// Pages of the stacks of threads.
    stack_pages: u64,
    /// The last stack that was made.
    last_stack: Stack,
}

/// Addresses for short mappings, used in turn: an entry that was unmapped is not used again before
/// all cores were quiet.
const BRIEFLY: u64 = 32;

/// Maps a page at a free entry of the last level. Returns `false` if another core may hold the
/// former translation.
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
                bytes: 0,
            },
        }
    }

    /// The stack of the thread that was created last.
    #[must_use]
    pub const fn last_stack(&self) -> Stack {
        self.last_stack
    }

    /// Sets the number of stack pages of threads that are created from now on; `None`: the default.
    pub fn set_stack_pages(&mut self, pages: Option<u64>) {
        self.stack_pages = pages.unwrap_or(THREAD_STACK_PAGES);
    }

    /// Splits off resources for a thread of another core: `pages` pages of memory, addresses for as
    /// many, and the slots of one leaf, except the last.
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

    /// Returns the resources with slots from `slot` on, for a component with further capabilities
    /// in its table.
    #[must_use]
    pub const fn with_slots_from(mut self, slot: u64) -> Self {
        self.slot = slot;
        self
    }

    /// Reserves the next `slots` slots in one leaf.
    pub fn keep_together(&mut self, slots: u64) {
        while self.slot % SLOTS + slots >= SLOTS {
            self.slot();
        }
    }

    /// The next page and slot to be handed out.
    #[must_use]
    pub const fn position(&self) -> Position {
        Position {
            page: self.page,
            slot: self.slot,
        }
    }

    /// Continues from there, also with resources that were handed out before: they were given up
    /// since.
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

    /// Hands out only slots from now on that were never used, so that none of them waits for quiet
    /// cores.
    pub fn skip_released(&mut self) {
        self.slot = self.fresh.max(self.slot);
    }

    /// Index of the first thread. Only the first component has it.
    #[must_use]
    pub const fn index(&self) -> u64 {
        self.index
    }

    /// The next page of [`first::MEMORY`]; if there is none, a number that the kernel rejects.
    pub fn page(&mut self) -> u64 {
        if self.page == self.end.page {
            return u64::MAX;
        }
        self.page += 1;
        self.page - 1
    }

    /// The next empty slot of its table. The last slot of a leaf holds the next leaf. If that
    /// cannot be created, or the leaf of a part is full, the kernel rejects the use of the slot.
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

    /// Creates an object from the next page. Returns its slot.
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

    /// Maps the registers of a PCIe function of the guest page. Returns their addresses in this
    /// component.
    ///
    /// # Errors
    /// As for [`First::map`].
    pub fn function(&mut self, given: &Function) -> Result<Function, Status> {
        given.mapped(|page, pages| self.map(first::DEVICES, page, pages, Rights::Write))
    }

    /// Creates a thread of this component that runs on `time` when it is notified. Its function,
    /// which must not return, gets the thread's index. Returns its slot.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn thread(&mut self, entry: extern "C" fn(u64) -> !, index: u64, time: u64) -> Answer {
        let thread = self.unbound_thread(entry)?;
        call(thread, Operation::Bind, [first::SCHEDULER, index, time])?;
        Ok(thread)
    }

    /// Creates a thread of this component that is not bound to a scheduler yet. Its function, which
    /// must not return, gets the index at which it is bound. Returns its slot.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn unbound_thread(&mut self, entry: extern "C" fn(u64) -> !) -> Answer {
        let stack = self.stack(self.stack_pages)?;
        let entry = entry as *const () as u64;
        self.make(Operation::MakeThread, [first::COMPONENT, entry, stack])
    }

    /// Creates a thread of this component with a stack of its own, not bound to a scheduler yet. Returns its page and slot.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn thread_on(
        &mut self,
        entry: extern "C" fn(u64) -> !,
        stack: &Stack,
    ) -> Result<Position, Status> {
        let place = Position {
            page: self.page(),
            slot: self.slot(),
        };
        Self::make_thread(place, entry, stack)?;
        Ok(place)
    }

    /// Replaces a retired thread that [`Self::thread_on`] created by a new one.
    ///
    /// # Errors
    /// The kernel's refusal: other objects refer to the former thread.
    pub fn renew_thread(
        place: Position,
        entry: extern "C" fn(u64) -> !,
        stack: &Stack,
    ) -> Result<(), Status> {
        empty(place.slot)?;
        loop {
            match call(first::MEMORY, Operation::Reclaim, [place.page]) {
                // Further cores have to pass through their kernels first.
                Err(Status::Resting) => {}
                Err(status) => return Err(status),
                Ok(_) => break,
            }
        }
        Self::make_thread(place, entry, stack)
    }

    fn make_thread(
        place: Position,
        entry: extern "C" fn(u64) -> !,
        stack: &Stack,
    ) -> Result<(), Status> {
        let entry = entry as *const () as u64;
        let words = [place.page, place.slot, first::COMPONENT, entry, stack.top()];
        call(first::MEMORY, Operation::MakeThread, words).map(|_| ())
    }

    /// Creates a stack. Returns its upper end.
    /// The page below is not mapped.
    pub fn stack(&mut self, pages: u64) -> Answer {
        self.address += PAGE_SIZE;
        let bottom = self.memory(pages)?;
        self.last_stack = Stack {
            bottom,
            bytes: pages * PAGE_SIZE,
        };
        Ok(self.last_stack.top())
    }

    /// Splits `cycles` (or [`bulkhead_abi::kernel::ALL`]) of `priority` off its own time.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn time(&mut self, cycles: u64, priority: u64) -> Answer {
        self.make(Operation::MakeTime, [first::TIME, cycles, priority])
    }

    /// Writes `bytes` to the start of page `number` of its memory, which another component has
    /// mapped.
    ///
    /// # Errors
    /// As for [`First::map`].
    pub fn fill(&mut self, number: u64, bytes: &[u8]) -> Result<(), Status> {
        let address = self.map_briefly(first::MEMORY, number, Rights::Write)?;
        let length = bytes.len().min(PAGE_SIZE as usize);
        let page = core::ptr::with_exposed_provenance_mut::<u8>(address as usize);
        // SAFETY: mapped above, of at least that length; the component that owns the page has not
        // started.
        unsafe { core::ptr::copy_nonoverlapping(bytes.as_ptr(), page, length) };
        self.unmap(address)
    }

    /// Maps a page for a short time, at an address behind those in use at which nothing was mapped
    /// a moment ago.
    fn map_briefly(&self, memory: u64, number: u64, rights: Rights) -> Answer {
        let pages = (self.address_end - self.address) / PAGE_SIZE;
        let mut rests = true;
        while rests {
            rests = false;
            for place in 0..pages.min(BRIEFLY) {
                let address = self.address + place * PAGE_SIZE;
                let index = (address - IMAGE) / PAGE_SIZE;
                match map_entry([index, memory, number, rights as u64]) {
                    Ok(true) => return Ok(address),
                    Ok(false) => rests = true,
                    // An older mapping occupies the entry.
                    Err(Status::Occupied) => {}
                    Err(status) => return Err(status),
                }
            }
        }
        Err(Status::BadArgument)
    }

    /// Unmaps a page that was mapped for a short time.
    fn unmap(&self, address: u64) -> Result<(), Status> {
        let index = (address - IMAGE) / PAGE_SIZE;
        call(first::PAGES[2], Operation::Unmap, [index]).map(|_| ())
    }

    /// The number of the page at a guest-physical address of the window.
    ///
    /// # Errors
    /// `BadArgument`: the address lies before the window.
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
