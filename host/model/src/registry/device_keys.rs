//! Keys of `[device.NAME]`

use super::Presence::{Default, Required};
use super::table::table;
use crate::document::At;
use crate::draft::section::Section;

table! {
    /// A PCIe function that is plugged in.
    FunctionDraft [name: At<String> = Section::name] in "device.*." {
        kind: Text, Required, "kind = \"kvaser-can\"",
            "What it is: a kind that the board file lists (`[pcie.kind.NAME]`), such as `\"kvaser-can\"`, a CAN controller, or `\"virtio-net\"`, a \
             network card.";
        bus: Text, Default("its own name"), "bus = \"powertrain\"",
            "Name of the wire that it is connected to: functions that name the same one hear each other.";
        forward: Numbers(u16::MAX as u64), Default("not from the host"), "forward = [15007, 7]",
            "A UDP port of the host, on its loopback address, and one of the device to which datagrams are forwarded. On the device's wire they go \
             to 10.0.2.15 and come from 10.0.2.2. The device can answer the sender, but reaches no other address of the host. In runs by the host's \
             clock (`--real`) only.";
        forward_tcp: Numbers(u16::MAX as u64), Default("not from the host"), "forward_tcp = [17447, 7447]",
            "A TCP port of the host, on its loopback address, and one of the device to which connections are forwarded, at most 16 at once. In \
             runs by the host's clock (`--real`) only.";
    }
}
