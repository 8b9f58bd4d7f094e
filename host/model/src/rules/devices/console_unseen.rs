//! A Linux shows itself on a UART

use crate::diagnostic::Report;
use crate::draft::Draft;
use crate::kinds::Kind;

crate::rules::declaration::rule! {
    Warning, "console-unseen",
    "a Linux has a UART, its own or an emulated one, as its console",
    "A kernel writes to a PL011 and knows nothing of a console in memory: nothing of what it says, not \
     even why it does not come up, would be seen.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for partition in draft
        .partitions
        .iter()
        .filter(|one| one.kind.value() == Some(Kind::Linux))
    {
        if let Some(console) = partition
            .console
            .given()
            .filter(|one| one.value == "memory")
        {
            let message = format!(
                "the console output of `{}` would be lost",
                partition.name.value
            );
            report.add(
                RULE.at(&console.span, message)
                    .here("not known to a kernel")
                    .help("leave it out for an emulated UART, or give it one: `devices = [\"uart0\"]`"),
            );
        }
    }
}
