//! Descriptions beside what is said about them
//!
//! Every folder of `tests/golden/{reject,warn,note,accept}` is a case: `system.toml`, perhaps
//! `set.txt` with a `--set` per line, and `expected.txt`. `BLESS=1` rewrites what is expected.

use bulkhead_model::render::{Style, render};
use bulkhead_model::{Diagnostic, Overrides, Severity, load, reference, rule_ids, template};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The checkout without what set-up and builds leave in it, so that results do not depend on them.
fn root() -> PathBuf {
    let real = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap();
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("checkout");
    fs::create_dir_all(&root).unwrap();
    for name in ["Cargo.toml", "boards", "tests", "systems"]
        .map(str::to_owned)
        .into_iter()
        .chain(members(&real))
    {
        // The target folder may have served another checkout before.
        let (link, to) = (root.join(&name), real.join(&name));
        if fs::read_link(&link).is_ok_and(|led| led != to) {
            fs::remove_file(&link).unwrap();
        }
        let _ = std::os::unix::fs::symlink(to, link);
    }
    root
}

/// Top folders of the workspace's members.
fn members(real: &Path) -> BTreeSet<String> {
    let manifest = fs::read_to_string(real.join("Cargo.toml")).unwrap();
    let quoted = manifest
        .lines()
        .filter_map(|line| line.trim().strip_prefix('"'));
    quoted
        .filter_map(|line| line.split(['/', '"']).next())
        .map(str::to_owned)
        .collect()
}

struct Case {
    /// Below the root, e.g. `tests/golden/reject/syntax`.
    folder: PathBuf,
    name: String,
    found: Vec<Diagnostic>,
    refused: bool,
}

fn cases(group: &str) -> Vec<Case> {
    let root = root();
    let folder = root.join("tests/golden").join(group);
    let mut names: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
        .into_iter()
        .map(|name| case(&root, group, name))
        .collect()
}

fn case(root: &Path, group: &str, name: String) -> Case {
    let folder = root.join("tests/golden").join(group).join(&name);
    let set = fs::read_to_string(folder.join("set.txt")).unwrap_or_default();
    let overrides = Overrides {
        set: set.lines().map(str::to_owned).collect(),
        ..Overrides::default()
    };
    let result = load(&folder, root, &overrides);
    let refused = result.is_err();
    let found = result.map_or_else(|found| found, |(_, found)| found);
    Case {
        folder,
        name,
        found,
        refused,
    }
}

impl Case {
    /// The rule it is about: a second case of a rule has `--WHAT` after the rule's name.
    fn rule(&self) -> &str {
        self.name.split("--").next().unwrap()
    }

    /// Compares what is said from this severity up.
    fn compare(&self, least: Severity) {
        let text: Vec<_> = self
            .found
            .iter()
            .filter(|found| found.severity <= least)
            .cloned()
            .collect();
        let text = render(&text, Style::default());
        compare(&self.folder.join("expected.txt"), &text);
    }
}

fn compare(path: &Path, text: &str) {
    if std::env::var_os("BLESS").is_some() {
        fs::write(path, text).unwrap();
    }
    let expected = fs::read_to_string(path).unwrap_or_default();
    assert!(
        expected == text,
        "{} expects:\n{expected}\nfound (BLESS=1 accepts it):\n{text}",
        path.display()
    );
}

fn check_group(group: &str, severity: Severity) {
    for case in cases(group) {
        let text = render(&case.found, Style::default());
        assert_eq!(
            case.refused,
            severity == Severity::Error,
            "{} was found to have:\n{text}",
            case.name
        );
        let rule = case.rule();
        assert!(rule_ids().any(|id| id == rule), "{rule} is no rule");
        let messages = case
            .found
            .iter()
            .any(|found| found.id == rule && found.severity == severity);
        assert!(
            messages,
            "{} does not make its rule speak; it was found to have:\n{text}",
            case.name
        );
        case.compare(severity);
    }
}

#[test]
fn each_rule_rejects_its_example() {
    check_group("reject", Severity::Error);
}

#[test]
fn each_warning_is_given() {
    check_group("warn", Severity::Warning);
}

#[test]
fn each_note_is_given() {
    check_group("note", Severity::Note);
}

#[test]
fn sound_descriptions_pass_without_a_warning() {
    for case in cases("accept") {
        assert!(!case.refused, "{}", render(&case.found, Style::default()));
        let warned = case
            .found
            .iter()
            .any(|found| found.severity < Severity::Note);
        assert!(!warned, "{}", render(&case.found, Style::default()));
        case.compare(Severity::Note);
    }
}

/// The assumed latency of Linux at its devices is part of the bound, is reported, and limits the guarantees of pipes.
#[test]
fn latencies_of_linux_are_added_to_the_bound() {
    let root = root();
    let found = |latency: &str| {
        let overrides = Overrides {
            set: vec![format!("partition.linux.endpoint.in.latency={latency}")],
            ..Overrides::default()
        };
        load(
            &root.join("tests/golden/accept/pipes-linux-can"),
            &root,
            &overrides,
        )
    };
    let bound = |latency| {
        let (system, _) = found(latency).expect("sound");
        let [pipe] = &system.pipes[..] else {
            panic!("{:?}", system.pipes)
        };
        assert!(pipe.is_run());
        let assumptions: Vec<_> = pipe.assumptions().collect();
        assert_eq!(
            assumptions,
            [
                format!("assumed: Linux takes at most {latency} at agent.in, the controller can0"),
                "assumed: Linux takes at most 2 ms at agent.out, the controller can0".into()
            ]
        );
        pipe.solved.paths[0].bound_ns
    };
    assert_eq!(bound("5 ms"), bound("1 ms") + 4_000_000);
    // Messages are 10 ms apart, and the pipe has 40 ms.
    for latency in ["11 ms", "40 ms"] {
        let ids: Vec<_> = found(latency)
            .expect_err(latency)
            .iter()
            .map(|found| found.id)
            .collect();
        assert!(ids.contains(&"pipe-unmet"), "{ids:?}");
    }
}

/// Output of `check --explain` about schedulability, for several systems and changes of them.
#[test]
fn schedulability_is_told_with_its_numbers() {
    let root = root();
    let by_deadline: &[&str] = &[
        "partition.control.schedule.order=earliest-deadline",
        "partition.control.task.loop.deadline=5 ms",
    ];
    for (name, system, set) in [
        ("vcpus", "systems/vcpus", &[][..]),
        ("vcpus-by-deadline", "systems/vcpus", by_deadline),
        ("bands", "systems/l3c", &[]),
        ("doorbell", "tests/qemu/kernel-storm", &[]),
    ] {
        let overrides = Overrides {
            set: set.iter().map(|text| (*text).to_owned()).collect(),
            ..Overrides::default()
        };
        let (system, _) = load(&root.join(system), &root, &overrides)
            .unwrap_or_else(|found| panic!("{}", render(&found, Style::default())));
        let tables = system.partitions.iter().map(|partition| {
            let table = partition.timing.table(true);
            match table.is_empty() {
                true => table,
                false => format!("{}\n{table}", partition.name),
            }
        });
        let text: String = tables.collect();
        compare(
            &root
                .join("tests/golden/tables")
                .join(name)
                .with_extension("txt"),
            &text,
        );
    }
}

#[test]
fn there_are_enough_rules() {
    assert!(rule_ids().count() >= 45, "{}", rule_ids().count());
}

/// The showcase, with what its Makefile may set.
#[test]
fn the_showcase_passes() {
    let root = root();
    for set in [
        &[][..],
        &["partition.linux.cores=2"],
        &["run.clock=real", "run.for=5s"],
    ] {
        let overrides = Overrides {
            set: set.iter().map(|text| (*text).to_owned()).collect(),
            ..Overrides::default()
        };
        let (system, found) = load(&root.join("systems/drive"), &root, &overrides)
            .unwrap_or_else(|found| panic!("{}", render(&found, Style::default())));
        assert!(
            found.iter().all(|found| found.severity == Severity::Note),
            "{found:?}"
        );
        assert_eq!(system.partitions.len(), 3);
    }
}

#[test]
fn the_template_passes_and_every_key_in_it_can_be_taken_in() {
    let root = root();
    let text = template("example");
    let file = root.join("tests/golden/template.toml");
    let (system, found) =
        bulkhead_model::check(&file, text.clone(), &root, &Overrides::default()).unwrap();
    assert_eq!(system.name, "example");
    assert!(found.is_empty(), "{}", render(&found, Style::default()));
    for (number, line) in text.lines().enumerate() {
        let Some(key) = line.strip_prefix("# ").filter(|line| line.contains(" = ")) else {
            continue;
        };
        let with: Vec<_> = text
            .lines()
            .enumerate()
            .map(|(at, old)| if at == number { key } else { old })
            .collect();
        let found = bulkhead_model::check(&file, with.join("\n"), &root, &Overrides::default());
        let shape = [
            "syntax",
            "unknown-key",
            "wrong-type",
            "unknown-value",
            "bad-size",
            "bad-time",
        ];
        if let Err(found) = found {
            assert!(
                !found.iter().any(|found| shape.contains(&found.id)),
                "{key}: {found:?}"
            );
        }
    }
}

#[test]
fn the_reference_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../doc/reference/description.md");
    if std::env::var_os("BLESS").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
    }
    compare(&path, &reference());
}

/// One description with mistakes everywhere: all of them are told at once.
#[test]
fn all_mistakes_are_told_at_once() {
    let text = "[system]\nname = \"x\"\nboard = \"qemu-virt\"\n\n[partition.a]\nkind = \"rtos\"\n\
                criticality = \"A\"\nmemory = 256 KiB\ncors = 1\nimage = { crate = \"nothing\" }\n\
                devices = [\"uart9\"]\non_panic = \"alternate\"\n\n[partition.b]\nkind = \"linux\"\n\
                criticality = \"QM\"\nmemory = \"1 KiB\"\nimage = { kernel = \"nowhere\" }\n\n\
                [channel.c]\nkind = \"ring\"\nfrom = \"a\"\nto = \"c\"\nmessage = 7\n";
    let root = root();
    let file = root.join("tests/golden/all.toml");
    let found =
        bulkhead_model::check(&file, text.into(), &root, &Overrides::default()).unwrap_err();
    let ids: BTreeSet<_> = found.iter().map(|found| found.id).collect();
    for id in [
        "syntax",
        "unknown-key",
        "unknown-crate",
        "unknown-device",
        "alternate-missing",
        "memory-too-small",
        "image-missing",
        "unknown-partition",
        "message-size",
        "messages-count",
    ] {
        assert!(ids.contains(id), "{id} is missing in {ids:?}");
    }
}

/// Blocks of a tutorial in a language, without a language those of commands.
fn listings(text: &str, language: &str) -> Vec<String> {
    let blocks = text.split("```").skip(1).step_by(2);
    let written = blocks.filter_map(|block| block.split_once('\n'));
    written
        .filter(|(of, _)| *of == language)
        .map(|(_, body)| body.to_owned())
        .collect()
}

/// Tutorials show parts of descriptions: each key is known, each value is of its key's type, each flow can be read.
#[test]
fn the_listings_of_tutorials_are_parts_of_descriptions() {
    const MISTAKES: [&str; 10] = [
        "syntax",
        "unknown-key",
        "wrong-type",
        "unknown-value",
        "bad-time",
        "bad-size",
        "bad-name",
        "number-out-of-range",
        "reserved-name",
        "pipe-syntax",
    ];
    assert!(MISTAKES.iter().all(|id| rule_ids().any(|rule| rule == *id)));
    let root = root();
    let tutorials = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../doc/tutorial");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("tutorial");
    fs::create_dir_all(&folder).unwrap();
    let mut count = 0;
    for entry in fs::read_dir(tutorials).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        let commands = listings(&text, "").join("\n");
        let entered = commands
            .lines()
            .filter(|line| line.starts_with("pipe add ") || line.starts_with("pipe replace "));
        let entered = entered.map(|line| {
            let flow = line.splitn(4, ' ').nth(3).unwrap();
            format!("[pipe.typed]\nflow = \"{flow}\"\n")
        });
        for listing in listings(&text, "toml").into_iter().chain(entered) {
            fs::write(folder.join("system.toml"), &listing).unwrap();
            let found = match load(&folder, &root, &Overrides::default()) {
                Ok((_, found)) | Err(found) => found,
            };
            let wrong: Vec<_> = found
                .into_iter()
                .filter(|one| MISTAKES.contains(&one.id))
                .collect();
            let text = render(&wrong, Style::default());
            assert!(wrong.is_empty(), "{}:\n{listing}\n{text}", path.display());
            count += 1;
        }
    }
    assert!(count > 10, "{count} listings");
}
