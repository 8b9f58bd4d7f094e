//! `bulkhead new --app`: what it makes builds and runs at once, in both languages

mod tool;

use tool::Fresh;

fn made_and_run(name: &str, language: &str) {
    let fresh = Fresh::new(name);
    let made = fresh.bulkhead(&["new", "--app", name, "--lang", language]);
    assert!(made.status.success(), "{made:?}");
    let ran = fresh.bulkhead(&["run", name]);
    let text = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success(), "{text}");
    assert!(text.contains("number 20, "), "{text}");
    let again = fresh.bulkhead(&["new", "--app", name, "--lang", language]);
    assert!(!again.status.success(), "made twice");
}

#[test]
fn an_application_in_c() {
    made_and_run("new-c", "c");
}

#[test]
fn an_application_in_rust() {
    made_and_run("new-rust", "rust");
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
