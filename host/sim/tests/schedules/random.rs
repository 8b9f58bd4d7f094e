//! Random systems, by seed

use bulkhead_model::timing::{Order, Place, Schedule, Slot, Task, Timing, Vcpu, VcpuKind};
use bulkhead_sched::harness::Random;

pub(crate) const US: u64 = 1_000;

pub(crate) fn vcpu(number: usize, kind: VcpuKind, core: usize) -> Vcpu {
    Vcpu {
        name: format!("v{number}"),
        span: 0..0,
        kind,
        place: Place::default(),
        core,
    }
}

pub(crate) fn task(number: usize, vcpu: usize, cause: usize, times: [u64; 3]) -> Task {
    let [wcet_ns, period_ns, deadline_ns] = times;
    Task {
        name: format!("t{number}"),
        span: 0..0,
        vcpu,
        cause,
        after: None,
        burst: 1,
        is_stage: false,
        wcet_ns,
        period_ns,
        deadline_ns,
    }
}

/// One more task, to end before its next job.
fn add_task(timing: &mut Timing, vcpu: usize, cause: usize, [wcet, period]: [u64; 2]) {
    let number = timing.tasks.len();
    let one = task(number, vcpu, cause, [wcet, period, period]);
    timing.tasks.push(one);
}

/// Tasks of a VCPU with a budget, perhaps more than it can serve.
fn add_load(
    random: &mut Random,
    timing: &mut Timing,
    vcpu: usize,
    [capacity_ns, period_ns]: [u64; 2],
    most: u64,
) {
    for _ in 0..1 + random.below(most) {
        let wcet = 1 + random.below(capacity_ns * 2);
        let period = (period_ns / 2).max(wcet) + random.below(period_ns * 6);
        add_task(timing, vcpu, vcpu, [wcet, period]);
    }
}

/// A random core: up to 6 main VCPUs of up to 3 tasks each, up to 2 I/O VCPUs.
pub(crate) fn system(random: &mut Random) -> Timing {
    let mut timing = Timing::default();
    let mains = 1 + random.below(6) as usize;
    for number in 0..mains {
        let period_ns = (200 + random.below(5_000)) * US;
        let capacity_ns = 1 + period_ns * (2 + random.below(25)) / 100;
        let kind = VcpuKind::Main {
            capacity_ns,
            period_ns,
        };
        timing.vcpus.push(vcpu(number, kind, 0));
        add_load(random, &mut timing, number, [capacity_ns, period_ns], 3);
    }
    for number in mains..mains + random.below(3) as usize {
        let percent = 1 + random.below(15) as u32;
        timing.vcpus.push(vcpu(number, VcpuKind::Io { percent }, 0));
        for _ in 0..1 + random.below(2) {
            let cause = random.below(mains as u64) as usize;
            let period = (300 + random.below(8_000)) * US;
            let wcet = 1 + random.below(period / 50);
            add_task(&mut timing, number, cause, [wcet, period]);
        }
    }
    timing
}

/// A random core under a time table: up to 3 time partitions in slots with gaps between them, up to
/// 2 bands, up to 7 VCPUs anywhere, perhaps an I/O VCPU for one of TP0, in a band or not.
pub(crate) fn partitioned(random: &mut Random) -> Timing {
    let mut timing = Timing {
        schedule: table(random),
        ..Timing::default()
    };
    let slots = timing.schedule.slots.len() as u64;
    let mut in_tp0 = Vec::new();
    for number in 0..1 + random.below(7) as usize {
        let period_ns = (2_000 + random.below(40_000)) * US;
        let capacity_ns = 1 + period_ns * (1 + random.below(18)) / 100;
        let partition = random.below(slots + 1) as u8;
        let band = timing.schedule.bands.get(random.below(4) as usize).copied();
        let band = band.filter(|_| partition == 0);
        let free = |&priority: &u8| partition != 0 || !timing.schedule.bands.contains(&priority);
        let priority = (0..).map(|_| random.below(6) as u8).find(free);
        let limits = [capacity_ns, period_ns];
        let mut one = vcpu(number, kind(limits, band.is_some()), 0);
        one.place = Place {
            partition,
            priority: band.or(priority).unwrap_or(0),
        };
        if partition == 0 {
            in_tp0.push(number);
        }
        timing.vcpus.push(one);
        add_load(random, &mut timing, number, [capacity_ns, period_ns], 2);
    }
    if let Some(&cause) = in_tp0.get(random.below(8) as usize) {
        let number = timing.vcpus.len();
        let percent = 1 + random.below(10) as u32;
        timing.vcpus.push(vcpu(number, VcpuKind::Io { percent }, 0));
        let period = (5_000 + random.below(80_000)) * US;
        let wcet = 1 + random.below(period / 80);
        add_task(&mut timing, number, cause, [wcet, period]);
    }
    timing
}

/// Either of them with tasks that release others, up to three in a row.
pub(crate) fn released(random: &mut Random) -> Timing {
    let mut timing = match random.below(2) {
        0 => system(random),
        _ => partitioned(random),
    };
    let mut before = random.below(3) as usize;
    for _ in 0..2 {
        let next = before + 1 + random.below(3) as usize;
        if next >= timing.tasks.len() {
            break;
        }
        let first = &mut timing.tasks[before];
        first.deadline_ns = first.period_ns / (2 + random.below(4));
        let period_ns = first.period_ns;
        let second = &mut timing.tasks[next];
        second.after = Some(before);
        second.wcet_ns = second.wcet_ns.min(period_ns);
        (second.period_ns, second.deadline_ns) = (period_ns, period_ns);
        before = next;
    }
    timing
}

fn kind([capacity_ns, period_ns]: [u64; 2], reservation: bool) -> VcpuKind {
    if reservation {
        VcpuKind::Reservation {
            capacity_ns,
            period_ns,
        }
    } else {
        VcpuKind::Main {
            capacity_ns,
            period_ns,
        }
    }
}

fn table(random: &mut Random) -> Schedule {
    let mut start = 0;
    let mut slots = Vec::new();
    for number in 0..random.below(4) {
        start += random.below(3) * 500 * US;
        let length_ns = (500 + random.below(8_000)) * US;
        slots.push(Slot {
            name: format!("s{number}"),
            core: 0,
            partition: 1 + random.below(number + 1) as u8,
            start_ns: start,
            length_ns,
        });
        start += length_ns;
    }
    let bands = [1, 3]
        .into_iter()
        .filter(|_| random.below(2) == 0)
        .collect();
    Schedule {
        order: Order::FixedPriority,
        background: false,
        quantum_ns: (random.below(2) == 0).then_some(700 * US),
        bands,
        frame_ns: start + random.below(3) * 1_000 * US,
        slots,
    }
}

/// The random core of [`system`], by deadline.
pub(crate) fn by_deadline(random: &mut Random) -> Timing {
    let mut timing = system(random);
    timing.schedule.order = Order::EarliestDeadline;
    timing
}
