//! The tool as its users call it, in a folder of its own

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A fresh folder anywhere, gone when the test ends.
pub(crate) struct Fresh(pub(crate) PathBuf);

impl Fresh {
    pub(crate) fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("bulkhead-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        Self(folder)
    }

    /// The tool, called here.
    pub(crate) fn bulkhead(&self, arguments: &[&str]) -> Output {
        let mut command = in_checkout(Command::new(tool()));
        command.args(arguments).current_dir(&self.0);
        command.output().expect("the tool")
    }
}

/// The command works with this checkout. Crates outside of it leave what they are made of in its target folder, where
/// they find what another one left.
pub(crate) fn in_checkout(mut command: Command) -> Command {
    command.env("BULKHEAD_ROOT", checkout());
    command.env("CARGO_TARGET_DIR", target());
    command
}

/// The target folder of this program: `debug/deps/` in it contains the program.
fn target() -> PathBuf {
    let this = std::env::current_exe().expect("it runs");
    this.ancestors().nth(3).expect("a target folder").into()
}

pub(crate) fn checkout() -> PathBuf {
    let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    checkout.canonicalize().expect("the checkout")
}

/// The tool, built as for its own tests: `cargo build` would give its dependencies fewer features and so build them once more. It
/// lies in the folder above this program's.
pub(crate) fn tool() -> PathBuf {
    let built = Command::new(env!("CARGO"))
        .args(["test", "--quiet", "--no-run", "--test", "commands"])
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
