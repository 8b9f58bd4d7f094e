//! Frames with the time at which the kernel got them
//!
//! The kernel stamps a frame in the driver's interrupt, by its clock of the day
//! (`SO_TIMESTAMPNS`). That clock is asked once more beside the machine's counter when the frame
//! is read, so only what passed between counts, and a clock that was set long ago does no harm.

use super::{Can, FRAME_BYTES, decode};
use crate::clock;
use crate::device_wakeup::Bell;
use crate::error::Error;
use bulkhead_abi::can::Frame;
use nix::errno::Errno;
use nix::sys::socket::sockopt::{ReceiveTimestampns, RxqOvfl};
use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg, setsockopt};
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, clock_gettime};
use std::io::IoSliceMut;
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

/// A frame that came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamped {
    /// The frame.
    pub frame: Frame,
    /// Tick at which the driver had it.
    pub at: u64,
}

/// Reads an interface. One thread does.
#[derive(Debug)]
pub struct CanReader {
    can: Can,
    /// Room for what the kernel says of a frame.
    control: Vec<u8>,
    /// When the last frame came: none comes before it.
    newest: u64,
    lost: u64,
    passed_over: u64,
}

impl CanReader {
    /// From now on.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn new(can: Can) -> Result<Self, Error> {
        let stamps = setsockopt(&can.socket, ReceiveTimestampns, &true);
        let set = stamps.and_then(|()| setsockopt(&can.socket, RxqOvfl, &1));
        set.map_err(Error::errno(&can.name))?;
        Ok(Self {
            can,
            control: nix::cmsg_space!(TimeSpec, u32),
            newest: 0,
            lost: 0,
            passed_over: 0,
        })
    }

    /// The next data frame if one waits.
    ///
    /// # Errors
    /// The interface went down; it can be read again once it is up.
    pub fn take(&mut self) -> Result<Option<Stamped>, Error> {
        loop {
            match self.read() {
                Ok(Some(stamped)) => return Ok(Some(stamped)),
                Ok(None) => self.passed_over += 1,
                Err(Errno::EAGAIN) => return Ok(None),
                Err(Errno::EINTR) => {}
                Err(errno) => return Err(Error::errno(&self.can.name)(errno)),
            }
        }
    }

    /// Waits for a frame, for the end of the interface or for the bell, at most for the given
    /// milliseconds.
    pub fn wait(&self, bell: &Bell, milliseconds: u16) {
        bell.wait_beside(self.can.socket.as_fd(), milliseconds);
    }

    /// Frames so far that came while the socket was full.
    #[must_use]
    pub const fn lost(&self) -> u64 {
        self.lost
    }

    /// Frames so far without data, or that were no frames.
    #[must_use]
    pub const fn passed_over(&self) -> u64 {
        self.passed_over
    }

    fn read(&mut self) -> Result<Option<Stamped>, Errno> {
        let mut bytes = [0; FRAME_BYTES];
        let mut parts = [IoSliceMut::new(&mut bytes)];
        let socket = self.can.socket.as_raw_fd();
        let (control, flags) = (Some(self.control.as_mut_slice()), MsgFlags::MSG_DONTWAIT);
        let message = recvmsg::<()>(socket, &mut parts, control, flags)?;
        let (length, mut stamp) = (message.bytes, None);
        for control in message.cmsgs()? {
            match control {
                ControlMessageOwned::ScmTimestampns(time) => stamp = Some(time),
                // Of all so far, modulo 2^32.
                ControlMessageOwned::RxqOvfl(count) => {
                    self.lost += u64::from(count.wrapping_sub(self.lost as u32));
                }
                _ => {}
            }
        }
        let at = self.tick_of(stamp);
        let frame = decode(&bytes).filter(|_| length == FRAME_BYTES);
        Ok(frame.map(|frame| Stamped { frame, at }))
    }

    /// The tick of a stamp: never in the future, nor before an earlier frame, even if the clock of
    /// the day was set in between.
    fn tick_of(&mut self, stamp: Option<TimeSpec>) -> u64 {
        // The counter first, so that a frame is at least as old as it is said to be.
        let now = clock::ticks();
        let today = clock_gettime(ClockId::CLOCK_REALTIME).ok();
        let at = match (stamp, today) {
            (Some(stamp), Some(today)) => before(now, stamp, today),
            _ => now,
        };
        self.newest = at.clamp(self.newest.min(now), now);
        self.newest
    }
}

/// The tick that is as long before `now` as a stamp is before today.
fn before(now: u64, stamp: TimeSpec, today: TimeSpec) -> u64 {
    let age = Duration::from(today).saturating_sub(Duration::from(stamp));
    let ticks = age.as_nanos() * u128::from(clock::frequency_hz()) / 1_000_000_000;
    now.saturating_sub(u64::try_from(ticks).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_is_as_old_as_the_clock_of_the_day_says() {
        let time = |ns: i64| TimeSpec::new(1_700_000_000, ns);
        let second = clock::frequency_hz();
        let now = 10 * second;
        assert_eq!(before(now, time(0), time(500_000_000)), now - second / 2);
        assert_eq!(before(now, time(7), time(7)), now);
        // The clock was set back, or far ahead.
        assert_eq!(before(now, time(7), TimeSpec::new(0, 0)), now);
        assert_eq!(before(now, TimeSpec::new(0, 0), time(0)), 0);
    }
}
