//! `guest-overhead`: Linux in a partition beside the same Linux alone
//!
//! One core, instructions counted. The same kernel, device tree and initial file system lie at the
//! same guest-physical addresses in both; alone, a few instructions in the place of a boot loader
//! start them on a machine without EL2. What differs is the monitor.

use bulkhead_image::linux;
use bulkhead_model::system::{Image, Partition};
use bulkhead_plan::load::GuestImage;
use bulkhead_run::figures::Kind;
use bulkhead_run::machine::{Command, Load, Machine, RunFolder, Timing};
use bulkhead_run::ram::Ram;
use bulkhead_run::{RunOptions, run};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use crate::setting::Setting;
use crate::until::{DONE, UntilDone};
use crate::{Bench, BenchError, Context, Report, Row};

const SYSTEM: &str = "host/bench/systems/linux-alone";
/// Largest difference, per cent.
const BOUND: f64 = 1.0;
/// One instruction is one nanosecond.
const TIMING: Timing = Timing::path(0);
/// Room for the boot loader, bytes.
const LOADER_SIZE: u64 = 4096;
/// How long a run may take, wall clock.
const PATIENCE: Duration = Duration::from_secs(1200);

pub(crate) struct GuestOverhead;

/// Counter ticks for one iteration, by what was measured.
type Measures = BTreeMap<String, f64>;

impl Bench for GuestOverhead {
    fn id(&self) -> &'static str {
        "guest-overhead"
    }

    fn reproduces(&self) -> &'static str {
        "001 figures 5.3 to 5.8"
    }

    fn kind(&self) -> Kind {
        Kind::Path
    }

    fn promise(&self) -> &'static str {
        "fork-exec-wait, page fault, system call and CPU loop at most 1 % apart from Linux alone"
    }

    fn run(&self, context: &Context) -> Result<Report, BenchError> {
        let setting = context.build("guest-overhead", SYSTEM, &[], &[("linux", "bench=guest")])?;
        let partitioned = in_partition(&setting)?;
        let alone = alone(context, &setting)?;
        let instructions = 1e9 / setting.manifest.machine.counter_hz as f64;
        let row = |(name, ticks): (&String, &f64)| {
            let alone = alone.get(name).copied().unwrap_or(f64::NAN);
            let more = (ticks / alone - 1.0) * 100.0;
            let figures = [
                ("apart", more.abs()),
                ("more", more),
                ("in the partition [instructions]", ticks * instructions),
                ("alone [instructions]", alone * instructions),
            ];
            Row::at_most(name, &figures, "%", BOUND)
        };
        Ok(self.report(partitioned.iter().map(row).collect()))
    }
}

fn in_partition(setting: &Setting) -> Result<Measures, BenchError> {
    let over = AtomicBool::new(false);
    let usual = RunOptions::of_manifest(&setting.manifest);
    let options = RunOptions {
        timing: TIMING,
        ..usual
    };
    run(
        &setting.manifest,
        &setting.out,
        &options,
        &mut UntilDone { over: &over },
        &over,
    )?;
    measures(&setting.console("linux")?, setting.run_folder())
}

fn alone(context: &Context, setting: &Setting) -> Result<Measures, BenchError> {
    let folder = RunFolder::new(&setting.out.join("alone"), "alone");
    let _lock = folder.take()?;
    let machine = &setting.manifest.machine;
    let ram = Ram::create(
        folder.path(),
        machine.memory_base,
        machine.memory_size,
        setting
            .manifest
            .partitions
            .iter()
            .flat_map(|p| &p.memory)
            .map(|m| m.size)
            .sum(),
    )?;
    let mut command = Command::of_manifest(&setting.manifest, &PathBuf::new(), ram.fd(), TIMING);
    command.machine = machine
        .machine
        .replace("virtualization=on", "virtualization=off");
    command.load = guest_files(context, setting, &folder)?;
    let mut machine = Machine::start(&command, folder.path())?;
    machine.resume()?;
    let deadline = Instant::now() + PATIENCE;
    let mut text = String::new();
    while !text.contains(DONE) && !machine.has_ended() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(100));
        let bytes = std::fs::read(folder.uart_log()).unwrap_or_default();
        text = String::from_utf8_lossy(&bytes).into_owned();
    }
    machine.quit();
    measures(
        &text.lines().map(str::to_owned).collect::<Vec<_>>(),
        folder.path().into(),
    )
}

/// Lines `bench NAME ITERATIONS TICKS`.
fn measures(lines: &[String], folder: PathBuf) -> Result<Measures, BenchError> {
    let parse = |line: &String| {
        let mut words = line
            .split_whitespace()
            .skip_while(|&word| word != "bench")
            .skip(1);
        let name = words.next()?.to_owned();
        let iterations: f64 = words.next()?.parse().ok()?;
        let ticks: f64 = words.next()?.parse().ok()?;
        Some((name, ticks / iterations))
    };
    let measures: Measures = lines.iter().filter_map(parse).collect();
    if measures.is_empty() {
        let what = "fork-exec-wait, page-fault, system-call, cpu-loop".into();
        return Err(BenchError::Incomplete { what, folder });
    }
    Ok(measures)
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

    #[test]
    fn measures_are_found_in_a_console() {
        let lines = [
            "noise",
            "bench page-fault 100 2500",
            "bench done",
            "bench x y",
        ];
        let lines = lines.map(str::to_owned);
        let found = measures(&lines, PathBuf::new()).unwrap();
        assert_eq!(found, [("page-fault".to_owned(), 25.0)].into());
        assert!(measures(&[], PathBuf::new()).is_err());
    }
}
