//! Rights of components to ring doorbells and to wake others

use crate::ends;
use crate::wait_lines::WaitLines;
use bulkhead_abi::component::MAX_SHARED;
use bulkhead_abi::guest::MAX_CHANNELS;
use bulkhead_abi::kernel::{MAX_COMPONENTS, Operation, Status, first};
use bulkhead_component::call::call;
use bulkhead_formats::archive::{Checked, Component};
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

const _: () = assert!(
    MAX_CHANNELS <= 64,
    "a channel has one doorbell that its end rings"
);

/// Rights to notify others.
pub(crate) struct Doorbells {
    /// By number of component: the doorbells that it can ring, by bit of
    /// [`bulkhead_abi::guest::ChannelEnd::doorbell_out`].
    doorbells: [AtomicU64; MAX_COMPONENTS],
    /// By number of shared memory: the components that have it, by bit.
    shared: [AtomicU64; MAX_SHARED],
}

impl Doorbells {
    pub(crate) const fn new() -> Self {
        Self {
            doorbells: [const { AtomicU64::new(0) }; MAX_COMPONENTS],
            shared: [const { AtomicU64::new(0) }; MAX_SHARED],
        }
    }

    pub(crate) fn note(&self, component: &Component<'_>, archive: Checked<'_>) {
        let bells = ends(component.wiring.channels).map(|end| end.doorbell_out);
        let bells = bells.filter(|bell| *bell < u64::BITS);
        let bells = bells.fold(0, |bells, bell| bells | 1 << bell);
        self.doorbells[component.number].store(bells, Relaxed);
        for (number, shared) in archive.shared() {
            self.shared[number].store(shared.components.into(), Relaxed);
        }
    }

    /// Rings for a component that can.
    pub(crate) fn ring(&self, client: u64, doorbell: u64) -> Result<(), Status> {
        let bells = self.doorbells.get(client as usize);
        let bells = bells.ok_or(Status::BadArgument)?.load(Relaxed);
        let bell = 1_u64.checked_shl(doorbell as u32).unwrap_or(0);
        if bells & bell == 0 {
            return Err(Status::NoCapability);
        }
        call(first::MONITOR, Operation::Ring, [doorbell]).map(|_| ())
    }

    /// Notifies the components that share that memory with a component; those without a thread wait for nothing.
    pub(crate) fn wake(&self, lines: &WaitLines, client: u64, shared: u64) -> Result<(), Status> {
        let have = self.shared.get(shared as usize);
        let have = have.ok_or(Status::BadArgument)?.load(Relaxed);
        if have.checked_shr(client as u32).unwrap_or(0) & 1 == 0 {
            return Err(Status::NoCapability);
        }
        for other in (0..MAX_COMPONENTS as u64).filter(|other| have >> other & 1 != 0) {
            if other == client {
                continue;
            }
            match lines.notify(other) {
                // It has no thread, or is being restarted, and looks then.
                Ok(()) | Err(Status::NoCapability) => {}
                Err(status) => return Err(status),
            }
        }
        Ok(())
    }
}
