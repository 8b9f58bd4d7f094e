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

use crate::{Bench, BenchError, Context, Report, Row};
use description::Class;
use search::Edge;
use verdict::Seen;

/// Virtual time of a run.
const SECONDS: u64 = 5;
/// Systems of VCPUs that share a board.
const TOGETHER: usize = 4;

/// The experiment with some number of systems.
pub(crate) struct AtTheEdge {
    id: &'static str,
    /// Boards of each class of VCPUs with one system alone, and with [`TOGETHER`].
    boards: [u64; 2],
    /// Boards with pipes, and with pipes between CAN frames.
    pipes: [u64; 2],
}

/// At least 200 systems.
pub(crate) const FULL: AtTheEdge = AtTheEdge {
    id: "edge",
    boards: [12, 8],
    pipes: [24, 8],
};

/// A few of each class.
pub(crate) const SHORT: AtTheEdge = AtTheEdge {
    id: "edge-short",
    boards: [1, 0],
    pipes: [1, 1],
};

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

    fn promise(&self) -> &'static str {
        "in random systems at the edge of what is accepted no task misses its bound or deadline, and no message its bound"
    }

    fn run(&self, context: &Context) -> Result<Report, BenchError> {
        let mut rows = Vec::new();
        let [alone, together] = self.boards;
        for class in Class::OF_VCPUS {
            let mut seen = Seen::default();
            for seed in 0..alone {
                self.board(context, class, seed, 1, &mut seen)?;
            }
            for seed in 0..together {
                self.board(context, class, 1000 + seed, TOGETHER, &mut seen)?;
            }
            rows.extend(seen.rows(class.name()));
        }
        for (class, count) in [Class::Pipes, Class::Can].into_iter().zip(self.pipes) {
            let mut seen = Seen::default();
            for seed in 0..count {
                self.board(context, class, seed, 1, &mut seen)?;
            }
            rows.extend(seen.rows(class.name()));
        }
        Ok(self.report(rows))
    }
}

impl AtTheEdge {
    /// Runs one board with so many systems of a class.
    fn board(
        &self,
        context: &Context,
        class: Class,
        seed: u64,
        systems: usize,
        seen: &mut Seen,
    ) -> Result<(), BenchError> {
        let name = format!("{}/{}-{seed}", self.id, class.name());
        let Some(Edge { file, system }) = search::edge(context, &name, class, seed, systems)?
        else {
            return Ok(());
        };
        let arguments = class.arguments(systems);
        let arguments: Vec<_> = arguments
            .iter()
            .map(|(partition, words)| (partition.as_str(), words.as_str()))
            .collect();
        let setting = context.build(&name, &file.to_string_lossy(), &[], &arguments)?;
        let report = setting.run(&RunOptions {
            for_ns: Some((SECONDS + class.start_s()) * 1_000_000_000),
            ..setting.virtual_seconds(SECONDS)
        })?;
        match class {
            Class::Pipes | Class::Can => seen.paths(&name, &report),
            _ => seen.tasks(&name, &setting, &system)?,
        }
        Ok(())
    }
}

/// A row for what is broken.
fn broken(what: String) -> Row {
    Row {
        ok: false,
        ..Row::unbounded(&what, &[], "")
    }
}
