//! The scheduler of this core, and what all parts of the runtime use of it: console, and reasons for which no pipe runs

use crate::answer;
use bulkhead_abi::component::MAX_COMPONENT_THREADS;
use bulkhead_abi::kernel::{Status, first};
use bulkhead_abi::timing::MAX_CHUNKS;
use bulkhead_abi::{NAME_LEN, name_field, name_text};
use bulkhead_component::load::Load;
use bulkhead_component::{clock, console, environment, println};
use bulkhead_sched::policy::Vcpus;
use bulkhead_slite::{Mutex, Refused, VcpuThreads};
use bulkhead_stages::functions::Functions;
use bulkhead_supervisor::{Supervisor, heartbeat};
use core::fmt;

/// Threads of the runtime: stages, bottom half, recorder, planner, scatterers and gatherers, heartbeat, the thread that
/// restarts components.
const OWN_THREADS: usize = 42;
pub(crate) const THREADS: usize = MAX_COMPONENT_THREADS + OWN_THREADS;
pub(crate) const VCPUS: usize = bulkhead_abi::pipe::MAX_VCPUS;
/// VCPUs, and priorities of threads: those of components, and the heartbeat's.
pub(crate) const SERVERS: usize = VCPUS + MAX_COMPONENT_THREADS + 1;

type Policy = Vcpus<THREADS, SERVERS, MAX_CHUNKS>;
pub(crate) type Core = VcpuThreads<THREADS, SERVERS, MAX_CHUNKS>;
pub(crate) static CORE: Core = VcpuThreads::new(false);
pub(crate) static SUPERVISOR: Supervisor<Policy, THREADS> = Supervisor::new(&CORE.threads, || {
    heartbeat::beat();
});
pub(crate) static LOAD: Load = Load::new();
/// Lock of the console: recorder and planner share it.
static SAYS: Mutex<()> = Mutex::new(());

/// Prints lines of a thread.
macro_rules! say {
    ($($argument:tt)*) => {
        $crate::runtime::say_all(format_args!($($argument)*))
    };
}
pub(crate) use say;

pub(crate) fn say_all(text: fmt::Arguments<'_>) {
    let _said = SAYS.with(&CORE.threads, |()| console::print(text));
    answer::keep(text);
}

/// Reason for which no pipe runs.
#[derive(Clone, Copy)]
pub(crate) enum Failure {
    Kernel(Status),
    Vcpu(&'static str, Refused),
    Pipe([u8; NAME_LEN], &'static str),
    /// A pipe, the function that the program lacks, and the functions that it has.
    Function([u8; NAME_LEN], [u8; NAME_LEN], Functions),
}

impl Failure {
    pub(crate) const fn named(name: &'static str, reason: &'static str) -> Self {
        Self::Pipe(name_field(name), reason)
    }
}

impl From<Status> for Failure {
    fn from(status: Status) -> Self {
        Self::Kernel(status)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kernel(status) => write!(out, "the kernel refuses: {status:?}"),
            Self::Vcpu(name, refused) => write!(out, "VCPU {name} is refused: {refused:?}"),
            Self::Pipe(name, reason) => write!(out, "{}: {reason}", name_text(name)),
            Self::Function(pipe, function, available) => {
                let [pipe, function] = [pipe, function].map(name_text);
                write!(
                    out,
                    "pipe {pipe}: the program has no function {function}; it has"
                )?;
                bulkhead_stages::functions::all(*available)
                    .try_for_each(|(name, _)| write!(out, " {name}"))
            }
        }
    }
}

/// Reports that no pipe runs, and fails the partition.
pub(crate) fn give_up(failure: &Failure) -> ! {
    println!("pipes are not started: {failure}");
    let _does_not_return = environment::fail(first::MONITOR, 1);
    loop {
        clock::wait_for_interrupt();
    }
}
