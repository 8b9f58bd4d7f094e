//! Budgets become temporal capabilities
//!
//! A policy says on whose budget a thread runs, and how much is left of it. A capability holds that
//! much while it is in force and nothing otherwise: the kernel ends the budget to the cycle, and what
//! is taken back when the next decision is due says to the cycle what was used. The dispatcher's own
//! work is nobody's. A decision that was overtaken before it was dispatched finds its capability
//! empty, and is made again.

use crate::{Machine, Time};
use bulkhead_sched::Account;
use bulkhead_sched::policy::ServerId;

/// Temporal capabilities of up to `N` budgets.
pub(crate) struct Accounts<const N: usize> {
    /// Capabilities by server; 0 = none.
    times: [u64; N],
    /// Whether there is any.
    used: bool,
    /// Who was granted what last.
    granted: Option<(ServerId, Time)>,
    /// Whether nothing was left of what was granted last.
    ended: bool,
}

impl<const N: usize> Accounts<N> {
    pub(crate) const fn new() -> Self {
        Self {
            times: [0; N],
            used: false,
            granted: None,
            ended: false,
        }
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

    /// Whether the kernel ends what was granted last.
    #[inline(always)]
    pub(crate) const fn is_granted(&self) -> bool {
        self.granted.is_some()
    }

    /// Whether the end of a budget that the kernel tells of is one. It ends what is in force and empty, also where a dispatcher took that back, or
    /// a decision was overtaken.
    #[inline(always)]
    pub(crate) const fn has_ended(&self) -> bool {
        self.ended || !self.used
    }

    /// The cycles used of what was granted last, since this was last asked; `None` where nothing was.
    #[inline(always)]
    pub(crate) fn used<M: Machine>(&mut self) -> Option<Time> {
        let (server, granted) = self.granted?;
        let left = M::left(self.time(server)?).unwrap_or(granted);
        self.ended = left == 0;
        self.granted = Some((server, left));
        Some(granted.saturating_sub(left))
    }

    /// Takes back what was granted last: the cycles used of it since this was last asked; `None` where
    /// nothing was granted.
    #[inline(always)]
    pub(crate) fn take_back<M: Machine>(&mut self) -> Option<Time> {
        let (server, granted) = self.granted.take()?;
        let left = M::take_back(self.time(server)?).unwrap_or(granted);
        self.ended = left == 0;
        Some(granted.saturating_sub(left))
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
            return M::own_time();
        };
        M::grant(time, budget);
        self.granted = Some((server, budget));
        time
    }
}
