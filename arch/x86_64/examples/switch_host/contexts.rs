//! Peers that switch stacks within a host thread

use super::{Shared, Subject};
use bulkhead_hosted::Stack;
use std::cell::Cell;
use std::ffi::{CStr, c_void};
use std::mem::ManuallyDrop;
use std::ptr::null_mut;

const STACK: usize = 64 * 1024;

/// Contexts of the two sides; they stay where they are.
static SIDES: Shared<[*mut libc::ucontext_t; 2]> = Shared(Cell::new([null_mut(); 2]));

extern "C" fn swap_back() {
    loop {
        let [main, other] = SIDES.0.get();
        // SAFETY: both live as long as the program.
        unsafe { libc::swapcontext(other, main) };
    }
}

/// `swapcontext(3)`, which keeps the signal mask by two system calls.
pub(crate) fn swapcontext() -> Subject {
    // SAFETY: all-zero is a context to fill.
    let sides: Box<[libc::ucontext_t; 2]> = Box::new(unsafe { std::mem::zeroed() });
    let sides = Box::leak(sides).as_mut_ptr();
    let [main, other] = [sides, sides.wrapping_add(1)];
    let stack = ManuallyDrop::new(Stack::new(STACK).expect("a stack"));
    let (base, size) = stack.usable();
    // SAFETY: a valid place.
    unsafe { libc::getcontext(other) };
    // SAFETY: filled just now.
    let description = unsafe { &mut (*other).uc_stack };
    description.ss_sp = base;
    description.ss_size = size;
    // SAFETY: a context with a stack, and a function without arguments.
    unsafe { libc::makecontext(other, swap_back, 0) };
    SIDES.0.set([main, other]);
    Subject {
        name: "swapcontext",
        rounds: 200,
        round_trips: Box::new(move |rounds| {
            for _ in 0..rounds {
                // SAFETY: both live as long as the program.
                unsafe { libc::swapcontext(main, other) };
            }
        }),
    }
}

/// Transfer of a boost.context jump: the origin and a word.
#[repr(C)]
#[derive(Clone, Copy)]
struct Transfer {
    from: *mut c_void,
    data: *mut c_void,
}

type Jump = unsafe extern "C" fn(*mut c_void, *mut c_void) -> Transfer;
type Make = unsafe extern "C" fn(*mut c_void, usize, unsafe extern "C" fn(Transfer)) -> *mut c_void;

static JUMP: Shared<Option<Jump>> = Shared(Cell::new(None));
static OTHER: Shared<*mut c_void> = Shared(Cell::new(null_mut()));

/// Names of the shared library, by release.
const LIBRARIES: [&CStr; 4] = [
    c"libboost_context.so",
    c"libboost_context.so.1.83.0",
    c"libboost_context.so.1.81.0",
    c"libboost_context.so.1.74.0",
];

/// The other side.
///
/// # Safety
/// Reached by a jump alone.
unsafe extern "C" fn jump_back(transfer: Transfer) {
    let mut transfer = transfer;
    while let Some(jump) = JUMP.0.get() {
        // SAFETY: where it came from waits.
        transfer = unsafe { jump(transfer.from, null_mut()) };
    }
}

/// boost.context, if it is installed.
pub(crate) fn boost() -> Option<Subject> {
    let open = |name: &&CStr| {
        // SAFETY: a library without start-up code of its own.
        let library = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW) };
        (!library.is_null()).then_some(library)
    };
    let library = LIBRARIES.iter().find_map(open)?;
    let symbol = |name: &CStr| {
        // SAFETY: the library is open.
        let address = unsafe { libc::dlsym(library, name.as_ptr()) };
        (!address.is_null()).then_some(address)
    };
    let (jump, make) = (symbol(c"jump_fcontext")?, symbol(c"make_fcontext")?);
    // SAFETY: its documented signature.
    let jump: Jump = unsafe { std::mem::transmute(jump) };
    // SAFETY: likewise.
    let make: Make = unsafe { std::mem::transmute(make) };
    let stack = ManuallyDrop::new(Stack::new(STACK).expect("a stack"));
    // SAFETY: no other code uses this stack.
    OTHER
        .0
        .set(unsafe { make(stack.top().cast(), stack.usable().1, jump_back) });
    JUMP.0.set(Some(jump));
    Some(Subject {
        name: "boost.context",
        rounds: 1_000,
        round_trips: Box::new(move |rounds| {
            let mut other = OTHER.0.get();
            for _ in 0..rounds {
                // SAFETY: the other one waits.
                other = unsafe { jump(other, null_mut()) }.from;
            }
            OTHER.0.set(other);
        }),
    })
}
