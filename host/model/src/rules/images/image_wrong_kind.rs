//! An image is a program for AArch64

use crate::diagnostic::Report;
use crate::draft::Draft;
use crate::image_file::Content;

crate::rules::declaration::rule! {
    Error, "image-wrong-kind",
    "an image file is a linked 64-bit little-endian AArch64 program, an `Image`, or a flat file",
    "What is recognised as something else is refused: it would run into an undefined instruction at \
     once.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for found in super::files(draft) {
        let Ok(file) = &found.file else { continue };
        let (what, advice) = match &file.content {
            Content::Foreign(what, advice) => (format!("this is {what}"), (*advice).to_owned()),
            Content::Packed(how) => (format!("this is packed by {how}"), "unpack it first".into()),
            _ => continue,
        };
        let message = format!("`{}` cannot be started", found.name.value);
        report.add(RULE.at(&found.name.span, message).here(what).help(advice));
    }
}
