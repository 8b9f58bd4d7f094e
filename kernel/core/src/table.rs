//! Capability tables: copying, narrowing, removing
//!
//! The holder of a table's capability fills and empties its slots: that is delegation and revocation. Each
//! call touches one slot.

use crate::frame::Ref;
use crate::object::Thread;
use crate::slot::{Slot, Vacant};
use crate::system_call::{Answer, Arguments};
use crate::{Hal, Kernel};
use bulkhead_abi::kernel::{Kind, LEAVES, Operation, SLOTS, Status};

/// [`Slot::detail`] of a leaf; 0 is a root.
const LEAF: u64 = 1;

impl<'h, H: Hal> Kernel<'h, H> {
    #[inline(never)]
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
                let target = self.vacant(Slot::of(node, place))?;
                self.copy(self.lookup(caller, from), target, [first, pages])
            }
            (Operation::Remove, true) if place < SLOTS => {
                self.remove(Slot::of(node, place));
                Ok(0)
            }
            (Operation::Remove, false) if place < LEAVES => {
                let entry = node.word(place);
                let leaf = entry.reference();
                if leaf != self.void() && entry.exchange(leaf.address(), self.void().address()) {
                    self.drop_reference(leaf);
                }
                Ok(0)
            }
            (Operation::Copy, false) if place < LEAVES => {
                let leaf = self.lookup(caller, from).of_kind(Kind::Table)?;
                let entry = node.word(place);
                if leaf.detail() != LEAF {
                    return Err(Status::BadArgument);
                }
                self.add_reference(leaf.object())?;
                if !entry.exchange(self.void().address(), leaf.object().address()) {
                    self.drop_reference(leaf.object());
                    return Err(Status::Occupied);
                }
                Ok(0)
            }
            (Operation::Copy | Operation::Remove, _) => Err(Status::BadArgument),
            _ => Err(Status::NoOperation),
        }
    }

    #[inline(never)]
    fn copy(self, from: Slot<'h>, to: Vacant<'h>, [first, pages]: [u64; 2]) -> Answer {
        let kind = match Kind::of(from.kind()) {
            None | Some(Kind::Empty) => return Err(Status::NoCapability),
            Some(kind) => kind,
        };
        if kind == Kind::Memory {
            let end = first.checked_add(pages).ok_or(Status::BadArgument)?;
            if pages == 0 || end > from.detail() {
                return Err(Status::BadArgument);
            }
            let object = from.object().plus(first);
            return filled(to.fill(kind, object, pages, from.extra()));
        }
        // `first` and `pages` are numbers of identities or lines.
        if matches!(kind, Kind::Identities | Kind::Interrupt) {
            let within = first.wrapping_sub(from.detail()) < from.extra();
            let end = first.checked_add(pages).ok_or(Status::BadArgument)?;
            if pages == 0 || !within || end > from.detail() + from.extra() {
                return Err(Status::BadArgument);
            }
            return filled(to.fill(kind, from.object(), first, pages));
        }
        if !from.counts() {
            return filled(to.fill(kind, from.object(), from.detail(), from.extra()));
        }
        self.name(to, kind, from.object(), [from.detail(), from.extra()])
    }

    /// A capability to an object that is counted.
    #[inline(never)]
    pub(crate) fn name(
        self,
        place: Vacant<'h>,
        kind: Kind,
        object: Ref,
        [detail, extra]: [u64; 2],
    ) -> Answer {
        self.add_reference(object)?;
        filled(place.fill(kind, object, detail, extra)).inspect_err(|_| self.drop_reference(object))
    }

    #[inline(never)]
    fn remove(self, slot: Slot<'h>) {
        let kind = slot.kind();
        let counted = slot.counts().then(|| slot.object());
        if !slot.is_empty()
            && slot.empty(kind, self.rest())
            && let Some(object) = counted
        {
            self.drop_reference(object);
        }
    }
}

fn filled(it_was: bool) -> Answer {
    if it_was { Ok(0) } else { Err(Status::Occupied) }
}
