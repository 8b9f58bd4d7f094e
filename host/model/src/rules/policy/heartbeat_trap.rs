//! A heartbeat costs nothing where a core is spare

use crate::diagnostic::Report;
use crate::draft::Draft;
use crate::quantity::time_text;

crate::rules::rule! {
    Warning, "heartbeat-trap",
    "there is a spare core to watch heartbeats",
    "A spare core's monitor looks at the heartbeats without touching anybody. Where every core is taken, \
     the partition's own core has to, by a timer interrupt that enters the monitor once per period, \
     counted.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    let taken = draft.cores_counted();
    if draft.machine_cores().is_none_or(|cores| cores > taken) {
        return;
    }
    for partition in &draft.partitions {
        let Some(heartbeat) = partition.heartbeat.given().filter(|beat| beat.value > 0) else {
            continue;
        };
        let rate = 1_000_000_000_f64 / heartbeat.value as f64;
        let message = format!("watching `{}` enters the monitor", partition.name.value);
        report.add(
            RULE.at(&heartbeat.span, message)
                .here(format!(
                    "every {}: {rate:.1} traps/s",
                    time_text(heartbeat.value)
                ))
                .help("leave a core without a partition, or make the heartbeat longer"),
        );
    }
}
