//! Hooks for a build without ThreadSanitizer: all are empty.

/// A stack as the sanitizer knows it.
#[derive(Debug, Default)]
pub struct Stack(());

impl Stack {
    /// The running stack, `self`, is left for `to` at once.
    #[inline(always)]
    pub fn leave_for(&self, _to: &Self) {}
}

/// Orders what came before a release of `place` before what follows.
#[inline(always)]
pub fn acquire<T>(_place: *const T) {}

/// Orders what came before ahead of what follows an acquire of `place`.
#[inline(always)]
pub fn release<T>(_place: *const T) {}
