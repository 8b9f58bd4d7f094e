//! Capability slots: four words of a leaf
//!
//! | word | |
//! |---|---|
//! | 0 | a [`Kind`]; or [`RESTING`] since when; or [`FILLING`] |
//! | 1 | the object's page; for memory its first page |
//! | 2 | entry · level · pages · whether a sending side delegates |
//! | 3 | token · whether memory is the window |

//!
//! A core that reads a kind reads the words that belong to it: the kind is written last, and an emptied slot keeps the
//! other words until no core can be reading them ([`crate::quiescence`]).

use crate::frame::{Frame, Ref, Rest, Word};
use bulkhead_abi::kernel::{Kind, SLOTS, Status};

/// Was emptied; the time in the bits below.
const RESTING: u64 = 1 << 63;
/// A core is filling it.
const FILLING: u64 = 1 << 62;

/// A slot that can be filled, and what its first word was then.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Vacant<'h> {
    slot: Slot<'h>,
    seen: u64,
}

impl Vacant<'_> {
    /// Fills it; the kind last, which makes it valid. `false` where another core was faster.
    pub(crate) fn fill(self, kind: Kind, object: Ref, detail: u64, extra: u64) -> bool {
        let taken = self.slot.word(0).exchange(self.seen, FILLING);
        if taken {
            self.slot.word(1).set(object.address());
            self.slot.word(2).set(detail);
            self.slot.word(3).set(extra);
            self.slot.word(0).publish(kind as u64);
        }
        taken
    }
}

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
        self.word(0).first()
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
    pub(crate) fn of_kind(self, kind: Kind) -> Result<Self, Status> {
        if self.kind() == kind as u64 {
            Ok(self)
        } else {
            Err(Status::NoCapability)
        }
    }

    /// Fills it before any other core runs.
    pub(crate) fn put(self, kind: Kind, object: Ref, detail: u64, extra: u64) {
        let _free = Vacant {
            slot: self,
            seen: self.kind(),
        }
        .fill(kind, object, detail, extra);
    }

    /// The slot, if it is empty and no core can be reading what it was.
    pub(crate) fn vacant(self, quiet: impl Fn(Rest) -> bool) -> Result<Vacant<'h>, Status> {
        let seen = self.kind();
        let rest = Rest::of_word(seen & !RESTING);
        match seen {
            0 => {}
            resting if resting & RESTING != 0 && quiet(rest) => {}
            resting if resting & RESTING != 0 => return Err(Status::Resting),
            _ => return Err(Status::Occupied),
        }
        Ok(Vacant { slot: self, seen })
    }

    /// Returns true if there is no capability in it.
    pub(crate) fn is_empty(self) -> bool {
        let kind = self.kind();
        kind == 0 || kind & RESTING != 0
    }

    /// Empties it, if it still is of that kind. What it says besides stays.
    pub(crate) fn empty(self, kind: u64, rest: Rest) -> bool {
        self.word(0).exchange(kind, RESTING | rest.word())
    }

    /// Returns true if the slot holds a reference to an object that is counted.
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
