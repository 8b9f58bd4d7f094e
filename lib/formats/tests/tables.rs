//! Tables against a plain list of pages

use std::collections::BTreeMap;

use bulkhead_formats::address::{BLOCK_1G, BLOCK_2M, PAGE, Pa};
use bulkhead_formats::tables::{
    MapError, Mapping, Root, TableMemory, Visited, Walk, map, page_entry, prepare, visit, walk,
};
use proptest::prelude::*;

const BASE: u64 = 0x4000_0000;
/// Address of a root: below all other tables, of any size.
const ROOT: u64 = 0x3000_0000;
const ATTRIBUTES: u64 = 0x7FC;

struct Memory {
    words: BTreeMap<u64, u64>,
    tables: u64,
    limit: u64,
}

impl Memory {
    fn with_tables(limit: u64) -> Self {
        Self {
            words: BTreeMap::new(),
            tables: 2,
            limit,
        }
    }

    fn read(&self) -> impl Fn(Pa) -> u64 + '_ {
        |at| self.words.get(&at.0).copied().unwrap_or(0)
    }
}

impl TableMemory for Memory {
    fn entry(&self, at: Pa) -> u64 {
        self.read()(at)
    }

    fn set_entry(&mut self, at: Pa, value: u64) {
        self.words.insert(at.0, value);
    }

    fn new_table(&mut self) -> Option<Pa> {
        self.tables += 1;
        (self.tables <= self.limit).then_some(Pa(BASE + (self.tables - 1) * PAGE))
    }
}

fn root(input_bits: u32) -> Root {
    Root {
        pa: Pa(ROOT),
        walk: Walk::stage2(input_bits),
    }
}

/// Ranges around block boundaries, in pages.
fn ranges() -> impl Strategy<Value = Vec<(u64, u64, u64)>> {
    let near = |unit: u64| {
        (0u64..6, -3i64..4).prop_map(move |(n, off)| (n * unit).saturating_add_signed(off))
    };
    let start = prop_oneof![near(512), near(512 * 512)];
    let size = prop_oneof![1u64..5, 509u64..1030];
    prop::collection::vec((start.clone(), start, size), 1..5)
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(64)
    })]

    #[test]
    fn what_is_mapped_is_found_and_nothing_else(ranges in ranges(), bits in 39u32..=48) {
        let mut memory = Memory::with_tables(10_000);
        let mut expected = BTreeMap::new();
        for (input, output, size) in ranges {
            let taken = (input..input + size).any(|page| expected.contains_key(&page));
            if taken {
                continue;
            }
            let mapping = Mapping {
                input: input * PAGE,
                output: Pa(output * PAGE),
                size: size * PAGE,
                attributes: ATTRIBUTES,
            };
            prop_assert_eq!(map(&mut memory, root(bits), &mapping), Ok(()));
            expected.extend((0..size).map(|page| (input + page, output + page)));
        }
        let mut found = BTreeMap::new();
        visit(&memory.read(), root(bits), &mut |seen| {
            if let Visited::Leaf(leaf) = seen {
                assert_eq!(leaf.attributes, ATTRIBUTES);
                let pages = 0..leaf.size / PAGE;
                found.extend(pages.map(|p| (leaf.input / PAGE + p, leaf.output.0 / PAGE + p)));
            }
        });
        prop_assert_eq!(&found, &expected);
        for page in expected.keys().flat_map(|&page| [page, page + 1, page.saturating_sub(1)]).step_by(97) {
            let leaf = walk(memory.read(), root(bits), page * PAGE + 0x123);
            let output = leaf.map(|leaf| (leaf.output.0 + page * PAGE - leaf.input) / PAGE);
            prop_assert_eq!(output, expected.get(&page).copied());
        }
    }
}

#[test]
fn largest_blocks_are_used() {
    let mut memory = Memory::with_tables(16);
    let mapping = |input, output, size| Mapping {
        input,
        output: Pa(output),
        size,
        attributes: ATTRIBUTES,
    };
    map(
        &mut memory,
        root(40),
        &mapping(BLOCK_1G, 2 * BLOCK_1G, 4 * BLOCK_1G),
    )
    .expect("fits");
    assert_eq!(memory.tables, 2, "four blocks in the root");
    map(
        &mut memory,
        root(40),
        &mapping(0, 4 * BLOCK_2M, 3 * BLOCK_2M),
    )
    .expect("fits");
    assert_eq!(memory.tables, 3, "one table of 2 MiB blocks");
    map(
        &mut memory,
        root(40),
        &mapping(8 * BLOCK_2M, PAGE, BLOCK_2M),
    )
    .expect("fits");
    assert_eq!(memory.tables, 4, "pages, for the output is not aligned");
}

#[test]
fn mistakes_are_told_apart() {
    let mut memory = Memory::with_tables(16);
    let mapping = Mapping {
        input: 0,
        output: Pa(0),
        size: PAGE,
        attributes: ATTRIBUTES,
    };
    let with = |input, size| Mapping {
        input,
        size,
        ..mapping
    };
    assert_eq!(
        map(&mut memory, root(40), &with(1, PAGE)),
        Err(MapError::Unaligned)
    );
    assert_eq!(
        map(&mut memory, root(40), &with(0, PAGE + 1)),
        Err(MapError::Unaligned)
    );
    assert_eq!(
        map(&mut memory, root(40), &with(1 << 40, PAGE)),
        Err(MapError::OutOfRange)
    );
    assert_eq!(
        map(&mut memory, root(39), &with(1 << 39, PAGE)),
        Err(MapError::OutOfRange)
    );
    assert_eq!(
        map(&mut memory, root(40), &with(u64::MAX - PAGE + 1, PAGE)),
        Err(MapError::OutOfRange)
    );
    assert_eq!(
        map(&mut memory, root(40), &with(BLOCK_2M, BLOCK_2M)),
        Ok(())
    );
    assert_eq!(
        map(&mut memory, root(40), &with(BLOCK_2M + PAGE, PAGE)),
        Err(MapError::Overlap(BLOCK_2M + PAGE))
    );
    assert_eq!(
        map(&mut memory, root(40), &with(0, 4 * BLOCK_2M)),
        Err(MapError::Overlap(BLOCK_2M))
    );
    let mut small = Memory::with_tables(3);
    assert_eq!(
        map(&mut small, root(40), &with(0, PAGE)),
        Err(MapError::OutOfTables)
    );
}

#[test]
fn a_prepared_range_takes_its_pages_in_order() {
    let mut memory = Memory::with_tables(16);
    let (start, size) = (BLOCK_1G, 3 * BLOCK_2M);
    let first = prepare(&mut memory, root(40), start, size).expect("fits");
    assert_eq!(
        walk(memory.read(), root(40), start),
        None,
        "nothing is mapped yet"
    );
    for page in 0..size / PAGE {
        memory.set_entry(
            first.plus(page * 8),
            page_entry(Pa(page * PAGE), ATTRIBUTES),
        );
    }
    for page in 0..size / PAGE {
        let leaf = walk(memory.read(), root(40), start + page * PAGE).expect("mapped now");
        assert_eq!((leaf.output, leaf.size), (Pa(page * PAGE), PAGE));
    }
    assert_eq!(
        prepare(&mut memory, root(40), start, PAGE),
        Err(MapError::Overlap(start))
    );
}

#[test]
fn memory_above_39_bits_is_reached_by_a_walk_from_level_0() {
    let root = Root {
        pa: Pa(ROOT),
        walk: Walk::stage1(41),
    };
    assert_eq!((root.walk.entries(), root.walk.root_size()), (4, PAGE));
    let mut memory = Memory::with_tables(10);
    let tebibyte = 1 << 40;
    let mapping = Mapping {
        input: tebibyte,
        output: Pa(tebibyte),
        size: BLOCK_2M,
        attributes: ATTRIBUTES,
    };
    map(&mut memory, root, &mapping).expect("fits");
    let leaf = walk(memory.read(), root, tebibyte + 0x1234).expect("mapped");
    assert_eq!(
        (leaf.input, leaf.output, leaf.size),
        (tebibyte, Pa(tebibyte), BLOCK_2M)
    );
    assert_eq!(walk(memory.read(), root, 0x1234), None);
    assert_eq!(memory.tables, 4, "one table at level 1, one at level 2");
}
