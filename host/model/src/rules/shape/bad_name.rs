//! Names are made of small letters, digits and dashes

use crate::diagnostic::Report;
use crate::document::At;

crate::rules::declaration::rule! {
    Error, "bad-name",
    "a name starts with a small letter and has small letters, digits and `-` after it",
    "Names become file names, device nodes and fields in shared memory. One spelling fits all."
}

/// Checks a name against this rule and its neighbours.
pub(crate) fn check(what: &str, name: &At<String>, report: &mut Report) {
    if !is_well_formed(&name.value) {
        report.add(
            RULE.at(
                &name.span,
                format!("`{}` is no name for {what}", name.value),
            )
            .here("not a name")
            .help(format!("for example `{}`", repaired(&name.value))),
        );
    }
    super::name_too_long::check(what, name, report);
    super::reserved_name::check(what, name, report);
}

fn is_well_formed(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.chars().all(is_name_character)
}

fn is_name_character(character: char) -> bool {
    character.is_ascii_lowercase() || character.is_ascii_digit() || character == '-'
}

/// A name as close to this one as the rule allows.
fn repaired(name: &str) -> String {
    let lower = name.to_lowercase().replace(['_', ' ', '.'], "-");
    let kept: String = lower
        .chars()
        .filter(|character| is_name_character(*character))
        .collect();
    let start = kept.trim_start_matches(|first: char| !first.is_ascii_lowercase());
    let start = start.get(..super::name_too_long::LIMIT).unwrap_or(start);
    if start.is_empty() {
        "control".into()
    } else {
        start.into()
    }
}
