//! Tutorials: their commands and listings

use crate::tool::{Fresh, checkout, in_checkout, tool};
use std::process::{Command, Output};

/// Runs commands of a tutorial in a shell in `folder`, up to the first that fails.
pub(crate) fn shell(folder: &Fresh, commands: &str) -> Output {
    let tool = tool().display().to_string();
    let mut command = in_checkout(Command::new("sh"));
    command.args(["-e", "-c", &commands.replace("./bulkhead", &tool)]);
    command.current_dir(&folder.0);
    command.output().expect("a shell")
}

/// Text of a tutorial.
pub(crate) fn tutorial(name: &str) -> String {
    let path = checkout().join("doc/tutorial").join(name);
    std::fs::read_to_string(path).expect("a tutorial")
}

/// Blocks of code of a language in a tutorial; of none: commands of a shell.
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
