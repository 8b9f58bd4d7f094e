//! Errors that keep a system from running, each with a remedy

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
    /// The emulator is too old.
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
        /// Version that the emulator reports.
        found: String,
        /// Version that the board requires.
        needed: String,
    },
    /// The emulator lacks a feature of the board.
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
        /// The missing feature, in the emulator's words.
        feature: String,
    },
    /// Another program listens at a port of the host.
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
        /// Key of the description that names the port.
        key: &'static str,
        /// The port.
        port: u16,
        /// Message of the operating system.
        source: io::Error,
    },
    /// The emulator ended before the machine started.
    #[error("the emulator refused to start: {message}")]
    #[diagnostic(
        code(run::emulator_refused),
        help("the whole command line is in {}, what it said in {}",
             command_file.display(), log_file.display())
    )]
    EmulatorRefused {
        /// Last line of what it said.
        message: String,
        /// File with the command line.
        command_file: PathBuf,
        /// File with the output of the emulator.
        log_file: PathBuf,
    },
    /// The emulator does not answer.
    #[error("the emulator does not answer: {message}")]
    #[diagnostic(
        code(run::emulator_silent),
        help(
            "the machine was ended; run it again, and if it happens again look into the log of \
              the emulator beside the report"
        )
    )]
    EmulatorSilent {
        /// Error of the control connection.
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
        /// Path that was searched.
        places: String,
    },
    /// The machine's memory cannot be made or mapped.
    #[error("the machine's memory cannot be put into {}: {source}", place.display())]
    #[diagnostic(
        code(run::memory),
        help("see that the place exists, has space and may be written by you")
    )]
    Memory {
        /// Path of the file.
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
    /// Another process runs the same system.
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
        /// Kind of the missing object.
        path: PathBuf,
    },
    /// A name that the system does not have.
    #[error("the system has no partition `{name}`")]
    #[diagnostic(code(run::unknown_partition), help("its partitions are {candidates}"))]
    UnknownPartition {
        /// Requested name.
        name: String,
        /// Existing names.
        candidates: String,
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
        /// Message of the boot part.
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
