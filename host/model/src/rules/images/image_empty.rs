//! An image says what it is

use crate::diagnostic::Report;
use crate::draft::Draft;

crate::rules::declaration::rule! {
    Error, "image-empty",
    "an image names a crate, a file or a kernel",
    "`{ crate = … }` is built from this workspace, `{ file = … }` is taken as it is, `{ kernel = …, \
     initrd = … }` is a Linux.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for (_, image) in super::images(draft) {
        let sources = [&image.value.built, &image.value.file, &image.value.kernel];
        if sources.iter().all(|source| source.is_absent()) {
            report.add(
                RULE.at(&image.span, "this image names nothing to start")
                    .here("no crate, file or kernel")
                    .help("for example `image = { crate = \"bulkhead-control\" }`"),
            );
        }
    }
}
