//! Budgets become temporal capabilities
//!
//! The policy names the budget on which a thread runs and the amount that is left. A capability holds that
//! amount while it is in force and nothing otherwise: the kernel ends the budget to the cycle, and the amount
//! returned at the next decision tells to the cycle how much was used. No budget pays for the dispatcher's own
//! work; the analysis counts it. A stale decision finds its capability empty and is made again. The kernel meters from
//! before its return to a thread until after it has been entered: each grant has that much more, and it is not charged, because
//! the analysis counts it with the decision.

use crate::{Machine, Time};
use bulkhead_sched::Account;
use bulkhead_sched::policy::ServerId;

/// Temporal capabilities of up to `N` budgets.
pub(crate) struct Accounts<const N: usize> {
    /// Capabilities by server; 0 = none.
    times: [u64; N],
    /// At least one thread has a budget.
    used: bool,
    /// Budget and amount of the last grant.
    granted: Option<(ServerId, Time)>,
    /// Nothing was left of the last grant.
    ended: bool,
    /// Cycles that the kernel meters besides the thread's own in each grant.
    switch: Time,
    /// Part of these that has not been used of the last grant.
    uncharged: Time,
}

impl<const N: usize> Accounts<N> {
    pub(crate) const fn new() -> Self {
        Self {
            times: [0; N],
            used: false,
            granted: None,
            ended: false,
            switch: 0,
            uncharged: 0,
        }
    }

    /// Sets what the kernel meters besides the thread's own cycles in each grant.
    pub(crate) const fn set_switch(&mut self, cycles: Time) {
        self.switch = cycles;
    }

    /// Cycles to charge of so many that were metered.
    const fn charged(&mut self, metered: Time) -> Time {
        let free = if metered < self.uncharged {
            metered
        } else {
            self.uncharged
        };
        self.uncharged -= free;
        metered - free
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

    /// Returns true if the kernel enforces the end of the last grant.
    #[inline(always)]
    pub(crate) const fn is_granted(&self) -> bool {
        self.granted.is_some()
    }

    /// Returns true if an end of budget reported by the kernel is genuine: the budget in force is empty. It may also be
    /// empty because a dispatcher took it back, or because a decision was stale.
    #[inline(always)]
    pub(crate) const fn has_ended(&self) -> bool {
        self.ended || !self.used
    }

    /// The cycles used of what was granted last, since this was last asked; `None` where nothing was.
    #[inline(always)]
    pub(crate) fn used<M: Machine>(&mut self) -> Option<Time> {
        let (server, granted) = self.granted?;
        let remaining = M::remaining(self.time(server)?).unwrap_or(granted);
        self.ended = remaining == 0;
        self.granted = Some((server, remaining));
        Some(self.charged(granted.saturating_sub(remaining)))
    }

    /// Takes back what was granted last: the cycles used of it since this was last asked; `None` where
    /// nothing was granted.
    #[inline(always)]
    pub(crate) fn take_back<M: Machine>(&mut self) -> Option<Time> {
        let (server, granted) = self.granted.take()?;
        let remaining = M::take_back(self.time(server)?).unwrap_or(granted);
        self.ended = remaining == 0;
        Some(self.charged(granted.saturating_sub(remaining)))
    }

    /// Grants the budget of a decision: the time to dispatch on. Where the kernel meters, every
    /// decision goes through it; else a switch in user mode stays on the time that is in force.
    #[inline(always)]
    pub(crate) fn grant<M: Machine>(&mut self, account: Option<Account>) -> u64 {
        if !self.used {
            return M::SAME_TIME;
        }
        self.ended = false;
        let metered = account.and_then(|account| Some((account, self.time(account.server)?)));
        let Some((Account { server, budget, .. }, time)) = metered else {
            return M::scheduler_time();
        };
        let metered = budget.saturating_add(self.switch);
        M::grant(time, metered);
        self.granted = Some((server, metered));
        self.uncharged = metered - budget;
        time
    }
}
