//! Reasons not to start

use core::fmt;

/// Why the machine is not started.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Refusal {
    /// Loaded at the first address, built for the second.
    WrongAddress(u64, u64),
    /// The packer's header is missing.
    NoHeader,
    /// Started at this exception level.
    WrongLevel(u64),
    /// No configuration where the header says.
    NoConfiguration(u64),
    /// The configuration's layout has this version.
    WrongVersion(u32),
    /// Something of the configuration lies outside of it.
    Malformed(&'static str),
    /// Configuration or tables do not have their digest.
    Damaged,
    /// Image of that number does not have its checksum.
    DamagedImage(usize),
    /// The core lacks something.
    CoreLacks(&'static str),
    /// The interrupt controller lacks something.
    InterruptControllerLacks(&'static str),
    /// Not the core of that index starts first: its affinity.
    WrongCore(u64),
    /// A device does not answer at this register.
    DeviceSilent(u64),
    /// A core does not start: index and PSCI error.
    CoreFails(usize, i64),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::WrongAddress(is, should) => {
                write!(f, "loaded at {is:#x}, but built for {should:#x}: set the load address")
            }
            Self::NoHeader => f.write_str("the boot header is missing: pack the image again"),
            Self::WrongLevel(level) => write!(
                f,
                "started at EL{level}, not EL2: the machine must offer virtualization and start in it"
            ),
            Self::NoConfiguration(pa) => {
                write!(f, "no configuration at {pa:#x}: the image is damaged, load it again")
            }
            Self::WrongVersion(version) => write!(
                f,
                "the configuration has version {version}, this monitor needs {}: build both together",
                bulkhead_abi::VERSION
            ),
            Self::Malformed(what) => write!(f, "the configuration's {what} are malformed"),
            Self::Damaged => f.write_str(
                "configuration or translation tables do not match their digest: the image is damaged, load it again",
            ),
            Self::DamagedImage(index) => write!(
                f,
                "guest image {index} does not match its checksum: the image is damaged, load it again"
            ),
            Self::CoreLacks(what) => write!(f, "the core lacks {what}"),
            Self::InterruptControllerLacks(what) => {
                write!(f, "the interrupt controller lacks {what}")
            }
            Self::WrongCore(mpidr) => {
                write!(f, "started on the core of affinity {mpidr:#x}, which is not core 0")
            }
            Self::DeviceSilent(pa) => {
                write!(f, "the device at {pa:#x} does not do as it is told: is it there?")
            }
            Self::CoreFails(index, error) => {
                write!(f, "core {index} does not start (PSCI error {error}): is it there?")
            }
        }
    }
}
