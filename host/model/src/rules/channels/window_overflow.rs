//! The shared memory of a partition fits into its window

use crate::diagnostic::Report;
use crate::draft::PartitionDraft;
use crate::pipes::solution::Solution;
use crate::quantity::{approximate_size, size_text};
use crate::system::Channel;

crate::rules::declaration::rule! {
    Error, "window-overflow",
    "the channels and the trace of a partition fit into its window",
    "A guest finds all memory that it shares with others in one window of addresses. The board's `guest.window_size` \
     is the size of this window. Every channel end takes its whole buffer of it, those between stages of pipes, too.",
    solved: check
}

/// Pages and console of a partition, as its window holds them, bytes.
const OWN: u64 = 128 << 10;
/// From this size on things are aligned to it.
const BLOCK: u64 = 2 << 20;

fn check(solution: &Solution<'_>, report: &mut Report) {
    let draft = solution.draft;
    let Some(board) = &draft.board else { return };
    for partition in &draft.partitions {
        let needed = needed(solution, partition);
        if needed > board.guest.window_size {
            let message = format!("what `{}` shares is too large", partition.name.value);
            let sizes = approximate_size(needed);
            let found = RULE
                .at(&partition.name.span, message)
                .here(format!("{sizes} in all"));
            let found = largest(solution, partition, found);
            let there = size_text(board.guest.window_size);
            report.add(found.help(format!("its window has {there}: fewer or smaller messages")));
        }
    }
}

fn needed(solution: &Solution<'_>, partition: &PartitionDraft) -> u64 {
    let draft = solution.draft;
    let channels = draft
        .channels_of(partition)
        .filter_map(|channel| channel.size())
        .chain(solution.crossings_of(partition).map(Channel::size));
    let pages = match partition.privileged.value() {
        Some(true) => OWN * draft.partitions.len() as u64,
        _ => OWN,
    };
    channels
        .chain(partition.trace.value())
        .map(aligned)
        .fold(pages, u64::saturating_add)
}

fn aligned(size: u64) -> u64 {
    if size < BLOCK {
        size
    } else {
        size.checked_next_multiple_of(BLOCK).unwrap_or(u64::MAX)
    }
}

/// Points at the largest channel.
fn largest(
    solution: &Solution<'_>,
    partition: &PartitionDraft,
    found: crate::diagnostic::Diagnostic,
) -> crate::diagnostic::Diagnostic {
    let static_channels = solution.draft.channels_of(partition);
    let static_channels =
        static_channels.map(|channel| (channel.size().unwrap_or(0), &channel.name.span));
    let derived = solution.crossings_of(partition);
    let derived = derived.map(|channel| (channel.size(), &channel.span));
    match static_channels.chain(derived).max_by_key(|(size, _)| *size) {
        Some((size, span)) => {
            let size = approximate_size(size);
            found.label(span, format!("the largest channel: {size}"))
        }
        None => found,
    }
}
