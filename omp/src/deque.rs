//! Chase–Lev work-stealing deque, weak-memory version.
//!
//! Source: Lê, Pop, Cohen, Zappa Nardelli, PPoPP 2013, figure 1. One owner pushes and takes at the
//! bottom (LIFO); any thread steals at the top (FIFO). The owner's announcement of a take is one
//! sequentially consistent exchange in the place of the paper's store and fence: on x86-64 that is
//! one `xchg` instead of a store and an `mfence`, and it orders the same pair of accesses (the
//! exchange precedes the load of `top` in the total order of sequentially consistent operations,
//! and a thief's fence stands between its loads of `top` and `bottom`).
//!
//! Rings that were outgrown stay mapped: a slow thief may still read one. Each is half of its
//! successor, so all of them together are smaller than the live one.
#![expect(
    unsafe_code,
    reason = "slots of the ring are reached by computed address"
)]

use crate::sync::{AtomicIsize, AtomicPtr, Ordering, fence};
use core::cell::Cell;
use core::marker::PhantomData;
use core::ptr;

/// Result of an attempt to steal.
#[derive(Debug, PartialEq, Eq)]
pub enum Steal<T> {
    /// Nothing was there.
    Empty,
    /// Another thread took the element first, and so made progress.
    Lost,
    /// The oldest element.
    Taken(T),
}

/// A power-of-two ring of pointers.
struct Ring<T: 'static> {
    slots: *const AtomicPtr<T>,
    mask: usize,
}

impl<T> Ring<T> {
    fn slot(&self, index: isize) -> &AtomicPtr<T> {
        let slot = self.slots.wrapping_add(index as usize & self.mask);
        // SAFETY: the mask keeps the index inside the slots, which stay mapped for ever.
        unsafe { &*slot }
    }
}

/// Gets zeroed memory for `n` slots, or nothing when memory ran out.
pub type SlotSource<T> = fn(n: usize) -> Option<&'static [AtomicPtr<T>]>;

/// A deque of `'static` references.
#[repr(C, align(64))]
pub struct Deque<T: 'static> {
    bottom: AtomicIsize,
    known_top: Cell<isize>,
    ring: AtomicPtr<Ring<T>>,
    source: SlotSource<T>,
    /// There are no thieves.
    private: Cell<bool>,
    /// Events of the owner that belong on the line it dirties anyway; see `quiescence`.
    pub(crate) created: AtomicIsize,
    pub(crate) finished: AtomicIsize,
    top: TopLine,
    owner: PhantomData<Cell<T>>,
}

/// The thieves' end, on a line of its own.
#[repr(C, align(64))]
struct TopLine(AtomicIsize);

// SAFETY: `known_top` and pushes and takes belong to the owning worker by contract of `push` and
// `take`; everything else is atomic, and elements are `'static` references to `Sync` descriptors.
unsafe impl<T: Sync> Sync for Deque<T> {}

/// Slots of the first ring.
const FIRST_CAPACITY: usize = if cfg!(loom) { 4 } else { 256 };

impl<T: Sync> Deque<T> {
    /// An empty deque that gets its memory at the first push.
    pub fn new(source: SlotSource<T>) -> Self {
        Self {
            bottom: AtomicIsize::new(0),
            known_top: Cell::new(0),
            ring: AtomicPtr::new(ptr::null_mut()),
            source,
            private: Cell::new(false),
            created: AtomicIsize::new(0),
            finished: AtomicIsize::new(0),
            top: TopLine(AtomicIsize::new(0)),
            owner: PhantomData,
        }
    }

    /// Number of elements, exact for the owner when no thief is at work.
    #[inline]
    pub fn len(&self) -> usize {
        let bottom = self.bottom.load(Ordering::Relaxed);
        (bottom - self.top.0.load(Ordering::Relaxed)).max(0) as usize
    }

    /// True if a thief would find nothing now.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Upper bound of `len` that costs the owner no shared access while it is below `limit`.
    #[inline]
    pub(crate) fn is_longer_than(&self, limit: usize) -> bool {
        let bottom = self.bottom.load(Ordering::Relaxed);
        if ((bottom - self.known_top.get()) as usize) <= limit {
            return false;
        }
        self.known_top.set(self.top.0.load(Ordering::Acquire));
        (bottom - self.known_top.get()) as usize > limit
    }

    /// Owner only, before there is a thief, or when none can come any more: whether elements are the owner's alone. A take
    /// costs no atomic operation then.
    pub(crate) fn set_private(&self, private: bool) {
        self.private.set(private);
    }

    /// True if they are.
    #[inline]
    pub(crate) fn is_private(&self) -> bool {
        self.private.get()
    }

    fn ring(&self, order: Ordering) -> Option<&'static Ring<T>> {
        // SAFETY: a published ring is never unmapped.
        unsafe { self.ring.load(order).as_ref() }
    }

    /// Owner only: adds at the bottom. Gives the element back when memory ran out.
    #[inline]
    pub fn push(&self, element: &'static T) -> Result<(), &'static T> {
        let bottom = self.bottom.load(Ordering::Relaxed);
        let ring = match self.ring(Ordering::Relaxed) {
            Some(ring) if bottom - self.known_top.get() <= ring.mask as isize => ring,
            _ => match self.make_room(bottom) {
                Some(ring) => ring,
                None => return Err(element),
            },
        };
        ring.slot(bottom)
            .store(ptr::from_ref(element).cast_mut(), Ordering::Relaxed);
        self.bottom.store(bottom + 1, Ordering::Release);
        Ok(())
    }

    #[cold]
    fn make_room(&self, bottom: isize) -> Option<&'static Ring<T>> {
        let top = self.top.0.load(Ordering::Acquire);
        self.known_top.set(top);
        let old = self.ring(Ordering::Relaxed);
        if let Some(ring) = old
            && bottom - top <= ring.mask as isize
        {
            return Some(ring);
        }
        let capacity = old.map_or(FIRST_CAPACITY, |ring| (ring.mask + 1) * 2);
        let ring = self.new_ring(capacity)?;
        for index in top..bottom {
            let element = old?.slot(index).load(Ordering::Relaxed);
            ring.slot(index).store(element, Ordering::Relaxed);
        }
        self.ring
            .store(ptr::from_ref(ring).cast_mut(), Ordering::Release);
        Some(ring)
    }

    /// One allocation: the slots, and behind them room for the ring's own header.
    fn new_ring(&self, capacity: usize) -> Option<&'static Ring<T>> {
        let header_slots = size_of::<Ring<T>>().div_ceil(size_of::<AtomicPtr<T>>());
        let slots = (self.source)(capacity + header_slots)?;
        let header = slots.get(capacity..)?.as_ptr().cast::<Ring<T>>().cast_mut();
        let ring = Ring {
            slots: slots.as_ptr(),
            mask: capacity - 1,
        };
        // SAFETY: the slots behind `capacity` are zeroed, aligned as pointers, and owned by this deque.
        unsafe { header.write(ring) };
        // SAFETY: just initialised, mapped for ever.
        unsafe { header.as_ref() }
    }

    /// Owner only: removes the newest element.
    #[inline]
    pub fn take(&self) -> Option<&'static T> {
        let bottom = self.bottom.load(Ordering::Relaxed) - 1;
        if bottom < self.top.0.load(Ordering::Relaxed) {
            return None;
        }
        if self.private.get() {
            self.bottom.store(bottom, Ordering::Relaxed);
            return self.element(bottom);
        }
        self.announce(bottom);
        let top = self.top.0.load(Ordering::SeqCst);
        if top < bottom {
            return self.element(bottom);
        }
        let won = top == bottom && self.claim(top);
        self.bottom.store(bottom + 1, Ordering::Relaxed);
        if won { self.element(bottom) } else { None }
    }

    /// The owner is about to take what lies at `bottom`: before it looks at the thieves' end.
    #[inline(always)]
    fn announce(&self, bottom: isize) {
        if cfg!(loom) {
            // Loom knows the total order of fences only: the paper's form of the same.
            self.bottom.store(bottom, Ordering::Relaxed);
            fence(Ordering::SeqCst);
        } else {
            self.bottom.swap(bottom, Ordering::SeqCst);
        }
    }

    fn claim(&self, top: isize) -> bool {
        let (won, lost) = (Ordering::SeqCst, Ordering::Relaxed);
        self.top.0.compare_exchange(top, top + 1, won, lost).is_ok()
    }

    fn element(&self, index: isize) -> Option<&'static T> {
        let element = self
            .ring(Ordering::Acquire)?
            .slot(index)
            .load(Ordering::Relaxed);
        // SAFETY: slots between top and bottom hold what `push` put there: `'static` references.
        unsafe { element.as_ref() }
    }

    /// Any thread: removes the oldest element.
    #[inline]
    pub fn steal(&self) -> Steal<&'static T> {
        let top = self.top.0.load(Ordering::Acquire);
        fence(Ordering::SeqCst);
        let bottom = self.bottom.load(Ordering::Acquire);
        if top >= bottom {
            return Steal::Empty;
        }
        let element = self.element(top);
        match element {
            Some(element) if self.claim(top) => Steal::Taken(element),
            _ => Steal::Lost,
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{Deque, Steal};
    use crate::memory;
    use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
    use proptest::prelude::{Strategy, any, prop, prop_assert_eq, proptest};
    use std::collections::VecDeque;
    use std::vec::Vec;

    fn deque() -> &'static Deque<AtomicU64> {
        memory::place_or_die(Deque::new(memory::pointers))
    }

    fn elements(n: u64) -> Vec<&'static AtomicU64> {
        (0..n)
            .map(|i| memory::place_or_die(AtomicU64::new(i)))
            .collect()
    }

    fn value(element: &AtomicU64) -> u64 {
        element.load(Ordering::Relaxed)
    }

    #[derive(Clone, Copy, Debug)]
    enum Step {
        Push,
        Take,
        Steal,
    }

    fn step() -> impl Strategy<Value = Step> {
        any::<u8>().prop_map(|byte| match byte % 4 {
            0 | 1 => Step::Push,
            2 => Step::Take,
            _ => Step::Steal,
        })
    }

    proptest! {
        #[test]
        fn one_thread_sees_a_double_ended_queue(
            steps in prop::collection::vec(step(), 0..2000),
            private in 0..2000_usize,
        ) {
            let deque = deque();
            deque.set_private(true);
            let mut model = VecDeque::new();
            for (number, step) in steps.into_iter().enumerate() {
                let element = memory::place_or_die(AtomicU64::new(number as u64));
                if number == private {
                    deque.set_private(false);
                }
                match step {
                    Step::Push => {
                        prop_assert_eq!(deque.push(element).is_ok(), true);
                        model.push_back(value(element));
                    }
                    Step::Take => prop_assert_eq!(deque.take().map(value), model.pop_back()),
                    Step::Steal if number < private => {}
                    Step::Steal => {
                        let stolen = match deque.steal() {
                            Steal::Taken(element) => Some(value(element)),
                            _ => None,
                        };
                        prop_assert_eq!(stolen, model.pop_front());
                    }
                }
                prop_assert_eq!(deque.len(), model.len());
            }
        }
    }

    /// Every element is got exactly once while the owner and three thieves fight for them.
    #[test]
    fn nothing_is_lost_or_doubled_among_thieves() {
        const N: u64 = 200_000;
        let deque = deque();
        let elements = elements(N);
        let seen: Vec<AtomicUsize> = (0..N).map(|_| AtomicUsize::new(0)).collect();
        let done = AtomicUsize::new(0);
        let got = |element: &AtomicU64| {
            seen[value(element) as usize].fetch_add(1, Ordering::Relaxed);
            done.fetch_add(1, Ordering::Relaxed);
        };
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    while done.load(Ordering::Relaxed) < N as usize {
                        if let Steal::Taken(element) = deque.steal() {
                            got(element);
                        }
                    }
                });
            }
            for (i, element) in elements.iter().enumerate() {
                assert!(deque.push(element).is_ok());
                if i % 3 != 0 {
                    deque.take().into_iter().for_each(got);
                }
            }
            while let Some(element) = deque.take() {
                got(element);
            }
        });
        assert!(seen.iter().all(|count| count.load(Ordering::Relaxed) == 1));
    }
}
