//! Descriptions that `check` accepts pass the admission tests at their start
//!
//! Random descriptions near the limits of a scheduler: numbers of VCPUs, tasks, slots and doorbells, and time. Those that are
//! accepted pass the admission of the scheduler's start, with its room and in ticks of the board's counter, as
//! `bulkhead_slite::VcpuThreads` asks for one VCPU after the other.

mod random;

use bulkhead_abi::pipe;
use bulkhead_abi::timing::{MAX_CHUNKS, MAX_SLOTS, MAX_TASKS, MAX_VCPUS};
use bulkhead_analysis::Reservation;
use bulkhead_analysis::admission::{Admission, Refused};
use bulkhead_analysis::core_overhead::CoreOverhead;
use bulkhead_analysis::overhead::{Jobs, Keeping, Overhead};
use bulkhead_analysis::placement::Placement;
use bulkhead_analysis::time_partitions::{self, Placed};
use bulkhead_analysis::utilisation::Fraction;
use bulkhead_analysis::vcpu::Io;
use bulkhead_model::timing::{Order, Task, Timing, Vcpu, VcpuKind};
use bulkhead_model::{Overrides, check};
use random::Random;
use std::fmt::Write;
use std::path::{Path, PathBuf};

const CASES: u64 = 400;
const MANY_CASES: u64 = 3_000;
/// A description with pipes takes longer: one of so many.
const PIPES_EVERY: u64 = 8;

/// Mostly near the most.
fn near(random: &mut Random, most: u64) -> u64 {
    match random.between(0, 2) {
        0 => random.between(1, most + 1),
        _ => random.between(most.saturating_sub(2).max(1), most + 1),
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Times of the board's counter.
struct Clock(u64);

impl Clock {
    fn ticks(&self, ns: u64) -> u64 {
        (u128::from(ns) * u128::from(self.0) / 1_000_000_000) as u64
    }

    fn ticks_up(&self, ns: u64) -> u64 {
        (u128::from(ns) * u128::from(self.0)).div_ceil(1_000_000_000) as u64
    }
}

/// Start of a scheduler of one core with room for `M` VCPUs.
struct Start<'t, const M: usize> {
    timing: &'t Timing,
    core: usize,
    clock: Clock,
}

impl<const M: usize> Start<'_, M> {
    fn count(&self, overheads: &mut CoreOverhead) -> Result<(), Refused> {
        let Timing {
            overhead, schedule, ..
        } = self.timing;
        let up = |ns| self.clock.ticks_up(ns);
        let overhead = Overhead {
            decision: up(overhead.decision),
            interrupt: up(overhead.interrupt),
            job: up(overhead.job),
            // Budgets of stages have it.
            stage: 0,
            blocking: up(overhead.blocking),
        };
        let keeping = Keeping {
            chunks: MAX_CHUNKS as u64,
            quantum: schedule.quantum_ns.map(|ns| self.clock.ticks(ns)),
        };
        overheads.count(overhead, keeping)?;
        for &(limit, per_ns) in &self.timing.doorbells {
            overheads.doorbell(limit, self.clock.ticks(per_ns))?;
        }
        let slots = schedule.slots.iter().filter(|slot| slot.core == self.core);
        overheads.slots(slots.count() as u64, self.clock.ticks(schedule.frame_ns))
    }

    /// Enters the slots of the core; the gaps between them take room in the table, too.
    fn slots(&self, placement: &mut Placement<M, MAX_SLOTS>) -> Result<(), String> {
        let schedule = &self.timing.schedule;
        let frame = self.clock.ticks(schedule.frame_ns);
        let (mut entries, mut end) = (0, 0);
        let mut enter = |until: u64| {
            entries += usize::from(until > end);
            end = end.max(until);
        };
        for slot in schedule.slots.iter().filter(|slot| slot.core == self.core) {
            let start = self.clock.ticks(slot.start_ns);
            let until = self.clock.ticks(slot.start_ns + slot.length_ns);
            enter(start);
            enter(until);
            let slot = time_partitions::Slot {
                start,
                length: until - start,
                partition: slot.partition,
            };
            let entered = placement.slot(frame, slot);
            entered.map_err(|refused| format!("slot: {refused:?}"))?;
        }
        enter(frame);
        match entries <= MAX_SLOTS {
            true => Ok(()),
            false => Err(format!("{entries} entries of the table")),
        }
    }

    fn tasks(&self, number: usize) -> impl Iterator<Item = &Task> {
        let tasks = self.timing.tasks.iter();
        tasks.filter(move |task| task.vcpu == number)
    }

    fn jobs(&self, task: &Task) -> Jobs {
        let (clock, vcpus) = (&self.clock, &self.timing.vcpus);
        let period = clock.ticks(task.period_ns);
        let period_of = |task: &Task| vcpus[task.cause].budget().map(|one| one.period);
        let jobs = match vcpus[task.vcpu].kind {
            VcpuKind::Io { percent } => {
                let wcet = clock.ticks_up(task.wcet_ns + self.timing.overhead.job);
                let shortest = self.tasks(task.vcpu).filter_map(period_of).min();
                Jobs::of_bottom_half(period, wcet, percent, clock.ticks(shortest.unwrap_or(0)))
            }
            _ => Jobs::each(period),
        };
        let late = clock.ticks_up(self.timing.jitter(task));
        jobs.in_bursts(task.burst).after(late)
    }

    fn limits(&self, vcpu: &Vcpu) -> Reservation {
        let budget = vcpu.budget().expect("a main VCPU");
        let period = self.clock.ticks(budget.period);
        Reservation {
            capacity: self.clock.ticks_up(budget.capacity).min(period),
            period,
        }
    }

    fn starts(&self) -> Result<(), String> {
        let order = self.timing.schedule.order;
        let (mut admission, mut placement) = (Admission::<M>::new(), Placement::new());
        for overheads in [admission.core_overhead(), placement.core_overhead()] {
            self.count(overheads)
                .map_err(|refused| format!("decisions: {refused:?}"))?;
        }
        if order == Order::EarliestDeadline {
            admission.by_deadline();
        }
        self.slots(&mut placement)?;
        let vcpus = self.timing.vcpus.iter().enumerate();
        for (number, vcpu) in vcpus.filter(|(_, vcpu)| vcpu.core == self.core) {
            let jobs = self.tasks(number).map(|task| self.jobs(task));
            let answer = match vcpu.kind {
                VcpuKind::Io { percent } => {
                    let causes = || {
                        self.tasks(number)
                            .map(|task| &self.timing.vcpus[task.cause])
                    };
                    let periods = causes().filter_map(Vcpu::budget);
                    let periods: Vec<_> = periods.map(|one| one.period).collect();
                    let [shortest, longest] = [periods.iter().min(), periods.iter().max()];
                    let periods =
                        [shortest, longest].map(|ns| self.clock.ticks(ns.copied().unwrap_or(0)));
                    let utilisation = Fraction::ratio(percent.into(), 100).expect("a share");
                    match order {
                        Order::FixedPriority => {
                            let rank = causes().map(|vcpu| vcpu.place.priority).min();
                            let io = Io {
                                utilisation,
                                longest: periods[1],
                                rank: rank.unwrap_or(0).into(),
                            };
                            placement.io(io, jobs)
                        }
                        _ => admission.io(utilisation, periods, jobs),
                    }
                }
                _ if order == Order::FixedPriority => {
                    let reservation = matches!(vcpu.kind, VcpuKind::Reservation { .. });
                    let placed = Placed {
                        limits: self.limits(vcpu),
                        partition: vcpu.place.partition,
                        priority: vcpu.place.priority,
                        reservation,
                    };
                    placement.vcpu(number, placed, jobs)
                }
                _ => admission.main(number, self.limits(vcpu), jobs),
            };
            answer.map_err(|refused| format!("VCPU {}: {refused:?}", vcpu.name))?;
        }
        Ok(())
    }
}

fn vcpus_and_tasks(random: &mut Random) -> String {
    let order = random.between(0, 3);
    let [vcpus, tasks] = [MAX_VCPUS, MAX_TASKS].map(|most| near(random, most as u64));
    let share = random.between(10, 90);
    let mut text = String::from(
        "[system]\nname = \"near\"\nboard = \"qemu-virt\"\n\n[partition.near]\nkind = \"rtos\"\ncriticality = \"A\"\n\
         cores = 1\nmemory = \"2 MiB\"\n",
    );
    text += &schedule(random, order);
    let mut add = |line: String| writeln!(text, "{line}").expect("text");
    let halves = random.between(0, 2).min(vcpus - 1).min(tasks - 1);
    let vcpus = vcpus - halves;
    for vcpu in 0..vcpus {
        let period_us = random.between(20_000, 200_000) + vcpu;
        let capacity_us = (period_us * share / 100 / vcpus).max(100);
        add(format!(
            "[partition.near.vcpu.v{vcpu}]\nC = \"{capacity_us} us\"\nT = \"{period_us} us\""
        ));
        match order {
            2 => add(format!("priority = {vcpu}")),
            3 => add(format!(
                "priority = {vcpu}\ntime_partition = {}",
                random.between(0, 1)
            )),
            _ => {}
        }
    }
    // Bottom halves take VCPUs and tasks, too.
    for half in 0..halves {
        add(format!(
            "[partition.near.vcpu.io{half}]\nkind = \"io\"\nutilisation = 2\n[partition.near.task.h{half}]\nvcpu = \"io{half}\"\n\
             for = \"v{}\"\nwcet = \"20 us\"\nperiod = \"{} ms\"",
            half % vcpus,
            random.between(400, 900)
        ));
    }
    for task in halves..tasks {
        let (vcpu, period) = (task % vcpus, random.between(400, 900));
        add(format!(
            "[partition.near.task.t{task}]\nvcpu = \"v{vcpu}\"\nwcet = \"20 us\"\nperiod = \"{period} ms\""
        ));
    }
    let names: Vec<String> = (0..halves)
        .map(|half| format!("\"h{half}\""))
        .chain((halves..tasks).map(|task| format!("\"t{task}\"")))
        .collect();
    let components = include_str!("../../bench/src/edge/vcpus.toml");
    text += &components.replace("PARTITION", "partition.near");
    let _ = writeln!(text, "tasks = [{}]", names.join(", "));
    text += &doorbells(random);
    text
}

/// The order of VCPUs: 0 and 1 by period, 2 by priority, 3 by priority within slots.
fn schedule(random: &mut Random, order: u64) -> String {
    let mut text = String::new();
    let mut add = |line: String| writeln!(text, "{line}").expect("text");
    let slots = random.between(1, MAX_SLOTS as u64 + 1);
    let frame_us = 2_000 * slots;
    match order {
        1 => add("[partition.near.schedule]\norder = \"earliest-deadline\"".into()),
        2 => add("[partition.near.schedule]\norder = \"fixed-priority\"".into()),
        3 => {
            add(format!(
                "[partition.near.schedule]\norder = \"fixed-priority\"\nframe = \"{frame_us} us\""
            ));
            for slot in 0..slots {
                // With and without gaps.
                let length = 2_000 - 500 * random.between(0, 1);
                add(format!(
                    "[partition.near.slot.s{slot}]\ntime_partition = 1\nstart = \"{} us\"\nlength = \"{length} us\"",
                    slot * 2_000
                ));
            }
        }
        _ => {}
    }
    text
}

/// Doorbells that interrupt the partition.
fn doorbells(random: &mut Random) -> String {
    let mut text = String::new();
    let mut add = |line: String| writeln!(text, "{line}").expect("text");
    let doorbells = random.between(0, 3) * random.between(0, 9);
    if doorbells > 0 {
        add(
            "[partition.sender]\nkind = \"rtos\"\ncriticality = \"A\"\ncores = 1\nmemory = \"512 KiB\"\n\
             image = { crate = \"bulkhead-attack\" }"
                .into(),
        );
    }
    for channel in 0..doorbells {
        add(format!(
            "[channel.c{channel}]\nkind = \"mailbox\"\nfrom = \"sender\"\nto = \"near\"\nmessage = 64\n\
             doorbell = {{ limit = 1, per = \"{} ms\" }}",
            random.between(50, 500)
        ));
    }
    text
}

/// The example `pipes` with other pipes, which have about as many stages as there is room for.
fn pipes(random: &mut Random) -> String {
    let example = std::fs::read_to_string(root().join("systems/pipes/system.toml"));
    let example = example.expect("an example");
    let (mut text, _) = example
        .split_once("# Every message,")
        .map(|(head, rest)| (head.to_owned(), rest))
        .expect("pipes at the end");
    text = text.replace(
        "spare_stages = 6",
        &format!("spare_stages = {}", random.between(0, 6) / 3),
    );
    for us in ["75 us", "175 us", "125 us"] {
        text = text.replace(us, "20 us");
    }
    let mut stages = 0;
    let most = near(random, 25);
    for number in 0..16 {
        let (flow, count) = match random.between(0, 2) {
            0 => ("sample | emit", 2),
            1 => ("sample | filter | emit", 3),
            _ => ("(sample | filter), sample | fuse | emit, emit", 6),
        };
        if stages + count > most {
            break;
        }
        stages += count;
        let delay = random.between(500, 5_000);
        let requirement = match random.between(0, 1) {
            0 => format!("{flow} [{} %, {delay} ms]", random.between(20, 60)),
            _ => format!("* {flow} [{}/s, {delay} ms]", 1 + 1_000 / delay),
        };
        writeln!(text, "[pipe.p{number}]\nflow = \"{requirement}\"").expect("text");
    }
    text
}

/// Returns whether the description is accepted, and how many VCPUs it then has.
fn try_pipes(seed: u64) -> Option<usize> {
    let text = pipes(&mut Random::of(seed));
    let file = root().join("systems/pipes/system.toml");
    let (system, _) = check(&file, text.clone(), &root(), &Overrides::default()).ok()?;
    let timing = &system.partitions[0].timing;
    let start = Start::<{ pipe::MAX_VCPUS }> {
        timing,
        core: 0,
        clock: Clock(timing.counter_hz.get()),
    };
    assert_eq!(start.starts(), Ok(()), "seed {seed}:\n{text}");
    // The planner has a VCPU of its own.
    assert!(timing.vcpus.len() < pipe::MAX_VCPUS, "seed {seed}");
    Some(timing.vcpus.len())
}

/// Returns whether the description is accepted, and how many VCPUs it then has.
fn try_vcpus(seed: u64) -> Option<usize> {
    let text = vcpus_and_tasks(&mut Random::of(seed));
    let file = root().join("near/system.toml");
    let (system, _) = check(&file, text.clone(), &root(), &Overrides::default()).ok()?;
    let partition = &system.partitions[0];
    let timing = &partition.timing;
    let start = Start::<MAX_VCPUS> {
        timing,
        core: 0,
        clock: Clock(timing.counter_hz.get()),
    };
    let started = start.starts();
    assert_eq!(started, Ok(()), "seed {seed}:\n{text}");
    Some(timing.vcpus.len())
}

fn try_all(cases: u64) {
    let accepted: Vec<_> = (1..=cases).filter_map(try_vcpus).collect();
    let near = accepted
        .iter()
        .filter(|vcpus| **vcpus + 2 >= MAX_VCPUS)
        .count();
    assert!(
        accepted.len() as u64 >= cases / 20,
        "{} accepted",
        accepted.len()
    );
    assert!(near as u64 >= cases / 100, "{near} near the limit");
    let piped: Vec<_> = (1..=cases / PIPES_EVERY).filter_map(try_pipes).collect();
    let near = piped.iter().filter(|vcpus| **vcpus >= 20).count();
    assert!(
        piped.len() as u64 >= cases / PIPES_EVERY / 8,
        "{} with pipes",
        piped.len()
    );
    assert!(near > 0, "none near the limit: {piped:?}");
    println!("accepted: {accepted:?}, with pipes {piped:?}");
}

#[test]
fn what_is_accepted_starts() {
    try_all(CASES);
}

#[test]
#[ignore = "long"]
fn what_is_accepted_starts_of_many() {
    try_all(MANY_CASES);
}
