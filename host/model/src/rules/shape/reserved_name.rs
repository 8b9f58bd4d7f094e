//! Some names are taken

use crate::diagnostic::Report;
use crate::document::At;

crate::rules::declaration::rule! {
    Error, "reserved-name",
    "`host`, `monitor`, `all` and `none` are no names for partitions, channels or systems",
    "`host` is the tool as the reader of a recorder, `monitor` the code at EL2, `all` and `none` are \
     words of the command line."
}

const RESERVED: &[&str] = &["host", "monitor", "all", "none"];

pub(super) fn check(what: &str, name: &At<String>, report: &mut Report) {
    if RESERVED.contains(&name.value.as_str()) {
        report.add(
            RULE.at(
                &name.span,
                format!("`{}` cannot be the name of {what}", name.value),
            )
            .here("reserved")
            .help("choose another name"),
        );
    }
}
