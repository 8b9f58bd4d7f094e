//! A bridge leads somewhere

use crate::diagnostic::Report;
use crate::draft::{Draft, items};

crate::rules::declaration::rule! {
    Error, "bridge-place",
    "a bridge listens or connects somewhere, at `tcp/ADDRESS:PORT`",
    "The bridge discovers no peers: the description names each connection. The bridge speaks Zenoh over TCP.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for (partition, bridge) in draft.bridges() {
        if bridge.listen.is_absent() && bridge.connect.is_absent() {
            let message = format!("the bridge of `{}` leads nowhere", partition.name.value);
            let found = RULE
                .at(&bridge.name.span, message)
                .here("neither `listen` nor `connect`");
            report.add(found.help("add `listen = [\"tcp/0.0.0.0:7447\"]`, or the same with `connect` and another's address"));
        }
        let places = items(&bridge.listen).chain(items(&bridge.connect));
        for place in places.filter(|place| !is_place(&place.value)) {
            let message = format!("`{}` is no place on a network", place.value);
            let found = RULE.at(&place.span, message).here("not `tcp/ADDRESS:PORT`");
            report.add(found.help("for example `tcp/10.0.0.2:7447`"));
        }
    }
}

fn is_place(place: &str) -> bool {
    let address = place.strip_prefix("tcp/");
    let parts = address.and_then(|address| address.rsplit_once(':'));
    let plain = |host: &str| {
        host.chars()
            .all(|one| one.is_ascii_alphanumeric() || "[]:.-_".contains(one))
    };
    parts.is_some_and(|(host, port)| !host.is_empty() && plain(host) && port.parse::<u16>().is_ok())
}
