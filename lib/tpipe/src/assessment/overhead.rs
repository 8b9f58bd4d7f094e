//! Scheduling overhead of a core
//!
//! The sums are those of run-time admission ([`bulkhead_analysis::deciding`]): VCPUs have the decisions of their own starts and ends on
//! top of their C, and releases, bottom halves and doorbells are more important than all. A stage has m jobs in T, and so has
//! a bottom half that works for it.

use super::{Judge, Owner, Setting, Violation};
use crate::repository::Runs;
use bulkhead_analysis::core_overhead::CoreOverhead;
use bulkhead_analysis::overhead::{Jobs, Request};
use bulkhead_analysis::{Reservation, Time, admission};

const NOBODY: Request = Request {
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
        self.core_overhead = CoreOverhead::new();
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
        self.core_overhead
            .count(counted.overhead, counted.keeping)?;
        for &(limit, per) in counted.doorbells {
            self.core_overhead.doorbell(limit, per)?;
        }
        self.core_overhead.tasks(counted.jobs.iter().copied(), 1)?;
        let mut request = [NOBODY; N];
        for (place, &(period, capacity, owner)) in request.iter_mut().zip(&self.servers[..count]) {
            let jobs = match self.runs(owner, setting) {
                Runs::Tasks { jobs } => jobs,
                Runs::Stage { messages, .. } => {
                    let jobs = Jobs::each(period).in_bursts(messages);
                    self.core_overhead.tasks([jobs], period)?
                }
            };
            *place = Request {
                limits: Reservation { capacity, period },
                jobs,
            };
        }
        self.count_halves(core, setting)?;
        self.mains = self.core_overhead.prolonged(&request[..count]);
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
        let stages = (0..bound.len()).map(|stage| (setting.period[stage], Owner::Stage(stage)));
        let loads = repository.loads.iter().enumerate();
        let loads = loads.map(|(index, load)| (load.server.period, Owner::Load(index)));
        for (period, owner) in stages.chain(loads) {
            let Runs::Stage { devices, messages } = self.runs(owner, setting) else {
                continue;
            };
            let on = |device: &usize| repository.ios[repository.devices[*device].io].core == core;
            for device in devices.into_iter().flatten().filter(on) {
                let half = self.half(device, period, setting).in_bursts(messages);
                self.core_overhead.tasks([half], period)?;
            }
        }
        Ok(())
    }

    /// The bottom half that works at a device for a stage of that period.
    fn half(&self, device: usize, period: Time, setting: &Setting<N>) -> Jobs {
        let repository = self.bound.repository;
        let number = repository.devices[device].io;
        let io = &repository.ios[number];
        let shortest = self.causes(number, setting).min().unwrap_or(period);
        Jobs::of_bottom_half(period, io.wcet, io.percent(), shortest)
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
