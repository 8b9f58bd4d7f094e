//! CAN controllers that stages read and write (`linux/can.h`)
//!
//! The agent brings a controller up when the first of its stages is created. A controller that is
//! taken down, or goes off the bus, neither receives nor sends until it is back; sockets stay open.

use crate::plan::{End, Placement, Source, Stage};
use bulkhead_abi::can::{BITS_PER_S, Frame};
use bulkhead_linux::{Bell, Can, CanReader, Error, can_at, can_is_on_bus, can_serve_on, ticks};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::thread;
use std::time::{Duration, Instant};

/// Longest wait of a first stage for a frame. A pipe that halts sends no notification.
const PATIENCE_MS: u16 = 1000;

/// State of a stage's controllers that the recorder reads.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// Longest time from the driver to the waiting stage, ticks.
    pub(crate) slowest: AtomicU64,
    /// Frames that arrived while the stage's socket was full, and frames without data.
    pub(crate) lost: AtomicU64,
    pub(crate) passed_over: AtomicU64,
}

/// State of an interface at the last check.
#[derive(Debug)]
pub(crate) struct Watched {
    pub(crate) interface: String,
    on_bus: AtomicBool,
    /// Number of failures.
    downs: AtomicU64,
}

impl Watched {
    pub(crate) fn new(interface: String) -> Self {
        Self {
            interface,
            on_bus: AtomicBool::new(true),
            downs: AtomicU64::new(0),
        }
    }

    /// Checks the interface. Returns the number of failures so far.
    pub(crate) fn look(&self) -> u64 {
        let on_bus = can_is_on_bus(&self.interface);
        let was = self.on_bus.swap(on_bus, Relaxed);
        let fell = u64::from(was && !on_bus);
        self.downs.fetch_add(fell, Relaxed) + fell
    }

    pub(crate) fn downs(&self) -> u64 {
        self.downs.load(Relaxed)
    }

    pub(crate) fn is_on_bus(&self) -> bool {
        self.on_bus.load(Relaxed)
    }
}

/// The controllers that a stage reads and writes.
#[derive(Default)]
pub(crate) struct Ends {
    pub(crate) reader: Option<Reader>,
    pub(crate) writer: Option<Writer>,
    /// Their interfaces, for the periodic check.
    pub(crate) watched: Vec<Watched>,
}

impl Ends {
    /// Opens the controllers of a stage; `usual` is the program's interface, for ends that name
    /// none.
    pub(crate) fn open(stage: &Stage, usual: Option<&str>) -> Result<Self, Error> {
        let mut ends = Self::default();
        if let Source::Can(end) = &stage.source {
            ends.reader = Some(Reader::new(ends.can(end, stage, usual)?, end)?);
        }
        if let Some(end) = &stage.writes {
            let patience = Duration::from_nanos(stage.period_ns);
            ends.writer = Some(Writer::new(ends.can(end, stage, usual)?, end, patience)?);
        }
        Ok(ends)
    }

    fn can(&mut self, end: &End, stage: &Stage, usual: Option<&str>) -> Result<Can, Error> {
        let can = open(end, stage.place, usual)?;
        self.watched.push(Watched::new(can.name().to_owned()));
        Ok(can)
    }
}

/// Opens a controller, given by its address on the PCI bus or as the program's interface, and
/// brings it up.
///
/// Its interrupts go to the core of its stages. On another core a frame would wait milliseconds
/// behind the kernel's work for networks and files, and each frame would interrupt the stage's core
/// a second time.
fn open(end: &End, core: Placement, usual: Option<&str>) -> Result<Can, Error> {
    let Some(place) = &end.place else {
        return Can::listen(usual.ok_or(Error::NoInterface)?);
    };
    let can = Can::open_shared(&can_at(place)?, BITS_PER_S)?;
    if let Placement::Core(core) = core {
        can_serve_on(place, core)?;
    }
    Ok(can)
}

/// The socket from which a first stage reads frames.
pub(crate) struct Reader {
    can: CanReader,
    bell: Arc<Bell>,
}

impl Reader {
    /// Receives frames with the end's identifier from now on, or all frames.
    pub(crate) fn new(can: Can, end: &End) -> Result<Self, Error> {
        if let Some(identifier) = end.identifier {
            can.hear(Some(identifier))?;
        }
        let (can, bell) = (CanReader::new(can)?, Arc::new(Bell::new()?));
        Ok(Self { can, bell })
    }

    /// Returns the bell that wakes the thread that waits for a frame.
    pub(crate) fn bell(&self) -> Arc<Bell> {
        Arc::clone(&self.bell)
    }

    /// Takes a waiting frame and its time of arrival. An interface that is down delivers none.
    pub(crate) fn take(&mut self, seen: &Seen) -> Option<([u64; 2], u64)> {
        let taken = self.can.take().ok().flatten();
        seen.lost.store(self.can.lost(), Relaxed);
        seen.passed_over.store(self.can.passed_over(), Relaxed);
        taken.map(|one| (one.frame.words(), one.at))
    }

    /// Takes a frame, and waits for one until the bell rings.
    pub(crate) fn wait(&mut self, seen: &Seen) -> Option<([u64; 2], u64)> {
        if let Some(taken) = self.take(seen) {
            return Some(taken);
        }
        self.can.wait(&self.bell, PATIENCE_MS);
        let taken = self.take(seen)?;
        let took = ticks().saturating_sub(taken.1);
        seen.slowest.fetch_max(took, Relaxed);
        Some(taken)
    }
}

/// The socket to which a last stage writes frames.
pub(crate) struct Writer {
    can: Can,
    identifier: Option<u16>,
    patience: Duration,
}

impl Writer {
    pub(crate) fn new(can: Can, end: &End, patience: Duration) -> Result<Self, Error> {
        can.hear(None)?;
        Ok(Self {
            can,
            identifier: end.identifier,
            patience,
        })
    }

    /// Sends a frame. Returns whether the kernel accepted it within the stage's patience; an
    /// interface that is down accepts none.
    pub(crate) fn send(&self, data: [u64; 2]) -> bool {
        let frame = match self.identifier {
            Some(identifier) => Some(Frame::new(identifier, &data[1].to_le_bytes())),
            None => Frame::of(data),
        };
        let Some(frame) = frame else {
            return false;
        };
        let until = Instant::now() + self.patience;
        loop {
            match self.can.send(&frame) {
                Ok(()) => return true,
                Err(error) if error.is_crowded() && Instant::now() < until => {
                    thread::sleep(self.patience / 8);
                }
                Err(_) => return false,
            }
        }
    }
}
