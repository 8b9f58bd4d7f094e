//! Stages of a flow on other cores of the partition: room for them, and that they are taken up and forgotten there
//!
//! The planner solves and counts for all cores; what changes on another one is done there by who has the time that its stages leave
//! ([`crate::orders`]). That one is told of one pipe at a time, and nothing more before it has done that.

use super::Planner;
use super::deployment::{Stopped, until};
use crate::memory::{self, Lines};
use crate::stage::STAGES;
use crate::table::Entry as Pipe;
use crate::vcpu_pool::{self, Budgets, Missing};
use crate::{core_commands, say, shared_state};
use bulkhead_abi::pipe::{NONE, Stage};
use bulkhead_abi::repository::long_name_text;
use bulkhead_flows::propose::{Refused, Solved};
use bulkhead_stages::link::{GATHERED_PLACES, Kind};
use bulkhead_stages::order::{EDGES, Edge};
use bulkhead_tpipe::language::Buffering;

/// Who has the time that is left takes up all stages of a pipe long before this, nanoseconds.
const DONE_NS: u64 = 2_000_000_000;

/// Edges of a pipe of which an end is on another core than the first, or in another partition.
pub(super) struct Edges {
    all: [Edge; EDGES],
    count: usize,
    /// Of a pipe that runs again by its description.
    described: bool,
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

/// Whether an edge between stages on these cores of the partition lies in the memory that all share; nothing where another partition has an end.
fn is_common(cores: [u32; 2]) -> Option<bool> {
    (!cores.contains(&NONE)).then_some(cores != [0; 2])
}

/// The same of what is described: each component has the buffers between its own stages to itself.
fn is_between(cores: [u32; 2]) -> Option<bool> {
    is_common(cores).map(|_| cores[0] != cores[1])
}

/// Bytes of the buffer before a stage.
fn rounded(kind: Kind) -> usize {
    kind.bytes().unwrap_or(usize::MAX >> 8).next_multiple_of(64)
}

impl Planner {
    /// The cores of the stages of a flow, [`NONE`] where another partition runs them.
    fn cores(&self, solved: &Solved) -> [u32; STAGES] {
        let mut cores = [NONE; STAGES];
        for (place, stage) in cores.iter_mut().zip(solved.stages()) {
            *place = self.core_for(None, stage.function);
        }
        cores
    }

    /// Numbers for the stages of a flow.
    pub(super) fn choose(
        &self,
        solved: &Solved,
        replaced: Option<&Pipe>,
    ) -> Result<[usize; STAGES], Missing> {
        let cores = self.cores(solved);
        let cores = cores.get(..solved.stages().len()).unwrap_or_default();
        vcpu_pool::choose(&self.timing, replaced, cores)
    }

    /// Whether all cores with stages of a flow have the time for them, decisions counted.
    pub(super) fn admit(&self, solved: &Solved, budgets: &Budgets) -> Result<(), Stopped> {
        let cores = self.cores(solved);
        let mut numbers = (0..u64::BITS).filter(|core| cores.contains(core));
        numbers.try_for_each(|core| {
            let admitted = vcpu_pool::admit_on(&self.timing, budgets, core);
            admitted.map_err(|refused| Stopped::Core(core, refused))
        })
    }

    /// Whether its buffers have room once the old pipe's are free.
    pub(super) fn fits_memory(
        &self,
        solved: &Solved,
        number: usize,
        old: Option<usize>,
    ) -> Result<(), Stopped> {
        let cores = self.cores(solved);
        let sizes = |common: bool| {
            let own = move |[from, to]: [usize; 2]| {
                let ends = [*cores.get(from)?, *cores.get(to)?];
                (is_common(ends)? == common).then_some(to)
            };
            let edges = solved.edges().map(|(from, to)| [from, to]);
            let readers = edges.filter_map(own);
            let readers = readers.filter_map(|to| solved.stages().get(to));
            readers.map(|reader| {
                rounded(match solved.buffering {
                    Buffering::FourSlot => Kind::Newest,
                    Buffering::Fifo => Kind::Each(u32::try_from(reader.buffer).unwrap_or(u32::MAX)),
                })
            })
        };
        let without = |lines: Lines| match old {
            Some(old) => lines.without(old),
            None => lines,
        };
        let gathered = self.stages(solved).filter(|stage| stage.scatter[1] != NONE);
        let gathered = gathered.count();
        let each = rounded(Kind::Each(GATHERED_PLACES));
        let here = || sizes(false).chain(core::iter::repeat_n(each, gathered));
        let room = memory::fits(without(Lines::now()), self.buffers, number, here);
        room.map_err(|[wanted, free]| Stopped::Refused(Refused::Buffers { wanted, free }))?;
        let lines = without(Lines::common());
        let room = memory::fits(lines, memory::MOST, number, || sizes(true));
        room.map_err(Stopped::Common)
    }

    /// Takes the buffers of edges to and on other cores, which have room; those to other partitions have theirs. What is described
    /// has room again where nothing was typed on other cores: each finds, one after the other, at least the lines that the description gave it.
    pub(super) fn edges(&self, number: usize, pipe: &Pipe, described: bool) -> Option<Edges> {
        let mut edges = Edges {
            all: [Edge::default(); EDGES],
            count: 0,
            described,
        };
        let lies = if described { is_between } else { is_common };
        let stages = || pipe.stages().map(|(_, stage)| stage).enumerate();
        for (to, reader) in stages() {
            let feeds = |writer: &Stage| writer.to == reader.from;
            for (from, writer) in stages().take(to).filter(|(_, writer)| feeds(writer)) {
                if lies([writer.core, reader.core]) != Some(true) {
                    continue;
                }
                let bytes = rounded(Kind::before(&pipe.pipe, &reader));
                edges.push(Edge {
                    from: from as u8,
                    to: to as u8,
                    line: memory::take_common(number, bytes)?,
                    through: 0,
                })?;
            }
        }
        let mut remote_edges = self.others.edges(number);
        remote_edges.try_for_each(|edge| edges.push(edge))?;
        Some(edges)
    }

    /// Has other cores take up their stages of a pipe; whether they did.
    pub(super) fn run_there(&self, number: usize, pipe: &Pipe, edges: &Edges) -> bool {
        if !pipe.is_spread() {
            return true;
        }
        if !self.are_done(pipe) {
            return false;
        }
        core_commands::run(number, pipe, (edges.all(), edges.described));
        if self.are_done(pipe) && core_commands::is_failed() {
            say!(
                "pipe {}: a thread on another core does not come to rest",
                pipe.name()
            );
        }
        core_commands::are_done() && !core_commands::is_failed()
    }

    /// Has other cores forget a pipe whose stages have ended; whether they did.
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

    /// Waits until other cores have done what they were told last; whether they have.
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

    /// Says which core has too few free.
    pub(super) fn explain_stages(&self, name: &str, missing: &Missing) {
        let Missing { core, wanted, free } = *missing;
        say!(
            "pipe {name} is not started: it has {wanted} stages on {}, and {free} are free there: remove a pipe with stages there, or give the \
             partition more `spare_stages`",
            self.core(core)
        );
    }

    /// What a core of the partition is called.
    pub(super) fn core(&self, number: u32) -> &str {
        let packed = self.known.packed();
        let own = packed.cores.get(packed.head.core as usize);
        let mut cores = packed.cores.iter();
        let named = cores
            .find(|core| core.number == number && own.is_some_and(|own| own.first == core.first));
        named.map_or("?", |core| long_name_text(&core.name))
    }
}

/// Says how much room its buffers lack in the memory that all cores' components share.
pub(super) fn explain_common(name: &str, [wanted, free]: [usize; 2]) {
    say!(
        "pipe {name} is not started: its buffers between cores and on others than the first take {wanted} bytes, and {free} are free there, \
         perhaps not in one piece: remove a pipe, or give the partition more `spare_buffers`"
    );
}

/// Says what room there is on other cores.
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
