//! Planned systems beside their maps; `BLESS=1` rewrites the maps

use std::fs;
use std::path::{Path, PathBuf};

use bulkhead_plan::{inventory, map, plan};

mod fixture;

/// The showcase, from the root of the checkout.
const DRIVE: &str = "systems/drive/system.toml";

#[test]
fn maps_are_as_expected() {
    let folder = fixture::root().join("host/plan/tests/systems");
    let entries = fs::read_dir(&folder).expect("the folder is there");
    let paths: Vec<PathBuf> = entries
        .map(|entry| entry.expect("readable").path())
        .filter(|path| path.extension().is_some_and(|kind| kind == "toml"))
        .collect();
    assert!(paths.len() >= 7, "only {} systems", paths.len());
    for path in paths {
        compare(&path, &path.with_extension("map.txt"));
    }
    compare(&fixture::root().join(DRIVE), &folder.join("drive.map.txt"));
}

fn compare(description: &Path, expected: &Path) {
    let name = description.display();
    let text = fs::read_to_string(description).expect("readable");
    let system = fixture::system(description, &text);
    let inputs = fixture::inputs(&system);
    let planned = plan(&system, &inputs).unwrap_or_else(|error| panic!("{name}: {error}"));
    let manifest = inventory::manifest(&system, &inputs, &planned).expect("complete");
    let text = map::text(&system, &planned, &manifest);
    if std::env::var_os("BLESS").is_some() {
        fs::write(expected, &text).expect("writable");
    }
    let expected = fs::read_to_string(expected).unwrap_or_default();
    assert_eq!(expected, text, "{name}");
}

#[test]
fn tables_of_a_4_gib_guest_are_few() {
    let path = fixture::root().join(DRIVE);
    let text = fs::read_to_string(&path).expect("readable");
    let large = text.replace("memory = \"512 MiB\"", "memory = \"4 GiB\"");
    let system = fixture::system(&path, &large);
    let planned = plan(&system, &fixture::inputs(&system)).expect("a plan");
    let linux = planned.tables.stage2.last().expect("the last partition");
    assert!(linux.size <= 24 << 10, "{} bytes", linux.size);
    assert_eq!(system.partitions[2].memory, 4 << 30);
}
