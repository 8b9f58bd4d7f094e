//! CAN for clients of the controller's driver
//!
//! Interface `can` ([`bulkhead_abi::component::can`]).

use crate::call::Answer;
use crate::invocation::invoke;
use crate::{Environment, clock};
use bulkhead_abi::can::Frame;
use bulkhead_abi::component::can;
use bulkhead_abi::kernel::Status;
use bulkhead_guest::Home;

/// A received frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// The frame.
    pub frame: Frame,
    /// Time at which the driver received it, ticks.
    pub at: u64,
}

/// Reason for which a frame was not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unsent {
    /// The bus was not free before the time was up.
    Late,
    /// The controller is off the bus, and being brought back.
    Off,
    /// The driver does not run, or refuses.
    Refused,
}

/// The client's end of the controller.
#[derive(Clone, Copy, Debug)]
pub struct Can {
    slot: u64,
}

impl Can {
    /// Opens the controller that the description wires.
    ///
    /// # Errors
    /// The description wires none.
    pub fn open(env: &Environment) -> Result<Self, Status> {
        let slot = env.interface(can::NAME).ok_or(Status::NoCapability)?;
        let can = Self { slot };
        // From now on the driver keeps a queue for this client.
        can.ask(can::HEAD, [0; 2]).map(|_| can)
    }

    fn ask(&self, what: u64, [first, second]: [u64; 2]) -> Answer {
        let reply = invoke(self.slot, [what, first, second, 0, 0]);
        match Status::of(reply.status) {
            Some(Status::Ok) => Ok(reply.value),
            status => Err(status.unwrap_or(Status::BadArgument)),
        }
    }

    /// Sends a frame, once the frames before it have had their time on the bus. Gives up at tick
    /// `until`. Returns the tick at which the frame was put on the bus.
    ///
    /// # Errors
    /// [`Unsent`].
    pub fn send(&self, env: &Environment, frame: &Frame, until: u64) -> Result<u64, Unsent> {
        loop {
            let now = clock::now();
            let answer = self.ask(can::SEND, frame.words());
            match answer.map_err(|_| Unsent::Refused)? {
                can::SENT => return Ok(now),
                can::OFF => return Err(Unsent::Off),
                can::NO_FRAME => return Err(Unsent::Refused),
                free if free > until => return Err(Unsent::Late),
                free => env.sleep_until(free),
            }
        }
    }

    /// Takes the oldest received frame.
    #[must_use]
    pub fn receive(&self) -> Option<Received> {
        let ask = |what| self.ask(what, [0; 2]).unwrap_or(0);
        let head = ask(can::HEAD);
        if head & can::IS_FRAME == 0 {
            return None;
        }
        let data = ask(can::DATA);
        let at = ask(can::TAKE);
        let frame = Frame::of([head & !can::IS_FRAME, data])?;
        Some(Received { frame, at })
    }

    /// Event counters, in the order of [`can::COUNTS`].
    #[must_use]
    pub fn counts(&self) -> [u64; can::COUNTS.len()] {
        core::array::from_fn(|number| self.ask(can::COUNT, [number as u64, 0]).unwrap_or(0))
    }
}

/// A stream of numbered frames between two ends.
#[derive(Debug)]
pub struct Line {
    can: Can,
    /// Received frames of other streams.
    pub foreign: u64,
    /// Frames that could not be sent in time.
    pub unsent: u64,
    /// Missing numbers.
    pub lost: u64,
    /// Next expected number, once a frame has arrived.
    next: Option<u32>,
}

impl Line {
    /// Opens the stream over the controller that the description wires.
    ///
    /// # Errors
    /// The description wires none.
    pub fn open(env: &Environment) -> Result<Self, Status> {
        Ok(Self {
            can: Can::open(env)?,
            foreign: 0,
            unsent: 0,
            lost: 0,
            next: None,
        })
    }

    /// Takes all frames; `read` uses a frame of the stream, and returns its number if it has one.
    pub fn take(&mut self, mut read: impl FnMut(&Received) -> Option<Option<u32>>) {
        while let Some(received) = self.can.receive() {
            match read(&received) {
                None => self.foreign += 1,
                Some(None) => {}
                Some(Some(number)) => {
                    // A smaller number comes from a peer that restarted.
                    let missing = number.checked_sub(self.next.unwrap_or(number));
                    self.lost += u64::from(missing.unwrap_or(0));
                    self.next = Some(number.wrapping_add(1));
                }
            }
        }
    }

    /// Sends before tick `until`. Returns the tick at which the frame was put on the bus.
    pub fn send(&mut self, env: &Environment, frame: &Frame, until: u64) -> Option<u64> {
        let sent = self.can.send(env, frame, until).ok();
        self.unsent += u64::from(sent.is_none());
        sent
    }

    /// As [`Can::counts`].
    #[must_use]
    pub fn counts(&self) -> [u64; can::COUNTS.len()] {
        self.can.counts()
    }
}
