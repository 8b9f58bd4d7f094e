//! The streams of a board's devices

use super::board_inconsistent::place;
use crate::board::Board;
use crate::diagnostic::Report;
use crate::document::Table;
use bulkhead_formats::smmu::MAX_STREAM_BITS;

crate::rules::declaration::rule! {
    Error, "board-streams",
    "each stream at the SMMU is that of one device, or of the PCIe host bridge",
    "The SMMU knows a device by its stream: it would let a device reach the memory of the partition that owns another \
     device with the same stream. The host bridge has 65,536 streams, one for each requester ID, from `pcie.streams` on."
}

/// Requester IDs of a host bridge.
const REQUESTERS: u64 = 1 << 16;

/// Looks at a board that has the right shape.
pub(crate) fn check(board: &Board, table: &Table, report: &mut Report) {
    let mut tell = |path: &str, message: String| {
        report.add(RULE.at(&place(table, path), message).here("does not fit"));
    };
    let end = 1_u64 << MAX_STREAM_BITS;
    let base = board.pcie.as_ref().and_then(|pcie| pcie.streams);
    let functions = base.map(|base| u64::from(base)..u64::from(base) + REQUESTERS);
    if let Some(range) = functions.as_ref().filter(|range| range.end > end) {
        let last = range.end - 1;
        tell(
            "pcie.streams",
            format!("the last requester has stream {last:#x}, of more than {MAX_STREAM_BITS} bits"),
        );
    }
    if board.smmu.is_none() && functions.is_some() {
        tell("pcie.streams", "the board has no SMMU".into());
    }
    for (index, device) in board.devices.iter().enumerate() {
        let path = format!("device.{}.streams", device.name);
        if device.streams.is_empty() {
            continue;
        }
        if board.smmu.is_none() {
            tell(&path, "the board has no SMMU".into());
        }
        if !device.dma {
            tell(
                &path,
                format!("`{}` is declared to access no memory (`dma`)", device.name),
            );
        }
        for (place, stream) in device.streams.iter().enumerate() {
            let id = u64::from(*stream);
            let mut earlier = board.devices[..index].iter();
            if id >= end {
                tell(
                    &path,
                    format!("stream {id:#x} has more than {MAX_STREAM_BITS} bits"),
                );
            }
            if let Some(other) = earlier.find(|other| other.streams.contains(stream)) {
                tell(&path, format!("stream {id:#x} is that of `{}`", other.name));
            }
            if device.streams[..place].contains(stream) {
                tell(&path, format!("stream {id:#x} is listed twice"));
            }
            if functions.as_ref().is_some_and(|range| range.contains(&id)) {
                tell(
                    &path,
                    format!("stream {id:#x} is that of a PCIe requester (`pcie.streams`)"),
                );
            }
        }
    }
}
