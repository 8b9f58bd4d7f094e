//! Memory: pages change their use only through the frame table; maps name them by capability

use crate::call::{Answer, Arguments};
use crate::frame::{Ref, WORDS};
use crate::object::Thread;
use crate::slot::Slot;
use crate::translation::{page, physical, table};
use crate::{Hal, Kernel};
use bulkhead_abi::kernel::{Kind, Operation, Rights, Status};

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
        self.0.frame(at).fill(content);
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
                let next = self.own(caller, what).expect(Kind::Pages)?;
                if next.detail() != level + 1 {
                    return Err(Status::BadArgument);
                }
                self.attach(slot.object(), index, next.object())
            }
            Operation::Map if level == LAST_LEVEL => {
                let memory = self.own(caller, what).expect(Kind::Memory)?;
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
        if entry.get() != 0 {
            return Err(Status::Occupied);
        }
        self.refer(next)?;
        if !entry.exchange(0, table(next.address() - H::LINEAR)) {
            self.forget(next);
            return Err(Status::Occupied);
        }
        Ok(0)
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
        if entry.get() != 0 {
            return Err(Status::Occupied);
        }
        let device = memory.extra() == DEVICES;
        if device && rights == Rights::Execute {
            return Err(Status::BadArgument);
        }
        let state = if device || memory.extra() == WINDOW {
            None
        } else {
            Some(self.0.state(at).ok_or(Status::WrongPage)?)
        };
        if let Some(state) = state
            && state.map(|rest| self.is_quiet(rest))?
        {
            self.0.frame(at).fill(0);
        }
        if rights == Rights::Execute {
            self.0.publish_code(at);
        }
        if !entry.exchange(0, page(at.address() - H::LINEAR, rights, device)) {
            if let Some(state) = state {
                state.unmap(self.rest());
            }
            return Err(Status::Occupied);
        }
        Ok(0)
    }

    #[inline(never)]
    fn unmap(self, tables: Ref, index: u64, level: u64) -> Answer {
        let entry = self.0.frame(tables).word(index);
        let was = entry.take();
        let at = Ref(physical(was) + H::LINEAR);
        if was == 0 {
            return Err(Status::Nothing);
        }
        self.0.forget_translations();
        if let Some(state) = self.0.state(at) {
            if level == LAST_LEVEL {
                state.unmap(self.rest());
            } else {
                state.forget();
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
        Err(Status::BadArgument)
    }
}
