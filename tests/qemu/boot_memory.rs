//! The memory with which a partition starts: the tool refuses less, and that much suffices

mod tool;

use tool::{Fresh, checkout};

/// Least memory of a partition, in KiB, as the tool refuses a smaller one.
fn least(fresh: &Fresh, system: &str, key: &str, too_small: &str) -> u64 {
    let set = format!("{key}=\"{too_small}\"");
    let built = fresh.bulkhead(&["build", system, "--set", &set]);
    let text = String::from_utf8_lossy(&built.stderr).into_owned();
    assert!(!built.status.success(), "{text}");
    let remedy = format!("`{key} = \"");
    let (_, rest) = text
        .split_once(&remedy)
        .unwrap_or_else(|| panic!("no remedy: {text}"));
    let (number, _) = rest.split_once(" KiB").expect("a size in KiB");
    number.parse().expect("a number")
}

/// Runs a system in which partition `control` or a scheduler of it has the least memory, and checks that it comes up at once.
fn suffices(name: &str, system: &str, key: &str, too_small: &str) {
    let fresh = Fresh::new(name);
    let system = checkout().join(system);
    let system = system.to_str().expect("a text");
    let least = least(&fresh, system, key, too_small);
    let set = format!("{key}=\"{least} KiB\"");
    let ran = fresh.bulkhead(&["run", system, "--for", "0.6 s", "--set", &set]);
    let text = String::from_utf8_lossy(&ran.stdout);
    let is_up = |line: &str| {
        let words: Vec<_> = line.split_whitespace().collect();
        words.starts_with(&["control", "up", "1"])
    };
    let errors = String::from_utf8_lossy(&ran.stderr);
    assert!(text.lines().any(is_up), "{least} KiB: {text}{errors}");
}

/// One after the other, because a system has one folder of results.
#[test]
fn the_least_memory_suffices() {
    let memory = "partition.control.memory";
    let scheduler = "partition.control.component.scheduler.memory";
    suffices("least-memory", "systems/drive", memory, "600 KiB");
    suffices("least-scheduler", "systems/drive", scheduler, "4 KiB");
    let cores = "tests/qemu/component-cores";
    suffices("least-memory-cores", cores, memory, "700 KiB");
    // Stages, with a planner, a CAN controller, a network card, and several cores.
    let pipes = "partition.control.component.pipes.memory";
    for (name, system) in [
        ("least-pipes", "systems/pipes"),
        ("least-pipes-can", "systems/pipes-can"),
        ("least-pipes-net", "tests/qemu/pipes-net"),
        ("least-pipes-cores", "tests/qemu/pipes-cores"),
    ] {
        suffices(name, system, pipes, "4 KiB");
    }
}
