//! Measures the pipe functions (`bulkhead profile`)
//!
//! First each function runs alone, without interrupts: jobs with random and with extreme inputs,
//! from none to all of them. Then the overhead of a stage is measured: the pipes of the partition
//! run with functions that do next to nothing, alone on their core, and each job is timed from its
//! release on. The sum of both maxima is the worst measured time of a stage. What the kernel metered of the stages' budgets is
//! measured, too: it is what the analysis counts of each job (`costs.stage`).
//! Argument word: `profile=JOBS`.

use crate::runtime::CORE;
use crate::shared_state;
use crate::stage::STAGES;
use crate::vcpu_pool;
use crate::{component_functions, contents};
use bulkhead_abi::name_text;
use bulkhead_abi::pipe::Stage;
use bulkhead_component::figure::{Counter, Figure};
use bulkhead_component::first::Timing;
use bulkhead_component::{Environment, clock, println};
use bulkhead_sched::harness::Random;
use bulkhead_sched::policy::VcpuBudget;
use bulkhead_stages::functions::{self, Function, Functions, Job, State};
use bulkhead_stages::message::{Content, Message, Received, content_bytes};
use bulkhead_stages::work::ENDS;
use core::hint::black_box;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

/// Name of the row for a stage's overhead, beside the functions.
const STAGE: &str = "(stage)";
/// Name of the row for the budget that a stage's job used.
const BUDGET: &str = "(budget)";

/// Inputs at which arithmetic may fail.
const EXTREMES: [u64; 6] = [
    0,
    1,
    u64::MAX,
    i64::MAX as u64,
    i64::MIN as u64,
    // Not a number, in both halves.
    0x7ff8_0000_7fc0_0000,
];

/// Jobs of each stage that are still to be measured; 0: none.
static LEFT: AtomicU64 = AtomicU64::new(0);
/// Instructions per [`TICKS`].
static INSTRUCTIONS: AtomicU64 = AtomicU64::new(1);
const TICKS: u64 = 10_000;

/// Measured time of a stage's jobs, ticks.
struct Charged {
    jobs: AtomicU64,
    sum: AtomicU64,
    worst: AtomicU64,
}

static CHARGED: [Charged; STAGES] = [const {
    Charged {
        jobs: AtomicU64::new(0),
        sum: AtomicU64::new(0),
        worst: AtomicU64::new(0),
    }
}; STAGES];

/// Budget that the kernel metered of stages' jobs, ticks.
static METERED: Charged = Charged {
    jobs: AtomicU64::new(0),
    sum: AtomicU64::new(0),
    worst: AtomicU64::new(0),
};

/// Measures all functions, if the `profile` argument is given.
pub(crate) fn functions(env: &Environment, timing: &Timing, functions: Functions) {
    let jobs = env.number("profile", 0);
    if jobs == 0 {
        return;
    }
    let counter = Counter::calibrated();
    let (start, until) = (clock::cycles(), clock::now() + TICKS);
    while clock::now() < until {}
    INSTRUCTIONS.store(counter.since(start), Relaxed);
    for (name, function) in functions::all(functions) {
        let contents = contents_of(timing, name);
        measure(&counter, jobs, (name, function), contents, || {});
    }
    LEFT.store(jobs, Relaxed);
}

/// Measures the functions that components execute, before pipes begin. Called on a thread that may run for `share`: C and T.
pub(crate) fn functions_of_components(timing: &Timing, share: [u64; 2]) {
    let jobs = LEFT.load(Relaxed);
    if jobs == 0 {
        return;
    }
    let counter = Counter::calibrated();
    let [capacity, period] = share;
    component_functions::each(timing, |name, function| {
        let mut began = clock::now();
        measure(
            &counter,
            jobs,
            (name, function),
            contents_of(timing, name),
            || {
                // No job meets the end of the budget.
                let spent = clock::now() - began;
                CORE.threads
                    .sleep_until(clock::now() + spent * period.div_ceil(capacity));
                began = clock::now();
            },
        );
    });
}

/// Runs jobs of a function with random and with extreme inputs, and prints how long they took; `pause` is called after each job.
fn measure(
    counter: &Counter,
    jobs: u64,
    (name, function): (&str, Function),
    [content, output]: [Option<Content>; 2],
    mut pause: impl FnMut(),
) {
    let mut random = Random::new(1);
    let mut state = State::new(1);
    let mut figure = Figure::new();
    for number in 0..jobs {
        let inputs: [_; ENDS] = core::array::from_fn(|_| input(&mut random, content));
        let source = (random.below(2) == 0).then(|| data(&mut random));
        let mut job = Job {
            inputs: &inputs[..number as usize % (ENDS + 1)],
            source,
            age: 0,
            state: &mut state,
            output,
        };
        let start = clock::cycles();
        let answer = function.job(black_box(&mut job));
        figure.add(counter.since(start));
        black_box(answer);
        pause();
    }
    figure.print(name);
}

fn input(random: &mut Random, content: Option<Content>) -> Option<Received> {
    let message = Message {
        data: data(random),
        ..Message::default()
    };
    (random.below(4) != 0).then_some(Received::new(message, content))
}

/// Contents for the inputs and the output of a function with long messages. No pipe has begun, so that they may lie where a buffer does.
fn contents_of(timing: &Timing, name: &str) -> [Option<Content>; 2] {
    let mut stages = timing.stages.iter();
    let of_stage = stages.find(|stage| name_text(&stage.function) == name);
    let bytes = of_stage.map(|stage| stage.message_bytes).or_else(|| {
        let mut functions = timing.repository?.functions.iter();
        let found = functions.find(|function| name_text(&function.function) == name);
        found.map(|function| function.message_bytes)
    });
    let program = component_functions::executor(timing, name);
    let program = program.unwrap_or_else(contents::this_program);
    let content = |bytes| contents::first(program, content_bytes(bytes));
    bytes.unwrap_or_default().map(content)
}

fn data(random: &mut Random) -> [u64; 2] {
    core::array::from_fn(|_| {
        let extreme = EXTREMES.get(random.below(2 * EXTREMES.len() as u64) as usize);
        extreme
            .copied()
            .unwrap_or_else(|| random.below(u64::MAX) << 11 ^ random.below(u64::MAX))
    })
}

/// Counts what the last job of each stage used of its budget. Called by the recorder, when no stage has work: a budget lists what the
/// last job used behind what is left.
pub(crate) fn note_budgets() {
    if LEFT.load(Relaxed) == 0 {
        return;
    }
    for slot in (0..STAGES).filter_map(vcpu_pool::get) {
        let used =
            CORE.threads
                .with_policy(|policy, _| match policy.servers().budget(slot.server) {
                    Some(VcpuBudget::Main(budget)) => match budget.chunks() {
                        [_, .., last] => last.amount,
                        _ => 0,
                    },
                    _ => 0,
                });
        if used > 0 {
            METERED.sum.fetch_add(used, Relaxed);
            METERED.worst.fetch_max(used, Relaxed);
            METERED.jobs.fetch_add(1, Relaxed);
        }
    }
}

/// Counts a job of a stage that was released at `released` and began at `began`, in ticks. Blocking
/// is assumed to cost no more than waking up.
pub(crate) fn ended(stage: usize, released: u64, began: u64) {
    let Some(charged) = CHARGED.get(stage).filter(|_| LEFT.load(Relaxed) != 0) else {
        return;
    };
    let spent = (clock::now() - released) + (began - released);
    charged.sum.fetch_add(spent, Relaxed);
    charged.worst.fetch_max(spent, Relaxed);
    charged.jobs.fetch_add(1, Relaxed);
}

/// Prints the overhead of stages once each has run its jobs. Called by the recorder.
pub(crate) fn tell(stages: &[Stage]) {
    let exit = LEFT.load(Relaxed);
    let numbered = CHARGED.iter().zip(stages).enumerate();
    let counted = numbered.filter(|(_, (_, stage))| shared_state::is_here(stage));
    let counted = counted.map(|(number, (charged, _))| (number, charged));
    let whole = |(_, charged): (usize, &Charged)| charged.jobs.load(Relaxed) >= exit;
    if exit == 0 || !counted.clone().all(whole) {
        return;
    }
    LEFT.store(0, Relaxed);
    // Rounded up, since a tick is several instructions.
    let instructions = |ticks: u64| (ticks * INSTRUCTIONS.load(Relaxed)).div_ceil(TICKS);
    for (stage, charged) in counted {
        let [jobs, sum, worst] =
            [&charged.jobs, &charged.sum, &charged.worst].map(|word| word.load(Relaxed));
        Figure::of(jobs, instructions(sum), instructions(worst))
            .print(format_args!("{}{stage}", STAGE));
    }
    let [jobs, sum, worst] =
        [&METERED.jobs, &METERED.sum, &METERED.worst].map(|word| word.load(Relaxed));
    if jobs > 0 {
        Figure::of(jobs, instructions(sum), instructions(worst)).print(BUDGET);
    }
    println!("bench done");
}
