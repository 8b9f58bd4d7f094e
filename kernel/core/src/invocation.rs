//! Synchronous invocation by thread migration
//!
//! A thread continues in another component, on its own time: at the entry that the capability
//! fixes, with its token in `x0`, in `x6` the thread's number, which no other thread of the core has, and the
//! depth, the message `x1`–`x5` untouched and no stack: the entry chooses one by both. The kernel keeps PC and SP
//! of the client on the thread's invocation stack (paper 004 §V-A), and the FP registers that a function
//! preserves if the client has FP state. The client saves its other registers itself, because the kernel clears
//! them both ways: the entry code clears the integer registers ([`Kernel::call`]); FP registers are cleared only if
//! the thread has FP state, so that a thread without any pays nothing.

use crate::object::{Component, Thread};
use crate::slot::Slot;
use crate::{Hal, Kernel};
use bulkhead_abi::kernel::{CALLER_DEPTH_SHIFT, DEPTH, Status};

impl<'h, H: Hal> Kernel<'h, H> {
    #[inline(always)]
    pub(crate) fn invoke(self, thread: Thread<'h>, slot: Slot<'h>) -> Result<(), Status> {
        let depth = thread.depth().get();
        if depth >= DEPTH as u64 {
            return Err(Status::Depth);
        }
        let server = self.component(slot.object());
        let [component, pc, sp, floating] = thread.invocation(depth);
        let [client_pc, client_sp] = self.0.context();
        component.set(thread.component().get());
        pc.set(client_pc);
        sp.set(client_sp);
        floating.set(thread.floating().get());
        if thread.floating().get() != 0 {
            self.keep_floating_point(thread, depth);
        }
        thread.depth().set(depth + 1);
        let inside = server.inside(self.0.core().rank().get());
        inside.set(inside.get().wrapping_add(1));
        self.enter(thread, server);
        thread.message(0).set(slot.extra());
        let number = thread.number().get() | (depth + 1) << CALLER_DEPTH_SHIFT;
        thread.message(6).set(number);
        self.0.set_context(slot.detail(), 0);
        Ok(())
    }

    /// Returns from an invocation: `x1`–`x5` are the server's answer.
    #[inline(always)]
    pub(crate) fn give_back(self, thread: Thread<'h>) -> Result<(), Status> {
        let [pc, sp] = self.unwind(thread)?;
        thread.message(0).set(Status::Ok as u64);
        thread.message(6).set(0);
        self.0.set_context(pc, sp);
        Ok(())
    }

    /// Takes the thread back to the client of its last invocation; its PC and SP there.
    #[inline(always)]
    pub(crate) fn unwind(self, thread: Thread<'h>) -> Result<[u64; 2], Status> {
        let depth = thread.depth().get();
        if depth == 0 {
            return Err(Status::Depth);
        }
        let [component, pc, sp, floating] = thread.invocation(depth - 1);
        thread.depth().set(depth - 1);
        if floating.get() | thread.floating().get() != 0 {
            self.recover_floating_point(thread, depth - 1);
        }
        let inside = self
            .component(thread.component().reference())
            .inside(self.0.core().rank().get());
        inside.set(inside.get().wrapping_sub(1));
        self.enter(thread, self.component(component.reference()));
        Ok([pc.get(), sp.get()])
    }

    #[inline(always)]
    fn enter(self, thread: Thread<'h>, component: Component<'h>) {
        self.place_in(thread, component);
        self.put_in_force(component);
    }

    /// The client has FP state: what a function preserves is kept, the server finds zeros.
    #[inline(never)]
    fn keep_floating_point(self, thread: Thread<'h>, depth: u64) {
        self.own_floating_point(thread);
        self.0.keep_floating_point(thread.kept_floating(depth));
    }

    /// The server has FP state, which goes no further, or the client had some.
    #[inline(never)]
    fn recover_floating_point(self, thread: Thread<'h>, depth: u64) {
        let [.., had] = thread.invocation(depth);
        if had.get() != 0 {
            self.own_floating_point(thread);
            self.0.recover_floating_point(thread.kept_floating(depth));
            return;
        }
        thread.floating().set(0);
        let core = self.0.core();
        if core.fp_owner().reference() == thread.at() {
            core.fp_owner().set(self.void().address());
            self.0.lend_floating_point(false);
        }
    }

    #[inline(always)]
    fn own_floating_point(self, thread: Thread<'h>) {
        if self.0.core().fp_owner().reference() != thread.at() {
            self.lend_floating_point();
        }
    }

    /// The core executes in `component` from here on: in its address space, with its thread pointer.
    #[inline(always)]
    pub(crate) fn put_in_force(self, component: Component<'h>) {
        let core = self.0.core();
        let rank = core.rank().get();
        let before = self.component(core.component().reference());
        before.thread_pointer(rank).set(self.0.thread_pointer());
        self.0
            .set_thread_pointer(component.thread_pointer(rank).get());
        core.component().set(component.at().address());
        self.0.set_address_space(component.space().get());
    }

    /// Records that `thread` executes in `component`, and the address of the word with the index of the thread that really
    /// executes. Entry code compares that word with the thread's index, without a branch for threads elsewhere.
    #[inline(always)]
    pub(crate) fn place_in(self, thread: Thread<'h>, component: Component<'h>) {
        let scheduler = self.scheduler(thread.scheduler().reference());
        let claim = if scheduler.component().reference() == component.at() {
            scheduler.scb().reference()
        } else {
            thread.at().at(Thread::INDEX)
        };
        thread.component().set(component.at().address());
        if !cfg!(feature = "trusting") {
            thread.claim().set(claim.address());
        }
    }
}
