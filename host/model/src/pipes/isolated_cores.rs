//! Isolated cores of stages in Linux
//!
//! If a Linux partition has a core besides those of its stages, its kernel keeps its own work off
//! these: load balancing and managed interrupts (`isolcpus`), other interrupts (`irqaffinity`), the
//! callbacks of RCU (`rcu_nocbs`). SCHED_DEADLINE requires this, too: a thread may be bound to a
//! core only if the core is a root domain of its own.

use crate::ids::PartitionId;
use crate::system::System;
use std::collections::BTreeSet;

/// Words of a kernel's command line that would say something else.
const WORDS: [&str; 2] = ["isolcpus=", "irqaffinity="];

/// Cores of a Linux partition, counted from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Apart {
    /// Cores of its stages.
    pub stages: Vec<usize>,
    /// Cores of all other work.
    pub rest: Vec<usize>,
}

impl Apart {
    /// The arrangement of a partition; `None` without stages in Linux, without a core for other
    /// work, or if the description arranges it.
    #[must_use]
    pub fn of(system: &System, partition: PartitionId) -> Option<Self> {
        let pipes = system.pipes.iter().filter(|pipe| pipe.is_run());
        let run_time = system
            .offered
            .iter()
            .filter(|_| system.runs_remote_stages(partition));
        let places = pipes
            .flat_map(|pipe| &pipe.places)
            .chain(run_time.flat_map(|offered| &offered.places));
        let here = places.filter(|place| place.linux && place.partition == partition);
        let stages: BTreeSet<usize> = here.map(|place| place.core).collect();
        let owner = system.partition(partition);
        let rest: Vec<_> = (0..owner.cores.count())
            .filter(|core| !stages.contains(core))
            .collect();
        let mut words = owner.command_line.split_ascii_whitespace();
        let arranged = words.any(|word| WORDS.iter().any(|key| word.starts_with(key)));
        let possible = !stages.is_empty() && !rest.is_empty() && !arranged;
        possible.then(|| Self {
            stages: stages.into_iter().collect(),
            rest,
        })
    }

    /// The words of the kernel's command line.
    #[must_use]
    pub fn words(&self) -> String {
        let list = |cores: &[usize]| {
            let cores: Vec<_> = cores.iter().map(usize::to_string).collect();
            cores.join(",")
        };
        let (stages, rest) = (list(&self.stages), list(&self.rest));
        format!("isolcpus=domain,managed_irq,{stages} irqaffinity={rest} rcu_nocbs={stages}")
    }
}
