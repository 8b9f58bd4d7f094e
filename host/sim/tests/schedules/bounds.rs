//! No simulated response exceeds its bound; how far bounds are from what is seen

use crate::random::{US, by_deadline, partitioned, released, system};
use bulkhead_model::timing::Timing;
use bulkhead_sched::harness::Random;
use bulkhead_sim::{Options, simulate};

/// Sums of what was seen and of what was promised, to tell how pessimistic the promise is.
#[derive(Default)]
struct Pessimism {
    systems: u64,
    tasks: u64,
    ratio: f64,
}

fn hold_against(drawn: Drawn, seed: u64, sum: &mut Pessimism) {
    let timing = drawn(&mut Random::new(seed));
    let analysis = timing.analyse().remove(0);
    let fits = analysis.misfit.is_none();
    if !fits {
        return;
    }
    let unbounded = |(_, bound): &(usize, Option<u64>)| bound.is_none();
    // If one task of a VCPU has no bound, neither have the others, nor have tasks that depend on a
    // late I/O VCPU.
    if analysis.tasks.iter().any(unbounded) {
        return;
    }
    // A task that is released by another one assumes the deadline of that one.
    let late =
        |&(index, bound): &(usize, Option<u64>)| bound > Some(timing.tasks[index].deadline_ns);
    if analysis.tasks.iter().any(late) {
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

/// How a random system is made.
type Drawn = fn(&mut Random) -> Timing;

fn hold_of(sort: &str, drawn: Drawn, systems: u64) {
    let mut sum = Pessimism::default();
    let mut seed = 0;
    while sum.systems < systems {
        seed += 1;
        hold_against(drawn, seed, &mut sum);
    }
    println!(
        "{sort}: {} of {seed} random systems have bounds for all tasks; {} tasks, bound / longest seen {:.2} on average",
        sum.systems,
        sum.tasks,
        sum.ratio / sum.tasks as f64
    );
}

macro_rules! bounds_hold {
    ($($sort:ident: $short:ident, $long:ident;)*) => {$(
        #[test]
        fn $short() {
            hold_of(stringify!($sort), $sort, 2_000);
        }

        #[test]
        #[ignore = "long"]
        fn $long() {
            hold_of(stringify!($sort), $sort, 100_000);
        }
    )*};
}

bounds_hold! {
    system: by_rate_no_response_exceeds_its_bound, by_rate_no_response_exceeds_its_bound_long;
    by_deadline: by_deadline_no_response_exceeds_its_bound, by_deadline_no_response_exceeds_its_bound_long;
    released: after_others_no_response_exceeds_its_bound, after_others_no_response_exceeds_its_bound_long;
    partitioned: in_slots_and_bands_no_response_exceeds_its_bound, in_slots_and_bands_no_response_exceeds_its_bound_long;
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

/// The examples: promised, simulated, kept.
#[test]
fn the_examples_keep_their_bounds() {
    for name in ["vcpus", "l3c"] {
        keeps_its_bounds(name);
    }
}

fn keeps_its_bounds(name: &str) {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = root.join("systems").join(name);
    let (system, _) =
        bulkhead_model::load(&folder, &root, &Default::default()).expect("the example is sound");
    let timings = system.partitions.iter().map(|partition| &partition.timing);
    let timing = timings
        .max_by_key(|timing| timing.tasks.len())
        .expect("a partition");
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
