//! Waits of components: for interrupts of their functions, doorbells, and each other
//!
//! All of these notify the component's thread, at one end-point. A level is completed when its component
//! waits again: one that has no budget to serve it is not interrupted either.

use crate::ends;
use bulkhead_abi::kernel::{MAX_COMPONENTS, Operation, Status, first};
use bulkhead_component::call::call;
use bulkhead_component::first::empty;
use bulkhead_formats::archive::{Checked, Component};
use bulkhead_sched::policy::Policy;
use bulkhead_slite::Threads;
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicBool, AtomicU64};

/// Events for which a component waits.
struct Line {
    /// Index of the thread that may wait.
    thread: AtomicU64,
    /// Slots of the two sides of the thread's end-point; 0 = it has none.
    receive: AtomicU64,
    send: AtomicU64,
    /// The level that it completes by waiting again; 0 = it has no function.
    intid: AtomicU64,
    /// Ends with doorbells for which it waits, as bits.
    doorbells: AtomicU64,
    /// The component was notified, perhaps of the level, and has not waited again.
    raised: AtomicBool,
}

/// Lines by number of component.
pub(crate) struct WaitLines([Line; MAX_COMPONENTS]);

/// Returns true if there is an event for which a component can wait.
pub(crate) fn waits(component: &Component<'_>, archive: Checked<'_>) -> bool {
    let shares = |bits: u32| bits >> component.number & 1 != 0;
    let wiring = component.wiring;
    wiring.intid != 0
        || wiring.doorbells != 0
        || archive.shared().any(|(_, one)| shares(one.components))
}

impl WaitLines {
    pub(crate) const fn new() -> Self {
        Self([const { Line::new() }; MAX_COMPONENTS])
    }

    fn of(&self, component: u64) -> Result<&Line, Status> {
        let line = self.0.get(component as usize).ok_or(Status::BadArgument)?;
        match line.send.load(Relaxed) {
            0 => Err(Status::NoCapability),
            _ => Ok(line),
        }
    }

    /// Has the events of a component notify its thread, which has the end-point with these sides.
    pub(crate) fn open(
        &self,
        component: &Component<'_>,
        thread: u64,
        [receive, send]: [u64; 2],
    ) -> Result<(), Status> {
        let line = self.0.get(component.number).ok_or(Status::BadArgument)?;
        line.thread.store(thread, Relaxed);
        line.receive.store(receive, Relaxed);
        line.send.store(send, Relaxed);
        line.intid.store(component.wiring.intid.into(), Relaxed);
        line.doorbells
            .store(component.wiring.doorbells.into(), Relaxed);
        line.listen()
    }

    /// Empties the slots of a component's end-point, after its thread was retired.
    pub(crate) fn close(&self, component: u64) -> Result<(), Status> {
        let Ok(line) = self.of(component) else {
            return Ok(());
        };
        line.raised.store(false, Relaxed);
        empty(line.receive.load(Relaxed))?;
        empty(line.send.load(Relaxed))
    }

    /// Has the events of a component notify its new thread, behind `thread`.
    pub(crate) fn open_again(&self, component: u64, thread: u64) -> Result<(), Status> {
        let Ok(line) = self.of(component) else {
            return Ok(());
        };
        for (side, slot) in [
            (Operation::Receiver, &line.receive),
            (Operation::Sender, &line.send),
        ] {
            match call(thread, side, [slot.load(Relaxed)]) {
                // An attempt before this one got so far.
                Ok(_) | Err(Status::Occupied) => {}
                Err(status) => return Err(status),
            }
        }
        line.listen()
    }

    /// Notifies a component, if it waits for anything.
    pub(crate) fn notify(&self, component: u64) -> Result<(), Status> {
        let send = self.of(component)?.send.load(Relaxed);
        call(send, Operation::Send, []).map(|_| ())
    }

    /// Completes the level of a component, which has served its device, then waits until the component is notified. Returns
    /// the number of notifications.
    pub(crate) fn served<P: Policy, const N: usize>(
        &self,
        threads: &Threads<P, N>,
        client: u64,
    ) -> Result<u64, Status> {
        let line = self.of(client)?;
        if line.thread.load(Relaxed) != threads.current() {
            return Err(Status::BadArgument);
        }
        let intid = line.intid.load(Relaxed);
        if line.raised.swap(false, Relaxed) && intid != 0 {
            match call(first::INTERRUPT, Operation::Complete, [intid]) {
                // It was notified of something else.
                Ok(_) | Err(Status::Nothing) => {}
                Err(status) => return Err(status),
            }
        }
        let count = threads.wait_notified(line.receive.load(Relaxed))?;
        line.raised.store(true, Relaxed);
        Ok(count)
    }
}

impl Line {
    const fn new() -> Self {
        Self {
            thread: AtomicU64::new(0),
            receive: AtomicU64::new(0),
            send: AtomicU64::new(0),
            intid: AtomicU64::new(0),
            doorbells: AtomicU64::new(0),
            raised: AtomicBool::new(false),
        }
    }

    fn listen(&self) -> Result<(), Status> {
        let function = Some(self.intid.load(Relaxed)).filter(|intid| *intid != 0);
        let doorbells = ends(self.doorbells.load(Relaxed) as u32);
        let doorbells = doorbells.map(|end| end.doorbell_in.into());
        for intid in function.into_iter().chain(doorbells) {
            let words = [intid, self.send.load(Relaxed)];
            call(first::INTERRUPT, Operation::Listen, words)?;
        }
        Ok(())
    }
}
