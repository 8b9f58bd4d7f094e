//! Planned systems beside their maps; `BLESS=1` rewrites the maps

use std::fs;

use bulkhead_plan::{inventory, map, plan};

mod fixture;

#[test]
fn maps_are_as_expected() {
    let folder = fixture::root().join("host/plan/tests/systems");
    let bless = std::env::var_os("BLESS").is_some();
    let mut seen = 0;
    for entry in fs::read_dir(&folder).expect("the folder is there") {
        let path = entry.expect("readable").path();
        if path.extension().is_none_or(|kind| kind != "toml") {
            continue;
        }
        let name = path
            .file_name()
            .expect("has one")
            .to_string_lossy()
            .into_owned();
        let system = fixture::system(&name, &fs::read_to_string(&path).expect("readable"));
        let inputs = fixture::inputs(&system);
        let planned = plan(&system, &inputs).unwrap_or_else(|error| panic!("{name}: {error}"));
        let manifest = inventory::manifest(&system, &inputs, &planned).expect("complete");
        let text = map::text(&system, &planned, &manifest);
        let expected = path.with_extension("map.txt");
        if bless {
            fs::write(&expected, &text).expect("writable");
        }
        assert_eq!(
            fs::read_to_string(&expected).unwrap_or_default(),
            text,
            "{name}"
        );
        seen += 1;
    }
    assert!(seen >= 8, "only {seen} systems");
}

#[test]
fn tables_of_a_4_gib_guest_are_few() {
    let path = fixture::root().join("host/plan/tests/systems/drive.toml");
    let text = fs::read_to_string(path).expect("readable");
    let large = text.replace("memory = \"512 MiB\"", "memory = \"4 GiB\"");
    let system = fixture::system("drive.toml", &large);
    let planned = plan(&system, &fixture::inputs(&system)).expect("a plan");
    let linux = planned.tables.stage2.last().expect("the last partition");
    assert!(linux.size <= 24 << 10, "{} bytes", linux.size);
    assert_eq!(system.partitions[2].memory, 4 << 30);
}
