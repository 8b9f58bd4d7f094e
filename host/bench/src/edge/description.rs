//! Random descriptions of a class, by seed and scale

use bulkhead_sched::harness::Random;
use std::fmt::Write;

use super::search::WHOLE;
use crate::{BenchError, Context};

/// Example of which [`Class::Can`] is made.
const CAN: &str = "systems/pipes-can/system.toml";
/// Nanoseconds that the runtime takes of a job where one core executes, as the board says; times the cores that take turns.
const JOB_NS: u64 = 8_000;
/// Frame of the time tables, microseconds.
const FRAME_US: u64 = 20_000;

/// A way of scheduling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// VCPUs by rate.
    Rate,
    /// VCPUs by deadline.
    Deadline,
    /// VCPUs in time partitions.
    Slots,
    /// EDF bands among priorities.
    Bands,
    /// Threads at plain priorities, some within budgets.
    Priorities,
    /// Tuned pipes.
    Pipes,
    /// Tuned pipes between CAN frames.
    Can,
}

impl Class {
    /// Classes of computing tasks.
    pub(super) const OF_TASKS: [Self; 5] = [
        Self::Rate,
        Self::Deadline,
        Self::Slots,
        Self::Bands,
        Self::Priorities,
    ];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Rate => "rate",
            Self::Deadline => "deadline",
            Self::Slots => "slots",
            Self::Bands => "bands",
            Self::Priorities => "priorities",
            Self::Pipes => "pipes",
            Self::Can => "can",
        }
    }

    /// Seconds before what is measured begins.
    pub(super) const fn start_s(self) -> u64 {
        match self {
            Self::Can => 1,
            Self::Priorities => 2,
            _ => 0,
        }
    }

    /// Argument words of the partitions: each job computes for its whole WCET. Where a second core sends, half of it leaves room
    /// for that one's turns.
    pub(super) fn arguments(self, systems: usize) -> Vec<(String, String)> {
        let words = match self {
            Self::Pipes => "load=100".to_owned(),
            Self::Can => "load=50".to_owned(),
            _ => format!("turns={systems}"),
        };
        let partitions = (0..systems).map(partition);
        partitions.map(|name| (name, words.clone())).collect()
    }
}

fn partition(number: usize) -> String {
    match number {
        0 => "control".into(),
        number => format!("control{number}"),
    }
}

/// The description of a board with a system for each scale.
pub(super) fn describe(
    context: &Context,
    class: Class,
    seed: u64,
    scales: &[u64],
) -> Result<String, BenchError> {
    if class == Class::Can {
        let file = context.root.join(CAN);
        let text = std::fs::read_to_string(&file).map_err(BenchError::file(&file))?;
        return Ok(can(&text, seed, scales[0]));
    }
    let mut text = String::from(
        "[system]\nname = \"edge\"\nboard = \"qemu-virt\"\n[run]\nfor = \"5 s\"\nclock = \"virtual\"\n",
    );
    for (number, &scale) in scales.iter().enumerate() {
        let random = Random::new(1 + seed * 64 + number as u64 + ((class as u64) << 32));
        let mut system = System {
            text: &mut text,
            random,
            name: partition(number),
            scale,
            job_ns: JOB_NS * scales.len() as u64,
        };
        // Writing to a string does not fail.
        let _ = match class {
            Class::Pipes => system.pipes(),
            Class::Priorities => system.priorities(),
            _ => system.vcpus(class),
        };
    }
    Ok(text)
}

/// A partition that is being written.
struct System<'t> {
    text: &'t mut String,
    random: Random,
    name: String,
    scale: u64,
    job_ns: u64,
}

impl System<'_> {
    fn between(&mut self, least: u64, most: u64) -> u64 {
        least + self.random.below(most - least + 1)
    }

    /// An execution time at this scale.
    fn scaled_ns(&mut self, ns: u64) -> u64 {
        (ns * self.scale / WHOLE).max(1_000)
    }

    fn head(&mut self, kind: &str) -> std::fmt::Result {
        let name = &self.name;
        writeln!(
            self.text,
            "[partition.{name}]\nkind = \"rtos\"\ncriticality = \"A\"\ncores = 1\n{kind}"
        )
    }

    fn vcpus(&mut self, class: Class) -> std::fmt::Result {
        self.head("memory = \"2 MiB\"")?;
        let name = self.name.clone();
        self.schedule(class)?;
        let mut tasks = Vec::new();
        for number in 0..self.between(2, 6) {
            tasks.extend(self.vcpu(class, number)?);
        }
        let components =
            include_str!("vcpus.toml").replace("PARTITION", &format!("partition.{name}"));
        writeln!(
            self.text,
            "{components}tasks = [\"{}\"]",
            tasks.join("\", \"")
        )
    }

    /// Components with a task each, every fourth within a budget, and one behind them of which nothing is known.
    fn priorities(&mut self) -> std::fmt::Result {
        let count = self.between(2, 6);
        let mut components = String::new();
        let mut words = Vec::new();
        let name = self.name.clone();
        for number in 0..count {
            let period_us = self.between(2_000, 50_000);
            let share = self.between(1, 8);
            let wcet = self.scaled_ns(period_us * 1_000 * share / 40);
            let priority = self.between(1, 5);
            let budget = match self.random.below(4) {
                0 => format!(
                    "budget = \"{} ns\"\nperiod = \"{period_us} us\"\n",
                    (wcet + self.job_ns).max(10_000)
                ),
                _ => String::new(),
            };
            write!(
                components,
                "[partition.{name}.component.t{number}]\nimage = {{ crate = \"bulkhead-task-load\" }}\nneeds = [\"threads\", \"console\"]\n\
                 owns = [\"trace\"]\npriority = {priority}\ntasks = [\"t{number}\"]\n{budget}\
                 [partition.{name}.task.t{number}]\nwcet = \"{wcet} ns\"\nperiod = \"{period_us} us\"\n"
            )?;
            words.push(format!("t{number}={wcet}/{}", period_us * 1_000));
        }
        self.head(&format!(
            "memory = \"2 MiB\"\ntrace = \"8 MiB\"\ncommand_line = \"{}\"",
            words.join(" ")
        ))?;
        let others = include_str!("vcpus.toml").replace("PARTITION", &format!("partition.{name}"));
        writeln!(self.text, "{others}\n{components}")
    }

    fn schedule(&mut self, class: Class) -> std::fmt::Result {
        let name = self.name.clone();
        let order = match class {
            Class::Rate => "order = \"rate-monotonic\"".to_owned(),
            Class::Deadline => "order = \"earliest-deadline\"".to_owned(),
            Class::Slots => format!("order = \"fixed-priority\"\nframe = \"{FRAME_US} us\""),
            _ => "order = \"fixed-priority\"\nbands = [2]".to_owned(),
        };
        writeln!(self.text, "[partition.{name}.schedule]\n{order}")?;
        if class != Class::Slots {
            return Ok(());
        }
        let length = self.between(6_000, 9_500);
        for number in 1..=2 {
            let start = (number - 1) * 10_000;
            writeln!(
                self.text,
                "[partition.{name}.slot.s{number}]\ntime_partition = {number}\nstart = \"{start} us\"\nlength = \"{length} us\""
            )?;
        }
        Ok(())
    }

    /// A VCPU with one task or two, with jobs as long as its budget allows. Returns the names of the tasks.
    fn vcpu(&mut self, class: Class, number: u64) -> Result<Vec<String>, std::fmt::Error> {
        let name = self.name.clone();
        let shortest = if class == Class::Slots { 20_000 } else { 2_000 };
        let period_us = self.between(shortest, 25 * shortest.min(4_000));
        let tasks = 1 + u64::from(self.random.below(4) == 0);
        let share = self.between(1, 8);
        let wcet = self.scaled_ns(period_us * 1_000 * share / 40 / tasks);
        let capacity = (wcet + self.job_ns) * tasks;
        let place = match class {
            Class::Slots => {
                let partition = self.random.below(3);
                format!("priority = {}\ntime_partition = {partition}\n", 1 + number)
            }
            Class::Bands if number.is_multiple_of(2) => {
                "kind = \"reservation\"\npriority = 2\n".to_owned()
            }
            Class::Bands => format!("priority = {}\n", [1, 3, 4][number as usize / 2 % 3]),
            _ => String::new(),
        };
        writeln!(
            self.text,
            "[partition.{name}.vcpu.v{number}]\nC = \"{capacity} ns\"\nT = \"{period_us} us\"\n{place}"
        )?;
        let mut names = Vec::new();
        for task in 0..tasks {
            let period_us = period_us * self.between(1, 2);
            let task = format!("t{number}-{task}");
            writeln!(
                self.text,
                "[partition.{name}.task.{task}]\nvcpu = \"v{number}\"\nwcet = \"{wcet} ns\"\nperiod = \"{period_us} us\""
            )?;
            names.push(task);
        }
        Ok(names)
    }

    fn pipes(&mut self) -> std::fmt::Result {
        self.head("memory = \"4 MiB\"\ntrace = \"8 MiB\"\nheartbeat = \"500 ms\"")?;
        let name = self.name.clone();
        self.text.push_str(
            &include_str!("pipes.toml").replace("PARTITION", &format!("partition.{name}")),
        );
        for function in ["sample", "filter", "fuse", "emit"] {
            let drawn = self.between(10, 100) * 1_000;
            let wcet = self.scaled_ns(drawn);
            let ends = match function {
                "sample" => "reads = \"timer\"\n",
                "fuse" => "inputs = 2\noutputs = 2\n",
                "emit" => "writes = \"trace\"\n",
                _ => "",
            };
            writeln!(
                self.text,
                "[partition.{name}.function.{function}]\nwcet = \"{wcet} ns\"\n{ends}"
            )?;
        }
        let pipes = self.between(1, 3);
        for number in 0..pipes {
            let delay_ms = self.between(10, 80);
            let loss = self.between(0, 30);
            let rate = 1 + 1000 / delay_ms;
            let flow = match self.random.below(6) {
                0 => format!("sample | emit [{loss} %, {delay_ms} ms]"),
                1 => format!("* sample | emit [{rate}/s, {delay_ms} ms]"),
                2 => format!("sample | filter | emit [{loss} %, {delay_ms} ms]"),
                3 => format!("* sample | filter | emit [{rate}/s, {delay_ms} ms]"),
                4 => format!("(sample | filter), sample | fuse | emit, emit [60 %, {delay_ms} ms]"),
                _ => format!(
                    "* (sample | filter), sample | fuse | emit, emit [{rate}/s, {delay_ms} ms]"
                ),
            };
            writeln!(self.text, "[pipe.p{number}]\nflow = \"{flow}\"")?;
        }
        Ok(())
    }
}

/// The example of pipes between CAN frames with other times: how far apart frames are, how long delays may be, and how long
/// its functions take.
fn can(example: &str, seed: u64, scale: u64) -> String {
    let mut random = Random::new(77 + seed);
    let gaps: Vec<u64> = (0..2).map(|_| 5_000 + random.below(15_000)).collect();
    let delays: Vec<u64> = gaps
        .iter()
        .map(|gap| gap * (25 + random.below(20)) / 10)
        .collect();
    let mut text = String::new();
    let (mut ends, mut pipes) = (gaps.iter(), delays.iter());
    for line in example.lines() {
        let line = match line.split_once(" = ") {
            Some(("distance", _)) => {
                let gap = ends.next().copied().unwrap_or(5_000);
                format!("distance = \"{} us\"", gap * 19 / 20)
            }
            Some(("wcet", time)) => {
                let us: u64 = time
                    .trim_matches('"')
                    .trim_end_matches(" us")
                    .parse()
                    .unwrap_or(50);
                // Endpoints are the runtime's own work.
                let endpoint = text.ends_with("vcpu = \"can\"\n");
                let ns = us * 1_000 * if endpoint { WHOLE } else { scale } / WHOLE;
                format!("wcet = \"{} ns\"", ns.max(1_000))
            }
            Some(("command_line", _)) => {
                format!(
                    "command_line = \"gap4_us={} gap5_us={} seed={}\"",
                    gaps[0],
                    gaps[1],
                    seed + 1
                )
            }
            Some(("flow", flow)) => {
                let stages = flow.split_once(" [").map_or(flow, |(stages, _)| stages);
                let delay = pipes.next().copied().unwrap_or(50_000);
                format!("flow = {stages} [0 %, {delay} us]\"")
            }
            _ => line.to_owned(),
        };
        text.push_str(&line);
        text.push('\n');
    }
    text
}
