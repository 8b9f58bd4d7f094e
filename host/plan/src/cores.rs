//! Assignment of cores to partitions
//!
//! Named cores first; then the partitions that only say how many take the lowest free ones, next
//! to each other where possible. The rest are spare: their monitors watch heartbeats.

use bulkhead_model::system::{Cores, Partition, System, Trapping};

use crate::error::PlanError;

/// The assignment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoreMap {
    /// By core: partition index and rank within it.
    pub owner: Vec<Option<(usize, usize)>>,
    /// By partition: its cores, ascending.
    pub of_partition: Vec<Vec<usize>>,
}

impl CoreMap {
    /// Cores that belong to no partition.
    #[must_use]
    pub fn spare(&self) -> Vec<usize> {
        (0..self.owner.len())
            .filter(|&core| self.owner[core].is_none())
            .collect()
    }
}

/// Assigns the cores.
///
/// # Errors
/// More cores are needed than the board has.
pub fn assign(system: &System) -> Result<CoreMap, PlanError> {
    let mut taken = vec![false; system.board.cores.len()];
    let mut of_partition = vec![Vec::new(); system.partitions.len()];
    for (cores, partition) in of_partition.iter_mut().zip(&system.partitions) {
        if let Cores::These(these) = &partition.cores {
            these
                .iter()
                .try_for_each(|&core| take(&mut taken, core, cores, partition))?;
            cores.sort_unstable();
        }
    }
    for (cores, partition) in of_partition.iter_mut().zip(&system.partitions) {
        if let Cores::Count(count) = partition.cores {
            let found = lowest_free(&taken, count).ok_or_else(|| too_many(system, partition))?;
            found
                .into_iter()
                .try_for_each(|core| take(&mut taken, core, cores, partition))?;
        }
    }
    let total = machine_cores(system, &taken)?;
    Ok(CoreMap {
        owner: owners(&of_partition, total),
        of_partition,
    })
}

fn take(
    taken: &mut [bool],
    core: usize,
    cores: &mut Vec<usize>,
    partition: &Partition,
) -> Result<(), PlanError> {
    match taken.get_mut(core) {
        Some(slot) if !*slot => *slot = true,
        _ => {
            let message = format!("core {core} is not free for partition `{}`", partition.name);
            return Err(
                PlanError::new("core-not-free", message, "name another core").at(&partition.span),
            );
        }
    }
    cores.push(core);
    Ok(())
}

/// `count` free cores: the lowest that are neighbours, else the lowest.
fn lowest_free(taken: &[bool], count: usize) -> Option<Vec<usize>> {
    let neighbours = (0..taken.len().saturating_sub(count.saturating_sub(1)))
        .find(|&first| taken[first..first + count].iter().all(|taken| !taken));
    if let Some(first) = neighbours {
        return Some((first..first + count).collect());
    }
    let free: Vec<usize> = (0..taken.len())
        .filter(|&core| !taken[core])
        .take(count)
        .collect();
    (free.len() == count).then_some(free)
}

/// All cores of the machine: what is used, one spare one if a heartbeat is watched.
fn machine_cores(system: &System, taken: &[bool]) -> Result<usize, PlanError> {
    let used = taken
        .iter()
        .rposition(|&taken| taken)
        .map_or(0, |last| last + 1);
    let watched = system
        .partitions
        .iter()
        .any(|partition| partition.heartbeat_ns.is_some());
    let has_spare = taken[..used].contains(&false);
    let required = used + usize::from(watched && !has_spare);
    let total = system.cores.unwrap_or(
        required
            .max(system.board.default_cores)
            .min(system.board.cores.len()),
    );
    if total < used || total > system.board.cores.len() {
        let message = format!(
            "the machine has {total} cores, the partitions use core {} and the board has at most {}",
            used.saturating_sub(1),
            system.board.cores.len()
        );
        return Err(PlanError::new(
            "machine-cores",
            message,
            "change `system.cores`",
        ));
    }
    Ok(total)
}

fn owners(of_partition: &[Vec<usize>], total: usize) -> Vec<Option<(usize, usize)>> {
    let mut owner = vec![None; total];
    for (partition, cores) in of_partition.iter().enumerate() {
        for (rank, &core) in cores.iter().enumerate() {
            owner[core] = Some((partition, rank));
        }
    }
    owner
}

fn too_many(system: &System, partition: &Partition) -> PlanError {
    let message = format!(
        "no cores are left for partition `{}` (board `{}` has {})",
        partition.name,
        system.board.name,
        system.board.cores.len()
    );
    PlanError::new("no-cores-left", message, "give some partition fewer cores").at(&partition.span)
}

/// Affinity of a partition's core as its guest sees it: its rank, so that a guest written for cores 0 to
/// n - 1 runs on any. A guest that sends inter-processor interrupts by itself names physical affinities.
#[must_use]
pub fn guest_affinity(partition: &Partition, physical: u64, rank: usize) -> u64 {
    match partition.ipi {
        Trapping::Direct => physical,
        Trapping::Trap => rank as u64,
    }
}
