//! The machine under the kernel, as an interface

use crate::frame::{Frame, Ref, State, Word};
use crate::object::{Core, Thread};
use bulkhead_abi::component_log::ComponentFault;
use bulkhead_abi::kernel::Status;

/// A request to the monitor for the partition as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MonitorCall {
    /// The partition is up.
    Up,
    /// The partition gives up, for the reason of this code.
    Fail(u64),
    /// Rings the outgoing doorbell of this index.
    Ring(u64),
}

/// The machine under one core's kernel.
///
/// `frame`, `word` and `object` turn a [`Ref`] into memory. They may do so unchecked: a [`Ref`]
/// outlives no use of its page, because a page keeps its type while anything refers to it.
pub trait Hal {
    /// Difference between a kernel address and the physical one.
    const LINEAR: u64;

    /// Records a fault of a component's thread, or its end, where no component reaches.
    fn record_fault(&self, fault: ComponentFault);

    /// The page at `at`.
    fn frame(&self, at: Ref) -> &Frame;

    /// The word at `at`.
    fn word(&self, at: Ref) -> &Word;

    /// Its entry in the frame table; `None` where the page is not memory the kernel gives out.
    fn state(&self, at: Ref) -> Option<&State>;

    /// The core's own page.
    fn core(&self) -> Core<'_>;

    /// Has a core of the partition, which is off, enter [`Kernel::begin`].
    ///
    /// # Errors
    /// The monitor's refusal.
    ///
    /// [`Kernel::begin`]: crate::Kernel::begin
    fn start_core(&self, core: Core<'_>) -> Result<(), Status>;

    /// Has another core enter [`Kernel::attend`], after everything written before.
    ///
    /// [`Kernel::attend`]: crate::Kernel::attend
    fn interrupt_core(&self, core: Core<'_>);

    /// Cycles of the core's clock.
    fn now(&self) -> u64;

    /// Has the timer fire at `deadline`.
    fn set_timer(&self, deadline: u64);

    /// PC and SP of the user context that called.
    fn context(&self) -> [u64; 2];

    /// Sets PC and SP at which the user context continues.
    fn set_context(&self, pc: u64, sp: u64);

    /// Walks user addresses from here on from this root, under its identity: `TTBR0_EL1`.
    fn set_address_space(&self, root: u64);

    /// Orders everything written before in front of the clock's next reading, for all cores.
    fn settle(&self);

    /// Forgets translations of addresses that are no longer mapped.
    fn forget_translations(&self);

    /// Sets the first words of a page, a multiple of 16, to `value`.
    fn fill(&self, at: Ref, value: u64, words: u64);

    /// Returns true if every word of a page is `value`.
    fn has_only(&self, at: Ref, value: u64) -> bool;

    /// Returns true if no entry of a translation table is valid.
    fn has_only_invalid(&self, at: Ref) -> bool;

    /// Makes what was written to a page visible to instruction fetches of all cores.
    fn publish_code(&self, at: Ref);

    /// Lets user space use floating point, or traps it.
    fn lend_floating_point(&self, lend: bool);

    /// Saves the FP registers to `owner`, if there is one, and loads those of `next`, or zeros.
    fn exchange_floating_point(&self, owner: Option<Thread<'_>>, next: Option<Thread<'_>>);

    /// Stores the FP registers that a function preserves to `place`, then clears all of them.
    fn keep_floating_point(&self, place: Ref);

    /// Clears all FP registers but those in `place`, which it loads.
    fn recover_floating_point(&self, place: Ref);

    /// The register in which user space keeps the address of its thread-local storage.
    fn thread_pointer(&self) -> u64;

    /// Sets it.
    fn set_thread_pointer(&self, value: u64);

    /// Enables an interrupt on this core. Returns true if it is level-sensitive.
    ///
    /// # Errors
    /// The interrupt does not belong to the partition.
    fn enable_interrupt(&self, intid: u64) -> Result<bool, Status>;

    /// Disables an interrupt.
    fn disable_interrupt(&self, intid: u64);

    /// Deactivates an interrupt that [`Kernel::interrupt`] has left active.
    ///
    /// [`Kernel::interrupt`]: crate::Kernel::interrupt
    fn end_interrupt(&self, intid: u64);

    /// Makes a request to the monitor.
    ///
    /// # Errors
    /// The monitor's refusal.
    fn monitor(&self, call: MonitorCall) -> Result<(), Status>;
}
