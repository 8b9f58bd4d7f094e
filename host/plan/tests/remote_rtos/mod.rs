//! Flows with stages in another rtos partition, which judges what is wholly its own

use super::*;
use bulkhead_analysis::Reservation;

const PLANT: PartitionId = PartitionId(2);
/// The partition has a pipe of its own.
const MORE: &str = r#"
[partition.plant]
kind = "rtos"
criticality = "B"
memory = "4 MiB"
spare_stages = 6

[partition.plant.component.boot]
role = "boot"
image = { crate = "bulkhead-boot" }

[partition.plant.component.pipes]
role = "scheduler"
image = { crate = "bulkhead-scheduler" }
owns = ["monitor"]

[partition.plant.vcpu.watch]
C = "1 ms"
T = "100 ms"

[partition.plant.function.heavy]
wcet = "200 us"
inputs = 2

[partition.plant.function.swift]
wcet = "100 us"
inputs = 3
outputs = 3

[partition.plant.function.tick]
wcet = "50 us"
reads = "timer"

[partition.plant.function.keep]
wcet = "70 us"
writes = "trace"

[pipe.own]
flow = "* tick | keep [20/s, 150 ms]"
"#;

/// A described pipe goes through it, too, which is judged where flows are typed.
fn description() -> String {
    let spare = "spare_stages = 4";
    let keys = format!("{spare}\ntyped_through = [\"plant\"]");
    let description = DESCRIPTION.replacen(spare, &keys, 1);
    description.replacen("sample | slow | emit", "sample | heavy | emit", 1) + MORE
}

/// Binary form for the other partition.
fn packed_there(system: &System) -> Vec<u64> {
    aligned(&repository::pack(system, PLANT))
}

/// C and T of the stages of a pipe there.
fn requested(pipe: &Pipe) -> Vec<(Reservation, u64)> {
    let stages = pipe.solved.stages.iter().zip(&pipe.places);
    let there = stages.filter(|(_, place)| place.partition == PLANT);
    let limits = there.map(|(stage, _)| {
        let server = Reservation::new(stage.capacity_ns, stage.period_ns)?;
        Some((server, stage.messages))
    });
    limits.map(|limits| limits.expect("solved")).collect()
}

/// Bounds of the other partition's own pipe beside remote stages.
fn own_guarantee(
    catalogue: &PipeCatalogue<'_>,
    system: &System,
    more: &[(Reservation, u64)],
    most: Option<u64>,
) -> Result<Guarantee, Refused> {
    let there = system.pipes.iter().filter(|pipe| pipe.runs_in(PLANT));
    let there: Vec<_> = there.map(|pipe| (pipe, setting(pipe).0)).collect();
    let stand: Vec<_> = there
        .iter()
        .enumerate()
        .map(|(number, (pipe, setting))| {
            assert_eq!(
                catalogue.packed().flow(number),
                Some(pipe.solved.flow.as_str())
            );
            AdmittedPipe {
                flow: &pipe.solved.flow,
                setting,
                most,
            }
        })
        .collect();
    let is_own = |index: usize| there[index].0.name == "own";
    let mut promised = None;
    let more = more.iter().copied();
    pipe_admission::judge_beside(catalogue, &stand, is_own, more, |index, guarantee| {
        assert!(is_own(index));
        promised = Some(*guarantee);
    })?;
    Ok(promised.expect("judged"))
}

/// Scheduling overhead is counted on the cores of both, and the coordinator knows that of the participant as the host does.
#[test]
fn host_and_target_agree_on_what_goes_through_another_rtos() {
    let description = description();
    let base = load_of(&description, "").expect("correct");
    let (words, there) = (packed(&base), packed_there(&base));
    let (catalogue, catalogue_there) = (catalogue(&words), catalogue(&there));
    let mut random = Random::new(11);
    let [mut both, mut neither, mut ends_there, mut begins_there] = [0; 4];
    let mut grew = 0;
    for round in 0..250 {
        let flow = random.flow_through();
        let flow = match round % 4 {
            0 => flow.replace("sample", "tick"),
            _ => flow,
        };
        let flow = flow.replace("linux.quick", "plant.swift");
        let flow = flow.replace("quick", "swift").replace("slow", "heavy");
        let extra = format!("[pipe.extra]\nflow = \"{flow}\"");
        match (
            load_of(&description, &extra),
            target(&catalogue, &base, &flow),
        ) {
            (Ok(system), Ok((solved, guarantees))) => {
                let extra = system.pipes.last().expect("the extra one");
                same(extra, &solved);
                let here = system.pipes.iter().filter(|pipe| pipe.runs_in(CONTROL));
                for (pipe, guarantee) in here.zip(&guarantees) {
                    same_bounds(pipe, guarantee);
                }
                fits_with_decisions(&system, CONTROL);
                fits_with_decisions(&system, PLANT);
                let own_pipe = |system: &System| {
                    let mut pipes = system.pipes.iter();
                    pipes
                        .find(|pipe| pipe.name == "own")
                        .cloned()
                        .expect("there")
                };
                let more = requested(extra);
                assert!(!more.is_empty(), "{flow}");
                let guarantee = own_guarantee(&catalogue_there, &base, &more, None).expect("kept");
                same_bounds(&own_pipe(&system), &guarantee);
                let before = setting(&own_pipe(&base)).1;
                let refused = own_guarantee(&catalogue_there, &base, &more, Some(before));
                if guarantee.bound > before {
                    assert!(matches!(refused, Err(Refused::Takes { pipe: 1, .. })));
                    grew += 1;
                }
                both += 1;
                begins_there += usize::from(flow.contains("tick"));
                ends_there += usize::from(flow.contains("| swift [") || flow.ends_with("| swift"));
            }
            (Err(_), Err(_)) => neither += 1,
            (Ok(_), Err(Refused::Takes { .. })) => {}
            (Ok(_), Err(refused)) => assert!(is_limit(&refused), "{flow}: {refused:?}"),
            (Err(found), Ok(_)) => panic!("{flow}: only the host refuses: {found:?}"),
        }
    }
    assert!(
        both > 25 && neither > 20 && ends_there > 2 && begins_there > 2 && grew > 20,
        "{both} {neither} {ends_there} {begins_there} {grew}"
    );
}

/// A participant knows its coordinator, and the channel to it.
#[test]
fn each_is_told_of_the_other() {
    let base = load_of(&description(), "").expect("correct");
    let (words, there) = (packed(&base), packed_there(&base));
    let (here, there) = (catalogue(&words), catalogue(&there));
    let (here, there) = (here.packed(), there.packed());
    assert_eq!((here.remote_partitions.len(), here.serves.len()), (1, 0));
    assert_eq!((there.remote_partitions.len(), there.serves.len()), (0, 1));
    let (remote, serves) = (&here.remote_partitions[0], &there.serves[0]);
    assert_eq!(remote.channel, serves.channel);
    assert_eq!(remote.buffers, serves.buffers);
    assert_eq!(serves.space, here.cores[here.head.core as usize].space);
    assert_eq!(remote.space, there.cores[there.head.core as usize].space);
    let counted: Vec<_> = here.counted.iter().map(|one| one.core).collect();
    // `far` is on the second core here.
    let [here_core, other] = [here.head.core, there.head.core];
    assert_eq!(counted, [here_core, here_core + 1, other]);
    let jobs: Vec<_> = here.counted.iter().map(|one| one.jobs).collect();
    assert!(jobs[0] >= 2 && jobs[1] == 1 && jobs[2] >= 2, "{jobs:?}");
}

/// Partitions that cannot be named, and why.
#[test]
fn an_unreachable_partition_is_named() {
    let description = description();
    for (from, to, expected) in [
        (
            "typed_through = [\"plant\"]",
            "typed_through = [\"control\"]",
            "names itself",
        ),
        (
            "spare_stages = 6",
            "spare_stages = 0",
            "`plant` accepts no run-time stages",
        ),
        (
            "spare_stages = 6",
            "spare_stages = 6\ntyped_through = [\"linux\"]",
            "`plant` accepts run-time flows itself, through `linux`",
        ),
        (
            "typed_through = [\"plant\"]",
            "typed_through = [\"plant\", \"plant\"]",
            "`plant` is named twice",
        ),
    ] {
        let changed = description.replacen(from, to, 1);
        assert_ne!(changed, description);
        let found = load_of(&changed, "").expect_err(expected);
        assert!(found.iter().any(|one| one.contains(expected)), "{found:?}");
    }
    // No planner judges it: the flow is neither wholly local nor in the coordinator's partition.
    let foreign = "[pipe.foreign]\nflow = \"tick | slow | keep [5 %, 300 ms]\"";
    let found = load_of(&description, foreign).expect_err("foreign");
    let expected = "`foreign` has stages in `plant`, and none in `control`";
    assert!(found.iter().any(|one| one.contains(expected)), "{found:?}");
}
