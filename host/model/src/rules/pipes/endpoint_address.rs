//! Endpoints of a network card have addresses, and no others

use super::endpoint_driver::{self, is_card, names, row};
use crate::diagnostic::Report;
use crate::draft::{ComponentDraft, Draft, EndpointDraft, PartitionDraft};
use crate::pipes::network_card::{self, parse};
use crate::source::Span;

crate::rules::declaration::rule! {
    Error, "endpoint-address",
    "an endpoint of a network card has an `address`, and the card has one",
    "What pipes send and receive over a network is a UDP datagram of 16 bytes, a message's two words. Where a stage \
     writes, the address is the receiver's; all other endpoints of the component say the card's own. Every machine on \
     the wire may send to it. For a lossless pipe, messages that arrive closer together than the endpoint's `distance` \
     are dropped. A flood takes at most the share of the I/O VCPU.",
    check
}

/// Place, problem and remedy.
type Problem = (Span, String, String);

fn check(draft: &Draft, report: &mut Report) {
    for partition in &draft.partitions {
        for component in &partition.components {
            let ends = component.endpoints.iter();
            let problems = ends.filter_map(|end| {
                malformed(end).or_else(|| misplaced(draft, partition, component, end))
            });
            let all = problems.chain(divided(partition, component));
            for (span, message, help) in all {
                report.add(RULE.at(&span, message).help(help));
            }
        }
    }
}

/// Returns whether all addresses of a partition's endpoints are some.
pub(super) fn is_sound(partition: &PartitionDraft) -> bool {
    let mut components = partition.components.iter();
    components.all(|component| {
        let mut ends = component.endpoints.iter();
        ends.all(|end| malformed(end).is_none()) && divided(partition, component).is_none()
    })
}

fn malformed(end: &EndpointDraft) -> Option<Problem> {
    let address = end.address.given()?;
    if parse(&address.value).is_none() {
        let message = format!("`{}` is no address of one host and port", address.value);
        let help = "for example `address = \"10.0.2.15:5000\"`; ports are 1 to 65534";
        return Some((address.span.clone(), message, help.into()));
    }
    let identifier = end.identifier.given()?;
    let message = format!("`{}` has an address and an identifier", end.name.value);
    let help = "a network card has addresses, a CAN controller identifiers: leave one of them out";
    Some((identifier.span.clone(), message, help.into()))
}

fn misplaced(
    draft: &Draft,
    partition: &PartitionDraft,
    component: &ComponentDraft,
    end: &EndpointDraft,
) -> Option<Problem> {
    let driven = endpoint_driver::driven(draft, partition, component);
    let row = driven.and_then(|(_, function)| row(function));
    let drives_card = row.is_some_and(is_card);
    let (owner, name) = (&component.name.value, &end.name.value);
    match (end.address.given(), drives_card) {
        (Some(address), false) => Some((
            address.span.clone(),
            match driven {
                Some((device, _)) => format!("`{}` is no network card that it can drive", device.value),
                None => format!("`{owner}` drives no network card"),
            },
            format!("have `{owner}` own a device of kind {}", names(is_card)),
        )),
        (None, true) if end.address.is_absent() => Some((
            end.name.span.clone(),
            format!("`{name}` is at a network card, and has no address"),
            "give it one: where stages write, the receiver's, `address = \"10.0.2.16:5000\"`; else the card's own".into(),
        )),
        _ => None,
    }
}

/// A card has one address.
fn divided(partition: &PartitionDraft, component: &ComponentDraft) -> Option<Problem> {
    let mut addresses = network_card::card_addresses(partition, component);
    let Some((first, address)) = addresses.next() else {
        // What is wrong with one of them is said of that one.
        let mut ends = component.endpoints.iter();
        let sound = ends.clone().all(|end| network_card::address(end).is_some());
        let written = ends.find_map(|end| end.address.given()).filter(|_| sound)?;
        let owner = &component.name.value;
        return Some((
            written.span.clone(),
            format!("the card of `{owner}` has no address"),
            "add an endpoint that no stage writes, with the card's own address".into(),
        ));
    };
    let (other, _) = addresses.find(|(_, other)| other.ip() != address.ip())?;
    Some((
        other.span.clone(),
        format!(
            "the card has the address `{}`, and `{}`",
            other.value, first.value
        ),
        "the card has one address, with a port for each endpoint that is read".into(),
    ))
}
