//! Stopping and starting a partition
//!
//! Two ways lead a core out of its guest, and both are always taken: its partition's stage-2 root is
//! cut, so that the next fetch faults, and its monitor's interrupt is sent (facts 4.4: either can be blocked by a
//! hostile guest, both only by one that waits for interrupts with `wfi = "direct"`).
//!
//! *Order.* Who stops another partition cuts first and asks then: a core that faults on a cut root
//! waits for the request that follows, and a leader that restores the root has seen every request
//! made before the cut it undoes. One core of a partition, the leader, starts it, with all others
//! parked.

use crate::idle::Monitor;
use crate::machine::Machine;
use crate::state::{Core, NEVER, NO_FAULT, Partition, Power, request};
use bulkhead_abi::status::State;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

impl<M: Machine> Monitor<M> {
    /// Stops a partition and asks its leader for something; this core, if it is that, serves it before its
    /// guest goes on.
    #[inline(never)]
    pub(crate) fn signal(self, partition: &Partition, request: u64) {
        self.cut(partition);
        if let Some(leader) = partition.leader() {
            leader.ask(request);
            if leader.index != self.core.index {
                self.machine.kick(leader.target);
            }
        }
    }

    #[inline(never)]
    fn cut(self, partition: &Partition) {
        for gate in partition.gates {
            self.machine.write64(gate.pa, gate.closed);
        }
        self.machine.forget_translations(partition.config.vttbr);
    }

    /// Whether this partition's stage-2 root is cut.
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
        partition.stopped.store(1, Relaxed);
        self.core.start_ticks.store(NEVER, Relaxed);
        partition
            .link
            .change(State::Down, 0, self.machine.counter());
        self.cut(partition);
        let mut all_came = true;
        for core in self.siblings() {
            core.ask(request::PARK);
            self.machine.kick(core.target);
            if !self.await_core(core, request::PARK, 0) {
                self.record_lost(core);
                all_came = false;
            }
        }
        self.reset_interrupts();
        all_came
    }

    pub(crate) fn siblings(self) -> impl Iterator<Item = &'static Core> {
        self.core
            .partition
            .cores
            .iter()
            .copied()
            .filter(move |core| core.rank != self.core.rank)
    }

    /// Waits at most a second until another core has served those requests and that many flushes, and
    /// goes on to serve others that wait for this one.
    #[inline(never)]
    pub(crate) fn await_core(self, core: &Core, requests: u64, flushes: u64) -> bool {
        let start = self.machine.counter();
        while core.requests.load(Acquire) & requests != 0
            || core.flushes_done.load(Acquire) < flushes
        {
            if self.machine.counter().wrapping_sub(start) > self.machine.frequency() {
                return false;
            }
            self.serve_flush();
            self.machine.pause();
        }
        true
    }

    /// Starts the partition when its time has come; else returns when that will be.
    pub(crate) fn start_if_due(self) -> u64 {
        let due = self.core.start_ticks.load(Relaxed);
        if due == NEVER || self.machine.counter() < due {
            return due;
        }
        self.start()
    }

    fn start(self) -> ! {
        let image = usize::try_from(self.core.partition.image.load(Relaxed)).unwrap_or(usize::MAX);
        let image = self
            .core
            .partition
            .images
            .get(image)
            .copied()
            .unwrap_or_default();
        self.restore();
        self.machine.reset(self.core);
        for segment in image.segments {
            self.load(segment);
        }
        self.machine.publish();
        self.launch(image.entry, image.argument)
    }

    /// Undoes the cut, and forgets what was asked because of the image that is gone.
    fn restore(self) {
        let partition = self.core.partition;
        self.core
            .requests
            .fetch_and(!(request::JUDGE | request::HANG), Acquire);
        for core in partition.cores {
            core.fault.store(NO_FAULT, Relaxed);
        }
        for gate in partition.gates {
            self.machine.write64(gate.pa, gate.open);
        }
        for attachment in partition.attachments {
            self.map(attachment, false);
        }
        self.machine.forget_translations(partition.config.vttbr);
    }

    /// Enters an image that lies ready in the partition's memory, on the leader.
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

    /// Starts another image of the guest's own in its memory, unless one of its other cores does not come.
    pub(crate) fn exec(self, entry: u64, argument: u64) -> ! {
        if !self.stop() {
            self.idle();
        }
        self.core.partition.fault_ticks.store(0, Relaxed);
        self.restore();
        self.launch(entry, argument)
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
        self.reset_private();
        self.machine.reset(core);
        core.frame.set_x(0, argument);
        core.frame.set_elr(entry);
        core.frame.set_spsr(EL1H_MASKED);
        core.power.store(Power::On as u64, Release);
        let deadline = self.watch();
        self.machine.alarm(deadline);
        self.machine.resume(core)
    }
}
