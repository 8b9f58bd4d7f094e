//! Flows over two cores of the partition

use super::*;
use bulkhead_abi::component::Role;
use bulkhead_model::system::Image;

/// More functions of the second core.
const SECOND: &str = r#"
[partition.control.function.heavy]
wcet = "200 us"
inputs = 2
core = 1

[partition.control.function.swift]
wcet = "100 us"
inputs = 3
outputs = 3
core = 1

[partition.control.function.tick]
wcet = "50 us"
reads = "timer"
outputs = 3
core = 1

[partition.control.function.keep]
wcet = "70 us"
inputs = 2
writes = "trace"
core = 1

[pipe.own]
flow = "* tick | keep [20/s, 150 ms]"
"#;

/// Decisions are counted on both cores, and an edge between them costs its reader a period, on the target as on the host.
#[test]
fn host_and_target_agree_on_two_cores() {
    let description = DESCRIPTION.replace("spare_stages = 4", "spare_stages = 1") + SECOND;
    let base = load_of(&description, "").expect("correct");
    let words = packed(&base);
    let catalogue = catalogue(&words);
    let mut random = Random::new(23);
    let [
        mut both,
        mut neither,
        mut taken,
        mut begins_there,
        mut ends_there,
    ] = [0; 5];
    for round in 0..250 {
        let flow = random.flow_through();
        let flow = match round % 4 {
            0 => flow.replace("sample", "tick"),
            _ => flow,
        };
        let flow = match round % 5 {
            0 => flow.replace("emit", "keep"),
            _ => flow,
        };
        let flow = flow.replace("linux.quick", "control.swift");
        let flow = flow.replace("quick", "swift").replace("slow", "heavy");
        let extra = format!("[pipe.extra]\nflow = \"{flow}\"");
        match (
            load_of(&description, &extra),
            target(&catalogue, &base, &flow),
        ) {
            (Ok(system), Ok((solved, guarantees))) => {
                same(system.pipes.last().expect("the extra one"), &solved);
                assert_eq!(system.pipes.len(), guarantees.len());
                for (pipe, guarantee) in system.pipes.iter().zip(&guarantees) {
                    same_bounds(pipe, guarantee);
                }
                fits_with_decisions(&system, CONTROL);
                both += 1;
                begins_there += usize::from(flow.contains("tick"));
                ends_there += usize::from(flow.contains("keep"));
            }
            (Err(_), Err(_)) => neither += 1,
            (Ok(_), Err(Refused::Takes { .. })) => taken += 1,
            (Ok(_), Err(refused)) => assert!(is_limit(&refused), "{flow}: {refused:?}"),
            (Err(found), Ok(_)) => panic!("{flow}: only the host refuses: {found:?}"),
        }
    }
    assert!(
        both > 60 && neither > 20 && begins_there > 10 && ends_there > 10,
        "{both} {neither} {taken} {begins_there} {ends_there}"
    );
}

/// Answer to a flow.
fn said_of(base: &System, flow: &str) -> Result<Solved, String> {
    let words = packed(base);
    let catalogue = catalogue(&words);
    pipe_admission::solve(&catalogue, flow, &[], 9).map_err(|refused| {
        let diagnostic = Diagnostic {
            flow,
            before: 0,
            catalogue: &catalogue,
            standing: &|_| ["", ""],
            refused,
        };
        diagnostic.to_string()
    })
}

/// Beside a stage of another core may stand one of another partition.
#[test]
fn another_core_feeds_another_partition() {
    let description = through_linux();
    let base = load_of(&description, "").expect("correct");
    let words = packed(&base);
    let catalogue = catalogue(&words);
    for flow in [
        "sample | far | quick | emit [20 %, 400 ms]",
        "* sample | quick | far | emit [5/s, 900 ms]",
        "* sample | mix | far | quick | filter | emit [2/s, 1500 ms]",
    ] {
        let extra = format!("[pipe.extra]\nflow = \"{flow}\"");
        let system = load_of(&description, &extra).expect(flow);
        let (solved, guarantees) = target(&catalogue, &base, flow).expect(flow);
        same(system.pipes.last().expect("the extra one"), &solved);
        for (pipe, guarantee) in system.pipes.iter().zip(&guarantees) {
            same_bounds(pipe, guarantee);
        }
    }
    let channels = |core: u32| {
        let Image::Components(all) = &base.partitions[0].image else {
            panic!("no components")
        };
        let mut schedulers = all.iter().filter(|one| one.role == Role::Scheduler);
        let one = schedulers.find(|one| one.core == core).expect("added");
        let names = one.channels.iter().map(|id| &base.channels[id.0].name);
        names.filter(|name| name.starts_with("typed.")).count()
    };
    assert_eq!([0, 1].map(channels), [1, 1]);
}

/// Another program schedules the second core: what is there is described, and not run, nor typed.
#[test]
fn a_partition_without_stages_has_no_input() {
    let other = r#"
[partition.control.component.other]
role = "scheduler"
image = { crate = "bulkhead-pipeline" }
core = 1
owns = ["monitor"]
"#;
    let base = load(other).expect("correct");
    assert!(base.pipes.iter().any(|pipe| !pipe.is_run()));
    let diagnostic = said_of(&base, "sample | far | emit").expect_err("nobody runs it");
    assert!(
        diagnostic.contains(
            "`far` is on a core on which nobody runs stages: another program schedules it"
        ),
        "{diagnostic}"
    );
}
