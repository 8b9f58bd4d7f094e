//! No simulated response exceeds its bound; how far bounds are from what is seen

use bulkhead_model::timing::{Task, Timing, Vcpu, VcpuKind};
use bulkhead_sched::harness::Random;
use bulkhead_sim::{Options, simulate};

const US: u64 = 1_000;

fn vcpu(number: usize, kind: VcpuKind, core: usize) -> Vcpu {
    Vcpu {
        name: format!("v{number}"),
        span: 0..0,
        kind,
        core,
    }
}

fn task(number: usize, vcpu: usize, cause: usize, times: [u64; 3]) -> Task {
    let [wcet_ns, period_ns, deadline_ns] = times;
    Task {
        name: format!("t{number}"),
        span: 0..0,
        vcpu,
        cause,
        wcet_ns,
        period_ns,
        deadline_ns,
    }
}

/// A random core: up to 6 main VCPUs of up to 3 tasks each, up to 2 I/O VCPUs.
fn system(random: &mut Random) -> Timing {
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
        for _ in 0..1 + random.below(3) {
            let wcet = 1 + random.below(capacity_ns * 2);
            let period = (period_ns / 2).max(wcet) + random.below(period_ns * 6);
            let id = timing.tasks.len();
            timing
                .tasks
                .push(task(id, number, number, [wcet, period, period]));
        }
    }
    for number in mains..mains + random.below(3) as usize {
        let percent = 1 + random.below(15) as u32;
        timing.vcpus.push(vcpu(number, VcpuKind::Io { percent }, 0));
        for _ in 0..1 + random.below(2) {
            let cause = random.below(mains as u64) as usize;
            let period = (300 + random.below(8_000)) * US;
            let wcet = 1 + random.below(period / 50);
            let id = timing.tasks.len();
            timing
                .tasks
                .push(task(id, number, cause, [wcet, period, period]));
        }
    }
    timing
}

/// Sums of what was seen and of what was promised, to tell how pessimistic the promise is.
#[derive(Default)]
struct Pessimism {
    systems: u64,
    tasks: u64,
    ratio: f64,
}

fn hold_against(seed: u64, sum: &mut Pessimism) {
    let timing = system(&mut Random::new(seed));
    let analysis = timing.analyse().remove(0);
    let fits = analysis
        .mains
        .iter()
        .all(|(_, response)| response.is_some());
    // A VCPU on which one task has no bound has none for the others, nor has who depends on an I/O VCPU
    // that is late.
    if !fits || analysis.tasks.iter().any(|(_, bound)| bound.is_none()) {
        return;
    }
    sum.systems += 1;
    let mut worst = vec![0; timing.tasks.len()];
    for critical in [true, false] {
        let options = Options {
            for_ns: 200_000 * US,
            seed,
            critical,
            background: false,
        };
        let outcome = simulate(&timing, options, &mut ()).expect("few enough");
        for (seen, task) in worst.iter_mut().zip(&outcome.tasks) {
            *seen = task.worst.max(*seen);
        }
    }
    for &(index, bound) in &analysis.tasks {
        let (seen, bound) = (worst[index], bound.expect("checked"));
        assert!(
            seen <= bound,
            "seed {seed}: task {index} took {seen}, promised {bound}: {timing:?}"
        );
        sum.tasks += 1;
        sum.ratio += bound as f64 / seen.max(1) as f64;
    }
}

fn hold(systems: u64) {
    let mut sum = Pessimism::default();
    let mut seed = 0;
    while sum.systems < systems {
        seed += 1;
        hold_against(seed, &mut sum);
    }
    println!(
        "{} of {seed} random systems have bounds for all tasks; {} tasks, bound / longest seen {:.2} on average",
        sum.systems,
        sum.tasks,
        sum.ratio / sum.tasks as f64
    );
}

#[test]
fn no_response_exceeds_its_bound() {
    hold(2_000);
}

#[test]
#[ignore = "long"]
fn no_response_exceeds_its_bound_long() {
    hold(100_000);
}

/// Ten thousand VCPUs on 128 cores.
#[test]
fn ten_thousand_vcpus() {
    let mut timing = Timing::default();
    for number in 0..10_000 {
        let period_ns = (10_000 + number as u64) * US;
        let kind = VcpuKind::Main {
            capacity_ns: period_ns / 120,
            period_ns,
        };
        timing.vcpus.push(vcpu(number, kind, number % 128));
        timing.tasks.push(task(
            number,
            number,
            number,
            [period_ns / 130, period_ns, period_ns],
        ));
    }
    let options = Options {
        for_ns: 50_000 * US,
        seed: 7,
        critical: true,
        background: false,
    };
    let outcome = simulate(&timing, options, &mut ()).expect("fits");
    let seen = outcome.tasks.iter().map(|task| task.jobs).sum::<u64>();
    assert!(seen >= 20_000, "{seen} jobs");
    assert!(outcome.tasks.iter().all(|task| task.late == 0));
}

#[test]
fn the_same_seed_gives_the_same_schedule() {
    let timing = system(&mut Random::new(5));
    let run = |seed| {
        let options = Options {
            for_ns: 100_000 * US,
            seed,
            critical: false,
            background: true,
        };
        let mut seen = bulkhead_sim::gantt::Beginning::new(100_000 * US);
        simulate(&timing, options, &mut seen).expect("few enough");
        seen.stretches
    };
    assert_eq!(run(3), run(3));
    assert_ne!(run(3), run(4));
}

/// The example: promised, simulated, kept.
#[test]
fn the_example_keeps_its_promises() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let (system, _) = bulkhead_model::load(&root.join("systems/vcpus"), &root, &Default::default())
        .expect("the example is sound");
    let timing = &system.partitions[0].timing;
    let options = Options {
        for_ns: 2_000_000 * US,
        seed: 7,
        critical: true,
        background: false,
    };
    let outcome = simulate(timing, options, &mut ()).expect("few enough");
    for (index, bound) in timing.analyse().remove(0).tasks {
        let (task, seen) = (&timing.tasks[index], &outcome.tasks[index]);
        let bound = bound.expect("has a bound");
        assert!(
            seen.jobs >= 5 && seen.worst <= bound && bound <= task.deadline_ns,
            "{}",
            task.name
        );
    }
}
