//! Explanations of keys and rules
//!
//! They come from the registry and the rules themselves, so they always match the checks.

use crate::registry::{BOARD, DESCRIPTION, FUNCTIONS, Key, Presence, Registry};
use crate::rules::{self, Rule};
use crate::suggestion::nearest;

/// Columns of the text.
const WIDTH: usize = 92;

/// Tells about a key (`memory`, `partition.memory`, `partition.NAME.memory`), a rule by its id, or
/// `all` of them in one line each; nothing where there is no such topic.
#[must_use]
pub fn explain(topic: &str) -> Option<String> {
    let topic = topic.trim();
    if topic == "all" {
        return Some(overview());
    }
    let keys = keys().filter(|key| is_called(key, topic)).map(explain_key);
    let rules = rules::all()
        .filter(|rule| rule.id == topic)
        .map(explain_rule);
    let texts: Vec<_> = keys.chain(rules).collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}

/// The topic that is most like an unknown one, of which the last part of a path counts.
#[must_use]
pub fn nearest_topic(topic: &str) -> Option<&'static str> {
    let name = topic.trim().rsplit('.').next().unwrap_or(topic);
    nearest(name, keys().map(Key::name).chain(rule_ids()))
}

/// Ids of all rules, in the order of the reference.
pub fn rule_ids() -> impl Iterator<Item = &'static str> {
    rules::all().map(|rule| rule.id)
}

fn keys() -> impl Iterator<Item = &'static Key> {
    DESCRIPTION
        .keys()
        .chain(BOARD.keys())
        .chain(FUNCTIONS.keys())
}

/// Returns whether people mean this key: its name, or its path with or without the given names.
fn is_called(key: &Key, topic: &str) -> bool {
    let short = key.path.replace(".*", "");
    let named = matches_path(key.path, topic);
    key.name() == topic || short == topic || named
}

/// Returns whether a path has the pattern, in which `*` stands for any name.
fn matches_path(pattern: &str, path: &str) -> bool {
    let mut parts = path.split('.');
    let fits = pattern.split('.').all(|segment| {
        parts
            .next()
            .is_some_and(|part| segment == "*" && !part.is_empty() || part == segment)
    });
    fits && parts.next().is_none()
}

fn explain_key(key: &Key) -> String {
    let expectation = key.shape.expectation();
    let within = |registry: Registry| registry.keys().any(|entry| std::ptr::eq(entry, key));
    let files = [(BOARD, " (board file)"), (FUNCTIONS, " (pipe functions)")];
    let file = files.into_iter().find(|(registry, _)| within(*registry));
    let file = file.map_or("", |(_, name)| name);
    format!(
        "{}{file}\n  {expectation}\n  {}\n\n{}\n\n    {}\n",
        key.display(),
        presence(key),
        wrapped(key.meaning, ""),
        key.example
    )
}

/// Returns whether it is required, or what holds without it.
pub(crate) fn presence(key: &Key) -> String {
    match key.presence {
        Presence::Required | Presence::RequiredByRule => "required".into(),
        Presence::Default(default) => format!("default: {default}"),
    }
}

fn explain_rule(rule: &Rule) -> String {
    let example = String::from_utf8_lossy(rule.example);
    let indented: Vec<_> = example
        .trim_end()
        .lines()
        .map(|line| format!("    {line}"))
        .collect();
    format!(
        "{} ({})\n  {}\n\n{}\n\nExample:\n\n{}\n",
        rule.id,
        rule.severity.name(),
        rule.summary,
        wrapped(rule.reason, ""),
        indented.join("\n").replace("    \n", "\n")
    )
}

fn overview() -> String {
    let line = |name: &str, text: &str| format!("  {name:<34} {text}\n");
    let files = [
        ("Keys of a description", DESCRIPTION),
        ("\nKeys of a board file", BOARD),
        ("\nKeys of a file of pipe functions", FUNCTIONS),
    ];
    let mut text = String::new();
    for (title, registry) in files {
        text.push_str(&format!("{title}\n"));
        let keys = registry.keys();
        text.extend(keys.map(|key| line(&key.display(), &first_words(key.meaning))));
    }
    for (group, rules) in rules::GROUPS {
        text.push_str(&format!("\nRules: {}\n", group.to_lowercase()));
        text.extend(
            rules
                .iter()
                .map(|rule| line(rule.id, &first_words(rule.summary))),
        );
    }
    text
}

/// As much as fits into one line.
fn first_words(text: &str) -> String {
    let sentence = text
        .split(". ")
        .next()
        .unwrap_or(text)
        .trim_end_matches('.');
    let lines = textwrap::wrap(sentence, 80);
    match lines.as_slice() {
        [] => String::new(),
        [only] => only.to_string(),
        [first, ..] => format!("{first} …"),
    }
}

/// Broken into lines.
pub(crate) fn wrapped(text: &str, indent: &str) -> String {
    let options = textwrap::Options::new(WIDTH)
        .initial_indent(indent)
        .subsequent_indent(indent);
    textwrap::fill(text, options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_and_rule_is_explained() {
        for key in keys() {
            for topic in [
                key.name().to_owned(),
                key.path.replace('*', "control"),
                key.display(),
            ] {
                assert!(
                    explain(&topic).is_some_and(|text| text.contains(key.example)),
                    "{topic}"
                );
            }
        }
        for rule in rules::all() {
            assert!(explain(rule.id).is_some_and(|text| text.contains(rule.summary)));
        }
    }

    #[test]
    fn unknown_topics_have_neighbours() {
        assert_eq!(explain("memmory"), None);
        assert_eq!(nearest_topic("memmory"), Some("memory"));
        assert_eq!(nearest_topic("partition.linux.heartbet"), Some("heartbeat"));
        assert_eq!(nearest_topic("xyzzy"), None);
        assert!(explain("all").is_some_and(|text| text.contains("core-given-twice")));
    }

    #[test]
    fn ids_are_unique() {
        let mut ids: Vec<_> = rule_ids().collect();
        let count = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), count);
    }
}
