//! VCPUs and tasks in the form in which schedulers read them

use bulkhead_abi::name_field;
use bulkhead_abi::timing as abi;
use bulkhead_model::timing::{Schedule, Task, Timing, Vcpu, VcpuKind};
use zerocopy::IntoBytes;

/// Head, VCPUs and tasks with their bounds; see [`bulkhead_abi::timing`].
#[must_use]
pub fn pack(timing: &Timing) -> Vec<u8> {
    let head = abi::Head {
        magic: abi::TIMING_MAGIC,
        vcpus: timing.vcpus.len() as u32,
        tasks: timing.tasks.len() as u32,
    };
    let mut bytes = head.as_bytes().to_vec();
    for vcpu in &timing.vcpus {
        bytes.extend(vcpu_of(vcpu).as_bytes());
    }
    let mut bounds = vec![0; timing.tasks.len()];
    for (index, bound) in timing.analyse().into_iter().flat_map(|core| core.tasks) {
        bounds[index] = bound.unwrap_or(0);
    }
    for (task, bound_ns) in timing.tasks.iter().zip(bounds) {
        bytes.extend(task_of(timing, task, bound_ns).as_bytes());
    }
    // Strictly opt-in: a description without these keys gets the same bytes as before they existed.
    if timing.schedule != Schedule::default() {
        append_schedule(&timing.schedule, &mut bytes);
    }
    if timing.overhead != Default::default() {
        append_costs(timing, &mut bytes);
    }
    bytes
}

fn append_schedule(schedule: &Schedule, bytes: &mut Vec<u8>) {
    let head = abi::Schedule {
        magic: abi::SCHEDULE_MAGIC,
        order: schedule.order as u32,
        background: schedule.background.into(),
        quantum_ns: schedule.quantum_ns.unwrap_or(0),
        frame_ns: schedule.frame_ns,
        bands: schedule
            .bands
            .iter()
            .fold(0, |bits, &band| bits | 1 << band),
        slots: schedule.slots.len() as u32,
        reserved: 0,
    };
    bytes.extend(head.as_bytes());
    for slot in &schedule.slots {
        let slot = abi::Slot {
            core: slot.core as u32,
            partition: slot.partition.into(),
            start_ns: slot.start_ns,
            length_ns: slot.length_ns,
        };
        bytes.extend(slot.as_bytes());
    }
}

fn append_costs(timing: &Timing, bytes: &mut Vec<u8>) {
    let head = abi::Costs {
        magic: abi::COSTS_MAGIC,
        decision_ns: timing.overhead.decision,
        interrupt_ns: timing.overhead.interrupt,
        job_ns: timing.overhead.job,
        switch_ns: timing.switch_ns,
        blocking_ns: timing.overhead.blocking,
        doorbells: timing.doorbells.len() as u64,
    };
    bytes.extend(head.as_bytes());
    for &(limit, per_ns) in &timing.doorbells {
        bytes.extend(abi::Doorbell { limit, per_ns }.as_bytes());
    }
}

fn vcpu_of(vcpu: &Vcpu) -> abi::Vcpu {
    let common = abi::Vcpu {
        name: name_field(&vcpu.name),
        core: vcpu.core as u32,
        place: u32::from(vcpu.place.partition) << 8 | u32::from(vcpu.place.priority),
        ..abi::Vcpu::default()
    };
    match vcpu.kind {
        VcpuKind::Main {
            capacity_ns,
            period_ns,
        }
        | VcpuKind::Reservation {
            capacity_ns,
            period_ns,
        } => abi::Vcpu {
            kind: match vcpu.kind {
                VcpuKind::Reservation { .. } => abi::VcpuKind::Reservation as u32,
                _ => abi::VcpuKind::Main as u32,
            },
            capacity_ns,
            period_ns,
            ..common
        },
        VcpuKind::Io { percent } => abi::Vcpu {
            kind: abi::VcpuKind::Io as u32,
            percent,
            ..common
        },
    }
}

fn task_of(timing: &Timing, task: &Task, bound_ns: u64) -> abi::Task {
    abi::Task {
        name: name_field(&task.name),
        vcpu: task.vcpu as u32,
        cause: task.cause as u32,
        wcet_ns: task.wcet_ns,
        period_ns: task.period_ns,
        deadline_ns: task.deadline_ns,
        bound_ns,
        late_ns: timing.jitter(task),
        burst: task.burst,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bulkhead_model::timing::{Order, Place};

    fn timing() -> Timing {
        let kind = VcpuKind::Main {
            capacity_ns: 1_000_000,
            period_ns: 5_000_000,
        };
        Timing {
            vcpus: vec![Vcpu {
                name: "loop".into(),
                span: 0..0,
                kind,
                place: Place::default(),
                core: 0,
            }],
            ..Timing::default()
        }
    }

    /// Bands, slots and time partitions are opt-in, and so is scheduling overhead: a description without them
    /// gets no word of them.
    #[test]
    fn descriptions_without_it_give_the_same_bytes() {
        let minimum = size_of::<abi::Head>() + size_of::<abi::Vcpu>();
        let plain = pack(&timing());
        assert_eq!(plain.len(), minimum);
        let mut banded = timing();
        banded.schedule.order = Order::FixedPriority;
        banded.schedule.bands = vec![2];
        let banded = pack(&banded);
        assert_eq!(banded.len(), minimum + size_of::<abi::Schedule>());
        assert_eq!(
            banded.get(..minimum),
            Some(&plain[..]),
            "all else is the same"
        );
        let mut counted = timing();
        counted.overhead.decision = 14_400;
        counted.doorbells = vec![(1, 1_000_000)];
        let counted = pack(&counted);
        let costs = size_of::<abi::Costs>() + size_of::<abi::Doorbell>();
        assert_eq!(counted.len(), minimum + costs);
        assert_eq!(counted.get(..minimum), Some(&plain[..]));
    }
}
