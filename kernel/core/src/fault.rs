//! Faults of user space
//!
//! A fault in an invoked component takes the thread back to the client with an error. One at home
//! ends the thread: its scheduler gets an event and runs. If the thread is the root scheduler's, the
//! partition has failed and the monitor's policy decides. Each fault is recorded.

use crate::hal::MonitorCall;
use crate::object::{CALLED, FAULTED};
use crate::{Hal, Kernel};
use bulkhead_abi::component_log::ComponentFault;
use bulkhead_abi::dispatch::EventKind;
use bulkhead_abi::kernel::Status;

/// Registers in which the processor describes a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// ESR_EL1.
    pub syndrome: u64,
    /// FAR_EL1.
    pub address: u64,
}

impl<H: Hal> Kernel<'_, H> {
    /// Handles a fault of the current thread, after all its registers were saved.
    pub fn fault(self, fault: Fault) {
        let thread = self.current();
        thread.fault_syndrome().set(fault.syndrome);
        thread.fault_address().set(fault.address);
        thread.fault_pc().set(thread.pc().get());
        let component = self.component(thread.component().reference());
        let identity = crate::translation::identity(component.space().get());
        thread.fault_component().set(identity);
        self.0.record_fault(ComponentFault {
            sequence: 0,
            ticks: self.0.now(),
            syndrome: fault.syndrome,
            address: fault.address,
            pc: thread.pc().get(),
            component_thread: identity | thread.index().get() << 32,
        });
        if let Ok([pc, sp]) = self.unwind(thread) {
            thread.pc().set(pc);
            thread.sp().set(sp);
            thread.spsr().set(0);
            thread.resume().set(CALLED);
            thread.clear_registers();
            thread.answer(Status::Faulted as u64, 0);
            return;
        }
        thread.state().set(FAULTED);
        self.charge();
        self.report(thread, EventKind::Faulted);
        let direct = self.scheduler(thread.scheduler().reference());
        let next = if direct.thread().reference() == thread.at() {
            self.scheduler(direct.parent().reference())
        } else {
            direct
        };
        self.activate(next);
        self.leave();
        if self.current().is(thread) {
            let _does_not_return = self.0.monitor(MonitorCall::Fail(fault.syndrome));
        }
    }

    /// The current thread used floating point, which it did not have.
    pub fn lend_floating_point(self) {
        let core = self.0.core();
        let owner = core.fp_owner().reference();
        let next = self.current();
        self.0.lend_floating_point(true);
        if owner != next.at() {
            let owner = (owner != self.void()).then(|| self.thread(owner));
            let kept = (next.floating().get() != 0).then_some(next);
            self.0.exchange_floating_point(owner, kept);
            next.floating().set(1);
            core.fp_owner().set(next.at().address());
        }
    }
}
