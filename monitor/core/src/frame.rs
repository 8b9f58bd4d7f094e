//! The guest at its last entry to EL2
//!
//! General registers and exception registers, stored by the vectors and restored from here. Laid out as
//! [`FaultRecord`], so that recording a fault is one copy.

use bulkhead_abi::status::FaultRecord;
use core::mem::offset_of;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed, Ordering::Release};

const WORDS: usize = size_of::<FaultRecord>() / 8;
const TICKS: usize = offset_of!(FaultRecord, ticks) / 8;
const CAUSE_ACTION: usize = offset_of!(FaultRecord, cause) / 8;
const CORE_RESTARTS: usize = offset_of!(FaultRecord, core) / 8;
const ESR: usize = offset_of!(FaultRecord, esr) / 8;
const FAR: usize = offset_of!(FaultRecord, far) / 8;
const IPA: usize = offset_of!(FaultRecord, ipa) / 8;
const ELR: usize = offset_of!(FaultRecord, elr) / 8;
const SPSR: usize = offset_of!(FaultRecord, spsr) / 8;
const X0: usize = offset_of!(FaultRecord, x) / 8;

const _: () = assert!(offset_of!(FaultRecord, sequence) == 0);
const _: () = assert!(offset_of!(FaultRecord, action) == CAUSE_ACTION * 8 + 4);
const _: () = assert!(offset_of!(FaultRecord, restarts) == CORE_RESTARTS * 8 + 4);
// The order in which the vectors store them.
const _: () = assert!(X0 - TICKS == 8 && X0 - ESR == 5 && X0 - FAR == 4);
const _: () = assert!(X0 - IPA == 3 && X0 - ELR == 2 && X0 - SPSR == 1 && X0 + 31 == WORDS);

/// [`FaultRecord`] in words.
#[repr(transparent)]
#[derive(Debug)]
pub struct Frame {
    words: [AtomicU64; WORDS],
}

macro_rules! registers {
    ($($(#[$doc:meta])* $name:ident $set:ident $place:ident;)*) => {$(
        $(#[$doc])*
        #[must_use]
        pub fn $name(&self) -> u64 {
            self.read($place)
        }

        /// Sets it.
        pub fn $set(&self, value: u64) {
            self.write($place, value);
        }
    )*};
}

impl Frame {
    /// From the start of the frame to x0, bytes.
    pub const X_OFFSET: usize = X0 * 8;

    /// A frame of zeros.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            words: [const { AtomicU64::new(0) }; WORDS],
        }
    }

    fn read(&self, place: usize) -> u64 {
        self.words.get(place).map_or(0, |word| word.load(Relaxed))
    }

    fn write(&self, place: usize, value: u64) {
        if let Some(word) = self.words.get(place) {
            word.store(value, Relaxed);
        }
    }

    registers! {
        /// Counter at entry.
        ticks set_ticks TICKS;
        /// `ESR_EL2`.
        esr set_esr ESR;
        /// `FAR_EL2`.
        far set_far FAR;
        /// Guest-physical address, from `HPFAR_EL2` and `FAR_EL2`.
        ipa set_ipa IPA;
        /// `ELR_EL2`.
        elr set_elr ELR;
        /// `SPSR_EL2`.
        spsr set_spsr SPSR;
    }

    /// General register `n`; 31 and beyond read zero.
    #[must_use]
    pub fn x(&self, n: usize) -> u64 {
        self.read(n.wrapping_add(X0))
    }

    /// Sets general register `n`; 31 and beyond ignore it.
    pub fn set_x(&self, n: usize, value: u64) {
        self.write(n.wrapping_add(X0), value);
    }

    /// Forgets what the core's last entry left: it says nothing about a core that does not come.
    pub(crate) fn clear(&self) {
        for word in &self.words {
            word.store(0, Relaxed);
        }
    }

    pub(crate) fn judge(&self, cause: u64, action: u64, core: u32, restarts: u64) {
        self.write(CAUSE_ACTION, cause | action << 32);
        self.write(CORE_RESTARTS, u64::from(core) | restarts << 32);
    }

    /// Becomes record `number`, which is written last, so that a reader knows a complete one.
    pub(crate) fn record(&self, number: u64, other: &Self) {
        let [sequence, to @ ..] = &self.words;
        sequence.store(0, Relaxed);
        for (to, from) in to.iter().zip(other.words.iter().skip(1)) {
            to.store(from.load(Relaxed), Relaxed);
        }
        sequence.store(number, Release);
    }
}

impl Default for Frame {
    fn default() -> Self {
        Self::new()
    }
}
