//! The interrupt controller as a partition sees it
//!
//! Distributor and redistributors are never mapped to a guest (facts 4): accesses come here, and only
//! bits of interrupts the partition owns are read or written. Its groups and trigger modes are fixed at boot, its
//! priorities are at least [`HIGHEST_GUEST_PRIORITY`]. Affinities are virtual ([`Core::affinity`]). All writes that
//! pass are to set, clear or byte registers, so that monitors need no lock between them.

use crate::device::Request;
use crate::idle::Monitor;
use crate::machine::Machine;
use crate::state::{Core, View};
use bulkhead_formats::gicv3::{
    AFFINITY_ROUTING, DEFAULT_PRIORITY, DISABLE_SECURITY, ENABLE_GROUP_0, ENABLE_GROUP_1,
    FRAME_SIZE, GICD_CTLR, GICD_IIDR, GICD_IROUTER, GICD_TYPER, GICR_IIDR, GICR_TYPER, ICACTIVER,
    ICENABLER, ICPENDR, IPRIORITYR, PIDR2,
};
use core::sync::atomic::Ordering::Relaxed;

/// Guests' priorities are at least this, which is the smallest priority but 0 of an interface that shows
/// four bits of it: a waiting monitor masks them all and leaves its own, of priority 0.
const HIGHEST_GUEST_PRIORITY: u8 = 0x10;

/// `GICD_TYPER` without LPIs, message-based and extended SPIs and security (facts 4.6).
const TYPER_SHOWN: u32 = 0x03F8_00FF;

/// Permitted accesses to the bits of owned interrupts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    ReadOnly,
    SetOrClear,
    Priority,
}

/// Registers with some bits per interrupt: what may be done, and log2 of the bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Bank {
    rule: Rule,
    shift: u32,
}

const NOT_A_BANK: Option<Bank> = None;
const GROUP: Option<Bank> = Some(Bank {
    rule: Rule::ReadOnly,
    shift: 0,
});
const ONE_BIT: Option<Bank> = Some(Bank {
    rule: Rule::SetOrClear,
    shift: 0,
});
const PRIORITY: Option<Bank> = Some(Bank {
    rule: Rule::Priority,
    shift: 3,
});
const TRIGGER: Option<Bank> = Some(Bank {
    rule: Rule::ReadOnly,
    shift: 1,
});

/// The banks, by blocks of 128 bytes: groups, enable to active, priorities, targets, triggers.
#[rustfmt::skip]
const BANKS: [Option<Bank>; 26] = [
    NOT_A_BANK, GROUP,
    ONE_BIT, ONE_BIT, ONE_BIT, ONE_BIT, ONE_BIT, ONE_BIT,
    PRIORITY, PRIORITY, PRIORITY, PRIORITY, PRIORITY, PRIORITY, PRIORITY, PRIORITY,
    NOT_A_BANK, NOT_A_BANK, NOT_A_BANK, NOT_A_BANK,
    NOT_A_BANK, NOT_A_BANK, NOT_A_BANK, NOT_A_BANK,
    TRIGGER, TRIGGER,
];

impl Bank {
    fn at(offset: u64) -> Option<Self> {
        let block = usize::try_from(offset >> 7).unwrap_or(usize::MAX);
        BANKS.get(block).copied().flatten()
    }

    /// First interrupt of the register at `offset`. A bank starts at a multiple of its size.
    const fn intid(self, offset: u64) -> u64 {
        let within = (0x80_u64 << self.shift).wrapping_sub(4);
        (offset & within) << 3 >> self.shift
    }

    /// The bits of the register from `intid` on that belong to interrupts of `owned`.
    #[inline(never)]
    fn mask(self, intid: u64, owned: &[u32]) -> u32 {
        let word = usize::try_from(intid >> 5).unwrap_or(usize::MAX);
        let owned = owned.get(word).map_or(0, |word| word >> (intid & 31));
        let field = u32::MAX >> 32_u32.wrapping_sub(1 << self.shift);
        let mut mask = 0;
        for lane in 0..32_u32 >> self.shift {
            if owned >> lane & 1 != 0 {
                mask |= field << (lane << self.shift);
            }
        }
        mask
    }
}

impl<M: Machine> Monitor<M> {
    pub(crate) fn distributor(self, request: Request) -> u64 {
        let partition = self.core.partition;
        let Request { offset, value, .. } = request;
        let register = partition.gicd.wrapping_add(offset);
        match offset {
            GICD_CTLR => {
                let enables = u64::from(ENABLE_GROUP_0 | ENABLE_GROUP_1);
                if let Some(value) = value {
                    partition
                        .distributor_enables
                        .store(value & enables, Relaxed);
                }
                let security = self.machine.read32(register) & DISABLE_SECURITY;
                partition.distributor_enables.load(Relaxed) | u64::from(AFFINITY_ROUTING | security)
            }
            GICD_TYPER => u64::from(self.machine.read32(register) & TYPER_SHOWN),
            GICD_IIDR | PIDR2 => u64::from(self.machine.read32(register)),
            GICD_IROUTER..0x8000 => self.router(request),
            _ => self.bank(partition.gicd, request, &partition.config.spis),
        }
    }

    fn router(self, request: Request) -> u64 {
        let Request {
            offset,
            bytes,
            value,
        } = request;
        let intid = offset.wrapping_sub(GICD_IROUTER) >> 3;
        let word = usize::try_from(intid >> 5).unwrap_or(usize::MAX);
        let owned = self
            .core
            .partition
            .config
            .spis
            .get(word)
            .map_or(0, |word| word >> (intid & 31));
        if bytes != 8 || owned & 1 == 0 {
            return 0;
        }
        let register = self.core.partition.gicd.wrapping_add(offset);
        match value {
            None => {
                let physical = self.machine.read64(register);
                let core = self.core.partition.core_at(View::Hardware, physical);
                core.map_or(0, |core| core.affinity(View::Guest))
            }
            Some(affinity) => {
                if let Some(core) = self.core.partition.core_at(View::Guest, affinity) {
                    self.machine
                        .write64(register, core.affinity(View::Hardware));
                }
                0
            }
        }
    }

    pub(crate) fn redistributor(self, core: &Core, request: Request) -> u64 {
        if let Some(offset) = request.offset.checked_sub(FRAME_SIZE) {
            let private = core.gicr.wrapping_add(FRAME_SIZE);
            let owned = core::slice::from_ref(&core.private);
            return self.bank(private, Request { offset, ..request }, owned);
        }
        let register = core.gicr.wrapping_add(request.offset);
        match request.offset & !4 {
            _ if matches!(request.offset, GICR_IIDR | PIDR2) => {
                u64::from(self.machine.read32(register))
            }
            GICR_TYPER => core.typer >> ((request.offset & 4) << 3),
            _ => 0,
        }
    }

    fn bank(self, base: u64, request: Request, owned: &[u32]) -> u64 {
        let Request {
            offset,
            bytes,
            value,
        } = request;
        let Some(bank) = Bank::at(offset) else {
            return 0;
        };
        let mask = bank.mask(bank.intid(offset), owned);
        if bytes != 4 && (bytes != 1 || bank.rule != Rule::Priority) || mask == 0 {
            return 0;
        }
        let lane = (offset & 3) << 3;
        let register = base.wrapping_add(offset & !3);
        let Some(value) = value else {
            return u64::from(self.machine.read32(register) & mask) >> lane;
        };
        let [a, b, c, d, ..] = (value << lane).to_le_bytes();
        let word = u32::from_le_bytes([a, b, c, d]);
        match bank.rule {
            Rule::ReadOnly => {}
            Rule::SetOrClear => self.machine.write32(register, word & mask),
            Rule::Priority => {
                let touched = if bytes == 1 {
                    0xFF_u32 << lane
                } else {
                    u32::MAX
                };
                self.set_priorities(register, word, mask & touched);
            }
        }
        0
    }

    fn set_priorities(self, register: u64, word: u32, mask: u32) {
        for lane in 0..4_u32 {
            let [owned, ..] = (mask >> (lane << 3)).to_le_bytes();
            let [priority, ..] = (word >> (lane << 3)).to_le_bytes();
            if owned != 0 {
                let place = register.wrapping_add(u64::from(lane));
                self.machine
                    .write8(place, priority.max(HIGHEST_GUEST_PRIORITY));
            }
        }
    }

    /// Silences the partition's SPIs and sends them to this core.
    ///
    /// An interrupt that was in flight when its enable bit was cleared is at worst taken as spurious. A stopped and a
    /// starting guest have interrupts masked, so the monitor need not wait until the write takes effect everywhere.
    #[inline(never)]
    pub(crate) fn reset_interrupts(self) {
        for (word, &owned) in (0_u64..).zip(&self.core.partition.config.spis) {
            self.silence(self.core.partition.gicd, word, owned);
        }
    }

    /// Silences this core's private interrupts.
    #[inline(never)]
    pub(crate) fn reset_private(self) {
        let private = self.core.gicr.wrapping_add(FRAME_SIZE);
        self.silence(private, 0, self.core.private);
    }

    fn silence(self, base: u64, word: u64, owned: u32) {
        let banks = base.wrapping_add(word << 2);
        self.machine.write32(banks.wrapping_add(ICENABLER), owned);
        self.machine.write32(banks.wrapping_add(ICPENDR), owned);
        self.machine.write32(banks.wrapping_add(ICACTIVER), owned);
        for bit in (0..32_u64).filter(|bit| owned >> bit & 1 != 0) {
            let intid = word << 5 | bit;
            let priority = base.wrapping_add(IPRIORITYR).wrapping_add(intid);
            self.machine.write8(priority, DEFAULT_PRIORITY);
            if word != 0 {
                let router = base.wrapping_add(GICD_IROUTER).wrapping_add(intid << 3);
                self.machine
                    .write64(router, self.core.affinity(View::Hardware));
            }
        }
    }
}
