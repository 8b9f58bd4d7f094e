//! Stages of a flow on other cores of the partition: resources, deployment and release
//!
//! The planner solves and admits for all cores. What changes on another core is done there by its
//! command thread, with the time that stages leave ([`crate::core_commands`]). The planner gives
//! one command at a time, for one pipe, and waits until it is executed.

use super::Planner;
use super::deployment::{Stopped, until};
use crate::contents::{self, Blocks};
use crate::memory::{self, Lines};
use crate::runtime::say;
use crate::stage::STAGES;
use crate::table::Entry as Pipe;
use crate::vcpu_pool::{self, Budgets, Missing};
use crate::{component_functions, core_commands, shared_state};
use bulkhead_abi::name_text;
use bulkhead_abi::pipe::{NONE, Stage};
use bulkhead_abi::repository::long_name_text;
use bulkhead_flows::pipe_admission::{Refused, Solved};
use bulkhead_stages::core_command::{EDGES, Edge};
use bulkhead_stages::link::{GATHERED_PLACES, Kind, Shape};
use bulkhead_tpipe::language::Buffering;

/// A command thread takes up all stages of a pipe long before this, nanoseconds.
const DONE_NS: u64 = 2_000_000_000;

/// Edges of a pipe with an end on another core than the first, or in another partition.
pub(super) struct Edges {
    all: [Edge; EDGES],
    count: usize,
    /// True if the pipe is static and runs again.
    is_static: bool,
}

impl Edges {
    pub(super) fn all(&self) -> &[Edge] {
        self.all.get(..self.count).unwrap_or_default()
    }

    fn push(&mut self, edge: Edge) -> Option<()> {
        *self.all.get_mut(self.count)? = edge;
        self.count += 1;
        Some(())
    }
}

/// Returns whether the buffer of an edge between stages on these cores lies in the shared memory;
/// nothing if another partition has an end.
fn is_common(cores: [u32; 2]) -> Option<bool> {
    (!cores.contains(&NONE)).then_some(cores != [0; 2])
}

/// Does so for static pipes: each component has the buffers between its own stages in its own
/// memory.
fn is_between(cores: [u32; 2]) -> Option<bool> {
    is_common(cores).map(|_| cores[0] != cores[1])
}

/// Bytes of a buffer before a stage: of one between cores with the contents of its messages.
fn rounded(shape: Shape, common: bool) -> usize {
    let bytes = if common {
        shape.bytes()
    } else {
        shape.header_bytes()
    };
    bytes.unwrap_or(usize::MAX >> 8).next_multiple_of(64)
}

impl Planner {
    /// The cores of the stages of a flow, [`NONE`] for stages that another partition runs.
    fn cores(&self, solved: &Solved) -> [u32; STAGES] {
        let mut cores = [NONE; STAGES];
        for (place, stage) in cores.iter_mut().zip(solved.stages()) {
            *place = self.core_for(None, stage.function);
        }
        cores
    }

    /// Chooses numbers for the stages of a flow.
    pub(super) fn choose(
        &self,
        solved: &Solved,
        replaced: Option<&Pipe>,
    ) -> Result<[usize; STAGES], Missing> {
        let cores = self.cores(solved);
        let cores = cores.get(..solved.stages().len()).unwrap_or_default();
        vcpu_pool::choose(&self.timing, replaced, cores)
    }

    /// Admission test of all cores with stages of a flow, scheduling overhead included.
    pub(super) fn admit(&self, solved: &Solved, budgets: &Budgets) -> Result<(), Stopped> {
        let cores = self.cores(solved);
        let mut numbers = (0..u64::BITS).filter(|core| cores.contains(core));
        numbers.try_for_each(|core| {
            let admitted = vcpu_pool::admit_on(&self.timing, budgets, core);
            admitted.map_err(|refused| Stopped::Core(core, refused))
        })
    }

    /// Returns whether its buffers have room once those of the replaced pipe are free.
    pub(super) fn fits_memory(
        &self,
        solved: &Solved,
        number: usize,
        old: Option<usize>,
    ) -> Result<(), Stopped> {
        let cores = self.cores(solved);
        let sizes = |common: bool| {
            let is_within = move |[from, to]: [usize; 2]| {
                let ends = [*cores.get(from)?, *cores.get(to)?];
                (is_common(ends)? == common).then_some(to)
            };
            let edges = solved.edges().map(|(from, to)| [from, to]);
            let readers = edges.filter_map(is_within);
            readers.filter_map(move |to| Some(rounded(self.shape_before(solved, to)?, common)))
        };
        let without = |lines: Lines| match old {
            Some(old) => lines.without(old),
            None => lines,
        };
        let gathered = self.stages(solved).filter(|stage| stage.scatter[1] != NONE);
        let gathered = gathered.count();
        let each = rounded(Kind::Each(GATHERED_PLACES).into(), false);
        let here = || sizes(false).chain(core::iter::repeat_n(each, gathered));
        let room = memory::fits(without(Lines::now()), self.buffers, number, here);
        room.map_err(|[needed, free]| {
            Stopped::Refused(Refused::Buffers {
                required: needed,
                free,
            })
        })?;
        self.fits_contents(solved, number, old)?;
        let lines = without(Lines::common());
        let room = memory::fits(lines, memory::MOST, number, || sizes(true));
        room.map_err(Stopped::Common)
    }

    /// The shape of the buffers before a stage of a flow.
    fn shape_before(&self, solved: &Solved, to: usize) -> Option<Shape> {
        let reader = solved.stages().get(to)?;
        let function = self.catalogue.packed().functions.get(reader.function)?;
        Some(Shape {
            kind: match solved.buffering {
                Buffering::FourSlot => Kind::Newest,
                Buffering::Fifo => Kind::Each(u32::try_from(reader.buffer).unwrap_or(u32::MAX)),
            },
            message: function.message_bytes[0],
        })
    }

    /// Returns whether the contents of its long messages have room on this core once those of the replaced pipe are free.
    fn fits_contents(
        &self,
        solved: &Solved,
        number: usize,
        old: Option<usize>,
    ) -> Result<(), Stopped> {
        let cores = self.cores(solved);
        let mut blocks = Blocks::now();
        if let Some(old) = old {
            blocks = blocks.without(old);
        }
        let packed = self.catalogue.packed();
        for (from, to) in solved.edges() {
            let bytes = self
                .shape_before(solved, to)
                .map_or(0, Shape::content_bytes);
            if bytes == 0 || [cores[from], cores[to]] != [0; 2] {
                continue;
            }
            let writer = packed.functions.get(solved.stages()[from].function);
            let name = writer.map_or("", |writer| name_text(&writer.function));
            let executor = component_functions::executor(&self.timing, name);
            let program = executor.unwrap_or_else(contents::this_program);
            if blocks.take(number, program, bytes).is_none() {
                return Err(Stopped::Contents(bytes));
            }
        }
        Ok(())
    }

    /// Allocates the buffers of edges to and on other cores, for which room was reserved; edges to
    /// other partitions have theirs. Static pipes have room again because no run-time pipe uses
    /// other cores now: each finds, one after the other, at least the lines of the description.
    pub(super) fn edges(&self, number: usize, pipe: &Pipe, is_static: bool) -> Option<Edges> {
        let mut edges = Edges {
            all: [Edge::default(); EDGES],
            count: 0,
            is_static,
        };
        let lies = if is_static { is_between } else { is_common };
        let stages = || pipe.stages().map(|(_, stage)| stage).enumerate();
        for (to, reader) in stages() {
            let feeds = |writer: &Stage| writer.to == reader.from;
            for (from, writer) in stages().take(to).filter(|(_, writer)| feeds(writer)) {
                if lies([writer.core, reader.core]) != Some(true) {
                    continue;
                }
                let bytes = rounded(Shape::before(&pipe.pipe, &reader), true);
                edges.push(Edge {
                    from: from as u8,
                    to: to as u8,
                    line: memory::take_common(number, bytes)?,
                    remote_partition: 0,
                })?;
            }
        }
        let mut remote_edges = self.others.edges(number);
        remote_edges.try_for_each(|edge| edges.push(edge))?;
        Some(edges)
    }

    /// Lets other cores take up their stages of a pipe. Returns whether they did.
    pub(super) fn run_there(&self, number: usize, pipe: &Pipe, edges: &Edges) -> bool {
        if !pipe.is_spread() {
            return true;
        }
        if !self.are_done(pipe) {
            return false;
        }
        core_commands::run(number, pipe, (edges.all(), edges.is_static));
        if self.are_done(pipe) && core_commands::is_failed() {
            say!(
                "pipe {}: a thread on another core does not come to rest",
                pipe.name()
            );
        }
        core_commands::are_done() && !core_commands::is_failed()
    }

    /// Lets other cores release a pipe after its stages have ended. Returns whether they did.
    pub(super) fn forget_there(&self, number: usize, pipe: &Pipe) -> bool {
        if !pipe.is_spread() {
            return true;
        }
        if !self.are_done(pipe) {
            return false;
        }
        core_commands::forget(number);
        self.are_done(pipe)
    }

    /// Waits until other cores have executed the last command. Returns whether they have.
    fn are_done(&self, pipe: &Pipe) -> bool {
        let done = until(DONE_NS, core_commands::are_done);
        if !done {
            say!(
                "pipe {}: another core has no time left, and does not do what was typed",
                pipe.name()
            );
        }
        done
    }

    /// Prints which core lacks free stages.
    pub(super) fn explain_stages(&self, name: &str, missing: &Missing) {
        let Missing { core, needed, free } = *missing;
        say!(
            "pipe {name} is not started: it has {needed} stages on {}, and {free} are free there: remove a pipe with stages there, or give the \
             partition more `spare_stages`",
            self.core(core)
        );
    }

    /// Name of a core of the partition.
    pub(super) fn core(&self, number: u32) -> &str {
        let packed = self.catalogue.packed();
        let first_core = packed.cores.get(packed.head.core as usize);
        let mut cores = packed.cores.iter();
        let named = cores.find(|core| {
            core.number == number
                && first_core.is_some_and(|first_core| first_core.first == core.first)
        });
        named.map_or("?", |core| long_name_text(&core.name))
    }
}

/// Prints how much room the buffers lack in the shared memory.
pub(super) fn explain_common(name: &str, [needed, free]: [usize; 2]) {
    say!(
        "pipe {name} is not started: its buffers between cores and on others than the first take {needed} bytes, and {free} are free there, \
         perhaps not in one piece: remove a pipe, or give the partition more `spare_buffers`"
    );
}

/// Prints the free resources of other cores.
pub(super) fn show_room(timing: &bulkhead_component::first::Timing) {
    for core in (1..u64::BITS).filter(|core| shared_state::has(*core)) {
        say!(
            "free on core {core}: {} of these stages",
            vcpu_pool::free_on(timing, None, core).count()
        );
    }
    if shared_state::others() != 0 {
        let taken = Lines::common().taken(|_| true);
        let [used, given] = core_commands::stacks();
        say!(
            "free between cores: {} bytes of buffers; stack of who does there what is typed: {used} of {given} bytes",
            memory::MOST.saturating_sub(taken)
        );
    }
}
