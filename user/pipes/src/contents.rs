//! Memory for the contents of long messages between stages of this core
//!
//! Each program with pipe functions writes its own ([`bulkhead_abi::component::message_contents`]): the contents of a buffer lie in that of
//! the writing stage's program. Blocks have whole cache lines, and each belongs to one pipe.

use crate::runtime::CORE;
use bulkhead_abi::repository::MAX_STAGES as STAGES;
use bulkhead_buffers::Region;
use bulkhead_component::environment;
use bulkhead_slite::Mutex;
use bulkhead_stages::message::Content;
use bulkhead_stages::work::ENDS;

const LINE_BYTES: usize = 64;
/// Most blocks: of the buffers before each stage, and one beside them.
const BLOCKS: usize = STAGES * (ENDS + 1);

/// Lines that a pipe has in the memory of a program.
#[derive(Clone, Copy)]
struct Block {
    pipe: usize,
    /// Number of the program's component.
    program: usize,
    first: usize,
    lines: usize,
}

/// All blocks, in no order.
#[derive(Clone, Copy)]
pub(crate) struct Blocks([Option<Block>; BLOCKS]);

static ALL: Mutex<Blocks> = Mutex::new(Blocks([None; BLOCKS]));

impl Blocks {
    /// A copy of the present state.
    pub(crate) fn now() -> Self {
        let all = ALL.with(&CORE.threads, |all| *all);
        all.unwrap_or(Self([None; BLOCKS]))
    }

    /// The state without the blocks of a pipe.
    pub(crate) fn without(mut self, pipe: usize) -> Self {
        self.release(pipe);
        self
    }

    /// Takes the first free run of so many bytes in the memory of a program.
    pub(crate) fn take(&mut self, pipe: usize, program: usize, bytes: usize) -> Option<usize> {
        let (_, most) = memory(program)?;
        let lines = bytes.div_ceil(LINE_BYTES);
        let here = || self.0.iter().flatten().filter(|one| one.program == program);
        // A free run begins at the beginning, or behind a block.
        let ends = here().map(|one| one.first + one.lines);
        let is_free = |first: &usize| {
            let overlaps =
                |one: &Block| *first < one.first + one.lines && one.first < first + lines;
            (first + lines) * LINE_BYTES <= most && !here().any(overlaps)
        };
        let first = ends.chain([0]).filter(is_free).min()?;
        let block = Block {
            pipe,
            program,
            first,
            lines,
        };
        *self.0.iter_mut().find(|place| place.is_none())? = Some(block);
        Some(first)
    }

    fn release(&mut self, pipe: usize) {
        let is_owned = |place: &&mut Option<Block>| place.is_some_and(|block| block.pipe == pipe);
        self.0
            .iter_mut()
            .filter(is_owned)
            .for_each(|place| *place = None);
    }
}

/// Address and bytes of the memory of a program on this core, by the number of its component.
fn memory(program: usize) -> Option<(u64, usize)> {
    let archive = bulkhead_supervisor::archive();
    let scheduler = archive.components().nth(this_program())?;
    let mut all = archive.with_contents_on(scheduler.wiring.core);
    let (owner, address) = all.find(|(owner, _)| owner.number == program)?;
    let pages = owner.wiring.contents_pages as usize;
    Some((address, pages * bulkhead_abi::PAGE_SIZE as usize))
}

/// Number of the scheduler's component. Its program executes the functions without a component of their own.
pub(crate) fn this_program() -> usize {
    environment::info().number.into()
}

/// Allocates so many bytes for a pipe in the memory of a program, or returns nothing if there is no room.
pub(crate) fn take(pipe: usize, program: usize, bytes: usize) -> Option<Region<'static>> {
    let first = ALL.with(&CORE.threads, |all| all.take(pipe, program, bytes));
    let (address, most) = memory(program)?;
    let region = region(address, most)?.part(first.ok().flatten()?, bytes)?;
    region.clear();
    Some(region)
}

/// Allocates a content outside of buffers.
pub(crate) fn take_one(pipe: usize, program: usize, bytes: usize) -> Option<Content> {
    Content::new(take(pipe, program, bytes)?, bytes)
}

/// The memory that the boot component mapped.
#[expect(unsafe_code, reason = "memory that the boot component mapped")]
fn region(address: u64, bytes: usize) -> Option<Region<'static>> {
    let base = core::ptr::with_exposed_provenance_mut(address as usize);
    // SAFETY: mapped for good before this program started, and reached through regions alone.
    unsafe { Region::from_raw(base, bytes) }.ok()
}

/// The first bytes of the memory of a program; `None` without any.
pub(crate) fn first(program: usize, bytes: usize) -> Option<Content> {
    let (address, most) = memory(program).filter(|_| bytes != 0)?;
    Content::new(region(address, most)?, bytes)
}

/// Frees the memory of a pipe after its stages have given up their buffers.
pub(crate) fn release(pipe: usize) {
    let _released = ALL.with(&CORE.threads, |all| all.release(pipe));
}
