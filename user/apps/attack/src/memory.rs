//! Attacks on memory: everything that is not its own, and its own in ways it should not be used

use crate::attack::{Attack, Context, Fate};
use crate::probe::{self, Shown};
use crate::thread;

/// End of the guest-physical space of 40 bits.
const END: u64 = 1 << 40;

pub(crate) const ATTACKS: &[Attack] = &[
    Attack {
        name: "outside-write",
        fate: Fate::Lives,
        what: "writes every `step` bytes of the 40-bit guest-physical space outside its own",
        run: |context| {
            sweep(context, "written", |address| {
                probe::store(address, 0).is_ok()
            })
        },
    },
    Attack {
        name: "outside-read",
        fate: Fate::Lives,
        what: "reads every `step` bytes of the 40-bit guest-physical space outside its own",
        run: |context| sweep(context, "read", |address| probe::load(address).is_ok()),
    },
    Attack {
        name: "outside-one",
        fate: Fate::Lives,
        what: "in each life one write to a place where somebody else is",
        run: outside_one,
    },
    Attack {
        name: "outside-jump",
        fate: Fate::Lives,
        what: "branches outside its memory",
        run: jump,
    },
    Attack {
        name: "devices",
        fate: Fate::Lives,
        what: "reads and writes every device of the board that was not given to it",
        run: devices,
    },
    Attack {
        name: "read-only",
        fate: Fate::Lives,
        what: "writes the pages that are shared with it for reading",
        run: read_only,
    },
    Attack {
        name: "tables-outside",
        fate: Fate::Lives,
        what: "puts its own translation tables outside its memory and uses them",
        run: tables_outside,
    },
    Attack {
        name: "channel-scribble",
        fate: Fate::Lives,
        what: "writes nonsense over all shared memory it may write, again and again",
        run: channel_scribble,
    },
    Attack {
        name: "recorder-scribble",
        fate: Fate::Lives,
        what: "writes nonsense over its console and its trace, where the host tool reads",
        run: recorder_scribble,
    },
    Attack {
        name: "cache-outside",
        fate: Fate::Lives,
        what: "cache maintenance and zeroing by address outside its memory",
        run: cache_outside,
    },
    Attack {
        name: "caches-off",
        fate: Fate::Lives,
        what: "turns its caches and translation off and on again",
        run: caches_off,
    },
    Attack {
        name: "scribble-self",
        fate: Fate::Dies,
        what: "overwrites its own image until it falls",
        run: scribble_self,
    },
];

/// Own memory and everything that it was told of: not counted as outside.
fn is_own(context: &Context<'_>, address: u64) -> bool {
    let [start, bytes] = context.system.memory();
    let interrupts = context.distributor()..context.redistributor() + context.cores() * 0x2_0000;
    let window = 0x0c00_0000..0x0e00_0000;
    (start..start + bytes).contains(&address)
        || interrupts.contains(&address)
        || window.contains(&address)
}

fn sweep(context: &mut Context<'_>, verb: &str, reach: fn(u64) -> bool) {
    let step = context.number("step", 64 << 20).max(4);
    let from = context.number("from", 0);
    let to = context.number("to", END);
    let (mut tried, mut reached) = (0u64, 0u64);
    for address in (from..to).step_by(step as usize) {
        if is_own(context, address) {
            continue;
        }
        tried += 1;
        if reach(address) {
            reached += 1;
            context.say(format_args!("{verb}={address:#x}"));
        }
        if tried % 32 == 0 {
            context.beat();
        }
    }
    context.say(format_args!("tried={tried} reached={reached}"));
}

/// Places of QEMU `virt` where monitor, configuration, other partitions or devices are.
const PLACES: [u64; 12] = [
    0x4020_0000,
    0x4021_0000,
    0x4022_0000,
    0x4080_0000,
    0x5000_0000,
    0x6000_0000,
    0x8000_0000,
    0x0000_0000,
    0x0801_0000,
    0x0900_0000,
    0x0902_0000,
    0x40_1000_0000,
];

fn outside_one(context: &mut Context<'_>) {
    let life = context.system.link().read().epoch as usize;
    let place = PLACES[life.saturating_sub(1) % PLACES.len()];
    context.say(format_args!("place={place:#x}"));
    let reached = probe::store(place, 0xdead).is_ok();
    context.say(format_args!("place={place:#x} reached={reached}"));
}

fn jump(context: &mut Context<'_>) {
    let places = [0, 0x0c00_0000, 0x0800_0000, 0x4400_0000, 0x7000_0000];
    for place in places {
        let result = Shown::whether(probe::jump(place));
        context.say(format_args!("place={place:#x} {result}"));
    }
    // The window maps devices, which are never executable; a branch there must fault at stage 1.
    let result = Shown::whether(probe::jump(probe::physical(0x4020_0000)));
    context.say(format_args!("window {result}"));
}

fn devices(context: &mut Context<'_>) {
    let devices = [
        ("flash", 0x0000_0000),
        ("its", 0x0808_0000),
        ("uart", 0x0900_0000),
        ("rtc", 0x0901_0000),
        ("fw-cfg", 0x0902_0000),
        ("gpio", 0x0903_0000),
        ("smmu", 0x0905_0000),
        ("virtio", 0x0a00_0000),
        ("virtio-last", 0x0a00_3e00),
        ("pcie-memory", 0x1000_0000),
        ("pcie-ports", 0x3eff_0000),
        ("pcie-config", 0x40_1000_0000),
        ("pcie-high", 0x80_0000_0000),
    ];
    for (name, address) in devices {
        let read = probe::load(address).is_ok();
        let written = probe::store(address + 0x10, u64::MAX).is_ok();
        context.say(format_args!("{name} read={read} written={written}"));
    }
}

fn read_only(context: &mut Context<'_>) {
    let links = context
        .system
        .channels()
        .iter()
        .map(|end| end.link)
        .filter(|link| *link != 0);
    let pages = context.system.shared_pages();
    for page in links.chain(pages) {
        let read = probe::load(page).is_ok();
        let written = probe::store(page + 8, 2).is_ok();
        context.say(format_args!("page={page:#x} read={read} written={written}"));
    }
}

fn tables_outside(context: &mut Context<'_>) {
    let before = thread::translation_control();
    let upper_enabled = before & !(1 << 23) | 32 << 16 | 1 << 24 | 1 << 26 | 3 << 28 | 2 << 30;
    for root in [0x4020_0000, 0x5000_0000, 0x0900_0000, 0xff_ffff_f000u64] {
        thread::set_upper_tables(root | 1 << 48);
        thread::set_translation_control(upper_enabled);
        let result = probe::access(probe::LOADS[3], 0xffff_ffff_0000_0000, 0);
        let esr = result.err().map_or(0, |fault| fault.esr);
        context.say(format_args!("root={root:#x} esr={esr:#x}"));
    }
    thread::set_translation_control(before);
    thread::set_upper_tables(0);
}

fn channel_scribble(context: &mut Context<'_>) {
    let rounds = context.number("count", 2_000);
    for _ in 0..rounds {
        let ends = context.system.channels();
        let Some(end) = ends.get((context.random() % ends.len().max(1) as u64) as usize) else {
            break;
        };
        let (address, bytes) = (end.ipa, end.size);
        for _ in 0..64 {
            let value = context.random();
            let offset = (context.random() % bytes) & !7;
            let _may_fault = probe::access(probe::STORES[3], address + offset, value);
        }
        context.beat();
    }
    context.say(format_args!("stores={}", rounds * 64));
}

fn recorder_scribble(context: &mut Context<'_>) {
    let rounds = context.number("count", 500);
    for _ in 0..rounds {
        for [address, bytes] in context.system.recorders() {
            let control = context.random() % 16 * 8;
            let anywhere = (context.random() % bytes.max(8)) & !7;
            for offset in [control, anywhere]
                .into_iter()
                .filter(|offset| offset + 8 <= bytes)
            {
                let value = context.random() >> (context.random() % 64);
                let _may_fault = probe::access(probe::STORES[3], address + offset, value);
            }
        }
        context.beat();
    }
    context.say(format_args!("rounds={rounds}"));
}

fn cache_outside(context: &mut Context<'_>) {
    let forms = probe::ODD
        .iter()
        .filter(|form| form.name.starts_with("dc-"));
    for form in forms {
        for place in PLACES {
            let reached = probe::access(*form, probe::physical(place), 0).is_ok();
            context.say(format_args!(
                "form={} place={place:#x} reached={reached}",
                form.name
            ));
        }
    }
}

fn caches_off(context: &mut Context<'_>) {
    let before = thread::control();
    thread::mask_interrupts();
    thread::set_control(before & !(1 << 2 | 1 << 12));
    thread::set_control(before);
    thread::set_control(before & !1);
    thread::set_control(before);
    thread::unmask_interrupts();
    context.say(format_args!("sctlr={before:#x}"));
}

fn scribble_self(context: &mut Context<'_>) {
    let [start, end] = bulkhead_rtos::mmu::constants();
    context.say(format_args!("overwriting {start:#x}..{end:#x}"));
    let window = probe::physical(start);
    for word in (0..(end - start) / 8).rev() {
        let _until_it_falls = (probe::STORES[3].go)((window + 8 * word) as usize, 0);
    }
}
