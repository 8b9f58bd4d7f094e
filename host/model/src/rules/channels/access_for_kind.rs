//! Readers write where their kind needs it

use crate::diagnostic::Report;
use crate::draft::Draft;
use bulkhead_abi::guest::ChannelKind;

crate::rules::declaration::rule! {
    Error, "access-for-kind",
    "readers of four-slot, ring and mailbox can write, readers of recorders cannot",
    "The former keep their cursors in the shared memory. The latter only read, so that any number of \
     them can disturb neither the writer nor each other.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for channel in &draft.channels {
        let (Some(kind), Some(access)) = (channel.kind.given(), channel.read_only.given()) else {
            continue;
        };
        let possible = match kind.value {
            ChannelKind::Memory => continue,
            ChannelKind::Recorder => true,
            _ => false,
        };
        if access.value != possible {
            let what = if possible {
                "must only read"
            } else {
                "must be able to write"
            };
            let message = format!("the reader of `{}` {what}", channel.name.value);
            report.add(
                RULE.at(&access.span, message)
                    .here("the wrong way round")
                    .label(&kind.span, "for this kind")
                    .help("leave `access` out"),
            );
        }
    }
}
