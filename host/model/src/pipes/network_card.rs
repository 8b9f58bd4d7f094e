//! Endpoints of a network card: an address and a port each
//!
//! A written endpoint has the receiver's address and port; all others of a component have the
//! card's own address, one for all of them.

use super::endpoints::is_written;
use crate::document::At;
use crate::draft::{ComponentDraft, EndpointDraft, PartitionDraft};
use std::net::SocketAddrV4;

/// Ports that are none.
const NO_PORTS: [u16; 2] = [0, bulkhead_abi::pipe::ANY];

/// An address to which datagrams go that are for one receiver, and a port.
pub(crate) fn parse(text: &str) -> Option<SocketAddrV4> {
    let address: SocketAddrV4 = text.parse().ok()?;
    let ip = address.ip();
    let one = !ip.is_unspecified() && !ip.is_multicast() && !ip.is_broadcast();
    (one && !NO_PORTS.contains(&address.port())).then_some(address)
}

/// The address of an endpoint, if it says one.
pub(crate) fn address(endpoint: &EndpointDraft) -> Option<SocketAddrV4> {
    parse(&endpoint.address.given()?.value)
}

/// Endpoints of a component that say the address of its card.
pub(crate) fn card_addresses<'d>(
    partition: &'d PartitionDraft,
    component: &'d ComponentDraft,
) -> impl Iterator<Item = (&'d At<String>, SocketAddrV4)> {
    let ends = component.endpoints.iter().filter(|end| {
        let path = format!("{}.{}", component.name.value, end.name.value);
        !is_written(partition, &path)
    });
    ends.filter_map(|end| Some((end.address.given()?, address(end)?)))
}

/// Addresses and port of a stage at a network card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AtCard {
    /// The card's own IPv4 address, and the receiver's, as numbers; 0: none.
    pub addresses: [u32; 2],
    /// The port that it sends from: that of the first endpoint which says the card's address.
    pub port: u16,
}

/// The addresses of a function that reads and writes such endpoints, by their paths.
pub(super) fn at_card(
    partition: &PartitionDraft,
    ends: [Option<(&str, &EndpointDraft)>; 2],
) -> Option<AtCard> {
    let number = |address: SocketAddrV4| u32::from(*address.ip());
    let (path, _) = ends
        .iter()
        .flatten()
        .find(|(_, end)| address(end).is_some())?;
    let driver = path.split('.').next();
    let mut components = partition.components.iter();
    let component = components.find(|one| Some(one.name.value.as_str()) == driver);
    let (_, card) = card_addresses(partition, component?).next()?;
    let receiver = ends[1].and_then(|(_, end)| address(end));
    Some(AtCard {
        addresses: [number(card), receiver.map_or(0, number)],
        port: card.port(),
    })
}
