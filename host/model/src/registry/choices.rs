//! Words of the keys that choose one of several values
//!
//! Each list stands here once: the registry shows the words, the draft reads the values. A value without
//! a word does not compile.

use crate::kinds::{Clock, Criticality, Kind, KindDraft, Trapping};
use crate::timing::Order;
use bulkhead_abi::component::{OnFault, Role};
use bulkhead_abi::guest::ChannelKind;
use bulkhead_abi::pipe::OnOverrun;
use bulkhead_abi::status::Action;
use bulkhead_tpipe::language::Buffering;
use bulkhead_tpipe::repository::Policy;

/// Words and their values, in the same order.
pub(crate) struct Choice<T: 'static> {
    pub(crate) words: &'static [&'static str],
    pub(crate) values: &'static [T],
}

/// Declares a [`Choice`]; the match fails to compile if a value of the type is missing.
macro_rules! choice {
    ($name:ident: $type:ty { $($word:literal => $value:tt,)* }) => {
        pub(crate) const $name: Choice<$type> = Choice {
            words: &[$($word),*],
            values: &[$(choice!(@ $value)),*],
        };
        const _: fn($type) = |value| match value {
            $(choice!(@ $value) => (),)*
        };
    };
    (@ [$($value:tt)+]) => { $($value)+ };
}

choice!(CLOCKS: Clock { "virtual" => [Clock::Virtual], "real" => [Clock::Real], });
choice!(KINDS: Kind { "rtos" => [Kind::Rtos], "linux" => [Kind::Linux], "image" => [Kind::Image], });
choice!(TRAPPING: Trapping { "direct" => [Trapping::Direct], "trap" => [Trapping::Trap], });
choice!(CRITICALITIES: Criticality {
    "A" => [Criticality::A],
    "B" => [Criticality::B],
    "C" => [Criticality::C],
    "D" => [Criticality::D],
    "QM" => [Criticality::Qm],
});
choice!(ACTIONS: Action {
    "inject" => [Action::Inject],
    "restart" => [Action::Restart],
    "alternate" => [Action::Alternate],
    "failover" => [Action::Failover],
    "halt" => [Action::Halt],
});
choice!(DMA: bool { "confined" => [false], "unconfined" => [true], });
choice!(ACCESS: bool { "read-write" => [false], "read-only" => [true], });
choice!(VCPU_KINDS: KindDraft {
    "main" => [KindDraft::Main],
    "io" => [KindDraft::Io],
    "reservation" => [KindDraft::Reservation],
});
choice!(ORDERS: Order {
    "rate-monotonic" => [Order::RateMonotonic],
    "earliest-deadline" => [Order::EarliestDeadline],
    "fixed-priority" => [Order::FixedPriority],
});
choice!(CHANNEL_KINDS: ChannelKind {
    "four-slot" => [ChannelKind::FourSlot],
    "ring" => [ChannelKind::Ring],
    "mailbox" => [ChannelKind::Mailbox],
    "recorder" => [ChannelKind::Recorder],
    "memory" => [ChannelKind::Memory],
});
choice!(ROLES: Role {
    "application" => [Role::Application],
    "driver" => [Role::Driver],
    "scheduler" => [Role::Scheduler],
    "boot" => [Role::Boot],
});
choice!(ON_FAULT: OnFault {
    "fail" => [OnFault::Fail],
    "stop" => [OnFault::Stop],
    "restart" => [OnFault::Restart],
});
choice!(ON_OVERRUN: OnOverrun {
    "skip" => [OnOverrun::Skip],
    "stop" => [OnOverrun::Stop],
    "report" => [OnOverrun::Report],
});
choice!(BUFFERINGS: Option<Buffering> {
    "any" => [None],
    "four-slot" => [Some(Buffering::FourSlot)],
    "fifo" => [Some(Buffering::Fifo)],
});
choice!(POLICIES: Policy {
    "rate-monotonic" => [Policy::RateMonotonic],
    "edf" => [Policy::Edf],
    "deadline" => [Policy::Deadline],
});
