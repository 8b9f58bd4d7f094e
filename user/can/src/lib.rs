//! A CAN controller on its board, with the wire's pace
//!
//! One thread serves the interrupts, and may preempt those that send. The wire is paced here: a
//! frame is sent only when the preceding frames, of this and of other controllers, have had their
//! time at the speed of the bus. An emulated controller would take frames faster, and its peers
//! would lose them.
#![no_std]

mod board;
mod queue;

use board::Board;
use bulkhead_abi::can::Frame;
use bulkhead_abi::guest::Function;
use bulkhead_component::clock;
use bulkhead_component::device::Other;
use bulkhead_sja1000::{Absent, Refused, Settings, Sja1000};
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicBool, AtomicU64};

pub use bulkhead_sja1000::Counters;
pub use queue::Queue;

/// How all controllers are set.
pub const SETTINGS: Settings = Settings::PCICAN_KBIT_500;

/// No frame has the wire for less time.
const SHORTEST: Frame = Frame {
    id: 0,
    extended: false,
    length: 0,
    data: [0; 8],
};

/// Reason for which there is no controller.
#[derive(Clone, Copy, Debug)]
pub enum Closed {
    /// The function is another one.
    Other(Other),
    /// No controller answers.
    Absent,
}

/// Result of sending a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// The frame is on the bus.
    Now,
    /// The bus is free from this tick on.
    From(u64),
    /// The controller is off the bus, and being brought back.
    Off,
}

/// The controller.
pub struct Port {
    board: Board,
    /// A thread writes the transmit buffer.
    sending: AtomicBool,
    /// Tick from which on the bus is free.
    free: AtomicU64,
}

impl Port {
    /// Not open yet.
    pub const fn new() -> Self {
        Self {
            board: Board::new(),
            sending: AtomicBool::new(false),
            free: AtomicU64::new(0),
        }
    }

    /// Starts the controller, whatever it did before.
    ///
    /// # Errors
    /// [`Closed`].
    pub fn open(&self, function: &Function) -> Result<(), Closed> {
        let device = board::open(function).map_err(Closed::Other)?;
        self.board.connect(&device);
        Sja1000::start(&self.board, SETTINGS).map_err(|Absent| Closed::Absent)?;
        board::let_interrupts_through(&device);
        self.board.ready.store(true, Release);
        Ok(())
    }

    fn controller(&self) -> Sja1000<&Board> {
        Sja1000::running(&self.board, SETTINGS)
    }

    /// Serves an interrupt: hands over all frames that came, with the tick at which they were taken
    /// out, and counts what went wrong.
    pub fn serve(&self, counters: &mut Counters, mut take: impl FnMut(&Frame, u64)) {
        let controller = self.controller();
        controller.attend(counters);
        while let Some(frame) = controller.receive(counters) {
            let now = clock::now();
            self.occupy(now, &frame);
            take(&frame, now);
        }
    }

    /// Puts a frame on the bus if the bus is free. A thread that is preempted while it writes the
    /// controller blocks all other senders, so threads with budgets send under a mutex with
    /// inheritance.
    pub fn send(&self, frame: &Frame) -> Sent {
        let now = clock::now();
        let soon = now + wire_ticks(SHORTEST.least_bits());
        if !self.board.ready.load(Acquire) || self.sending.swap(true, Acquire) {
            // A less important thread is about to, and needs the processor; its frame has the wire for so long at least.
            return Sent::From(soon);
        }
        let sent = self.send_alone(frame, now);
        self.sending.store(false, Release);
        sent
    }

    /// Sends for the only writer of the transmit buffer: no other thread occupies the bus with a
    /// frame of this controller in the meantime.
    fn send_alone(&self, frame: &Frame, now: u64) -> Sent {
        let free = self.free.load(Relaxed);
        if free > now {
            return Sent::From(free);
        }
        match self.controller().send(frame) {
            Ok(()) => {
                self.occupy(now, frame);
                Sent::Now
            }
            Err(Refused::Busy) => Sent::From(now + clock::frequency() / 10_000),
            Err(Refused::Off) => Sent::Off,
        }
    }

    /// Puts the controller into the state in which too many errors leave it.
    pub fn leave_bus(&self) {
        self.controller().leave_bus();
    }

    /// The bus is busy with a frame that starts now, or when those before it have ended.
    fn occupy(&self, now: u64, frame: &Frame) {
        let ticks = wire_ticks(frame.most_bits());
        let until = |free: u64| Some(free.max(now) + ticks);
        let _always_some = self.free.fetch_update(Relaxed, Relaxed, until);
    }
}

/// How long so many bits have the wire.
fn wire_ticks(bits: u32) -> u64 {
    (u64::from(bits) * clock::frequency()).div_ceil(u64::from(SETTINGS.bits_per_s))
}

impl Default for Port {
    fn default() -> Self {
        Self::new()
    }
}
