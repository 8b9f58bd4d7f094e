//! A run-time flow is solved as the same flow in the description
//!
//! Random flows beside described pipes, once as another pipe of the description and once over the repository that is packed for the
//! partition: both give the same budgets, periods, buffers and bounds, or both refuse.

mod comparison;
mod random_flows;
mod refusals;
mod remote_rtos;
mod two_cores;

use bulkhead_abi::name_text;
use bulkhead_abi::pipe::EndpointKind::{Absent, Device, Timer, Trace};
use bulkhead_abi::pipe::Pipes;
use bulkhead_abi::repository::{MAX_STAGES, Repository};
use bulkhead_flows::catalogue::{PipeCatalogue, Unfit};
use bulkhead_flows::diagnostic::Diagnostic;
use bulkhead_flows::pipe_admission::{self, AdmittedPipe, Guarantee, Refused, Solved};
use bulkhead_model::pipes::Pipe;
use bulkhead_model::system::{PartitionId, System};
use bulkhead_model::{Overrides, check};
use bulkhead_plan::{pipes, repository};
use bulkhead_tpipe::language::Buffering;
use comparison::*;
use random_flows::Random;
use std::path::Path;

#[test]
fn host_and_target_agree() {
    let base = load("").expect("correct");
    let words = packed(&base);
    let catalogue = catalogue(&words);
    let mut random = Random::new(42);
    let [
        mut both,
        mut at_devices,
        mut neither,
        mut taken,
        mut limits,
        mut yielded,
    ] = [0; 6];
    for _ in 0..400 {
        let flow = random.flow();
        let static_system = load(&format!("[pipe.extra]\nflow = \"{flow}\""));
        match (static_system, target(&catalogue, &base, &flow)) {
            (Ok(system), Ok((solved, guarantees))) => {
                let pipes = &system.pipes;
                fits_with_decisions(&system, CONTROL);
                let extra = pipes.last().expect("the extra one");
                let ends = extra.places.iter().flat_map(|place| place.at_endpoint);
                at_devices += usize::from(ends.into_iter().any(|at| at));
                yielded += usize::from(is_slow(&solved));
                assert_eq!(pipes.len(), guarantees.len());
                same(extra, &solved);
                for ((pipe, before), guarantee) in pipes.iter().zip(&base.pipes).zip(&guarantees) {
                    assert_eq!(setting(pipe).0, setting(before).0, "{flow}: {}", pipe.name);
                    same_bounds(pipe, guarantee);
                }
                both += 1;
            }
            (Err(_), Err(refused)) => {
                let standing = |_: usize| ["pipe", "sample"];
                let diagnostic = Diagnostic {
                    flow: &flow,
                    before: 0,
                    catalogue: &catalogue,
                    standing: &standing,
                    refused,
                };
                assert!(diagnostic.to_string().len() > 10, "{flow}");
                neither += 1;
            }
            // The host solves the others anew, and the target leaves them as they run.
            (Ok(_), Err(Refused::Takes { .. })) => taken += 1,
            (Ok(_), Err(refused)) => {
                assert!(is_limit(&refused), "{flow}: {refused:?}");
                limits += 1;
            }
            (Err(found), Ok(_)) => panic!("{flow}: only the host refuses: {found:?}"),
        }
    }
    assert!(
        both > 80 && at_devices > 30 && neither > 80 && taken > 0 && limits > 0 && yielded > 5,
        "{both} {at_devices} {neither} {taken} {limits} {yielded}"
    );
}

/// Stages may be in Linux.
fn through_linux() -> String {
    let keys = "spare_stages = 4\ntyped_through = [\"linux\"]";
    DESCRIPTION.replace("spare_stages = 4", keys)
}

#[test]
fn host_and_target_agree_on_what_goes_through_linux() {
    let description = through_linux();
    let base = load_of(&description, "").expect("correct");
    let words = packed(&base);
    let catalogue = catalogue(&words);
    let mut random = Random::new(7);
    let [mut both, mut neither, mut ends_there] = [0; 3];
    for _ in 0..200 {
        let flow = random.flow_through();
        let extra = format!("[pipe.extra]\nflow = \"{flow}\"");
        match (
            load_of(&description, &extra),
            target(&catalogue, &base, &flow),
        ) {
            (Ok(system), Ok((solved, guarantees))) => {
                same(system.pipes.last().expect("the extra one"), &solved);
                for (pipe, guarantee) in system.pipes.iter().zip(&guarantees) {
                    same_bounds(pipe, guarantee);
                }
                both += 1;
                ends_there += usize::from(flow.contains("| quick [") || flow.ends_with("| quick"));
            }
            (Err(_), Err(_)) => neither += 1,
            (Ok(_), Err(Refused::Takes { .. })) => {}
            (Ok(_), Err(refused)) => assert!(is_limit(&refused), "{flow}: {refused:?}"),
            (Err(found), Ok(_)) => panic!("{flow}: only the host refuses: {found:?}"),
        }
    }
    assert!(
        both > 40 && neither > 20 && ends_there > 3,
        "{both} {neither} {ends_there}"
    );
}

#[test]
fn what_was_packed_is_found_again() {
    let base = load("").expect("correct");
    let words = packed(&base);
    let catalogue = catalogue(&words);
    let packed = catalogue.packed();
    let offered = base.offered.as_ref().expect("flows are typed");
    offered.pipes.with(|host| {
        catalogue
            .with([], |all| {
                assert_eq!(format!("{:?}", host.cores), format!("{:?}", all.cores));
                assert_eq!(format!("{:?}", host.ios), format!("{:?}", all.ios));
                assert_eq!(format!("{:?}", host.devices), format!("{:?}", all.devices));
                assert_eq!(
                    format!("{:?}", host.functions),
                    format!("{:?}", all.functions)
                );
                assert_eq!(format!("{:?}", host.loads), format!("{:?}", all.loads));
            })
            .expect("room");
    });
    for (number, pipe) in base.pipes.iter().enumerate() {
        assert_eq!(packed.flow(number), Some(pipe.solved.flow.as_str()));
        assert_eq!(
            pipe.solved.buffering == Buffering::Fifo,
            pipe.solved.flow.starts_with('*')
        );
    }
    assert_eq!(packed.flow(base.pipes.len()), None);
    assert_eq!(
        (packed.head.spare_stages, packed.head.spare_bytes),
        (4, 8 << 10)
    );
    assert!(
        repository::pack(&base, PartitionId(1)).is_empty(),
        "nothing is typed there"
    );
}

/// Endpoints of a component may be called like the built-in ones.
#[test]
fn endpoints_of_devices_differ_from_built_in_ones() {
    let description = DESCRIPTION
        .replace("can-out", "trace")
        .replace("can-in", "timer");
    let description = description.replace("sample | filter | emit [20/s, 40 ms]", "sample | write");
    let base = load_of(&description, "").expect("correct");
    let words = packed(&base);
    let catalogue = catalogue(&words);
    let function = |name| {
        let mut all = catalogue.packed().functions.iter();
        let found = all.find(|one| name_text(&one.function) == name);
        let found = found.expect(name);
        (
            found.endpoints(),
            [found.source, found.sink].map(|name| name_text(&name).to_owned()),
        )
    };
    let named = |source: &str, sink: &str| [source.to_owned(), sink.to_owned()];
    assert_eq!(function("read"), ([Device, Absent], named("timer", "")));
    assert_eq!(function("write"), ([Absent, Device], named("", "trace")));
    assert_eq!(function("sample"), ([Timer, Absent], named("", "")));
    assert_eq!(function("emit"), ([Absent, Trace], named("", "")));
    let pipes = aligned(&pipes::pack(&base, CONTROL, &[]));
    let pipes = Pipes::read(zerocopy::IntoBytes::as_bytes(pipes.as_slice())).expect("packed");
    let mut stages = pipes.stages.iter().filter(|one| one.is_here());
    let write = stages.find(|one| name_text(&one.function) == "write");
    let write = write.expect("a stage");
    assert_eq!(
        (write.endpoints()[1], name_text(&write.sink)),
        (Device, "trace")
    );
}

/// Whatever is typed, it is answered: sums, products and places hold for the oddest requirements, too.
#[test]
fn no_flow_is_too_odd() {
    let base = load("").expect("correct");
    let words = packed(&base);
    let catalogue = catalogue(&words);
    let mut random = Random::new(3);
    let mut solved = 0;
    for _ in 0..600 {
        let flow = random.odd();
        let free = random.below(MAX_STAGES as u64) as usize;
        match pipe_admission::solve(&catalogue, &flow, &[], free) {
            Ok(_) => solved += 1,
            Err(refused) => {
                let diagnostic = Diagnostic {
                    flow: &flow,
                    before: 0,
                    catalogue: &catalogue,
                    standing: &|_| ["", ""],
                    refused,
                };
                assert!(diagnostic.to_string().len() > 10, "{flow}");
            }
        }
    }
    assert!(solved > 20, "{solved}");
}

/// Bytes of another tool are refused or read, and harm no other partition.
#[test]
fn what_is_torn_is_refused() {
    let base = load("").expect("correct");
    let whole = repository::pack(&base, CONTROL);
    let mut random = Random::new(7);
    let mut refused = 0;
    for _ in 0..3000 {
        let mut bytes = whole.clone();
        for _ in 0..=random.below(3) {
            let at = random.below(bytes.len() as u64) as usize;
            bytes[at] = random.below(256) as u8;
        }
        bytes.truncate(bytes.len() - random.below(3) as usize * 8);
        let words = aligned(&bytes);
        let bytes: &[u8] = zerocopy::IntoBytes::as_bytes(words.as_slice());
        let found = Repository::read(bytes).map(PipeCatalogue::of);
        match found {
            Some(Ok(catalogue)) => {
                assert!(
                    (0..5)
                        .filter_map(|pipe| catalogue.packed().flow(pipe))
                        .count()
                        <= 4
                );
            }
            Some(Err(Unfit::Room | Unfit::Number)) | None => refused += 1,
        }
    }
    assert!(refused > 100, "{refused}");
}
