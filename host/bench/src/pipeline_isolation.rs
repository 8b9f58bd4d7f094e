//! `pipeline-isolation`: what a message costs from a timer's expiry through stages that are isolated
//!
//! Paper 004 figure 7, both structures of its figure 6. Process-style: every other stage is in a component
//! of its own. Hierarchical: all stages are in a subsystem beside one that loops for ever. Beside them
//! Linux, every stage a process, joined by pipes, on one core of the same machine that has nothing else to
//! do: with later stages more important, and with all equal; the better one stands in the row.

use bulkhead_abi::component::stages::{LENGTHS, LINE};
use bulkhead_run::figures::Kind;
use bulkhead_run::machine::Timing;
use std::path::PathBuf;

use crate::bench::Bench;
use crate::error::BenchError;
use crate::linux_peer::Peer;
use crate::measures::{Measure, Measures};
use crate::report::{Report, Row};
use crate::setting::Context;

const PARTITION: &str = "control";
/// Messages of each length; short and long version.
const EVENTS: [u64; 2] = [200, 20_000];
/// Between two messages: more than the longest pipeline takes on Linux.
const PERIOD_US: u64 = 5000;
/// 8 ns per instruction, as the peers of `prims` were counted. One core works; turns are as long as it
/// has something to do.
const TIMING: Timing = Timing::Virtual {
    shift: 3,
    slice_us: 1000,
};
const STRUCTURES: [(&str, &str, &str); 2] = [
    (
        "process-style",
        "pipeline-process",
        "host/bench/systems/pipeline-process",
    ),
    (
        "hierarchical",
        "pipeline-hierarchy",
        "host/bench/systems/pipeline-hierarchy",
    ),
];
const FLAVOURS: [(&str, &str); 2] = [
    ("Linux PREEMPT_RT", "debian-rt"),
    ("Linux, standard", "debian"),
];
/// The orders of importance that Linux is measured in.
const ORDERS: [&str; 2] = ["rising", "level"];
/// The last core is left to the pipeline.
const ALONE: &str = "isolcpus=1";

pub(crate) struct PipelineIsolation;

impl Bench for PipelineIsolation {
    fn id(&self) -> &'static str {
        "pipeline-isolation"
    }

    fn reproduces(&self) -> &'static str {
        "004 figure 7"
    }

    fn kind(&self) -> Kind {
        Kind::Virtual
    }

    fn guarantee(&self) -> &'static str {
        "below Linux at every length, average and worst, in both isolation structures"
    }

    fn run(&self, context: &Context) -> Result<Report, BenchError> {
        let events = EVENTS[usize::from(context.long)];
        let bulkhead = STRUCTURES.map(|(structure, name, system)| {
            let measured = measure_structure(context, name, system, events)?;
            Ok::<_, BenchError>((structure, measured))
        });
        let bulkhead = bulkhead.into_iter().collect::<Result<Vec<_>, _>>()?;
        let peers = FLAVOURS.map(|(name, flavour)| {
            let measured = linux(context, flavour, events)?;
            Ok::<_, BenchError>((name, measured))
        });
        let peers = peers.into_iter().collect::<Result<Vec<_>, _>>()?;
        let mut rows = Vec::new();
        for (structure, measured) in &bulkhead {
            for (place, (stages, bulkhead)) in LENGTHS.iter().zip(measured).enumerate() {
                let beside = peers
                    .iter()
                    .map(|(name, measured)| (*name, &measured[place]));
                rows.push(row(
                    structure,
                    *stages,
                    bulkhead,
                    &beside.collect::<Vec<_>>(),
                ));
            }
        }
        Ok(self.report(rows))
    }
}

/// One structure on the kernel, by length, microseconds.
fn measure_structure(
    context: &Context,
    name: &str,
    system: &str,
    events: u64,
) -> Result<Vec<Measure>, BenchError> {
    let budget = PERIOD_US * 4 / 5;
    let most = LENGTHS[LENGTHS.len() - 1];
    let words = format!("events={events} period_us={PERIOD_US} budget_us={budget} stages={most}");
    let setting = context.build(name, system, &[], &[(PARTITION, &words)])?;
    let measures = setting.measure(PARTITION, TIMING)?;
    let sound = "bench wrong 0 refused 0";
    let all_through = setting
        .console(PARTITION)?
        .iter()
        .any(|line| line.contains(sound));
    if !all_through {
        return Err(incomplete("every message, whole", setting.run_folder()));
    }
    let tick_us = 1e6 / setting.manifest.machine.counter_hz as f64;
    let of = |length: &u64| {
        let measure = measures.of(&format!("{LINE}-{length}"), &setting)?;
        Ok(scaled(measure, tick_us))
    };
    LENGTHS.iter().map(of).collect()
}

/// Results of processes and pipes: for each length the better order.
fn linux(context: &Context, flavour: &str, events: u64) -> Result<Vec<Measure>, BenchError> {
    let words = format!("bench=pipelines rounds={events}");
    let peer = Peer {
        flavour,
        changes: &["system.cores=2", "partition.linux.cores=2"],
        command_line: ALONE,
        words: &words,
    };
    let output = peer.run(context, &format!("pipeline-{flavour}"), TIMING)?;
    let best = |length: &u64| {
        best(&output.measures, *length)
            .map(|measure| scaled(&measure, 1e-3))
            .ok_or_else(|| incomplete(&format!("{length} stages"), output.folder.clone()))
    };
    LENGTHS.iter().map(best).collect()
}

/// The best average and the best worst of both orders.
fn best(measures: &Measures, length: u64) -> Option<Measure> {
    let orders = ORDERS.map(|order| measures.0.get(&format!("{order}-{length}")));
    let [Some(one), Some(other)] = orders else {
        return None;
    };
    Some(Measure {
        count: one.count,
        average: one.average.min(other.average),
        worst: one.worst.min(other.worst),
    })
}

fn scaled(measure: &Measure, unit: f64) -> Measure {
    Measure {
        count: measure.count,
        average: measure.average * unit,
        worst: measure.worst * unit,
    }
}

fn incomplete(what: &str, folder: PathBuf) -> BenchError {
    BenchError::Incomplete {
        what: what.into(),
        folder,
    }
}

/// Average beside the best average of Linux; it holds if the worst is below the best worst, too.
fn row(structure: &str, stages: u64, bulkhead: &Measure, peers: &[(&str, &Measure)]) -> Row {
    let least = |of: fn(&Measure) -> f64| {
        let figures = peers.iter().map(|(_, measure)| of(measure));
        figures.fold(f64::INFINITY, f64::min)
    };
    let mut figures = vec![
        ("average".to_owned(), bulkhead.average),
        ("worst".to_owned(), bulkhead.worst),
        ("messages".to_owned(), bulkhead.count),
    ];
    for (name, measure) in peers {
        figures.push(((*name).to_owned(), measure.average));
        figures.push((format!("worst of {name}"), measure.worst));
    }
    let figures: Vec<(&str, f64)> = figures
        .iter()
        .map(|(name, value)| (&**name, *value))
        .collect();
    let what = format!("{structure}, stages: {stages}");
    let row = Row::at_most(&what, &figures, "us", least(|measure| measure.average));
    let ok = row.ok && !peers.is_empty() && bulkhead.worst <= least(|measure| measure.worst);
    Row { ok, ..row }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measure(average: f64, worst: f64) -> Measure {
        Measure {
            count: 1.0,
            average,
            worst,
        }
    }

    #[test]
    fn average_and_worst_must_both_be_below_every_peer() {
        let (fast, slow) = (measure(10.0, 30.0), measure(20.0, 25.0));
        let peers = [("a", &fast), ("b", &slow)];
        let holds = |bulkhead: &Measure| row("x", 1, bulkhead, &peers).ok;
        assert!(holds(&measure(9.0, 24.0)));
        assert!(!holds(&measure(11.0, 24.0)));
        assert!(!holds(&measure(9.0, 26.0)));
        assert!(!row("x", 1, &measure(1.0, 1.0), &[]).ok);
    }

    #[test]
    fn linux_is_taken_at_its_best() {
        let named = |order: &str, measure| (format!("{order}-4"), measure);
        let both = [
            named("rising", measure(1.0, 9.0)),
            named("level", measure(2.0, 8.0)),
        ];
        let measures = Measures(both.into());
        assert_eq!(best(&measures, 4), Some(measure(1.0, 8.0)));
        assert_eq!(best(&measures, 8), None);
    }
}
