//! Components as an archive behind the kernel

use bulkhead_abi::PAGE_SIZE;
use bulkhead_abi::component::{NO_THREAD, Part, Role};
use bulkhead_abi::kernel::{Archive, IMAGE};
use bulkhead_formats::address::Ipa;
use bulkhead_formats::archive::Checked;
use bulkhead_image::components::{ComponentSet, pack};
use bulkhead_image::elf::{Executable, Segment};
use bulkhead_image::{BuildError, components};
use bulkhead_model::system::{Image, PartitionId, System};
use bulkhead_plan::load::{Argument, GuestImage, Piece};
use std::fs;
use zerocopy::FromBytes;

use crate::fixture;

fn example() -> System {
    let path = fixture::root().join("tests/golden/accept/components/system.toml");
    fixture::system(&path, &fs::read_to_string(&path).expect("there"))
}

fn executable(size: u64) -> Executable {
    Executable {
        segments: vec![Segment {
            address: IMAGE,
            virtual_address: IMAGE,
            bytes: vec![7; 100],
            size,
            write: false,
            execute: true,
        }],
        entry: IMAGE,
        sizes: [0; 3],
    }
}

fn packed(system: &System, size: u64) -> Result<GuestImage, BuildError> {
    let kernel = GuestImage {
        pieces: vec![Piece::new(Ipa(0x4000_0000), vec![1; 0x1801])],
        entry: Ipa(0x4000_0000),
        argument: Argument::GuestPage,
        device_tree: None,
    };
    let Image::Components(components) = &system.partitions[0].image else {
        panic!("components are described")
    };
    let set = ComponentSet {
        system,
        partition: PartitionId(0),
        components,
    };
    let executables: Vec<_> = components.iter().map(|_| executable(size)).collect();
    pack(kernel, &set, &executables)
}

#[test]
fn the_description_becomes_the_wiring() {
    let image = packed(&example(), 5000).expect("fits");
    let piece = image.pieces.last().expect("the archive");
    assert_eq!(piece.ipa, Ipa(0x4000_2000), "behind the kernel, at a page");
    assert_eq!(piece.bytes.len() as u64, 9 * PAGE_SIZE);
    let (archive, _) = Archive::read_from_prefix(&piece.bytes).expect("a page");
    let checked = Checked::of(&archive).expect("sound");
    let names: Vec<_> = checked.components().map(|one| one.name()).collect();
    assert_eq!(names, ["boot", "scheduler", "console", "controller"]);
    let interfaces: Vec<_> = checked.interfaces().map(|(_, one)| one.provider).collect();
    assert_eq!(interfaces, [1, 2], "threads, console");
    let [boot, scheduler, console, controller] = [0, 1, 2, 3].map(|n| archive.wiring[n]);
    assert_eq!((boot.role, boot.needs), (Role::Boot as u32, 0b10));
    assert_eq!(scheduler.owns, Part::Heartbeat.bit() | Part::Monitor.bit());
    assert_eq!((scheduler.memory_pages, console.stack_pages), (8, 1));
    assert_eq!((console.priority, console.needs), (NO_THREAD, 0));
    assert_eq!((controller.priority, controller.needs), (1, 0b11));
    assert_eq!(
        (controller.channels, controller.owns),
        (1, Part::Trace.bit())
    );
}

#[test]
fn what_does_not_fit_is_said_by_name() {
    let error = packed(&example(), (2 << 20) - 7 * PAGE_SIZE).expect_err("too large");
    assert_eq!(error.id, "component-size");
    assert!(error.message.contains("`control.scheduler`"), "{error}");
    assert_eq!(components::KERNEL, "bulkhead-kernel");
}
