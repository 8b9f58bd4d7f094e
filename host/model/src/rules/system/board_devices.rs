//! The devices of a board

use super::board_inconsistent::{is_node_name, place};
use crate::board::{Board, Device};
use crate::diagnostic::Report;
use crate::document::Table;
use bulkhead_abi::PAGE_SIZE;
use bulkhead_abi::device::Class;

crate::rules::declaration::rule! {
    Error, "board-devices",
    "a device of a board is whole pages, its interrupts exist, and it accesses memory if its kind does",
    "Stage 2 maps whole pages. Accesses to memory that are not declared are not confined, and \
     the monitor confines by one SMMU: masters of another one have no `streams`. Kind and \
     `compatible` become words of device trees."
}

/// Looks at a board that has the right shape.
pub(crate) fn check(board: &Board, table: &Table, report: &mut Report) {
    for device in &board.devices {
        let path = format!("device.{}", device.name);
        let faults = [
            frame_faults(device),
            interrupt_faults(board, device),
            kind_faults(device),
        ];
        for message in faults.into_iter().flatten() {
            report.add(RULE.at(&place(table, &path), message).here("does not fit"));
        }
    }
}

fn frame_faults(device: &Device) -> Vec<String> {
    let name = &device.name;
    let mut faults = Vec::new();
    if device.is(Class::InterruptController) {
        faults.push(format!("`{name}` belongs to the monitor"));
    }
    if device.is(Class::Iommu) {
        faults.push(format!(
            "`{name}` belongs to the monitor, which programs one SMMU (`smmu.address`): leave it out, and `streams` of its masters, too"
        ));
    }
    if !(device.address | device.size).is_multiple_of(PAGE_SIZE) || device.size == 0 {
        faults.push(format!("`{name}` is not made of whole pages"));
    }
    faults
}

fn interrupt_faults(board: &Board, device: &Device) -> Vec<String> {
    let name = &device.name;
    let (first, last) = board.interrupts.doorbells;
    let mut faults = Vec::new();
    for (number, spi) in device.spis.iter().enumerate() {
        if *spi >= board.interrupts.spis || (first..=last).contains(spi) {
            faults.push(format!("SPI {spi} of `{name}` is no device's"));
        }
        if device.spis[..number].contains(spi) {
            faults.push(format!("SPI {spi} of `{name}` is listed twice"));
        }
    }
    faults
}

fn kind_faults(device: &Device) -> Vec<String> {
    let (name, kind) = (&device.name, &device.kind);
    let mut faults = Vec::new();
    if !is_node_name(kind) {
        faults.push(format!(
            "kind `{kind}` of `{name}` is no name of a device node"
        ));
    }
    if device.known_kind().is_some_and(|kind| kind.dma) && !device.dma {
        faults.push(format!(
            "`{name}` is of a kind that accesses memory, and `dma = true` is missing"
        ));
    }
    let is_word = |text: &String| text.chars().all(|letter| letter.is_ascii_graphic());
    let is_compatible = |text: &String| !text.is_empty() && is_word(text);
    if !device.compatible.iter().all(is_compatible) {
        faults.push(format!(
            "`compatible` of `{name}` has an entry that is no word"
        ));
    }
    match device.bank_width {
        Some(_) if !device.is(Class::Flash) => {
            faults.push(format!("`{name}` is no flash, and has no `bank_width`"));
        }
        Some(bytes) if !bytes.is_power_of_two() => {
            faults.push(format!(
                "`{name}` has words of {bytes} bytes, which is no power of two"
            ));
        }
        _ => {}
    }
    faults
}
