//! A board that is unlike the others in all that a board file may choose

use bulkhead_abi::config::{Config, CoreConfig, PartitionConfig};
use bulkhead_abi::guest::{GUEST_MAGIC, GuestPage, RAM};
use bulkhead_model::system::System;
use bulkhead_plan::{Plan, plan};
use zerocopy::FromBytes;

mod fixture;

/// The system of an accepted description, and its plan, which the planner has verified.
fn planned(case: &str) -> (System, Plan) {
    let folder = fixture::root().join("tests/golden/accept").join(case);
    let file = folder.join("system.toml");
    let text = std::fs::read_to_string(&file).expect("a description");
    let system = fixture::system(&file, &text);
    let planned = plan(&system, &fixture::inputs(&system)).expect("a plan");
    (system, planned)
}

fn head(plan: &Plan) -> Config {
    Config::read_from_prefix(&plan.config).expect("a head").0
}

fn list<T: FromBytes>(plan: &Plan, offset: u32, count: u32) -> Vec<T> {
    let bytes = &plan.config[offset as usize..];
    let each = bytes.chunks_exact(size_of::<T>()).take(count as usize);
    each.map(|bytes| T::read_from_bytes(bytes).unwrap_or_else(|_| panic!("its size")))
        .collect()
}

#[test]
fn cores_have_the_affinities_and_redistributors_of_the_file() {
    for (case, count) in [("board-clusters", 12), ("board-clusters--sixteen", 16)] {
        let (system, plan) = planned(case);
        let head = head(&plan);
        let cores: Vec<CoreConfig> = list(&plan, head.cores.offset, head.cores.count);
        let found: Vec<_> = cores.iter().map(|core| (core.mpidr, core.gicr)).collect();
        let listed = system.board.cores.iter();
        let listed: Vec<_> = listed
            .map(|core| (core.mpidr, core.redistributor))
            .collect();
        assert_eq!(found, listed, "{case}");
        assert_eq!(found.len(), count);
        assert_eq!(found[4], (0x10300, 0x1_0810_0000));
        assert_eq!(found[6], (0x10302, 0x7_0200_0000), "the second region");
        let partitions: Vec<PartitionConfig> =
            list(&plan, head.partitions.offset, head.partitions.count);
        assert_eq!(partitions[0].memory, [RAM, 512 << 10]);
        assert_eq!(partitions[1].memory, [0x2_0000_0000, 4 << 30]);
    }
}

#[test]
fn el2_reaches_memory_above_a_tebibyte() {
    let (_, plan) = planned("board-clusters");
    let linux = &plan.machine.memory[1];
    assert!(linux[0].pa.0 >= 0x101_4000_0000, "{linux:?}");
    // TCR_EL2.T0SZ: more than 40 bits of address; VTCR_EL2.T0SZ: 40, which the guest's addresses need no more than.
    assert!(64 - (head(&plan).el2_tcr & 0x3F) > 40);
    assert_eq!(64 - (plan.tables.stage2[1].vtcr & 0x3F), 40);
}

#[test]
fn private_interrupts_are_those_of_the_file() {
    let (_, plan) = planned("board-clusters");
    let hardware = head(&plan).hardware;
    assert_eq!((hardware.alarm, hardware.private), (23, 1 << 23 | 1 << 17));
    let loads = plan.view.partitions[0].start.loads.iter();
    let pages = loads.filter_map(|load| GuestPage::read_from_prefix(&load.bytes).ok());
    let pages = pages.filter(|(page, _)| page.info.magic == GUEST_MAGIC);
    let timers: Vec<_> = pages.map(|(page, _)| page.info.timer).collect();
    assert_eq!(timers, [22]);
    assert!(has(&tree(&plan), &[1, 4, 4, 1, 5, 4, 1, 6, 4]));
}

#[test]
fn the_emulated_uart_needs_no_uart_of_the_board() {
    let (_, plan) = planned("board-clusters");
    let tree = tree(&plan);
    let text = |text: &str| {
        let mut parts = tree.windows(text.len());
        parts.any(|part| part == text.as_bytes())
    };
    assert!(text("serial@12000000\0"));
    assert!(text("earlycon=pl011,mmio32,0x12000000 "));
    // Each device has the clock of its own frequency: the emulated one, and the board's.
    assert!(text("clock-24000000\0") && text("clock-408000000\0"));
    // The device that Linux owns, where the board file places it.
    assert!(text("ns16550a@13000000\0"));
    assert!(text("interrupt-controller@10000000\0"));
}

fn tree(plan: &Plan) -> Vec<u8> {
    let linux = &plan.view.partitions[1].start;
    linux.device_tree.clone().expect("a tree").to_vec()
}

/// Returns whether a tree has these cells one after the other.
fn has(tree: &[u8], cells: &[u32]) -> bool {
    let expected: Vec<u8> = cells.iter().flat_map(|cell| cell.to_be_bytes()).collect();
    tree.windows(expected.len()).any(|part| part == expected)
}
