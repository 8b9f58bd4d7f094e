//! An image is whole

use crate::diagnostic::Report;
use crate::draft::Draft;
use crate::image_file::Content;

crate::rules::declaration::rule! {
    Error, "image-truncated",
    "an image file is whole",
    "ELF headers, and the section table of kernels with an EFI stub, tell how long the file must be. \
     One that is shorter was cut off, by a full disk or a broken download.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for found in super::files(draft).chain(super::kernels(draft)) {
        let Ok(Content::Truncated(missing)) = found.file.map(|file| file.content) else {
            continue;
        };
        let message = format!("the end of `{}` is missing", found.name.value);
        report.add(
            RULE.at(&found.name.span, message)
                .here(missing)
                .help("build, copy or fetch it again"),
        );
    }
}
