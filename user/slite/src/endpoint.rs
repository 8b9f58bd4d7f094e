//! Where threads wait in the kernel: notifications and interrupts

use crate::Threads;
use bulkhead_abi::kernel::{Operation, Status, WAIT, first};
use bulkhead_component::First;
use bulkhead_component::call::{Answer, call};
use bulkhead_sched::policy::Policy;
use core::convert::Infallible;

/// The end-point of a thread. A notification runs the thread at once, without a look at the policy:
/// interrupt threads are short.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Endpoint {
    receive: u64,
    send: u64,
}

impl Endpoint {
    /// That of thread `index` of `threads`.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn of<P: Policy, const N: usize>(
        first: &mut First,
        threads: &Threads<P, N>,
        index: u64,
    ) -> Result<Self, Status> {
        let thread = threads.name(index);
        let [receive, send] = [first.slot(), first.slot()];
        call(thread, Operation::Receiver, [receive])?;
        call(thread, Operation::Sender, [send])?;
        Ok(Self { receive, send })
    }

    /// Waits for notifications, as the thread whose end-point it is; how many were merged.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn wait(&self) -> Answer {
        call(self.receive, Operation::Receive, [WAIT])
    }

    /// Notifies the thread.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn notify(&self) -> Answer {
        call(self.send, Operation::Send, [])
    }

    /// Shared interrupt `intid` becomes a notification.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn listen(&self, intid: u64) -> Answer {
        call(first::INTERRUPT, Operation::Listen, [intid, self.send])
    }
}

/// Runs the threads of a subsystem: where none is ready it waits until its parent notifies it.
///
/// # Errors
/// The kernel's refusal to wait.
pub fn run_nested<P: Policy, const N: usize>(
    threads: &Threads<P, N>,
) -> Result<Infallible, Status> {
    threads.run_nested(|| call(first::RECEIVE, Operation::Receive, [WAIT]).map(|_| ()))
}
