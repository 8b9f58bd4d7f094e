//! The partition's view of its own hardware and interrupts

use crate::gic::Gic;
use crate::hypercall::{self, Refused};
use crate::{channel, clock, interrupt, mmu, shared};
use bulkhead_abi::guest::{
    ChannelEnd, Function, GUEST_MAGIC, GuestInfo, GuestPage, HEARTBEAT_OFFSET, MAX_FUNCTIONS,
};
use bulkhead_abi::status::{CoreCounters, Status, TRAPS};
use bulkhead_abi::{VERSION, name_text};
use bulkhead_guest::{Job, Link, Period, argument, run_periodic};
use core::mem::offset_of;
use core::ops::ControlFlow;
use core::sync::atomic::{AtomicU64, Ordering};

/// The partition, as the host tool planned it.
pub struct System {
    page: GuestPage,
    heartbeat: &'static AtomicU64,
}

/// `x0` named no guest information page of this version.
pub(crate) struct NoGuestInfo;

impl System {
    /// Reads the page at `address`, maps the memory and takes note of the interrupt controller.
    pub(crate) fn read(address: u64) -> Result<Self, NoGuestInfo> {
        let page = shared::guest_page(address);
        let info = &page.info;
        if info.magic != GUEST_MAGIC || info.version != VERSION {
            return Err(NoGuestInfo);
        }
        mmu::map_data(info.memory[0], info.memory[1]);
        interrupt::set_controller(Gic::at(info.interrupt_controller), info.timer);
        Ok(Self {
            page,
            heartbeat: shared::word(address + HEARTBEAT_OFFSET),
        })
    }

    pub(crate) fn info(&self) -> &GuestInfo {
        &self.page.info
    }

    /// Name of the partition.
    #[must_use]
    pub fn name(&self) -> &str {
        name_text(&self.page.info.name)
    }

    /// Cores of the partition.
    #[must_use]
    pub fn cores(&self) -> u32 {
        self.page.info.cores
    }

    /// Guest-physical address and bytes of its memory.
    #[must_use]
    pub fn memory(&self) -> [u64; 2] {
        self.page.info.memory
    }

    /// Its PCIe functions, those without a name left over.
    #[must_use]
    pub const fn functions(&self) -> &[Function; MAX_FUNCTIONS] {
        &self.page.functions
    }

    /// Guest-physical addresses of its distributor and of its first redistributor.
    #[must_use]
    pub fn interrupt_controller(&self) -> [u64; 2] {
        self.page.info.interrupt_controller
    }

    /// Guest-physical addresses of what others write and it may only read: its own link page and its
    /// status region.
    #[must_use]
    pub fn shared_pages(&self) -> [u64; 2] {
        [self.page.info.link, self.page.info.status]
    }

    /// Guest-physical address and bytes of the memory by which the host tool hears of it: console
    /// output, console input, trace.
    #[must_use]
    pub fn recorders(&self) -> [[u64; 2]; 3] {
        [
            self.page.info.console_out,
            self.page.info.console_in,
            self.page.info.trace,
        ]
    }

    /// The value of the argument word `key=value`; `""` for the bare word.
    #[must_use]
    pub fn argument(&self, key: &str) -> Option<&str> {
        let text = self
            .page
            .info
            .argument
            .get(..self.page.info.argument_len as usize)?;
        argument::value(core::str::from_utf8(text).ok()?, key)
    }

    /// The ends of channels that it holds.
    #[must_use]
    pub fn channels(&self) -> &[ChannelEnd] {
        self.page
            .info
            .channels
            .get(..self.page.info.channel_count as usize)
            .unwrap_or(&self.page.info.channels)
    }

    /// Entries to EL2 of the core of `rank` since the partition last announced itself, from its own
    /// status region.
    #[must_use]
    pub fn traps_since_up(&self, rank: u32) -> u64 {
        let core = self.page.info.status
            + (offset_of!(Status, cores) as u64)
            + u64::from(rank) * size_of::<CoreCounters>() as u64;
        let sum = |table: usize| -> u64 {
            let first = core + table as u64;
            (0..TRAPS as u64)
                .map(|cause| shared::word(first + 8 * cause).load(Ordering::Relaxed))
                .sum()
        };
        let now = sum(offset_of!(CoreCounters, traps));
        now.wrapping_sub(sum(offset_of!(CoreCounters, traps_at_up)))
    }

    /// Its own link: state and number of starts.
    #[must_use]
    pub fn link(&self) -> Link {
        channel::link(self.page.info.link, 0)
    }

    /// Says that the partition is up: its link rises and its steady state begins.
    ///
    /// # Errors
    /// The monitor's refusal.
    pub fn announce_up(&self) -> Result<(), Refused> {
        self.beat();
        hypercall::announce_up()
    }

    /// Renews the heartbeat of the partition.
    pub fn beat(&self) {
        self.heartbeat.store(clock::now(), Ordering::Release);
    }

    /// Runs `work` once per `period` until it returns [`ControlFlow::Break`], and returns the value of that.
    pub fn run_periodic<R>(
        &self,
        name: &str,
        period: Period,
        work: impl FnMut(&Job) -> ControlFlow<R>,
    ) -> R {
        run_periodic(self, name, period, work)
    }

    /// Sleeps until `ticks`, with a beating heart.
    pub fn wait_until(&self, ticks: u64) {
        let pause = match self.page.info.heartbeat_period_ticks / 2 {
            0 => clock::frequency(),
            pause => pause,
        };
        loop {
            let now = clock::now();
            if now >= ticks {
                return;
            }
            self.heartbeat.store(now, Ordering::Release);
            clock::sleep_until(ticks.min(now.saturating_add(pause)));
        }
    }
}
