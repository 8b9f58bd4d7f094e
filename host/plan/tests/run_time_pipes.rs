//! A run-time flow is solved as the same flow in the description
//!
//! Random flows beside described pipes, once as another pipe of the description and once over the repository that is packed for the
//! partition: both give the same budgets, periods, buffers and bounds, or both refuse.

mod random_flows;
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
use random_flows::Random;
use std::path::Path;

const DESCRIPTION: &str = include_str!("run_time_pipes.toml");

fn load(extra: &str) -> Result<System, Vec<String>> {
    load_of(DESCRIPTION, extra)
}

fn load_of(description: &str, extra: &str) -> Result<System, Vec<String>> {
    let real = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let file = real.join("host/plan/tests/run_time_pipes.toml");
    let text = format!("{description}\n{extra}\n");
    // Without crates: what a program has of these functions is no concern of the plan.
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("boards-alone");
    std::fs::create_dir_all(root.join("boards")).expect("a folder");
    let board = "boards/qemu-virt.toml";
    let facts = std::fs::read(real.join(board)).expect("the board");
    if std::fs::read(root.join(board)).ok().as_ref() != Some(&facts) {
        std::fs::write(root.join(board), facts).expect("its copy");
    }
    let loaded = check(Path::new(&file), text, &root, &Overrides::default());
    match loaded {
        Ok((system, _)) => Ok(system),
        Err(found) => Err(found.into_iter().map(|found| found.message).collect()),
    }
}

/// Bytes at an address as the target has them.
fn aligned(bytes: &[u8]) -> Vec<u64> {
    let words = bytes.chunks(8).map(|chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        u64::from_le_bytes(word)
    });
    words.collect()
}

const CONTROL: PartitionId = PartitionId(0);

/// Binary form for the partition, where the target finds it.
fn packed(system: &System) -> Vec<u64> {
    aligned(&repository::pack(system, CONTROL))
}

fn catalogue(words: &[u64]) -> PipeCatalogue<'_> {
    let bytes = zerocopy::IntoBytes::as_bytes(words);
    PipeCatalogue::of(Repository::read(bytes).expect("packed")).expect("fits")
}

/// T and m of a pipe's stages, and its bound.
fn setting(pipe: &Pipe) -> (Vec<(u64, u64)>, u64) {
    let stages = pipe.solved.stages.iter();
    let bounds = pipe.solved.paths.iter().map(|path| path.bound_ns);
    let setting = stages.map(|stage| (stage.period_ns, stage.messages));
    (setting.collect(), bounds.max().expect("a path"))
}

/// The target's decision on a flow, and its bounds of all pipes afterwards.
fn target(
    catalogue: &PipeCatalogue<'_>,
    system: &System,
    flow: &str,
) -> Result<(Solved, Vec<Guarantee>), Refused> {
    let here = system.pipes.iter().filter(|pipe| pipe.runs_in(CONTROL));
    let settings: Vec<_> = here.map(setting).collect();
    let all = settings.into_iter().enumerate();
    let all: Vec<_> = all
        .map(|(pipe, (setting, bound))| {
            let shared = catalogue.packed().is_shared(pipe);
            (setting, shared.then_some(bound))
        })
        .collect();
    let stand: Vec<_> = all
        .iter()
        .enumerate()
        .map(|(pipe, (setting, most))| AdmittedPipe {
            flow: catalogue.packed().flow(pipe).expect("packed"),
            setting,
            most: *most,
        })
        .collect();
    let mut solved = pipe_admission::solve(catalogue, flow, &stand, MAX_STAGES)?;
    loop {
        let setting = solved.stages().iter();
        let setting: Vec<_> = setting
            .map(|stage| (stage.period, stage.messages))
            .collect();
        let new = AdmittedPipe {
            flow,
            setting: &setting,
            most: None,
        };
        let all: Vec<_> = stand.iter().copied().chain([new]).collect();
        let mut guarantees = Vec::new();
        let judged =
            pipe_admission::judge(catalogue, &all, |_, guarantee| guarantees.push(*guarantee));
        let Err(refused) = judged else {
            return Ok((solved, guarantees));
        };
        let slower = pipe_admission::slower(catalogue, flow, &stand, MAX_STAGES, &solved);
        solved = slower.ok_or(refused)?;
    }
}

/// Common part of both worlds.
fn same(pipe: &Pipe, solved: &Solved) {
    let flow = &pipe.solved.flow;
    assert_eq!(pipe.solved.buffering, solved.buffering, "{flow}");
    assert_eq!(pipe.solved.interval_ns, solved.interval, "{flow}");
    assert_eq!(pipe.solved.stages.len(), solved.stages().len(), "{flow}");
    for (ours, theirs) in pipe.solved.stages.iter().zip(solved.stages()) {
        let ours = [
            ours.capacity_ns,
            ours.period_ns,
            ours.messages,
            ours.response_ns,
            ours.buffer,
            ours.from.into(),
            ours.to.into(),
        ];
        let theirs = [
            theirs.capacity,
            theirs.period,
            theirs.messages,
            theirs.response,
            theirs.buffer,
            theirs.from.into(),
            theirs.to.into(),
        ];
        assert_eq!(ours, theirs, "{flow}");
    }
    same_bounds(pipe, &solved.guarantee);
}

fn same_bounds(pipe: &Pipe, guarantee: &Guarantee) {
    let bounds = pipe.solved.paths.iter().map(|path| path.bound_ns);
    assert_eq!(bounds.max(), Some(guarantee.bound), "{}", pipe.solved.flow);
    let ours = pipe.solved.paths.iter();
    let ours: Vec<_> = ours
        .map(|path| {
            [
                path.head as u64,
                path.tail as u64,
                path.periods_ns,
                path.bound_ns,
            ]
        })
        .collect();
    let theirs = guarantee.paths().iter();
    let theirs: Vec<_> = theirs
        .map(|path| [path.head as u64, path.tail as u64, path.periods, path.bound])
        .collect();
    assert_eq!(ours, theirs, "{}", pipe.solved.flow);
}

/// Returns `true` if a pipe requires nothing and was slowed for other pipes.
fn is_slow(solved: &Solved) -> bool {
    let mut stages = solved.stages().iter();
    solved.guarantee.required.is_none() && stages.all(|stage| stage.period > 10_000_000)
}

/// Returns `true` if only the runtime of stages refuses, for a reason unknown to the solver.
fn is_limit(refused: &Refused) -> bool {
    matches!(
        refused,
        Refused::Elsewhere(_)
            | Refused::Endpoint(_)
            | Refused::Sharers { .. }
            | Refused::Heads(_)
            | Refused::Begins(_)
            | Refused::Ends(_)
            | Refused::Stages { .. }
            | Refused::Messages { .. }
    )
}

/// All VCPUs of all cores get their budgets with every decision counted, the recorder among them, as run-time admission asks.
fn fits_with_decisions(system: &System, partition: PartitionId) {
    let timing = &system.partition(partition).timing;
    let cores = timing.analyse();
    assert!(cores.iter().any(|core| core.core == 0), "it has VCPUs");
    for core in cores {
        assert_eq!(core.misfit, None, "core {}", core.core);
    }
}

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

/// A flow, and what is said about it where so many stages are free.
const REFUSED: &[(&str, usize, &[&str])] = &[
    (
        "sample | | emit",
        9,
        &[
            "at column 22:",
            "expected the name",
            "found |",
            "           ^",
        ],
    ),
    ("sample | (emit", 9, &["at column 22:", "never closed"]),
    ("sample | emit [ms]", 9, &["expected a loss"]),
    (
        "sample | emitt",
        9,
        &["at column 22:", "no function `emitt`", "^^^^^"],
    ),
    (
        "* sample | fresh | emit",
        9,
        &["`fresh`", "four-slot buffers only"],
    ),
    ("fuse | emit", 9, &["`fuse`", "nothing feeds"]),
    ("sample | sample | emit", 9, &["`sample`"]),
    (
        "sample | mix | filter | mix | emit",
        9,
        &["at column 37:", "`mix` would feed itself"],
    ),
    (
        "sample | slow | emit",
        9,
        &["at column 22:", "`slow` is a function of another partition"],
    ),
    (
        "bare | emit",
        9,
        &["`bare` reads an endpoint without an I/O VCPU"],
    ),
    (
        "read, read, read, read | fuse | emit",
        9,
        &[
            "at column 31:",
            "no stage more may use `pipes.can-in`, which has `sharers = 3`",
            "give it more `sharers`",
        ],
    ),
    (
        "sample, sample, sample, sample, sample | wide | emit",
        9,
        &["more than 4 stages would feed `wide`, or be fed by it"],
    ),
    (
        "((sample, sample) | mix), ((sample, sample) | fuse), sample | wide | emit",
        9,
        &["`sample` is one first stage too many"],
    ),
    (
        "sample | filter | emit",
        2,
        &["it has 3 stages, and 2 are free"],
    ),
    (
        "sample | filter | emit [1 %, 200 us]",
        9,
        &[
            "at column 36:",
            "no budgets and periods",
            "would need",
            "what can be kept: [",
        ],
    ),
];

#[test]
fn what_is_refused_says_where_and_why() {
    let base = load("").expect("correct");
    let words = packed(&base);
    let catalogue = catalogue(&words);
    for (flow, free, expected) in REFUSED {
        let refused = pipe_admission::solve(&catalogue, flow, &[], *free).expect_err(flow);
        let diagnostic = Diagnostic {
            flow,
            before: "pipe add it ".len(),
            catalogue: &catalogue,
            standing: &|_| ["", ""],
            refused,
        };
        let diagnostic = diagnostic.to_string();
        for words in *expected {
            assert!(diagnostic.contains(words), "{flow}: {words}: {diagnostic}");
        }
    }
}

/// A refusal names the holders of places at an endpoint, and a removed pipe leaves its place.
#[test]
fn pipes_that_share_an_endpoint_are_named() {
    let base = load("").expect("correct");
    let words = packed(&base);
    let catalogue = catalogue(&words);
    let settings: Vec<_> = base.pipes.iter().map(setting).collect();
    let both = base.pipes.iter().zip(&settings);
    let stand: Vec<_> = both
        .map(|(pipe, (setting, _))| AdmittedPipe {
            flow: &pipe.solved.flow,
            setting,
            most: None,
        })
        .collect();
    let flow = "read, read, read | fuse | emit";
    let refused = pipe_admission::solve(&catalogue, flow, &stand, 9).expect_err("one too many");
    let diagnostic = Diagnostic {
        flow,
        before: 0,
        catalogue: &catalogue,
        standing: &|number| [&base.pipes[number].name, &base.pipes[number].solved.flow],
        refused,
    };
    let diagnostic = diagnostic.to_string();
    assert!(
        diagnostic.contains("at column 13:")
            && diagnostic.contains("it is used by pipe can: remove or replace"),
        "{diagnostic}"
    );
    let solved = pipe_admission::solve(&catalogue, flow, &stand[1..], 9);
    assert!(solved.is_ok(), "{solved:?}");
}

/// A short delay at a high rate takes from an existing pipe, and the refusal names its functions.
#[test]
fn pipes_that_would_miss_their_requirement_are_named() {
    let base = load("").expect("correct");
    let words = packed(&base);
    let catalogue = catalogue(&words);
    let pipe = &base.pipes[2];
    let (setting, _) = setting(pipe);
    let stands = |most| AdmittedPipe {
        flow: &pipe.solved.flow,
        setting: &setting,
        most,
    };
    assert!(pipe_admission::judge(&catalogue, &[stands(None)], |_, _| {}).is_ok());
    let greedy = [(400_000, 1), (400_000, 1)];
    let new = AdmittedPipe {
        flow: "sample | emit",
        setting: &greedy,
        most: None,
    };
    let refused = pipe_admission::judge(&catalogue, &[stands(Some(1)), new], |_, _| {});
    assert!(
        matches!(refused, Err(Refused::Takes { pipe: 0, .. })),
        "{refused:?}"
    );
    let wide = [(300_000, 1), (300_000, 1)];
    let new = AdmittedPipe {
        setting: &wide,
        ..new
    };
    let refused =
        pipe_admission::judge(&catalogue, &[stands(None), new], |_, _| {}).expect_err("too much");
    let diagnostic = Diagnostic {
        flow: "sample | emit",
        before: 0,
        catalogue: &catalogue,
        standing: &|_| ["log", &pipe.solved.flow],
        refused,
    };
    let diagnostic = diagnostic.to_string();
    assert!(
        diagnostic.contains("pipe log, which is there") && diagnostic.contains("core `control:0`"),
        "{diagnostic}"
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
