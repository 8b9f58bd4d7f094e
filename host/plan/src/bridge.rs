//! Exports and imports of a Linux partition, in the terms of its bridge (`doc/interfaces/bridge.md`)

use bulkhead_model::bridge::{Bridge, Export, Import, Inside};
use bulkhead_model::pipes::Pipe;
use bulkhead_model::system::System;
use bulkhead_stages::link::OUTWARD_PLACES;
use bulkhead_stages::message::BYTES;
use bulkhead_tpipe::language::Buffering;
use std::fmt::Write;

/// Folder in which Linux's agent puts the buffers between stages and the bridge.
const FOLDER: &str = "/run/bulkhead";

/// Its lines.
#[must_use]
pub fn text(system: &System, bridge: &Bridge) -> String {
    let places = [("listen", &bridge.listen), ("connect", &bridge.connect)];
    let places = places.iter().flat_map(|(word, places)| {
        let line = move |place| format!("{word} {place}");
        places.iter().map(line)
    });
    let exports = bridge.exports.iter().map(|one| export(system, one));
    let imports = bridge.imports.iter().map(|one| import(system, one));
    let node = bridge.has_topics().then(|| format!("node {}", bridge.node));
    let lines: Vec<_> = places.chain(node).chain(exports).chain(imports).collect();
    lines.join("\n")
}

fn export(system: &System, export: &Export) -> String {
    let endpoint = export.address.word();
    match export.source {
        Inside::Channel(id) => format!("export {} {endpoint}", system.channels[id.0].name),
        Inside::Stage { pipe, stage } => {
            let pipe = &system.pipes[pipe];
            let name = format!("{}.{}", pipe.name, stage + 1);
            let channel = file(pipe, &name, u64::from(OUTWARD_PLACES));
            format!("{channel}\nexport {name} {endpoint}")
        }
    }
}

/// The buffer of a stage, by its file: the newest message, or so many of them.
fn file(pipe: &Pipe, name: &str, places: u64) -> String {
    let (kind, messages) = match pipe.solved.buffering {
        Buffering::FourSlot => ("four-slot", 1),
        Buffering::Fifo => ("ring", places.max(1)),
    };
    format!("channel {name} {kind} {BYTES} {messages} {FOLDER}/{name}")
}

fn import(system: &System, import: &Import) -> String {
    let address = import.address.word();
    let mut line = match import.target {
        Inside::Channel(id) => format!("import {} {address}", system.channels[id.0].name),
        Inside::Stage { pipe, stage } => {
            let pipe = &system.pipes[pipe];
            let name = format!("{}.{}.in", pipe.name, stage + 1);
            let channel = file(pipe, &name, pipe.solved.stages[stage].buffer);
            let distance = import.distance_ns.unwrap_or(0);
            format!("{channel}\nimport {name} {address} stage {distance}")
        }
    };
    if let Some(ns) = import.max_age_ns {
        line += &format!(" max-age {ns}");
    }
    if let Some(bytes) = &import.fallback {
        line += " fallback ";
        for byte in bytes {
            let _cannot_fail = write!(line, "{byte:02x}");
        }
    }
    line
}
