//! `bulkhead new --app`: what it makes builds and runs at once, in both languages

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A fresh folder anywhere, gone when the test ends.
struct Fresh(PathBuf);

impl Fresh {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("bulkhead-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        Self(folder)
    }

    /// The tool, called here.
    fn bulkhead(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(tool());
        command.args(arguments).current_dir(&self.0);
        command.env("BULKHEAD_ROOT", checkout());
        command.output().expect("the tool")
    }
}

fn checkout() -> PathBuf {
    let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    checkout.canonicalize().expect("the checkout")
}

/// The tool, built as this program was: it lies in the folder above this program's.
fn tool() -> PathBuf {
    let built = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--package", "bulkhead"])
        .current_dir(checkout())
        .status();
    assert!(built.is_ok_and(|status| status.success()), "the tool");
    let this = std::env::current_exe().expect("it runs");
    let folder = this.ancestors().nth(2).expect("a target folder");
    folder.join("bulkhead")
}

impl Drop for Fresh {
    fn drop(&mut self) {
        let _gone = std::fs::remove_dir_all(&self.0);
    }
}

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
