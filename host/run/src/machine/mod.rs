//! The emulated machine: started frozen, let go, frozen again, ended
//!
//! All talk with the emulator happens before the first and after the last instruction that counts:
//! nothing is asked of it in between, so that nothing in the run depends on the host. (The clock is
//! read through it only where no partition tells the time; that reads one register.)

mod command;
mod folder;
mod gateway;
mod host_timed;
mod process;
mod program;
mod qmp;
mod turns;

pub(crate) use command::emulator;
pub use command::{Command, DEFAULT_SHIFT, DEFAULT_SLICE_US, Load, Timing};
pub use folder::{RunFolder, Session};
pub(crate) use host_timed::host_timed;
pub use program::check_program;

use bulkhead_abi::dispatch::Scb;
use bulkhead_abi::kernel::SCB_ADDRESS;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::mem::offset_of;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::error::RunError;
use gateway::Gateway;
use qmp::Qmp;
use turns::EndOfTurn;
pub use turns::Turns;

/// Output of the emulator, beside the report.
const EMULATOR_LOG: &str = "emulator.log";
/// How it was started, for repeating it by hand.
const COMMAND_FILE: &str = "emulator.sh";
/// How long an answer may take; a loaded host is slow, not dead.
const PATIENCE: Duration = Duration::from_secs(60);
/// Longest wait for an answer while a run is watched; a missing answer is no error there.
const GLANCE: Duration = Duration::from_secs(1);
/// How long the emulator may take to end after it was told to.
const GRACE: Duration = Duration::from_secs(5);

/// A running emulator; ends with this value, whatever happens.
#[derive(Debug)]
pub struct Machine {
    child: Child,
    control: Qmp,
    /// The ways to it from the host, for as long as it runs.
    _gateways: Vec<Gateway>,
    /// The emulator has not answered the last request.
    is_silent: bool,
    /// The folder in which it runs.
    folder: PathBuf,
}

impl Machine {
    /// Starts the emulator in `folder`, with the machine frozen before its first instruction.
    ///
    /// # Errors
    /// The program is missing or too old, lacks something, or refuses its command line.
    pub fn start(command: &Command, folder: &Path) -> Result<Self, RunError> {
        let end = EndOfTurn::of(&command.program);
        let machine = Self::start_with(command, folder, end)?;
        let is_virtual = matches!(command.timing, Timing::Virtual { .. });
        if is_virtual && end == EndOfTurn::Library && !machine.is_repeatable() {
            drop(machine);
            return Self::start_with(command, folder, EndOfTurn::Filter);
        }
        Ok(machine)
    }

    fn start_with(command: &Command, folder: &Path, end: EndOfTurn) -> Result<Self, RunError> {
        let (ours, theirs) = UnixStream::pair().map_err(RunError::file(folder))?;
        let log_file = folder.join(EMULATOR_LOG);
        let arguments = command.arguments(theirs.as_raw_fd(), end);
        let command_file = folder.join(COMMAND_FILE);
        std::fs::write(&command_file, command.script(&arguments, end))
            .map_err(RunError::file(&command_file))?;
        let log = File::create(&log_file).map_err(RunError::file(&log_file))?;
        turns::write(folder)?;
        let variables = turns::environment(command.timing, end);
        let gateways = command.forwards.iter();
        let gateways = gateways.map(|forward| Gateway::open(folder, forward));
        let gateways = gateways.collect::<Result<_, _>>()?;
        let child = spawn(command, (&arguments, variables), folder, &log, &theirs)?;
        drop(theirs);
        let mut machine = Self {
            child,
            control: Qmp::new(ours),
            _gateways: gateways,
            is_silent: false,
            folder: folder.into(),
        };
        match machine.ask(PATIENCE, Qmp::greet) {
            Ok(()) => Ok(machine),
            Err(_) => Err(program::diagnose(command, &log_file, &command_file)),
        }
    }

    /// Lets the machine go.
    ///
    /// # Errors
    /// The emulator is gone.
    pub fn resume(&mut self) -> Result<(), RunError> {
        self.ask(PATIENCE, |control| control.execute("cont"))
            .map(drop)
    }

    /// Freezes the machine: its memory no longer changes. Where it left the last question unanswered it
    /// is not asked again.
    ///
    /// # Errors
    /// The emulator is gone, or does not answer.
    pub fn freeze(&mut self) -> Result<(), RunError> {
        if self.is_silent {
            return Err(silent(&ErrorKind::TimedOut.into()));
        }
        self.ask(PATIENCE, |control| control.execute("stop"))
            .map(drop)
    }

    /// A 32-bit register of a device, by physical address.
    ///
    /// # Errors
    /// The emulator is gone or does not answer, or there is no such register.
    pub fn register(&mut self, pa: u64) -> Result<u32, RunError> {
        self.ask(PATIENCE, |control| control.examine_word(pa))
    }

    /// Reads a register if the emulator answers at once: a guest that takes exceptions without executing anything keeps the
    /// emulator from answering.
    ///
    /// # Errors
    /// The emulator is gone, or there is no such register.
    pub fn glance(&mut self, pa: u64) -> Result<Option<u32>, RunError> {
        match self.ask(GLANCE, |control| control.examine_word(pa)) {
            Err(_) if self.is_silent => Ok(None),
            answer => answer.map(Some),
        }
    }

    /// Instructions that a core of the frozen machine executes at EL0; `None` if the core is at another exception level, or the
    /// emulator does not answer.
    pub fn component_code(&mut self, core: usize) -> Option<ComponentCode> {
        const EXCEPTION_LEVEL: u64 = 0xC;
        if self.is_silent {
            return None;
        }
        let [pc, state] = self.ask(PATIENCE, |control| control.state(core)).ok()?;
        if state & EXCEPTION_LEVEL != 0 {
            return None;
        }
        let words = ComponentCode::WORDS;
        let code = self.ask(PATIENCE, |control| control.examine_virtual(core, pc, words));
        let thread = self.ask(PATIENCE, |control| {
            control.examine_virtual(core, SCB_ADDRESS + offset_of!(Scb, current) as u64, 1)
        });
        Some(ComponentCode {
            core,
            pc,
            code: code.ok()?,
            thread: thread.ok().and_then(|words| words.first().copied()),
        })
    }

    fn ask<T>(
        &mut self,
        patience: Duration,
        question: impl FnOnce(&mut Qmp) -> io::Result<T>,
    ) -> Result<T, RunError> {
        let patient = self.control.be_patient(patience);
        let answer = patient.and_then(|()| question(&mut self.control));
        let kind = answer.as_ref().err().map(io::Error::kind);
        self.is_silent = matches!(kind, Some(ErrorKind::WouldBlock | ErrorKind::TimedOut));
        answer.map_err(|error| silent(&error))
    }

    /// Turns of the machine's cores so far; none where the cores run in parallel.
    #[must_use]
    pub fn turns(&self, cores: usize) -> Turns {
        Turns::read(&self.folder, cores)
    }

    /// Returns `true` if counted time repeats bit by bit in this emulator.
    #[must_use]
    pub fn is_repeatable(&self) -> bool {
        turns::is_loaded(self.pid())
    }

    /// Returns `true` if the emulator ended by itself.
    pub fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// Process id of the emulator.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Ends the machine in an orderly way, if it answers: what the emulator still has to write it writes.
    pub fn quit(mut self) {
        if self.is_silent {
            return;
        }
        // Whether or not it could still be told: `drop` makes sure.
        let _ = self.ask(GRACE, |control| control.execute("quit"));
        let deadline = Instant::now() + GRACE;
        while !self.has_ended() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

/// A core at EL0, as the emulator shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComponentCode {
    /// The core.
    pub core: usize,
    /// Program counter.
    pub pc: u64,
    /// Instructions from there on: components have the same addresses, and differ in their code.
    pub code: Vec<u32>,
    /// Word in which a component with threads of its own has the index of the running one.
    pub thread: Option<u32>,
}

impl ComponentCode {
    /// Instructions that are read.
    const WORDS: usize = 16;
}

impl Drop for Machine {
    fn drop(&mut self) {
        if !self.has_ended() {
            // It cannot refuse SIGKILL, so waiting ends.
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

fn silent(error: &io::Error) -> RunError {
    RunError::EmulatorSilent {
        message: error.to_string(),
    }
}

fn spawn(
    command: &Command,
    (arguments, variables): (&[String], Vec<(&str, String)>),
    folder: &Path,
    log: &File,
    control: &UnixStream,
) -> Result<Child, RunError> {
    let log_file = folder.join(EMULATOR_LOG);
    let mut program = std::process::Command::new(&command.program);
    program
        .args(arguments)
        .envs(variables)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(log.try_clone().map_err(RunError::file(&log_file))?)
        .stderr(log.try_clone().map_err(RunError::file(&log_file))?);
    process::bind_to_parent(&mut program, &[command.ram_fd, control.as_fd().as_raw_fd()]);
    program.spawn().map_err(|error| match error.kind() {
        ErrorKind::NotFound => RunError::EmulatorMissing {
            program: command.program.clone(),
        },
        _ => RunError::File {
            path: command.program.clone().into(),
            source: error,
        },
    })
}
