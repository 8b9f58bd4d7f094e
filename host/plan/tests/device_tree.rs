//! What a Linux guest is told of its channels and its console

use bulkhead_plan::plan;

mod fixture;

const SYSTEM: &str = r#"
[system]
name = "told"
board = "qemu-virt"

[partition.main]
kind = "rtos"
criticality = "A"
memory = "256 KiB"
image = { crate = "bulkhead-control" }
heartbeat = "5 ms"
on_hang = "failover"
standby = "reserve"

[partition.reserve]
kind = "rtos"
criticality = "A"
memory = "256 KiB"
image = { crate = "bulkhead-control" }

[partition.linux]
kind = "linux"
criticality = "QM"
memory = "256 MiB"
image = { kernel = "debian", initrd = "agent" }
CONSOLE

[channel.table]
kind = "memory"
from = "main"
to = "linux"
message = 4096
access = "ACCESS"
"#;

/// The Linux partition's tree, with the channel mapped like that.
fn tree(access: &str, console: &str) -> Vec<u8> {
    let text = SYSTEM.replace("ACCESS", access).replace("CONSOLE", console);
    let file = fixture::root().join("host/plan/tests/systems/told.toml");
    let system = fixture::system(&file, &text);
    let planned = plan(&system, &fixture::inputs(&system)).expect("a plan");
    let linux = planned.view.partitions.last().expect("the last partition");
    linux.start.device_tree.clone().expect("a tree").to_vec()
}

fn has(tree: &[u8], text: &str) -> bool {
    tree.windows(text.len()).any(|part| part == text.as_bytes())
}

#[test]
fn an_end_that_may_only_read_is_said_to() {
    let console = "devices = [\"uart0\"]";
    assert!(has(&tree("read-only", console), "bulkhead,read-only\0"));
    assert!(!has(&tree("read-write", console), "bulkhead,read-only\0"));
}

#[test]
fn the_standby_of_a_peer_is_named() {
    let tree = tree("read-only", "devices = [\"uart0\"]");
    assert!(has(&tree, "bulkhead,peer-standby\0"));
    assert!(has(&tree, "reserve\0"));
}

#[test]
fn an_emulated_console_says_everything_once() {
    let tree = tree("read-only", "console = \"emulated\"");
    assert!(has(
        &tree,
        "console=ttyAMA0 earlycon=pl011,mmio32,0x9000000 "
    ));
    assert!(!has(&tree, "keep_bootcon"));
}
