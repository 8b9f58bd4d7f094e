//! Sign of life of a guest that knows no heartbeat

use crate::diagnostic::Report;
use crate::document::At;
use crate::draft::{Draft, PartitionDraft};
use crate::system::{Kind, Progress};

crate::rules::declaration::rule! {
    Error, "progress-place",
    "`progress` is a word of the guest's memory, or `\"console\"` where that is emulated",
    "The monitor of another core compares 32 bits between two looks. It reads only the partition's memory, at \
     a multiple of 4, or the position of a console that the monitor itself writes. An rtos guest has a \
     heartbeat, which is found out sooner.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for partition in &draft.partitions {
        let Some(progress) = partition.progress.given() else {
            continue;
        };
        if let Err((message, help)) = judge(draft, partition, progress) {
            let message = format!("`{}` {message}", partition.name.value);
            report.add(
                RULE.at(&progress.span, message)
                    .here("not watched")
                    .help(help),
            );
        }
    }
}

fn judge(
    draft: &Draft,
    partition: &PartitionDraft,
    progress: &At<String>,
) -> Result<(), (&'static str, &'static str)> {
    if partition.kind.value() == Some(Kind::Rtos) {
        return Err((
            "has a heartbeat of its own",
            "leave `progress` out; `heartbeat` is enough",
        ));
    }
    if partition.heartbeat.is_absent() {
        return Err((
            "has no period in which it must make progress",
            "add `heartbeat = \"100 ms\"`",
        ));
    }
    match Progress::parse(&progress.value) {
        None => Err((
            "cannot be watched by this",
            "an address such as \"0x4008_1230\", or \"console\"",
        )),
        Some(Progress::Console)
            if partition.console.given().map(|at| at.value.as_str()) != Some("emulated") =>
        {
            Err((
                "has no console that the monitor writes",
                "add `console = \"emulated\"`, or name an address",
            ))
        }
        Some(Progress::Word(address)) if !holds(draft, partition, address) => Err((
            "has no such word",
            "name a multiple of 4 within the partition's memory",
        )),
        Some(_) => Ok(()),
    }
}

fn holds(draft: &Draft, partition: &PartitionDraft, address: u64) -> bool {
    let (Some(board), Some(memory)) = (&draft.board, partition.memory.value()) else {
        return true;
    };
    let within = address.wrapping_sub(board.guest.ram) < memory;
    within && address.is_multiple_of(4)
}
