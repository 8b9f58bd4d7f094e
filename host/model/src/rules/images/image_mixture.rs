//! An image is one thing

use crate::diagnostic::Report;
use crate::draft::Draft;

crate::rules::declaration::rule! {
    Error, "image-mixture",
    "an image names only one of crate, file and kernel",
    "A partition starts one image. A second one can be given as `alternate`.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for (_, image) in super::images(draft) {
        let is_source = |key: &&str| ["crate", "file", "kernel"].contains(key);
        let keys = image.value.keys.iter();
        let sources: Vec<_> = keys.filter(|key| is_source(&key.value.as_str())).collect();
        if let [first, second, ..] = sources[..] {
            let message = format!(
                "an image cannot be a {} and a {}",
                first.value, second.value
            );
            report.add(
                RULE.at(&second.span, message)
                    .here("and this")
                    .label(&first.span, "this")
                    .help("leave one of them out"),
            );
        }
    }
}
