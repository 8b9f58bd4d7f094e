//! `bulkhead new`: the created folders build and run unchanged, in both languages

mod tool;
mod tutorial;

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use tool::Fresh;
use tutorial::{blocks, shell, tutorial};

/// Held while a crate `mine` is built and read: two tutorials have one, and programs of one name replace each other.
static MINE: Mutex<()> = Mutex::new(());
/// Held while a system `blink` runs: two tutorials have one, and a system runs once at a time.
static BLINK: Mutex<()> = Mutex::new(());

/// Creates a folder of this kind, runs it, and checks that it prints `words`.
fn made_and_run(name: &str, kind: &str, language: &str, words: &str) -> Fresh {
    let fresh = Fresh::new(name);
    let made = fresh.bulkhead(&["new", kind, name, "--lang", language]);
    assert!(made.status.success(), "{made:?}");
    let ran = fresh.bulkhead(&["run", name]);
    let text = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success(), "{text}");
    assert!(text.contains(words), "{text}");
    assert!(text.contains("PASS: every promise was kept"), "{text}");
    let again = fresh.bulkhead(&["new", kind, name, "--lang", language]);
    assert!(!again.status.success(), "made twice");
    fresh
}

/// A pipe with functions of its own keeps its bound; the functions are measured, and the tool
/// reports when they change.
fn pipe_made_and_run(name: &str, language: &str, source: &str) {
    let fresh = made_and_run(name, "--pipe", language, "  kept");
    let measured = fresh.bulkhead(&["profile", name, "--jobs", "200"]);
    assert!(measured.status.success(), "{measured:?}");
    let description = fresh.0.join(name).join("system.toml");
    let text = std::fs::read_to_string(&description).expect("made");
    let named = text.replace("[run]", "profile = \"profile.toml\"\n\n[run]");
    std::fs::write(&description, named).expect("its own");
    let checked = || String::from_utf8_lossy(&fresh.bulkhead(&["check", name]).stderr).into_owned();
    assert!(!checked().contains("function-changed"), "{}", checked());
    let source = fresh.0.join(name).join("functions").join(source);
    let text = std::fs::read_to_string(&source).expect("made");
    std::fs::write(&source, text.replace("16", "32")).expect("its own");
    assert!(checked().contains("function-changed"), "{}", checked());
}

#[test]
fn a_pipe_function_in_c() {
    pipe_made_and_run("pipe-c", "c", "functions.c");
}

#[test]
#[ignore = "long"]
fn a_pipe_function_in_rust() {
    pipe_made_and_run("pipe-rust", "rust", "src/functions.rs");
}

#[test]
fn an_application_in_c() {
    made_and_run("new-c", "--app", "c", "number 20, ");
}

#[test]
fn an_application_in_rust() {
    made_and_run("new-rust", "--app", "rust", "number 20, ");
}

/// The commands with which a tutorial begins end in PASS.
fn followed(name: &str, text: &str) -> Fresh {
    let fresh = Fresh::new(name);
    let commands = blocks(text, "").swap_remove(0);
    let ran = shell(&fresh, &commands);
    let output = String::from_utf8_lossy(&ran.stdout);
    assert!(
        ran.status.success(),
        "{output}{}",
        String::from_utf8_lossy(&ran.stderr)
    );
    assert!(output.contains("PASS: every promise was kept"), "{output}");
    // What the text shows of the console is what one sees, but for numbers.
    let output = without_numbers(&output);
    let printed = text.split('`').filter(|code| code.starts_with("blink | "));
    for line in printed {
        assert!(output.contains(&without_numbers(line)), "{line}: {output}");
    }
    fresh
}

/// The text without its digits.
fn without_numbers(text: &str) -> String {
    text.chars().filter(|c| !c.is_ascii_digit()).collect()
}

/// Replaces a file of the folder, and runs the system; it passes, and prints `words`.
fn replaced_and_passed(fresh: &Fresh, system: &str, [file, text]: [&str; 2], words: &[&str]) {
    std::fs::write(fresh.0.join(file), text).expect("its own");
    let ran = fresh.bulkhead(&["run", system]);
    let output = String::from_utf8_lossy(&ran.stdout);
    let errors = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{output}{errors}");
    for words in words {
        assert!(output.contains(words), "{words}: {output}{errors}");
    }
}

/// Runs commands that stand within a text, by their beginnings; they succeed.
fn mentioned(fresh: &Fresh, text: &str, starts: &[&str]) {
    for start in starts {
        let command = inline(text, start);
        let ran = shell(fresh, command);
        let output = String::from_utf8_lossy(&ran.stdout);
        assert!(ran.status.success(), "{command}: {output}");
    }
}

/// The first listings of the tutorial are a whole program, which runs in the place of the template's; the others are
/// compiled with it.
#[test]
fn the_tutorial_in_c() {
    let _blink = BLINK.lock().unwrap_or_else(PoisonError::into_inner);
    let text = tutorial("application-c.md");
    let fresh = followed("tutorial-c", &text);
    let listings = blocks(&text, "c");
    let [main, produce, consume, mutex, interrupt] = &listings[..] else {
        panic!("{listings:?}")
    };
    let (include, main) = main.split_once("\n\n").expect("an include comes first");
    let (data, main) = main.split_once("\n\n").expect("the queue comes next");
    let (lock, mutex) = mutex.split_once('\n').expect("its data comes first");
    let shared = format!("{lock}\nvoid share(long number)\n{{\nstatic long total;\n{mutex}}}");
    let events = "static struct slite_events events;";
    let listings = [
        include, data, produce, consume, &shared, events, interrupt, main,
    ];
    let program = listings.join("\n");
    replaced_and_passed(
        &fresh,
        "blink",
        ["blink/app/main.c", &program],
        &["number 20, "],
    );
    mentioned(&fresh, &text, &["./bulkhead run blink --argument"]);
}

/// The listings of the tutorial are a whole program, which runs in the place of the template's.
#[test]
fn the_tutorial_in_rust() {
    let _blink = BLINK.lock().unwrap_or_else(PoisonError::into_inner);
    let text = tutorial("application-rust.md");
    let fresh = followed("tutorial-rust", &text);
    let program = blocks(&text, "rust,ignore").join("\n");
    // The template has no channel with a doorbell, so `listen` and `share` are linked and not called.
    let used = "#[used]\nstatic LISTEN: fn(&mut First, &ChannelEnd) -> Result<(), Status> = listen;\n\
                #[used]\nstatic SHARE: fn(u64) = share;\n";
    replaced_and_passed(
        &fresh,
        "blink",
        ["blink/app/src/main.rs", &format!("{program}\n{used}")],
        &["number 20, "],
    );
}

/// The listings of the tutorial run in the place of the template's functions, in both languages.
#[test]
fn the_tutorial_of_pipes() {
    let _mine = MINE.lock().unwrap_or_else(PoisonError::into_inner);
    let text = tutorial("pipe.md");
    let fresh = followed("tutorial-pipe", &text);
    let listings = blocks(&text, "rust");
    let [functions, program] = &listings[..] else {
        panic!("{listings:?}")
    };
    std::fs::write(fresh.0.join("mine/functions/src/functions.rs"), functions).expect("its own");
    let program = ["mine/functions/src/main.rs", program];
    replaced_and_passed(&fresh, "mine", program, &["  kept", "PASS"]);
    let description = fresh.0.join("mine/system.toml");
    let description = std::fs::read_to_string(description).expect("made");
    let without_comments = |text: &str| -> Vec<String> {
        let lines = text
            .lines()
            .filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
        lines.map(str::to_owned).collect()
    };
    let template = without_comments(&description.replace("mine", "NAME"));
    for line in without_comments(&blocks(&text, "toml")[0].replace("mine", "NAME")) {
        assert!(template.contains(&line), "{line}");
    }
    let made = fresh.bulkhead(&["new", "--pipe", "mine-c", "--lang", "c"]);
    assert!(made.status.success(), "{made:?}");
    let functions = ["mine-c/functions/functions.c", &blocks(&text, "c")[0]];
    replaced_and_passed(&fresh, "mine-c", functions, &["  kept", "PASS"]);
}

/// Copies the library of policies into a folder, as the one crate of a workspace with the checkout's versions and lints.
fn library_of_policies(fresh: &Fresh) {
    let paths = ["lib/sched", "Cargo.lock", "rust-toolchain.toml"];
    let copied = Command::new("cp")
        .arg("-r")
        .args(paths.map(|path| tool::checkout().join(path)))
        .arg(&fresh.0)
        .status();
    assert!(copied.is_ok_and(|status| status.success()), "a copy");
    let workspace = std::fs::read_to_string(tool::checkout().join("Cargo.toml")).expect("a file");
    let (_, settings) = workspace
        .split_once("[workspace.package]")
        .expect("a workspace");
    let head = "[workspace]\nresolver = \"3\"\nmembers = [\"sched\"]\n[workspace.package]";
    std::fs::write(fresh.0.join("Cargo.toml"), format!("{head}{settings}")).expect("its own");
}

/// Code within a line of a text, by its beginning.
fn inline<'t>(text: &'t str, start: &str) -> &'t str {
    let mut all = text.split('`').skip(1).step_by(2);
    all.find(|code| code.starts_with(start))
        .unwrap_or_else(|| panic!("the text names {start}"))
}

/// The file of the tutorial's policy, as step 1 says, with the function that step 4 adds.
fn policy_source(text: &str) -> String {
    let code = &blocks(text, "rust")[0];
    let (code, _) = code
        .split_once("use bulkhead_sched::harness")
        .expect("the test comes last");
    let (_, code) = code.split_once("\n\n").expect("imports come first");
    let imports = ["use crate::policy::interface", "use crate::thread"];
    let imports = imports.map(|start| inline(text, start)).join("\n");
    let quantum = inline(text, "pub const fn set_quantum");
    let derived = "/// The thread that has run least is next.\n#[derive(Clone, Debug)]\npub struct";
    let new = "    pub const fn new";
    let documented = format!("    /// Sets its quantum.\n    {quantum}\n    /// No thread.\n{new}");
    let code = code
        .replacen("pub struct", derived, 1)
        .replacen(new, &documented, 1);
    format!("//! Least served\n\n{imports}\n\n{code}")
}

/// The steps with which the tutorial adds its policy to the library, in a copy of it: the policy passes the library's tests.
#[test]
#[ignore = "long"]
fn the_tutorial_of_policies() {
    let text = tutorial("policy.md");
    let fresh = Fresh::new("tutorial-policy");
    library_of_policies(&fresh);
    let policies = fresh.0.join("sched/src/policy");
    let edit = |file: &str, edit: &dyn Fn(String) -> String| {
        let old = std::fs::read_to_string(policies.join(file)).unwrap_or_default();
        std::fs::write(policies.join(file), edit(old)).expect("its own");
    };
    edit("least_served.rs", &|_| policy_source(&text));
    let declared = ["mod least_served;", "pub use least_served"].map(|start| inline(&text, start));
    edit("mod.rs", &|old| format!("{old}\n{}\n", declared.join("\n")));
    let steps = text.split("```text\n").skip(1);
    let steps: Vec<_> = steps.filter_map(|rest| rest.split("```").next()).collect();
    let [line, choice, _commands] = &steps[..] else {
        panic!("{steps:?}")
    };
    let import = inline(&text, "use crate::policy::least_served");
    edit("chosen.rs", &|old| {
        let first = "use crate::policy::interface";
        let head = "policies! {\n    ($)\n";
        let with = old
            .replacen(first, &format!("{import}\n{first}"), 1)
            .replacen(head, &format!("{head}{line}"), 1);
        format!("{with}\n{choice}")
    });
    let arguments = "test --quiet --package bulkhead-sched --lib every_policy_by_its_name";
    let tested = Command::new(env!("CARGO"))
        .args(arguments.split(' '))
        .current_dir(&fresh.0)
        .env("CARGO_TARGET_DIR", fresh.0.join("target"))
        .output()
        .expect("cargo");
    let output = String::from_utf8_lossy(&tested.stdout);
    let errors = String::from_utf8_lossy(&tested.stderr);
    let passed = tested.status.success() && output.contains("1 passed");
    assert!(passed, "{output}{errors}");
}

/// The commands of the README, one after the other; the console is attached while its system runs.
#[test]
#[ignore = "long"]
fn the_commands_of_the_readme() {
    let text = std::fs::read_to_string(tool::checkout().join("README.md")).expect("a README");
    let fresh = Fresh::new("readme");
    // The measured times of `pipes` are written beside its description.
    let copied = Command::new("cp")
        .arg("-r")
        .arg(tool::checkout().join("systems/pipes"))
        .arg(fresh.0.join("pipes"))
        .status();
    assert!(copied.is_ok_and(|status| status.success()), "a copy");
    let all = blocks(&text, "").pop().expect("commands");
    let consoles: Vec<_> = all
        .lines()
        .filter(|line| line.contains("bulkhead console"))
        .collect();
    assert_eq!(consoles.len(), 1, "{all}");
    for line in all
        .lines()
        .filter(|line| !line.contains("bulkhead console"))
    {
        std::thread::scope(|scope| {
            let ran = scope.spawn(|| shell(&fresh, line));
            if line.contains("bulkhead run") {
                let attached = std::iter::repeat_with(|| shell(&fresh, consoles[0]))
                    .find(|attached| attached.status.success() || ran.is_finished());
                let printed =
                    attached.map(|attached| String::from_utf8_lossy(&attached.stdout).into_owned());
                assert!(
                    printed.is_some_and(|printed| !printed.is_empty()),
                    "{}",
                    consoles[0]
                );
            }
            let ran = ran.join().expect("a shell");
            let output = String::from_utf8_lossy(&ran.stdout);
            let errors = String::from_utf8_lossy(&ran.stderr);
            assert!(ran.status.success(), "{line}: {output}{errors}");
            assert!(
                !output.is_empty() || !errors.is_empty(),
                "{line} prints nothing"
            );
            let passes =
                !line.contains("bulkhead run") || output.contains("PASS: every promise was kept");
            assert!(passes, "{line}: {output}");
        });
    }
}

#[test]
fn the_tutorial_of_components() {
    let _mine = MINE.lock().unwrap_or_else(PoisonError::into_inner);
    let text = tutorial("component.md");
    let fresh = Fresh::new("tutorial-component");
    assert!(shell(&fresh, &blocks(&text, "")[0]).status.success());
    let description = fresh.0.join("mine/system.toml");
    let template = std::fs::read_to_string(&description).expect("made");
    let (head, _) = template
        .split_once("[partition.mine.component.app]")
        .expect("the template's component");
    std::fs::write(description, format!("{head}{}", blocks(&text, "toml")[0])).expect("its own");
    let manifest = fresh.0.join("mine/app/Cargo.toml");
    let dependencies = std::fs::read_to_string(&manifest).expect("made");
    let guest = text
        .split('`')
        .find(|code| code.starts_with("bulkhead-guest = "))
        .expect("the tutorial names the dependency")
        .replace("CHECKOUT", &tool::checkout().display().to_string());
    let dependencies =
        dependencies.replacen("[dependencies]", &format!("[dependencies]\n{guest}"), 1);
    std::fs::write(manifest, dependencies).expect("its own");
    let program = &blocks(&text, "rust,ignore")[0];
    replaced_and_passed(
        &fresh,
        "mine",
        ["mine/app/src/main.rs", program],
        &["PASS", "off", "on"],
    );
    let commands = ["./bulkhead check", "./bulkhead build", "./bulkhead explain"];
    mentioned(&fresh, &text, &commands);
}

#[test]
fn the_tutorial_of_openmp() {
    let text = tutorial("openmp.md");
    let fresh = Fresh::new("tutorial-openmp");
    std::fs::create_dir_all(fresh.0.join("threads/app")).expect("its own");
    let description = &blocks(&text, "toml")[0];
    std::fs::write(fresh.0.join("threads/system.toml"), description).expect("its own");
    let threads: Vec<_> = (0..4)
        .map(|thread| format!("thread {thread} of 4"))
        .collect();
    let threads: Vec<_> = threads.iter().map(String::as_str).collect();
    replaced_and_passed(
        &fresh,
        "threads",
        ["threads/app/main.c", &blocks(&text, "c")[0]],
        &threads,
    );
}

/// Runs the C template with a change; the run fails with these words on a line of its verdict.
fn changed_and_failed(name: &str, [from, to]: [&str; 2], words: &[&str]) {
    let fresh = Fresh::new(name);
    let made = fresh.bulkhead(&["new", "--app", name, "--lang", "c"]);
    assert!(made.status.success(), "{made:?}");
    let source = fresh.0.join(name).join("app/main.c");
    let text = std::fs::read_to_string(&source).expect("made");
    assert!(text.contains(from), "{text}");
    std::fs::write(&source, text.replacen(from, to, 1)).expect("its own");
    let ran = fresh.bulkhead(&["run", name]);
    let text = String::from_utf8_lossy(&ran.stdout);
    assert_eq!(ran.status.code(), Some(1), "{text}");
    let verdict = text
        .rsplit_once("FAIL: 1 promise was broken")
        .expect("a verdict");
    for part in words {
        assert!(verdict.1.contains(part), "{text}");
    }
}

#[test]
fn a_thread_that_writes_to_nowhere_fails_the_run_at_its_line() {
    let change = [
        "slite_now() - message[0]);",
        "slite_now() - message[0]);\n        *(volatile int *)(message[1] + 15) = 1;",
    ];
    changed_and_failed(
        "wild-c",
        change,
        &["wild-c/app thread 1: write to 0x10 in `consume` (wild-c/app/main.c:26)"],
    );
}

#[test]
fn a_thread_that_never_gives_way_fails_the_run() {
    let change = ["        printf(", "        for (;;);\n        printf("];
    changed_and_failed(
        "loop-c",
        change,
        &[
            // The start takes some 10 ms, which depends on the libraries.
            "loop-c/thread 2: 98 releases since 0.01",
            "were never served; at the end of the run core 0 executed component `app`, thread 1 in `consume` \
             (loop-c/app/main.c:24)",
        ],
    );
}

/// A thread that never gives way leaves no mark in a partition without a periodic task, pipe or heartbeat.
#[test]
fn a_program_without_guarantees_fails_the_run() {
    let words =
        "it has no periodic task, pipe or heartbeat, so nothing after its start could be judged";
    let change = [
        "    for (uint64_t number = 1;",
        "    for (;;);\n    for (uint64_t number = 1;",
    ];
    let place = "; at the end of the run core 0 executed component `app`, thread 2 in `produce` (idle-c/app/main.c:11)";
    changed_and_failed("idle-c", change, &[&format!("{words}{place}")]);
    let fresh = Fresh::new("idle-rust");
    let made = fresh.bulkhead(&["new", "--app", "idle-rust"]);
    assert!(made.status.success(), "{made:?}");
    let source = fresh.0.join("idle-rust/app/src/main.rs");
    let text = std::fs::read_to_string(&source).expect("made");
    let start = "extern \"C\" fn produce(_: u64) -> ! {\n";
    assert!(text.contains(start), "{text}");
    let text = text.replace(
        start,
        &format!("{start}    if clock::now() > 0 {{\n        loop {{}}\n    }}\n"),
    );
    std::fs::write(source, text).expect("its own");
    let ran = fresh.bulkhead(&["run", "idle-rust"]);
    let text = String::from_utf8_lossy(&ran.stdout);
    assert_eq!(ran.status.code(), Some(1), "{text}");
    // An empty loop may have no line in the source.
    let place = "; at the end of the run core 0 executed component `app`, thread 2 in `";
    let found = text.split_once(&format!("{words}{place}"));
    let function = found.and_then(|(_, rest)| rest.split('`').next());
    assert!(
        function.is_some_and(|name| name.ends_with("produce")),
        "{text}"
    );
}

#[test]
fn bad_names_are_refused() {
    let fresh = Fresh::new("new-bad");
    for name in ["Bad", "", "a/b", "2a"] {
        let refused = fresh.bulkhead(&["new", "--app", name]);
        assert!(!refused.status.success(), "`{name}`");
    }
    let count = std::fs::read_dir(&fresh.0).expect("its own").count();
    assert_eq!(count, 0, "something was made all the same");
}

/// Identities of a process's children.
fn children(process: u32) -> Vec<u32> {
    let tasks = std::fs::read_dir(format!("/proc/{process}/task"))
        .into_iter()
        .flatten();
    let lists =
        tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("children")).ok());
    let all: Vec<_> = lists.collect();
    let words = all.iter().flat_map(|list| list.split_whitespace());
    words.filter_map(|word| word.parse().ok()).collect()
}

/// Starts a long run, and `closes` the terminal once the first line of its partition has come. The tool ends without a panic, and
/// the emulator with it.
fn closed(name: &str, close: impl FnOnce(&mut Child)) {
    let fresh = Fresh::new(name);
    let made = fresh.bulkhead(&["new", "--app", name, "--lang", "c"]);
    assert!(made.status.success(), "{made:?}");
    let mut run = Command::new(tool::tool())
        .args(["run", name, "--for", "80000s"])
        .current_dir(&fresh.0)
        .env("BULKHEAD_ROOT", tool::checkout())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the tool");
    let mut lines = BufReader::new(run.stdout.take().expect("piped")).lines();
    let is_there = lines.any(|line| line.is_ok_and(|line| line.contains("number 3, ")));
    assert!(is_there, "the partition prints");
    let emulators = children(run.id());
    assert!(!emulators.is_empty(), "the emulator runs");
    // The other end of the pipe closes with `lines`.
    drop(lines);
    close(&mut run);
    let mut errors = String::new();
    let mut stderr = run.stderr.take().expect("piped");
    stderr.read_to_string(&mut errors).expect("text");
    let status = run.wait().expect("it ended");
    assert!(!status.success(), "{status}");
    assert!(!errors.contains("panicked"), "{errors}");
    let remains = |process: &u32| {
        let state = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        // An orphan without a reaper stays as a zombie.
        state
            .rsplit_once(") ")
            .is_some_and(|(_, state)| !state.starts_with('Z'))
    };
    let deadline = Instant::now() + Duration::from_secs(10);
    while emulators.iter().any(remains) {
        assert!(Instant::now() < deadline, "the emulator goes on");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_closed_output_ends_the_emulator() {
    closed("closed-pipe", |_| ());
}

#[test]
fn a_hangup_ends_the_emulator() {
    closed("closed-hangup", |run| {
        let hangup = Command::new("kill")
            .args(["-HUP", &run.id().to_string()])
            .status();
        assert!(hangup.is_ok_and(|status| status.success()), "a signal");
    });
}

/// In runs by the wall clock, lines that are typed into the terminal go to the guest: `script` is the terminal.
#[test]
#[ignore = "long"]
fn terminal_input_reaches_the_guest() {
    let fresh = Fresh::new("typed");
    let run = format!("{} run pipes --real --for 600s", tool::tool().display());
    let mut terminal = Command::new("script")
        .args(["-qec", &run, "/dev/null"])
        .current_dir(&fresh.0)
        .env("BULKHEAD_ROOT", tool::checkout())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a terminal");
    let mut keyboard = terminal.stdin.take().expect("piped");
    let mut lines = BufReader::new(terminal.stdout.take().expect("piped")).split(b'\n');
    let mut has = |words: &str| {
        let printed = |line: Vec<u8>| String::from_utf8_lossy(&line).contains(words);
        lines.any(|line| line.is_ok_and(printed))
    };
    assert!(has("what you type goes to the console of `control`"));
    assert!(has("pipe log path"), "the partition prints");
    keyboard.write_all(b"pipe list\n").expect("typed");
    assert!(has("pipe log: runs, 3 stages"), "the partition answers");
    // Ctrl-C ends the run.
    keyboard.write_all(b"\x03").expect("typed");
    assert!(has("Partitions"), "a report");
    drop(keyboard);
    terminal.wait().expect("it ended");
}
