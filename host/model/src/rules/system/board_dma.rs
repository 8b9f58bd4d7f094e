//! The board file says of the emulator's PCIe functions what they access by themselves

use super::board_inconsistent::place;
use crate::board::{Board, Emulator, Pcie};
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

/// Looks at a board file that has the right shape.
pub(crate) fn check(board: &Board, table: &Table, report: &mut Report) {
    let (Some(pcie), Some(emulator)) = (&board.pcie, &board.emulator) else {
        return;
    };
    for (key, message, missing) in problems(board.smmu.is_some(), pcie, emulator) {
        let found = RULE.at(&place(table, &key), message).here("here");
        report.add(found.help(format!("add `{missing}`")));
    }
}

/// Key, problem, and what is missing.
fn problems(
    has_smmu: bool,
    pcie: &Pcie,
    emulator: &Emulator,
) -> Vec<(String, String, &'static str)> {
    let mut found = Vec::new();
    if has_smmu && model(&emulator.machine) == "virt" && !has(&emulator.machine, "iommu=smmuv3") {
        let message = "the board has an SMMU, and the emulated machine has none";
        found.push(("emulator.machine".into(), message.into(), "iommu=smmuv3"));
    }
    for kind in &pcie.kinds {
        let (name, model) = (&kind.name, model(&kind.emulated));
        if !kind.dma && !WITHOUT_DMA.contains(&model) {
            let message = format!(
                "`{name}` is declared to access no memory, and the emulator's `{model}` may"
            );
            found.push((format!("pcie.kind.{name}"), message, "dma = true"));
        }
        if has_smmu && model.starts_with("virtio-") && !has(&kind.emulated, "iommu_platform=on") {
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
