//! Budgets become temporal capabilities
//!
//! The policy names the budget on which a thread runs and its rest. One call of the kernel takes the rest of the former
//! capability back, fills the next one with the amount of the policy and switches. A capability that was not
//! granted last is empty. The kernel ends the budget to the cycle, and shows in the SCB when it ends or what is left of it,
//! so that charging needs no call. No budget pays for the dispatcher's own work; the analysis counts it. The kernel meters
//! from before its return to a thread until after it has been entered: each grant has that much more, and it is not
//! charged, because the analysis counts it with the decision.
//!
//! A grant is noted before the call, which may be refused as stale. The kernel counts grants, so that the next use of the
//! note learns whether it was made.

use crate::machine::Moved;
use crate::{Machine, Time};
use bulkhead_abi::dispatch::NOT_IN_FORCE;
use bulkhead_sched::Account;
use bulkhead_sched::policy::ServerId;
use core::sync::atomic::Ordering::Relaxed;

/// A budget that the kernel enforces.
#[derive(Clone, Copy)]
struct Grant {
    server: ServerId,
    time: u64,
    /// Cycles left of it when it was charged last.
    remaining: Time,
    /// Part of these that the kernel meters besides the thread's own cycles.
    uncharged: Time,
}

/// A grant of which the kernel has not been asked, or that it may have refused.
struct Note {
    /// Grants that the kernel had made before.
    made: u64,
    grant: Option<Grant>,
}

/// The time for a decision.
pub(crate) struct Funding {
    /// The time to dispatch on; [`Machine::SAME_TIME`] where it is in force.
    pub(crate) time: u64,
    /// Time that moves.
    pub(crate) moved: Option<Moved>,
    /// True if the kernel meters what the thread uses.
    pub(crate) is_metered: bool,
}

/// Temporal capabilities of up to `N` budgets.
pub(crate) struct Accounts<const N: usize> {
    /// Capabilities by server; 0 = none.
    times: [u64; N],
    /// At least one thread has a budget.
    used: bool,
    /// The last grant that the kernel made, while there is one.
    granted: Option<Grant>,
    /// True if the policy regards a thread on it as running.
    is_charged: bool,
    /// True if the grant was in force at the last charge.
    is_in_force: bool,
    note: Option<Note>,
    /// Nothing was left of the last grant.
    ended: bool,
    /// Cycles that the kernel meters besides the thread's own in each grant.
    switch: Time,
}

impl<const N: usize> Accounts<N> {
    pub(crate) const fn new() -> Self {
        Self {
            times: [0; N],
            used: false,
            granted: None,
            is_charged: false,
            is_in_force: false,
            note: None,
            ended: false,
            switch: 0,
        }
    }

    /// Sets what the kernel meters besides the thread's own cycles in each grant.
    pub(crate) const fn set_switch(&mut self, cycles: Time) {
        self.switch = cycles;
    }

    /// Makes the capability of a server's budget, as important as the scheduler's own time: what is
    /// taken back takes nothing from that one's priority.
    pub(crate) fn open<M: Machine>(
        &mut self,
        maker: &mut M::Maker,
        server: ServerId,
    ) -> Result<(), M::Error> {
        let place = self.times.get_mut(usize::from(server.0));
        let place = place.ok_or(M::REFUSED)?;
        if *place == 0 {
            *place = M::time(maker)?;
            self.used = true;
        }
        Ok(())
    }

    fn time(&self, server: ServerId) -> Option<u64> {
        let time = self.times.get(usize::from(server.0)).copied();
        time.filter(|&time| time != 0)
    }

    /// Returns true if an end of budget reported by the kernel is genuine: the last grant was used up by its thread.
    #[inline(always)]
    pub(crate) const fn has_ended(&self) -> bool {
        self.ended || !self.used
    }

    /// Learns whether the kernel made the grant that was noted.
    #[inline(always)]
    fn resolve<M: Machine>(&mut self) {
        let Some(Note { made, grant }) = self.note.take() else {
            return;
        };
        if M::scb().grants.load(Relaxed) == made {
            // The policy regards the thread of the refused decision as running, which used nothing.
            self.is_charged = false;
        } else {
            self.granted = grant;
            self.is_charged = grant.is_some();
        }
        self.ended = false;
    }

    /// The cycles to charge of what was granted last, since this was last asked; `None` where nothing was.
    #[inline(always)]
    pub(crate) fn used<M: Machine>(&mut self) -> Option<Time> {
        self.resolve::<M>();
        let grant = self.granted.as_mut().filter(|_| self.is_charged)?;
        let (remaining, is_in_force) = read_budget::<M>();
        self.is_in_force = is_in_force;
        self.ended = remaining == 0;
        let metered = grant.remaining.saturating_sub(remaining);
        grant.remaining = remaining;
        let free = metered.min(grant.uncharged);
        grant.uncharged -= free;
        Some(metered - free)
    }

    /// Notes the grant of a decision. Where the budget in force is what the policy says, there is none: threads of one
    /// server switch in user mode.
    #[inline(always)]
    pub(crate) fn fund<M: Machine>(&mut self, account: Option<Account>) -> Funding {
        if !self.used {
            return Funding {
                time: M::SAME_TIME,
                moved: None,
                is_metered: false,
            };
        }
        let former = self.granted.map_or(0, |grant| grant.time);
        let metered = account.and_then(|account| Some((account, self.time(account.server)?)));
        let grant = metered.map(|(account, time)| Grant {
            server: account.server,
            time,
            remaining: account.budget.saturating_add(self.switch),
            uncharged: self.switch,
        });
        if let (Some(next), Some(granted)) = (grant, self.granted)
            && self.is_charged
            && self.is_in_force
            && next.server == granted.server
            && next.remaining - next.uncharged == granted.remaining - granted.uncharged
        {
            return Funding {
                time: M::SAME_TIME,
                moved: None,
                is_metered: true,
            };
        }
        let moved = (grant.is_some() || former != 0).then(|| Moved {
            cycles: grant.map_or(0, |grant| grant.remaining),
            former,
        });
        if moved.is_some() {
            let made = M::scb().grants.load(Relaxed);
            self.note = Some(Note { made, grant });
        }
        Funding {
            time: grant.map_or_else(M::scheduler_time, |grant| grant.time),
            moved,
            is_metered: grant.is_some(),
        }
    }
}

/// Cycles left of the limited time that was in force last, and whether it is.
#[inline(always)]
fn read_budget<M: Machine>() -> (Time, bool) {
    let budget = &M::scb().budget;
    loop {
        let word = budget.load(Relaxed);
        if word & NOT_IN_FORCE != 0 {
            return (word & !NOT_IN_FORCE, false);
        }
        let now = M::now();
        // An interrupt between the two readings puts off the end.
        if budget.load(Relaxed) == word {
            return (word.saturating_sub(now), true);
        }
    }
}
