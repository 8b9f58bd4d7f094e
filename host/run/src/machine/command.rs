//! The emulator's command line
//!
//! A pure function of the manifest and of what the user asked for. Paths are relative to the run
//! folder, which is the emulator's working directory, so that no path is too long for a socket and
//! none has a comma.

use bulkhead_plan::manifest::{Emulator, Forward, Manifest};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

use super::turns::{self, EndOfTurn};
use crate::error::RunError;

/// Name of the UART's socket in the run folder.
pub(crate) const UART_SOCKET: &str = "uart.sock";
/// Name of the UART's log in the run folder.
pub(crate) const UART_LOG: &str = "uart.log";

/// Four nanoseconds per instruction.
pub const DEFAULT_SHIFT: u8 = 2;

/// A core that became ready waits for one turn of each other core at most.
pub const DEFAULT_SLICE_US: u32 = 5;

/// How time passes in the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Timing {
    /// One instruction takes `1 << shift` nanoseconds on every core; cores take turns of at most
    /// `slice_us` microseconds.
    Virtual {
        /// Binary logarithm of nanoseconds per instruction.
        shift: u8,
        /// Longest turn of a core, microseconds. Ten times that where no core waits for a turn: the end of
        /// turns lets time pass while all cores wait for interrupts and no timer runs.
        slice_us: u32,
    },
    /// The host's wall clock, cores in parallel.
    Real,
}

impl Timing {
    /// Timing of the showcase: four cores at about 62 MIPS each if all are busy.
    pub const DEFAULT: Self = Self::Virtual {
        shift: DEFAULT_SHIFT,
        slice_us: DEFAULT_SLICE_US,
    };

    /// Instruction counts on one core.
    #[must_use]
    pub const fn path(shift: u8) -> Self {
        Self::Virtual {
            shift,
            slice_us: 10_000,
        }
    }
}

/// Files that are loaded into the machine before it starts.
#[derive(Clone, Debug)]
pub enum Load {
    /// A boot image with an arm64 `Image` header.
    BootImage(PathBuf),
    /// Files at physical addresses; core 0 starts at `entry`.
    Files {
        /// Files and where they go.
        files: Vec<(PathBuf, u64)>,
        /// Physical address of the first instruction.
        entry: u64,
    },
}

/// The machine and what it runs.
#[derive(Clone, Debug)]
pub struct Command {
    /// Emulator program.
    pub program: String,
    /// `-M`.
    pub machine: String,
    /// Model of the processor.
    pub cpu: String,
    /// `true` if the machine has no other processor: no option selects it.
    pub is_cpu_fixed: bool,
    /// Frequency of its generic timer, Hz.
    pub counter_hz: u64,
    /// Cores.
    pub cores: usize,
    /// Bytes of memory.
    pub memory_size: u64,
    /// Open file that is the memory.
    pub ram_fd: i32,
    /// Options that plug devices into it.
    pub devices: Vec<String>,
    /// Ports of the host that lead to some of them.
    pub forwards: Vec<Forward>,
    /// The boot image.
    pub load: Load,
    /// How time passes.
    pub timing: Timing,
    /// File in which the emulator logs each exception.
    pub interrupt_log: Option<PathBuf>,
}

impl Command {
    /// The machine of `manifest`, running the boot image at `image`.
    ///
    /// # Errors
    /// The board has no emulator.
    pub fn of_manifest(
        manifest: &Manifest,
        image: &Path,
        ram_fd: i32,
        timing: Timing,
    ) -> Result<Self, RunError> {
        let machine = &manifest.machine;
        let emulator = emulator(manifest)?;
        let forwards = match timing {
            // What comes from the host comes at the host's time.
            Timing::Real => machine.forwards.clone(),
            Timing::Virtual { .. } => Vec::new(),
        };
        let options = forwards.iter().flat_map(|forward| &forward.options);
        let devices = machine.devices.iter().chain(options);
        Ok(Self {
            program: emulator.program.clone(),
            machine: emulator.machine.clone(),
            cpu: emulator.cpu.clone(),
            is_cpu_fixed: emulator.is_cpu_fixed,
            counter_hz: machine.counter_hz,
            cores: emulator.cores,
            memory_size: machine.memory_size,
            ram_fd,
            devices: emulator.options.iter().chain(devices).cloned().collect(),
            forwards,
            load: Load::BootImage(image.into()),
            timing,
            interrupt_log: None,
        })
    }

    /// The arguments, with the control connection on the open file `control_fd`.
    pub(super) fn arguments(&self, control_fd: i32, end: EndOfTurn) -> Vec<String> {
        let mut list = self.hardware();
        list.extend(self.devices.clone());
        list.extend(self.connections(control_fd));
        list.extend(self.timing(end));
        list.extend(self.contents());
        if let Some(path) = &self.interrupt_log {
            list.extend(words(&["-d", "int", "-D"]));
            list.push(path.display().to_string());
        }
        list
    }

    /// A script that shows how the emulator was started.
    pub(super) fn script(&self, arguments: &[String], end: EndOfTurn) -> String {
        let quote = |word: &String| format!("'{}'", word.replace('\'', "'\\''"));
        let quoted: Vec<String> = arguments.iter().map(quote).collect();
        let variables = turns::environment(self.timing, end).into_iter();
        let environment: String = variables
            .map(|(name, value)| format!("{name}={value} "))
            .collect();
        format!(
            "#!/bin/sh\n# How the tool started the emulator. By hand: leave out `-S` and the\n\
             # options that name a descriptor (/proc/self/fd, fd=).\n{environment}exec {} {}\n",
            self.program,
            quoted.join(" ")
        )
    }

    /// Features that the emulator must offer: query, expected word, name for messages.
    pub(super) fn features(&self) -> Vec<(Vec<&str>, &str, String)> {
        let machine = self.machine.split(',').next().unwrap_or_default();
        let mut list = vec![
            (
                vec!["-machine", "help"],
                machine,
                format!("machine `{machine}`"),
            ),
            (
                vec!["-object", "help"],
                "memory-backend-file",
                "memory in a file (object memory-backend-file)".into(),
            ),
        ];
        if matches!(self.timing, Timing::Virtual { .. }) {
            let what = "timer for fair virtual time (object filter-buffer)".into();
            list.push((vec!["-object", "help"], "filter-buffer", what));
        }
        let options = self.devices.chunks(2);
        let plugged = options.filter_map(|option| match option {
            [option, what] if option == "-device" => what.split(',').next(),
            _ => None,
        });
        for model in plugged {
            let name = format!("device `{model}`");
            list.push((vec!["-device", "help"], model, name));
        }
        let cpu = self.cpu.split(',').next().unwrap_or_default();
        list.push((
            vec!["-machine", machine, "-cpu", "help"],
            cpu,
            format!("processor `{cpu}`"),
        ));
        list
    }

    fn hardware(&self) -> Vec<String> {
        let mut list = words(&[
            "-nodefaults",
            "-no-user-config",
            "-no-reboot",
            "-display",
            "none",
        ]);
        list.extend(words(&["-seed", "1", "-S", "-M"]));
        list.push(format!("{},memory-backend=ram", self.machine));
        list.extend(self.processor());
        list.extend(["-smp".into(), self.cores.to_string()]);
        list.extend([
            "-m".into(),
            format!("{}M", self.memory_size >> 20),
            "-object".into(),
        ]);
        list.push(format!(
            "memory-backend-file,id=ram,size={},mem-path=/proc/self/fd/{},share=on",
            self.memory_size, self.ram_fd
        ));
        list
    }

    /// The board's processor and timer frequency, whatever they are by default in this version.
    fn processor(&self) -> [String; 2] {
        let Self {
            cpu, counter_hz, ..
        } = self;
        if self.is_cpu_fixed {
            let model = cpu.split(',').next().unwrap_or_default();
            let property = format!("{model}-arm-cpu.cntfrq={counter_hz}");
            return ["-global".into(), property];
        }
        ["-cpu".into(), format!("{cpu},cntfrq={counter_hz}")]
    }

    fn connections(&self, control_fd: i32) -> Vec<String> {
        vec![
            "-chardev".into(),
            format!("socket,id=control,fd={control_fd}"),
            "-mon".into(),
            "chardev=control,mode=control".into(),
            "-chardev".into(),
            format!("socket,id=uart,path={UART_SOCKET},server=on,wait=off,logfile={UART_LOG}"),
            "-serial".into(),
            "chardev:uart".into(),
        ]
    }

    /// Virtual time is fair between cores because a timer inside the emulator ends each turn: one of `turns.c`,
    /// or the release timer of a network filter on a network without cards.
    fn timing(&self, end: EndOfTurn) -> Vec<String> {
        let Timing::Virtual { shift, slice_us } = self.timing else {
            return words(&["-accel", "tcg,thread=multi", "-rtc", "base=utc"]);
        };
        let mut list = words(&["-rtc", "base=2026-01-01,clock=vm", "-icount"]);
        list.push(format!("shift={shift},sleep=off"));
        // By its name `turns.c` knows the processor thread.
        list.extend(words(&["-name", "debug-threads=on"]));
        if end == EndOfTurn::Filter {
            list.extend(words(&["-netdev", "hubport,id=turns,hubid=0", "-object"]));
            list.push(format!(
                "filter-buffer,id=turn,netdev=turns,interval={slice_us}"
            ));
        }
        list
    }

    fn contents(&self) -> Vec<String> {
        match &self.load {
            Load::BootImage(path) => vec!["-kernel".into(), path.display().to_string()],
            Load::Files { files, entry } => {
                let file = |(path, pa): &(PathBuf, u64)| {
                    let path = path.display().to_string().replace(',', ",,");
                    [
                        "-device".into(),
                        format!("loader,file={path},addr={pa:#x},force-raw=on"),
                    ]
                };
                let mut list: Vec<String> = files.iter().flat_map(file).collect();
                list.extend([
                    "-device".into(),
                    format!("loader,addr={entry:#x},cpu-num=0"),
                ]);
                list
            }
        }
    }
}

/// The program that emulates the machine.
///
/// # Errors
/// The board has none.
pub(crate) fn emulator(manifest: &Manifest) -> Result<&Emulator, RunError> {
    let found = manifest.machine.emulator.as_ref();
    found.ok_or_else(|| RunError::NoEmulator {
        board: manifest.machine.board.clone(),
    })
}

fn words(list: &[&str]) -> Vec<String> {
    list.iter().map(ToString::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(timing: Timing) -> Command {
        Command {
            program: "qemu-system-aarch64".into(),
            machine: "virt,its=off".into(),
            cpu: "cortex-a72".into(),
            is_cpu_fixed: false,
            counter_hz: 62_500_000,
            cores: 4,
            memory_size: 2 << 30,
            ram_fd: 7,
            devices: Vec::new(),
            forwards: Vec::new(),
            load: Load::BootImage("boot.img".into()),
            timing,
            interrupt_log: None,
        }
    }

    #[test]
    fn virtual_time_is_counted_and_shared_fairly() {
        let arguments = |end| command(Timing::DEFAULT).arguments(9, end).join(" ");
        assert!(!arguments(EndOfTurn::Library).contains("interval"));
        let text = arguments(EndOfTurn::Filter);
        assert!(text.contains("-icount shift=2,sleep=off"), "{text}");
        assert!(text.contains("netdev=turns,interval=5"), "{text}");
        assert!(text.contains("clock=vm"), "{text}");
        assert!(text.contains("-m 2048M"), "{text}");
        assert!(text.contains("mem-path=/proc/self/fd/7"), "{text}");
    }

    #[test]
    fn a_fixed_processor_is_only_told_its_frequency() {
        let mut fixed = command(Timing::DEFAULT);
        fixed.is_cpu_fixed = true;
        let text = fixed.arguments(9, EndOfTurn::Library).join(" ");
        assert!(
            text.contains("-global cortex-a72-arm-cpu.cntfrq=62500000"),
            "{text}"
        );
        assert!(!text.contains("-cpu "), "{text}");
    }

    #[test]
    fn real_time_is_not_counted() {
        let arguments = command(Timing::Real).arguments(9, EndOfTurn::Library);
        let real = arguments.join(" ");
        assert!(
            real.contains("thread=multi") && !real.contains("icount"),
            "{real}"
        );
    }

    #[test]
    fn the_script_survives_quotes() {
        let mut odd = command(Timing::Real);
        odd.load = Load::BootImage("it's.img".into());
        let script = odd.script(&odd.arguments(9, EndOfTurn::Filter), EndOfTurn::Filter);
        assert!(script.contains(r"'it'\''s.img'"));
    }
}
