//! Reasons not to start

use bulkhead_abi::psci;
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
    /// Firmware starts a core of this affinity first, not core 0.
    WrongCore(u64),
    /// The hardware has another value than the board file.
    Differs {
        what: &'static str,
        found: u64,
        described: u64,
    },
    /// The redistributor at an address is that of another affinity.
    WrongRedistributor { pa: u64, found: u64, described: u64 },
    /// Firmware does not offer PSCI: its answer to PSCI_VERSION.
    NoPsci(i64),
    /// A core was started and does not arrive: index and affinity.
    CoreSilent(usize, u64),
    /// Firmware has entered a core that it had entered before.
    EnteredTwice,
    /// Hardware answered with an exception.
    Exception { esr: u64, far: u64, elr: u64 },
    /// A device does not answer at this register.
    DeviceSilent(u64),
    /// The SMMU with this register is not of the kind that the monitor programs, or lacks a feature.
    WrongKind {
        pa: u64,
        found: u32,
        needed: u32,
        mask: u32,
    },
    /// The SMMU with this register tells apart streams of fewer bits than the board file has.
    StreamBits { pa: u64, found: u32, needed: u32 },
    /// A core does not start: index, affinity and PSCI error.
    CoreFails(usize, u64, i64),
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
                write!(
                    f,
                    "the SMMU's register at {pa:#x} does not follow what is written (smmu.kind, smmu.address)"
                )
            }
            ref of_board => of_board.against_board(f),
        }
    }
}

impl Refusal {
    /// Text where the machine is not the one of the board file.
    fn against_board(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Differs {
                what,
                found,
                described,
            } => write!(
                f,
                "the machine has {found} {what}, the board file says {described}: correct the file"
            ),
            Self::WrongRedistributor {
                pa,
                found,
                described,
            } => write!(
                f,
                "the redistributor at {pa:#x} is that of affinity {found:#x}, the board file says {described:#x}"
            ),
            Self::WrongKind {
                pa,
                found,
                needed,
                mask,
            } => write!(
                f,
                "the register at {pa:#x} holds {found:#x}, the board file's SMMU has {needed:#x} in its bits {mask:#x} \
                 (smmu.kind, smmu.address): correct the file"
            ),
            Self::StreamBits { pa, found, needed } => write!(
                f,
                "the SMMU at {pa:#x} has streams of {found} bits, the board file has some of {needed} (pcie.streams, \
                 device.*.streams): correct the file"
            ),
            Self::NoPsci(answer) => write!(
                f,
                "the firmware answers {answer} to PSCI_VERSION: it offers no PSCI by SMC (firmware.start)"
            ),
            Self::CoreFails(index, mpidr, error) => write!(
                f,
                "core {index} (affinity {mpidr:#x}) does not start: the firmware answers {error}, {}",
                error_text(error)
            ),
            Self::CoreSilent(index, mpidr) => write!(
                f,
                "core {index} (affinity {mpidr:#x}) has not arrived a second after its start: the firmware lost it, \
                 or starts another core"
            ),
            Self::EnteredTwice => f.write_str(
                "entered a second time: the firmware starts a core that runs, perhaps in place of another one",
            ),
            Self::Exception { esr, far, elr } => write!(
                f,
                "the hardware does not allow an access to {far:#x} (syndrome {esr:#x}, at {elr:#x}): is memory \
                 (memory.ranges) or a device of the board file not there, or not left open by firmware?"
            ),
            _ => Ok(()),
        }
    }
}

/// Errors of PSCI in words (Arm DEN0022F, 5.2.2).
fn error_text(error: i64) -> &'static str {
    match error {
        psci::NOT_SUPPORTED => "not supported",
        psci::INVALID_PARAMETERS => "it knows no such core",
        psci::DENIED => "denied",
        psci::ALREADY_ON => "the core is on already",
        psci::ON_PENDING => "the core is being started by something else",
        _ => "an error of its own",
    }
}
