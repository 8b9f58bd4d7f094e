//! Capability tables: copying, narrowing, removing
//!
//! Who holds a table's capability decides what is in it: that is delegation and revocation. Each
//! call touches one slot.

use crate::call::{Answer, Arguments};
use crate::object::Thread;
use crate::slot::Slot;
use crate::{Hal, Kernel};
use bulkhead_abi::kernel::{Kind, LEAVES, Operation, SLOTS, Status};

/// [`Slot::detail`] of a leaf; 0 is a root.
const LEAF: u64 = 1;

impl<'h, H: Hal> Kernel<'h, H> {
    pub(crate) fn table_operation(
        self,
        caller: Thread<'h>,
        table: Slot<'h>,
        operation: Operation,
        [place, from, first, pages, _]: Arguments,
    ) -> Answer {
        let node = self.0.frame(table.object());
        match (operation, table.detail() == LEAF) {
            (Operation::Copy, true) if place < SLOTS => {
                let target = Slot::of(node, place).vacant()?;
                self.copy(self.own(caller, from), target, [first, pages])
            }
            (Operation::Remove, true) if place < SLOTS => {
                self.remove(Slot::of(node, place));
                Ok(0)
            }
            (Operation::Copy, false) if place < LEAVES => {
                let leaf = self.own(caller, from).expect(Kind::Table)?;
                let entry = node.word(place);
                if leaf.detail() != LEAF {
                    return Err(Status::BadArgument);
                }
                if entry.reference() != self.void() {
                    return Err(Status::Occupied);
                }
                self.refer(leaf.object());
                entry.set(leaf.object().address());
                Ok(0)
            }
            (Operation::Copy | Operation::Remove, _) => Err(Status::BadArgument),
            _ => Err(Status::NoOperation),
        }
    }

    fn copy(self, from: Slot<'h>, to: Slot<'h>, [first, pages]: [u64; 2]) -> Answer {
        match Kind::of(from.kind()) {
            None | Some(Kind::Empty) => return Err(Status::NoCapability),
            Some(Kind::Memory) => {
                let end = first.checked_add(pages).ok_or(Status::BadArgument)?;
                if pages == 0 || end > from.detail() {
                    return Err(Status::BadArgument);
                }
                let object = from.object().plus(first);
                to.fill(from.kind(), object, pages, from.extra());
            }
            Some(_) => to.fill(from.kind(), from.object(), from.detail(), from.extra()),
        }
        if from.counts() {
            self.refer(from.object());
        }
        Ok(0)
    }

    fn remove(self, slot: Slot<'h>) {
        if slot.counts()
            && let Some(state) = self.0.state(slot.object())
        {
            state.forget();
        }
        slot.fill(Kind::Empty as u64, self.void(), 0, 0);
    }
}
