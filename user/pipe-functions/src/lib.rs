//! A component that executes pipe functions
//!
//! The scheduler that runs a stage invokes the component for each job: the function runs on the stage's thread and budget, in the
//! component's address space, on a stack of its own. A fault there ends the component, and no other one. Data goes through memory that
//! both share ([`bulkhead_abi::component::pipe_functions`]).
//!
//! A program names its functions ([`functions!`]). Its first thread publishes the names, reports that it works, and sleeps.
#![no_std]
#![expect(
    unsafe_code,
    reason = "an entry is assembly, and memory is mapped by the boot component"
)]

use bulkhead_abi::component::pipe_functions::{self, Memory, SOURCE};
use bulkhead_abi::kernel::NEVER;
use bulkhead_abi::name_field;
use bulkhead_buffers::Region;
use bulkhead_component::Environment;
use bulkhead_guest::Home;
use bulkhead_stages::functions::{Function, Functions, State};
use bulkhead_stages::message::{Content, Message, Received};
use bulkhead_stages::work::ENDS;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

pub use bulkhead_component::First;
pub use bulkhead_stages::functions::Function as PipeFunction;
pub use bulkhead_stages::functions::Job;
pub use bulkhead_stages::message::Content as MessageContent;

const _: () = assert!(ENDS == pipe_functions::INPUTS, "inputs of a stage");
const _: () = assert!(
    bulkhead_stages::functions::MEMORY == pipe_functions::STATE,
    "words of a stage"
);

/// Defines a program that executes pipe functions, from a constant list of names and functions, each a `fn(&mut Job<'_>) ->
/// Option<[u64; 2]>` (`bulkhead_stages::functions`).
#[macro_export]
macro_rules! functions {
    ($($functions:tt)*) => {
        ::bulkhead_component::component!(bulkhead_pipe_functions_program);

        const FUNCTIONS: &[(&str, $crate::PipeFunction)] = &$($functions)*;

        fn bulkhead_pipe_functions_program(_: $crate::First) -> ! {
            $crate::run(bulkhead_pipe_functions)
        }

        fn bulkhead_pipe_functions(index: usize) -> Option<(&'static str, $crate::PipeFunction)> {
            FUNCTIONS.get(index).copied()
        }

        $crate::entry!(bulkhead_pipe_functions);
    };
}

/// Defines the entry of invocations: a job of one of the functions.
#[macro_export]
macro_rules! entry {
    ($functions:ident) => {
        mod bulkhead_pipe_functions_entry {
            #![expect(unsafe_code, reason = "an entry is assembly")]

            extern "C" fn job(function: u64, job: u64) -> u64 {
                $crate::job(super::$functions, function, job)
            }

            // The kernel enters without a stack, with a token in x0 and the message in x1 to x5: the scheduler, which alone
            // has the capability, names a stack that no other thread has.
            #[unsafe(naked)]
            #[unsafe(no_mangle)]
            extern "C" fn bulkhead_invoked() {
                core::arch::naked_asm!(
                    "mov sp, x3",
                    "mov x29, xzr",
                    "mov x30, xzr",
                    "mov x0, x1",
                    "mov x1, x2",
                    "bl {job}",
                    "mov x1, x0",
                    "mov x0, xzr",
                    "svc #0",
                    "udf #2",
                    job = sym job,
                );
            }
        }
    };
}

/// Memory of the jobs.
fn memory() -> &'static Memory {
    let memory: *const Memory =
        core::ptr::with_exposed_provenance(pipe_functions::address(0) as usize);
    // SAFETY: mapped by the boot component, for good; all of it is atomic, so any content is a value.
    unsafe { &*memory }
}

/// Publishes the names of the functions, reports that the component works, and sleeps.
///
/// # Panics
/// There are too many functions, or the scheduler does not answer.
pub fn run(functions: Functions) -> ! {
    let env = Environment::open();
    let names = &memory().names;
    for (index, place) in names.iter().enumerate() {
        let name = functions(index).map_or([0; 16], |(name, _)| name_field(name));
        for (word, bytes) in place.iter().zip(name.as_chunks::<8>().0) {
            word.store(u64::from_le_bytes(*bytes), Relaxed);
        }
    }
    assert!(
        functions(names.len()).is_none(),
        "a component has at most {} functions",
        names.len()
    );
    if let Err(status) = env.ready() {
        panic!("{}: not ready: {status:?}", env.name());
    }
    loop {
        env.sleep_until(NEVER);
    }
}

fn data(words: &[AtomicU64; 2]) -> [u64; 2] {
    words.each_ref().map(|word| word.load(Relaxed))
}

/// The content of the input of that number, or behind the inputs that of the output.
fn content(shared: &pipe_functions::Job, present: u64, number: usize) -> Option<Content> {
    if present & pipe_functions::LONG << number == 0 {
        return None;
    }
    let word = shared.contents.get(number)?.load(Relaxed);
    let [address, bytes] = pipe_functions::of_content(word);
    let base = core::ptr::with_exposed_provenance_mut(address as usize);
    // SAFETY: the scheduler, which alone writes the word, names memory that the boot component mapped for good; an input that this component
    // cannot write is only read.
    let region = unsafe { Region::from_raw(base, bytes.next_multiple_of(8) as usize) }.ok()?;
    Content::new(region, bytes as usize)
}

/// Executes a job. Returns 1 if its output is to be sent.
pub fn job(functions: Functions, function: u64, job: u64) -> u64 {
    let found: Option<(_, Function)> = functions(function as usize);
    let (Some((_, function)), Some(shared)) = (found, memory().jobs.get(job as usize)) else {
        return 0;
    };
    let present = shared.present.load(Acquire);
    let mut inputs = [const { None }; ENDS];
    for (number, (input, words)) in inputs.iter_mut().zip(&shared.inputs).enumerate() {
        *input = (present >> number & 1 != 0).then(|| {
            let message = Message {
                data: data(words),
                ..Message::default()
            };
            Received::new(message, content(shared, present, number))
        });
    }
    let source = (present & SOURCE != 0).then(|| data(&shared.inputs[pipe_functions::INPUTS]));
    let mut state = State::new(job);
    state.memory = shared.state.each_ref().map(|word| word.load(Relaxed));
    let answer = function.job(&mut Job {
        inputs: &inputs,
        source,
        age: shared.age.load(Relaxed),
        state: &mut state,
        output: content(shared, present, pipe_functions::INPUTS),
    });
    for (word, value) in shared.state.iter().zip(state.memory) {
        word.store(value, Relaxed);
    }
    let Some(output) = answer else {
        return 0;
    };
    for (word, value) in shared.output.iter().zip(output) {
        word.store(value, Release);
    }
    1
}
