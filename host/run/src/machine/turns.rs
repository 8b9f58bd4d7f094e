//! What is loaded into the emulator so that counted time repeats: `turns.c`
//!
//! `doc/design/0005-the-emulator-takes-turns.md`.

use std::path::Path;

use super::command::Timing;
use crate::RunError;

/// Compiled from `turns.c` by the build script.
const LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/turns.so"));
const FILE: &str = "turns.so";

/// The variable that has the emulator load the library, relative to the run folder, its working
/// directory: the whole path may contain what `LD_PRELOAD` cannot.
pub(super) fn environment(timing: Timing) -> Option<(&'static str, &'static str)> {
    match timing {
        Timing::Virtual { .. } => Some(("LD_PRELOAD", "./turns.so")),
        Timing::Real => None,
    }
}

/// Puts the library into the run folder.
pub(super) fn write(folder: &Path) -> Result<(), RunError> {
    let path = folder.join(FILE);
    std::fs::write(&path, LIBRARY).map_err(RunError::file(path))
}

/// Whether process `pid` has loaded the library: a statically linked emulator does not, nor any from
/// a file system that forbids execution.
pub(super) fn is_loaded(pid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/maps")).is_ok_and(|maps| maps.contains(FILE))
}
