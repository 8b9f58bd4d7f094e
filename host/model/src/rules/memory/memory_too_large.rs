//! Memory fits into what a guest can address

use crate::diagnostic::Report;
use crate::draft::Draft;
use crate::quantity::size_text;

crate::rules::declaration::rule! {
    Error, "memory-too-large",
    "the memory of a partition fits into its address space, below the devices it owns",
    "Guest-physical addresses have 40 bits, and memory starts where the board's `guest.ram` says. A \
     device that lies above it must not be covered.",
    check
}

/// End of guest-physical addresses.
const END: u64 = 1 << 40;

fn check(draft: &Draft, report: &mut Report) {
    let Some(board) = &draft.board else { return };
    for partition in &draft.partitions {
        let above = draft.devices(partition).map(|(_, device)| device.address);
        let end = above
            .filter(|address| *address > board.guest.ram)
            .min()
            .unwrap_or(END);
        let room = end.min(END).saturating_sub(board.guest.ram);
        if let Some(memory) = partition
            .memory
            .given()
            .filter(|memory| memory.value > room)
        {
            let message = format!("`{}` cannot address so much memory", partition.name.value);
            report.add(
                RULE.at(&memory.span, message)
                    .here("too large")
                    .help(format!("{} at most", size_text(room))),
            );
        }
    }
}
