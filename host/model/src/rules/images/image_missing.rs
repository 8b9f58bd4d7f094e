//! The files named are there

use super::Found;
use crate::diagnostic::Report;
use crate::draft::Draft;
use crate::resolve::{AGENT, PACKAGED_KERNELS};
use crate::suggestion::nearest;

crate::rules::declaration::rule! {
    Error, "image-missing",
    "image files are there and can be read",
    "Relative names start from the folder of the description, also those in `--set`.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    tell("image", super::files(draft), &[], report);
    tell("kernel", super::kernels(draft), PACKAGED_KERNELS, report);
    tell("initrd", super::initrds(draft), &[AGENT], report);
}

/// `names` are those that stand for something the tool provides.
fn tell<'a>(
    what: &str,
    files: impl Iterator<Item = Found<'a>>,
    names: &[&str],
    report: &mut Report,
) {
    for found in files {
        let Err(problem) = &found.file else { continue };
        let message = format!("the {what} `{}` cannot be used", found.name.value);
        let diagnostic = RULE.at(&found.name.span, message).here(problem.clone());
        report.add(match nearest(&found.name.value, names.iter().copied()) {
            Some(name) => diagnostic.help(format!("did you mean \"{name}\"?")),
            None => diagnostic.help(format!("it was looked for at {}", found.path)),
        });
    }
}
