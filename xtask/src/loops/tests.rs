//! Planted findings in programs of a few instructions

use super::decode::{Flow, flow};
use super::image::Image;
use super::source::Place;
use super::table::{Bounded, Jump, Table};
use super::{Code, findings};

const BASE: u64 = 0x1000;
const NOP: u32 = 0xd503_201f;
const RET: u32 = 0xd65f_03c0;
const ERET: u32 = 0xd69f_03e0;
const BRK: u32 = 0xd420_0020;
const BR_X16: u32 = 0xd61f_0200;
const LDAXR: u32 = 0xc85f_fd0e; // ldaxr x14, [x8]
const STLXR: u32 = 0xc80e_fd0d; // stlxr w14, x13, [x8]
const LDR: u32 = 0xf940_1803;

const fn b(to: i32) -> u32 {
    0x1400_0000 | to as u32 & 0x03ff_ffff
}
const fn bl(to: i32) -> u32 {
    0x9400_0000 | to as u32 & 0x03ff_ffff
}
const fn cbnz(register: u32, to: i32) -> u32 {
    0xb500_0000 | (to as u32 & 0x7_ffff) << 5 | register
}

/// A program: named pieces of code behind 16 vectors, of which the first goes to the first piece.
fn program(pieces: &[(&str, &[u32])]) -> Image {
    let mut image = Image::default();
    let mut words = vec![b(16 * 32)];
    words.resize(16 * 32, ERET);
    image.name(BASE, "vectors");
    for (name, code) in pieces {
        image.name(BASE + 4 * words.len() as u64, name);
        words.extend_from_slice(code);
    }
    let bytes = words.iter().flat_map(|word| word.to_le_bytes());
    image.pieces.push((BASE, bytes.collect()));
    image
}

fn table() -> Table {
    Table {
        vectors: "vectors".into(),
        ..Table::default()
    }
}

fn bounded(function: &str) -> Bounded {
    Bounded {
        function: function.into(),
        bound: "3".into(),
        why: "because".into(),
        ..Bounded::default()
    }
}

/// Checks a program with loops named by their symbols.
fn check(pieces: &[(&str, &[u32])], table: &Table) -> Vec<String> {
    let image = program(pieces);
    let code = Code::walk(&image, table).unwrap();
    findings(&code, table, |one| Place {
        function: image.function(one.header).into(),
        ..Place::default()
    })
}

#[track_caller]
fn only(found: &[String], says: &str) {
    assert!(found.len() == 1 && found[0].contains(says), "{found:#?}");
}

#[test]
fn straight_code_is_fine() {
    let calls = [bl(3), bl(2), ERET, NOP, RET];
    assert!(check(&[("entry", &calls[..3]), ("callee", &calls[3..])], &table()).is_empty());
}

#[test]
fn a_loop_needs_a_line_and_a_line_needs_a_loop() {
    let code: [(&str, &[u32]); 1] = [("entry", &[NOP, cbnz(0, -1), ERET])];
    only(
        &check(&code, &table()),
        "no bound is known of a loop in entry",
    );
    let mut with = table();
    with.loops.push(bounded("entry"));
    assert!(check(&code, &with).is_empty());
    only(
        &check(&[("entry", &[ERET])], &with),
        "no such loop any more: assembly: entry",
    );
    with.loops[0].bound.clear();
    only(&check(&code, &with), "bound or reason is missing");
}

#[test]
fn a_loop_in_a_loop_is_one_of_its_own() {
    let code = [("entry", &[NOP, NOP, cbnz(0, -1), cbnz(1, -3), ERET][..])];
    assert_eq!(check(&code, &table()).len(), 2);
}

#[test]
fn a_loop_hidden_in_a_called_function_is_found() {
    let code: [(&str, &[u32]); 2] = [("entry", &[bl(2), ERET]), ("callee", &[NOP, b(-1)])];
    only(
        &check(&code, &table()),
        "no bound is known of a loop in callee",
    );
}

#[test]
fn the_longest_way_takes_each_loop_and_call_as_often_as_the_table_says() {
    // A call of six instructions in a loop of three that runs four times, between two branches.
    let entry = [cbnz(0, 5), bl(6), NOP, cbnz(1, -2), ERET, NOP, ERET];
    let code: [(&str, &[u32]); 2] = [
        ("entry", &entry),
        ("callee", &[NOP, NOP, NOP, NOP, NOP, RET]),
    ];
    // The jump in the vector, the first branch, four times a loop of 9, the exception's return.
    const LONGEST: u64 = 1 + 1 + 4 * 9 + 1;
    let mut with = table();
    with.loops.push(Bounded {
        times: Some(4),
        ..bounded("entry")
    });
    for (limit, fits) in [(LONGEST, true), (LONGEST - 1, false), (2 * LONGEST, false)] {
        with.longest = Some(limit);
        assert_eq!(check(&code, &with).is_empty(), fits, "{limit}");
    }
    with.loops[0].times = None;
    with.longest = Some(LONGEST);
    let found = check(&code, &with);
    assert!(
        found.iter().any(|one| one.contains("`times` is missing")),
        "{found:#?}"
    );
    // Without the callee.
    with.loops[0].times = Some(4);
    with.starting.push("callee".into());
    with.longest = Some(1 + 1 + 4 * 3 + 1);
    assert!(check(&code, &with).is_empty());
}

#[test]
fn recursion_is_found_through_other_functions() {
    let code: [(&str, &[u32]); 3] = [
        ("entry", &[bl(2), ERET]),
        ("one", &[cbnz(0, 2), bl(2), RET]),
        ("other", &[bl(-3), RET]),
    ];
    let found = check(&code, &table());
    assert_eq!(found.len(), 2, "{found:#?}");
    assert!(
        found
            .iter()
            .all(|one| one.contains("calls itself in the end"))
    );
}

#[test]
fn a_panic_is_found_where_it_can_be_reached_only() {
    let panic = ("core::panicking::panic_fmt", &[b(0)][..]);
    let reached = [("entry", &[cbnz(0, 2), ERET, bl(1)][..]), panic];
    let mut with = table();
    with.loops.push(bounded(panic.0));
    only(&check(&reached, &with), "core::panicking::panic_fmt");
    let unreached = [("entry", &[ERET][..]), panic];
    assert!(check(&unreached, &table()).is_empty());
}

#[test]
fn a_trap_is_a_panic_too() {
    let found = check(&[("entry", &[cbnz(0, 2), ERET, BRK])], &table());
    only(&found, "is a trap or unknown");
}

#[test]
fn what_runs_at_boot_only_is_told_apart() {
    let code: [(&str, &[u32]); 2] = [("entry", &[ERET]), ("start", &[NOP, cbnz(0, -1), BRK])];
    let mut with = table();
    with.boot.push("start".into());
    with.loops.push(Bounded {
        boot: true,
        ..bounded("start")
    });
    assert!(check(&code, &with).is_empty());
    let code: [(&str, &[u32]); 2] = [("entry", &[b(1)]), ("start", &[NOP, cbnz(0, -1), ERET])];
    only(&check(&code, &with), "runs after boot, too");
}

#[test]
fn an_exclusive_pair_must_be_known_and_its_progress_guaranteed() {
    let pair = [("entry", &[LDAXR, STLXR, cbnz(14, -2), ERET][..])];
    only(&check(&pair, &table()), "retry = true");
    let mut with = table();
    with.loops.push(Bounded {
        retry: true,
        ..bounded("entry")
    });
    assert!(check(&pair, &with).is_empty());
    let reads = [("entry", &[LDAXR, LDR, STLXR, cbnz(14, -3), ERET][..])];
    only(&check(&reads, &with), "nothing guarantees that it ends");
    let plain = [("entry", &[NOP, cbnz(14, -1), ERET][..])];
    assert_eq!(check(&plain, &with).len(), 2);
}

#[test]
fn an_allocator_is_found_even_unused() {
    for name in ["__rust_alloc", "alloc::vec::Vec<T>::push", "malloc"] {
        only(
            &check(&[("entry", &[ERET]), (name, &[RET])], &table()),
            "allocator",
        );
    }
}

#[test]
fn a_jump_through_a_register_needs_its_targets() {
    let code: [(&str, &[u32]); 2] = [("entry", &[BR_X16]), ("target", &[NOP, b(-1)])];
    only(&check(&code, &table()), "goes nobody knows where: entry");
    let mut with = table();
    with.jumps.push(Jump {
        function: "entry".into(),
        to: vec!["target".into()],
        why: "because".into(),
    });
    only(
        &check(&code, &with),
        "no bound is known of a loop in target",
    );
    only(
        &check(&[("entry", &[ERET])], &with),
        "no such jump any more",
    );
}

#[test]
fn cases_of_a_match_are_followed() {
    // adr x15, table; adr x16, .; ldrsw x17, [x15, x14, lsl #2]; add x16, x16, x17; br x16
    let jump = [0x1000_016f, 0x1000_0010, 0xb8ae_79f1, 0x8b11_0210, BR_X16];
    let cases = [ERET, ERET, ERET, NOP, b(-1), ERET];
    let entry = [&jump[..], &cases].concat();
    // Instructions from the second on: to the third case, to the loop; then what is no entry.
    let entries = [24, 28, 0];
    let found = check(&[("entry", &entry), ("table", &entries)], &table());
    only(&found, "no bound is known of a loop in entry");
    let found = check(&[("entry", &entry), ("table", &[24, 0, 28])], &table());
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn encodings_of_these_tests_are_what_they_say() {
    assert_eq!(flow(b(-1), 8), Flow::Jump(4));
    assert_eq!(flow(bl(2), 8), Flow::Call(16));
    assert_eq!(flow(cbnz(3, -2), 8), Flow::Branch(0));
}
