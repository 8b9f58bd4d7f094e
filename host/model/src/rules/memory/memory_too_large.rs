//! Memory fits into what a guest can address

use crate::board::Board;
use crate::diagnostic::Report;
use crate::draft::{Draft, PartitionDraft};
use crate::quantity::size_text;
use crate::system::Kind;

crate::rules::declaration::rule! {
    Error, "memory-too-large",
    "the memory of a partition fits into its address space, below the devices it owns",
    "A guest has as many guest-physical addresses as the processor has physical ones, 48 bits at most, and memory \
     starts where the board's `guest.ram` says. In an RTOS partition it starts at 0x4000_0000; the kernel addresses \
     512 GiB, the runtime of bare programs 3 GiB. A device that lies above it must not be covered.",
    check
}

/// Bits of a guest-physical address at most: of a translation with pages of 4 KiB (Arm ARM D8.2).
const MOST_BITS: u32 = 48;
/// End of what the kernel addresses: a half of 39 bits.
const KERNEL_END: u64 = 1 << 39;
/// End of what the runtime addresses; a window follows.
const RUNTIME_END: u64 = 3 << 30;

/// First address that the guest cannot use as memory, devices aside.
fn end(board: &Board, partition: &PartitionDraft) -> u64 {
    let physical = 1 << board.cpu.physical_bits.min(MOST_BITS);
    match partition.kind.value() {
        Some(Kind::Rtos) if partition.components.is_empty() => RUNTIME_END.min(physical),
        Some(Kind::Rtos) => KERNEL_END.min(physical),
        _ => physical,
    }
}

fn check(draft: &Draft, report: &mut Report) {
    let Some(board) = &draft.board else { return };
    for partition in &draft.partitions {
        let Some(kind) = partition.kind.value() else {
            continue;
        };
        let ram = board.ram_of(kind);
        let console = partition.console.given();
        let is_console = |name: &str| console.is_some_and(|console| console.value == name);
        let above = draft.devices(partition).filter_map(|(name, device)| {
            let covered = !is_console(&name.value) && device.guest >= ram;
            covered.then_some(device.guest)
        });
        let end = end(board, partition);
        let room = above.fold(end, u64::min).saturating_sub(ram);
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
