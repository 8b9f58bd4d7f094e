//! From a fault to what is done about it
//!
//! The configuration decides; this only looks up. Whatever is not injected is judged by the leader, with
//! the whole partition stopped: first stopped, then recorded, then acted upon.

use crate::call::admits;
use crate::idle::Monitor;
use crate::machine::Machine;
use crate::state::{Core, NO_FAULT, Power, request};
use bulkhead_abi::status::{Action, Cause};
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};

/// Index behind those of [`crate::Partition::images`]: the guest has placed it.
const OWN_IMAGE: u64 = 2;

impl<M: Machine> Monitor<M> {
    fn policy(self, cause: u64) -> Action {
        let place = usize::try_from(cause).unwrap_or(usize::MAX);
        self.core
            .partition
            .actions
            .get(place)
            .copied()
            .unwrap_or(Action::Halt)
    }

    /// The guest has failed. Returns when the fault was injected into it. A violation of a partition that
    /// is being stopped is none of the guest's.
    pub(crate) fn fault(self, cause: Cause) {
        if cause == Cause::Violation && self.is_cut() {
            self.core.frame.set_esr(0);
            self.idle();
        }
        if self.policy(cause as u64) == Action::Inject && self.can_tell(cause) {
            self.record(self.core, cause as u64, Action::Inject);
            return self.inject(cause);
        }
        self.surrender(cause)
    }

    /// The guest has failed and does not go on.
    #[inline(never)]
    pub(crate) fn surrender(self, cause: Cause) -> ! {
        self.core.fault.store(cause as u64, Relaxed);
        self.signal(self.core.partition, request::JUDGE);
        self.idle()
    }

    fn record(self, victim: &Core, cause: u64, action: Action) {
        self.core.partition.record(victim, cause, action as u64);
    }

    pub(crate) fn record_breakdown(self) {
        self.go_down();
        self.record(self.core, Cause::SError as u64, Action::Halt);
    }

    /// Serves what was asked of this core; whether its guest is stopped now.
    pub(crate) fn serve(self) -> bool {
        if self.core.requests.load(Acquire) == 0 {
            return false;
        }
        self.core.set_power(Power::Off);
        // Each request is taken once, also one that came since.
        let requests = self.core.requests.swap(0, AcqRel);
        if requests & request::PARK == 0 {
            self.serve_as_leader(requests);
        }
        true
    }

    /// A core that asks has cut the partition off, so it ends stopped, whatever is done. Of several
    /// requests the gravest counts: an image of the guest's own gives way to a reset.
    fn serve_as_leader(self, requests: u64) {
        let control = Cause::Control as u64;
        if requests & (request::HALT | request::RESTART) != 0 {
            self.core.frame.set_ticks(self.machine.counter());
        }
        if requests & request::HALT != 0 {
            self.act(self.core, control, Action::Halt);
        } else if requests & request::RESTART != 0 {
            self.act(self.core, control, Action::Restart);
        } else if self.core.partition.stopped.load(Relaxed) == 0 {
            let waiting = |core: &&Core| core.fault.load(Acquire) != NO_FAULT;
            match self.core.partition.cores.iter().copied().find(waiting) {
                Some(core) => self.judge(core, core.fault.load(Relaxed)),
                None if requests & request::HANG != 0 => {
                    self.judge(self.core, Cause::Hang as u64);
                }
                None if self.stop() => self.plan_start(OWN_IMAGE, 0),
                None => {}
            }
        }
    }

    /// Restarts within their limit; what cannot be injected is restarted.
    fn judge(self, victim: &Core, cause: u64) {
        let partition = self.core.partition;
        let chosen = self.policy(cause);
        let restart = !matches!(chosen, Action::Halt | Action::Failover);
        let action = if restart && !admits(&partition.restart_limit, self.machine.counter()) {
            partition.escalation
        } else if chosen == Action::Inject {
            Action::Restart
        } else {
            chosen
        };
        self.act(victim, cause, action);
    }

    #[inline(never)]
    fn act(self, victim: &Core, cause: u64, chosen: Action) {
        let action = if self.stop() { chosen } else { Action::Halt };
        self.record(victim, cause, action);
        if action == Action::Failover {
            if let Some(standby) = self.core.partition.standby {
                self.signal(standby, request::RESTART);
            }
        } else if action != Action::Halt {
            let image = u64::from(action == Action::Alternate);
            self.plan_start(image, victim.frame.ticks());
        }
    }

    #[inline(never)]
    fn plan_start(self, image: u64, fault_ticks: u64) {
        let partition = self.core.partition;
        partition.image.store(image, Relaxed);
        partition.fault_ticks.store(fault_ticks, Relaxed);
        let pause = partition.config.restart_backoff_ticks;
        self.core
            .start_ticks
            .store(self.machine.counter().wrapping_add(pause), Relaxed);
    }
}
