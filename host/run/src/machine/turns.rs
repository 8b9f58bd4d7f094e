//! Library that is loaded into the emulator so that counted time repeats: `turns.c`
//!
//! `doc/design/virtual-time.md`.

use bulkhead_abi::PAGE_SIZE;
use object::{File, Object, ObjectSymbol};
use std::path::{Path, PathBuf};

use super::command::Timing;
use crate::error::RunError;

/// Compiled from `turns.c` by the build script.
const LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/turns.so"));
const FILE: &str = "turns.so";
/// File into which the library records turns.
const RECORD: &str = "turns";
/// Words of a core in the record: turns, and nanoseconds of the machine's clock in them. The word before is the core that has its turn.
const WORDS: usize = 2;
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
    let mut list = vec![
        ("LD_PRELOAD", format!("./{FILE}")),
        ("BULKHEAD_TURNS", format!("./{RECORD}")),
    ];
    if end == EndOfTurn::Library {
        list.push(("BULKHEAD_TURN_NS", format!("{slice_us}000")));
    }
    list
}

/// Puts the library into the run folder, and an empty record.
pub(super) fn write(folder: &Path) -> Result<(), RunError> {
    for (name, bytes) in [(FILE, LIBRARY), (RECORD, &[0; PAGE_SIZE as usize])] {
        let path = folder.join(name);
        std::fs::write(&path, bytes).map_err(RunError::file(path))?;
    }
    Ok(())
}

/// Turns of the emulated cores so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Turns {
    /// The core that has its turn.
    pub current: Option<usize>,
    /// Turns and nanoseconds in them, by core.
    pub cores: Vec<[u64; WORDS]>,
}

impl Turns {
    /// Reads the record in a run folder; empty where the emulator writes none.
    pub(super) fn read(folder: &Path, cores: usize) -> Self {
        let bytes = std::fs::read(folder.join(RECORD)).unwrap_or_default();
        let (words, _) = bytes.as_chunks();
        let mut words = words.iter().map(|word| u64::from_le_bytes(*word));
        let current = words.next().and_then(|number| number.checked_sub(1));
        let words: Vec<_> = words.take(cores * WORDS).collect();
        Self {
            current: current.and_then(|core| usize::try_from(core).ok()),
            cores: words.as_chunks().0.to_vec(),
        }
    }

    /// The core that took most of the machine's time since `former`, and the average length of its turns, nanoseconds.
    pub fn busiest_since(&self, former: &Self) -> Option<(usize, u64)> {
        let both = self.cores.iter().zip(&former.cores).enumerate();
        let since = both.map(|(core, (now, then))| {
            let [turns, ns] = [0, 1].map(|word| now[word].saturating_sub(then[word]));
            (ns, turns, core)
        });
        let (ns, turns, core) = since.max()?;
        (ns > 0).then(|| (core, ns / turns.max(1)))
    }
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
    fn the_busiest_core_has_the_most_time_since_a_former_record() {
        let turns = |cores: &[[u64; 2]]| Turns {
            current: Some(1),
            cores: cores.to_vec(),
        };
        let former = turns(&[[10, 50_000], [10, 40_000]]);
        let newest = turns(&[[1_010, 50_000], [1_010, 44_000]]);
        assert_eq!(newest.busiest_since(&former), Some((1, 4)));
        assert_eq!(newest.busiest_since(&newest), None);
        assert_eq!(newest.busiest_since(&Turns::default()), None);
    }

    #[test]
    fn what_is_no_emulator_offers_no_timers() {
        for program in ["sh", "/proc/version", "no-such-program"] {
            assert_eq!(EndOfTurn::of(program), EndOfTurn::Filter, "{program}");
        }
    }
}
