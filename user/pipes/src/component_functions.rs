//! Pipe functions that components execute
//!
//! A stage's thread invokes the component for each job, and returns with its output
//! ([`bulkhead_abi::component::pipe_functions`]). The words that the stage keeps from job to job are here, so that a component can neither
//! lose nor mix them; they are zero again after the component restarted. A job that faults has no output. Until the component works again, jobs
//! have none either.

use crate::runtime::{CORE, Failure, SUPERVISOR};
use crate::shared_state::{self, Word};
use bulkhead_abi::component::{interface_slot, pipe_functions, stack_top};
use bulkhead_abi::kernel::MAX_COMPONENTS;
use bulkhead_abi::repository::MAX_STAGES as STAGES;
use bulkhead_abi::{NAME_LEN, name_field, name_text};
use bulkhead_component::environment;
use bulkhead_component::first::Timing;
use bulkhead_component::invocation::invoke;
use bulkhead_formats::archive::Component;
use bulkhead_stages::functions::{Answer, Function, Job};
use bulkhead_stages::shared_state::Count;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use pipe_functions::{Memory, SOURCE};

/// Functions of a stage: its own, and the fallback.
const FUNCTIONS: usize = 2;
/// No component, function or job.
const NONE: u64 = u64::MAX;

/// A component with pipe functions, on this core.
struct Host {
    /// Slot of the capability to invoke it; 0: it has no functions, or is on another core.
    slot: AtomicU64,
    /// Address of the memory that it shares with the scheduler.
    memory: AtomicU64,
    /// Upper end of the first stack for jobs, and the distance of two.
    stacks: [AtomicU64; 2],
    /// Number of stacks.
    count: AtomicU64,
    /// Stacks that stages have, by bit.
    taken: AtomicU64,
    /// How often it reported that it works.
    starts: AtomicU64,
    /// How often a job faulted in it, or 1 more at the start: it works if it has started as often.
    ends: AtomicU64,
}

static HOSTS: [Host; MAX_COMPONENTS] = [const {
    Host {
        slot: AtomicU64::new(0),
        memory: AtomicU64::new(0),
        stacks: [const { AtomicU64::new(0) }; 2],
        count: AtomicU64::new(0),
        taken: AtomicU64::new(0),
        starts: AtomicU64::new(0),
        ends: AtomicU64::new(1),
    }
}; MAX_COMPONENTS];

/// A function of a stage that a component executes.
struct Call {
    stage: usize,
    /// Number of the component.
    component: AtomicU64,
    /// Number of the function there.
    function: AtomicU64,
    /// Number of the job, with its memory and its stack.
    job: AtomicU64,
    /// The component's starts at the last job.
    starts: AtomicU64,
    /// Name of the function.
    name: [AtomicU64; NAME_LEN / 8],
}

static CALLS: [[Call; FUNCTIONS]; STAGES] = {
    let mut all = [const { [Call::of(0), Call::of(0)] }; STAGES];
    let mut stage = 0;
    while stage < STAGES {
        all[stage] = [Call::of(stage), Call::of(stage)];
        stage += 1;
    }
    all
};

/// A function that is measured, and no stage's.
static MEASURED: Call = Call::of(STAGES);

/// Notes the components with pipe functions of this core. To be called before stages are planned.
pub(crate) fn open() {
    let archive = bulkhead_supervisor::archive();
    let mut components = archive.components();
    let Some(scheduler) = components.nth(environment::info().number.into()) else {
        return;
    };
    for (before, component) in (0..).zip(archive.with_jobs_in(&scheduler)) {
        if let Some(host) = HOSTS.get(component.number) {
            host.open(before, &component);
        }
    }
}

/// Returns whether all components with pipe functions of this core work.
pub(crate) fn work() -> bool {
    HOSTS.iter().all(|host| !host.exists() || host.works())
}

/// A component reported that it works: its functions are called from now on. The last one lets the pipes begin.
pub(crate) fn component_works(number: u64) {
    let Some(host) = HOSTS.get(number as usize).filter(|host| host.exists()) else {
        return;
    };
    for call in CALLS.iter().flatten() {
        if call.component.load(Relaxed) == number && !call.find(host) {
            crate::runtime::give_up(&call.missing());
        }
    }
    host.starts.store(host.ends.load(Relaxed), Release);
    if work() {
        shared_state::components_work();
    }
}

/// The function of a stage that a component executes, if one does: `which` is 0 for the stage's own, 1 for its fallback.
pub(crate) fn of_stage(
    timing: &Timing,
    [stage, which]: [usize; 2],
    pipe: [u8; NAME_LEN],
    name: &str,
) -> Result<Option<Function>, Failure> {
    let Some(call) = CALLS.get(stage).and_then(|calls| calls.get(which)) else {
        return Ok(None);
    };
    call.release();
    let mut functions = timing.functions.iter();
    let Some(entry) = functions.find(|one| name_text(&one.name) == name) else {
        return Ok(None);
    };
    let host = HOSTS.get(entry.component as usize);
    let host = host.filter(|host| host.exists()).ok_or(Failure::Pipe(
        pipe,
        "a function's component is on another core",
    ))?;
    let job = host.take().ok_or(Failure::Pipe(
        pipe,
        "a function's component has no stack left for another stage",
    ))?;
    call.begin(entry.component, job, name);
    if host.works() && !call.find(host) {
        return Err(call.missing());
    }
    Ok(Some(call))
}

/// Has `measure` call each function that a component of this core executes. No stage may have begun: jobs run on the first stack.
pub(crate) fn each(timing: &Timing, mut measure: impl FnMut(&str, Function)) {
    for entry in timing.functions {
        let host = HOSTS.get(entry.component as usize);
        let Some(host) = host.filter(|host| host.exists()) else {
            continue;
        };
        let name = name_text(&entry.name);
        MEASURED.begin(entry.component, 0, name);
        if MEASURED.find(host) {
            measure(name, &MEASURED);
        }
    }
}

/// A stage has no function any more.
pub(crate) fn release(stage: usize) {
    for call in CALLS.get(stage).into_iter().flatten() {
        call.release();
    }
}

/// Returns whether a component executes the function of that name.
pub(crate) fn has(timing: &Timing, name: &str) -> bool {
    executor(timing, name).is_some()
}

/// Number of the component that executes the function of that name, if one does.
pub(crate) fn executor(timing: &Timing, name: &str) -> Option<usize> {
    let mut functions = timing.functions.iter();
    let found = functions.find(|one| name_text(&one.name) == name)?;
    Some(found.component as usize)
}

impl Host {
    fn exists(&self) -> bool {
        self.slot.load(Relaxed) != 0
    }

    fn works(&self) -> bool {
        self.starts.load(Acquire) == self.ends.load(Relaxed)
    }

    fn open(&self, before: u64, component: &Component<'_>) {
        let wiring = component.wiring;
        let pages = wiring.stack_pages.into();
        let top = |number: u32| stack_top(number.into(), pages);
        let first = top(wiring.threads());
        self.stacks[0].store(first, Relaxed);
        self.stacks[1].store(first - top(wiring.threads() + 1), Relaxed);
        self.count.store(wiring.job_stacks.into(), Relaxed);
        self.memory.store(pipe_functions::address(before), Relaxed);
        let name = pipe_functions::name(component.packed.name);
        let mut interfaces = environment::info().interfaces.iter();
        if let Some(number) = interfaces.position(|one| *one == name) {
            self.slot.store(interface_slot(number), Relaxed);
        }
    }

    /// The memory that the component shares with the scheduler: any thread of the component may write it at any time.
    #[expect(unsafe_code, reason = "memory that the boot component mapped")]
    fn memory(&self) -> &'static Memory {
        let address = self.memory.load(Relaxed) as usize;
        let memory: *const Memory = core::ptr::with_exposed_provenance(address);
        // SAFETY: mapped for good before this component started; all of it is atomic, so any content is a value.
        unsafe { &*memory }
    }

    /// Takes a job for a stage.
    fn take(&self) -> Option<u64> {
        let count = self.count.load(Relaxed);
        loop {
            let taken = self.taken.load(Relaxed);
            let job = u64::from(taken.trailing_ones());
            if job >= count {
                return None;
            }
            let with = taken | 1 << job;
            let done = self.taken.compare_exchange(taken, with, Relaxed, Relaxed);
            if done.is_ok() {
                return Some(job);
            }
        }
    }
}

impl Call {
    const fn of(stage: usize) -> Self {
        Self {
            stage,
            component: AtomicU64::new(NONE),
            function: AtomicU64::new(NONE),
            job: AtomicU64::new(NONE),
            starts: AtomicU64::new(0),
            name: [const { AtomicU64::new(0) }; NAME_LEN / 8],
        }
    }

    fn begin(&self, component: u64, job: u64, name: &str) {
        let name = name_field(name);
        for (word, bytes) in self.name.iter().zip(name.as_chunks::<8>().0) {
            word.store(u64::from_le_bytes(*bytes), Relaxed);
        }
        self.function.store(NONE, Relaxed);
        self.job.store(job, Relaxed);
        self.component.store(component, Relaxed);
    }

    fn release(&self) {
        let component = self.component.swap(NONE, Relaxed);
        if let Some(host) = HOSTS.get(component as usize) {
            host.taken
                .fetch_and(!(1 << self.job.load(Relaxed)), Relaxed);
        }
    }

    /// Counts a job without output.
    fn fail(&self) {
        if self.stage < STAGES {
            Word::of_stage(self.stage, Count::Failed).fetch_add(1, Relaxed);
        }
    }

    /// Finds the function in the component that has published its names. Returns whether it is there.
    fn find(&self, host: &Host) -> bool {
        let text =
            |words: &[AtomicU64; NAME_LEN / 8]| words.each_ref().map(|one| one.load(Relaxed));
        let name = text(&self.name);
        let mut names = host.memory().names.iter();
        let found = names.position(|one| text(one) == name);
        self.function
            .store(found.map_or(NONE, |number| number as u64), Relaxed);
        found.is_some()
    }

    fn name(&self) -> [u8; NAME_LEN] {
        let mut name = [0; NAME_LEN];
        for (word, bytes) in self.name.iter().zip(name.as_chunks_mut::<8>().0) {
            *bytes = word.load(Relaxed).to_le_bytes();
        }
        name
    }

    fn missing(&self) -> Failure {
        Failure::Pipe(self.name(), "the function's component does not have it")
    }
}

impl Answer for Call {
    fn job(&self, job: &mut Job<'_>) -> Option<[u64; 2]> {
        let component = self.component.load(Relaxed);
        let host = HOSTS.get(component as usize)?;
        if !host.works() {
            self.fail();
            return None;
        }
        let starts = host.starts.load(Relaxed);
        if self.starts.swap(starts, Relaxed) != starts {
            job.state.memory = [0; pipe_functions::STATE];
        }
        let number = self.job.load(Relaxed);
        let shared = host.memory().jobs.get(number as usize)?;
        let mut present = 0;
        let contents = job.inputs.iter().map(|one| one.as_ref()?.content);
        let contents = contents.take(pipe_functions::INPUTS).enumerate();
        for (place, content) in contents.chain([(pipe_functions::INPUTS, job.output)]) {
            let Some(content) = content else { continue };
            present |= pipe_functions::LONG << place;
            let word = pipe_functions::content(content.address(), content.bytes() as u64);
            shared.contents[place].store(word, Relaxed);
        }
        let inputs = job
            .inputs
            .iter()
            .map(|one| one.as_ref().map(|one| one.data));
        let inputs = inputs.take(pipe_functions::INPUTS).enumerate();
        for (place, data) in inputs.chain([(pipe_functions::INPUTS, job.source)]) {
            let Some(data) = data else { continue };
            present |= 1 << place;
            write(&shared.inputs[place], data);
        }
        write(&shared.state, job.state.memory);
        shared.age.store(job.age, Relaxed);
        shared.present.store(present, Release);
        let [top, distance] = host.stacks.each_ref().map(|word| word.load(Relaxed));
        let function = self.function.load(Relaxed);
        let words = [function, number, top - number * distance, 0, 0];
        let reply = invoke(host.slot.load(Relaxed), words);
        if reply.status != 0 {
            self.fail();
            // The first of several stages with a job in it reports the fault.
            let ends = host
                .ends
                .compare_exchange(starts, starts + 1, Relaxed, Relaxed);
            if ends.is_ok() {
                let thread = CORE.threads.current();
                SUPERVISOR.job_faulted(component, CORE.threads.name(thread));
            }
            return None;
        }
        job.state.memory = shared.state.each_ref().map(|word| word.load(Relaxed));
        (reply.value == 1).then(|| shared.output.each_ref().map(|word| word.load(Relaxed)))
    }
}

fn write<const N: usize>(words: &[AtomicU64; N], values: [u64; N]) {
    for (word, value) in words.iter().zip(values) {
        word.store(value, Relaxed);
    }
}

const _: () = assert!(
    SOURCE == 1 << pipe_functions::INPUTS,
    "the source is behind the inputs"
);
