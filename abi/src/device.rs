//! Kinds of devices
//!
//! The registry that board files, rules, device trees, the host tool and the boot part share. A board names a
//! kind, of a device, of its interrupt controller, or of what can be plugged into its PCIe; everything that
//! depends on the kind stands in its row. A device of a kind without a row can be given to a partition all the
//! same: its kind is then the name of its node, and nothing else is known of it.

/// Purpose of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Serial line: may be a partition's console and the boot part's.
    Uart,
    /// Real-time clock.
    Clock,
    /// General-purpose pins.
    Pins,
    /// Flash memory.
    Flash,
    /// Interrupt controller.
    InterruptController,
    /// Confines accesses of devices to memory.
    Iommu,
    /// CAN controller.
    Can,
    /// Network card.
    Network,
    /// Virtio transport.
    Virtio,
}

/// A kind of device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// Its name in board files.
    pub name: &'static str,
    /// Purpose.
    pub class: Class,
    /// Name of its device node.
    pub node: &'static str,
    /// Names of its input clocks in the device tree.
    pub clocks: &'static [&'static str],
    /// Number by which the boot header names it; 0 where the boot part has no driver.
    pub code: u64,
    /// For a UART: Linux's name of the first one, and of its early console.
    pub linux: Option<[&'static str; 2]>,
    /// For a clock: offset of the register of 32 bits that counts seconds.
    pub seconds: Option<u64>,
    /// `compatible` of the one that the monitor emulates for partitions; empty where it emulates none.
    pub emulated: &'static [&'static str],
    /// `true` if the monitor programs it: the kind of its class that a board must have.
    pub programmed: bool,
    /// `true` if the device reads or writes memory by itself.
    pub dma: bool,
    /// `true` if components have a driver for it, so that their endpoints can be at such a device.
    pub has_driver: bool,
}

const fn kind(name: &'static str, class: Class, node: &'static str) -> Kind {
    Kind {
        name,
        class,
        node,
        clocks: &[],
        code: 0,
        linux: None,
        seconds: None,
        emulated: &[],
        programmed: false,
        dma: false,
        has_driver: false,
    }
}

/// A kind of device that reads and writes memory.
const fn with_dma(kind: Kind) -> Kind {
    Kind { dma: true, ..kind }
}

/// [`Kind::code`] of a PL011.
pub const PL011: u64 = 1;

/// All kinds with a row.
pub const KINDS: &[Kind] = &[
    Kind {
        clocks: &["uartclk", "apb_pclk"],
        code: PL011,
        linux: Some(["ttyAMA0", "pl011"]),
        emulated: &["arm,pl011", "arm,primecell"],
        ..kind("pl011", Class::Uart, "serial")
    },
    Kind {
        clocks: &["apb_pclk"],
        seconds: Some(0),
        ..kind("pl031", Class::Clock, "pl031")
    },
    Kind {
        seconds: Some(0x10),
        ..kind("zynqmp-rtc", Class::Clock, "rtc")
    },
    Kind {
        clocks: &["apb_pclk"],
        ..kind("pl061", Class::Pins, "pl061")
    },
    kind("cfi-flash", Class::Flash, "flash"),
    Kind {
        emulated: &["arm,gic-v3"],
        programmed: true,
        ..kind("gic-v3", Class::InterruptController, "interrupt-controller")
    },
    kind("gic-v2", Class::InterruptController, "interrupt-controller"),
    Kind {
        programmed: true,
        ..kind("smmu-v3", Class::Iommu, "iommu")
    },
    kind("smmu-v2", Class::Iommu, "iommu"),
    kind("sja1000", Class::Can, "can"),
    Kind {
        has_driver: true,
        ..kind("kvaser-can", Class::Can, "can")
    },
    Kind {
        has_driver: true,
        ..with_dma(kind("virtio-net", Class::Network, "ethernet"))
    },
    with_dma(kind("e1000", Class::Network, "ethernet")),
    with_dma(kind("cadence-gem", Class::Network, "ethernet")),
    with_dma(kind("virtio-mmio", Class::Virtio, "virtio-mmio")),
];

/// The row of the kind of that name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| kind.name == name)
}

/// The kind of that class which the monitor programs.
#[must_use]
pub fn programmed(class: Class) -> Option<&'static Kind> {
    let mut kinds = KINDS.iter().filter(|kind| kind.class == class);
    kinds.find(|kind| kind.programmed)
}

/// The kind of that class which the monitor emulates for partitions.
#[must_use]
pub fn emulated(class: Class) -> Option<&'static Kind> {
    let mut kinds = KINDS.iter().filter(|kind| kind.class == class);
    kinds.find(|kind| !kind.emulated.is_empty())
}

/// Returns `true` if the kind of that name is of a class.
#[must_use]
pub fn is(name: &str, class: Class) -> bool {
    find(name).is_some_and(|kind| kind.class == class)
}

#[cfg(test)]
mod tests {
    use super::{Class, KINDS, find};

    #[test]
    fn names_are_unique_and_found() {
        for kind in KINDS {
            assert_eq!(find(kind.name), Some(kind));
        }
    }

    #[test]
    fn what_boot_speaks_to_is_a_uart_that_linux_has_a_name_for() {
        for kind in KINDS.iter().filter(|kind| kind.code != 0) {
            assert_eq!(kind.class, Class::Uart);
            assert!(kind.linux.is_some());
        }
    }
}
