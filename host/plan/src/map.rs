//! The plan for people: memory map, owners, interrupts, channels, sizes

use std::fmt::Write;

use bulkhead_model::system::{PartitionId, System};
use bulkhead_model::{components_text, size_text};

use crate::Plan;
use crate::interrupts::SPI_BASE;
use crate::manifest::Manifest;
use crate::pcie::Bus;
use crate::purpose::Purpose;

/// The whole text.
#[must_use]
pub fn text(system: &System, plan: &Plan, manifest: &Manifest) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = write_all(&mut text, system, plan, manifest);
    text
}

fn write_all(
    out: &mut String,
    system: &System,
    plan: &Plan,
    manifest: &Manifest,
) -> std::fmt::Result {
    writeln!(
        out,
        "{}: board {}, {} cores, {} of memory, boot image {}",
        system.name,
        system.board.name,
        plan.view.cores.owner.len(),
        size_text(plan.machine.size),
        size_text(plan.machine.image_size),
    )?;
    cores(out, system, plan)?;
    physical(out, system, plan)?;
    for id in 0..system.partitions.len() {
        partition(out, system, plan, PartitionId(id))?;
    }
    channels(out, manifest)?;
    sizes(out, system, manifest)
}

fn cores(out: &mut String, system: &System, plan: &Plan) -> std::fmt::Result {
    writeln!(out, "\ncores")?;
    for (core, owner) in plan.view.cores.owner.iter().enumerate() {
        let name = owner.map_or("spare", |(id, _)| &system.partitions[id].name);
        writeln!(out, "  {core}  {name}")?;
    }
    Ok(())
}

/// Names a purpose, in the user's names.
fn purpose_text(system: &System, purpose: Purpose) -> String {
    let of = |what: &str, id: PartitionId| format!("{what} of {}", system.partition(id).name);
    match purpose {
        Purpose::Boot => "boot part, unused after boot".into(),
        Purpose::Monitor => "monitor".into(),
        Purpose::Config => "configuration".into(),
        Purpose::Tables => "translation tables".into(),
        Purpose::Images => "pristine images".into(),
        Purpose::Stack(core) => format!("stack of core {core}"),
        Purpose::State(id) => of("monitor state", id),
        Purpose::Link(id) => of("link page", id),
        Purpose::Status(id) => of("status", id),
        Purpose::GuestPage(id) => of("guest page", id),
        Purpose::ConsoleOut(id) => of("console output", id),
        Purpose::ConsoleIn(id) => of("console input", id),
        Purpose::Trace(id) => of("trace", id),
        Purpose::ComponentLog(id) => of("component faults", id),
        Purpose::Memory(id) => of("memory", id),
        Purpose::Channel(id) => format!("channel {}", system.channels[id.0].name),
        Purpose::Device(id) => format!("device {}", system.board.device(id).name),
        Purpose::Bus(id) => of("PCIe bus", id),
        Purpose::Confining => "registers of SMMU and bridges".into(),
        Purpose::Events => "what the SMMU refused".into(),
    }
}

/// Physical memory by address; the many pieces of coloured memory are one line.
fn physical(out: &mut String, system: &System, plan: &Plan) -> std::fmt::Result {
    writeln!(out, "\nphysical memory")?;
    let mut regions = plan.machine.regions.clone();
    regions.sort_by_key(|region| region.pa);
    let mut coloured = Vec::new();
    for region in regions {
        let what = purpose_text(system, region.purpose);
        if let Purpose::Memory(id) = region.purpose
            && !system.partition(id).colours.is_empty()
        {
            coloured.push(id);
            continue;
        }
        let size = size_text(region.size);
        writeln!(out, "  {:#014x}  {size:>9}  {what}", region.pa)?;
    }
    coloured.dedup();
    coloured.sort();
    coloured.dedup();
    coloured
        .into_iter()
        .try_for_each(|id| coloured_line(out, system, plan, id))
}

fn coloured_line(
    out: &mut String,
    system: &System,
    plan: &Plan,
    id: PartitionId,
) -> std::fmt::Result {
    let pieces = &plan.machine.memory[id.0];
    let first = pieces.first().map_or(0, |piece| piece.pa.0);
    let partition = system.partition(id);
    let size = size_text(partition.memory);
    let colours: Vec<String> = partition.colours.iter().map(u32::to_string).collect();
    writeln!(
        out,
        "  {first:#014x}  {size:>9}  memory of {}, {} pieces of colours {}",
        partition.name,
        pieces.len(),
        colours.join(" ")
    )
}

fn partition(out: &mut String, system: &System, plan: &Plan, id: PartitionId) -> std::fmt::Result {
    let partition = system.partition(id);
    let view = &plan.view.partitions[id.0];
    let kind = crate::inventory::kind_of(partition.kind);
    let criticality = crate::inventory::criticality_name(partition.criticality);
    writeln!(
        out,
        "\npartition {} ({kind}, criticality {criticality})",
        partition.name
    )?;
    let memory = Purpose::Memory(id);
    line(
        out,
        system.board.guest.ram,
        partition.memory,
        "rwx",
        &purpose_text(system, memory),
    )?;
    for (device, ipa) in crate::ends::devices(system, id) {
        let what = purpose_text(system, Purpose::Device(device));
        line(out, ipa.0, system.board.device(device).size, "rw-", &what)?;
    }
    for bus in plan.view.buses.iter().filter(|bus| bus.is_of(system, id)) {
        functions(out, system, bus)?;
    }
    for slot in &view.window.slots {
        let rights = if slot.access.write { "rw-" } else { "r--" };
        let later = if slot.key.is_some() {
            ", on demand"
        } else {
            ""
        };
        let what = purpose_text(system, slot.purpose) + later;
        line(out, slot.ipa.0, slot.size, rights, &what)?;
    }
    let intids: Vec<String> = plan
        .view
        .doorbells
        .owned(system, id)
        .iter()
        .map(u32::to_string)
        .collect();
    if !intids.is_empty() {
        writeln!(out, "  interrupts {}", intids.join(" "))?;
    }
    writeln!(out, "  entry {}", view.start.entry)?;
    out.write_str(&components_text(system, partition))
}

/// The bus of a partition and what is on it.
fn functions(out: &mut String, system: &System, bus: &Bus) -> std::fmt::Result {
    let mapped = system.board.pcie.iter().flat_map(|pcie| bus.mapped(pcie));
    for ((ipa, range), what) in mapped.zip(["configuration", "ports", "memory"]) {
        let what = format!("{what} of PCIe bus {}", bus.number);
        line(out, ipa, range.size(), "rw-", &what)?;
    }
    for function in &bus.functions {
        writeln!(
            out,
            "  slot {:<2} interrupt {}  {}",
            function.slot,
            SPI_BASE + function.spi,
            system.functions[function.id.0].name
        )?;
    }
    Ok(())
}

fn line(out: &mut String, ipa: u64, size: u64, rights: &str, what: &str) -> std::fmt::Result {
    writeln!(
        out,
        "  {ipa:#014x}  {:>9}  {rights}  {what}",
        size_text(size)
    )
}

fn channels(out: &mut String, manifest: &Manifest) -> std::fmt::Result {
    if manifest.channels.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nchannels")?;
    for channel in &manifest.channels {
        let name = &channel.name;
        let to = channel.to.join(", ");
        writeln!(
            out,
            "  {name:<15}  {:<9}  {} -> {to}, {} x {} bytes",
            channel.kind, channel.from, channel.messages, channel.message
        )?;
    }
    Ok(())
}

fn sizes(out: &mut String, system: &System, manifest: &Manifest) -> std::fmt::Result {
    let sizes = &manifest.sizes;
    writeln!(out, "\nmonitor, bytes")?;
    let fixed = [
        ("text, resident", sizes.monitor_text),
        ("read-only data", sizes.monitor_rodata),
        ("writable data", sizes.monitor_data),
        ("stacks and per-core state", sizes.stacks),
        ("configuration", sizes.config),
        ("tables of EL2", sizes.el2_tables),
        ("boot part, dropped", sizes.boot),
    ];
    let confining = (sizes.streams > 0).then_some(("tables of the SMMU", sizes.streams));
    for (what, size) in fixed.into_iter().chain(confining) {
        writeln!(out, "  {size:>8}  {what}")?;
    }
    for (partition, size) in system.partitions.iter().zip(&sizes.stage2_tables) {
        writeln!(out, "  {size:>8}  stage-2 tables of {}", partition.name)?;
    }
    Ok(())
}
