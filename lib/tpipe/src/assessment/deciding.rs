//! Scheduling overhead of a core
//!
//! The sums are those of run-time admission ([`bulkhead_analysis::deciding`]): VCPUs have the decisions of their own starts and ends on
//! top of their C, and releases, bottom halves and doorbells are more important than all. A stage has m jobs in T, and so has
//! a bottom half that works for it.

use super::{Judge, Owner, Setting, Violation};
use crate::repository::{Repository, Runs};
use bulkhead_analysis::deciding::Deciding;
use bulkhead_analysis::overhead::{Asked, Jobs};
use bulkhead_analysis::{Reservation, Time, admission};

const NOBODY: Asked = Asked {
    limits: Reservation {
        capacity: 1,
        period: 1,
    },
    jobs: 0,
};

impl<const N: usize> Judge<'_, N> {
    /// Counts the decisions on a core, and prolongs its first `count` VCPUs by those of their own.
    pub(super) fn decide(
        &mut self,
        core: usize,
        count: usize,
        setting: &Setting<N>,
    ) -> Result<(), Violation> {
        self.deciding = Deciding::new();
        let counted = self.count_on(core, count, setting);
        counted.map_err(|_| Violation::Overflow)
    }

    fn count_on(
        &mut self,
        core: usize,
        count: usize,
        setting: &Setting<N>,
    ) -> Result<(), admission::Refused> {
        let repository = self.bound.repository;
        let Some(counted) = repository.decisions_on(core) else {
            return Ok(());
        };
        self.deciding.count(counted.overhead, counted.keeping)?;
        for &(limit, per) in counted.doorbells {
            self.deciding.doorbell(limit, per)?;
        }
        self.deciding.tasks(counted.jobs.iter().copied(), 1)?;
        let mut asked = [NOBODY; N];
        for (place, &(period, capacity, owner)) in asked.iter_mut().zip(&self.servers[..count]) {
            let jobs = match self.runs(owner, setting) {
                Runs::Tasks { jobs } => jobs,
                Runs::Stage { messages, .. } => {
                    let jobs = Jobs::each(period).in_bursts(messages);
                    self.deciding.tasks([jobs], period)?
                }
            };
            *place = Asked {
                limits: Reservation { capacity, period },
                jobs,
            };
        }
        self.count_halves(core, setting)?;
        self.mains = self.deciding.prolonged(&asked[..count]);
        Ok(())
    }

    /// Counts the bottom halves on a core, wherever the stages are for which they work.
    fn count_halves(
        &mut self,
        core: usize,
        setting: &Setting<N>,
    ) -> Result<(), admission::Refused> {
        let bound = self.bound;
        let repository = bound.repository;
        let own = (0..bound.len()).map(|stage| (setting.period[stage], Owner::Stage(stage)));
        let loads = repository.loads.iter().enumerate();
        let loads = loads.map(|(index, load)| (load.server.period, Owner::Load(index)));
        for (period, owner) in own.chain(loads) {
            let Runs::Stage { devices, messages } = self.runs(owner, setting) else {
                continue;
            };
            let on = |device: &usize| repository.ios[repository.devices[*device].io].core == core;
            let here = devices.into_iter().flatten().filter(on);
            let halves = here.map(|device| half(repository, device, period).in_bursts(messages));
            self.deciding.tasks(halves, period)?;
        }
        Ok(())
    }

    /// Jobs on a VCPU: one message at a time on one that scatters, as on that of a stage.
    fn runs(&self, owner: Owner, setting: &Setting<N>) -> Runs {
        let (devices, messages) = match owner {
            Owner::Load(index) => return self.bound.repository.loads[index].runs,
            Owner::Device(_) => ([None; 2], 1),
            Owner::Stage(stage) => {
                let function = self.bound.function(stage);
                ([function.source, function.sink], setting.messages[stage])
            }
        };
        Runs::Stage { devices, messages }
    }
}

/// The bottom half that works at a device for a stage of that period.
fn half(repository: &Repository<'_>, device: usize, period: Time) -> Jobs {
    let own = &repository.devices[device];
    let io = &repository.ios[own.io];
    let cause = own.main.map_or(period, |main| main.period);
    Jobs::of_bottom_half(period, io.wcet, io.percent(), cause)
}
