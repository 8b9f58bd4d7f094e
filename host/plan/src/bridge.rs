//! What a Linux partition bridges to other machines, in the words of its bridge (`doc/interfaces/bridge.md`)

use bulkhead_model::bridge::{Bridge, Export, Import, Source};
use bulkhead_model::system::System;
use bulkhead_stages::link::OUTWARD_PLACES;
use bulkhead_stages::message::BYTES;
use bulkhead_tpipe::language::Buffering;
use std::fmt::Write;

/// Where Linux's agent puts the buffers of last stages whose values leave the machine.
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
    let lines: Vec<_> = places.chain(exports).chain(imports).collect();
    lines.join("\n")
}

fn export(system: &System, export: &Export) -> String {
    let endpoint = &export.endpoint;
    match export.source {
        Source::Channel(id) => format!("export {} {endpoint}", system.channels[id.0].name),
        Source::Stage { pipe, stage } => {
            let pipe = &system.pipes[pipe];
            let name = format!("{}.{}", pipe.name, stage + 1);
            let kind = match pipe.solved.buffering {
                Buffering::FourSlot => "four-slot",
                Buffering::Fifo => "ring",
            };
            format!(
                "channel {name} {kind} {BYTES} {OUTWARD_PLACES} {FOLDER}/{name}\nexport {name} {endpoint}"
            )
        }
    }
}

fn import(system: &System, import: &Import) -> String {
    let channel = &system.channels[import.channel.0].name;
    let mut line = format!("import {channel} {}", import.endpoint);
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
