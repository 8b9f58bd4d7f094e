//! Capability slots: four words of a leaf
//!
//! | word | |
//! |---|---|
//! | 0 | a [`Kind`] |
//! | 1 | the object's page; for memory its first page |
//! | 2 | entry · level · pages |
//! | 3 | token · whether memory is the window |

use crate::frame::{Frame, Ref, Word};
use bulkhead_abi::kernel::{Kind, SLOTS, Status};

/// A slot.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot<'h> {
    leaf: &'h Frame,
    first: u64,
}

impl<'h> Slot<'h> {
    #[inline(always)]
    pub(crate) const fn of(leaf: &'h Frame, index: u64) -> Self {
        Self {
            leaf,
            first: index % SLOTS * 4,
        }
    }

    #[inline(always)]
    fn word(self, number: u64) -> &'h Word {
        self.leaf.word(self.first + number)
    }

    #[inline(always)]
    pub(crate) fn kind(self) -> u64 {
        self.word(0).get()
    }

    #[inline(always)]
    pub(crate) fn object(self) -> Ref {
        self.word(1).reference()
    }

    #[inline(always)]
    pub(crate) fn detail(self) -> u64 {
        self.word(2).get()
    }

    #[inline(always)]
    pub(crate) fn extra(self) -> u64 {
        self.word(3).get()
    }

    /// The slot, if it is of that kind.
    #[inline(always)]
    pub(crate) fn expect(self, kind: Kind) -> Result<Self, Status> {
        if self.kind() == kind as u64 {
            Ok(self)
        } else {
            Err(Status::NoCapability)
        }
    }

    /// The slot, if it is empty.
    pub(crate) fn vacant(self) -> Result<Self, Status> {
        self.expect(Kind::Empty).map_err(|_| Status::Occupied)
    }

    /// Fills it; the kind last, which makes it valid.
    pub(crate) fn fill(self, kind: u64, object: Ref, detail: u64, extra: u64) {
        self.word(1).set(object.address());
        self.word(2).set(detail);
        self.word(3).set(extra);
        self.word(0).set(kind);
    }

    /// Whether the slot holds a reference to an object that is counted.
    pub(crate) fn counts(self) -> bool {
        matches!(
            Kind::of(self.kind()),
            Some(
                Kind::Invoke
                    | Kind::Component
                    | Kind::Table
                    | Kind::Pages
                    | Kind::Thread
                    | Kind::Send
                    | Kind::Receive
                    | Kind::Time
                    | Kind::Scheduler
            )
        )
    }
}
