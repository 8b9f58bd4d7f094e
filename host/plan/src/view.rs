//! The guests' view: the first pass of the plan

use std::sync::Arc;

use bulkhead_abi::guest::GuestPage;
use bulkhead_abi::kernel::{ARCHIVE_MAGIC, Archive};
use bulkhead_formats::address::Ipa;
use bulkhead_formats::region::Range;
use bulkhead_model::system::{Component, Image, PartitionId, Program, System};
use zerocopy::FromBytes;

use crate::boot_memory::{BootMemory, SchedulerProgram};
use crate::cores::{self, CoreMap};
use crate::device_tree;
use crate::error::PlanError;
use crate::guest_page::{self, EndFacts};
use crate::inputs::{Inputs, PartitionImages};
use crate::interrupts::{self, Doorbells};
use crate::load::{Argument, GuestImage, Load, Piece, Rest, ZERO_ALL, loads};
use crate::pcie::{self, Bus};
use crate::purpose::Purpose;
use crate::shared::{self, Shared};
use crate::window::{self, Window};

/// How a guest is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Start {
    /// Memory that is copied and zeroed.
    pub loads: Vec<Load>,
    /// Entry point.
    pub entry: Ipa,
    /// x0.
    pub argument: u64,
    /// The device tree, if it gets one.
    pub device_tree: Option<Arc<Vec<u8>>>,
}

/// A partition as it sees itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionView {
    /// Its window.
    pub window: Window,
    /// How it is started.
    pub start: Start,
    /// How its alternate image is started.
    pub alternate: Option<Start>,
}

/// All partitions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuestView {
    /// Cores.
    pub cores: CoreMap,
    /// Doorbells.
    pub doorbells: Doorbells,
    /// PCIe buses.
    pub buses: Vec<Bus>,
    /// Shared memory.
    pub shared: Vec<Shared>,
    /// By partition.
    pub partitions: Vec<PartitionView>,
}

impl GuestView {
    /// Everything that is loaded at some start.
    pub fn loads(&self) -> impl Iterator<Item = &Load> {
        let starts = self
            .partitions
            .iter()
            .flat_map(|p| std::iter::once(&p.start).chain(&p.alternate));
        starts.flat_map(|start| &start.loads)
    }
}

/// Fixes what guests see, with these distances between guest-physical and physical memory for those
/// partitions with functions that nothing confines (nothing yet: none).
///
/// # Errors
/// See [`PlanError`].
pub fn build(system: &System, inputs: &Inputs, distances: &[u64]) -> Result<GuestView, PlanError> {
    let cores = cores::assign(system)?;
    let buses = pcie::assign(system)?;
    let doorbells = interrupts::assign(system, &buses)?;
    let shared = shared::all(system);
    let mut partitions = Vec::new();
    for (id, images) in inputs.images.iter().enumerate() {
        let id = PartitionId(id);
        let window = window::lay_out(system, &shared, id)?;
        let builder = StartBuilder {
            system,
            images,
            cores: &cores,
            doorbells: &doorbells,
            buses: &buses,
            window: &window,
            id,
            distance: distances.get(id.0).copied().unwrap_or(0),
        };
        let start = builder.start(&images.primary)?;
        let alternate = images
            .alternate
            .as_ref()
            .map(|image| builder.start(image))
            .transpose()?;
        partitions.push(PartitionView {
            window,
            start,
            alternate,
        });
    }
    Ok(GuestView {
        cores,
        doorbells,
        buses,
        shared,
        partitions,
    })
}

struct StartBuilder<'a> {
    system: &'a System,
    images: &'a PartitionImages,
    cores: &'a CoreMap,
    doorbells: &'a Doorbells,
    buses: &'a [Bus],
    window: &'a Window,
    id: PartitionId,
    distance: u64,
}

impl StartBuilder<'_> {
    fn start(&self, image: &GuestImage) -> Result<Start, PlanError> {
        self.check_inside(image)?;
        let facts = EndFacts::new(self.system, self.doorbells, self.window, self.id);
        let device_tree = self.device_tree(image, &facts)?.map(Arc::new);
        let mut pieces = image.pieces.clone();
        if let (Some(place), Some(bytes)) = (image.device_tree, &device_tree) {
            pieces.push(Piece::new(place.ipa, bytes.to_vec()));
        }
        let (memory, rest) = self.memory();
        let mut all = loads(&pieces, memory, rest);
        let cores = self.cores.of_partition[self.id.0].len();
        let functions = guest_page::functions(self.system, self.buses, self.id, self.distance);
        let page = guest_page::bytes(&facts, &self.argument(), cores, &functions)?;
        self.check_boot_memory(image, &page)?;
        let [page_ipa, size] = self.window.place(Purpose::GuestPage(self.id));
        let page = Piece::new(Ipa(page_ipa), page);
        all.extend(loads(&[page], Range::sized(page_ipa, size), Rest::Zero));
        let argument = match (image.argument, image.device_tree) {
            (Argument::DeviceTree, Some(place)) => place.ipa.0,
            _ => page_ipa,
        };
        Ok(Start {
            loads: all,
            entry: image.entry,
            argument,
            device_tree,
        })
    }

    /// The partition's memory, and what becomes of the parts where nothing is loaded.
    fn memory(&self) -> (Range, Rest) {
        let partition = self.system.partition(self.id);
        let size = partition.memory;
        let rest = if size <= ZERO_ALL {
            Rest::Zero
        } else {
            Rest::Clean
        };
        (
            Range::sized(self.system.board.ram_of(partition.kind), size),
            rest,
        )
    }

    /// A kernel's command line is not for the guest page; what this build adds is for both.
    fn argument(&self) -> String {
        let partition = self.system.partition(self.id);
        let size = match partition.image {
            Image::Linux { .. } => "",
            _ => partition.command_line.as_str(),
        };
        guest_page::argument_text(size, &self.images.argument)
    }

    fn device_tree(
        &self,
        image: &GuestImage,
        ends: &EndFacts<'_>,
    ) -> Result<Option<Vec<u8>>, PlanError> {
        let Some(place) = image.device_tree else {
            return Ok(None);
        };
        let facts = device_tree::Facts {
            system: self.system,
            partition: self.id,
            cores: &self.cores.of_partition[self.id.0],
            window: self.window,
            buses: self.buses,
            ends,
            argument: &self.images.argument,
            initrd: place.initrd,
        };
        let bytes = device_tree::bytes(&facts)?;
        if bytes.len() as u64 > place.room {
            let partition = self.system.partition(self.id);
            let message = format!(
                "the device tree of partition `{}` has {} bytes, there is room for {}",
                partition.name,
                bytes.len(),
                place.room
            );
            let help = "give the partition more memory, or load its image elsewhere";
            return Err(PlanError::new("device-tree-room", message, help).at(&partition.span));
        }
        Ok(Some(bytes))
    }

    /// Memory, and pages of schedulers, must suffice for what components take at their start.
    fn check_boot_memory(&self, image: &GuestImage, page: &[u8]) -> Result<(), PlanError> {
        let partition = self.system.partition(self.id);
        let Image::Components(components) = &partition.image else {
            return Ok(());
        };
        let mut archives = image.pieces.iter().filter_map(|piece| {
            let (archive, _) = Archive::ref_from_prefix(&piece.bytes).ok()?;
            (archive.magic == ARCHIVE_MAGIC).then_some((piece, archive))
        });
        let pages = GuestPage::ref_from_prefix(page);
        let (Some((piece, archive)), Ok((page, _))) = (archives.next_back(), pages) else {
            return Ok(());
        };
        let boot = BootMemory {
            start: self.system.board.ram_of(partition.kind),
            address: piece.ipa.0,
            archive: (archive, &piece.bytes),
            page,
            is_standard: is_crate(components, 0, "bulkhead-boot"),
        };
        let kib = |bytes: u64| bytes.div_ceil(1024);
        let name = &partition.name;
        let least = boot.least();
        if let Some(least) = least.filter(|least| *least > partition.memory) {
            let message = format!(
                "partition `{name}` needs {} KiB of memory until its components run: kernel and images {} KiB, tables, \
                 stacks and memory of components the rest; it has {} KiB",
                kib(least),
                kib(boot.images()),
                kib(partition.memory)
            );
            let help = format!("`partition.{name}.memory = \"{} KiB\"` or more", kib(least));
            return Err(PlanError::new("boot-memory", message, &help).at(&partition.span));
        }
        let program_of = |number| match partition.pipe_functions.is_empty() {
            _ if is_crate(components, number, "bulkhead-scheduler") => SchedulerProgram::Threads,
            true => SchedulerProgram::Foreign,
            false => SchedulerProgram::Pipes,
        };
        let Some((number, [needed, there])) = boot.crowded_scheduler(program_of) else {
            return Ok(());
        };
        let (Some(component), page) = (components.get(number), bulkhead_abi::PAGE_SIZE) else {
            return Ok(());
        };
        let message = format!(
            "scheduler `{name}.{}` needs {} KiB for its threads and budgets, and has {} KiB",
            component.name,
            kib(needed * page),
            kib(there * page)
        );
        let help = format!(
            "`partition.{name}.component.{}.memory = \"{} KiB\"` or more",
            component.name,
            kib(needed * page)
        );
        Err(PlanError::new("scheduler-memory", message, &help).at(&component.span))
    }

    /// Every piece, and the entry, must lie in the partition's memory.
    fn check_inside(&self, image: &GuestImage) -> Result<(), PlanError> {
        let partition = self.system.partition(self.id);
        let memory = Range::sized(self.system.board.ram_of(partition.kind), partition.memory);
        let outside = image
            .pieces
            .iter()
            .map(Piece::range)
            .find(|&range| !memory.contains(range));
        let entry = Range::sized(image.entry.0, 4);
        let outside = outside.or((!memory.contains(entry)).then_some(entry));
        let Some(range) = outside else { return Ok(()) };
        let message = format!(
            "the image of partition `{}` needs {:#x} to {:#x}; its memory is {:#x} to {:#x}",
            partition.name, range.start, range.end, memory.start, memory.end
        );
        let help = "give the partition more memory, or link the image elsewhere";
        Err(PlanError::new("image-outside-memory", message, help).at(&partition.span))
    }
}

/// Returns `true` if the component of that number is built from a crate of that name.
fn is_crate(components: &[Component], number: usize, name: &str) -> bool {
    let component = components.get(number);
    component.is_some_and(|one| matches!(&one.program, Program::Crate(program) if program == name))
}
