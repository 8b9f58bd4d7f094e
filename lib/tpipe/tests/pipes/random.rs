//! Random pipelines on random systems: the search is never worse than the heuristic, and what is
//! promised is kept in simulation
//!
//! `BULKHEAD_LONG=1` tries 10,000.

use crate::simulation::{Arrivals, Seen, simulate};
use bulkhead_analysis::Reservation;
use bulkhead_analysis::utilisation::Fraction;
use bulkhead_tpipe::binding::Bound;
use bulkhead_tpipe::language::{Buffering, Flow, MILLION, Pipeline};
use bulkhead_tpipe::repository::{
    Core, Device, Function, Io, Load, MessageType, Policy, Repository, Runs,
};
use bulkhead_tpipe::solver::{Answer, Solution, saved, solve};

/// Stages and VCPUs of a case, at most.
pub(crate) const ROOM: usize = 48;

/// Numbers from a seed (SplitMix64).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end.max(1)
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

/// A system and a pipeline on it.
pub(crate) struct Case {
    cores: Vec<Core<'static>>,
    loads: Vec<Load>,
    ios: Vec<Io<'static>>,
    devices: Vec<Device<'static>>,
    names: Vec<String>,
    functions: Vec<(Shape, u64, usize)>,
    pub(crate) text: String,
}

#[derive(Clone, Copy, PartialEq)]
enum Shape {
    First,
    Inner,
    Last,
}

const US: u64 = 1_000;

impl Case {
    pub(crate) fn new(random: &mut Random) -> Self {
        let policies = [
            Policy::RateMonotonic,
            Policy::RateMonotonic,
            Policy::Edf,
            Policy::Deadline,
        ];
        let cores: Vec<Core<'_>> = (0..1 + random.below(3))
            .map(|number| Core {
                name: "core",
                policy: policies[random.below(4) as usize],
                space: (number * random.below(2)) as usize,
            })
            .collect();
        let core = |random: &mut Random| random.below(cores.len() as u64) as usize;
        let loads = (0..random.below(3))
            .map(|_| {
                let period = (1 + random.below(20)) * 500 * US;
                let capacity = period / (8 + random.below(12));
                Load {
                    core: core(random),
                    server: Reservation::new(capacity, period).expect("valid"),
                    runs: Runs::Tasks { jobs: 1 },
                }
            })
            .collect();
        let ios: Vec<Io<'_>> = (0..1 + random.below(2))
            .map(|_| Io {
                name: "io",
                core: core(random),
                wcet: (1 + random.below(20)) * US,
                utilisation: Fraction::ratio(3 + random.below(15), 100).expect("valid"),
                sharers: 1,
            })
            .collect();
        let devices = (0..1 + random.below(3))
            .map(|_| {
                let period = (1 + random.below(4)) * 250 * US;
                let shared = random.chance(40);
                Device {
                    name: "device",
                    io: random.below(ios.len() as u64) as usize,
                    main: shared.then(|| {
                        Reservation::new(period / (10 + random.below(20)), period).expect("valid")
                    }),
                    sharers: 1,
                    distance: random.chance(50).then(|| (1 + random.below(40)) * 500 * US),
                }
            })
            .collect();
        let mut case = Self {
            cores,
            loads,
            ios,
            devices,
            names: vec![],
            functions: vec![],
            text: String::new(),
        };
        case.write(random);
        case
    }

    /// A pipeline of sections: one to three stages or short chains side by side in each.
    fn write(&mut self, random: &mut Random) {
        let sections = 1 + random.below(5);
        let parts: Vec<String> = (0..sections)
            .map(|section| {
                let width = if random.chance(70) {
                    1
                } else {
                    2 + random.below(2)
                };
                let items: Vec<_> = (0..width)
                    .map(|_| self.item(random, section == 0, section + 1 == sections))
                    .collect();
                items.join(", ")
            })
            .collect();
        let longest = sections * 2;
        let fifo = random.chance(50);
        let delay = longest * (300 + random.below(4_000));
        let flow = match (fifo, random.chance(50)) {
            (true, _) => format!("{}/s", 1 + random.below(2_000)),
            (false, true) => "0 %".into(),
            (false, false) => format!("{} %", random.below(60)),
        };
        let star = if fifo { "* " } else { "" };
        self.text = format!("{star}{} [{flow}, {delay} us]", parts.join(" | "));
        if random.chance(5) {
            self.text = format!("{star}{}", parts.join(" | "));
        }
    }

    fn item(&mut self, random: &mut Random, first: bool, last: bool) -> String {
        let mut chain = 1 + u64::from(random.chance(25));
        if first && last {
            chain = chain.max(2);
        }
        let names: Vec<String> = (0..chain)
            .map(|index| {
                let shape = match (first && index == 0, last && index + 1 == chain) {
                    (true, _) => Shape::First,
                    (_, true) => Shape::Last,
                    _ => Shape::Inner,
                };
                self.function(random, shape)
            })
            .collect();
        format!("({})", names.join(" | "))
    }

    fn function(&mut self, random: &mut Random, shape: Shape) -> String {
        let name = format!("F{}", self.names.len());
        let wcet = (1 + random.below(100)) * US;
        self.functions
            .push((shape, wcet, random.below(self.cores.len() as u64) as usize));
        self.names.push(name.clone());
        name
    }

    pub(crate) fn with<R>(&self, use_it: impl FnOnce(&Repository<'_>) -> R) -> R {
        let functions: Vec<Function<'_>> = self
            .names
            .iter()
            .zip(&self.functions)
            .enumerate()
            .map(|(index, (name, &(shape, wcet, core)))| Function {
                name,
                core,
                wcet,
                inputs: 9,
                outputs: 9,
                messages: [MessageType::WORDS; 2],
                buffering: None,
                source: (shape == Shape::First).then_some(index % self.devices.len()),
                sink: (shape == Shape::Last && index % 3 > 0).then_some(index % self.devices.len()),
                period: 2_000 * US,
            })
            .collect();
        use_it(&Repository {
            decisions: &[],
            cores: &self.cores,
            loads: &self.loads,
            ios: &self.ios,
            devices: &self.devices,
            functions: &functions,
        })
    }
}

pub(crate) fn cases() -> u64 {
    if std::env::var_os("BULKHEAD_LONG").is_some() {
        10_000
    } else {
        400
    }
}

/// How often what happened.
#[derive(Debug, Default)]
struct Tally {
    cases: u64,
    content: u64,
    heuristic: u64,
    ours: u64,
    saved: u64,
}

#[test]
fn random_pipelines_keep_what_is_promised() {
    let mut tally = Tally::default();
    for seed in 0..cases() {
        let case = Case::new(&mut Random::new(seed));
        case.with(|repository| {
            let pipe: Pipeline<'_, ROOM> = Pipeline::parse(&case.text).expect("correct");
            let bound = Bound::new(&pipe, repository).expect("fits");
            let answer = solve(&bound);
            never_worse(seed, &answer);
            tally.cases += 1;
            tally.content += u64::from(answer.heuristic_content);
            tally.heuristic += u64::from(answer.heuristic.holds());
            tally.ours += u64::from(answer.best.holds());
            tally.saved += saved(&answer).map_or(0, |share| share.0);
            for solution in [&answer.best, &answer.heuristic] {
                if solution.holds() {
                    kept(seed, &case.text, &bound, solution);
                }
            }
        });
    }
    println!(
        "{tally:?}, saved on average {:.1} %",
        Fraction(tally.saved / tally.heuristic.max(1)).percent()
    );
    assert!(
        tally.ours > tally.cases / 10 && tally.heuristic > tally.cases / 20,
        "{tally:?}"
    );
}

fn never_worse(seed: u64, answer: &Answer<ROOM>) {
    assert!(!answer.heuristic.better_than(&answer.best), "seed {seed}");
}

fn kept(seed: u64, text: &str, bound: &Bound<'_, ROOM>, solution: &Solution<ROOM>) {
    let promised = &solution.assessment;
    for (round, arrivals) in [Arrivals::Worst, Arrivals::Steady, Arrivals::Sparse]
        .into_iter()
        .enumerate()
    {
        let mut random = Random::new(seed * 3 + round as u64);
        let seen = simulate(bound, solution, arrivals, &mut random);
        let say = |what: &str| {
            format!(
                "seed {seed}, {arrivals:?}, {text}: {what}; {seen:?}, bound {}",
                promised.bound
            )
        };
        assert!(seen.worst_delay <= promised.bound, "{}", say("too late"));
        match bound.pipeline.buffering {
            Buffering::Fifo => {
                for stage in 0..bound.len() {
                    let (held, room) = (seen.most_waiting[stage], promised.buffer[stage]);
                    assert!(held <= room, "{}", say("a ring overflows"));
                }
                assert_eq!(seen.remaining, 0, "{}", say("messages are stuck"));
                if arrivals == Arrivals::Worst {
                    throughput(bound, promised.bound, &seen, say);
                }
            }
            Buffering::FourSlot => {
                let most = match bound.pipeline.requirement.map(|required| required.flow) {
                    Some(Flow::Loss(loss)) => u64::from(loss.0),
                    _ => continue,
                };
                for stage in 0..bound.len() {
                    let (written, lost) = seen.written[stage];
                    let allowed = if most == 0 {
                        0
                    } else {
                        written * most / MILLION + 4
                    };
                    let steady =
                        matches!(arrivals, Arrivals::Worst | Arrivals::Steady) || most == 0;
                    assert!(!steady || lost <= allowed, "{}", say("too much is lost"));
                }
            }
        }
    }
}

/// Messages that were sent at the rate the pipeline takes come out at that rate, the delay aside.
fn throughput(bound: &Bound<'_, ROOM>, delay: u64, seen: &Seen, say: impl Fn(&str) -> String) {
    let Some(Flow::Throughput(least)) = bound.pipeline.requirement.map(|required| required.flow)
    else {
        return;
    };
    let needs = (0..bound.len()).filter(|&stage| bound.is_head(stage));
    let slow =
        needs.filter_map(|stage| bound.repository.devices[bound.function(stage).source?].distance);
    let interval = slow.max().unwrap_or(0).max(least.interval_ns());
    let time = seen.last_output.saturating_sub(seen.first_input);
    assert!(time <= seen.sent * interval + delay, "{}", say("too slow"));
}
