//! A budget is a time in a period, of a thread

use crate::diagnostic::Report;
use crate::draft::{ComponentDraft, Draft, Field};
use crate::quantity::{LONGEST_NS, time_text};

crate::rules::declaration::rule! {
    Error, "component-budget",
    "a budget goes with a period that is no shorter, and with a priority",
    "The component's thread with the priority may use the budget once in every period. A component without a \
     priority has no thread that could use it.",
    check
}

/// Shortest budget: below, the switches would cost more.
const SHORTEST_NS: u64 = 10_000;

fn check(draft: &Draft, report: &mut Report) {
    for (partition, component) in super::all(draft) {
        let Some(problem) = problem(component) else {
            continue;
        };
        let span = component.budget.span().or(component.period.span());
        let message = format!(
            "the budget of `{}` is none: {problem}",
            component.path(partition)
        );
        report.add(
            RULE.at(span.unwrap_or(&component.name.span), message)
                .here("cannot be kept")
                .help("for example `budget = \"200 us\"` and `period = \"1 ms\"`"),
        );
    }
}

fn problem(component: &ComponentDraft) -> Option<String> {
    match (&component.budget, &component.period) {
        (Field::Absent, Field::Absent) | (Field::Broken, _) | (_, Field::Broken) => None,
        (Field::Given(_), Field::Absent) => Some("it has no `period`".into()),
        (Field::Absent, Field::Given(_)) => Some("a `period` alone says nothing".into()),
        _ if component.priority.is_absent() && !component.tasks.is_absent() => {
            Some("the VCPUs of the component's tasks have budgets".into())
        }
        _ if component.priority.is_absent() => Some("the component has no thread".into()),
        (Field::Given(budget), Field::Given(period)) => {
            let fits = (SHORTEST_NS..=period.value).contains(&budget.value);
            (!fits || period.value > LONGEST_NS)
                .then(|| format!("{} in {}", time_text(budget.value), time_text(period.value)))
        }
    }
}
