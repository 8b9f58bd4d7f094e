//! Library that is loaded into the emulator so that counted time repeats: `turns.c`
//!
//! `doc/design/virtual-time.md`.

use object::{File, Object, ObjectSymbol};
use std::path::{Path, PathBuf};

use super::command::Timing;
use crate::error::RunError;

/// Compiled from `turns.c` by the build script.
const LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/turns.so"));
const FILE: &str = "turns.so";
/// Symbols of the emulator that the library needs to set timers there.
const TIMERS: [&str; 4] = [
    "all_cpu_threads_idle",
    "qemu_clock_get_ns",
    "timer_init_full",
    "timer_mod",
];

/// Object that ends a core's turn if no timer of the machine does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EndOfTurn {
    /// A timer that the library sets, rarely while all cores wait.
    Library,
    /// A timer of the emulator's own, at any time: of a network filter.
    Filter,
}

impl EndOfTurn {
    /// The library's where `program` offers timers to its modules, as distributions build it.
    pub(super) fn of(program: &str) -> Self {
        let offers = |path: PathBuf| {
            let bytes = std::fs::read(path).ok()?;
            let file = File::parse(&*bytes).ok()?;
            let offered: Vec<_> = file.dynamic_symbols().collect();
            let has = |name| {
                let mut found = offered.iter().filter(|symbol| symbol.is_definition());
                found.any(|symbol| symbol.name() == Ok(name))
            };
            Some(TIMERS.into_iter().all(has))
        };
        match path_of(program).and_then(offers) {
            Some(true) => Self::Library,
            _ => Self::Filter,
        }
    }
}

/// Path of a program that is named as in a shell.
fn path_of(program: &str) -> Option<PathBuf> {
    if program.contains('/') {
        return Some(program.into());
    }
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders)
        .map(|folder| folder.join(program))
        .find(|path| path.is_file())
}

/// Variables that have the emulator load the library, relative to the run folder, its working directory: the
/// whole path may contain what `LD_PRELOAD` cannot.
pub(super) fn environment(timing: Timing, end: EndOfTurn) -> Vec<(&'static str, String)> {
    let Timing::Virtual { slice_us, .. } = timing else {
        return Vec::new();
    };
    let mut list = vec![("LD_PRELOAD", format!("./{FILE}"))];
    if end == EndOfTurn::Library {
        list.push(("BULKHEAD_TURN_NS", format!("{slice_us}000")));
    }
    list
}

/// Puts the library into the run folder.
pub(super) fn write(folder: &Path) -> Result<(), RunError> {
    let path = folder.join(FILE);
    std::fs::write(&path, LIBRARY).map_err(RunError::file(path))
}

/// Returns `true` if process `pid` has loaded the library: a statically linked emulator does not, nor one from
/// a file system that forbids execution.
pub(super) fn is_loaded(pid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/maps")).is_ok_and(|maps| maps.contains(FILE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_emulator_offers_no_timers() {
        for program in ["sh", "/proc/version", "no-such-program"] {
            assert_eq!(EndOfTurn::of(program), EndOfTurn::Filter, "{program}");
        }
    }
}
