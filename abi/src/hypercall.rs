//! Calls from a guest to its monitor
//!
//! SMC Calling Convention (Arm DEN0028), fast SMC64 calls of the vendor-specific hypervisor
//! service; `hvc #0` with the function in `x0`, arguments in `x1…`, result in `x0`.
//! Unknown functions outside [`BASE`]`..=`[`LAST`] answer [`NOT_SUPPORTED`]; an undefined one inside,
//! or a non-zero immediate, is a fault of the guest ([`crate::status::Cause::Undefined`]).

/// First function of Bulkhead's range.
pub const BASE: u64 = 0xC600_0000;
/// Last function of Bulkhead's range.
pub const LAST: u64 = 0xC600_00FF;

/// `() -> VERSION` of this interface.
pub const VERSION: u64 = BASE;
/// `() -> 0`: the partition is up. Ends the boot phase of its counters, raises its link.
pub const UP: u64 = BASE + 1;
/// `(index) -> 0`: rings the partition's outgoing doorbell `index`, within its rate limit;
/// rings beyond the limit are dropped and counted.
pub const DOORBELL: u64 = BASE + 2;
/// `(key) -> 0, x1 = ipa, x2 = bytes`: maps the on-demand channel `key` once this end asked.
pub const ATTACH: u64 = BASE + 3;
/// `(key) -> 0`: unmaps it.
pub const DETACH: u64 = BASE + 4;
/// `(code)`: the guest has failed and asks for its policy; does not return.
pub const FAIL: u64 = BASE + 5;
/// `(entry ipa, argument)`: starts another image, already placed in the partition's own memory,
/// with reset processor and interrupt state, on the partition's first core, once all cores have left the old
/// image; a reset at the same time wins. Does not return, but answers [`INVALID`] if the entry lies outside of
/// the memory.
pub const EXEC: u64 = BASE + 6;
/// `(partition, `[`Control`]`) -> 0`: for privileged partitions.
pub const CONTROL: u64 = BASE + 7;

/// Request of a privileged partition concerning another.
#[repr(u64)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// Restart from the pristine image.
    Restart = 0,
    /// Stop and stay stopped until [`Control::Restart`].
    Halt = 1,
}

/// Success.
pub const OK: i64 = 0;
/// The function does not exist (SMCCC).
pub const NOT_SUPPORTED: i64 = -1;
/// An argument names nothing of the caller's.
pub const INVALID: i64 = -2;
/// The caller has no right to it.
pub const DENIED: i64 = -3;
