//! Single accesses and instructions, with their faults caught
//!
//! All hostile accesses and instructions are issued here. They are written in assembly, so that
//! exactly the intended instruction reaches the monitor.
#![expect(unsafe_code, reason = "hostile by purpose")]

use bulkhead_rtos::exception::{self, Frame, Verdict};
use bulkhead_rtos::{Lock, mmu};
use core::arch::asm;
use core::fmt;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// A fault that the processor reported to this guest.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fault {
    pub(crate) esr: u64,
}

impl Fault {
    /// Exception class.
    pub(crate) fn class(&self) -> u64 {
        self.esr >> 26
    }
}

/// Result of an access or a call as reports print it: `ok`, a number, or `fault-CLASS`.
pub(crate) struct Shown<T>(pub(crate) Result<T, Fault>);

impl<T: fmt::Display> fmt::Display for Shown<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Ok(value) => value.fmt(f),
            Err(fault) => write!(f, "fault-{:#x}", fault.class()),
        }
    }
}

impl<T: fmt::LowerHex> fmt::LowerHex for Shown<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Ok(value) => value.fmt(f),
            Err(fault) => write!(f, "fault-{:#x}", fault.class()),
        }
    }
}

impl Shown<&'static str> {
    /// Only whether it went through.
    pub(crate) fn whether<R>(result: Result<R, Fault>) -> Self {
        Self(result.map(|_| "ok"))
    }
}

static EXPECTED: AtomicBool = AtomicBool::new(false);
static CAUGHT: Lock<Option<Fault>> = Lock::new(None);

/// Puts the handler in place.
pub(crate) fn catch_faults() {
    exception::set_fault_handler(handle);
}

fn handle(frame: &mut Frame) -> Verdict {
    if !EXPECTED.load(Ordering::Relaxed) {
        return Verdict::Fatal;
    }
    CAUGHT.with(|caught| *caught = Some(Fault { esr: frame.esr }));
    match frame.class() {
        0x20..=0x22 => frame.elr = frame.x[30],
        0x11 | 0x12 | 0x15 | 0x16 => {}
        _ => frame.elr += 4,
    }
    Verdict::Resume
}

/// Does `work`; gives its result, and the last fault on the way.
pub(crate) fn attempt<R>(work: impl FnOnce() -> R) -> (R, Option<Fault>) {
    CAUGHT.with(|caught| *caught = None);
    EXPECTED.store(true, Ordering::Relaxed);
    let result = work();
    EXPECTED.store(false, Ordering::Relaxed);
    (result, CAUGHT.with(Option::take))
}

/// The value, or the fault that came instead.
fn outcome<R>((result, fault): (R, Option<Fault>)) -> Result<R, Fault> {
    fault.map_or(Ok(result), Err)
}

/// A form of access.
#[derive(Clone, Copy)]
pub(crate) struct Form {
    pub(crate) name: &'static str,
    pub(crate) go: fn(usize, u64) -> u64,
}

macro_rules! form {
    ($name:literal, $($instruction:literal),+) => {
        Form {
            name: $name,
            go: |mut address, mut value| {
                // SAFETY: an attack; faults are caught, and what the access hits is never memory
                // that this program relies on.
                unsafe {
                    asm!($($instruction),+, inout("x10") value, inout("x11") address,
                        out("x9") _, out("v0") _, out("v1") _, options(nostack));
                }
                let _moved = address;
                value
            },
        }
    };
}

/// Loads with a complete syndrome, by log2 of their bytes.
pub(crate) const LOADS: [Form; 4] = [
    form!("ldrb", "ldrb w10, [x11]"),
    form!("ldrh", "ldrh w10, [x11]"),
    form!("ldr-w", "ldr w10, [x11]"),
    form!("ldr-x", "ldr x10, [x11]"),
];

/// Stores with a complete syndrome, by log2 of their bytes.
pub(crate) const STORES: [Form; 4] = [
    form!("strb", "strb w10, [x11]"),
    form!("strh", "strh w10, [x11]"),
    form!("str-w", "str w10, [x11]"),
    form!("str-x", "str x10, [x11]"),
];

/// Accesses without a valid instruction syndrome (ISV = 0), and other unusual ones.
pub(crate) const ODD: [Form; 12] = [
    form!("ldp", "ldp x10, x9, [x11]"),
    form!("stp", "stp x10, x10, [x11]"),
    form!("stp-w", "stp w10, w10, [x11]"),
    form!("str-post", "str w10, [x11], #4"),
    form!("str-pre", "str w10, [x11, #4]!"),
    form!("ldr-post", "ldr w10, [x11], #4"),
    form!("ldr-q", "ldr q0, [x11]"),
    form!("str-q", "movi v0.2d, #0xffffffffffffffff", "str q0, [x11]"),
    form!(
        "stp-q",
        "movi v0.2d, #0xffffffffffffffff",
        "stp q0, q0, [x11]"
    ),
    form!("ldxr-stxr", "ldxr w10, [x11]", "stxr w9, w10, [x11]"),
    form!("dc-zva", "dc zva, x11"),
    form!("dc-civac", "dc civac, x11"),
];

/// Does `form` at the virtual `address`.
pub(crate) fn access(form: Form, address: u64, value: u64) -> Result<u64, Fault> {
    outcome(attempt(|| (form.go)(address as usize, value)))
}

static SHOWN: AtomicU64 = AtomicU64::new(u64::MAX);

/// Maps the window of device memory over the guest-physical `address`, and returns the address
/// there.
pub(crate) fn physical(address: u64) -> u64 {
    let gigabyte = address >> 30;
    if SHOWN.swap(gigabyte, Ordering::Relaxed) != gigabyte {
        // SAFETY: no partition for this program has memory from 3 GiB on.
        unsafe { mmu::show(address) }
    }
    mmu::WINDOW + (address & ((1 << 30) - 1))
}

/// A 32-bit load from the guest-physical `address`.
pub(crate) fn load(address: u64) -> Result<u64, Fault> {
    access(LOADS[2], physical(address), 0)
}

/// A 32-bit store to the guest-physical `address`.
pub(crate) fn store(address: u64, value: u64) -> Result<u64, Fault> {
    access(STORES[2], physical(address), value)
}

/// A 64-bit store to the guest-physical `address`.
pub(crate) fn store_double(address: u64, value: u64) -> Result<u64, Fault> {
    access(STORES[3], physical(address), value)
}

/// Branches to the virtual `address`.
pub(crate) fn jump(address: u64) -> Result<(), Fault> {
    outcome(attempt(|| {
        // SAFETY: an attack; where nothing can be fetched the handler returns to x30.
        unsafe { asm!("blr {}", in(reg) address, clobber_abi("C")) }
    }))
}

/// Room for instructions made up at run time, each followed by a return.
#[repr(C, align(4096))]
struct Code([AtomicU64; SLOTS]);

/// Instructions that [`execute`] takes at a time.
pub(crate) const SLOTS: usize = 512;
const RET: u64 = 0xd65f_03c0;
static CODE: Code = Code([const { AtomicU64::new(0) }; SLOTS]);

/// Lets the guest's own tables fetch instructions from a page of its first 2 MiB.
pub(crate) fn map_executable(page: u64) -> Result<(), Fault> {
    // SAFETY: an attack on a page that holds nothing of this program.
    outcome(attempt(|| unsafe {
        mmu::set_executable(page as usize, true)
    }))
}

/// Puts four instructions, one after the other, where they can be executed; gives their address.
pub(crate) fn place(instructions: [u32; 4]) -> u64 {
    let words = instructions.as_chunks::<2>().0.iter();
    for (slot, [first, second]) in CODE.0.iter().zip(words) {
        slot.store(
            u64::from(*first) | u64::from(*second) << 32,
            Ordering::Relaxed,
        );
    }
    CODE.0.as_ptr().addr() as u64
}

/// Executes each of up to [`SLOTS`] instructions by itself, x0…x3 = `arguments`, and tells `result`
/// its index and x0 afterwards, or the fault. Other registers than x0…x17 must stay as they are.
pub(crate) fn execute(
    instructions: impl Iterator<Item = u32>,
    arguments: [u64; 4],
    mut result: impl FnMut(usize, Result<u64, Fault>),
) {
    let mut count = 0;
    for (slot, instruction) in CODE.0.iter().zip(instructions) {
        slot.store(u64::from(instruction) | RET << 32, Ordering::Relaxed);
        count += 1;
    }
    let page = CODE.0.as_ptr().addr();
    // SAFETY: the page is this array alone.
    unsafe { mmu::set_executable(page, true) }
    (0..count).for_each(|index| result(index, call(page + 8 * index, arguments)));
    // SAFETY: as above.
    unsafe { mmu::set_executable(page, false) }
}

/// One instruction, as [`execute`].
pub(crate) fn execute_one(instruction: u32, arguments: [u64; 4]) -> Result<u64, Fault> {
    let mut only = Ok(0);
    execute(core::iter::once(instruction), arguments, |_, result| {
        only = result
    });
    only
}

fn call(address: usize, [mut x0, x1, x2, x3]: [u64; 4]) -> Result<u64, Fault> {
    outcome(attempt(|| {
        // SAFETY: an attack; the instruction is followed by a return and changes x0…x17 only.
        unsafe {
            asm!("blr {}", in(reg) address, inout("x0") x0, inout("x1") x1 => _,
                inout("x2") x2 => _, inout("x3") x3 => _, clobber_abi("C"));
        }
        x0
    }))
}

/// `hvc #0` with x0…x3.
pub(crate) fn hypervisor_call(arguments: [u64; 4]) -> Result<u64, Fault> {
    let [mut x0, x1, x2, x3] = arguments;
    outcome(attempt(|| {
        // SAFETY: an attack; results come in x0…x3.
        unsafe {
            asm!("hvc #0", inout("x0") x0, inout("x1") x1 => _, inout("x2") x2 => _,
                inout("x3") x3 => _, clobber_abi("C"));
        }
        x0
    }))
}
