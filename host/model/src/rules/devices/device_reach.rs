//! An RTOS partition reaches its devices

use crate::board::Pcie;
use crate::diagnostic::Report;
use crate::draft::Draft;
use crate::system::Kind;
use bulkhead_abi::guest::RAM;

crate::rules::declaration::rule! {
    Error, "device-reach",
    "an RTOS partition sees its devices below its memory, at 0x4000_0000",
    "The kernel hands out the pages below memory as those of devices, and the runtime of bare programs maps no others. \
     Where a partition sees a device is a choice of the board file: `device.NAME.guest`, `pcie.guest_configuration`, \
     `pcie.guest_ports`, `pcie.guest_memory`. A console is seen at `guest.uart`.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    let Some(board) = &draft.board else { return };
    for partition in &draft.partitions {
        if partition.kind.value() != Some(Kind::Rtos) {
            continue;
        }
        let name = &partition.name.value;
        let console = partition.console.given();
        let is_console = |device: &str| console.is_some_and(|console| console.value == device);
        for (item, device) in draft.devices(partition) {
            let end = device.guest.saturating_add(device.size);
            if end > RAM && !is_console(&item.value) {
                let message = format!("`{name}` does not reach `{}`", item.value);
                report.add(
                    RULE.at(&item.span, message)
                        .here(format!("seen at {:#x}", device.guest))
                        .help(format!(
                            "add `guest = ADDRESS` to `[device.{}]` of the board file",
                            device.name
                        )),
                );
            }
        }
        if let Some((first, _)) = draft.functions(partition).next()
            && let Some((key, at)) = board.pcie.as_ref().and_then(out_of_reach)
        {
            let message = format!("`{name}` does not reach `{}`", first.value);
            report.add(
                RULE.at(&first.span, message)
                    .here(format!("`pcie.{key}` is {at:#x}"))
                    .help(format!(
                        "choose a `pcie.{key}` of the board file that ends below {RAM:#x}"
                    )),
            );
        }
    }
}

/// Bytes of the configuration space of a bus.
const BUS: u64 = 1 << 20;

/// The first part of a host bridge that ends beyond, and where it begins.
fn out_of_reach(pcie: &Pcie) -> Option<(&'static str, u64)> {
    let parts = [
        ("guest_configuration", pcie.guest_configuration, BUS),
        ("guest_ports", pcie.guest_ports, pcie.ports[1]),
        ("guest_memory", pcie.guest_memory, pcie.memory[1]),
    ];
    let mut unreachable = parts
        .into_iter()
        .filter(|(_, at, size)| at.saturating_add(*size) > RAM);
    unreachable.next().map(|(key, at, _)| (key, at))
}
