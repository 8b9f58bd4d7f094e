//! Pages, mappings, tables

use super::{Machine, Workshop};
use bulkhead_abi::kernel::{Operation, Status, first};

#[test]
fn a_page_has_one_use_at_a_time() {
    let machine = Machine::booted();
    let shop = Workshop::new(&machine);
    let last = first::PAGES[2];
    let [mapped, made] = [shop.page(), shop.page()];
    machine.must(last, Operation::Map, &[100, first::MEMORY, mapped, 1]);
    let as_table = machine.refused(first::MEMORY, Operation::MakeTable, &[mapped, 40, 1]);
    assert_eq!(as_table, Status::WrongPage);
    machine.must(first::MEMORY, Operation::MakeTable, &[made, 40, 1]);
    let as_memory = machine.refused(last, Operation::Map, &[101, first::MEMORY, made, 1]);
    assert_eq!(as_memory, Status::WrongPage);
    machine.must(last, Operation::Map, &[102, first::MEMORY, mapped, 0]);
    machine.must(last, Operation::Unmap, &[100]);
    machine.refused(first::MEMORY, Operation::MakeTable, &[mapped, 41, 1]);
    machine.must(last, Operation::Unmap, &[102]);
    machine.must(first::MEMORY, Operation::MakeTable, &[mapped, 41, 1]);
}

#[test]
fn an_object_without_references_is_reclaimed() {
    let machine = Machine::booted();
    let shop = Workshop::new(&machine);
    let page = shop.page();
    machine.must(first::MEMORY, Operation::MakeTable, &[page, 40, 1]);
    machine.must(40, Operation::Copy, &[3, first::TIME]);
    let full = machine.refused(first::MEMORY, Operation::Reclaim, &[page]);
    assert_eq!(full, Status::InUse);
    machine.must(40, Operation::Remove, &[3]);
    let named = machine.refused(first::MEMORY, Operation::Reclaim, &[page]);
    assert_eq!(named, Status::InUse);
    machine.must(first::LEAF, Operation::Remove, &[40]);
    machine.must(first::MEMORY, Operation::Reclaim, &[page]);
    machine.must(
        first::PAGES[2],
        Operation::Map,
        &[100, first::MEMORY, page, 1],
    );
}

#[test]
fn memory_is_narrowed_never_widened() {
    let machine = Machine::booted();
    let leaf = first::LEAF;
    machine.must(leaf, Operation::Copy, &[50, first::MEMORY, 4, 2]);
    for bad in [
        [51, 50, 1, 2],
        [51, 50, 0, 3],
        [51, 50, 2, 0],
        [51, 50, u64::MAX, 2],
    ] {
        assert_eq!(
            machine.refused(leaf, Operation::Copy, &bad),
            Status::BadArgument
        );
    }
    machine.must(leaf, Operation::Copy, &[51, 50, 1, 1]);
    machine.must(51, Operation::MakePages, &[0, 52, 3]);
    let again = machine.refused(first::MEMORY, Operation::MakePages, &[5, 53, 3]);
    assert_eq!(again, Status::WrongPage, "the same page");
}

#[test]
fn tables_nest_by_level_only() {
    let machine = Machine::booted();
    let shop = Workshop::new(&machine);
    let second = shop.make(Operation::MakePages, &[2]);
    let third = shop.make(Operation::MakePages, &[3]);
    let root = first::PAGES[0];
    assert_eq!(
        machine.refused(root, Operation::Attach, &[5, third]),
        Status::BadArgument
    );
    assert_eq!(
        machine.refused(second, Operation::Attach, &[5, second]),
        Status::BadArgument
    );
    assert_eq!(
        machine.refused(second, Operation::Map, &[5, first::MEMORY, 0, 0]),
        Status::NoOperation
    );
    machine.must(second, Operation::Attach, &[5, third]);
    machine.must(root, Operation::Attach, &[5, second]);
    assert_eq!(
        machine.refused(root, Operation::Attach, &[5, second]),
        Status::Occupied
    );
    assert_eq!(
        machine.refused(root, Operation::Attach, &[512, second]),
        Status::BadArgument
    );
    machine.must(root, Operation::Unmap, &[5]);
}

#[test]
fn a_missing_leaf_takes_nothing() {
    let machine = Machine::booted();
    let shop = Workshop::new(&machine);
    let page = shop.page();
    let refused = machine.refused(first::MEMORY, Operation::MakeTable, &[page, 128 * 7, 1]);
    assert_eq!(refused, Status::BadArgument);
    machine.must(first::MEMORY, Operation::MakeTable, &[page, 40, 1]);
    machine.must(first::TABLE, Operation::Copy, &[7, 40]);
    let other = shop.page();
    machine.must(first::MEMORY, Operation::MakeTable, &[other, 128 * 7, 1]);
    assert_eq!(machine.must(128 * 7, Operation::Identify, &[]), 4);
}

#[test]
fn identities_of_address_spaces_are_given_once() {
    let machine = Machine::booted();
    let shop = Workshop::new(&machine);
    shop.component(5);
    let table = shop.make(Operation::MakeTable, &[0]);
    let pages = shop.make(Operation::MakePages, &[1]);
    for (identity, status) in [
        (5, Status::Occupied),
        (1, Status::BadArgument),
        (0, Status::BadArgument),
        (1 << 15, Status::BadArgument),
    ] {
        let page = shop.page();
        let words = [page, 60, table, pages, first::identity(identity)];
        assert_eq!(
            machine.refused(first::MEMORY, Operation::MakeComponent, &words),
            status
        );
    }
}
