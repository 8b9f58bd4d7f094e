//! Nodes of channels and consoles in the device tree of a Linux guest

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

const BRIDGED: &str = r#"
[channel.goal]
kind = "ring"
from = "linux"
to = "main"
message = 8
messages = 16

[channel.speed]
kind = "four-slot"
from = "main"
to = "linux"
message = 16

[partition.linux.function.sample]
wcet = "100 us"
reads = "timer"

[partition.linux.function.emit]
wcet = "100 us"
writes = "bridge"

[partition.linux.function.receive]
wcet = "100 us"
reads = "bridge.steer"

[pipe.log]
flow = "* sample | emit [50/s, 100 ms]"

[pipe.follow]
flow = "receive [5 %, 60 ms]"

[pipe.each]
flow = "* receive [50/s, 200 ms]"

[partition.linux.bridge]
host = "car"
listen = ["tcp/0.0.0.0:7447"]
connect = ["tcp/10.0.0.2:7447"]
export = ["speed"]

[partition.linux.bridge.import.goal]
from = "dock:planner:main:goal"
max_age = "500 ms"
fallback = "0001Ff0000000010"

[partition.linux.bridge.import.steer]
from = "dock:planner:agent:steer.3"
distance = "20 ms"
max_age = "1 s"
"#;

/// As the bridge reads it (`linux/bridge/src/config.rs`).
#[test]
fn the_bridge_is_told_what_goes_out_and_comes_in() {
    let tree = tree("read-only", BRIDGED);
    let lines = [
        "listen tcp/0.0.0.0:7447",
        "connect tcp/10.0.0.2:7447",
        "export speed car:main:main:speed",
        "channel log.2 ring 88 64 /run/bulkhead/log.2",
        "export log.2 car:linux:agent:log.2",
        "import goal dock:planner:main:goal max-age 500000000 fallback 0001ff0000000010",
        "channel follow.1.in four-slot 88 1 /run/bulkhead/follow.1.in",
        "import follow.1.in dock:planner:agent:steer.3 stage 20000000 max-age 1000000000",
        "channel each.1.in ring 88 2 /run/bulkhead/each.1.in",
        "import each.1.in dock:planner:agent:steer.3 stage 20000000 max-age 1000000000",
    ];
    let text = format!("{}\0", lines.join("\n"));
    assert!(has(&tree, &text), "{}", String::from_utf8_lossy(&tree));
    assert!(!has(&self::tree("read-only", ""), "bulkhead,bridge\0"));
}
