//! Required features of a core

use crate::refusal::Refusal;
use bulkhead_abi::config::Hardware;
use bulkhead_arch::identification;
use bulkhead_arch::registers::{cntfrq_el0, ctr_el0, current_el, icc_ctlr_el1, mdcr_el2, pmcr_el0};
use bulkhead_formats::address::PHYSICAL_SIZES;

/// A field of an identification register.
pub(crate) const fn field(value: u64, shift: u32) -> u64 {
    value >> shift & 0xF
}

/// The registers that decide what a guest may be given.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Features {
    pub(crate) pfr0: u64,
    pub(crate) dfr0: u64,
    pub(crate) isar1: u64,
    pub(crate) isar2: u64,
    pub(crate) mmfr0: u64,
    pub(crate) mmfr1: u64,
    pub(crate) mmfr2: u64,
}

impl Features {
    pub(crate) fn of(registers: &[[u64; 8]; 7]) -> Self {
        let [_, _, _, [pfr0, ..], [dfr0, ..], isar, mmfr] = *registers;
        let [_, isar1, isar2, ..] = isar;
        let [mmfr0, mmfr1, mmfr2, ..] = mmfr;
        Self {
            pfr0,
            dfr0,
            isar1,
            isar2,
            mmfr0,
            mmfr1,
            mmfr2,
        }
    }

    pub(crate) fn pointer_authentication(self) -> bool {
        const ISAR1: u64 = 0xFF00_0FF0;
        const ISAR2: u64 = 0x0000_FF00;
        self.isar1 & ISAR1 != 0 || self.isar2 & ISAR2 != 0
    }
}

/// Checks the features that the monitor requires, in the core's identification registers.
pub(crate) fn check() -> Result<Features, Refusal> {
    let level = current_el::read() >> 2 & 3;
    if level != 2 {
        return Err(Refusal::WrongLevel(level));
    }
    let features = Features::of(&identification::read());
    let lacks = [
        (
            field(features.pfr0, 24) == 0,
            "a GICv3 interface by system registers (interrupts.kind)",
        ),
        (field(features.mmfr0, 28) > 1, "pages of 4 KiB"),
        (
            matches!(field(features.dfr0, 8), 0 | 15),
            "a performance monitor (PMUv3)",
        ),
        (field(features.pfr0, 16) == 15, "floating point"),
        (
            field(ctr_el0::read(), 16) < 4,
            "cache lines of 64 bytes or more",
        ),
    ];
    match lacks.iter().find(|(lacks, _)| *lacks) {
        Some(&(_, what)) => Err(Refusal::CoreLacks(what)),
        None => Ok(features),
    }
}

/// Compares the core with the board file.
pub(crate) fn compare(hardware: &Hardware, features: Features) -> Result<(), Refusal> {
    let range = field(features.mmfr0, 0);
    if range != u64::from(hardware.physical_range) {
        let bits = |code: u64| {
            let size = PHYSICAL_SIZES.get(code as usize);
            size.map_or(0, |&bits| u64::from(bits))
        };
        return Err(Refusal::Differs {
            what: "bits of physical address (cpu.physical_bits)",
            found: bits(range),
            described: bits(hardware.physical_range.into()),
        });
    }
    let frequency = cntfrq_el0::read();
    if frequency != hardware.counter_hz {
        return Err(Refusal::Differs {
            what: "ticks of the counter per second (timer.frequency)",
            found: frequency,
            described: hardware.counter_hz,
        });
    }
    Ok(())
}

/// Accesses registers of debug and of the performance monitor, which EL3 may trap. The access never comes back then, and
/// the last line on the console is the one that names `firmware.leaves`.
pub(crate) fn touch_debug() {
    core::hint::black_box((pmcr_el0::read(), mdcr_el2::read()));
}

/// Once system registers are on: active priorities must fit into one register.
pub(crate) fn check_interface() -> Result<(), Refusal> {
    let priority_bits = (icc_ctlr_el1::read() >> 8 & 7) + 1;
    if priority_bits > 5 {
        return Err(Refusal::InterruptControllerLacks(
            "a CPU interface of 5 priority bits or less",
        ));
    }
    Ok(())
}
