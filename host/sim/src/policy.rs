//! The policy of a core, as its description says

use crate::SetUpError;
use bulkhead_abi::timing::{MAX_SLOTS, MAX_TIME_PARTITIONS};
use bulkhead_model::timing::{Order, Schedule, Timing, Vcpu, VcpuKind};
use bulkhead_sched::Refusal;
use bulkhead_sched::budget::{Capacity, Utilisation};
use bulkhead_sched::policy::{self, Place, Priority, ServerId, Slot, TimeTable, Vcpus};

/// Tasks, VCPUs and chunks of budget that a core's scheduler takes here.
pub(crate) const TASKS: usize = 256;
pub(crate) const VCPUS: usize = 128;
const CHUNKS: usize = 16;

pub(crate) type Policy = Vcpus<TASKS, VCPUS, CHUNKS, MAX_TIME_PARTITIONS, MAX_SLOTS>;

pub(crate) fn refused(name: &str) -> SetUpError {
    SetUpError { name: name.into() }
}

/// VCPUs in their order, and their servers by the index of the VCPU.
pub(crate) fn policy(
    timing: &Timing,
    core: usize,
    background: bool,
) -> Result<(Box<Policy>, Vec<Option<ServerId>>), SetUpError> {
    let mut policy = Box::new(Policy::new(background));
    let mut servers = vec![None; timing.vcpus.len()];
    let slots = timing.schedule.slots.iter().find(|slot| slot.core == core);
    let named = slots.map_or("schedule", |slot| &slot.name);
    configure(&mut policy, &timing.schedule, core).map_err(|_| refused(named))?;
    let ranked = timing.ranked(core);
    for (index, main) in &ranked {
        let vcpu = &timing.vcpus[*index];
        let limits = Capacity {
            capacity: main.capacity,
            period: main.period,
        };
        let added = match timing.schedule.order {
            Order::FixedPriority => policy.add_placed(limits, place(vcpu), 0),
            _ => policy.add_main(limits, 0),
        };
        servers[*index] = Some(added.map_err(|_| refused(&vcpu.name))?);
    }
    for (index, io) in timing.io(core) {
        let vcpu = &timing.vcpus[index];
        if let VcpuKind::Io { percent } = vcpu.kind {
            let causes = timing.tasks.iter().filter(|task| task.vcpu == index);
            let periods = causes.filter_map(|task| Some(timing.vcpus[task.cause].budget()?.period));
            let shortest = periods.min().unwrap_or(io.longest);
            let added = Utilisation::ratio(percent, 100)
                .and_then(|utilisation| policy.add_io(utilisation, [shortest, io.longest], 0));
            servers[index] = Some(added.map_err(|_| refused(&vcpu.name))?);
        }
    }
    Ok((policy, servers))
}

fn place(vcpu: &Vcpu) -> Place {
    let priority = Priority(vcpu.place.priority);
    match vcpu.kind {
        VcpuKind::Reservation { .. } => Place::Band(priority),
        _ => Place::Partition(vcpu.place.partition, priority),
    }
}

fn configure(policy: &mut Policy, schedule: &Schedule, core: usize) -> Result<(), Refusal> {
    policy.set_order(match schedule.order {
        Order::RateMonotonic => policy::Order::RateMonotonic,
        Order::EarliestDeadline => policy::Order::EarliestDeadline,
        Order::FixedPriority => policy::Order::FixedPriority,
    })?;
    let servers = policy.servers_mut();
    if let Some(quantum) = schedule.quantum_ns {
        servers.set_quantum(quantum);
    }
    for &band in &schedule.bands {
        servers.add_band(Priority(band))?;
    }
    let table = table(schedule, core)?;
    servers.set_table(table)
}

/// Slots with the gaps between them, where TP0 is alone.
fn table(schedule: &Schedule, core: usize) -> Result<TimeTable<MAX_SLOTS>, Refusal> {
    let mut slots: Vec<Slot> = Vec::new();
    let end_of = |slots: &[Slot]| slots.last().map_or(0, |slot| slot.end);
    for slot in schedule.slots.iter().filter(|slot| slot.core == core) {
        if slot.start_ns > end_of(&slots) {
            slots.push(Slot {
                end: slot.start_ns,
                partition: 0,
            });
        }
        slots.push(Slot {
            end: slot.start_ns + slot.length_ns,
            partition: slot.partition,
        });
    }
    if !slots.is_empty() && end_of(&slots) < schedule.frame_ns {
        slots.push(Slot {
            end: schedule.frame_ns,
            partition: 0,
        });
    }
    TimeTable::of(&slots)
}
