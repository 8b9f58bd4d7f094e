//! Stages on several cores of a partition: what the tool adds for them is what their components look for

use bulkhead_abi::component::{Part, Role};
use bulkhead_abi::name_text;
use bulkhead_abi::pipe::{NONE, Pipes, TOGETHER};
use bulkhead_model::system::{Component, Image, Partition, PartitionId, System};
use bulkhead_model::{Overrides, load};
use bulkhead_plan::pipes;
use bulkhead_stages::shared_state;
use std::path::Path;

fn system(file: &str, set: &[&str]) -> System {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let overrides = Overrides {
        set: set.iter().map(|&text| text.to_owned()).collect(),
        ..Overrides::default()
    };
    let loaded = load(&root.join(file), &root, &overrides);
    let (system, _) = loaded.unwrap_or_else(|found| panic!("{file}: {found:?}"));
    system
}

/// Binary form for a partition, at an address as on the target.
fn packed(system: &System, partition: usize) -> Vec<u64> {
    let bytes = pipes::pack(system, PartitionId(partition), &[]);
    let words = bytes.chunks(8).map(|chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        u64::from_le_bytes(word)
    });
    words.collect()
}

/// Scheduler of each core of a partition.
fn schedulers(partition: &Partition) -> Vec<&Component> {
    let Image::Components(components) = &partition.image else {
        panic!("`{}` has no components", partition.name)
    };
    let mut all: Vec<_> = components
        .iter()
        .filter(|one| one.role == Role::Scheduler)
        .collect();
    all.sort_by_key(|one| one.core);
    all
}

/// In both partitions each core's component holds the channels of its own stages, and those for which its first stages wait; all share as much
/// as they find the buffers between cores to need.
#[test]
fn each_core_has_what_its_stages_need() {
    let system = system("tests/qemu/pipes-cores/across.toml", &[]);
    for (number, partition) in system.partitions.iter().enumerate() {
        let words = packed(&system, number);
        let pipes = Pipes::read(zerocopy::IntoBytes::as_bytes(&words[..])).expect("packed");
        let schedulers = schedulers(partition);
        let names: Vec<_> = schedulers.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["pipes", "pipes.1"]);
        let channels = |core: u32| {
            let held = schedulers[core as usize].channels.iter();
            held.map(|id| system.channels[id.0].name.as_str())
                .collect::<Vec<_>>()
        };
        let mut within = 0;
        for crossing in pipes.crossings {
            let ends = [crossing.from, crossing.to].map(|stage| &pipes.stages[stage as usize]);
            let cores = ends.map(|stage| stage.core);
            if crossing.is_within() {
                within += 1;
                assert!(!cores.contains(&NONE) && cores[0] != cores[1], "{cores:?}");
                continue;
            }
            let here: Vec<_> = cores.into_iter().filter(|core| *core != NONE).collect();
            let [core] = here[..] else {
                panic!("{cores:?}")
            };
            let name = name_text(&crossing.channel);
            assert!(channels(core).contains(&name), "{name} on core {core}");
        }
        assert!(within > 0);
        let kinds: Vec<_> = shared_state::within(pipes).map(|(_, kind)| kind).collect();
        assert_eq!(kinds.len(), within);
        let shared: Vec<_> = partition.shared.iter().collect();
        let [shared] = shared[..] else {
            panic!("{shared:?}")
        };
        assert_eq!(shared.name, TOGETHER);
        assert_eq!(shared.components, names);
        let needed = shared_state::bytes(&kinds, 0).expect("a size");
        assert!((needed..needed + 4096).contains(&shared.size));
    }
    // The first stage of `log` is on the first core, and waits for the readers of the second core's stages.
    let near = schedulers(&system.partitions[0]);
    let name = |id: &bulkhead_model::system::ChannelId| system.channels[id.0].name.clone();
    let first: Vec<_> = near[0].channels.iter().map(name).collect();
    assert!(first.contains(&"log.2-3".to_owned()), "{first:?}");
    let second: Vec<_> = near[1].channels.iter().map(name).collect();
    assert_eq!(second, ["log.2-3", "steer.2-3"]);
}

/// An added component equals the first, without the parts of one core.
#[test]
fn what_is_added_is_the_same_program() {
    let system = system("tests/qemu/pipes-cores", &[]);
    let [first, second] = schedulers(&system.partitions[0])[..] else {
        panic!("{:?}", system.partitions[0].image)
    };
    assert_eq!((second.core, &second.needs), (1, &first.needs));
    assert_eq!(second.program, first.program);
    assert_eq!(second.memory, first.memory);
    assert_eq!(second.owns, [Part::Monitor]);
    assert!(second.function.is_none() && second.provides.is_empty());
}

/// With run-time flows each core with functions has its component, stages or none, and room for buffers beside those of the description.
#[test]
fn run_time_pipes_have_their_core() {
    let file = "tests/qemu/pipes-cores/typed.toml";
    let static_system = system(file, &[]);
    let shared = |system: &System| {
        let all = &system.partitions[0].shared;
        all.iter().map(|one| one.size).sum::<u64>()
    };
    let flows = ["log", "there", "back", "first", "second"];
    let flows = flows.map(|name| format!("pipe.{name}.flow=* sample | emit [5/s, 900 ms]"));
    let mut set: Vec<_> = flows.iter().map(String::as_str).collect();
    let first = system(file, &set);
    assert!(first.pipes.iter().all(|pipe| pipe.crossings.is_empty()));
    assert_eq!(schedulers(&first.partitions[0]).len(), 2);
    let spare = first.partitions[0].spare.expect("it has").buffer_bytes;
    for (system, has_core) in [(&static_system, true), (&first, false)] {
        let words = packed(system, 0);
        let pipes = Pipes::read(zerocopy::IntoBytes::as_bytes(&words[..])).expect("packed");
        let kinds: Vec<_> = shared_state::within(pipes).map(|(_, kind)| kind).collect();
        assert_eq!(!kinds.is_empty(), has_core);
        let least = shared_state::bytes(&kinds, spare as usize).expect("a size");
        assert!((least..least + 4096).contains(&shared(system)));
    }
    let functions = ["can-read", "filter", "rt-control"];
    let cores = functions.map(|name| format!("partition.control.function.{name}.core=0"));
    set.extend(cores.iter().map(String::as_str));
    assert_eq!(schedulers(&system(file, &set).partitions[0]).len(), 1);
}

/// Without a stage on another core nothing is added.
#[test]
fn one_core_has_what_it_had() {
    let functions = ["can-read", "filter", "rt-control"];
    let set = functions.map(|name| format!("partition.control.function.{name}.core=0"));
    let set: Vec<_> = set.iter().map(String::as_str).collect();
    let system = system("tests/qemu/pipes-cores", &set);
    assert_eq!(schedulers(&system.partitions[0]).len(), 1);
    assert!(system.partitions[0].shared.is_empty());
    assert!(system.pipes.iter().all(|pipe| pipe.crossings.is_empty()));
    assert!(system.pipes.iter().all(|pipe| pipe.is_run()));
}
