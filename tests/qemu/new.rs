//! `bulkhead new`: the created folders build and run unchanged, in both languages

mod tool;

use tool::Fresh;

/// Creates a folder of this kind, runs it, and checks that it prints `words`.
fn made_and_run(name: &str, kind: &str, language: &str, words: &str) -> Fresh {
    let fresh = Fresh::new(name);
    let made = fresh.bulkhead(&["new", kind, name, "--lang", language]);
    assert!(made.status.success(), "{made:?}");
    let ran = fresh.bulkhead(&["run", name]);
    let text = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success(), "{text}");
    assert!(text.contains(words), "{text}");
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
