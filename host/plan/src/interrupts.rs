//! Doorbells, and the owner of each interrupt
//!
//! A doorbell is an SPI that the board wires to nothing, given to the receiver. Numbers are taken
//! in the order of the channels, the writer's doorbell first.

use bulkhead_abi::guest::Role;
use bulkhead_model::board::Device;
use bulkhead_model::system::{ChannelId, End, PartitionId, Rate, System};

use crate::ends;
use crate::error::PlanError;
use crate::pcie::Bus;

/// First INTID of an SPI.
pub const SPI_BASE: u32 = 32;

/// An outgoing doorbell of a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Doorbell {
    /// The channel it belongs to.
    pub channel: ChannelId,
    /// Receiver.
    pub receiver: PartitionId,
    /// INTID at the receiver.
    pub intid: u32,
    /// Its limit.
    pub rate: Rate,
}

/// Doorbells of all channels.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Doorbells {
    /// By channel: INTID by which the reader hears the writer.
    forward: Vec<Option<u32>>,
    /// By channel: INTID by which the writer hears the reader.
    reply: Vec<Option<u32>>,
    /// By PCIe function: its INTID, a level.
    functions: Vec<Option<u32>>,
}

/// Takes SPIs for all doorbells.
///
/// # Errors
/// The board has too few unused SPIs; a doorbell without exactly one receiver.
pub fn assign(system: &System, buses: &[Bus]) -> Result<Doorbells, PlanError> {
    let (first, last) = system.board.interrupts.doorbells;
    let mut free = first..=last;
    let mut doorbells = Doorbells {
        functions: vec![None; system.functions.len()],
        ..Doorbells::default()
    };
    for function in buses.iter().flat_map(|bus| &bus.functions) {
        doorbells.functions[function.id.0] = Some(SPI_BASE + function.spi);
    }
    for (id, channel) in system.channels.iter().enumerate() {
        let mut next = |rate: Option<Rate>, role| {
            let Some(_) = rate else { return Ok(None) };
            receiver(system, ChannelId(id), role)?;
            free.next()
                .map(|spi| Some(SPI_BASE + spi))
                .ok_or_else(|| too_few(system))
        };
        doorbells
            .forward
            .push(next(channel.doorbell, Role::Writer)?);
        doorbells
            .reply
            .push(next(channel.reply_doorbell, Role::Reader)?);
    }
    Ok(doorbells)
}

fn too_few(system: &System) -> PlanError {
    let (first, last) = system.board.interrupts.doorbells;
    let message = format!(
        "the channels ask for more doorbells than board `{}` has unused interrupts (SPI {first} to {last})",
        system.board.name
    );
    PlanError::new(
        "doorbells-used-up",
        message,
        "remove a doorbell; a reader may poll instead",
    )
}

/// Returns the partition that receives the doorbell of the `role` end.
fn receiver(system: &System, id: ChannelId, role: Role) -> Result<PartitionId, PlanError> {
    let channel = &system.channels[id.0];
    let mut peers = ends::peers(channel, role);
    match (peers.next(), peers.next()) {
        (Some(peer), None) => Ok(peer),
        _ => {
            let message = format!(
                "a doorbell of channel `{}` has not exactly one receiver",
                channel.name
            );
            let help = "give the doorbell to a channel between two partitions";
            Err(PlanError::new("doorbell-receiver", message, help).at(&channel.span))
        }
    }
}

impl Doorbells {
    /// INTID that the `role` end of a channel hears.
    #[must_use]
    pub fn heard(&self, channel: ChannelId, role: Role) -> Option<u32> {
        match role {
            Role::Reader => self.forward[channel.0],
            Role::Writer => self.reply[channel.0],
        }
    }

    /// The doorbells that a partition may ring, in the order of its table.
    #[must_use]
    pub fn outgoing(&self, system: &System, partition: PartitionId) -> Vec<Doorbell> {
        let ring = |(id, role): (ChannelId, Role)| {
            let channel = &system.channels[id.0];
            let (intid, rate) = match role {
                Role::Writer => (self.forward[id.0]?, channel.doorbell?),
                Role::Reader => (self.reply[id.0]?, channel.reply_doorbell?),
            };
            let receiver = ends::peers(channel, role).next()?;
            Some(Doorbell {
                channel: id,
                receiver,
                intid,
                rate,
            })
        };
        ends::channels(system, partition).filter_map(ring).collect()
    }

    /// INTIDs of all SPIs that a partition owns, ascending: its devices' and the doorbells it hears.
    #[must_use]
    pub fn owned(&self, system: &System, partition: PartitionId) -> Vec<u32> {
        let devices = devices(system, partition).flat_map(|device| &device.spis);
        let heard = ends::channels(system, partition)
            .filter_map(|(channel, role)| self.heard(channel, role));
        let functions = ends::functions(system, partition).into_iter();
        let functions = functions.filter_map(|id| self.functions[id.0]);
        let mut intids: Vec<u32> = devices
            .map(|spi| SPI_BASE + spi)
            .chain(heard)
            .chain(functions)
            .collect();
        intids.sort_unstable();
        intids.dedup();
        intids
    }

    /// Every SPI that has an owner: INTID and `true` for an edge, ascending.
    #[must_use]
    pub fn lines(&self, system: &System) -> Vec<(u32, bool)> {
        let bells = self
            .forward
            .iter()
            .chain(&self.reply)
            .flatten()
            .map(|&intid| (intid, true));
        let given = (0..system.partitions.len()).flat_map(|id| devices(system, PartitionId(id)));
        let spis =
            given.flat_map(|device| device.spis.iter().map(|spi| (SPI_BASE + spi, device.edge)));
        let functions = self.functions.iter().flatten();
        let functions = functions.map(|&intid| (intid, false));
        let mut lines: Vec<(u32, bool)> = bells.chain(spis).chain(functions).collect();
        lines.sort_unstable();
        lines.dedup();
        lines
    }
}

/// Devices of a partition and of those it stands in for.
fn devices(system: &System, partition: PartitionId) -> impl Iterator<Item = &Device> {
    ends::devices(system, partition)
        .into_iter()
        .map(|(id, _)| system.board.device(id))
}

/// The name of the receiving or sending end, for people.
#[must_use]
pub fn end_name(system: &System, end: End) -> &str {
    match end {
        End::Partition(id) => &system.partition(id).name,
        End::Host => "host",
    }
}
