//! How long VCPUs wait for their budgets, core by core

use super::{Assessment, Devices, Judge, Owner, Setting, Violation, budget};
use crate::binding::IOS;
use crate::repository::{Policy, Runs};
use bulkhead_analysis::utilisation::{self, Fraction};
use bulkhead_analysis::vcpu::{self, Io};
use bulkhead_analysis::{Reservation, Time, admission, overhead};

const IDLE: (usize, Io) = (
    usize::MAX,
    Io {
        utilisation: Fraction(0),
        longest: 0,
        rank: 0,
    },
);

impl<const N: usize> Judge<'_, N> {
    /// Responses on a core.
    pub(super) fn respond(
        &mut self,
        core: usize,
        setting: &Setting<N>,
        result: &mut Assessment<N>,
        devices: &mut Devices,
    ) -> Result<(), Violation> {
        let bound = self.bound;
        let repository = bound.repository;
        let policy = repository.cores[core].policy;
        let count = self.collect(core, setting);
        self.decide(core, count, setting)?;
        let mut ios = [IDLE; IOS];
        let here = self.collect_io(core, setting, count, &mut ios);
        let (mains, ios) = (&self.mains[..count], &ios[..here]);
        let ahead = self.core_overhead.ahead();
        let mut shares = [Fraction(0); IOS];
        let numbered = shares.iter_mut().zip(ios);
        numbered.for_each(|(share, (_, io))| *share = io.utilisation);
        let demand = utilisation::demand(mains.iter().chain(ahead), shares[..here].iter().copied())
            .ok_or(Violation::Overflow)?;
        if demand > policy.capacity() {
            return Err(Violation::Core { core, demand });
        }
        let mut seen = [IDLE.1; IOS];
        seen.iter_mut().zip(ios).for_each(|(seen, io)| *seen = io.1);
        let seen = &seen[..here];
        let found = &mut self.found[..count];
        match policy {
            Policy::RateMonotonic => vcpu::main_responses_behind(ahead, mains, seen, found),
            Policy::Edf => admission::band(ahead, mains.iter().copied(), seen).responses(found),
            Policy::Deadline => busy_responses(ahead, mains, seen, found),
        }
        let latency = overhead::latency(ahead).ok_or(Violation::Overflow)?;
        for (found, &(_, _, owner)) in found.iter().zip(&self.servers) {
            let response = found.ok_or(Violation::Response { core, owner })?;
            match owner {
                Owner::Load(_) => {}
                Owner::Device(device) => {
                    devices.main[device] = response.saturating_add(latency);
                }
                // Time-outs and producers release it, at instants that its scheduler knows exactly.
                Owner::Stage(stage) => result.response[stage] = response,
            }
        }
        self.respond_io(core, setting, ios, count, devices)
    }

    /// Responses of the bottom halves on a core, each at the priority of the least important Main
    /// VCPU it works for through its device.
    fn respond_io(
        &self,
        core: usize,
        setting: &Setting<N>,
        ios: &[(usize, Io)],
        count: usize,
        devices: &mut Devices,
    ) -> Result<(), Violation> {
        let repository = self.bound.repository;
        let mains = &self.mains[..count];
        for (index, device) in repository.devices.iter().enumerate() {
            let io = &repository.ios[device.io];
            if io.core != core {
                continue;
            }
            let Some(longest) = self.periods_of(index, setting).max() else {
                continue;
            };
            let ranked = repository.cores[core].policy == Policy::RateMonotonic;
            let ahead = |main: &&Reservation| !ranked || main.period <= longest;
            let rank = mains.iter().take_while(ahead).count();
            let others = ios
                .iter()
                .filter(|(other, seen)| *other != device.io && seen.rank <= rank);
            let others = others.map(|(_, seen)| seen);
            let limit = longest.max(io.period());
            let ahead = self.core_overhead.ahead();
            let response = vcpu::response_behind(ahead, io.wcet, &mains[..rank], others, limit);
            let latency = overhead::latency(ahead).ok_or(Violation::Overflow)?;
            let response = response.ok_or(Violation::Response {
                core,
                owner: Owner::Device(index),
            })?;
            devices.io[index] = response.saturating_add(latency);
        }
        Ok(())
    }

    /// Main VCPUs of a core by period; answers how many.
    fn collect(&mut self, core: usize, setting: &Setting<N>) -> usize {
        let bound = self.bound;
        let repository = bound.repository;
        let loads = repository.loads.iter().enumerate();
        let loads = loads.filter(|(_, load)| load.core == core);
        let loads = loads.map(|(index, load)| (load.server, Owner::Load(index)));
        let devices = repository.devices.iter().enumerate();
        let devices = devices.filter(|(_, device)| repository.ios[device.io].core == core);
        let devices =
            devices.filter_map(|(index, device)| Some((device.main?, Owner::Device(index))));
        let stages = (0..bound.len()).filter(|&stage| bound.function(stage).core == core);
        let stages = stages.filter_map(|stage| {
            let capacity = budget(bound, stage, setting.messages[stage]);
            let server = Reservation::new(capacity, setting.period[stage])?;
            Some((server, Owner::Stage(stage)))
        });
        let mut count = 0;
        for (slot, (server, owner)) in self
            .servers
            .iter_mut()
            .zip(loads.chain(devices).chain(stages))
        {
            *slot = (server.period, server.capacity, owner);
            count += 1;
        }
        // The order of equal periods is fixed but arbitrary, the same every time.
        self.servers[..count].sort_unstable_by_key(|&(period, _, owner)| {
            let order = match owner {
                Owner::Load(index) => (0, index),
                Owner::Device(index) => (1, index),
                Owner::Stage(index) => (2, index),
            };
            (period, order)
        });
        for (main, &(period, capacity, _)) in self.mains.iter_mut().zip(&self.servers[..count]) {
            *main = Reservation { capacity, period };
        }
        count
    }

    /// I/O VCPUs of a core as others see them; answers how many.
    fn collect_io(
        &self,
        core: usize,
        setting: &Setting<N>,
        count: usize,
        found: &mut [(usize, Io); IOS],
    ) -> usize {
        let repository = self.bound.repository;
        let here = repository
            .ios
            .iter()
            .enumerate()
            .filter(|(_, io)| io.core == core);
        let mut ios = 0;
        for (slot, (index, io)) in found.iter_mut().zip(here) {
            let (shortest, longest) = self
                .causes(index, setting)
                .fold((Time::MAX, io.period()), |(low, high), period| {
                    (low.min(period), high.max(period))
                });
            let mains = &self.mains[..count];
            *slot = (
                index,
                Io {
                    utilisation: io.utilisation,
                    longest,
                    rank: mains
                        .iter()
                        .take_while(|main| main.period < shortest)
                        .count(),
                },
            );
            ios += 1;
        }
        ios
    }

    /// Periods of the Main VCPUs for which an I/O VCPU works, those of other pipes included.
    pub(super) fn causes(&self, io: usize, setting: &Setting<N>) -> impl Iterator<Item = Time> {
        let devices = self.bound.repository.devices.iter().enumerate();
        let served = devices.filter(move |(_, device)| device.io == io);
        served.flat_map(|(device, _)| {
            let others = self.others_at(device);
            self.periods_of(device, setting).chain(others)
        })
    }

    /// Periods of the Main VCPUs that an I/O VCPU works for through a device.
    fn periods_of(&self, device: usize, setting: &Setting<N>) -> impl Iterator<Item = Time> {
        let bound = self.bound;
        let main = bound.repository.devices[device]
            .main
            .map(|main| main.period);
        let direct = (0..bound.len())
            .filter(move |_| main.is_none())
            .filter(move |&stage| bound.devices(stage).any(|one| one == device));
        main.into_iter()
            .chain(direct.map(|stage| setting.period[stage]))
    }

    /// Periods of the stages of other pipes that an I/O VCPU works for through a device without a
    /// Main VCPU.
    fn others_at(&self, device: usize) -> impl Iterator<Item = Time> {
        let repository = self.bound.repository;
        let direct = repository.devices[device].main.is_none();
        let uses = move |runs: &Runs| match runs {
            Runs::Stage { devices, .. } => direct && devices.contains(&Some(device)),
            Runs::Tasks { .. } => false,
        };
        let loads = repository.loads.iter();
        let loads = loads.filter(move |load| uses(&load.runs));
        loads.map(|load| load.server.period)
    }
}

/// Responses under SCHED_DEADLINE, where the core is known not to be overloaded: a server has its budget by its
/// deadline, and no later than the end of the longest busy period.
fn busy_responses(
    ahead: &[Reservation],
    mains: &[Reservation],
    ios: &[Io],
    found: &mut [Option<Time>],
) {
    let longest = mains.iter().map(|main| main.period).max().unwrap_or(0);
    let busy = vcpu::response_behind(ahead, 1, mains, ios.iter(), longest);
    for (found, main) in found.iter_mut().zip(mains) {
        *found = Some(busy.unwrap_or(main.period).min(main.period));
    }
}
