//! Keys of `[device.NAME]`

use crate::registry::Presence::{Default, Required};
use crate::registry::key::{Key, Shape};

pub(super) const KEYS: &[Key] = &[
    Key {
        path: "device",
        shape: Shape::Named,
        presence: Default("the board's devices only"),
        meaning: "PCIe functions that are plugged into the machine, `[device.NAME]` each, beside the \
                  devices that the board has. A partition owns one by naming it among its `devices`. \
                  Slots, addresses and interrupts are derived.",
        example: "[device.can0]",
    },
    Key {
        path: "device.*.kind",
        shape: Shape::Text,
        presence: Required,
        meaning: "What it is: a kind that the board file lists (`[pcie.kind.NAME]`), such as \
                  `\"kvaser-can\"`, a CAN controller, or `\"virtio-net\"`, a network card.",
        example: "kind = \"kvaser-can\"",
    },
    Key {
        path: "device.*.bus",
        shape: Shape::Text,
        presence: Default("its own name"),
        meaning: "Name of the wire that it is connected to: functions that name the same one hear each \
                  other.",
        example: "bus = \"powertrain\"",
    },
    Key {
        path: "device.*.forward",
        shape: Shape::Numbers(u16::MAX as u64),
        presence: Default("not from the host"),
        meaning: "A UDP port of the host, on its loopback address, and one of the device to which datagrams are \
                  forwarded. On the device's wire they go to 10.0.2.15 and come from 10.0.2.2. The device can answer \
                  the sender, but reaches no other address of the host. In runs by the host's clock (`--real`) only.",
        example: "forward = [15007, 7]",
    },
    Key {
        path: "device.*.forward_tcp",
        shape: Shape::Numbers(u16::MAX as u64),
        presence: Default("not from the host"),
        meaning: "A TCP port of the host, on its loopback address, and one of the device to which connections are \
                  forwarded, at most 16 at once. In runs by the host's clock (`--real`) only.",
        example: "forward_tcp = [17447, 7447]",
    },
];
