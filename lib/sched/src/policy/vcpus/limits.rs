//! A Main VCPU is given another budget while others run

use super::{Order, VcpuBudget, Vcpus};
use crate::budget::{Capacity, Sporadic};
use crate::policy::server::ServerId;
use crate::thread::{Refusal, Time};

impl<const N: usize, const M: usize, const K: usize, const P: usize, const S: usize>
    Vcpus<N, M, K, P, S>
{
    /// Gives a Main VCPU, by rate or by deadline and without ready threads, another budget, which is full from now on. By rate it finds its
    /// rank anew. While a Main VCPU that is less important than all others runs, these have no work or no
    /// budget. A caller that does this then need not wait for the used part of the old budget: no busy period has both.
    ///
    /// # Errors
    /// [`Refusal::BadParameters`]: C or T are bad, it is no such VCPU, or has ready threads.
    pub fn set_limits(&mut self, id: ServerId, limits: Capacity, now: Time) -> Result<(), Refusal> {
        let is_main = matches!(self.servers.budget(id), Some(VcpuBudget::Main(_)));
        let fixed = self.order == Order::FixedPriority;
        if !is_main || fixed || self.servers.is_ready(id) {
            return Err(Refusal::BadParameters);
        }
        let budget = VcpuBudget::Main(Sporadic::new(limits, now)?);
        let priority = self.servers.priority(id).ok_or(Refusal::BadParameters)?;
        self.servers
            .change(id, priority, |current| *current = budget, now);
        if let Some(periods) = self.periods.get_mut(usize::from(id.0)) {
            *periods = [limits.period; 2];
        }
        if self.order == Order::RateMonotonic {
            self.rank(now);
        }
        Ok(())
    }
}
