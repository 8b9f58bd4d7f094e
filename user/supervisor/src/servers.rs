//! The VCPUs of a core, and the VCPU or the priority of each component's thread there

use bulkhead_abi::kernel::Status;
use bulkhead_abi::name_text;
use bulkhead_abi::timing::Vcpu;
use bulkhead_component::First;
use bulkhead_component::cores;
use bulkhead_component::first::Timing;
use bulkhead_formats::archive::Thread;
use bulkhead_sched::budget::Capacity;
use bulkhead_sched::policy::{Binding, Priority, ServerId};
use bulkhead_slite::{Refused, VcpuThreads, is_by_priority};

/// Priority of the thread that renews the heartbeat, below all priorities of a description.
pub const OF_HEARTBEAT: Priority = Priority(63);

/// Creates the VCPUs of the description that are on this core with `create`, which gets the number of each, and stores
/// them by number.
///
/// # Errors
/// The name of the first VCPU that is refused, and the refusal.
pub fn create_all(
    timing: &Timing,
    servers: &mut [Option<ServerId>],
    mut create: impl FnMut(u32, &'static Vcpu) -> Result<ServerId, Refused>,
) -> Result<(), (&'static str, Refused)> {
    let all = (0..).zip(servers.iter_mut().zip(timing.vcpus));
    for (number, (place, vcpu)) in all.filter(|(_, (_, one))| u64::from(one.core) == cores::rank())
    {
        let created = create(number, vcpu);
        *place = Some(created.map_err(|refused| (name_text(&vcpu.name), refused))?);
    }
    Ok(())
}

/// Returns the VCPU of a component's thread, and the thread's importance among those that wait for a restart. A thread
/// without a task gets the priority of its component, within the component's budget if there is one.
///
/// # Errors
/// The task's VCPU is not on this core; the refusal of [`at_priority`].
pub fn place_thread<
    const N: usize,
    const M: usize,
    const K: usize,
    const P: usize,
    const S: usize,
>(
    core: &VcpuThreads<N, M, K, P, S>,
    first: &mut First,
    thread: &Thread<'_>,
    timing: &Timing,
    servers: &[Option<ServerId>],
) -> Result<(Binding, u64), Status> {
    let wiring = thread.component.wiring;
    let Some(task) = thread.task else {
        let priority = Priority(wiring.priority as u8);
        let limits = (wiring.budget_ticks != 0).then_some(Capacity {
            capacity: wiring.budget_ticks,
            period: wiring.period_ticks,
        });
        let binding = at_priority(core, first, priority, limits)?;
        return Ok((binding, wiring.priority.into()));
    };
    let server = |number: u32| servers.get(number as usize).copied().flatten();
    let found = timing.tasks.get(task).and_then(|task| {
        let vcpu = timing.vcpus.get(task.cause as usize)?;
        let binding = Binding {
            vcpu: server(task.vcpu)?,
            cause: server(task.cause)?,
        };
        let importance = match is_by_priority(timing) {
            true => (vcpu.place & 0xff).into(),
            false => vcpu.period_ns,
        };
        Some((binding, importance))
    });
    found.ok_or(Status::BadArgument)
}

/// Creates a binding for a thread that has no VCPU.
///
/// # Errors
/// There is no room, the budget is none, or the priority is more important than that of a VCPU
/// ([`VcpuThreads::create_priority`]).
pub fn at_priority<
    const N: usize,
    const M: usize,
    const K: usize,
    const P: usize,
    const S: usize,
>(
    core: &VcpuThreads<N, M, K, P, S>,
    first: &mut First,
    priority: Priority,
    limits: Option<Capacity>,
) -> Result<Binding, Status> {
    let created = core.create_priority(first, priority, limits);
    created.map(Binding::main).map_err(|refused| match refused {
        Refused::Kernel(status) => status,
        Refused::Admission(_) => Status::BadArgument,
    })
}
