//! VCPUs, tasks, pipes and the repository of a partition, read from the timing pages of its archive

use crate::{pipe, repository, timing};
use zerocopy::FromBytes;

/// The VCPUs and tasks of a partition.
#[derive(Clone, Copy, Debug)]
pub struct TimingData<'b> {
    /// VCPUs, in the order of the description.
    pub vcpus: &'b [timing::Vcpu],
    /// Tasks, in the order of the description.
    pub tasks: &'b [timing::Task],
    /// Scheduling order of VCPUs, unless by rate.
    pub schedule: Option<&'b timing::Schedule>,
    /// Slots of all cores.
    pub slots: &'b [timing::Slot],
    /// Costs of scheduling decisions, if they are known.
    pub costs: Option<&'b timing::Costs>,
    /// Doorbells that ring in the partition.
    pub doorbells: &'b [timing::Doorbell],
    /// Tuned pipes, solved and admitted.
    pub pipes: &'b [pipe::Pipe],
    /// Their stages, those of a pipe together.
    pub stages: &'b [pipe::Stage],
    /// Their edges to and from stages of other partitions.
    pub crossings: &'b [pipe::Crossing],
    /// Pipe functions that components execute.
    pub functions: &'b [pipe::ComponentFunction],
    /// Functions and endpoints for run-time pipes, if there may be any.
    pub repository: Option<repository::Repository<'b>>,
}

impl<'b> TimingData<'b> {
    /// No VCPUs, tasks or pipes.
    pub const NOTHING: Self = Self {
        vcpus: &[],
        tasks: &[],
        schedule: None,
        slots: &[],
        costs: None,
        doorbells: &[],
        pipes: &[],
        stages: &[],
        crossings: &[],
        functions: &[],
        repository: None,
    };

    /// Decodes the timing data; nothing if the bytes have another format.
    #[must_use]
    pub fn read(bytes: &'b [u8]) -> Option<Self> {
        let (head, rest) = timing::Head::ref_from_prefix(bytes).ok()?;
        if head.magic != timing::TIMING_MAGIC {
            return None;
        }
        let counts = [head.vcpus, head.tasks].map(|count| count as usize);
        let (vcpus, rest) = <[timing::Vcpu]>::ref_from_prefix_with_elems(rest, counts[0]).ok()?;
        let (tasks, rest) = <[timing::Task]>::ref_from_prefix_with_elems(rest, counts[1]).ok()?;
        let found = timing::Schedule::ref_from_prefix(rest).ok();
        let found = found.filter(|(schedule, _)| schedule.magic == timing::SCHEDULE_MAGIC);
        let (schedule, slots, rest) = match found {
            Some((schedule, rest)) => {
                let count = schedule.slots as usize;
                let slots = <[timing::Slot]>::ref_from_prefix_with_elems(rest, count).ok()?;
                (Some(schedule), slots.0, slots.1)
            }
            None => (None, &[][..], rest),
        };
        let found = timing::Costs::ref_from_prefix(rest).ok();
        let found = found.filter(|(costs, _)| costs.magic == timing::COSTS_MAGIC);
        let (costs, doorbells, rest) = match found {
            Some((costs, rest)) => {
                let count = costs.doorbells as usize;
                let doorbells =
                    <[timing::Doorbell]>::ref_from_prefix_with_elems(rest, count).ok()?;
                (Some(costs), doorbells.0, doorbells.1)
            }
            None => (None, &[][..], rest),
        };
        let nothing = (pipe::Pipes::NONE, rest);
        let (run, rest) = pipe::Pipes::read_before(rest).unwrap_or(nothing);
        let pipe::Pipes {
            pipes,
            stages,
            crossings,
            functions,
        } = run;
        Some(Self {
            vcpus,
            tasks,
            schedule,
            slots,
            costs,
            doorbells,
            pipes,
            stages,
            crossings,
            functions,
            repository: repository::Repository::read(rest),
        })
    }
}
