//! Memory: pages change their use only through the frame table; maps name them by capability

use crate::frame::{Ref, Rest, WORDS, Word};
use crate::object::Thread;
use crate::slot::Slot;
use crate::system_call::{Answer, Arguments};
use crate::translation::{self, page, physical, table};
use crate::{Hal, Kernel};
use bulkhead_abi::kernel::{Kind, Operation, Rights, Status};

/// Words of an object that are read before they are written; of a scheduler there are more.
const SMALL: u64 = 96;
const MEDIUM: u64 = 256;
/// Level of the tables that map pages.
const LAST_LEVEL: u64 = 3;
/// [`Slot::extra`] of memory that is no RAM: pages without an entry in the frame table.
pub(crate) const WINDOW: u64 = 1;
/// [`Slot::extra`] of devices: neither, and not cached.
pub(crate) const DEVICES: u64 = 2;

impl<'h, H: Hal> Kernel<'h, H> {
    #[inline(never)]
    pub(crate) fn memory_operation(
        self,
        caller: Thread<'h>,
        slot: Slot<'h>,
        operation: Operation,
        [number, destination, first, second, third]: Arguments,
    ) -> Answer {
        let at = page_of(slot, number)?;
        if operation == Operation::Reclaim {
            return self.reclaim(at);
        }
        let place = self.destination(caller, destination)?;
        let arguments = [first, second, third];
        match operation {
            Operation::MakeTable => self.make_table(place, at, first),
            Operation::MakePages => self.make_pages(place, at, first),
            Operation::MakeComponent => self.make_component(caller, place, at, arguments),
            Operation::MakeThread => self.make_thread(caller, place, at, arguments),
            Operation::MakeScheduler => {
                let scb = page_of(slot, number.wrapping_add(1))?;
                self.make_scheduler(caller, place, at, scb, arguments)
            }
            Operation::MakeTime => self.make_time(caller, place, at, arguments),
            _ => Err(Status::NoOperation),
        }
    }

    /// Makes an untyped page an object, full of `content`.
    #[inline(never)]
    pub(crate) fn claim(self, at: Ref, kind: Kind, content: u64) -> Result<Ref, Status> {
        let state = self.0.state(at).ok_or(Status::WrongPage)?;
        state.claim(self.free(state)?, kind)?;
        let words = match kind {
            Kind::Component | Kind::Thread | Kind::Time => SMALL,
            Kind::Scheduler => MEDIUM,
            _ => WORDS as u64,
        };
        self.0.fill(at, content, words);
        Ok(at)
    }

    #[inline(never)]
    pub(crate) fn pages_operation(
        self,
        caller: Thread<'h>,
        slot: Slot<'h>,
        operation: Operation,
        [index, what, number, rights, _]: Arguments,
    ) -> Answer {
        if index >= WORDS as u64 {
            return Err(Status::BadArgument);
        }
        let level = slot.detail();
        match operation {
            Operation::Attach => {
                let next = self.lookup(caller, what).of_kind(Kind::Pages)?;
                if next.detail() != level + 1 {
                    return Err(Status::BadArgument);
                }
                self.attach(slot.object(), index, next.object())
            }
            Operation::Map if level == LAST_LEVEL => {
                let memory = self.lookup(caller, what).of_kind(Kind::Memory)?;
                let rights = Rights::of(rights).ok_or(Status::BadArgument)?;
                self.map(slot.object(), index, memory, number, rights)
            }
            Operation::Unmap => self.unmap(slot.object(), index, level),
            _ => Err(Status::NoOperation),
        }
    }

    #[inline(never)]
    pub(crate) fn attach(self, tables: Ref, index: u64, next: Ref) -> Answer {
        let entry = self.0.frame(tables).word(index);
        let before = self.invalid(entry)?;
        self.add_reference(next)?;
        if !entry.exchange(before, table(next.address() - H::LINEAR)) {
            self.drop_reference(next);
            return Err(Status::Occupied);
        }
        Ok(0)
    }

    /// Value of an entry that can be made valid. Where it was valid before, no core has its translation any more:
    /// break-before-make (Arm ARM D8.16.1) by quiescence.
    fn invalid(self, entry: &Word) -> Result<u64, Status> {
        let value = entry.get();
        match translation::rest(value) {
            None if value != 0 => Err(Status::Occupied),
            Some(rest) if !self.is_quiet(Rest::of_word(rest)) => Err(Status::Resting),
            _ => Ok(value),
        }
    }

    #[inline(never)]
    pub(crate) fn map(
        self,
        tables: Ref,
        index: u64,
        memory: Slot<'h>,
        number: u64,
        rights: Rights,
    ) -> Answer {
        let at = page_of(memory, number)?;
        let entry = self.0.frame(tables).word(index);
        let before = self.invalid(entry)?;
        let device = memory.extra() == DEVICES;
        let foreign = device || memory.extra() == WINDOW;
        // Nothing counts the mappings of such pages.
        if foreign && rights == Rights::Execute {
            return Err(Status::BadArgument);
        }
        let state = if foreign {
            None
        } else {
            Some(self.0.state(at).ok_or(Status::WrongPage)?)
        };
        if let Some(state) = state
            && state.map(rights, self.rest(), |rest| self.is_quiet(rest))?
        {
            self.0.fill(at, 0, WORDS as u64);
        }
        if rights == Rights::Execute {
            self.0.publish_code(at);
        }
        if !entry.exchange(before, page(at.address() - H::LINEAR, rights, device)) {
            if let Some(state) = state {
                state.unmap(rights, self.rest());
            }
            return Err(Status::Occupied);
        }
        Ok(0)
    }

    /// Clears an entry. It becomes valid again, and its page is mapped in the other way of writing and executing,
    /// only after no core has the translation any more.
    #[inline(never)]
    fn unmap(self, tables: Ref, index: u64, level: u64) -> Answer {
        let entry = self.0.frame(tables).word(index);
        let was = entry.get();
        if translation::is_invalid(was) {
            return Err(Status::Nothing);
        }
        let rest = self.rest();
        if !entry.exchange(was, translation::resting(rest.word())) {
            return Err(Status::Resting);
        }
        self.0.forget_translations();
        let at = Ref(physical(was) + H::LINEAR);
        if let Some(state) = self.0.state(at) {
            if level == LAST_LEVEL {
                state.unmap(translation::rights(was), self.rest());
            } else {
                state.drop_reference();
            }
        }
        Ok(0)
    }
}

/// Page `number` of a range of memory.
pub(crate) fn page_of(memory: Slot<'_>, number: u64) -> Result<Ref, Status> {
    if number < memory.detail() {
        Ok(memory.object().plus(number))
    } else {
        Err(Status::NoMemory)
    }
}
