//! The runner on a machine without a monitor: a dozen instructions that tell the time
//!
//! Needs the emulator, which the set-up installs.

use bulkhead_abi::status::LINK_MAGIC;
use bulkhead_plan::manifest::{Emulator, Machine, Manifest, PartitionManifest, Region, Sizes};
use bulkhead_run::report::Report;
use bulkhead_run::{Observer, RunError, RunOptions, run};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const BASE: u64 = 0x4000_0000;
const HEARTBEAT: u64 = 0x4400_0000;
const LINK: u64 = HEARTBEAT + 0x1_0000;

/// `movz xR, #value, lsl #16`.
const fn movz_high(register: u32, value: u32) -> u32 {
    0xd2a0_0000 | value << 5 | register
}

/// `movz wR, #value`.
const fn movz(register: u32, value: u32) -> u32 {
    0x5280_0000 | value << 5 | register
}

const STRB_W3_X2: u32 = 0x3900_0043;
const MRS_X0_CNTVCT: u32 = 0xd53b_e040;
const STR_X0_X1: u32 = 0xf900_0020;
const MOVZ_X4: u32 = 0xd280_0004;
const MOVK_X4: u32 = 0xf280_0004;
const STR_X4_X5: u32 = 0xf900_00a4;
const MOV_X0_MINUS_1: u32 = 0x9280_0000;
/// `mov x9, #4096`, `sub x9, x9, #1`, `cbnz x9`, and back to the start of [`TELL`].
const PAUSE_AND_BACK: [u32; 4] = [0xd282_0009, 0xd100_0529, 0xb5ff_ffe9, 0x17ff_fffb];
/// `wfi`, and back to it.
const IDLE: [u32; 2] = [0xd503_207f, 0x17ff_ffff];

/// Writes the magic number of the link page, as the monitor does when it starts a partition.
fn start_partition() -> Vec<u32> {
    let part = |part: u32| (LINK_MAGIC >> (16 * part)) as u32 & 0xffff;
    let opcode = |at| if at == 0 { MOVZ_X4 } else { MOVK_X4 };
    let load = |at: u32| opcode(at) | at << 21 | part(at) << 5;
    let mut code: Vec<u32> = (0..4).map(load).collect();
    code.extend([movz_high(5, (LINK >> 16) as u32), STR_X4_X5]);
    code
}

/// An arm64 `Image` that prints `line` on the UART and then runs `rest`.
fn image(line: &str, rest: &[u32]) -> Vec<u8> {
    let mut header = [0u32; 16];
    header[0] = 0x1400_0010;
    header[14] = u32::from_le_bytes(*b"ARM\x64");
    let mut code = header.to_vec();
    code.extend([movz_high(1, (HEARTBEAT >> 16) as u32), movz_high(2, 0x0900)]);
    code.extend(
        line.bytes()
            .flat_map(|byte| [movz(3, byte.into()), STRB_W3_X2]),
    );
    code.extend(rest);
    code.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("bulkhead-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn emulator() -> Emulator {
    Emulator {
        program: "qemu-system-aarch64".into(),
        minimum_version: "7.2".into(),
        machine: "virt,virtualization=on,gic-version=3,its=off".into(),
        cpu: "cortex-a72".into(),
        is_cpu_fixed: false,
        cores: 1,
        options: Vec::new(),
    }
}

fn partition() -> PartitionManifest {
    let page = |number: u64| HEARTBEAT + number * 0x1_0000;
    PartitionManifest {
        name: "teller".into(),
        kind: "rtos".into(),
        criticality: "A".into(),
        standby: None,
        cores: vec![0],
        memory: vec![Region {
            pa: BASE,
            size: 64 << 20,
        }],
        link: LINK,
        status: page(2),
        heartbeat: HEARTBEAT,
        console: None,
        traces: Vec::new(),
        component_log: None,
        doorbells: Vec::new(),
        announces: false,
        has_agent: false,
        heartbeat_ns: None,
        foreseen: Vec::new(),
        deadlines: Default::default(),
        bounds: Default::default(),
        program: None,
        components: Vec::new(),
    }
}

fn manifest(for_ns: Option<u64>) -> Manifest {
    Manifest {
        name: "flat".into(),
        image: "boot.img".into(),
        digest: String::new(),
        machine: Machine {
            board: "qemu-virt".into(),
            emulator: Some(emulator()),
            cores: 1,
            spare_cores: Vec::new(),
            memory: vec![Region {
                pa: BASE,
                size: 1 << 30,
            }],
            memory_size: 128 << 20,
            counter_hz: 62_500_000,
            rtc: Some(0x0901_0000),
            devices: Vec::new(),
            forwards: Vec::new(),
        },
        for_ns,
        virtual_clock: true,
        partitions: vec![partition()],
        channels: Vec::new(),
        waive: Vec::new(),
        injected: Vec::new(),
        confined: None,
        paths: Vec::new(),
        sizes: Sizes {
            streams: 0,
            monitor_text: 0,
            monitor_rodata: 0,
            monitor_data: 0,
            stacks: 0,
            boot: 0,
            config: 0,
            el2_tables: 0,
            stage2_tables: vec![0],
        },
    }
}

#[derive(Default)]
struct Collector {
    lines: Vec<(String, String)>,
    notices: Vec<String>,
}

impl Observer for Collector {
    fn line(&mut self, name: &str, text: &str) {
        self.lines.push((name.into(), text.into()));
    }
    fn live(&mut self, _: &bulkhead_run::report::Live) {}
    fn notice(&mut self, text: &str) {
        self.notices.push(text.into());
    }
}

fn run_image(
    name: &str,
    image: &[u8],
    for_ns: Option<u64>,
    patience: Duration,
) -> (Result<Report, RunError>, Collector) {
    let folder = folder(name);
    std::fs::write(folder.join("boot.img"), image).unwrap();
    let manifest = manifest(for_ns);
    let options = RunOptions {
        patience,
        ..RunOptions::of_manifest(&manifest)
    };
    let mut collector = Collector::default();
    let report = run(
        &manifest,
        &folder,
        &options,
        &mut collector,
        &AtomicBool::new(false),
    );
    std::fs::remove_dir_all(&folder).unwrap();
    (report, collector)
}

const PATIENCE: Duration = Duration::from_secs(60);
const TELL: [u32; 6] = [
    MRS_X0_CNTVCT,
    STR_X0_X1,
    PAUSE_AND_BACK[0],
    PAUSE_AND_BACK[1],
    PAUSE_AND_BACK[2],
    PAUSE_AND_BACK[3],
];

/// Starts the partition and goes on with `code`.
fn started(code: &[u32]) -> Vec<u32> {
    [start_partition().as_slice(), code].concat()
}

#[test]
fn a_run_ends_at_its_length_and_repeats() {
    let image = image("[0.000001] hello\r\n", &started(&TELL));
    let (first, seen) = run_image("length", &image, Some(300_000_000), PATIENCE);
    let (second, _) = run_image("length", &image, Some(300_000_000), PATIENCE);
    let first = first.unwrap();
    assert_eq!(
        seen.lines,
        [("teller".to_owned(), "[0.000001] hello".to_owned())]
    );
    assert_eq!(first.ended, "reached its length");
    assert!(first.length_s >= 0.8, "{}", first.length_s);
    assert!(first.digest.is_some());
    assert_eq!(first.digest, second.unwrap().digest);
    assert_eq!(first.partitions[0].state, "down");
}

#[test]
fn a_liar_does_not_end_the_run() {
    let lie = [&[MOV_X0_MINUS_1, STR_X0_X1], &IDLE[..]].concat();
    let (report, seen) = run_image(
        "liar",
        &image("x\n", &started(&lie)),
        Some(3_000_000_000),
        PATIENCE,
    );
    assert!(report.unwrap().length_s >= 3.0);
    assert_eq!(
        seen.notices,
        ["`teller` lies about the time and is not listened to"]
    );
}

#[test]
fn a_machine_that_never_starts_anything_says_what_it_said() {
    let image = image("configuration refused\n", &IDLE);
    let (report, _) = run_image("refused", &image, Some(60_000_000_000), PATIENCE);
    let error = report.unwrap_err();
    assert_eq!(
        error.to_string(),
        "no partition started: configuration refused"
    );
}

#[test]
fn a_machine_whose_clock_stands_still_is_given_up() {
    // With no patience at all, the pause between two looks is a standstill already.
    let (report, _) = run_image(
        "still",
        &image("x\n", &started(&IDLE)),
        Some(u64::MAX / 2),
        Duration::ZERO,
    );
    assert!(report.unwrap().ended.starts_with("given up"));
}

#[test]
fn interrupting_still_reports() {
    let folder = folder("interrupt");
    std::fs::write(folder.join("boot.img"), image("x\n", &started(&TELL))).unwrap();
    let manifest = manifest(None);
    let interrupted = AtomicBool::new(false);
    let report = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(500));
            interrupted.store(true, Ordering::Relaxed);
        });
        run(
            &manifest,
            &folder,
            &RunOptions::of_manifest(&manifest),
            &mut (),
            &interrupted,
        )
    });
    let report = report.unwrap();
    assert_eq!(
        (report.ended.as_str(), report.digest),
        ("interrupted", None)
    );
    assert!(folder.join("run/report.json").exists());
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_missing_processor_is_named() {
    let folder = folder("feature");
    std::fs::write(folder.join("boot.img"), image("x\n", &started(&TELL))).unwrap();
    let mut manifest = manifest(None);
    let emulator = manifest.machine.emulator.as_mut();
    emulator.expect("emulated").cpu = "cortex-a999".into();
    let options = RunOptions::of_manifest(&manifest);
    let error = run(
        &manifest,
        &folder,
        &options,
        &mut (),
        &AtomicBool::new(false),
    )
    .unwrap_err();
    assert_eq!(
        error.to_string(),
        "`qemu-system-aarch64` has no processor `cortex-a999`"
    );
    std::fs::remove_dir_all(&folder).unwrap();
}
