//! `l3c-slots`, `l3c-burst`: a quick task of low criticality among time partitions (paper 002)
//!
//! A task answers messages over an emulated network; another partition, which has a core and a card of its own,
//! sends them and tells how long the answers took. *Slots*: the task is in a time partition. The longer the slots,
//! the longer it waits for its turn; the shorter, the more often the scheduler interrupts the computing tasks.
//! *Burst*: it is in TP0, more important than most, within a reservation or without. The longest responses of the others show the time that it takes from them,
//! beside the bounds of the analysis with the reservation's part. The cores share the emulator's rate of instructions. Therefore a core is slower while the
//! other one sends, equally in every run with bursts.

use bulkhead_model::timing::{Timing as Tasks, VcpuKind};
use bulkhead_run::RunOptions;
use bulkhead_run::figures::Kind;
use bulkhead_run::machine::Timing;

use crate::bench::Bench;
use crate::error::BenchError;
use crate::measures::{Measure, measures};
use crate::report::{Report, Row};
use crate::setting::{Context, Setting};

const MISSION: &str = "mission";
const CLIENT: &str = "client";
/// Seconds of a run; short and long version.
const SECONDS: [u64; 2] = [3, 60];
/// 4 ns per instruction. Two cores, of which one answers and one asks.
const TIMING: Timing = Timing::DEFAULT;
/// Network part of a response: two passages of the wire, 1 us each, and a turn of the other core each way.
const WIRE_NS: u64 = 100_000;

const SLOTS_SYSTEM: &str = "host/bench/systems/l3c-slots";
/// Lengths, milliseconds.
const SLOTS: [u64; 6] = [50, 20, 10, 5, 2, 1];
/// Of the shortest slots' throughput beside the longest's: less than all of it, since deciding takes time. Work is counted in
/// pieces of equal instructions.
const ALL: f64 = 1.0;
/// Of the shortest slots' latency beside the longest's.
const TENTH: f64 = 0.1;

const BURST_SYSTEM: &str = "systems/l3c";
const REPLY: &str = "reply";
const ECHO: &str = "echo";
const WIRE: &str = "wire";
/// 300 messages, 60 us from one to the next, twice a second.
const BURSTS: &str = "burst=300 burst_us=500000 gap_us=60";
const LOADS: [(&str, &str); 3] = [
    ("quiet", "period_us=0"),
    ("10/s", "period_us=90000"),
    ("10/s and bursts", "period_us=90000"),
];

fn nanoseconds(measure: Option<&Measure>) -> f64 {
    measure.map_or(f64::NAN, |measure| measure.worst)
}

fn ms(ns: f64) -> f64 {
    ns / 1e6
}

impl Setting {
    fn run_for(&self, context: &Context) -> Result<(), BenchError> {
        let seconds = SECONDS[usize::from(context.long)];
        let options = RunOptions {
            timing: TIMING,
            ..self.virtual_seconds(seconds)
        };
        self.run(&options).map(drop)
    }

    /// Value of `key=` in the last line with `before`.
    fn value(&self, before: &str, key: &str) -> Result<f64, BenchError> {
        let lines = self.console(MISSION)?;
        let of = |line: &String| {
            let (_, rest) = line.split_once(before)?;
            let word = rest.split_whitespace().find(|word| word.starts_with(key))?;
            word.strip_prefix(key)?.strip_prefix('=')?.parse().ok()
        };
        let newest = lines.iter().rev().find_map(of);
        newest.ok_or_else(|| BenchError::Incomplete {
            what: before.into(),
            folder: self.run_folder(),
        })
    }

    /// By how much in a second what these lines say behind `key=` grows, from the first of them to the last.
    fn rate(&self, before: &str, key: &str) -> Result<f64, BenchError> {
        let lines = self.console(MISSION)?;
        let of = |line: &String| {
            let (stamp, rest) = line.strip_prefix('[')?.split_once(']')?;
            let word = rest.split_once(before)?.1.split_once(key)?.1;
            let value: f64 = word.strip_prefix('=')?.parse().ok()?;
            Some([stamp.parse().ok()?, value])
        };
        let values: Vec<[f64; 2]> = lines.iter().filter_map(of).collect();
        match &values[..] {
            [first, .., last] => Ok((last[1] - first[1]) / (last[0] - first[0])),
            _ => Err(BenchError::Incomplete {
                what: before.into(),
                folder: self.run_folder(),
            }),
        }
    }

    fn timing(&self) -> Tasks {
        let mut partitions = self.system.partitions.iter();
        let mission = partitions.find(|partition| partition.name == MISSION);
        mission
            .map(|partition| partition.timing.clone())
            .unwrap_or_default()
    }

    /// The answers that the client got.
    fn answers(&self, kind: &str) -> Result<Option<Measure>, BenchError> {
        let lines = self.console(CLIENT)?;
        Ok(measures(&lines).0.get(kind).cloned())
    }
}

/// The bound of a task's response, nanoseconds.
fn bound(timing: &Tasks, task: &str) -> f64 {
    let named = timing.tasks.iter().position(|one| one.name == task);
    let cores = timing.analyse();
    let mut all = cores.iter().flat_map(|core| &core.tasks);
    let found = all.find(|(index, _)| Some(*index) == named);
    let found = found.and_then(|(_, bound)| *bound);
    found.map_or(f64::NAN, |bound| bound as f64)
}

pub(crate) struct Slots;

impl Bench for Slots {
    fn id(&self) -> &'static str {
        "l3c-slots"
    }

    fn reproduces(&self) -> &'static str {
        "002, UDP echo latency against slot size"
    }

    fn kind(&self) -> Kind {
        Kind::Virtual
    }

    fn guarantee(&self) -> &'static str {
        "answers come within the bound at every length of slots, ten times as soon in the shortest as in the longest, where who computes gets more done"
    }

    fn run(&self, context: &Context) -> Result<Report, BenchError> {
        let runs = SLOTS.map(|length| of_length(context, length));
        let runs = runs.into_iter().collect::<Result<Vec<_>, _>>()?;
        let [longest, .., shortest] = &runs[..] else {
            return Ok(self.report(Vec::new()));
        };
        let share = shortest.computed / longest.computed;
        let sooner = shortest.worst_ns / longest.worst_ns;
        let mut rows: Vec<Row> = runs.iter().map(|run| run.row(longest)).collect();
        let what = "longest wait for an answer, 1 ms slots beside 50 ms";
        rows.push(Row::at_most(what, &[("ratio", sooner)], "", TENTH));
        // As much or more would mean that deciding cost nothing, or that something else was measured.
        let what = "computed in 1 ms slots beside 50 ms";
        let mut computed = Row::at_most(what, &[("ratio", share)], "", ALL);
        computed.ok = share < ALL;
        rows.push(computed);
        Ok(self.report(rows))
    }
}

struct OfLength {
    length: u64,
    worst_ns: f64,
    average_ns: f64,
    answers: f64,
    computed: f64,
    bound_ns: f64,
}

impl OfLength {
    fn row(&self, longest: &Self) -> Row {
        let figures = [
            ("longest", ms(self.worst_ns)),
            ("average", ms(self.average_ns)),
            ("answers", self.answers),
            ("computed, of 50 ms", self.computed / longest.computed),
        ];
        let what = format!("slots of {} ms: time to an answer", self.length);
        Row::at_most(&what, &figures, "ms", ms(self.bound_ns))
    }
}

fn of_length(context: &Context, length: u64) -> Result<OfLength, BenchError> {
    // At the end of a frame a fiftieth is TP0's, in one piece: half of 40 us would go into decisions.
    let us = [length * 1000, length * 2040];
    let key = "partition.mission";
    let changes = [
        format!("{key}.slot.first.length={} us", us[0]),
        format!("{key}.slot.second.start={} us", us[0]),
        format!("{key}.slot.second.length={} us", us[0]),
        format!("{key}.schedule.frame={} us", us[1]),
    ];
    let changes = changes.each_ref().map(String::as_str);
    let arguments = [
        (MISSION, "unlimited=near,far compute=near,far"),
        // Messages come at every place of the frames, and no more in T than a budget has chunks for.
        (CLIENT, "period_us=59700"),
    ];
    let setting = context.build("l3c-slots", SLOTS_SYSTEM, &changes, &arguments)?;
    setting.run_for(context)?;
    let near = setting.rate("task near computed", "pieces")?;
    let far = setting.rate("task far computed", "pieces")?;
    let answers = setting.answers("single")?;
    Ok(OfLength {
        length,
        worst_ns: nanoseconds(answers.as_ref()),
        average_ns: answers.as_ref().map_or(f64::NAN, |of| of.average),
        answers: answers.as_ref().map_or(0.0, |of| of.count),
        computed: near + far,
        bound_ns: bound(&setting.timing(), REPLY) + WIRE_NS as f64,
    })
}

pub(crate) struct Burst;

impl Bench for Burst {
    fn id(&self) -> &'static str {
        "l3c-burst"
    }

    fn reproduces(&self) -> &'static str {
        "002, response times of TP0 and TPx tasks at 0, 10 requests/s, 10 requests/s and bursts"
    }

    fn kind(&self) -> Kind {
        Kind::Virtual
    }

    fn guarantee(&self) -> &'static str {
        "within a reservation of 1 ms in 50 ms the answer is quick, and bursts make no other task later than the analysis admits; without it they do"
    }

    fn run(&self, context: &Context) -> Result<Report, BenchError> {
        let reserved = LOADS.map(|load| run(context, load, ""));
        let reserved = reserved.into_iter().collect::<Result<Vec<_>, _>>()?;
        let free = LOADS.map(|load| run(context, load, " unlimited=echo,card"));
        let free = free.into_iter().collect::<Result<Vec<_>, _>>()?;
        let mut rows = vec![answer(&reserved[1])];
        rows.extend(
            reserved
                .iter()
                .zip(LOADS)
                .map(|(run, load)| run.traffic(load.0, "within the reservation")),
        );
        rows.extend(
            free.iter()
                .zip(LOADS)
                .map(|(run, load)| run.traffic(load.0, "without")),
        );
        let others = &reserved[0].tasks;
        for task in 0..others.len() {
            rows.push(response(task, &reserved, "within the reservation"));
        }
        for task in 0..others.len() {
            let mut row = response(task, &free, "without");
            // This is what it is for; whether there is damage at all is asked below.
            (row.bound, row.ok) = (None, true);
            rows.push(row);
        }
        rows.push(damage(&free));
        Ok(self.report(rows))
    }
}

/// Another task's longest response in a run.
struct Other {
    name: String,
    longest_ns: f64,
    bound_ns: f64,
    /// By how much the reservation raises that.
    admitted_ns: f64,
}

struct Run {
    tasks: Vec<Other>,
    single: Option<Measure>,
    burst: Option<Measure>,
    reply_ns: f64,
}

impl Run {
    fn traffic(&self, load: &str, how: &str) -> Row {
        let of = |measure: &Option<Measure>, part: fn(&Measure) -> f64| {
            measure.as_ref().map_or(0.0, part)
        };
        let figures = [
            ("longest", ms(of(&self.single, |one| one.worst))),
            ("average", ms(of(&self.single, |one| one.average))),
            ("answers", of(&self.single, |one| one.count)),
            ("answers to bursts", of(&self.burst, |one| one.count)),
        ];
        let what = format!("{load}, {how}: time to an answer");
        Row::unbounded(&what, &figures, "ms")
    }
}

fn run(context: &Context, (name, words): (&str, &str), mission: &str) -> Result<Run, BenchError> {
    let bursts = if name == LOADS[2].0 { BURSTS } else { "" };
    let words = format!("{words} {bursts}");
    let arguments = [(CLIENT, words.trim()), (MISSION, mission.trim())];
    let setting = context.build("l3c-burst", BURST_SYSTEM, &[], &arguments)?;
    setting.run_for(context)?;
    let timing = setting.timing();
    let alone = without_echo(&timing);
    let others = timing.tasks.iter();
    let others = others.filter(|task| ![WIRE, REPLY].contains(&&*task.name));
    let tasks = others.map(|task| {
        let bound_ns = bound(&timing, &task.name);
        Ok(Other {
            longest_ns: setting.value(&format!("task {} jobs", task.name), "longest_ns")?,
            admitted_ns: bound_ns - bound(&alone, &task.name),
            bound_ns,
            name: task.name.clone(),
        })
    });
    Ok(Run {
        tasks: tasks.collect::<Result<_, BenchError>>()?,
        single: setting.answers("single")?,
        burst: setting.answers("burst")?,
        reply_ns: bound(&timing, REPLY),
    })
}

/// The setting with nothing reserved for the task that answers, nor for its card.
fn without_echo(timing: &Tasks) -> Tasks {
    let mut alone = timing.clone();
    for vcpu in alone.vcpus.iter_mut().filter(|vcpu| vcpu.name == ECHO) {
        if let VcpuKind::Reservation { capacity_ns, .. } = &mut vcpu.kind {
            *capacity_ns = 1;
        }
    }
    // An I/O VCPU without work takes nothing.
    alone.tasks.retain(|task| task.name != WIRE);
    for task in alone.tasks.iter_mut().filter(|task| task.name == REPLY) {
        task.after = None;
        task.wcet_ns = 1;
    }
    alone
}

fn answer(run: &Run) -> Row {
    let single = run.single.as_ref();
    let figures = [
        ("longest", ms(nanoseconds(single))),
        ("average", ms(single.map_or(f64::NAN, |of| of.average))),
        ("answers", single.map_or(0.0, |of| of.count)),
    ];
    let what = "10/s, within the reservation: time to an answer";
    Row::at_most(what, &figures, "ms", ms(run.reply_ns + WIRE_NS as f64))
}

/// A task's longest responses by load, the heaviest first; the reservation's part of the bound.
fn response(task: usize, runs: &[Run], how: &str) -> Row {
    let other = &runs[0].tasks[task];
    let longest = |load: usize| ms(runs[load].tasks[task].longest_ns);
    let figures = [
        (LOADS[2].0, longest(2)),
        (LOADS[1].0, longest(1)),
        (LOADS[0].0, longest(0)),
        ("delay by bursts", longest(2) - longest(0)),
        ("of the bound for the reservation", ms(other.admitted_ns)),
    ];
    let what = format!("`{}`: longest response, {how}", other.name);
    Row::at_most(&what, &figures, "ms", ms(other.bound_ns))
}

/// Without a reservation a task is late, or there was nothing to be protected from.
fn damage(runs: &[Run]) -> Row {
    let excess = |other: &Other| other.longest_ns / other.bound_ns;
    let worst = runs[2].tasks.iter().map(excess).fold(0.0, f64::max);
    let late = runs[2].tasks.iter().filter(|other| excess(other) > 1.0);
    let figures = [
        ("longest response, of its bound", worst),
        ("tasks late", late.count() as f64),
    ];
    let mut row = Row::unbounded("without the reservation: damage by bursts", &figures, "");
    row.ok = worst > 1.0;
    row
}
