//! Linux alone on the machine: what it costs without anything below
//!
//! The kernel, device tree and initial file system of a partition lie at the same guest-physical
//! addresses; a few instructions in the place of a boot loader start them on a machine without EL2.

use bulkhead_image::linux;
use bulkhead_model::system::{Image, Partition};
use bulkhead_plan::load::GuestImage;
use bulkhead_run::machine::{Command, Load, Machine, RunFolder, Timing};
use bulkhead_run::ram::Ram;
use std::ops::Range;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::error::BenchError;
use crate::setting::{Context, Setting};
use crate::until::DONE;

/// Room for the boot loader, bytes.
const LOADER_SIZE: u64 = 4096;
/// How long a run may take, wall clock, short and long version: only what hangs takes so long, on a
/// loaded host, too.
const PATIENCE: [Duration; 2] = [Duration::from_secs(1200), Duration::from_secs(14_400)];

/// Last line of the first partition of a setting on its UART, and the address of that UART.
pub(crate) fn run(
    context: &Context,
    setting: &Setting,
    timing: Timing,
) -> Result<(Vec<String>, PathBuf), BenchError> {
    let folder = RunFolder::new(&setting.out.join("alone"), "alone");
    let _lock = folder.take()?;
    let machine = &setting.manifest.machine;
    let ram = Ram::create(
        folder.path(),
        &machine.memory,
        machine.memory_size,
        setting
            .manifest
            .partitions
            .iter()
            .flat_map(|p| &p.memory)
            .map(|m| m.size)
            .sum(),
    )?;
    let mut command = Command::of_manifest(&setting.manifest, &PathBuf::new(), ram.fd(), timing)?;
    command.machine = command
        .machine
        .replace("virtualization=on", "virtualization=off");
    command.load = guest_files(context, setting, &folder)?;
    let mut machine = Machine::start(&command, folder.path())?;
    machine.resume()?;
    let deadline = Instant::now() + PATIENCE[usize::from(context.long)];
    let mut text = String::new();
    while !text.contains(DONE) && !machine.has_ended() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(100));
        let bytes = std::fs::read(folder.uart_log()).unwrap_or_default();
        text = String::from_utf8_lossy(&bytes).into_owned();
    }
    machine.quit();
    let lines = text.lines().map(str::to_owned).collect();
    Ok((lines, folder.path().into()))
}

/// The partition's images as files for a machine of its own, and what a boot loader would do.
fn guest_files(
    context: &Context,
    setting: &Setting,
    folder: &RunFolder,
) -> Result<Load, BenchError> {
    let partition = &setting.system.partitions[0];
    let image = guest_image(context, setting, partition)?;
    let guest = &setting.system.board.guest;
    let tree = image
        .device_tree
        .as_ref()
        .map_or(guest.ram, |place| place.ipa.0);
    let mut files = Vec::new();
    for (number, piece) in image.pieces.iter().enumerate() {
        let file = write(folder, &format!("piece-{number}"), &piece.bytes)?;
        files.push((file, piece.ipa.0));
    }
    // Behind the guest's memory: the emulator has a tree of its own at the start of memory.
    let entry = guest.ram + partition.memory;
    let tree_file = setting.out.join(format!("{}.dtb", partition.name));
    let tree_bytes = std::fs::metadata(&tree_file).map_err(BenchError::file(&tree_file))?;
    let source = entry + LOADER_SIZE;
    files.push((tree_file, source));
    let loader = boot_loader(image.entry.0, tree, source..source + tree_bytes.len());
    files.push((write(folder, "loader", &loader)?, entry));
    Ok(Load::Files { files, entry })
}

fn guest_image(
    context: &Context,
    setting: &Setting,
    partition: &Partition,
) -> Result<GuestImage, BenchError> {
    let Image::Linux { kernel, .. } = &partition.image else {
        let what = "Linux".into();
        return Err(BenchError::Incomplete {
            what,
            folder: setting.out.clone(),
        });
    };
    let read = |path: PathBuf| std::fs::read(&path).map_err(BenchError::file(path));
    let kernel = read(linux::kernel_image(&context.root, kernel))?;
    let initrd = read(setting.out.join(format!("{}.initrd.cpio", partition.name)))?;
    linux::place(partition, setting.system.board.guest.ram, kernel, initrd)
        .map_err(|error| BenchError::Build(Box::new(error)))
}

fn write(folder: &RunFolder, name: &str, bytes: &[u8]) -> Result<PathBuf, BenchError> {
    let path = folder.file(name);
    std::fs::write(&path, bytes).map_err(BenchError::file(&path))?;
    Ok(path)
}

/// Copies the device tree from `source` to `tree` and starts the kernel with `x0` = device tree,
/// `x1`, `x2`, `x3` = 0 (Documentation/arch/arm64/booting).
fn boot_loader(kernel: u64, tree: u64, source: Range<u64>) -> Vec<u8> {
    const COPY: [u32; 4] = [
        0xf840_84a7, // ldr x7, [x5], #8
        0xf800_8427, // str x7, [x1], #8
        0xeb06_00bf, // cmp x5, x6
        0x54ff_ffa3, // b.lo to the first
    ];
    const BRANCH_TO_X4: u32 = 0xd61f_0080;
    let constants = |list: &[(u32, u64)]| -> Vec<u32> {
        list.iter()
            .flat_map(|&(register, value)| load_constant(register, value))
            .collect()
    };
    let mut code = constants(&[(1, tree), (5, source.start), (6, source.end)]);
    code.extend(COPY);
    code.extend(constants(&[(0, tree), (1, 0), (2, 0), (3, 0), (4, kernel)]));
    code.push(BRANCH_TO_X4);
    code.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// `movz` and three `movk`.
fn load_constant(register: u32, value: u64) -> [u32; 4] {
    const MOVZ: u32 = 0xd280_0000;
    const MOVK: u32 = 0xf280_0000;
    std::array::from_fn(|part| {
        let piece = (value >> (16 * part)) as u32 & 0xffff;
        let opcode = if part == 0 { MOVZ } else { MOVK };
        opcode | (part as u32) << 21 | piece << 5 | register
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_are_loaded_piece_by_piece() {
        // movz x0, #0x8899; movk x0, #0x6677, lsl 16; movk x0, #0x4455, lsl 32; movk x0, #0, lsl 48
        let code = load_constant(0, 0x4455_6677_8899);
        assert_eq!(code, [0xd291_1320, 0xf2ac_cee0, 0xf2c8_8aa0, 0xf2e0_0000]);
    }
}
