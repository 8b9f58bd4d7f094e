//! Pictures have every partition, its slots and what ran in them

use crate::random::{US, partitioned, system};
use bulkhead_model::timing::Timing;
use bulkhead_sched::harness::Random;
use bulkhead_sim::gantt::{self, Beginning, Drawn};
use bulkhead_sim::{Options, simulate};

fn drawn(timing: &Timing) -> Beginning {
    let mut beginning = Beginning::new(20_000 * US);
    let options = Options {
        for_ns: 50_000 * US,
        seed: 1,
        critical: true,
        background: false,
    };
    simulate(timing, options, &mut beginning).expect("few enough");
    beginning
}

#[test]
fn every_partition_is_drawn() {
    let with_slots = |&seed: &u64| {
        let timing = partitioned(&mut Random::new(seed));
        let slots = &timing.schedule.slots;
        let inside = |slot: &bulkhead_model::timing::Slot| {
            let vcpus = timing.vcpus.iter();
            vcpus
                .filter(|vcpu| vcpu.place.partition == slot.partition)
                .count()
                > 0
        };
        slots.iter().any(inside)
    };
    let seed = (1..100).find(with_slots).expect("some have slots");
    let timings = [
        system(&mut Random::new(seed)),
        partitioned(&mut Random::new(seed)),
    ];
    let seen = timings.each_ref().map(drawn);
    let all = [0, 1].map(|place| Drawn {
        name: ["plain", "table"][place],
        timing: &timings[place],
        beginning: &seen[place],
    });
    let svg = gantt::svg(&all);
    assert!(svg.contains(">plain<") && svg.contains(">table<"));
    assert!(svg.contains("#f2efe6"), "slots are shaded");
    let bars = svg.matches("height=\"15\"").count();
    assert_eq!(bars, seen[0].stretches.len() + seen[1].stretches.len());
    let trace = gantt::perfetto(&all);
    let events = trace["traceEvents"].as_array().expect("a list");
    let of = |kind: &str| events.iter().filter(|event| event["ph"] == kind).count();
    assert_eq!(of("X"), bars);
    let processes = events
        .iter()
        .filter(|event| event["name"] == "process_name");
    assert_eq!(processes.count(), 2);
}
