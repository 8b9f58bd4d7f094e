//! What can keep a system from running, and what to do about it

use miette::Diagnostic;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// Why a run did not start, or ended without results.
#[derive(Debug, Error, Diagnostic)]
pub enum RunError {
    /// The emulator's program is not installed.
    #[error("the emulator `{program}` is not installed")]
    #[diagnostic(
        code(run::emulator_missing),
        help("`make setup` installs it; the Debian package is qemu-system-arm")
    )]
    EmulatorMissing {
        /// Name of the program.
        program: String,
    },
    /// The board is not emulated.
    #[error("board `{board}` is not emulated: its file has no `[emulator]`")]
    #[diagnostic(
        code(run::no_emulator),
        help(
            "load the boot image on the board itself (doc/porting.md), or run the system on another board"
        )
    )]
    NoEmulator {
        /// The board.
        board: String,
    },
    /// It is too old.
    #[error("`{program}` is version {found}, but the board needs {needed} or later")]
    #[diagnostic(
        code(run::emulator_too_old),
        help(
            "install a newer one (Debian 12 and later have it), or put it first in PATH; \
             a container with the right one: see Containerfile"
        )
    )]
    EmulatorTooOld {
        /// Name of the program.
        program: String,
        /// What it says it is.
        found: String,
        /// What the board asks for.
        needed: String,
    },
    /// It cannot do what the board needs.
    #[error("`{program}` has no {feature}")]
    #[diagnostic(
        code(run::emulator_feature_missing),
        help(
            "this build of the emulator was configured without it; use the distribution's own \
             package qemu-system-arm"
        )
    )]
    FeatureMissing {
        /// Name of the program.
        program: String,
        /// What it lacks, in its own words.
        feature: String,
    },
    /// Somebody else listens at a port of the host.
    #[error(
        "nothing can be forwarded to `{device}`: port {port} of the host cannot be listened at"
    )]
    #[diagnostic(
        code(run::port),
        help(
            "another program has it, perhaps a run of this system; end that, or choose another with \
             `--set device.{device}.{key}=[…]`"
        )
    )]
    Port {
        /// The device.
        device: String,
        /// What of it is to be set.
        key: &'static str,
        /// The port.
        port: u16,
        /// What the host says.
        source: io::Error,
    },
    /// It ended before the machine started.
    #[error("the emulator refused to start: {message}")]
    #[diagnostic(
        code(run::emulator_refused),
        help("the whole command line is in {}, what it said in {}",
             command_file.display(), log_file.display())
    )]
    EmulatorRefused {
        /// Last line of what it said.
        message: String,
        /// Where the command line is written.
        command_file: PathBuf,
        /// Where all it said is written.
        log_file: PathBuf,
    },
    /// It does not answer.
    #[error("the emulator does not answer: {message}")]
    #[diagnostic(
        code(run::emulator_silent),
        help(
            "the machine was ended; run it again, and if it happens again look into the log of \
              the emulator beside the report"
        )
    )]
    EmulatorSilent {
        /// What went wrong on the control connection.
        message: String,
    },
    /// No place for the machine's memory.
    #[error("the machine may use {} MiB of memory, and neither {places} has room for it", needed >> 20)]
    #[diagnostic(
        code(run::no_space),
        help("free some space there, or give the partitions less memory in the description")
    )]
    NoSpace {
        /// Bytes.
        needed: u64,
        /// Where it was looked for.
        places: String,
    },
    /// The machine's memory cannot be made or mapped.
    #[error("the machine's memory cannot be put into {}: {source}", place.display())]
    #[diagnostic(
        code(run::memory),
        help("see that the place exists, has space and may be written by you")
    )]
    Memory {
        /// Where.
        place: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The manifest names memory that the machine does not have.
    #[error("the manifest names memory at {pa:#x} (+{size:#x}) that the machine does not have")]
    #[diagnostic(
        code(run::manifest_mismatch),
        help("the build is damaged or from another version: `bulkhead build` makes it anew")
    )]
    Outside {
        /// Physical address.
        pa: u64,
        /// Bytes.
        size: u64,
    },
    /// The same system already runs.
    #[error("the system `{system}` already runs (process {pid})")]
    #[diagnostic(
        code(run::already_running),
        help("`bulkhead stop {system}` ends it; `bulkhead console` attaches to it")
    )]
    AlreadyRunning {
        /// Name of the system.
        system: String,
        /// Of the tool that runs it.
        pid: u32,
    },
    /// The system does not run.
    #[error("the system `{system}` does not run")]
    #[diagnostic(
        code(run::not_running),
        help("start it with `bulkhead run` and repeat the command in another terminal")
    )]
    NotRunning {
        /// Name of the system.
        system: String,
    },
    /// Nothing was ever run or built there.
    #[error("there is no {what} of the system `{system}` ({} is missing)", path.display())]
    #[diagnostic(code(run::nothing_there), help("`bulkhead run` makes one"))]
    NothingThere {
        /// `report`, `build`.
        what: &'static str,
        /// Name of the system.
        system: String,
        /// What was looked for.
        path: PathBuf,
    },
    /// A name that the system does not have.
    #[error("the system has no partition `{name}`")]
    #[diagnostic(code(run::unknown_partition), help("its partitions are {known}"))]
    UnknownPartition {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// A partition that cannot be typed to.
    #[error("partition `{name}` takes no console input")]
    #[diagnostic(
        code(run::no_input),
        help("give it `console = \"memory\"`, `\"emulated\"` or a UART in the description")
    )]
    NoInput {
        /// Its name.
        name: String,
    },
    /// Input did not fit.
    #[error("partition `{name}` does not read its console: {rest} bytes were not taken")]
    #[diagnostic(
        code(run::input_full),
        help("`bulkhead counters` tells whether it is up; try again when it is")
    )]
    InputFull {
        /// Its name.
        name: String,
        /// Bytes left.
        rest: usize,
    },
    /// The boot part refused, or nothing ever started.
    #[error("no partition started: {message}")]
    #[diagnostic(
        code(run::boot_failed),
        help(
            "what the board file says wrongly is corrected there; `bulkhead build` then makes a fresh boot image"
        )
    )]
    BootFailed {
        /// What the boot part said.
        message: String,
    },
    /// A file that the tool needs cannot be read or written.
    #[error("{}: {source}", path.display())]
    #[diagnostic(
        code(run::file),
        help("see that the file's folder exists, has space and may be written by you")
    )]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file that the tool wrote earlier does not parse.
    #[error("{} is damaged: {message}", path.display())]
    #[diagnostic(
        code(run::damaged),
        help("remove it and repeat the command that made it")
    )]
    Damaged {
        /// Which.
        path: PathBuf,
        /// Why.
        message: String,
    },
}

impl RunError {
    /// For `map_err` on files.
    pub fn file(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { path, source }
    }
}
