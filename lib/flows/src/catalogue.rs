//! The repository that the host tool packed for a partition, in the types of the solver

use crate::ROOM;
use bulkhead_abi::pipe::EndpointKind;
use bulkhead_abi::repository::{
    self as abi, MAX_CORES, MAX_COUNTED, MAX_DOORBELLS, MAX_FUNCTIONS, MAX_JOBS,
    MAX_REMOTE_PARTITIONS, NONE, Policy as PackedPolicy, long_name_text,
};
use bulkhead_abi::timing::MAX_CHUNKS;
use bulkhead_analysis::overhead::{Jobs, Keeping, Overhead};
use bulkhead_analysis::utilisation::Fraction;
use bulkhead_analysis::{Reservation, Time};
use bulkhead_tpipe::binding::{DEVICES, IOS};
use bulkhead_tpipe::language::Buffering;
use bulkhead_tpipe::repository::{
    Core, Decisions, Device, Function, Io, Load, MessageType, Policy, Repository, Runs,
};

/// A repository with room for what is typed.
#[derive(Debug)]
pub struct PipeCatalogue<'b> {
    packed: abi::Repository<'b>,
    cores: [Core<'b>; MAX_CORES],
    ios: [Io<'b>; IOS],
    devices: [Device<'b>; DEVICES],
    functions: [Function<'b>; MAX_FUNCTIONS],
    jobs: [Jobs; MAX_COUNTED * MAX_JOBS],
    doorbells: [(u64, Time); MAX_COUNTED * MAX_DOORBELLS],
}

/// Why there is no repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// More of something than there is room for.
    Room,
    /// A number that stands for nothing, or a time that is none.
    Number,
}

const CORE: Core<'static> = Core {
    name: "",
    policy: Policy::RateMonotonic,
    space: 0,
};
const IO: Io<'static> = Io {
    name: "",
    core: 0,
    wcet: 1,
    utilisation: Fraction(1),
    sharers: 1,
};
const DEVICE: Device<'static> = Device {
    name: "",
    io: 0,
    main: None,
    sharers: 1,
    distance: None,
};
const FUNCTION: Function<'static> = Function {
    name: "",
    core: 0,
    wcet: 1,
    inputs: 0,
    outputs: 0,
    messages: [MessageType::WORDS; 2],
    buffering: None,
    source: None,
    sink: None,
    period: 1,
};
const LOAD: Load = Load {
    core: 0,
    server: Reservation {
        capacity: 1,
        period: 1,
    },
    runs: Runs::Tasks { jobs: 0 },
};

impl<'b> PipeCatalogue<'b> {
    /// Reads what was packed.
    ///
    /// # Errors
    /// [`Unfit`]: another tool packed it.
    pub fn of(packed: abi::Repository<'b>) -> Result<Self, Unfit> {
        let mut catalogue = Self {
            packed,
            cores: [CORE; MAX_CORES],
            ios: [IO; IOS],
            devices: [DEVICE; DEVICES],
            functions: [FUNCTION; MAX_FUNCTIONS],
            jobs: [Jobs::each(0); MAX_COUNTED * MAX_JOBS],
            doorbells: [(0, 0); MAX_COUNTED * MAX_DOORBELLS],
        };
        fill(&mut catalogue.cores, packed.cores, core)?;
        let cores = packed.cores.len();
        fill(&mut catalogue.ios, packed.ios, |one| io(one, cores))?;
        let ios = packed.ios.len();
        fill(&mut catalogue.devices, packed.devices, |one| {
            device(one, ios)
        })?;
        let devices = packed.devices.len();
        fill(&mut catalogue.functions, packed.functions, |one| {
            function(one, [cores, devices])
        })?;
        fill(&mut catalogue.jobs, packed.jobs, |one| Some(jobs(one)))?;
        fill(&mut catalogue.doorbells, packed.doorbells, |one| {
            Some((one.limit, one.per_ns))
        })?;
        let ends = [cores, devices];
        let sound = packed.loads.iter().all(|one| load(one, ends).is_some());
        let here = packed.cores.get(packed.head.core as usize).is_some();
        let fits_remote =
            packed.remote_partitions.len() <= MAX_REMOTE_PARTITIONS && packed.serves.len() <= 1;
        let counted = catalogue.counts();
        match sound && here && fits_remote && counted && packed.loads.len() <= ROOM {
            true => Ok(catalogue),
            false => Err(Unfit::Number),
        }
    }

    /// Returns whether the tasks and doorbells of all cores on which decisions are counted are those that there are.
    fn counts(&self) -> bool {
        let abi::Repository { counted, cores, .. } = self.packed;
        let mut all = counted.iter();
        let are_valid = all.all(|one| number(one.core, cores.len()).is_some());
        are_valid && counted.len() <= MAX_COUNTED && self.decisions(counted.len()).is_some()
    }

    /// Returns the scheduling decisions of one of the cores with counted overhead, by its index among these cores.
    fn decisions(&self, index: usize) -> Option<Decisions<'_>> {
        let abi::Repository { counted, .. } = self.packed;
        let before = counted.get(..index)?;
        let start = |of: fn(&abi::Counted) -> u32| {
            let counts = before.iter().map(|one| of(one) as usize);
            counts.fold(0, usize::saturating_add)
        };
        let (jobs, doorbells) = (start(|one| one.jobs), start(|one| one.doorbells));
        let one = counted.get(index).copied().unwrap_or_default();
        let jobs_end = jobs.checked_add(one.jobs as usize)?;
        let doorbells_end = doorbells.checked_add(one.doorbells as usize)?;
        let (all, rings) = (self.packed.jobs.len(), self.packed.doorbells.len());
        Some(Decisions {
            core: one.core as usize,
            overhead: Overhead {
                decision: one.decision_ns,
                interrupt: one.interrupt_ns,
                // Tasks are judged by the host alone.
                job: 0,
                stage: one.stage_ns,
                blocking: one.blocking_ns,
            },
            keeping: Keeping {
                chunks: MAX_CHUNKS as u64,
                quantum: (one.quantum_ns != 0).then_some(one.quantum_ns),
            },
            jobs: self.jobs.get(..all)?.get(jobs..jobs_end)?,
            doorbells: self.doorbells.get(..rings)?.get(doorbells..doorbells_end)?,
        })
    }

    /// As it was packed.
    #[must_use]
    pub const fn packed(&self) -> &abi::Repository<'b> {
        &self.packed
    }

    /// The first core here.
    #[must_use]
    pub const fn core(&self) -> usize {
        self.packed.head.core as usize
    }

    /// Returns whether run-time stages can be on a core: in this partition and in Linux on each core with a program for stages; in other partitions on the
    /// first core.
    #[must_use]
    pub fn runs_stages(&self, core: usize) -> bool {
        let row = self.packed.cores.get(core);
        row.is_some_and(|one| match self.first(self.core()) {
            Some(here) if one.first as usize == here => one.number != NONE,
            _ => one.first as usize == core || one.policy == PackedPolicy::Deadline as u32,
        })
    }

    /// Which of the partitions that run stages for this one has a core, if one has.
    #[must_use]
    pub fn remote_partition(&self, core: usize) -> Option<usize> {
        let first = self.packed.cores.get(core)?.first;
        let mut all = self.packed.remote_partitions.iter();
        all.position(|remote| remote.space == first)
    }

    /// The first core of the partition that has a core.
    #[must_use]
    pub fn first(&self, core: usize) -> Option<usize> {
        let row = self.packed.cores.get(core);
        row.map(|one| one.first as usize)
    }

    /// The solver's repository with `more` beside what was packed; nothing where that is more than there is room for.
    pub fn with<R>(
        &self,
        more: impl IntoIterator<Item = Load>,
        use_it: impl FnOnce(&Repository<'_>) -> R,
    ) -> Option<R> {
        let cores = self.packed.cores.len();
        let ends = [cores, self.packed.devices.len()];
        let packed = self.packed.loads.iter();
        let all = packed.filter_map(|one| load(one, ends)).chain(more);
        let (mut loads, mut count) = ([LOAD; ROOM], 0);
        for one in all {
            *loads.get_mut(count)? = one;
            count += 1;
        }
        let counted = self.packed.counted.len();
        let mut decisions = [self.decisions(counted)?; MAX_COUNTED];
        for (index, place) in decisions.iter_mut().enumerate().take(counted) {
            *place = self.decisions(index)?;
        }
        Some(use_it(&Repository {
            decisions: decisions.get(..counted)?,
            cores: self.cores.get(..cores)?,
            loads: loads.get(..count)?,
            ios: self.ios.get(..self.packed.ios.len())?,
            devices: self.devices.get(..self.packed.devices.len())?,
            functions: self.functions.get(..self.packed.functions.len())?,
        }))
    }
}

/// Returns whether a flow may begin with a function elsewhere: at its timer, or at nothing.
pub(crate) fn may_begin(function: &abi::Function) -> bool {
    !function.has_endpoint()
}

/// Returns whether a flow may end with a function elsewhere, where what leaves it is recorded: not at a device, nor beyond the machine.
pub(crate) fn may_end(function: &abi::Function) -> bool {
    !function.has_endpoint() && function.endpoints()[1] != EndpointKind::Bridge
}

fn fill<'b, T, P>(
    places: &mut [T],
    packed: &'b [P],
    read: impl Fn(&'b P) -> Option<T>,
) -> Result<(), Unfit> {
    let places = places.get_mut(..packed.len()).ok_or(Unfit::Room)?;
    for (place, one) in places.iter_mut().zip(packed) {
        *place = read(one).ok_or(Unfit::Number)?;
    }
    Ok(())
}

/// A number of something of which there are so many.
fn number(number: u32, count: usize) -> Option<usize> {
    let number = number as usize;
    (number < count).then_some(number)
}

/// Decodes a number that may be absent.
fn perhaps(given: u32, count: usize) -> Option<Option<usize>> {
    match given {
        NONE => Some(None),
        given => number(given, count).map(Some),
    }
}

fn core(one: &abi::Core) -> Option<Core<'_>> {
    let policies = [
        (PackedPolicy::RateMonotonic, Policy::RateMonotonic),
        (PackedPolicy::Edf, Policy::Edf),
        (PackedPolicy::Deadline, Policy::Deadline),
    ];
    let mut policies = policies.into_iter();
    let (_, policy) = policies.find(|(packed, _)| *packed as u32 == one.policy)?;
    Some(Core {
        name: long_name_text(&one.name),
        policy,
        space: one.space as usize,
    })
}

fn load(one: &abi::Load, [cores, devices]: [usize; 2]) -> Option<Load> {
    let runs = match one.stage {
        0 => Runs::Tasks { jobs: one.jobs },
        _ => Runs::Stage {
            devices: [perhaps(one.reads, devices)?, perhaps(one.writes, devices)?],
            messages: one.jobs,
        },
    };
    Some(Load {
        core: number(one.core, cores)?,
        server: Reservation::new(one.capacity_ns, one.period_ns)?,
        runs,
    })
}

const fn jobs(one: &abi::Jobs) -> Jobs {
    Jobs {
        period: one.period_ns,
        late: one.late_ns,
        pieces: one.pieces,
        burst: 1,
    }
}

fn io(one: &abi::Io, cores: usize) -> Option<Io<'_>> {
    Some(Io {
        name: long_name_text(&one.name),
        core: number(one.core, cores)?,
        wcet: one.wcet_ns,
        utilisation: Fraction::ratio(one.percent.into(), 100)?,
        sharers: one.sharers,
    })
}

fn device(one: &abi::Device, ios: usize) -> Option<Device<'_>> {
    let main = match one.period_ns {
        0 => None,
        period => Some(Reservation::new(one.capacity_ns, period)?),
    };
    Some(Device {
        name: long_name_text(&one.name),
        io: number(one.io, ios)?,
        main,
        sharers: one.sharers,
        distance: (one.distance_ns != 0).then_some(one.distance_ns),
    })
}

fn function(one: &abi::Function, [cores, devices]: [usize; 2]) -> Option<Function<'_>> {
    let buffering = match one.buffering {
        0 => None,
        1 => Some(Buffering::FourSlot),
        2 => Some(Buffering::Fifo),
        _ => return None,
    };
    Some(Function {
        name: long_name_text(&one.name),
        core: number(one.core, cores)?,
        wcet: one.wcet_ns,
        inputs: one.inputs,
        outputs: one.outputs,
        messages: [0, 1].map(|end| MessageType {
            number: one.message_types[end].into(),
            bytes: one.message_bytes[end],
        }),
        buffering,
        source: perhaps(one.reads, devices)?,
        sink: perhaps(one.writes, devices)?,
        period: one.period_ns,
    })
}
