//! Requirements that `check` proposes for a pipe in place of infeasible ones are accepted
//!
//! Random requirements, times and tasks on the core of the example `pipes`, too tight for it in most cases. Each proposed
//! requirement is put into the description, which is then checked again as a whole.

mod random;

use bulkhead_model::{Diagnostic, Overrides, load};
use random::Random;
use std::path::{Path, PathBuf};

const CASES: u64 = 40;
const MANY_CASES: u64 = 200;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A description as changes of the example: flows by pipe, and other keys.
fn random(seed: u64) -> ([(&'static str, String); 3], Vec<String>) {
    let mut random = Random::of(seed);
    let flows = [
        (
            "log",
            format!(
                "* sample | filter | emit [{}/s, {} ms]",
                random.between(20, 400),
                random.between(4, 60)
            ),
        ),
        (
            "steer",
            format!(
                "sample | filter | emit [{} %, {} ms]",
                random.between(0, 30),
                random.between(3, 40)
            ),
        ),
        (
            "mimo",
            format!(
                "(sample | filter), sample | fuse | emit, emit [{} %, {} ms]",
                random.between(0, 60),
                random.between(8, 80)
            ),
        ),
    ];
    let mut keys = vec![
        format!(
            "partition.control.spare_stages={}",
            6 * random.between(0, 1)
        ),
        format!(
            "partition.control.function.filter.wcet={} us",
            random.between(50, 900)
        ),
        format!(
            "partition.control.function.fuse.wcet={} us",
            random.between(50, 900)
        ),
        format!(
            "partition.control.vcpu.loop.C={} us",
            random.between(500, 4000)
        ),
    ];
    if random.between(0, 1) == 1 {
        let deadline = random.between(10, 20);
        keys.extend([
            "partition.control.task.loop.vcpu=loop".to_owned(),
            format!(
                "partition.control.task.loop.wcet={} us",
                random.between(100, 450)
            ),
            format!("partition.control.task.loop.period={deadline} ms"),
        ]);
        keys.extend(COMPONENT.map(str::to_owned));
    }
    (flows, keys)
}

/// The component that executes the task `loop`.
const COMPONENT: [&str; 4] = [
    "partition.control.component.pipes.provides=[\"threads\"]",
    "partition.control.component.load.image.crate=bulkhead-task-load",
    "partition.control.component.load.needs=[\"threads\"]",
    "partition.control.component.load.tasks=[\"loop\"]",
];

fn check(flows: &[(&str, String)], keys: &[String]) -> Result<(), Vec<Diagnostic>> {
    let flows = flows
        .iter()
        .map(|(name, flow)| format!("pipe.{name}.flow={flow}"));
    let overrides = Overrides {
        set: keys.iter().cloned().chain(flows).collect(),
        ..Overrides::default()
    };
    load(&root().join("systems/pipes"), &root(), &overrides).map(drop)
}

/// Returns how many proposals were tried.
fn try_proposals(seed: u64) -> usize {
    let (flows, keys) = random(seed);
    let Err(found) = check(&flows, &keys) else {
        return 0;
    };
    let mut tried = 0;
    for unmet in found.iter().filter(|one| one.id == "pipe-unmet") {
        let help = unmet.help.as_deref().unwrap_or_default();
        let Some((_, proposals)) = help.split_once("what can be met: ") else {
            continue;
        };
        let text = unmet.sources.text(&unmet.span).unwrap_or_default();
        for proposal in proposals.split('`').skip(1).step_by(2) {
            let changed: Vec<_> = flows
                .iter()
                .map(|(name, flow)| {
                    // The message points at the requirement of one pipe.
                    let place = flow.find('[').expect("a requirement");
                    let is_this = &flow[place..] == text;
                    let flow = match is_this {
                        true => format!("{}{proposal}", &flow[..place]),
                        false => flow.clone(),
                    };
                    (*name, flow)
                })
                .collect();
            assert_ne!(changed.as_slice(), flows.as_slice(), "seed {seed}: {text}");
            let again = check(&changed, &keys);
            let errors = again.map_err(|found| {
                let lines: Vec<_> = found
                    .into_iter()
                    .map(|one| (one.id, one.message, one.labels))
                    .collect();
                format!("{lines:?}")
            });
            assert_eq!(
                errors,
                Ok(()),
                "seed {seed}: {flows:?} {keys:?}: {proposal}"
            );
            tried += 1;
        }
    }
    tried
}

fn try_all(cases: u64) -> usize {
    (1..=cases).map(try_proposals).sum()
}

#[test]
fn what_is_proposed_is_accepted() {
    let tried = try_all(CASES);
    assert!(tried >= CASES as usize / 4, "{tried} proposals");
}

#[test]
#[ignore = "long"]
fn what_is_proposed_is_accepted_of_many() {
    let tried = try_all(MANY_CASES);
    assert!(tried >= MANY_CASES as usize / 4, "{tried} proposals");
}
