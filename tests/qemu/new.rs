//! `bulkhead new`: the created folders build and run unchanged, in both languages

mod tool;
mod tutorial;

use tool::Fresh;
use tutorial::{blocks, shell, tutorial};

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
    fresh
}

/// The first listings of the tutorial are a whole program, which runs in the place of the template's.
#[test]
fn the_tutorial_in_c() {
    let text = tutorial("application-c.md");
    let fresh = followed("tutorial-c", &text);
    let listings = blocks(&text, "c");
    let [main, produce, consume, ..] = &listings[..] else {
        panic!("{listings:?}")
    };
    let (include, main) = main.split_once("\n\n").expect("an include comes first");
    let (data, main) = main.split_once("\n\n").expect("the queue comes next");
    let program = [include, data, produce, consume, main].join("\n");
    std::fs::write(fresh.0.join("blink/app/main.c"), program).expect("its own");
    let ran = fresh.bulkhead(&["run", "blink"]);
    let output = String::from_utf8_lossy(&ran.stdout);
    assert!(
        ran.status.success(),
        "{output}{}",
        String::from_utf8_lossy(&ran.stderr)
    );
    assert!(output.contains("number 20, "), "{output}");
}

#[test]
fn the_tutorial_in_rust() {
    followed("tutorial-rust", &tutorial("application-rust.md"));
}

#[test]
fn the_tutorial_of_pipes() {
    followed("tutorial-pipe", &tutorial("pipe.md"));
}

/// Runs the C template with a change; the run fails with these words on a line of its verdict.
fn changed_and_failed(name: &str, [from, to]: [&str; 2], words: &str) {
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
    assert!(verdict.1.contains(words), "{text}");
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
        "wild-c/app thread 1: write to 0x10 in `consume` (wild-c/app/main.c:26)",
    );
}

#[test]
fn a_thread_that_never_gives_way_fails_the_run() {
    let change = ["        printf(", "        for (;;);\n        printf("];
    changed_and_failed(
        "loop-c",
        change,
        "loop-c/thread 2: 98 releases since 0.011 s were never served",
    );
}

#[test]
fn bad_names_are_refused() {
    let fresh = Fresh::new("new-bad");
    for name in ["Bad", "", "a/b", "2a"] {
        let refused = fresh.bulkhead(&["new", "--app", name]);
        assert!(!refused.status.success(), "`{name}`");
    }
    let left = std::fs::read_dir(&fresh.0).expect("its own").count();
    assert_eq!(left, 0, "something was made all the same");
}
