//! Reading a board file

use crate::board::{
    Board, Core, Costs, Cpu, Device, Emulator, Firmware, FunctionKind, GuestMap, Interrupts,
    MemoryRange, Pcie, Requester, Timer,
};
use crate::diagnostic::{Diagnostic, Report};
use crate::document::{self, At, Table};
use crate::draft::{Field, Section, display, join};
use crate::registry::BOARD;
use crate::registry::system_keys::SystemDraft;
use crate::rules::shape::syntax;
use crate::rules::system::{
    board_cores, board_devices, board_dma, board_emulator, board_figures, board_firmware,
    board_guest, board_inconsistent, board_kinds, board_memory, board_pcie, board_streams,
    unknown_board,
};
use crate::shape;
use crate::source::Sources;
use crate::text_file;
use bulkhead_abi::config::start;
use std::fs;
use std::path::Path;

/// The board that a description names, if it can be read; what is wrong with it is reported.
pub(crate) fn named(
    table: &Table,
    root: &Path,
    folder: &Path,
    sources: &mut Sources,
    report: &mut Report,
) -> Option<Board> {
    let board = SystemDraft::read(&Section::of(table, "system")).board;
    let name = board.given()?;
    let path = match is_path(&name.value) {
        true => join(folder, &name.value),
        false => root.join("boards").join(format!("{}.toml", name.value)),
    };
    match text(&path) {
        Ok(text) => {
            let base = sources.add(display(&path, root), &text);
            read(&text, base, report)
        }
        Err(reason) => {
            report.add(missing(name, &display(&path, root), root, &reason));
            None
        }
    }
}

/// Returns whether a file is named, and not a board of the checkout.
fn is_path(name: &str) -> bool {
    name.contains('/') || name.ends_with(".toml")
}

fn text(path: &Path) -> Result<String, String> {
    String::from_utf8(text_file::read(path)?).map_err(|_| "it is not UTF-8".into())
}

fn missing(name: &At<String>, path: &str, root: &Path, reason: &str) -> Diagnostic {
    if is_path(&name.value) {
        return unknown_board::unreadable(name, path, reason);
    }
    let boards = board_names(root);
    let boards: Vec<_> = boards.iter().map(String::as_str).collect();
    unknown_board::unknown(name, &boards)
}

/// The boards of the checkout.
fn board_names(root: &Path) -> Vec<String> {
    let files = fs::read_dir(root.join("boards")).into_iter().flatten();
    let paths = files.flatten().map(|file| file.path());
    let boards = paths.filter(|path| path.extension().is_some_and(|end| end == "toml"));
    let mut names: Vec<_> = boards
        .filter_map(|path| path.file_stem()?.to_str().map(str::to_owned))
        .collect();
    names.sort();
    names
}

/// Reads the text of a board file that starts at offset `base`; nothing where it is wrong, which is
/// reported at its place in that file.
fn read(text: &str, base: usize, report: &mut Report) -> Option<Board> {
    let (mut table, errors) = document::parse(text, base);
    let mut findings = Report::default();
    errors
        .iter()
        .for_each(|error| findings.add(syntax::broken(error)));
    let whole = errors.is_empty().then_some(base);
    shape::check(&mut table, BOARD, whole, &mut findings);
    board_inconsistent::check_lists(&table, &mut findings);
    let board = (!findings.has_errors()).then(|| board(&table)).flatten();
    if let Some(board) = &board {
        board_inconsistent::check(board, &table, &mut findings);
        board_figures::check(board, &table, &mut findings);
        board_cores::check(board, &table, &mut findings);
        board_devices::check(board, &table, &mut findings);
        board_pcie::check(board, &table, &mut findings);
        board_emulator::check(board, &table, &mut findings);
        board_memory::check(board, &table, &mut findings);
        board_firmware::check(board, &table, &mut findings);
        board_kinds::check(&table, &mut findings);
        board_dma::check(board, &table, &mut findings);
        board_streams::check(board, &table, &mut findings);
        board_guest::check(board, &table, &mut findings);
    }
    let sound = !findings.has_errors();
    report.take(findings);
    board.filter(|_| sound)
}

/// The whole file as one section.
struct Facts<'a> {
    table: &'a Table,
}

impl Facts<'_> {
    fn number(&self, section: &str, key: &str) -> Option<u64> {
        Section::of(self.table, section).number(key).value()
    }

    fn text(&self, section: &str, key: &str) -> Option<String> {
        Section::of(self.table, section).text(key).value()
    }

    fn list<const N: usize>(&self, section: &str, key: &str) -> Option<[u64; N]> {
        let list = plain(Section::of(self.table, section).numbers(key));
        list.try_into().ok()
    }
}

fn plain<T>(list: Field<Vec<At<T>>>) -> Vec<T> {
    match list {
        Field::Given(at) => at.value.into_iter().map(|item| item.value).collect(),
        _ => Vec::new(),
    }
}

fn board(table: &Table) -> Option<Board> {
    let facts = Facts { table };
    let top = Section::whole(table);
    let memory = Section::of(table, "memory");
    Some(Board {
        name: top.text("name").value()?,
        description: top.text("description").or(String::new())?,
        cpu: Cpu {
            name: facts.text("cpu", "name")?,
            physical_bits: facts.number("cpu", "physical_bits")? as u32,
        },
        cores: top.listed("cores").map(core).collect::<Option<_>>()?,
        default_cores: top.number("default_cores").or(1)? as usize,
        timer: timer(&facts)?,
        firmware: firmware(&Section::of(table, "firmware"))?,
        memory: memory.listed("ranges").map(range).collect::<Option<_>>()?,
        load: facts.number("memory", "load")?,
        default_memory: facts.number("memory", "default_size")?,
        interrupts: interrupts(&facts)?,
        colours: colours(&facts)?,
        guest: guest(&facts)?,
        console: top.text("console").value(),
        devices: Section::named(table, "device")
            .map(device)
            .collect::<Option<_>>()?,
        pcie: match table.get("pcie") {
            Some(_) => Some(pcie(&facts)?),
            None => None,
        },
        smmu: facts.number("smmu", "address"),
        costs: costs(&facts),
        emulator: match table.get("emulator") {
            Some(_) => Some(emulator(&facts)?),
            None => None,
        },
    })
}

fn core(section: Section<'_>) -> Option<Core> {
    Some(Core {
        mpidr: section.number("mpidr").value()?,
        redistributor: section.number("redistributor").value()?,
        release: section.number("release").value(),
    })
}

fn range(section: Section<'_>) -> Option<MemoryRange> {
    Some(MemoryRange {
        base: section.number("base").value()?,
        size: section.number("size").value()?,
    })
}

fn timer(facts: &Facts<'_>) -> Option<Timer> {
    let list = facts.list::<5>("timer", "ppis")?;
    let [
        secure,
        physical,
        virtual_timer,
        hypervisor,
        hypervisor_virtual,
    ] = list.map(|intid| intid as u32);
    Some(Timer {
        secure,
        physical,
        virtual_timer,
        hypervisor,
        hypervisor_virtual,
        frequency: facts.number("timer", "frequency")?,
    })
}

fn firmware(section: &Section<'_>) -> Option<Firmware> {
    // HVC arrives at EL2 itself: a rule refuses it.
    let ways = [start::PSCI_SMC, start::PSCI_SMC, start::SPIN_TABLE];
    Some(Firmware {
        start: section.choice("start", &ways).value()?,
        security_states: section.number("security_states").value()? as u32,
    })
}

fn interrupts(facts: &Facts<'_>) -> Option<Interrupts> {
    let [first, last] = facts.list::<2>("interrupts", "doorbells")?;
    Some(Interrupts {
        distributor: facts.number("interrupts", "distributor")?,
        spis: facts.number("interrupts", "spis")? as u32,
        doorbells: (first as u32, last as u32),
        maintenance: facts.number("interrupts", "maintenance")? as u32,
    })
}

fn pcie(facts: &Facts<'_>) -> Option<Pcie> {
    let section = Section::of(facts.table, "pcie");
    let [ports, memory]: [[u64; 2]; 2] =
        [facts.list("pcie", "ports")?, facts.list("pcie", "memory")?];
    Some(Pcie {
        configuration: facts.number("pcie", "configuration")?,
        guest_configuration: facts.number("pcie", "guest_configuration")?,
        guest_ports: section.number("guest_ports").or(ports[0])?,
        guest_memory: section.number("guest_memory").or(memory[0])?,
        ports,
        memory,
        lines: facts.list("pcie", "lines")?.map(|spi| spi as u32),
        streams: section.number("streams").value().map(|base| base as u32),
        requester: section
            .choice("requester", &[Requester::Bridge, Requester::Bus])
            .or(Requester::Bridge)?,
        bridge: facts.text("pcie", "bridge")?,
        kinds: section
            .all("kind")
            .map(function_kind)
            .collect::<Option<_>>()?,
    })
}

fn function_kind(section: Section<'_>) -> Option<FunctionKind> {
    Some(FunctionKind {
        identity: section.number("identity").value()? as u32,
        ports: plain(section.numbers("ports")),
        memory: plain(section.numbers("memory")),
        dma: section.flag("dma").or(false)?,
        modules: plain(section.texts("modules")),
        emulated: section.text("emulated").value()?,
        shared: section.text("shared").value(),
        forwarded: section.text("forwarded").value(),
        name: section.name.value,
    })
}

/// Bytes of a way in pages: addresses that far apart compete for the same lines.
fn colours(facts: &Facts<'_>) -> Option<u32> {
    let way = facts.number("cache", "size")? / facts.number("cache", "ways")?;
    u32::try_from((way / bulkhead_abi::PAGE_SIZE).max(1)).ok()
}

fn guest(facts: &Facts<'_>) -> Option<GuestMap> {
    let number = |key| facts.number("guest", key);
    Some(GuestMap {
        ram: number("ram")?,
        distributor: number("distributor")?,
        redistributors: number("redistributors")?,
        uart: number("uart")?,
        window: number("window")?,
        window_size: number("window_size")?,
    })
}

fn device(section: Section<'_>) -> Option<Device> {
    Some(Device {
        kind: section.text("kind").value()?,
        address: section.number("address").value()?,
        size: section.number("size").value()?,
        guest: section
            .number("guest")
            .or(section.number("address").value()?)?,
        spis: plain(section.numbers("spis"))
            .iter()
            .map(|spi| *spi as u32)
            .collect(),
        edge: section.choice("trigger", &[false, true]).or(false)?,
        dma: section.flag("dma").or(false)?,
        streams: plain(section.numbers("streams"))
            .iter()
            .map(|stream| *stream as u32)
            .collect(),
        compatible: plain(section.texts("compatible")),
        clock_hz: section.number("clock_hz").value().map(|hz| hz as u32),
        bank_width: section
            .number("bank_width")
            .value()
            .map(|bytes| bytes as u32),
        name: section.name.value,
    })
}

fn costs(facts: &Facts<'_>) -> Option<Costs> {
    let number = |key| facts.number("costs", key);
    Some(Costs {
        decision: number("decision")?,
        interrupt: number("interrupt")?,
        switch: number("switch")?,
        job: number("job")?,
        stage: number("stage")?,
        blocking: number("blocking")?,
        instruction_ns: number("instruction_ns")?,
        turn_ns: number("turn").unwrap_or(0),
    })
}

fn emulator(facts: &Facts<'_>) -> Option<Emulator> {
    let text = |key| facts.text("emulator", key);
    Some(Emulator {
        program: text("program")?,
        minimum_version: text("minimum_version")?,
        machine: text("machine")?,
        cpu: text("cpu"),
        cores: facts
            .number("emulator", "cores")
            .map(|cores| cores as usize),
        options: plain(Section::of(facts.table, "emulator").texts("options")),
    })
}
