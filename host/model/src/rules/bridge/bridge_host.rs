//! The machine has a name

use crate::bridge::is_part;
use crate::diagnostic::Report;
use crate::draft::Draft;

crate::rules::declaration::rule! {
    Error, "bridge-host",
    "a bridge says the name of this machine, of letters, digits, `-`, `.` and `_`",
    "It is the first part of the names by which other machines know what goes out, and two machines of one name would speak as one. \
     On Zenoh it is a part of a key expression, where other characters mean something.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for (partition, bridge) in draft.bridges() {
        if bridge.host.is_absent() {
            let message = format!(
                "the bridge of `{}` does not say which machine this is",
                partition.name.value
            );
            let found = RULE.at(&bridge.name.span, message).here("without `host`");
            report.add(
                found.help(
                    "add `host = \"NAME\"`, a name that no other machine on that network has",
                ),
            );
        }
        if let Some(host) = bridge.host.given().filter(|host| !is_part(&host.value)) {
            let message = format!("`{}` is no name of a machine", host.value);
            let found = RULE.at(&host.span, message).here("not a name");
            report.add(found.help("letters, digits, `-`, `.` and `_`, for example `car-1`"));
        }
    }
}
