//! The commands from outside: what they say and how they end

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn bulkhead(folder: &Path, arguments: &[&str]) -> (i32, String, String) {
    let output: Output = Command::new(env!("CARGO_BIN_EXE_bulkhead"))
        .args(arguments)
        .current_dir(folder)
        .env("BULKHEAD_ROOT", root())
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let status = output.status.code().unwrap();
    (status, text(&output.stdout), text(&output.stderr))
}

/// A folder that is gone afterwards.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("bulkhead-cli-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).unwrap();
    }
}

#[test]
fn what_new_makes_is_right_and_not_made_twice() {
    let folder = Folder::new("new");
    let (status, output, _) = bulkhead(&folder.0, &["new", "first"]);
    assert_eq!(status, 0);
    assert!(output.contains("first/system.toml"), "{output}");
    let (status, output, warned) = bulkhead(&folder.0, &["check", "first"]);
    assert_eq!((status, warned.as_str()), (0, ""), "{output}");
    assert!(output.starts_with("first: "), "{output}");
    let (status, _, output) = bulkhead(&folder.0, &["new", "first"]);
    assert_eq!(status, 2);
    assert!(output.contains("exists already"), "{output}");
}

/// As editors do: without the tool, in the folder of the crate.
#[test]
fn cargo_accepts_the_crates_that_new_makes() {
    let folder = Folder::new("crates");
    for (kind, name, crate_folder) in [("--app", "one", "app"), ("--pipe", "two", "functions")] {
        let (status, text, _) = bulkhead(&folder.0, &["new", kind, name, "--lang", "rust"]);
        assert_eq!(status, 0, "{text}");
        let output = Command::new(env!("CARGO"))
            .args(["check", "--quiet", "--offline"])
            .current_dir(folder.0.join(name).join(crate_folder))
            .env(
                "CARGO_TARGET_DIR",
                concat!(env!("CARGO_TARGET_TMPDIR"), "/new"),
            )
            .env_remove("RUSTFLAGS")
            .output()
            .expect("cargo starts");
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{text}");
    }
}

#[test]
fn a_refused_description_shows_all_errors_for_people_and_programs() {
    let folder = Folder::new("refused");
    let text = "[system]\nname = \"x\"\nboard = \"qemu-virt\"\n[partition.a]\nkind = \"tros\"\n\
                memory = \"lots\"\n";
    std::fs::write(folder.0.join("system.toml"), text).unwrap();
    let (status, _, output) = bulkhead(&folder.0, &["check"]);
    assert_eq!(status, 3);
    assert!(
        output.contains("system.toml:") && output.contains("errors"),
        "{output}"
    );
    let (status, json, output) = bulkhead(&folder.0, &["check", "--json"]);
    assert_eq!((status, output.as_str()), (3, ""));
    let refused: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(refused["accepted"], false, "{json}");
    let findings = &refused["findings"];
    assert!(findings.as_array().unwrap().len() >= 2, "{json}");
    assert!(findings[0]["line"].is_u64(), "{json}");
}

/// A reader stops at "nothing wrong".
#[test]
fn nothing_is_wrong_only_without_a_warning() {
    let warned = "tests/golden/warn/alternate-unused";
    for (system, outcome) in [
        ("systems/pipes", ": nothing wrong"),
        (warned, ": accepted, with 1 warning"),
    ] {
        let (status, output, _) = bulkhead(&root(), &["check", system]);
        assert_eq!(status, 0, "{output}");
        let first = output.lines().next().unwrap_or_default();
        assert!(first.ends_with(outcome), "{first}");
    }
}

#[test]
fn an_accepted_description_gives_its_bounds_to_programs() {
    let (status, json, output) = bulkhead(&root(), &["check", "systems/vcpus", "--json"]);
    assert_eq!((status, output.as_str()), (0, ""), "{json}");
    let checked: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(checked["accepted"], true, "{json}");
    let cores = |partition: &serde_json::Value| partition["cores"].as_array().cloned().unwrap();
    let partitions = checked["partitions"].as_array().unwrap();
    let tasks: Vec<_> = partitions.iter().flat_map(cores).collect();
    let tasks = tasks
        .iter()
        .flat_map(|core| core["tasks"].as_array().unwrap());
    let in_time = |task: &serde_json::Value| {
        task["response_ns"].as_u64().unwrap() <= task["deadline_ns"].as_u64().unwrap()
    };
    assert!(
        tasks.clone().count() > 0 && tasks.clone().all(in_time),
        "{json}"
    );
    // A thread at a priority without a task has no bound, and the tool says so.
    let (_, json, _) = bulkhead(&root(), &["check", "systems/drive", "--json"]);
    let checked: serde_json::Value = serde_json::from_str(&json).unwrap();
    let control = &checked["partitions"][0];
    assert_eq!(control["name"], "control");
    let unbounded = control["without_bound"].as_array().unwrap();
    let named = |one: &&serde_json::Value| one["component"] == "controller";
    let controller = unbounded.iter().find(named).expect("it is named");
    assert!(controller["reason"].as_str().unwrap().contains("no task"));
    let (_, text, _) = bulkhead(&root(), &["check", "systems/drive"]);
    assert!(
        text.contains("no bound for `can`, `estimator`, `controller`: "),
        "{text}"
    );
    // With a task it has one, unless a thread that is as important has none.
    let components = "tests/qemu/components/system.toml";
    let (_, json, _) = bulkhead(&root(), &["check", components, "--json"]);
    let checked: serde_json::Value = serde_json::from_str(&json).unwrap();
    let witness = &checked["partitions"][0]["priorities"][0];
    assert_eq!(witness["name"], "witness");
    let response_ns = witness["response_ns"].as_u64().unwrap();
    assert!((60_000..1_000_000).contains(&response_ns), "{json}");
    let set = "partition.control.component.loop.priority=0";
    let (_, text, _) = bulkhead(&root(), &["check", components, "--set", set]);
    let reason = "no bound for `witness`: `loop` is as important, and no task";
    assert!(text.contains(reason), "{text}");
    let (_, json, _) = bulkhead(&root(), &["check", "systems/pipes", "--json"]);
    let checked: serde_json::Value = serde_json::from_str(&json).unwrap();
    let path = &checked["pipes"][0]["paths"][0];
    assert!(path["bound_ns"].as_u64().unwrap() > 0, "{json}");
}

#[test]
fn what_is_not_there_is_said_not_to_be_there() {
    let folder = Folder::new("missing");
    let cases: [(&[&str], i32, &str); 8] = [
        (&["check", "nowhere"], 5, "there is no system `nowhere`"),
        (&["explain", "nonsense"], 2, "neither a key"),
        (&["explain", "heartbet"], 2, "did you mean `heartbeat`?"),
        (&["bench", "nonsense"], 2, "no experiment `nonsense`"),
        (
            &["run", "drive", "--fault", "nobody-panics"],
            2,
            "the images of this system can make",
        ),
        (&["run", "drive", "--for", "soon"], 2, "500ms"),
        (
            &["run", "drive", "--argument", "linux"],
            2,
            "gives no partition an argument",
        ),
        (&["frobnicate"], 2, "unrecognized subcommand"),
    ];
    for (arguments, expected, message) in cases {
        let (status, _, output) = bulkhead(&folder.0, arguments);
        assert_eq!(status, expected, "{arguments:?}: {output}");
        assert!(output.contains(message), "{arguments:?}: {output}");
    }
}

#[test]
fn files_start_from_the_description_wherever_the_tool_is_started() {
    let folder = Folder::new("files");
    let place = folder.0.join("mine");
    std::fs::create_dir_all(&place).unwrap();
    let text = "[system]\nname = \"mine\"\nboard = \"qemu-virt\"\n[partition.guest]\nkind = \"image\"\n\
                criticality = \"B\"\nmemory = \"8 MiB\"\nimage = { file = \"first\" }\n";
    std::fs::write(place.join("system.toml"), text).unwrap();
    for file in ["first", "second"] {
        std::fs::write(place.join(file), [0xD5; 64]).unwrap();
    }
    let set = |file: &str| format!("partition.guest.image.file={file}");
    for (file, expected) in [("second", 0), ("./second", 0), ("mine/second", 3)] {
        let (status, _, output) = bulkhead(&folder.0, &["check", "mine", "--set", &set(file)]);
        assert_eq!(status, expected, "{file}: {output}");
    }
}

#[test]
fn a_system_that_never_ran_has_no_report_and_no_console() {
    let folder = Folder::new("never");
    assert_eq!(bulkhead(&folder.0, &["new", "never-built"]).0, 0);
    for command in ["report", "counters", "log", "stop"] {
        let (status, _, output) = bulkhead(&folder.0, &[command, "never-built"]);
        assert_eq!(status, 5, "{command}: {output}");
        assert!(
            output.contains("there is no build of the system `never-built`"),
            "{output}"
        );
    }
    let (status, _, output) = bulkhead(&folder.0, &["console", "control", "-s", "never-built"]);
    assert_eq!(status, 5, "{output}");
}

/// The paper's set-up in a file.
const FUNCTIONS: &str = "tests/golden/pipes/paper.toml";

#[test]
fn a_pipeline_is_solved_for_people_and_programs() {
    let line = "can-read | ml-process | can-write [0 %, 10 ms]";
    let (status, output, _) = bulkhead(&root(), &["pipe", "solve", line, "--functions", FUNCTIONS]);
    assert_eq!(status, 0, "{output}");
    assert!(output.contains("can-read -> can-write: within"), "{output}");
    let arguments = ["pipe", "solve", line, "--functions", FUNCTIONS, "--json"];
    let (status, output, _) = bulkhead(&root(), &arguments);
    assert_eq!(status, 0);
    let found: serde_json::Value = serde_json::from_str(&output).unwrap();
    assert!(
        found["paths"][0]["bound_ns"].as_u64().unwrap() <= 10_000_000,
        "{output}"
    );
    assert!(found["stages"].as_array().unwrap().len() == 3, "{output}");
}

#[test]
fn a_pipeline_that_is_wrong_says_where_and_what_to_do() {
    let cases = [
        (
            "can-read | | x",
            "expected the name of a function or `(`, found `|`",
        ),
        ("can-raed | can-write", "did you mean `can-read`?"),
        (
            "* can-read | can-write [5 %, 10 ms]",
            "a lossless pipeline has a throughput here",
        ),
        (
            "can-read | ml-process | can-write [0 %, 4.5 ms]",
            "what can be met: `[0 %, ",
        ),
    ];
    for (line, expected) in cases {
        let (status, _, output) =
            bulkhead(&root(), &["pipe", "solve", line, "--functions", FUNCTIONS]);
        assert_eq!(status, 3, "{line}: {output}");
        assert!(on_one_line(&output).contains(expected), "{line}: {output}");
    }
}

/// As `check` would show it, were it described: two of the three stages are on another core.
#[test]
fn a_pipeline_is_solved_beside_those_of_a_system() {
    let (system, line) = (
        "tests/qemu/pipes-cores",
        "* sample | filter | emit [50/s, 120 ms]",
    );
    let (status, output, wrong) = bulkhead(&root(), &["pipe", "solve", line, "--system", system]);
    assert_eq!(status, 0, "{wrong}");
    let static_pipe = format!("pipe.asked-1.flow={line}");
    let (status, checked, wrong) = bulkhead(&root(), &["check", system, "--set", &static_pipe]);
    assert_eq!(status, 0, "{wrong}");
    assert!(
        checked.ends_with(&format!("asked-1: {output}")),
        "{output}\n{checked}"
    );
    assert!(output.contains("control:1"), "{output}");
    let beside = [
        "pipe",
        "solve",
        line,
        "--system",
        system,
        "--json",
        "--set",
        &static_pipe,
    ];
    let (status, output, wrong) = bulkhead(&root(), &beside);
    assert_eq!(status, 0, "{wrong}");
    let found: serde_json::Value = serde_json::from_str(&output).unwrap();
    assert_eq!(found["stages"].as_array().unwrap().len(), 3, "{output}");
}

/// Each of its stages would take a job in 10 ms, for which the pipes and the loop leave no room.
#[test]
fn a_pipeline_without_requirements_takes_nothing_from_others() {
    let line = [
        "pipe",
        "solve",
        "sample | filter | emit",
        "--system",
        "pipes",
        "--json",
        "--set",
        "partition.control.vcpu.loop.C=3 ms",
    ];
    let (status, output, wrong) = bulkhead(&root(), &line);
    assert_eq!(status, 0, "{wrong}");
    let found: serde_json::Value = serde_json::from_str(&output).unwrap();
    for stage in found["stages"].as_array().unwrap() {
        assert!(stage["T_ns"].as_u64().unwrap() >= 20_000_000, "{output}");
    }
}

#[test]
fn a_pipeline_that_a_system_cannot_have_says_where_and_what_to_do() {
    let cases = [
        ("pipes", "sample | | x", "pipeline:1:10"),
        ("pipes", "sample | filetr", "did you mean `filter`?"),
        (
            "pipes",
            "* sample | emit [5 %, 10 ms]",
            "a lossless pipeline has a throughput here",
        ),
        (
            "pipes",
            "* sample | filter | emit [100/s, 1 ms]",
            "what can be met: `[100/s, ",
        ),
        (
            "pipes",
            "",
            "expected the name of a function or `(`, found the end",
        ),
        ("pipes", "true", "there is no function `true`"),
        (
            "drive",
            "sample | emit",
            "none is described; `bulkhead explain function`",
        ),
    ];
    for (system, line, expected) in cases {
        let (status, _, output) = bulkhead(&root(), &["pipe", "solve", line, "--system", system]);
        assert_eq!(status, 3, "{line}: {output}");
        assert!(on_one_line(&output).contains(expected), "{line}: {output}");
    }
}

/// Text that is wrapped to the width of a terminal.
fn on_one_line(output: &str) -> String {
    output.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn experiments_are_listed_with_their_guarantees() {
    let (status, json, _) = bulkhead(&root(), &["bench", "list", "--json"]);
    assert_eq!(status, 0);
    let list: serde_json::Value = serde_json::from_str(&json).unwrap();
    for id in [
        "traps",
        "footprint",
        "guest-overhead",
        "restart",
        "determinism",
    ] {
        let found = list
            .as_array()
            .unwrap()
            .iter()
            .find(|bench| bench["id"] == id);
        assert!(
            found.is_some_and(|bench| bench["promise"].is_string()),
            "{id}"
        );
    }
}
