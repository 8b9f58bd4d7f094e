//! Boot images, whole and damaged, and the files they become

use bulkhead_image::{output, pack};
use bulkhead_plan::plan;
use bulkhead_plan::purpose::Purpose;
use std::fs;

use crate::fixture;

fn drive() -> (u64, bulkhead_plan::Plan, Vec<u8>) {
    let path = fixture::root().join("systems/drive/system.toml");
    let system = fixture::system(&path, &fs::read_to_string(&path).expect("there"));
    let inputs = fixture::inputs(&system);
    let planned = plan(&system, &inputs).expect("a plan");
    let image = pack::pack(&system, &inputs, &planned).expect("packs");
    assert_eq!(
        image,
        pack::pack(&system, &inputs, &planned).expect("packs"),
        "the same bytes"
    );
    (system.board.load, planned, image)
}

#[test]
fn every_kind_of_damage_is_found() {
    let (load, planned, mut image) = drive();
    pack::verify(load, &image).expect("it is whole");
    let offset = |purpose| (planned.machine.pa(purpose).expect("there").0 - load) as usize;
    let config = offset(Purpose::Config);
    let tables = offset(Purpose::Tables);
    let guests = offset(Purpose::Images);
    let monitor = offset(Purpose::Monitor);
    let places = [
        ("header", 56),
        ("boot header", 64),
        ("configuration, head", config + 20),
        ("configuration", config + planned.config.len() - 5),
        ("tables", tables + 4096 + 8),
        ("end of the tables", tables + planned.table_bytes.len() - 1),
        ("a guest image", guests + 77),
        ("the monitor", monitor + 0x1234),
    ];
    for (what, at) in places {
        for bit in 0..8 {
            image[at] ^= 1 << bit;
            assert!(pack::verify(load, &image).is_err(), "{what}, bit {bit}");
            image[at] ^= 1 << bit;
        }
    }
    for length in [0, 63, 64, 80, config + 16, tables + 100, guests + 100] {
        assert!(
            pack::verify(load, &image[..length]).is_err(),
            "cut to {length}"
        );
    }
}

#[test]
fn a_file_is_written_whole_or_not_at_all() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("deep/er/file");
    output::write(&path, b"first").expect("writable");
    let written = fs::metadata(&path)
        .and_then(|found| found.modified())
        .expect("there");
    output::write(&path, b"first").expect("writable");
    assert_eq!(
        fs::metadata(&path)
            .and_then(|found| found.modified())
            .expect("there"),
        written
    );
    output::write(&path, b"second").expect("writable");
    assert_eq!(fs::read(&path).expect("there"), b"second");
    let entries = fs::read_dir(path.parent().expect("has one"))
        .expect("there")
        .count();
    assert_eq!(entries, 1, "nothing else is left behind");
}

#[test]
fn what_cannot_be_written_leaves_nothing_behind() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("file");
    fs::create_dir(&path).expect("a folder is in the way");
    fs::write(path.join("inside"), b"x").expect("writable");
    let error = output::write(&path, b"new").expect_err("a folder cannot be replaced");
    assert_eq!(error.id, "output-unwritable");
    assert!(error.message.contains("file"), "{}", error.message);
    assert_eq!(fs::read_dir(folder.path()).expect("there").count(), 1);
}
