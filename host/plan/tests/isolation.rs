//! Random systems: reachable memory of each partition, found by walking the packed tables

use std::collections::BTreeMap;

use bulkhead_formats::address::{PAGE, Pa};
use bulkhead_formats::stage2;
use bulkhead_formats::tables::{Visited, visit};
use bulkhead_model::system::{End, PartitionId, System};
use bulkhead_plan::purpose::Purpose;
use bulkhead_plan::{Plan, PlanError, plan, verify};
use proptest::prelude::*;

mod fixture;

/// A partition's choices: kind, memory in pages, cores, colours (a group of four), options.
type PartitionChoice = (u8, u64, usize, Option<u8>, [bool; 6]);
/// A channel's choices: kind, ends, size, options.
type ChannelChoice = (u8, usize, usize, u32, [bool; 4]);

fn partition_text(
    index: usize,
    (kind, pages, cores, colours, options): &PartitionChoice,
) -> String {
    let linux = kind % 3 == 2;
    let (kind, image) = match kind % 3 {
        2 => ("linux", "{ kernel = \"debian\", initrd = \"agent\" }"),
        1 => ("image", "{ crate = \"bulkhead-attack\" }"),
        _ => ("rtos", "{ crate = \"bulkhead-control\" }"),
    };
    let memory = if linux { 64 << 20 } else { (16 + pages) * PAGE };
    let mut text = format!(
        "[partition.p{index}]\nkind = \"{kind}\"\ncriticality = \"B\"\ncores = {cores}\nmemory = {memory}\nimage = {image}\n"
    );
    if let (Some(group), false) = (colours, linux) {
        let first = u32::from(*group) % 4 * 4;
        text += &format!("colours = [{}, {}, {}]\n", first, first + 1, first + 3);
    }
    let choices = [
        (options[0], "privileged = true\n"),
        (options[1], "trace = \"2 MiB\"\n"),
        (options[2] && kind == "rtos", "heartbeat = \"10 ms\"\n"),
        (options[3], "wfi = \"trap\"\n"),
        (options[4] && index == 0, "devices = [\"uart0\"]\n"),
        (
            options[5] && index == 1,
            "devices = [\"rtc0\", \"gpio0\"]\n",
        ),
        (options[5] && index == 2, "devices = [\"can2\"]\n"),
        (options[5] && index == 3, "devices = [\"can3\", \"can4\"]\n"),
    ];
    choices
        .iter()
        .filter(|(chosen, _)| *chosen)
        .for_each(|(_, line)| text += line);
    text
}

fn channel_text(index: usize, partitions: usize, choice: &ChannelChoice) -> Option<String> {
    let (kind, from, to, size, options) = choice;
    let (from, to) = (from % partitions, to % partitions);
    let (kind, message, messages) = match kind % 5 {
        0 => ("four-slot", u64::from(*size) * 8, ""),
        1 => ("ring", 64, "messages = 300\n"),
        2 => ("mailbox", u64::from(*size) * 8, ""),
        3 => ("recorder", 48, "messages = 50000\n"),
        _ => ("memory", u64::from(*size) * 4096, ""),
    };
    let mut text = format!(
        "[channel.c{index}]\nkind = \"{kind}\"\nfrom = \"p{from}\"\nto = \"p{to}\"\nmessage = {message}\n{messages}"
    );
    let choices = [
        (
            options[0],
            "doorbell = { limit = 1, per = \"1 ms\" }\n".to_owned(),
        ),
        (
            options[1] && kind != "recorder",
            "reply_doorbell = { limit = 2, per = \"1 ms\" }\n".to_owned(),
        ),
        (options[2], format!("key = {}\n", 100 + index)),
        (
            options[3] && kind == "memory",
            "access = \"read-only\"\n".to_owned(),
        ),
    ];
    choices
        .iter()
        .filter(|(chosen, _)| *chosen)
        .for_each(|(_, line)| text += line);
    (from != to).then_some(text)
}

/// Descriptions that the checker accepts nearly always.
fn descriptions() -> impl Strategy<Value = String> {
    let partition = (
        any::<u8>(),
        0u64..2000,
        1usize..3,
        prop::option::of(any::<u8>()),
        any::<[bool; 6]>(),
    );
    let channel = (
        any::<u8>(),
        0usize..4,
        0usize..4,
        1u32..600,
        any::<[bool; 4]>(),
    );
    let partitions = prop::collection::vec(partition, 1..5);
    let channels = prop::collection::vec(channel, 0..7);
    (partitions, channels).prop_map(|(mut partitions, channels)| {
        // Coloured partitions may share no colour.
        let mut used = Vec::new();
        for partition in &mut partitions {
            partition.3 = partition
                .3
                .map(|group| group % 4)
                .filter(|group| !used.contains(group));
            used.extend(partition.3);
        }
        let parts = partitions
            .iter()
            .enumerate()
            .map(|(i, choice)| partition_text(i, choice));
        let count = partitions.len();
        let links = channels
            .iter()
            .enumerate()
            .filter_map(|(i, choice)| channel_text(i, count, choice));
        let head = "[system]\nname = \"random\"\nboard = \"qemu-virt\"\n".to_owned();
        let functions = (2..5)
            .map(|index| format!("[device.can{index}]\nkind = \"kvaser-can\"\nbus = \"shared\"\n"));
        std::iter::once(head)
            .chain(functions)
            .chain(parts)
            .chain(links)
            .collect::<Vec<_>>()
            .join("\n")
    })
}

fn checked(text: &str) -> Option<System> {
    let file = fixture::root().join("host/plan/tests/systems/random.toml");
    bulkhead_model::check(
        &file,
        text.to_owned(),
        &fixture::root(),
        &Default::default(),
    )
    .ok()
    .map(|(system, _)| system)
}

/// By physical page: the partitions that reach it, and whether they may write; on-demand channels
/// as if both ends had asked.
fn reachable(plan: &Plan) -> BTreeMap<u64, Vec<(usize, bool)>> {
    let base = plan.tables.arena.base().0;
    let read = |at: Pa| {
        let bytes = plan
            .table_bytes
            .get((at.0 - base) as usize..)
            .and_then(|b| b.first_chunk());
        u64::from_le_bytes(*bytes.expect("inside the tables"))
    };
    let mut pages: BTreeMap<u64, Vec<(usize, bool)>> = BTreeMap::new();
    for (id, stage2) in plan.tables.stage2.iter().enumerate() {
        let mut add = |pa: u64, size: u64, attributes: u64| {
            let write = stage2::decode(attributes).expect("known attributes").write;
            (0..size / PAGE)
                .for_each(|page| pages.entry(pa + page * PAGE).or_default().push((id, write)));
        };
        visit(&read, stage2.root, &mut |seen| {
            if let Visited::Leaf(leaf) = seen {
                add(leaf.output.0, leaf.size, leaf.attributes);
            }
        });
        for prepared in &stage2.prepared {
            let (pa, attributes) = bulkhead_formats::tables::decode_page(prepared.entry_value);
            add(pa.0, prepared.slot.size, attributes);
        }
    }
    pages
}

/// Partitions that may reach a range besides its owner, stated anew and not by the code under test.
fn may_share(system: &System, purpose: Purpose, who: &[(usize, bool)]) -> bool {
    let privileged = |id: usize| system.partitions[id].privileged;
    match purpose {
        Purpose::Memory(owner) | Purpose::GuestPage(owner) | Purpose::Trace(owner) => {
            who == [(owner.0, true)]
        }
        Purpose::ConsoleOut(owner) => who
            .iter()
            .all(|&(id, write)| id == owner.0 || privileged(id) && !write),
        Purpose::ConsoleIn(owner) => who.iter().all(|&(id, _)| id == owner.0 || privileged(id)),
        Purpose::Link(_) => who.iter().all(|&(_, write)| !write),
        Purpose::Status(owner) => who
            .iter()
            .all(|&(id, write)| !write && (id == owner.0 || privileged(id))),
        Purpose::Channel(id) => {
            let channel = &system.channels[id.0];
            who.iter().all(|&(id, write)| {
                let end = End::Partition(PartitionId(id));
                let reads = channel.to.contains(&end) && (channel.reader_writes || !write);
                channel.from == end || reads
            })
        }
        _ => who.is_empty(),
    }
}

fn check(system: &System, plan: &Plan) -> Result<(), TestCaseError> {
    let pages = reachable(plan);
    let mut accounted = 0;
    for region in &plan.machine.regions {
        for page in (region.pa.0..region.pa.0 + region.size).step_by(PAGE as usize) {
            let who = pages.get(&page).map_or(&[][..], Vec::as_slice);
            prop_assert!(
                may_share(system, region.purpose, who),
                "{:?} by {who:?}",
                region.purpose
            );
            accounted += usize::from(!who.is_empty());
        }
    }
    for device in system
        .partitions
        .iter()
        .enumerate()
        .flat_map(|(id, p)| p.devices.iter().map(move |d| (id, d)))
    {
        let (id, device) = device;
        let address = system.board.device(*device).address;
        prop_assert_eq!(pages.get(&address), Some(&vec![(id, true)]));
        accounted += 1;
    }
    let pcie = system.board.pcie.as_ref().expect("the board has PCIe");
    for bus in &plan.view.buses {
        for (_, range) in bus.mapped(pcie) {
            for page in (range.start..range.end).step_by(PAGE as usize) {
                prop_assert_eq!(pages.get(&page), Some(&vec![(bus.owner.0, true)]));
                accounted += 1;
            }
        }
    }
    prop_assert_eq!(
        accounted,
        pages.len(),
        "no page is reachable but regions and devices"
    );
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(192)
    })]

    #[test]
    fn no_partition_reaches_memory_of_another(text in descriptions()) {
        let system = checked(&text);
        prop_assume!(system.is_some());
        let system = system.expect("assumed");
        let inputs = fixture::inputs(&system);
        match plan(&system, &inputs) {
            Ok(planned) => {
                check(&system, &planned)?;
                let again = plan(&system, &inputs).expect("it did before");
                prop_assert_eq!(planned.config, again.config, "the same plan each time");
                prop_assert_eq!(planned.table_bytes, again.table_bytes);
            }
            Err(error) => prop_assert_ne!(error.id, "internal", "{}", error),
        }
    }
}

/// A board file with streams of many sorts: the usual board, changed.
fn board_with_streams() -> String {
    let usual = fixture::root().join("boards/qemu-virt.toml");
    let mut text = std::fs::read_to_string(usual).expect("there");
    for (usual, changed) in [
        (
            "\nstreams = 0 ",
            "\nrequester = \"bus\"\nstreams = 0x1_0000 ",
        ),
        // Behind it, functions have the bridge's own requester ID.
        ("\nbridge = \"pci-bridge,", "\nbridge = \"pcie-pci-bridge,"),
        (
            "dma = true\n",
            "dma = true\nstreams = [0x2_0040, 0x2_0041]\n",
        ),
        (
            "\n[device.virtio0]",
            "\n[device.dma0]\nkind = \"dma\"\naddress = 0x0b00_0000\nsize = 0x1000\nspis = []\ndma = true\nstreams = [3, 0x2_0042]\n\n[device.virtio0]",
        ),
    ] {
        assert!(text.contains(usual), "{usual}");
        text = text.replacen(usual, changed, 1);
    }
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("streams-board.toml");
    std::fs::write(&path, text).expect("written");
    path.to_str().expect("UTF-8").to_owned()
}

#[test]
fn streams_are_those_of_the_board_file() {
    let (system, _, planned) = planned("streams");
    let owned = bulkhead_plan::dma::owned(&system, &planned.view);
    let found: Vec<_> = owned
        .iter()
        .map(|stream| (stream.id, stream.owner.0, &*stream.devices[0]))
        .collect();
    let expected = [
        (0x1_0100, 0, "lan2"),
        (0x1_0200, 1, "lan0"),
        (0x1_0300, 2, "lan1"),
        (0x2_0040, 0, "virtio0"),
        (0x2_0041, 0, "virtio0"),
        (3, 1, "dma0"),
        (0x2_0042, 1, "dma0"),
    ];
    assert_eq!(found, expected);
    let streams = planned.tables.streams.expect("they are confined");
    assert_eq!(streams.shape.register(), 18 | 6 << 6 | 1 << 16);
}

/// A system of this folder.
fn planned(name: &str) -> (System, bulkhead_plan::Inputs, Plan) {
    let file = fixture::root().join(format!("host/plan/tests/{name}.toml"));
    let text = std::fs::read_to_string(&file).expect("there");
    let text = text.replace("BOARD", &board_with_streams());
    let system = fixture::system(&file, &text);
    let inputs = fixture::inputs(&system);
    let planned = plan(&system, &inputs).expect("a plan");
    (system, inputs, planned)
}

/// With every sort of table: of a standby, of devices with a linear table of streams and one of two levels.
const DAMAGED: [&str; 3] = ["systems/standby", "systems/confined", "streams"];

#[test]
fn every_flipped_bit_of_an_entry_is_found() {
    DAMAGED.iter().for_each(|name| flip_bits(name));
}

fn flip_bits(name: &str) {
    let (system, inputs, mut planned) = planned(name);
    let entries = planned.table_bytes.len() / 8;
    let (mut flips, mut missed) = (0, Vec::new());
    for entry in 0..entries {
        let bytes = entry * 8..entry * 8 + 8;
        if planned.table_bytes[bytes.clone()] == [0; 8] {
            continue;
        }
        // Some bits of each entry, other ones each time: all 64 positions are covered many times.
        for bit in (0..8).map(|n| (entry * 7 + n * 17) % 64) {
            planned.table_bytes[bytes.start + bit / 8] ^= 1 << (bit % 8);
            if verify::verify(&system, &inputs, &planned).is_ok() {
                missed.push((entry, bit));
            }
            planned.table_bytes[bytes.start + bit / 8] ^= 1 << (bit % 8);
            flips += 1;
        }
    }
    assert!(flips > 1000, "only {flips} flips");
    assert_eq!(missed, [], "of {flips} flips");
    assert_eq!(
        verify::verify(&system, &inputs, &planned),
        Ok::<(), PlanError>(())
    );
}

#[test]
fn an_entry_more_is_found() {
    DAMAGED.iter().for_each(|name| add_entries(name));
}

fn add_entries(name: &str) {
    let (system, inputs, mut planned) = planned(name);
    let leaf = stage2::attributes(stage2::Access::MEMORY) | 0b11;
    let el2 = bulkhead_formats::el2::attributes(bulkhead_formats::el2::Access::ReadWrite) | 0b11;
    let anywhere = planned.machine.pa(Purpose::Config).expect("there").0;
    for entry in 0..planned.table_bytes.len() / 8 {
        let bytes = entry * 8..entry * 8 + 8;
        if planned.table_bytes[bytes.clone()] != [0; 8] || entry % 11 != 0 {
            continue;
        }
        for value in [anywhere | leaf, anywhere | el2] {
            planned.table_bytes[bytes.clone()].copy_from_slice(&value.to_le_bytes());
            assert!(
                verify::verify(&system, &inputs, &planned).is_err(),
                "entry {entry}"
            );
        }
        planned.table_bytes[bytes].fill(0);
    }
}
