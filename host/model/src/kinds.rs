//! Kinds and levels that a description chooses from

use std::path::PathBuf;

/// The clock a run goes by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// Instruction-counted virtual time: repeats bit by bit.
    Virtual,
    /// The host's wall clock: for interactive use.
    Real,
}

/// Criticality, highest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Criticality {
    /// Highest.
    A,
    /// Second.
    B,
    /// Third.
    C,
    /// Fourth.
    D,
    /// Quality-managed only: nothing safe may depend on it.
    Qm,
}

/// Kind of software in a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An image for Bulkhead's own runtime or kernel.
    Rtos,
    /// Linux, with a generated device tree.
    Linux,
    /// Any flat or ELF image with an entry point.
    Image,
}

/// Kind of a VCPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KindDraft {
    Main,
    Io,
    Reservation,
}

/// True if something goes straight to the hardware or through the monitor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trapping {
    /// Untrapped.
    Direct,
    /// Through the monitor, counted.
    Trap,
}

/// Source of a component's program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Program {
    /// A crate of the workspace.
    Crate(String),
    /// An ELF file.
    File(PathBuf),
    /// A folder with a crate or C files of one's own.
    Folder(Folder),
}

/// A folder with a program of one's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder {
    /// The folder.
    pub path: PathBuf,
    /// C and C++ files beside those of the folder: files, or folders of which all are compiled.
    pub sources: Vec<PathBuf>,
    /// Folders of further headers.
    pub include: Vec<PathBuf>,
    /// Macros, `NAME` or `NAME=VALUE`.
    pub define: Vec<String>,
}
