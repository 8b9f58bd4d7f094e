//! Pages of words, the references to them, and their use
//!
//! The frame table has one entry per page of memory: untyped (0), user memory with the number of
//! its mappings, a kernel object of a kind with the number of capabilities and objects that refer
//! to it, or at rest since some time: no object refers to it, but another core may still hold a reference or a
//! translation from before ([`crate::quiescence`]). Entries change by single atomic instructions.

use bulkhead_abi::kernel::{Kind, Rights, Status};
use core::sync::atomic::{AtomicU64, Ordering};

/// Bytes of a page.
pub const PAGE: u64 = bulkhead_abi::PAGE_SIZE;
/// Words of a page.
pub const WORDS: usize = 512;

/// A word of kernel memory. On common paths each is written by one core alone, so loads and stores are
/// plain ones; what another core may change is changed by the single atomic operations.
#[repr(transparent)]
#[derive(Debug, Default)]
pub struct Word(AtomicU64);

impl Word {
    /// Zero.
    #[must_use]
    pub const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Its value.
    #[inline(always)]
    #[must_use]
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Replaces its value.
    #[inline(always)]
    pub fn set(&self, value: u64) {
        self.0.store(value, Ordering::Relaxed);
    }

    /// Replaces `from` by `to`; whether it was `from`. A function of its own, so that nothing but registers changes
    /// between the halves of the pair it becomes, and some core always succeeds (Arm ARM B2.9.5).
    #[inline(never)]
    pub(crate) fn exchange(&self, from: u64, to: u64) -> bool {
        self.0
            .compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed)
            .is_ok()
    }

    /// Adds; what it was.
    #[inline(always)]
    pub(crate) fn add(&self, value: u64) -> u64 {
        self.0.fetch_add(value, Ordering::AcqRel)
    }

    /// Its value, before anything that is read afterwards.
    #[inline(always)]
    pub(crate) fn first(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }

    /// Replaces its value, after anything that was written before.
    pub(crate) fn publish(&self, value: u64) {
        self.0.store(value, Ordering::Release);
    }

    /// Sets bits; what it was.
    #[inline(always)]
    pub(crate) fn mark(&self, bits: u64) -> u64 {
        #[cfg(test)]
        crate::tests::MARKED.with_borrow_mut(|marked| marked.push(core::ptr::from_ref(self)));
        self.0.fetch_or(bits, Ordering::AcqRel)
    }

    /// Clears bits that are set.
    pub(crate) fn unmark(&self, bits: u64) {
        self.0.fetch_and(!bits, Ordering::AcqRel);
    }

    /// Sets it to zero; what it was.
    #[inline(always)]
    pub(crate) fn take(&self) -> u64 {
        self.0.swap(0, Ordering::AcqRel)
    }

    /// As a reference that the kernel stored.
    #[inline(always)]
    #[must_use]
    pub(crate) fn reference(&self) -> Ref {
        Ref(self.get())
    }
}

/// A page of words.
#[repr(C, align(4096))]
#[derive(Debug)]
pub struct Frame([Word; WORDS]);

impl Frame {
    /// A page of zeros.
    #[must_use]
    pub const fn new() -> Self {
        Self([const { Word::new() }; WORDS])
    }

    /// The word of that index, modulo [`WORDS`].
    #[inline(always)]
    #[must_use]
    pub fn word(&self, index: u64) -> &Word {
        &self.0[index as usize % WORDS]
    }

    /// All words.
    pub fn words(&self) -> impl Iterator<Item = &Word> {
        self.0.iter()
    }
}

impl Default for Frame {
    fn default() -> Self {
        Self::new()
    }
}

/// Kernel address of a page or, rarely, of a word in it.
///
/// Made from memory the machine offers at boot, and from there on only by what the frame table
/// allows; user space never sees one. What a word that holds one refers to is decided by the type of
/// the page the word is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ref(pub(crate) u64);

impl Ref {
    /// A page that the machine offers at boot.
    #[must_use]
    pub const fn offered(address: u64) -> Self {
        Self(address)
    }

    /// As a number.
    #[inline(always)]
    #[must_use]
    pub const fn address(self) -> u64 {
        self.0
    }

    /// The page `pages` further.
    pub(crate) const fn plus(self, pages: u64) -> Self {
        Self(self.0 + pages * PAGE)
    }

    /// The word `words` further.
    pub(crate) const fn at(self, words: u64) -> Self {
        Self(self.0 + words * 8)
    }
}

const USER: u64 = 1 << 62;
const KERNEL: u64 = 1 << 63;
const KIND_SHIFT: u32 = 48;
/// The rest is a [`Rest`].
const RESTING: u64 = 1 << 61;
/// A component without capabilities, with a [`Rest`]: until then threads may be inside or come in.
const CLOSING: u64 = 1 << 60;
/// A component without capabilities in which no thread is any more, with a [`Rest`].
const DESERTED: u64 = 1 << 59;
const REST: u64 = (1 << 56) - 1;
/// Mappings of user memory that may write it, or, marked so, that may execute it.
const SPECIAL: u64 = 1 << 32;
const SPECIALS: u64 = ((1 << 25) - 1) << 32;
/// There are none any more: in their place stands since when, the lower bits of a [`Rest`].
const NO_SPECIAL: u64 = 1 << 57;
/// The special mappings of user memory execute it.
const EXECUTABLE: u64 = 1 << 58;
/// A table that holds leaves.
const ROOT: u64 = 1 << 47;
/// Counts end here; 2^32 references cannot stand in any memory.
const COUNT: u64 = (1 << 32) - 1;

/// Since when something is at rest, in units that fit beside the marks of what rests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rest(u64);

impl Rest {
    /// Cycles of the clock in a unit: 2^56 units are no number of cycles that passes.
    const SHIFT: u32 = 8;

    /// From `now` on.
    pub(crate) const fn since(now: u64) -> Self {
        Self(now >> Self::SHIFT)
    }

    /// Returns true if the rest had begun before `time`.
    pub(crate) const fn is_before(self, time: u64) -> bool {
        self.0 < time >> Self::SHIFT
    }

    /// The latest time up to this one that has these bits in its lower ones.
    const fn latest(self, bits: u64, mask: u64) -> Self {
        Self(self.0.wrapping_sub(self.0.wrapping_sub(bits) & mask))
    }

    pub(crate) const fn of_word(word: u64) -> Self {
        Self(word)
    }

    pub(crate) const fn word(self) -> u64 {
        self.0
    }
}

/// An entry of the frame table.
#[repr(transparent)]
#[derive(Debug, Default)]
pub struct State(AtomicU64);

impl State {
    /// Untyped.
    #[must_use]
    pub const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// References to the page.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed) & COUNT
    }

    /// Returns true for a kernel object of that kind.
    #[must_use]
    pub fn is(&self, kind: Kind) -> bool {
        self.0.load(Ordering::Relaxed) & !(COUNT | ROOT) == kernel(kind)
    }

    /// Returns the value of a page that is free and of which no core holds a former use.
    pub(crate) fn free(&self, quiet: impl Fn(Rest) -> bool) -> Result<u64, Status> {
        match self.0.load(Ordering::Relaxed) {
            0 => Ok(0),
            taken if taken & RESTING == 0 => Err(Status::WrongPage),
            resting if quiet(Rest(resting & REST)) => Ok(resting),
            _ => Err(Status::Resting),
        }
    }

    /// Returns true unless the page is a kernel object.
    #[must_use]
    pub fn is_memory(&self) -> bool {
        self.0.load(Ordering::Relaxed) & KERNEL == 0
    }

    /// Makes a page that was [`State::free`] a kernel object without references.
    pub(crate) fn claim(&self, free: u64, kind: Kind) -> Result<(), Status> {
        self.exchange(free, kernel(kind))
    }

    /// Notes that a table which was claimed just now holds leaves.
    pub(crate) fn root(&self) {
        self.0.fetch_or(ROOT, Ordering::Relaxed);
    }

    /// Returns true for a table that holds leaves.
    pub(crate) fn is_root(&self) -> bool {
        self.0.load(Ordering::Relaxed) & ROOT != 0
    }

    /// Lays a kernel object without references at rest.
    pub(crate) fn release(&self, kind: Kind, rest: Rest) -> Result<(), Status> {
        let root = self.0.load(Ordering::Relaxed) & ROOT;
        self.exchange(kernel(kind) | root, RESTING | rest.0)
            .map_err(|_| Status::InUse)
    }

    /// The kind of kernel object that it is.
    pub(crate) fn object(&self) -> Option<Kind> {
        let value = self.0.load(Ordering::Acquire);
        let kind = (value & !(KERNEL | ROOT)) >> KIND_SHIFT;
        (value & KERNEL != 0).then(|| Kind::of(kind)).flatten()
    }

    /// Returns true for a component that is being given up.
    pub(crate) fn is_closing(&self) -> bool {
        self.0.load(Ordering::Acquire) & (CLOSING | DESERTED) != 0
    }

    /// Begins to give up a component that no capability and no thread's home refers to.
    pub(crate) fn close(&self, rest: Rest) -> Result<(), Status> {
        self.exchange(kernel(Kind::Component), CLOSING | rest.0)
            .map_err(|_| Status::InUse)
    }

    /// Marks a component that no thread can enter any more as deserted, if no thread is inside.
    pub(crate) fn desert(
        &self,
        quiet: impl Fn(Rest) -> bool,
        deserted: impl Fn() -> bool,
        rest: impl Fn() -> Rest,
    ) -> Result<(), Status> {
        let value = self.0.load(Ordering::Acquire);
        if value & CLOSING == 0 {
            return Ok(());
        }
        if !quiet(Rest(value & REST)) {
            return Err(Status::Resting);
        }
        if !deserted() {
            return Err(Status::InUse);
        }
        self.exchange(value, DESERTED | rest().0)
            .map_err(|_| Status::Resting)
    }

    /// A deserted component becomes untyped; of several cores that try, one succeeds.
    pub(crate) fn leave(&self, quiet: impl Fn(Rest) -> bool) -> Result<(), Status> {
        let value = self.0.load(Ordering::Acquire);
        if value & DESERTED == 0 || !quiet(Rest(value & REST)) {
            return Err(Status::Resting);
        }
        self.exchange(value, 0).map_err(|_| Status::Resting)
    }

    /// A page at rest becomes untyped, where no core holds what it was.
    pub(crate) fn settle(&self, quiet: impl Fn(Rest) -> bool) -> Result<(), Status> {
        let resting = self.free(quiet)?;
        self.exchange(resting, 0)
    }

    /// Makes the page user memory for good: the machine's own reference is never given back.
    pub fn keep(&self) {
        self.0.store(USER | 1, Ordering::Relaxed);
    }

    /// Counts one mapping more with `rights`; `true` where the page was untyped. A page that may be written
    /// through one mapping is executed through no other, nor as long as another core may have the translation.
    pub(crate) fn map(
        &self,
        rights: Rights,
        now: Rest,
        quiet: impl Fn(Rest) -> bool,
    ) -> Result<bool, Status> {
        let before = self.0.load(Ordering::Relaxed);
        let Some(executable) = special(rights) else {
            return match before & USER {
                0 => self.exchange(self.free(quiet)?, USER | 1).map(|()| true),
                _ => self.exchange(before, before + 1).map(|()| false),
            };
        };
        if before & USER == 0 {
            let first = USER | SPECIAL | executable | 1;
            return self.exchange(self.free(quiet)?, first).map(|()| true);
        }
        let specials = before & SPECIALS;
        let others = before & EXECUTABLE != executable;
        let ended = now.latest(specials / SPECIAL, SPECIALS / SPECIAL);
        let after = match before & NO_SPECIAL != 0 {
            true if others && !quiet(ended) => return Err(Status::Resting),
            true => before & !(SPECIALS | NO_SPECIAL | EXECUTABLE) | executable,
            false if specials != 0 && others || specials == SPECIALS => {
                return Err(Status::WrongPage);
            }
            false => before & !EXECUTABLE | executable,
        };
        self.exchange(before, after + SPECIAL + 1).map(|()| false)
    }

    /// Counts one mapping with `rights` less; the last lays the page at rest.
    pub(crate) fn unmap(&self, rights: Rights, rest: Rest) {
        let less = |before: u64| {
            let after = before - 1;
            match special(rights) {
                _ if before & COUNT == 1 => RESTING | rest.0,
                Some(_) if before & SPECIALS == SPECIAL => {
                    after & !SPECIALS | NO_SPECIAL | ((rest.0 * SPECIAL) & SPECIALS)
                }
                Some(_) => after - SPECIAL,
                None => after,
            }
        };
        loop {
            let before = self.0.load(Ordering::Relaxed);
            if self.exchange(before, less(before)).is_ok() {
                break;
            }
        }
    }

    /// One reference more to a kernel object; `false` where it is none any more.
    pub(crate) fn add_reference(&self) -> bool {
        let refers = self.0.fetch_add(1, Ordering::Relaxed) & KERNEL != 0;
        if !refers {
            self.drop_reference();
        }
        refers
    }

    /// One reference less.
    pub(crate) fn drop_reference(&self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }

    #[inline(never)]
    fn exchange(&self, from: u64, to: u64) -> Result<(), Status> {
        self.0
            .compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed)
            .map(|_| ())
            .map_err(|_| Status::WrongPage)
    }
}

/// Mark of a mapping with `rights` that executes, 0 of one that writes.
const fn special(rights: Rights) -> Option<u64> {
    match rights {
        Rights::Read => None,
        Rights::Write => Some(0),
        Rights::Execute => Some(EXECUTABLE),
    }
}

const fn kernel(kind: Kind) -> u64 {
    KERNEL | (kind as u64) << KIND_SHIFT
}
