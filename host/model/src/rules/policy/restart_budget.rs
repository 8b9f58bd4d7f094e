//! A budget of restarts admits some

use crate::diagnostic::Report;
use crate::draft::Draft;

crate::rules::declaration::rule! {
    Error, "restart-budget",
    "a budget admits at least one restart per period, of 1 ms to 1 day, with a pause of at most 1 h",
    "A partition that is not to restart has other actions than `\"restart\"`, for example `on_panic = \
     \"halt\"`.",
    check
}

/// Bounds, nanoseconds.
const SHORTEST: u64 = 1_000_000;
const LONGEST: u64 = 86_400_000_000_000;
const LONGEST_PAUSE: u64 = 3_600_000_000_000;

fn check(draft: &Draft, report: &mut Report) {
    for restart in draft.partitions.iter().map(|partition| &partition.restart) {
        let wrong = [
            (
                restart.limit.given().filter(|limit| limit.value == 0),
                "at least 1",
            ),
            (
                restart
                    .per
                    .given()
                    .filter(|per| !(SHORTEST..=LONGEST).contains(&per.value)),
                "1 ms to 1 day",
            ),
            (
                restart
                    .backoff
                    .given()
                    .filter(|pause| pause.value > LONGEST_PAUSE),
                "at most 1 h",
            ),
        ];
        for (value, range) in wrong {
            let Some(value) = value else { continue };
            report.add(
                RULE.at(&value.span, "a budget of restarts cannot have this value")
                    .here(range)
                    .help(
                        "for example `restart = { limit = 10, per = \"10 s\", then = \"halt\" }`",
                    ),
            );
        }
    }
}
