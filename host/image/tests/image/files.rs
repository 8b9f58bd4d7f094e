//! Files of other origins: read, placed or refused, never a panic

use bulkhead_formats::address::Ipa;
use bulkhead_formats::image_header::ImageHeader;
use bulkhead_image::foreign::{self, ImageOptions};
use bulkhead_image::{elf, linux};
use bulkhead_model::system::{Partition, System};
use bulkhead_plan::load::{Argument, GuestImage};
use proptest::prelude::*;
use std::path::Path;

use crate::fixture;

const RAM: u64 = 0x4000_0000;

/// A program header: type, flags, offset, virtual and physical address, file and memory size.
fn program_header(flags: u32, addresses: (u64, u64), offset: u64, sizes: (u64, u64)) -> Vec<u8> {
    let mut bytes = [1u32.to_le_bytes(), flags.to_le_bytes()].concat();
    for field in [offset, addresses.0, addresses.1, sizes.0, sizes.1, 0x1000] {
        bytes.extend_from_slice(&field.to_le_bytes());
    }
    bytes
}

/// An executable with a text segment of 0x55 that runs elsewhere than it lies, and data.
fn executable() -> Vec<u8> {
    let mut bytes = b"\x7FELF\x02\x01\x01".to_vec();
    bytes.resize(16, 0);
    for field in [2u16, 183] {
        bytes.extend_from_slice(&field.to_le_bytes());
    }
    bytes.extend_from_slice(&1u32.to_le_bytes());
    for field in [0x8000_0010u64, 64, 0] {
        bytes.extend_from_slice(&field.to_le_bytes());
    }
    bytes.extend_from_slice(&0u32.to_le_bytes());
    for field in [64u16, 56, 2, 64, 0, 0] {
        bytes.extend_from_slice(&field.to_le_bytes());
    }
    bytes.extend(program_header(5, (0x8000_0000, RAM), 0x100, (0x80, 0x80)));
    bytes.extend(program_header(
        6,
        (RAM + 0x1000, RAM + 0x1000),
        0x180,
        (8, 0x2000),
    ));
    bytes.resize(0x100, 0);
    bytes.resize(0x180, 0x55);
    bytes.resize(0x188, 0xAA);
    bytes
}

fn system() -> System {
    let text = "[system]\nname = \"one\"\nboard = \"qemu-virt\"\n[partition.guest]\nkind = \"image\"\n\
                criticality = \"B\"\nmemory = \"8 MiB\"\nimage = { crate = \"bulkhead-control\" }\n";
    fixture::system("one.toml".as_ref(), text)
}

fn place(bytes: Vec<u8>, wishes: ImageOptions) -> Result<GuestImage, String> {
    let system = system();
    let placed = foreign::place(
        &system.partitions[0],
        RAM,
        Path::new("guest"),
        bytes,
        wishes,
    );
    placed.map_err(|error| format!("{}: {}", error.id, error.message))
}

#[test]
fn an_executable_is_started_where_it_lies() {
    let image = place(executable(), ImageOptions::default()).expect("good");
    assert_eq!(image.entry, Ipa(RAM + 0x10), "linked at 0x8000_0010");
    assert_eq!(image.pieces.len(), 2);
    assert_eq!(
        (image.pieces[0].ipa, image.pieces[0].size),
        (Ipa(RAM), 0x80)
    );
    assert!(image.pieces[0].bytes.iter().all(|&byte| byte == 0x55));
    assert_eq!(
        (image.pieces[1].bytes.len(), image.pieces[1].size),
        (8, 0x2000)
    );
    assert_eq!(image.argument, Argument::GuestPage);
}

#[test]
fn wrong_executables_are_refused_with_the_reason() {
    let change = |at: usize, value: u8| {
        let mut bytes = executable();
        bytes[at] = value;
        place(bytes, ImageOptions::default()).expect_err("wrong")
    };
    assert!(change(18, 62).contains("another processor"));
    assert!(change(5, 2).contains("big-endian"));
    assert!(change(4, 1).contains("64-bit"));
    assert!(change(16, 1).contains("no executable"));
    assert!(change(64 + 32 + 7, 1).contains("truncated"), "file size");
    assert!(change(64 + 40, 1).contains("impossible"), "memory size");
    let mut short = executable();
    short.truncate(0x150);
    assert!(
        place(short, ImageOptions::default())
            .expect_err("short")
            .contains("truncated")
    );
}

#[test]
fn a_flat_image_goes_where_it_is_told() {
    let plain = place(vec![1; 100], ImageOptions::default()).expect("good");
    assert_eq!((plain.pieces[0].ipa, plain.entry), (Ipa(RAM), Ipa(RAM)));
    let wishes = ImageOptions {
        load: Some(RAM + 0x8000),
        entry: Some(RAM + 0x8040),
        device_tree: true,
    };
    let placed = place(vec![1; 100], wishes).expect("good");
    assert_eq!(
        (placed.pieces[0].ipa, placed.entry),
        (Ipa(RAM + 0x8000), Ipa(RAM + 0x8040))
    );
    let tree = placed.device_tree.expect("asked for");
    assert_eq!(
        (tree.ipa, placed.argument),
        (Ipa(RAM), Argument::DeviceTree)
    );
}

#[test]
fn a_device_tree_goes_where_the_image_is_not() {
    let wishes = ImageOptions {
        device_tree: true,
        ..ImageOptions::default()
    };
    let low = place(vec![1; 100], wishes).expect("good");
    assert_eq!(
        low.device_tree.expect("asked for").ipa,
        Ipa(RAM + (8 << 20) - (32 << 10))
    );
    let full = place(vec![1; 8 << 20], wishes).expect_err("no room");
    assert!(full.starts_with("device-tree-room"), "{full}");
}

fn kernel(length: usize, image_size: u64) -> Vec<u8> {
    let mut bytes = vec![0xEE; length];
    ImageHeader {
        text_offset: 0,
        image_size,
        flags: 0xA,
    }
    .write(&mut bytes)
    .expect("long enough");
    bytes
}

fn linux_in(megabytes: u64, kernel: Vec<u8>, initrd: usize) -> Result<GuestImage, String> {
    let mut partition: Partition = system().partitions[0].clone();
    partition.memory = megabytes << 20;
    let placed = linux::place(&partition, RAM, kernel, vec![7; initrd]);
    placed.map_err(|error| format!("{}: {}", error.id, error.message))
}

#[test]
fn linux_leaves_room_for_what_the_kernel_occupies() {
    let image = linux_in(16, kernel(3 << 20, 5 << 20), 100).expect("fits");
    assert_eq!(image.entry, Ipa(RAM + (2 << 20)));
    assert_eq!(image.pieces[0].size, 5 << 20);
    assert_eq!(image.pieces[1].ipa, Ipa(RAM + (8 << 20)));
    let tree = image.device_tree.expect("always");
    assert_eq!(tree.initrd.map(|range| range.size()), Some(100));
}

#[test]
fn too_little_memory_for_linux_is_told_in_megabytes() {
    let error = linux_in(8, kernel(3 << 20, 5 << 20), 100).expect_err("does not fit");
    assert!(
        error.contains("8 MiB of memory; its kernel takes 5 MiB"),
        "{error}"
    );
    let vast = linux_in(8, kernel(100, u64::MAX), 0).expect_err("does not fit");
    assert!(vast.starts_with("linux-memory"), "{vast}");
    let other = linux_in(8, vec![0; 4096], 0).expect_err("no kernel");
    assert!(other.contains("no arm64 `Image`"), "{other}");
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(20_000)
    })]

    #[test]
    fn damaged_executables_never_panic(
        changes in prop::collection::vec((0usize..0x188, any::<u8>()), 0..6),
        length in 0usize..0x190,
    ) {
        let mut bytes = executable();
        changes.iter().for_each(|&(at, value)| bytes[at] = value);
        bytes.truncate(length.max(0x40));
        if let Ok(executable) = elf::parse(&bytes) {
            let _ = executable.entry_address();
            for piece in executable.pieces() {
                prop_assert!(piece.size >= piece.bytes.len() as u64);
            }
        }
    }
}
