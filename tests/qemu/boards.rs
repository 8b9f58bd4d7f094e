//! Boards that no emulator runs, or not with all cores: their images are built all the same

mod tool;

use bulkhead_abi::boot::{BOOT_MAGIC, BootHeader, IMAGE_HEADER_SIZE};
use bulkhead_abi::device::PL011;
use tool::{Fresh, checkout};
use zerocopy::FromBytes;

/// Checks and builds an accepted description, and returns the header of its boot image.
fn built(case: &str) -> BootHeader {
    let fresh = Fresh::new(case);
    let system = checkout().join("tests/golden/accept").join(case);
    let system = system.to_str().expect("UTF-8");
    let name = format!("system.name={case}");
    for command in ["check", "build"] {
        let done = fresh.bulkhead(&[command, system, "--set", &name]);
        let errors = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "{command}: {errors}");
    }
    let image = checkout().join("out").join(case).join("boot.img");
    let image = std::fs::read(image).expect("a boot image");
    let header = BootHeader::read_from_prefix(&image[IMAGE_HEADER_SIZE..]);
    header.expect("a header").0
}

#[test]
fn memory_at_a_tebibyte() {
    let header = built("board-sbsa-ref");
    assert_eq!(header.magic, BOOT_MAGIC);
    assert_eq!((header.uart, header.uart_kind), (0x6000_0000, PL011));
    assert!(header.config_pa > 1 << 40, "{:#x}", header.config_pa);
}

#[test]
fn a_board_without_a_uart_that_the_boot_part_knows() {
    let header = built("board-clusters");
    assert_eq!((header.magic, header.uart), (BOOT_MAGIC, 0));
    assert!((0x8880_0000..0x9800_0000).contains(&header.config_pa));
}
