//! The reference of the description, generated
//!
//! `doc/reference/description.md` is this text; a test fails where it is not.

use crate::explain::presence;
use crate::registry::{BOARD, DESCRIPTION, FUNCTIONS, Key, Registry, Shape};
use crate::rules::{self, Rule};
use std::fmt::Write;

const HEAD: &str = "\
# The system description

A system is described by one TOML file, `system.toml` in a folder of its own. `bulkhead check` tells \
all that is wrong with it, `bulkhead explain KEY` tells what is written here, `bulkhead new NAME` makes \
one to start from. Addresses, interrupt numbers and device nodes are derived from it and never typed.

Sizes are texts with a unit (`\"256 KiB\"`; B, KiB, MiB, GiB, TiB) or plain numbers of bytes; times are \
texts with a unit (`\"20 ms\"`; ns, us, ms, s, min, h). `bulkhead … --set KEY=VALUE` changes a key for one \
command, `KEY+=TEXT` adds words to a text.

This file is generated from the tables by which descriptions are checked \
(`BLESS=1 cargo test -p bulkhead-model --test golden`).
";

/// The reference as Markdown.
#[must_use]
pub fn reference() -> String {
    let mut text = String::from(HEAD);
    text.push_str("\n## Keys\n");
    keys(&mut text, DESCRIPTION);
    text.push_str(
        "\n## Rules\n\nEach has a rejecting example in `tests/golden/`. Errors refuse a description, \
         warnings do not, notes are shown by `check -v`.\n",
    );
    for (group, rules) in rules::GROUPS {
        let _ = write!(text, "\n### {group}\n\n");
        rules.iter().for_each(|one| rule(&mut text, one));
    }
    text.push_str(
        "\n## Keys of a board file\n\nA board is a file in `boards/`: facts, no policy.\n",
    );
    keys(&mut text, BOARD);
    text.push_str(
        "\n## Keys of a file of pipe functions\n\nWhat `bulkhead pipe solve --functions` builds pipelines of.\n",
    );
    keys(&mut text, FUNCTIONS);
    text
}

fn keys(text: &mut String, registry: Registry) {
    registry.keys().for_each(|one| key(text, one));
}

fn key(text: &mut String, key: &Key) {
    let header = matches!(key.shape, Shape::Section | Shape::Named) && !key.path.contains('.');
    let level = if header { "###" } else { "####" };
    let _ = write!(
        text,
        "\n{level} `{}`\n\n{}; {}.\n\n{}\n\n```toml\n{}\n```\n",
        key.display(),
        capitalised(&key.shape.expectation()),
        presence(key),
        key.meaning,
        key.example
    );
}

fn rule(text: &mut String, rule: &Rule) {
    let _ = writeln!(
        text,
        "- **{}** ({}): {}. {}",
        rule.id,
        rule.severity.name(),
        rule.summary,
        rule.reason.replace('\n', " ")
    );
}

fn capitalised(text: &str) -> String {
    let mut characters = text.chars();
    match characters.next() {
        Some(first) => first.to_uppercase().chain(characters).collect(),
        None => String::new(),
    }
}
