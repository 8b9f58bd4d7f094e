//! The board file says of the emulator's PCIe functions what they access by themselves

use super::board_inconsistent::place;
use crate::board::{Board, Emulator, FunctionKind, Pcie};
use crate::diagnostic::Report;
use crate::document::Table;

crate::rules::declaration::rule! {
    Error, "board-dma",
    "a PCIe function that accesses memory is declared so, and the emulator leads its accesses through the SMMU",
    "The monitor confines what the board file names. The emulator's virtio devices access memory past the SMMU \
     unless their option `iommu_platform=on` is given, and its `virt` machine has an SMMU only with `iommu=smmuv3`. Of all \
     other functions but CAN controllers and serial ports the emulator's model may access memory."
}

/// Models of the emulator that access no memory.
const WITHOUT_DMA: [&str; 8] = [
    "kvaser_pci",
    "ctucan_pci",
    "mioe3680_pci",
    "pcm3680_pci",
    "pci-serial",
    "pci-serial-2x",
    "pci-serial-4x",
    "pci-testdev",
];

/// Key, problem, and what is missing.
type Problem = (String, String, &'static str);

/// Looks at a board file that has the right shape.
pub(crate) fn check(board: &Board, table: &Table, report: &mut Report) {
    let Some(pcie) = &board.pcie else { return };
    let undeclared = pcie.kinds.iter().filter(|kind| !kind.dma);
    let undeclared = undeclared.filter_map(|kind| undeclared_access(board, kind));
    let emulator = board.emulator.as_ref().filter(|_| board.smmu.is_some());
    let past = emulator.map_or_else(Vec::new, |emulator| past_smmu(pcie, emulator));
    for (key, message, missing) in undeclared.chain(past) {
        let found = RULE.at(&place(table, &key), message).here("here");
        report.add(found.help(format!("add `{missing}`")));
    }
}

/// Problem of a function that is declared to access no memory.
fn undeclared_access(board: &Board, kind: &FunctionKind) -> Option<Problem> {
    let name = &kind.name;
    let model = model(&kind.emulated);
    let message = if kind.row().is_some_and(|row| row.dma) {
        format!("`{name}` is a kind that accesses memory, and is declared to access none")
    } else if board.emulator.is_some() && !WITHOUT_DMA.contains(&model) {
        format!("`{name}` is declared to access no memory, and the emulator's `{model}` may")
    } else {
        return None;
    };
    Some((format!("pcie.kind.{name}"), message, "dma = true"))
}

/// Ways past the SMMU that the emulator leaves.
fn past_smmu(pcie: &Pcie, emulator: &Emulator) -> Vec<Problem> {
    let mut found = Vec::new();
    if model(&emulator.machine) == "virt" && !has(&emulator.machine, "iommu=smmuv3") {
        let message = "the board has an SMMU, and the emulated machine has none";
        found.push(("emulator.machine".into(), message.into(), "iommu=smmuv3"));
    }
    for kind in &pcie.kinds {
        let (name, model) = (&kind.name, model(&kind.emulated));
        if model.starts_with("virtio-") && !has(&kind.emulated, "iommu_platform=on") {
            let message = format!("the emulator's `{model}` accesses memory past the SMMU");
            let key = format!("pcie.kind.{name}.emulated");
            found.push((key, message, "iommu_platform=on"));
        }
    }
    found
}

fn model(options: &str) -> &str {
    options.split(',').next().unwrap_or_default().trim()
}

fn has(options: &str, option: &str) -> bool {
    options.split(',').any(|one| one.trim() == option)
}
