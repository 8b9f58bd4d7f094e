//! Forwarded ports of the host lead to a network card

use crate::diagnostic::Report;
use crate::document::At;
use crate::draft::{Draft, Field, FunctionDraft};

crate::rules::declaration::rule! {
    Error, "device-forward",
    "`forward` is a UDP port of the host and one of a network card, `forward_tcp` a TCP one, and no port of the host is taken twice",
    "The tool listens at the host's port, on the loopback address, and forwards datagrams or connections to the \
     device.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for (key, example, of) in KEYS {
        let mut taken = Vec::new();
        for function in &draft.functions {
            let Some(ports) = of(function).given() else {
                continue;
            };
            let numbers: Vec<u64> = ports.value.iter().map(|port| port.value).collect();
            let (message, help) = match numbers[..] {
                _ if !reachable(draft, function) => (
                    format!("nothing is passed on to `{}`", function.name.value),
                    "leave it out: only a network card can be reached from the host".into(),
                ),
                [host, port] if host != 0 && port != 0 && !taken.contains(&host) => {
                    taken.push(host);
                    continue;
                }
                [host, port] if host != 0 && port != 0 => (
                    format!("port {host} of the host is taken"),
                    "choose another one".into(),
                ),
                _ => (
                    "a port of the host and one of the device are needed".into(),
                    format!("say both, none of them 0: `{key} = {example}`"),
                ),
            };
            report.add(RULE.at(&ports.span, message).here("forwarded").help(help));
        }
    }
}

/// Forwarded ports of a card.
type Ports = fn(&FunctionDraft) -> &Field<Vec<At<u64>>>;

/// Ports of UDP and TCP are different ones.
const KEYS: [(&str, &str, Ports); 2] = [
    ("forward", "[15007, 7]", |function| &function.forward),
    ("forward_tcp", "[17447, 7447]", |function| {
        &function.forward_tcp
    }),
];

/// Returns whether the host can reach what is of that kind.
fn reachable(draft: &Draft, function: &FunctionDraft) -> bool {
    let kind = draft.kind_of(function);
    kind.is_none_or(|kind| kind.forwarded.is_some())
}
