//! Stopping and starting a partition
//!
//! A core leaves its guest without an interrupt to EL2: its partition's stage-2 root is cut and all
//! translations of the VMID are forgotten, so that the guest's next access, at the latest the fetch of its next
//! instruction, enters EL2. A guest that sleeps is woken first, by the monitor's interrupt, which becomes pending
//! in its redistributor: WFI ends whether or not the interrupt is taken, and WFE by an event. Only a guest that has
//! silenced its own CPU interface and executes WFI does not wake (see `wfi` in the reference).
//!
//! *Order.* A core that stops another partition announces itself ([`Partition::stoppers`]), cuts, asks the
//! leader, and signs off. A leader that restores the root first forgets requests that concern the old image. Then the
//! leader opens the root, waits until no stopper is announced, and enters the guest only if no request is pending. A
//! later stopper cuts the root, and no leader opens it again for this start. An earlier stopper has either cut before
//! the root was opened, so that its request is seen or concerned the old image; or it requests afterwards, and the
//! leader sees the request.
//!
//! One core of a partition, the leader, starts it, with all others parked. All of them are parked twice. A core may
//! have been starting another one before it parked itself; the second round parks that one, too. Then no running core
//! can start another.

use crate::idle::Monitor;
use crate::machine::Machine;
use crate::state::{Core, NEVER, NO_FAULT, Partition, Power, request};
use bulkhead_abi::status::State;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

impl<M: Machine> Monitor<M> {
    /// Stops a partition and asks its leader for something; this core, if it is that, serves it before its
    /// guest goes on.
    #[inline(never)]
    pub(crate) fn signal(self, partition: &Partition, request: u64) {
        partition.stoppers.fetch_add(1, AcqRel);
        self.set_gates(partition, false);
        if let Some(leader) = partition.leader() {
            leader.ask(request);
            if leader.index != self.core.index {
                self.summon(leader);
            }
        }
        partition.stoppers.fetch_sub(1, Release);
    }

    /// Opens or closes a partition's way to memory, and forgets what was known of it.
    #[inline(never)]
    fn set_gates(self, partition: &Partition, open: bool) {
        for gate in partition.gates {
            let value = if open { gate.open } else { gate.closed };
            self.machine.write64(gate.pa, value);
        }
        self.machine.forget_translations(partition.config.vttbr);
    }

    /// Returns whether this partition's stage-2 root is cut.
    #[inline(never)]
    pub(crate) fn is_cut(self) -> bool {
        self.core
            .partition
            .gates
            .first()
            .is_some_and(|gate| self.machine.read64(gate.pa) == 0)
    }

    /// Stops all cores of this partition, called by its leader; whether all came.
    pub(crate) fn stop(self) -> bool {
        let partition = self.core.partition;
        self.core.start_ticks.store(NEVER, Relaxed);
        self.go_down();
        self.set_gates(partition, false);
        let all_came = self.park() && self.park();
        self.reset_interrupts();
        all_came
    }

    #[inline(never)]
    pub(crate) fn go_down(self) {
        let partition = self.core.partition;
        partition.stopped.store(1, Relaxed);
        partition
            .link
            .change(State::Down, 0, self.machine.counter());
    }

    /// Has the partition's other cores leave their guest; whether all came.
    #[inline(never)]
    fn park(self) -> bool {
        let mut all_came = true;
        for core in self.siblings() {
            core.ask(request::PARK);
            self.summon(core);
            if !self.ends(&core.requests, request::PARK) {
                self.core
                    .partition
                    .record_lost(core, self.machine.counter());
                all_came = false;
            }
        }
        all_came
    }

    fn siblings(self) -> impl Iterator<Item = &'static Core> {
        self.core
            .partition
            .cores
            .iter()
            .copied()
            .filter(move |core| core.rank != self.core.rank)
    }

    /// Waits at most a second until another core has cleared those bits; whether it has.
    #[inline(never)]
    fn ends(self, word: &AtomicU64, bits: u64) -> bool {
        let start = self.machine.counter();
        while word.load(Acquire) & bits != 0 {
            if self.machine.counter().wrapping_sub(start) > self.machine.frequency() {
                return false;
            }
            self.machine.pause();
        }
        true
    }

    /// Starts the partition when its time has come and nothing else is requested; else returns when to try.
    pub(crate) fn start_if_due(self) -> u64 {
        let due = self.core.start_ticks.load(Relaxed);
        if due == NEVER || self.machine.counter() < due {
            return due;
        }
        self.start_now()
    }

    #[inline(always)]
    fn start_now(self) -> u64 {
        if !self.restore() {
            return 0;
        }
        let core = self.core;
        self.machine.reset(core);
        let image = usize::try_from(core.partition.image.load(Relaxed)).unwrap_or(usize::MAX);
        let (entry, argument) = match core.partition.images.get(image) {
            Some(image) => {
                for segment in image.segments {
                    self.load(segment);
                }
                (image.entry, image.argument)
            }
            // The guest has placed it, see `exec`.
            None => (core.entry.load(Relaxed), core.context.load(Relaxed)),
        };
        self.machine.publish();
        self.launch(entry, argument)
    }

    /// Undoes the cut, and forgets what was asked because of the image that is gone. Whether nothing else
    /// was requested meanwhile.
    #[inline(always)]
    fn restore(self) -> bool {
        let partition = self.core.partition;
        self.core
            .requests
            .fetch_and(!(request::JUDGE | request::HANG | request::EXEC), Acquire);
        for core in partition.cores {
            core.fault.store(NO_FAULT, Relaxed);
        }
        for attachment in partition.attachments {
            self.map(attachment, false);
        }
        self.set_gates(partition, true);
        self.ends(&partition.stoppers, u64::MAX) && self.core.requests.load(Acquire) == 0
    }

    /// Enters an image that lies ready in the partition's memory, on the leader.
    #[inline(always)]
    fn launch(self, entry: u64, argument: u64) -> ! {
        self.reset_interrupts();
        self.core.start_ticks.store(NEVER, Relaxed);
        let partition = self.core.partition;
        partition.distributor_enables.store(0, Relaxed);
        partition.stopped.store(0, Relaxed);
        let now = self.machine.counter();
        partition.link.change(State::Starting, 1, now);
        let fault_ticks = partition.fault_ticks.load(Relaxed);
        if fault_ticks != 0 {
            partition.status.restarted(now.wrapping_sub(fault_ticks));
        }
        self.enter_at(entry, argument)
    }

    #[inline(never)]
    pub(crate) fn enter_pending(self) -> ! {
        self.enter_at(
            self.core.entry.load(Relaxed),
            self.core.context.load(Relaxed),
        )
    }

    fn enter_at(self, entry: u64, argument: u64) -> ! {
        const EL1H_MASKED: u64 = 0x3C5;
        let core = self.core;
        self.hide_alarm();
        self.reset_private();
        self.machine.reset(core);
        core.frame.set_x(0, argument);
        core.frame.set_elr(entry);
        core.frame.set_spsr(EL1H_MASKED);
        core.power.store(Power::On as u64, Release);
        self.machine.alarm(NEVER);
        self.machine.resume(core)
    }
}
