//! Output of the command `status`

use crate::console::say;
use bulkhead_abi::status::{Status, TRAP_NAMES};
use bulkhead_linux::{Error, Kind, Partition};

/// Links, channels, and entries to the monitor since each partition is up.
pub(crate) fn show(partition: &Partition) -> Result<(), Error> {
    say(format_args!("partition {}", partition.name()));
    for link in partition.links()? {
        let state = link.state();
        say(format_args!(
            "  link {}: {:?}, start {}",
            link.partition(),
            state.state,
            state.epoch
        ));
    }
    for channel in partition.channels()? {
        let kind = kind_name(channel.kind);
        let peer = match partition.peer(&channel)? {
            Some(peer) => format!("{} ({:?})", channel.peer, peer.state().state),
            None => channel.peer,
        };
        say(format_args!(
            "  channel {}: {kind}, {:?}, peer {peer}, {} x {} bytes",
            channel.name, channel.role, channel.messages, channel.message_bytes
        ));
    }
    for console in partition.consoles()? {
        say(format_args!(
            "  console {}: {}",
            console.partition,
            console.tty.display()
        ));
    }
    for (name, status) in partition.statuses()? {
        show_counters(&name, &status);
    }
    Ok(())
}

fn show_counters(name: &str, status: &Status) {
    let traps = entries_since_up(status);
    let traps = if traps.is_empty() {
        "none".to_owned()
    } else {
        traps.join(", ")
    };
    say(format_args!(
        "  {name}: entries to the monitor since it is up: {traps}; faults {}, restarts {}",
        status.faults(),
        status.restarts
    ));
}

fn entries_since_up(status: &Status) -> Vec<String> {
    let cores = status.cores.iter().take(status.core_count as usize);
    let mut counts = [0_u64; TRAP_NAMES.len()];
    for core in cores {
        let pairs = core.traps.iter().zip(&core.traps_at_up);
        for (count, (now, at_up)) in counts.iter_mut().zip(pairs) {
            *count += now.saturating_sub(*at_up);
        }
    }
    let counted = TRAP_NAMES
        .iter()
        .zip(counts)
        .filter(|(_, count)| *count > 0);
    counted
        .map(|(name, count)| format!("{name} {count}"))
        .collect()
}

const fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::FourSlot => "four-slot",
        Kind::Ring => "ring",
        Kind::Mailbox => "mailbox",
        Kind::Recorder => "recorder",
        Kind::Memory => "memory",
    }
}
