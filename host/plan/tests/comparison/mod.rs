//! Comparison of a flow as the host solves it in a description, and as the target solves it over the packed repository

use super::*;

pub(crate) const DESCRIPTION: &str = include_str!("../run_time_pipes.toml");

pub(crate) fn load(extra: &str) -> Result<System, Vec<String>> {
    load_of(DESCRIPTION, extra)
}

pub(crate) fn load_of(description: &str, extra: &str) -> Result<System, Vec<String>> {
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
pub(crate) fn aligned(bytes: &[u8]) -> Vec<u64> {
    let words = bytes.chunks(8).map(|chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        u64::from_le_bytes(word)
    });
    words.collect()
}

pub(crate) const CONTROL: PartitionId = PartitionId(0);

/// Binary form for the partition, where the target finds it.
pub(crate) fn packed(system: &System) -> Vec<u64> {
    aligned(&repository::pack(system, CONTROL))
}

pub(crate) fn catalogue(words: &[u64]) -> PipeCatalogue<'_> {
    let bytes = zerocopy::IntoBytes::as_bytes(words);
    PipeCatalogue::of(Repository::read(bytes).expect("packed")).expect("fits")
}

/// T and m of a pipe's stages, and its bound.
pub(crate) fn setting(pipe: &Pipe) -> (Vec<(u64, u64)>, u64) {
    let stages = pipe.solved.stages.iter();
    let bounds = pipe.solved.paths.iter().map(|path| path.bound_ns);
    let setting = stages.map(|stage| (stage.period_ns, stage.messages));
    (setting.collect(), bounds.max().expect("a path"))
}

/// The target's decision on a flow, and its bounds of all pipes afterwards.
pub(crate) fn target(
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
pub(crate) fn same(pipe: &Pipe, solved: &Solved) {
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

pub(crate) fn same_bounds(pipe: &Pipe, guarantee: &Guarantee) {
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
pub(crate) fn is_slow(solved: &Solved) -> bool {
    let mut stages = solved.stages().iter();
    solved.guarantee.required.is_none() && stages.all(|stage| stage.period > 10_000_000)
}

/// Returns `true` if only the runtime of stages refuses, for a reason unknown to the solver.
pub(crate) fn is_limit(refused: &Refused) -> bool {
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
pub(crate) fn fits_with_decisions(system: &System, partition: PartitionId) {
    let timing = &system.partition(partition).timing;
    let cores = timing.analyse();
    assert!(cores.iter().any(|core| core.core == 0), "it has VCPUs");
    for core in cores {
        assert_eq!(core.misfit, None, "core {}", core.core);
    }
}
