//! Interrupts and doorbells
//!
//! Each enabled interrupt has a place in a small table: a counter, which is all that a doorbell
//! needs, and a handler where one is wanted. Interrupts arrive without any entry to EL2.

use crate::gic::Gic;
use crate::lock::Lock;
use crate::{clock, registers};
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Interrupts that can be enabled at a time.
pub const MAX_INTERRUPTS: usize = 40;
/// INTIDs from here on mean that none was pending (IHI 0069, 2.2.1).
const SPECIAL: u32 = 1020;
/// Marks a free entry of the handler table.
const VACANT: u32 = SPECIAL;

/// Called in interrupt context with the INTID.
pub type Handler = fn(u32);

struct Place {
    intid: AtomicU32,
    count: AtomicU64,
    handler: Lock<Option<Handler>>,
}

static PLACES: [Place; MAX_INTERRUPTS] = [const {
    Place {
        intid: AtomicU32::new(VACANT),
        count: AtomicU64::new(0),
        handler: Lock::new(None),
    }
}; MAX_INTERRUPTS];

/// Number of interrupts that arrived without being enabled.
static UNEXPECTED: AtomicU64 = AtomicU64::new(0);

static CONTROLLER: Lock<Option<Gic>> = Lock::new(None);

/// INTID of the virtual timer; none before [`set_controller`].
static TIMER: AtomicU32 = AtomicU32::new(SPECIAL);

/// An enabled interrupt.
#[derive(Clone, Copy)]
pub struct Interrupt(&'static Place);

impl Interrupt {
    /// Times it arrived since the start.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.0.count.load(Ordering::Relaxed)
    }

    /// Its INTID.
    #[must_use]
    pub fn intid(&self) -> u32 {
        self.0.intid.load(Ordering::Relaxed)
    }
}

/// Enables `intid` on the first core, which must be the calling one; `None` when the table is full
/// or the INTID is none of an interrupt or the timer's. Again for one that is enabled changes its
/// handler.
pub fn enable(intid: u32, handler: Option<Handler>) -> Option<Interrupt> {
    if intid >= SPECIAL || intid == TIMER.load(Ordering::Relaxed) {
        return None;
    }
    let place = find(intid).or_else(|| take(intid))?;
    place.handler.with(|slot| *slot = handler);
    CONTROLLER.with(|controller| controller.as_ref().map(|gic| gic.enable(intid, 0)))?;
    Some(Interrupt(place))
}

/// Interrupts that arrived without having been enabled here, since the start.
#[must_use]
pub fn unexpected() -> u64 {
    UNEXPECTED.load(Ordering::Relaxed)
}

fn find(intid: u32) -> Option<&'static Place> {
    PLACES
        .iter()
        .find(|place| place.intid.load(Ordering::Acquire) == intid)
}

fn take(intid: u32) -> Option<&'static Place> {
    PLACES.iter().find(|place| {
        let swap = (Ordering::AcqRel, Ordering::Relaxed);
        place
            .intid
            .compare_exchange(VACANT, intid, swap.0, swap.1)
            .is_ok()
    })
}

pub(crate) fn set_controller(gic: Gic, timer: u32) {
    TIMER.store(timer, Ordering::Relaxed);
    CONTROLLER.with(|controller| *controller = Some(gic));
}

/// Brings up the calling core's interface and its timer.
pub(crate) fn start_core(rank: u32) {
    CONTROLLER.with(|controller| {
        if let Some(gic) = controller {
            gic.start_core(rank);
            gic.enable(TIMER.load(Ordering::Relaxed), rank);
        }
    });
}

/// PSCI's name of the partition's core of `rank`.
pub(crate) fn affinity(rank: u32) -> Option<u64> {
    CONTROLLER.with(|controller| controller.as_ref().map(|gic| gic.affinity(rank)))
}

/// Serves what is pending; called by the vectors.
pub(crate) fn dispatch() {
    let intid = (registers::acknowledge_interrupt() & 0xff_ffff) as u32;
    if intid >= SPECIAL {
        return;
    }
    if intid == TIMER.load(Ordering::Relaxed) {
        clock::silence_timer();
    } else if let Some(place) = find(intid) {
        place.count.fetch_add(1, Ordering::Relaxed);
        if let Some(handle) = place.handler.with(|slot| *slot) {
            handle(intid);
        }
    } else {
        UNEXPECTED.fetch_add(1, Ordering::Relaxed);
    }
    registers::end_interrupt(u64::from(intid));
}
