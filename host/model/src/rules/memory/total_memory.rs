//! The machine can have the memory of all partitions

use crate::board::Board;
use crate::diagnostic::Report;
use crate::pipes::solution::Solution;
use crate::quantity::{approximate_size, size_text};
use crate::system::Channel;

crate::rules::declaration::rule! {
    Error, "total-memory",
    "all partitions and channels together fit into the RAM that the board can have",
    "Memory is not shared and not overcommitted. The monitor, the images kept for restarts and the \
     tables take a little of it, too.",
    solved: check
}

/// For the monitor, its tables and the pages of partitions, bytes.
const OWN: u64 = 16 << 20;

fn check(solution: &Solution<'_>, report: &mut Report) {
    let draft = solution.draft;
    let Some(board) = &draft.board else { return };
    let memory = draft
        .partitions
        .iter()
        .filter_map(|partition| partition.memory.value());
    let traces = draft
        .partitions
        .iter()
        .filter_map(|partition| partition.trace.value());
    let channels = draft.channels.iter().filter_map(|channel| channel.size());
    let total = memory
        .chain(traces)
        .chain(channels)
        .chain(solution.crossings().iter().map(Channel::size))
        .fold(monitor_bytes(board), u64::saturating_add);
    let largest = draft
        .partitions
        .iter()
        .filter_map(|partition| partition.memory.given());
    let Some(largest) = largest.max_by_key(|memory| memory.value) else {
        return;
    };
    if total > board.max_memory() {
        let (needed, there) = (approximate_size(total), size_text(board.max_memory()));
        let message = format!(
            "{needed} are needed in all, and `{}` can have {there}",
            board.name
        );
        let found = RULE.at(&largest.span, message).here("the largest part");
        report.add(found.help("give the partitions less memory"));
    }
}

fn monitor_bytes(board: &Board) -> u64 {
    let before = board.memory.iter().map(|range| {
        let used = board.load.saturating_sub(range.base);
        used.min(range.size)
    });
    before.fold(OWN, u64::saturating_add)
}
