//! Random descriptions: `check` must reject or accept them without a panic
//!
//! Mutations of all golden descriptions, by bytes, by lines and by words that mean something. Whatever
//! comes out is checked, shown and turned into JSON; nothing may panic or hang, and what is refused
//! must say why.

use bulkhead_model::render::{Style, render, to_json};
use bulkhead_model::{Overrides, Severity, check};
use bulkhead_sched::harness;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// Mutated descriptions in a normal run, and in a long one.
const CASES: usize = 3_000;
const MANY_CASES: usize = 1_000_000;
/// Threads that share them.
const THREADS: usize = 2;
/// One of so many is also shown as for people, which takes longest.
const SHOW_EVERY: usize = 8;
/// No description may take longer, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// Generator of the cases.
struct Random(harness::Random);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0.below(limit.max(1) as u64) as usize
    }

    fn pick<'a, T: ?Sized>(&mut self, items: &[&'a T]) -> &'a T {
        items[self.below(items.len())]
    }
}

/// Pieces that mean something to the parser or to a rule.
const PIECES: &[&str] = &[
    "[",
    "]",
    "[[",
    "]]",
    "{",
    "}",
    "=",
    ",",
    ".",
    "\"",
    "'",
    "\"\"\"",
    "#",
    "\n",
    "\r\n",
    "\u{0}",
    "\\u0000",
    "\u{202e}",
    "é",
    "\u{feff}",
    "-1",
    "0",
    "1",
    "8",
    "64",
    "0x",
    "0xffff_ffff_ffff_ffff",
    "18446744073709551616",
    "9223372036854775807",
    "1e400",
    "nan",
    "true",
    "1979-05-27",
    "[]",
    "{}",
    "\"\"",
    "\"0 B\"",
    "\"99999 TiB\"",
    "\"1.5 KiB\"",
    "\"1 ns\"",
    "\"999999 h\"",
    "\"host\"",
    "[\"host\"]",
    "[0, 0]",
    "[7]",
    "\"control\"",
    "\"linux\"",
    "\"restart\"",
    "\"alternate\"",
    "\"failover\"",
    "\"inject\"",
    "\"ring\"",
    "\"memory\"",
    "\"recorder\"",
    "\"emulated\"",
    "\"uart0\"",
    "\"pcie\"",
    "\"qemu-virt\"",
    "\"/dev/zero\"",
    "\"/\"",
    "\"..\"",
    "standby = \"control\"\n",
    "cores = [0, 1]\n",
    "cores = 64\n",
    "memory = \"255 GiB\"\n",
    "colours = [0]\n",
    "messages = 4294967295\n",
    "message = \"16777208 B\"\n",
    "from = \"host\"\n",
    "[partition.x]\n",
    "[channel.x]\n",
    "[partition]\n",
    "[system]\n",
    "partition.x.kind = \"rtos\"\n",
    "image = { kernel = \"debian\" }\n",
];

fn corpus(root: &Path) -> Vec<String> {
    let groups = ["accept", "reject", "warn", "note"];
    let folders = groups.iter().flat_map(|group| {
        fs::read_dir(root.join("tests/golden").join(group))
            .unwrap()
            .map(|entry| entry.unwrap().path())
    });
    let mut paths: Vec<PathBuf> = folders.map(|folder| folder.join("system.toml")).collect();
    paths.push(root.join("systems/drive/system.toml"));
    paths.sort();
    paths
        .iter()
        .filter_map(|path| fs::read_to_string(path).ok())
        .collect()
}

fn mutated(random: &mut Random, corpus: &[String]) -> String {
    let mut text = corpus[random.below(corpus.len())].clone();
    for _ in 0..=random.below(4) {
        let other = random.below(corpus.len());
        text = mutate(random, &text, &corpus[other]);
        text.truncate(text.floor_char_boundary(16 << 10));
    }
    text
}

fn mutate(random: &mut Random, text: &str, other: &str) -> String {
    let at = text.floor_char_boundary(random.below(text.len() + 1));
    let end = text.floor_char_boundary((at + random.below(24)).min(text.len()));
    let mut lines: Vec<&str> = text.lines().collect();
    let line = random.below(lines.len());
    let second = random.below(lines.len());
    match random.below(8) {
        0 => format!("{}{}{}", &text[..at], random.pick(PIECES), &text[end..]),
        1 => format!("{}{}{}", &text[..at], random.pick(PIECES), &text[at..]),
        2 => format!("{}{}", &text[..at], &text[end..]),
        3 => format!(
            "{}{}",
            &text[..at],
            &other[other.floor_char_boundary(at.min(other.len()))..]
        ),
        4 if !lines.is_empty() => {
            lines.swap(line, second);
            lines.join("\n")
        }
        5 if !lines.is_empty() => {
            lines.remove(line);
            lines.join("\n")
        }
        6 if !lines.is_empty() => {
            let key = lines[line].split('=').next().unwrap_or("");
            let value = format!("{key}= {}", random.pick(PIECES));
            lines[line] = &value;
            lines.join("\n")
        }
        _ => {
            let value = lines.get(second).copied().unwrap_or("");
            lines.insert(line.min(lines.len()), value);
            lines.join("\n")
        }
    }
}

/// Checks `count` cases; a folder without crates and kernels keeps it quick.
fn run(seed: u64, count: usize, corpus: &[String], root: &Path) -> usize {
    let mut random = Random(harness::Random::new(seed));
    let mut sound = 0;
    for number in 0..count {
        let text = mutated(&mut random, corpus);
        let set = match random.below(16) {
            0 => vec![format!("{}={}", random.pick(PIECES), random.pick(PIECES))],
            1 => vec![format!("partition.control.{}", random.pick(PIECES))],
            _ => Vec::new(),
        };
        let start = Instant::now();
        let result = check(
            &root.join("system.toml"),
            text.clone(),
            root,
            &Overrides {
                set,
                ..Overrides::default()
            },
        );
        let refused = result.is_err();
        let found = result.map_or_else(|found| found, |(_, found)| found);
        let errors = found
            .iter()
            .filter(|found| found.severity == Severity::Error)
            .count();
        assert_eq!(refused, errors > 0, "{text}");
        assert!(
            found
                .iter()
                .all(|found| !found.message.contains("mistake of the tool")),
            "{text}"
        );
        let json = to_json(&found);
        assert_eq!(json.as_array().map(Vec::len), Some(found.len()));
        if number % SHOW_EVERY == 0 {
            assert_eq!(
                render(&found, Style::default()).is_empty(),
                found.is_empty(),
                "{text}"
            );
        }
        assert!(start.elapsed() < PATIENCE, "{text}");
        sound += usize::from(!refused);
    }
    sound
}

#[test]
fn nothing_makes_the_check_fall() {
    fuzz(CASES);
}

#[test]
#[ignore = "long"]
fn nor_do_a_million_descriptions() {
    fuzz(MANY_CASES);
}

fn fuzz(cases: usize) {
    let real = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let corpus = corpus(&real);
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fuzz");
    fs::create_dir_all(root.join("boards")).unwrap();
    fs::copy(
        real.join("boards/qemu-virt.toml"),
        root.join("boards/qemu-virt.toml"),
    )
    .unwrap();
    let sound: usize = thread::scope(|scope| {
        let run = |thread: usize| run(0x9E37_79B9 + thread as u64, cases / THREADS, &corpus, &root);
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| scope.spawn(move || run(thread)))
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .sum()
    });
    // The mutations are neither all harmless nor all fatal, or they would test little. Most of what they
    // begin with is a rejecting example, more with every rule.
    assert!(
        (cases / 500..cases / 2).contains(&sound),
        "{sound} of {cases} are sound"
    );
}
