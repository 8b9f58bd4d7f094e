//! The judge accepts no more than run-time admission admits
//!
//! The sums of [`bulkhead_analysis::admission`] are computed again for every accepted setting,
//! including the sharers of devices.

use crate::random::{Case, ROOM, Random, cases};
use bulkhead_analysis::Reservation;
use bulkhead_analysis::admission::{Admission, Refused};
use bulkhead_analysis::overhead::{Jobs, Keeping, Overhead};
use bulkhead_tpipe::assessment::{Judge, Setting, budget};
use bulkhead_tpipe::binding::Bound;
use bulkhead_tpipe::language::Pipeline;
use bulkhead_tpipe::repository::{Decisions, Load, Policy, Repository, Runs};
use bulkhead_tpipe::solver::solve;

const KEEPING: Keeping = Keeping {
    chunks: 8,
    quantum: None,
};

/// All of a core with these stages on it, one after the other.
fn admit(
    bound: &Bound<'_, ROOM>,
    setting: &Setting<ROOM>,
    counted: &Decisions<'_>,
) -> Result<(), Refused> {
    let repository = bound.repository;
    let mut all = Admission::<ROOM>::new();
    if repository.cores[counted.core].policy == Policy::Edf {
        all.by_deadline();
    }
    all.core_overhead()
        .count(counted.overhead, counted.keeping)?;
    let stage = |all: &mut Admission<ROOM>, server: Reservation, messages| {
        let jobs = Jobs::each(server.period).in_bursts(messages);
        all.main(0, server, [jobs])
    };
    let main = |all: &mut Admission<ROOM>, server| stage(all, server, 1);
    for load in repository
        .loads
        .iter()
        .filter(|load| load.core == counted.core)
    {
        main(&mut all, load.server)?;
    }
    let here = |io: usize| repository.ios[io].core == counted.core;
    for device in repository.devices.iter().filter(|device| here(device.io)) {
        device
            .main
            .map_or(Ok(()), |server| main(&mut all, server))?;
    }
    for index in (0..bound.len()).filter(|&index| bound.function(index).core == counted.core) {
        let messages = setting.messages[index];
        let capacity = budget(bound, index, messages);
        let server = Reservation::new(capacity, setting.period[index]).expect("judged");
        stage(&mut all, server, messages)?;
    }
    for (number, io) in repository
        .ios
        .iter()
        .enumerate()
        .filter(|(io, _)| here(*io))
    {
        let users =
            (0..bound.len()).flat_map(|stage| bound.devices(stage).map(move |end| (stage, end)));
        let users = users.filter(|(_, end)| repository.devices[*end].io == number);
        let cause = |&(stage, end): &(usize, usize)| {
            let period = setting.period[stage];
            repository.devices[end]
                .main
                .map_or(period, |main| main.period)
        };
        let users: Vec<_> = users.collect();
        let causes = || users.iter().map(cause);
        if let (Some(shortest), Some(longest)) = (causes().min(), causes().max()) {
            let jobs = users.iter().map(|&(stage, _)| {
                let period = setting.period[stage];
                Jobs::of_bottom_half(period, io.wcet, io.percent(), shortest)
                    .in_bursts(setting.messages[stage])
            });
            all.io(io.utilisation, [shortest, longest], jobs)?;
        }
    }
    Ok(())
}

#[test]
fn what_is_judged_is_admitted() {
    let (mut held, mut refused) = (0, 0);
    for seed in 0..cases() {
        let mut random = Random::new(seed);
        let case = Case::new(&mut random);
        case.with(|plain| {
            let cores = plain.cores.iter().enumerate();
            let cores = cores.filter(|(_, core)| core.policy != Policy::Deadline);
            let jobs: Vec<Vec<_>> = cores
                .clone()
                .map(|(core, _)| {
                    let loads = plain.loads.iter().filter(|load| load.core == core);
                    loads.map(|load| Jobs::each(load.server.period)).collect()
                })
                .collect();
            let decision = 1 + random.below(8_000);
            let decisions: Vec<_> = cores
                .zip(&jobs)
                .map(|((core, _), jobs)| Decisions {
                    core,
                    overhead: Overhead {
                        decision,
                        interrupt: decision / 9,
                        job: 0,
                        stage: random.below(decision),
                        blocking: random.below(decision),
                    },
                    keeping: KEEPING,
                    jobs,
                    doorbells: &[],
                })
                .collect();
            let repository = Repository {
                decisions: &decisions,
                ..*plain
            };
            let pipe: Pipeline<'_, ROOM> = Pipeline::parse(&case.text).expect("correct");
            let bound = Bound::new(&pipe, &repository).expect("fits");
            let best = solve(&bound).best;
            if !best.holds() {
                refused += 1;
                return;
            }
            held += 1;
            for counted in &decisions {
                let admitted = admit(&bound, &best.setting, counted);
                assert_eq!(admitted, Ok(()), "seed {seed}: {}", case.text);
            }
            let plain = Bound::new(&pipe, plain).expect("fits");
            let without = Judge::new(&plain).assess(&best.setting);
            if without.violation.is_none() {
                assert!(without.bound <= best.assessment.bound, "seed {seed}");
            }
        });
    }
    assert!(held > cases() / 20 && refused > 0, "{held} {refused}");
}

/// A stage of another pipe at the device has the bottom half be more important than this pipe alone would.
#[test]
fn others_at_a_device_are_seen() {
    // Without decisions and with them.
    let mut later = [0u64; 2];
    for seed in 0..cases() {
        let case = Case::new(&mut Random::new(seed));
        case.with(|plain| {
            let Some(device) = plain
                .devices
                .iter()
                .position(|device| device.main.is_none())
            else {
                return;
            };
            let core = plain.ios[plain.devices[device].io].core;
            let counted = |core| Decisions {
                core,
                overhead: Overhead::default(),
                keeping: KEEPING,
                jobs: &[],
                doorbells: &[],
            };
            let decisions: Vec<_> = (0..plain.cores.len()).map(counted).collect();
            let server = Reservation::new(1, 300_000).expect("valid");
            let with = |decisions: &[Decisions<'_>], devices: [Option<usize>; 2]| {
                let runs = Runs::Stage {
                    devices,
                    messages: 1,
                };
                let other = Load { core, server, runs };
                let loads: Vec<_> = plain.loads.iter().copied().chain([other]).collect();
                let repository = Repository {
                    decisions,
                    loads: &loads,
                    ..*plain
                };
                let pipe: Pipeline<'_, ROOM> = Pipeline::parse(&case.text).expect("correct");
                let bound = Bound::new(&pipe, &repository).expect("fits");
                let best = solve(&bound).best;
                best.holds()
                    .then_some((best.setting, best.assessment.bound))
            };
            for (way, decisions) in [&[], &decisions[..]].into_iter().enumerate() {
                let alone = with(decisions, [None; 2]);
                let beside = with(decisions, [Some(device), None]);
                let (Some((setting, alone)), Some((same, beside))) = (alone, beside) else {
                    continue;
                };
                if setting == same {
                    assert!(beside >= alone, "seed {seed}: {}", case.text);
                    later[way] += u64::from(beside > alone);
                }
            }
        });
    }
    assert!(later.iter().all(|later| *later > 0), "{later:?}");
}
