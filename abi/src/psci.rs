//! Power State Coordination Interface
//!
//! Arm DEN0022; the functions a partition may use on its own cores, and their answers.

/// `() -> major << 16 | minor`.
pub const VERSION: u64 = 0x8400_0000;
/// `() -> never`: the calling core goes off.
pub const CPU_OFF: u64 = 0x8400_0002;
/// `(target, entry, context) -> status`, SMC64.
pub const CPU_ON: u64 = 0xC400_0003;
/// `(target, entry, context) -> status`, SMC32.
pub const CPU_ON_32: u64 = 0x8400_0003;
/// `(target, level) -> 0 on, 1 off, 2 pending`, SMC64.
pub const AFFINITY_INFO: u64 = 0xC400_0004;
/// `(target, level)`, SMC32.
pub const AFFINITY_INFO_32: u64 = 0x8400_0004;
/// `() -> 2`: no trusted OS, migration not required.
pub const MIGRATE_INFO_TYPE: u64 = 0x8400_0006;
/// `() -> never`: stops the partition.
pub const SYSTEM_OFF: u64 = 0x8400_0008;
/// `() -> never`: restarts the partition.
pub const SYSTEM_RESET: u64 = 0x8400_0009;
/// `(function) -> 0 or `[`NOT_SUPPORTED`].
pub const FEATURES: u64 = 0x8400_000A;
/// `() -> major << 16 | minor` of the calling convention.
pub const SMCCC_VERSION: u64 = 0x8000_0000;

/// PSCI 1.1.
pub const VERSION_1_1: u64 = 0x0001_0001;
/// SMCCC 1.1.
pub const SMCCC_1_1: u64 = 0x0001_0001;

/// Success.
pub const SUCCESS: i64 = 0;
/// The function does not exist.
pub const NOT_SUPPORTED: i64 = -1;
/// A parameter names no core of the partition, or no address of it.
pub const INVALID_PARAMETERS: i64 = -2;
/// The request is refused.
pub const DENIED: i64 = -3;
/// The core is on.
pub const ALREADY_ON: i64 = -4;
/// The core is being turned on.
pub const ON_PENDING: i64 = -5;
/// The partition is being stopped.
pub const INTERNAL_FAILURE: i64 = -6;
