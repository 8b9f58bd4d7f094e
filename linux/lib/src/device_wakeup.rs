//! Wakes a thread that waits for a device (`eventfd(2)`)
//!
//! The ringing thread writes its request first; the waiting thread clears the bell and then reads
//! the request. No ring is lost or seen twice.

use crate::error::Error;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::eventfd::{EfdFlags, EventFd};
use std::os::fd::{AsFd, BorrowedFd};

/// One thread waits for it, others ring.
#[derive(Debug)]
pub struct Bell(EventFd);

impl Bell {
    /// One that did not ring.
    ///
    /// # Errors
    /// The program has too many files open.
    pub fn new() -> Result<Self, Error> {
        let flags = EfdFlags::EFD_NONBLOCK | EfdFlags::EFD_CLOEXEC;
        EventFd::from_value_and_flags(0, flags)
            .map(Self)
            .map_err(Error::errno("a bell"))
    }

    /// Ends the current or next wait.
    pub fn ring(&self) {
        // Refused, it has rung more often than can be counted, and is heard for that.
        let _ = self.0.write(1);
    }

    /// Waits until it rings or something else can be read, for so many milliseconds at most.
    pub(crate) fn wait_beside(&self, other: BorrowedFd<'_>, milliseconds: u16) {
        let mut ready = [other, self.0.as_fd()].map(|one| PollFd::new(one, PollFlags::POLLIN));
        // The result does not matter: the caller checks the device next.
        let _ = poll(&mut ready, PollTimeout::from(milliseconds));
        let rang = ready[1].any().unwrap_or(false);
        if rang {
            // The bell rang, and no other thread clears it.
            let _ = self.0.read();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    /// Longer than anything takes that happens at all.
    const LONG_MS: u16 = 60_000;

    fn waits(bell: &Bell, other: &EventFd, milliseconds: u16) -> Duration {
        let began = Instant::now();
        bell.wait_beside(other.as_fd(), milliseconds);
        began.elapsed()
    }

    #[test]
    fn a_ring_wakes_the_present_or_the_next_waiter_once() {
        let (bell, other) = (Bell::new().unwrap(), EventFd::new().unwrap());
        let long = Duration::from_millis(LONG_MS.into());
        bell.ring();
        bell.ring();
        assert!(waits(&bell, &other, LONG_MS) < long);
        assert!(waits(&bell, &other, 20) >= Duration::from_millis(20));
        std::thread::scope(|scope| {
            scope.spawn(|| bell.ring());
            assert!(waits(&bell, &other, LONG_MS) < long);
        });
    }

    /// A ready device is left to its reader.
    #[test]
    fn what_can_be_read_ends_a_wait_and_is_there_still() {
        let (bell, other) = (Bell::new().unwrap(), EventFd::new().unwrap());
        other.write(7).unwrap();
        assert!(waits(&bell, &other, LONG_MS) < Duration::from_millis(LONG_MS.into()));
        assert_eq!(other.read(), Ok(7));
    }
}
