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

    /// Commands of a tutorial, in a shell here, up to the first that fails.
    #[allow(dead_code, reason = "each test program uses a part of this module")]
    pub(crate) fn shell(&self, commands: &str) -> Output {
        let tool = tool().display().to_string();
        let mut command = Command::new("sh");
        command.args(["-e", "-c", &commands.replace("./bulkhead", &tool)]);
        command
            .env("BULKHEAD_ROOT", checkout())
            .current_dir(&self.0);
        command.output().expect("a shell")
    }

    /// The tool, called here.
    pub(crate) fn bulkhead(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(tool());
        command.args(arguments).current_dir(&self.0);
        command.env("BULKHEAD_ROOT", checkout());
        command.output().expect("the tool")
    }
}

/// Text of a tutorial.
#[allow(dead_code, reason = "each test program uses a part of this module")]
pub(crate) fn tutorial(name: &str) -> String {
    let path = checkout().join("doc/tutorial").join(name);
    std::fs::read_to_string(path).expect("a tutorial")
}

/// Blocks of code of a language in a tutorial; of none: commands of a shell.
#[allow(dead_code, reason = "as above")]
pub(crate) fn blocks(text: &str, language: &str) -> Vec<String> {
    let fence = format!("```{language}\n");
    let mut blocks = Vec::new();
    let mut rest = text;
    while let Some((_, opened)) = rest.split_once("```") {
        let (block, behind) = opened.split_once("```").expect("each block is closed");
        if let Some(body) = format!("```{block}").strip_prefix(&fence) {
            blocks.push(body.to_owned());
        }
        rest = behind;
    }
    blocks
}

fn checkout() -> PathBuf {
    let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    checkout.canonicalize().expect("the checkout")
}

/// The tool, built as this program was: it lies in the folder above this program's.
fn tool() -> PathBuf {
    let built = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--profile", "test", "--bin", "bulkhead"])
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
