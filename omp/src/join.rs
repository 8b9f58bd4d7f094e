//! Wait-free join counter: the last child and the waiting parent meet exactly once.
//!
//! While the parent runs, children that other stacks complete count down from zero into the
//! negative and can never hit zero. A parent that must wait adds the number of children it made:
//! the sum is what is still missing. Either the addition itself finds nothing missing (the parent
//! does not wait), or exactly one child's decrement reaches zero (that child wakes the parent).
//! One atomic operation per remote child, one per wait, none for children run in place.

use crate::sync::{AtomicI64, Ordering};

/// See the module.
#[derive(Debug)]
pub struct Join(AtomicI64);

impl Default for Join {
    fn default() -> Self {
        Self::new()
    }
}

impl Join {
    /// Nothing outstanding.
    pub fn new() -> Self {
        Self(AtomicI64::new(0))
    }

    /// A child is done. True for the last one of a parent that waits: the caller must wake it.
    #[inline]
    pub fn child_done(&self) -> bool {
        self.0.fetch_sub(1, Ordering::AcqRel) == 1
    }

    /// The parent waits for `children`. True when all are done already: it must not wait.
    #[inline]
    pub fn wait_for(&self, children: u32) -> bool {
        self.0.fetch_add(i64::from(children), Ordering::AcqRel) == -i64::from(children)
    }

    /// Parent only, while it runs: whether all of `children` are done; resets the counter if so.
    #[inline]
    pub fn poll(&self, children: u32) -> bool {
        let all_done = self.0.load(Ordering::Acquire) == -i64::from(children);
        if all_done && children != 0 {
            self.0.store(0, Ordering::Relaxed);
        }
        all_done
    }

    /// Parent only: all children are known to be done.
    pub fn reset(&self) {
        self.0.store(0, Ordering::Relaxed);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::Join;

    #[test]
    fn children_done_before_the_wait_are_not_waited_for() {
        let join = Join::new();
        assert!(!join.child_done());
        assert!(!join.poll(2));
        assert!(!join.child_done());
        assert!(join.poll(2), "both are done: the counter starts afresh");
        assert!(!join.wait_for(1));
        assert!(join.child_done(), "the last child of a waiting parent");
    }
}
