//! `edge`, `edge-short`: random systems that are accepted as they are and refused with a little more to do
//!
//! Each system is generated from a seed, and the execution times of all its jobs are scaled up together until `check`
//! refuses it; the last one accepted runs, with every job as long as its WCET. Systems of VCPUs are partitions with a core of
//! their own: some alone on the board, others beside three more, and emulated cores take turns. Pipes have a
//! board each, and pipes between CAN frames one with the partition that sends these.

mod description;
mod search;
mod verdict;

use bulkhead_run::RunOptions;
use bulkhead_run::figures::Kind;
use std::num::NonZero;
use std::sync::{Mutex, PoisonError};
use std::thread;

use crate::{Bench, BenchError, Context, Report, Row};
use description::Class;
use search::Edge;
use verdict::Seen;

/// Virtual time of a run.
const SECONDS: u64 = 5;
/// Systems of VCPUs that share a board.
const SHARERS: usize = 4;
/// First seed of boards with several systems.
const SHARED_SEED: u64 = 1000;

/// The experiment with some number of systems.
pub(crate) struct AtTheEdge {
    id: &'static str,
    /// Boards of each class of VCPUs with one system alone, and with [`SHARERS`].
    boards: [u64; 2],
    /// Boards with pipes, and with pipes between CAN frames.
    pipes: [u64; 2],
    /// Least number of systems that run.
    systems: u64,
}

pub(crate) const FULL: AtTheEdge = AtTheEdge {
    id: "edge",
    boards: [12, 8],
    pipes: [24, 8],
    systems: 200,
};

/// A few of each class.
pub(crate) const SHORT: AtTheEdge = AtTheEdge {
    id: "edge-short",
    boards: [1, 0],
    pipes: [1, 1],
    systems: 6,
};

/// Boards of one class that are still to be run.
struct Quota {
    class: Class,
    /// Systems on a board.
    systems: usize,
    remaining: u64,
    seed: u64,
    seen: Seen,
}

impl Bench for AtTheEdge {
    fn id(&self) -> &'static str {
        self.id
    }

    fn reproduces(&self) -> &'static str {
        "spec 30 §6, 25 §3: no response, delay or loss beyond what `check` promises"
    }

    fn kind(&self) -> Kind {
        Kind::Virtual
    }

    fn guarantee(&self) -> &'static str {
        "in random systems at the edge of what is accepted no task misses its bound or deadline, and no message its bound"
    }

    fn run(&self, context: &Context) -> Result<Report, BenchError> {
        let quotas = Mutex::new(self.quotas());
        let workers = thread::available_parallelism().map_or(1, NonZero::get);
        thread::scope(|scope| {
            let worker = || scope.spawn(|| self.work(context, &quotas));
            for _ in 0..workers {
                worker();
            }
        });
        let quotas = quotas.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut classes: Vec<(Class, Seen)> = Vec::new();
        for quota in quotas {
            match classes.iter_mut().find(|(class, _)| *class == quota.class) {
                Some((_, seen)) => seen.add(quota.seen),
                None => classes.push((quota.class, quota.seen)),
            }
        }
        let systems: u64 = classes.iter().map(|(_, seen)| seen.systems).sum();
        let mut rows: Vec<_> = classes
            .into_iter()
            .flat_map(|(class, seen)| seen.rows(class.name()))
            .collect();
        rows.push(Row {
            ok: systems >= self.systems,
            ..Row::unbounded(
                "all classes",
                &[("systems", systems as f64), ("least", self.systems as f64)],
                "",
            )
        });
        Ok(self.report(rows))
    }
}

impl AtTheEdge {
    fn quotas(&self) -> Vec<Quota> {
        let quota = |class, systems, remaining, seed| Quota {
            class,
            systems,
            remaining,
            seed,
            seen: Seen::default(),
        };
        let [alone, shared] = self.boards;
        let [pipes, can] = self.pipes;
        let vcpus = Class::OF_TASKS.into_iter().flat_map(|class| {
            [
                quota(class, 1, alone, 0),
                quota(class, SHARERS, shared, SHARED_SEED),
            ]
        });
        let pipes = [
            quota(Class::Pipes, 1, pipes, 0),
            quota(Class::Can, 1, can, 0),
        ];
        vcpus.chain(pipes).collect()
    }

    /// Runs boards until none is left. A seed of which not even the least system is accepted is replaced by the next.
    fn work(&self, context: &Context, quotas: &Mutex<Vec<Quota>>) {
        let lock = || quotas.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let (number, class, systems, seed) = {
                let mut quotas = lock();
                let mut remaining = quotas.iter_mut().enumerate();
                let Some((number, quota)) = remaining.find(|(_, quota)| quota.remaining > 0) else {
                    return;
                };
                quota.remaining -= 1;
                quota.seed += 1;
                (number, quota.class, quota.systems, quota.seed - 1)
            };
            let name = format!("{}/{}-{seed}", self.id, class.name());
            let seen = Self::board(context, &name, class, seed, systems);
            let seen = seen.unwrap_or_else(|error| Some(Seen::not_run(&name, &error)));
            if let Some(seen) = &seen {
                context.progress(&format!("{name}: {}", seen.summary()));
            }
            if let Some(quota) = lock().get_mut(number) {
                match seen {
                    Some(seen) => quota.seen.add(seen),
                    None => quota.remaining += 1,
                }
            }
        }
    }

    /// Runs one board with so many systems of a class; nothing where its seed is refused.
    fn board(
        context: &Context,
        name: &str,
        class: Class,
        seed: u64,
        systems: usize,
    ) -> Result<Option<Seen>, BenchError> {
        let Some(Edge { file, system }) = search::edge(context, name, class, seed, systems)? else {
            return Ok(None);
        };
        let arguments = class.arguments(systems);
        let arguments: Vec<_> = arguments
            .iter()
            .map(|(partition, words)| (partition.as_str(), words.as_str()))
            .collect();
        let setting = context.build(name, &file.to_string_lossy(), &[], &arguments)?;
        let report = setting.run(&RunOptions {
            for_ns: Some((SECONDS + class.start_s()) * 1_000_000_000),
            ..setting.virtual_seconds(SECONDS)
        })?;
        let mut seen = Seen::default();
        match class {
            Class::Pipes | Class::Can => seen.paths(name, &report),
            Class::Priorities => seen.traced_tasks(name, systems as u64, &report),
            _ => seen.tasks(name, &setting, &system)?,
        }
        Ok(Some(seen))
    }
}

/// A row for what is broken.
fn broken(what: String) -> Row {
    Row {
        ok: false,
        ..Row::unbounded(&what, &[], "")
    }
}
