//! The image is one for the kind of guest

use crate::diagnostic::Report;
use crate::draft::Draft;
use crate::kinds::Kind;

crate::rules::declaration::rule! {
    Error, "image-for-kind",
    "a Linux partition has a kernel, and no other has one",
    "`kind = \"linux\"` goes with `kernel`; `\"rtos\"` and `\"image\"` go with `crate` or `file`. A Linux \
     kernel of which nothing is to be generated can be an `\"image\"` with `file` and `device_tree`.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for (partition, image) in super::images(draft) {
        let Some(kind) = partition.kind.given() else {
            continue;
        };
        let wrong = match kind.value {
            Kind::Linux => ["crate", "file"].as_slice(),
            Kind::Rtos | Kind::Image => &["kernel", "initrd"],
        };
        let advice = match kind.value {
            Kind::Linux => "write `image = { kernel = \"debian\", initrd = \"agent\" }`",
            Kind::Rtos | Kind::Image => "name a `crate` or a `file`, or write `kind = \"linux\"`",
        };
        let keys = image.value.keys.iter();
        if let Some(key) = keys
            .into_iter()
            .find(|key| wrong.contains(&key.value.as_str()))
        {
            report.add(
                RULE.at(
                    &key.span,
                    format!("this kind of guest has no `{}`", key.value),
                )
                .here("does not go with the kind")
                .label(&kind.span, "the kind")
                .help(advice),
            );
        }
    }
}
