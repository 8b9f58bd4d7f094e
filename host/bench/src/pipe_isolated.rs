//! `pipe-isolated`: what a message costs from one stage to the next, isolated or not, by its size
//!
//! From the expiry of the first stage's timer until the second stage has the message and its job is done: both functions in one component,
//! or each in a component of its own. The functions write and read the first words alone, so that a figure that grows with the size would
//! be a copy. Beside them Linux PREEMPT_RT on the same machine, from the end of a sleep until a process with a higher priority has the message:
//! all of it through a pipe, or its first word in shared memory, behind a futex.

use bulkhead_run::figures::Kind;
use bulkhead_run::machine::Timing;

use crate::bench::Bench;
use crate::error::BenchError;
use crate::linux_peer::{FLAVOUR, Peer};
use crate::measures::Measure;
use crate::report::{Report, Row};
use crate::setting::Context;

const SYSTEM: &str = "host/bench/systems/pipe-isolated";
const SIZES: [u64; 5] = [16, 256, 4 << 10, 64 << 10, 1 << 20];
/// Messages of Linux; short and long version. The pipes run for as long as the description tells.
const EVENTS: [u64; 2] = [200, 5_000];
/// As in `pipeline-isolation`.
const TIMING: Timing = Timing::Virtual {
    shift: 3,
    slice_us: 1000,
};
/// Most that isolation may cost, times the hop in one component.
const ISOLATED: f64 = 2.0;
/// Most by which a figure may grow from the smallest message to the largest, times.
const GROWTH: f64 = 1.05;

pub(crate) struct PipeIsolated;

/// Delays of the two pipes for messages of one size, microseconds.
struct Hops {
    bytes: u64,
    shared: Measure,
    isolated: Measure,
}

impl Bench for PipeIsolated {
    fn id(&self) -> &'static str {
        "pipe-isolated"
    }

    fn reproduces(&self) -> &'static str {
        "–"
    }

    fn kind(&self) -> Kind {
        Kind::Virtual
    }

    fn guarantee(&self) -> &'static str {
        "between components at most twice as long as in one; as long for 1 MiB as for 16 bytes; below a pipe of Linux at every size; its shared memory is shown as it is"
    }

    fn run(&self, context: &Context) -> Result<Report, BenchError> {
        let hops = SIZES.map(|bytes| hops(context, bytes));
        let hops = hops.into_iter().collect::<Result<Vec<_>, _>>()?;
        let events = EVENTS[usize::from(context.long)];
        let words = format!("bench=messages rounds={events}");
        let peer = Peer {
            flavour: FLAVOUR,
            changes: &["system.cores=2", "partition.linux.cores=2"],
            command_line: "isolcpus=1",
            words: &words,
        };
        let linux = peer.run(context, "pipe-isolated-linux", TIMING)?;
        let linux = |way: &str, bytes: u64| {
            let measure = linux.measures.0.get(&format!("{way}-{bytes}"));
            measure.ok_or_else(|| BenchError::Incomplete {
                what: format!("{bytes} bytes over {way}"),
                folder: linux.folder.clone(),
            })
        };
        let mut rows = Vec::new();
        for hop in &hops {
            let ways = [linux("pipe", hop.bytes)?, linux("shared", hop.bytes)?];
            rows.push(row(hop, &hops[0], ways));
        }
        Ok(self.report(rows))
    }
}

fn hops(context: &Context, bytes: u64) -> Result<Hops, BenchError> {
    context.progress(&format!("messages of {bytes} bytes"));
    let size = format!("message.block.size={bytes}");
    let setting = context.build("pipe-isolated", SYSTEM, &[&size], &[])?;
    let mut options = setting.virtual_seconds(if context.long { 60 } else { 6 });
    options.timing = TIMING;
    let report = setting.run(&options)?;
    let delay = |pipe: &str| {
        let path = report.paths.iter().find(|path| path.name == pipe);
        let path = path.filter(|path| path.delivered > 0 && path.lost == 0);
        let path = path.ok_or_else(|| BenchError::Incomplete {
            what: format!("every message of pipe {pipe}"),
            folder: setting.run_folder(),
        })?;
        Ok::<_, BenchError>(Measure {
            count: path.delivered as f64,
            average: path.delay.avg_ns / 1e3,
            worst: path.delay.max_ns as f64 / 1e3,
        })
    };
    Ok(Hops {
        bytes,
        shared: delay("one")?,
        isolated: delay("apart")?,
    })
}

/// The hop between components, beside that in one and Linux's. Linux's shared memory is no bound: the thread that writes there has no
/// budget, and no other address space is entered.
fn row(hop: &Hops, smallest: &Hops, [pipe, futex]: [&Measure; 2]) -> Row {
    let [pipe, futex] = [pipe, futex].map(|measure| measure.average / 1e3);
    let figures = [
        ("between components", hop.isolated.average),
        ("worst", hop.isolated.worst),
        ("in one component", hop.shared.average),
        ("messages", hop.isolated.count),
        ("Linux PREEMPT_RT, pipe", pipe),
        ("Linux PREEMPT_RT, shared memory and futex", futex),
    ];
    let most = [
        ISOLATED * hop.shared.average,
        GROWTH * smallest.isolated.average,
        pipe,
    ];
    let most = most.into_iter().fold(f64::INFINITY, f64::min);
    Row::at_most(&format!("{} bytes", hop.bytes), &figures, "us", most)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hop(bytes: u64, shared: f64, isolated: f64) -> Hops {
        let measure = |average| Measure {
            count: 1.0,
            average,
            worst: average,
        };
        Hops {
            bytes,
            shared: measure(shared),
            isolated: measure(isolated),
        }
    }

    #[test]
    fn a_copy_a_slow_isolation_or_a_faster_linux_breaks_the_bound() {
        let linux = |us: f64| Measure {
            count: 1.0,
            average: us * 1e3,
            worst: us * 1e3,
        };
        let small = hop(16, 20.0, 30.0);
        let holds = |hop: &Hops, us: f64| row(hop, &small, [&linux(us), &linux(10.0)]).ok;
        assert!(holds(&hop(4096, 20.0, 31.0), 50.0));
        assert!(!holds(&hop(4096, 20.0, 35.0), 50.0), "it grows");
        assert!(!holds(&hop(4096, 14.0, 30.0), 50.0), "twice the hop in one");
        assert!(!holds(&hop(4096, 20.0, 30.0), 29.0), "Linux is faster");
    }
}
