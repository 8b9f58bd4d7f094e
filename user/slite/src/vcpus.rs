//! Threads on VCPUs, admitted before they are created
//!
//! Paper 001 §4.1. What the host tool asks of a description ([`bulkhead_analysis::admission`]) is asked
//! here of a VCPU that is created at run time; one that does not fit is refused, with the name of who
//! would go short, and nothing has changed. Budgets are enforced by the kernel.

use crate::{Mutex, Threads};
use bulkhead_abi::kernel::Status;
use bulkhead_analysis::Reservation;
use bulkhead_analysis::admission::{self, Admission};
use bulkhead_analysis::utilisation::Fraction;
use bulkhead_component::First;
use bulkhead_sched::Time;
use bulkhead_sched::budget::{Capacity, Utilisation};
use bulkhead_sched::policy::{ServerId, Vcpus};

/// Why a VCPU is not created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// It does not fit, or is no budget; a VCPU is named by its [`ServerId`].
    Admission(admission::Refused),
    /// The kernel's refusal.
    Kernel(Status),
}

/// Threads of one core on up to `M` VCPUs, with up to `K` chunks of budget per Main VCPU.
pub struct VcpuThreads<const N: usize, const M: usize, const K: usize> {
    /// The threads; their parameters say on which VCPU each runs.
    pub threads: Threads<Vcpus<N, M, K>, N>,
    admission: Mutex<Admission<M>>,
}

impl<const N: usize, const M: usize, const K: usize> VcpuThreads<N, M, K> {
    /// Without VCPUs. With `background`, those without budget run when nobody else would.
    pub const fn new(background: bool) -> Self {
        Self {
            threads: Threads::new(Vcpus::new(background)),
            admission: Mutex::new(Admission::new()),
        }
    }

    /// Creates a Main VCPU of C in T, in ticks of the clock.
    ///
    /// # Errors
    /// [`Refused`].
    pub fn create_main(&self, first: &mut First, limits: Capacity) -> Result<ServerId, Refused> {
        let Capacity { capacity, period } = limits;
        let asked = Reservation { capacity, period };
        self.create(
            first,
            |admission, id| admission.main(usize::from(id.0), asked),
            |policy, now| policy.add_main(limits, now),
        )
    }

    /// Creates an I/O VCPU of so many percent that may work for Main VCPUs whose periods, in ticks, are
    /// between the two.
    ///
    /// # Errors
    /// [`Refused`].
    pub fn create_io(
        &self,
        first: &mut First,
        percent: u32,
        periods: [Time; 2],
    ) -> Result<ServerId, Refused> {
        let bad = Refused::Admission(admission::Refused::BadBudget);
        let utilisation = Utilisation::ratio(percent, 100).map_err(|_| bad)?;
        let share = Fraction::ratio(percent.into(), 100).ok_or(bad)?;
        self.create(
            first,
            |admission, _| admission.io(share, periods),
            |policy, now| policy.add_io(utilisation, periods, now),
        )
    }

    fn create(
        &self,
        first: &mut First,
        admit: impl FnOnce(&mut Admission<M>, ServerId) -> Result<(), admission::Refused>,
        add: impl FnOnce(&mut Vcpus<N, M, K>, Time) -> Result<ServerId, bulkhead_sched::Refusal>,
    ) -> Result<ServerId, Refused> {
        let created = self.admission.with(&self.threads, |admission| {
            let id = self
                .threads
                .with_policy(|policy, _| policy.servers().next());
            let id = id.ok_or(Refused::Admission(admission::Refused::Full))?;
            // First what can fail and leaves nothing behind that anybody runs on.
            self.threads.enforce(first, id).map_err(Refused::Kernel)?;
            admit(admission, id).map_err(Refused::Admission)?;
            let added = self.threads.with_policy(add);
            added.map_err(|_| Refused::Admission(admission::Refused::BadBudget))
        });
        created.unwrap_or(Err(Refused::Kernel(Status::BadArgument)))
    }
}
