//! The guest page: what an image that knows Bulkhead is told

use bulkhead_abi::guest::{ChannelEnd, Function, GUEST_MAGIC, GuestPage, MAX_CHANNELS, NONE, Role};
use bulkhead_abi::{PAGE_SIZE, VERSION, name_field};
use bulkhead_model::system::{ChannelId, End, FunctionId, PartitionId, System};
use zerocopy::{FromZeros, IntoBytes};

use crate::ends;
use crate::error::PlanError;
use crate::interrupts::{Doorbells, SPI_BASE, end_name};
use crate::pcie::Bus;
use crate::purpose::Purpose;
use crate::window::Window;

/// Facts about a channel end for a guest, in addresses of its own address space.
pub struct EndFacts<'a> {
    system: &'a System,
    doorbells: &'a Doorbells,
    window: &'a Window,
    partition: PartitionId,
}

impl<'a> EndFacts<'a> {
    /// For one partition.
    #[must_use]
    pub const fn new(
        system: &'a System,
        doorbells: &'a Doorbells,
        window: &'a Window,
        partition: PartitionId,
    ) -> Self {
        Self {
            system,
            doorbells,
            window,
            partition,
        }
    }

    /// All ends of the partition, in the order of the description.
    #[must_use]
    pub fn all(&self) -> Vec<ChannelEnd> {
        ends::channels(self.system, self.partition)
            .map(|(id, role)| self.end(id, role))
            .collect()
    }

    fn end(&self, id: ChannelId, role: Role) -> ChannelEnd {
        let channel = &self.system.channels[id.0];
        let other = match role {
            Role::Writer => channel.to.first().copied().unwrap_or(End::Host),
            Role::Reader => channel.from,
        };
        let peer = ends::peers(channel, role).next();
        let standby = peer.and_then(|peer| self.system.partition(peer).standby);
        let link =
            |id: Option<PartitionId>| id.map_or(0, |id| self.window.place(Purpose::Link(id))[0]);
        let [ipa, size] = self.window.place(Purpose::Channel(id));
        ChannelEnd {
            name: name_field(&channel.name),
            peer: name_field(end_name(self.system, other)),
            kind: channel.kind as u32,
            role: role as u32,
            ipa,
            size,
            message_size: channel.message,
            messages: channel.messages,
            doorbell_in: self.doorbells.heard(id, role).unwrap_or(NONE),
            doorbell_out: self.outgoing(id).unwrap_or(NONE),
            key: channel.key.unwrap_or(0),
            link: link(peer),
            standby_link: link(standby),
        }
    }

    fn outgoing(&self, channel: ChannelId) -> Option<u32> {
        let outgoing = self.doorbells.outgoing(self.system, self.partition);
        let index = outgoing.iter().position(|bell| bell.channel == channel)?;
        u32::try_from(index).ok()
    }
}

/// Ticks of the generic timer in so many nanoseconds.
#[must_use]
pub fn ticks(system: &System, nanoseconds: u64) -> u64 {
    let ticks = u128::from(nanoseconds) * u128::from(system.board.timer.frequency);
    u64::try_from(ticks / 1_000_000_000).unwrap_or(u64::MAX)
}

/// Argument words of a partition. A guest takes the first word with a key, so the words of this build precede
/// the description's and win.
#[must_use]
pub fn argument_text(arguments: &str, added: &str) -> String {
    [added.trim(), arguments.trim()]
        .iter()
        .filter(|text| !text.is_empty())
        .copied()
        .collect::<Vec<_>>()
        .join(" ")
}

/// The PCIe functions that a partition owns, as it sees them; what nothing confines finds memory at that
/// distance from where the partition does.
#[must_use]
pub fn functions(system: &System, buses: &[Bus], id: PartitionId, distance: u64) -> Vec<Function> {
    let Some(pcie) = &system.board.pcie else {
        return Vec::new();
    };
    let placed = |function: FunctionId| {
        let on = |bus: &'_ &Bus| bus.is_of(system, id);
        buses.iter().filter(on).find_map(|bus| {
            let function = bus.functions.iter().find(|one| one.id == function)?;
            Some((bus, function))
        })
    };
    let owned = ends::functions(system, id).into_iter();
    owned
        .filter_map(|number| {
            let (bus, function) = placed(number)?;
            Some(Function {
                name: name_field(&system.functions[number.0].name),
                configuration: bus.function_page(pcie, function),
                identity: system.kind_of(number)?.identity,
                intid: SPI_BASE + function.spi,
                bars: function.bars,
                memory: distance,
            })
        })
        .collect()
}

/// The page's bytes.
///
/// # Errors
/// Too many channel ends, or too long an argument text.
pub fn bytes(
    facts: &EndFacts<'_>,
    argument: &str,
    cores: usize,
    functions: &[Function],
) -> Result<Vec<u8>, PlanError> {
    let EndFacts {
        system,
        window,
        partition: id,
        ..
    } = *facts;
    let partition = system.partition(id);
    let mut all = GuestPage::new_zeroed();
    let info = &mut all.info;
    let ends = facts.all();
    if ends.len() > MAX_CHANNELS || argument.len() > info.argument.len() {
        let message = format!(
            "partition `{}` has {} channel ends (at most {MAX_CHANNELS}) and {} bytes of arguments (at most {})",
            partition.name,
            ends.len(),
            argument.len(),
            info.argument.len()
        );
        return Err(PlanError::new("guest-page-full", message, "remove some").at(&partition.span));
    }
    info.magic = GUEST_MAGIC;
    info.version = VERSION;
    info.channel_count = ends.len() as u32;
    info.name = name_field(&partition.name);
    info.memory = [system.board.ram_of(partition.kind), partition.memory];
    info.heartbeat_period_ticks = partition.heartbeat_ns.map_or(0, |ns| ticks(system, ns));
    info.console_out = window.place(Purpose::ConsoleOut(id));
    info.console_in = window.place(Purpose::ConsoleIn(id));
    info.trace = window.place(Purpose::Trace(id));
    info.link = window.place(Purpose::Link(id))[0];
    info.status = window.place(Purpose::Status(id))[0];
    let guest = &system.board.guest;
    info.interrupt_controller = [guest.distributor, guest.redistributors];
    info.timer = system.board.timer.virtual_timer;
    info.cores = cores as u32;
    info.argument_len = argument.len() as u32;
    info.argument[..argument.len()].copy_from_slice(argument.as_bytes());
    info.channels[..ends.len()].copy_from_slice(&ends);
    all.component_log = window.place(Purpose::ComponentLog(id));
    for (place, function) in all.functions.iter_mut().zip(functions) {
        *place = *function;
    }
    let mut page = all.as_bytes().to_vec();
    page.resize(PAGE_SIZE as usize, 0);
    Ok(page)
}

#[cfg(test)]
mod tests {
    use super::argument_text;

    #[test]
    fn words_of_a_run_precede_those_of_the_description() {
        let text = argument_text("rate=10 quiet\n", " rate=20 ");
        assert_eq!(text, "rate=20 rate=10 quiet");
        assert_eq!(argument_text("", ""), "");
    }
}
