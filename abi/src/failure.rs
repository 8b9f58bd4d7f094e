//! Codes with which an image tells the monitor that it has failed
//!
//! Their bytes are ASCII, except in the range of a kernel's refusal. An application may use any other code.

use crate::kernel::Status;

/// `x0` named no guest information page of this version.
pub const NO_GUEST_INFO: u64 = 0x4e4f_494e;
/// There is no archive of components behind the kernel.
pub const NO_COMPONENT: u64 = 0x4e4f_434f;
/// The memory does not suffice for the kernel and the first component.
pub const NO_MEMORY: u64 = 0x4e4f_4d45;
/// The processor has no 16-bit ASIDs.
pub const NO_IDENTITIES: u64 = 0x4e4f_4944;
/// The processor's cache lines are too short.
pub const NO_LINES: u64 = 0x4e4f_4c49;
/// The application ended.
pub const APPLICATION_ENDED: u64 = 0x454e_4445;
/// A Rust panic.
pub const PANIC: u64 = 0x5041_4e49;
/// The boot component found a flaw in the archive.
pub const ARCHIVE: u64 = 0x4152_4348;
/// A core has components and no scheduler.
pub const NO_SCHEDULER: u64 = 0x5343_4845;
/// The kernel refused what the boot component needs: its [`Status`] is added.
pub const REFUSED: u64 = 0x4b45_0000;

/// Returns the reason behind a code, in words; `None` for a code of the application.
#[must_use]
pub fn reason(code: u64) -> Option<&'static str> {
    let status = Status::of(code.wrapping_sub(REFUSED));
    Some(match code {
        NO_GUEST_INFO => "it found no guest information page of this version",
        NO_COMPONENT => "the kernel found no archive of components",
        NO_MEMORY => {
            "the partition's `memory` does not suffice for the kernel and the first component"
        }
        NO_IDENTITIES => "the processor has no 16-bit ASIDs",
        NO_LINES => "the processor's cache lines are too short",
        APPLICATION_ENDED => "its application ended",
        PANIC => "a Rust panic",
        ARCHIVE => "the boot component found a flaw in the archive of components",
        NO_SCHEDULER => "the boot component found no scheduler for a core",
        _ => match status? {
            Status::NoMemory => {
                "the partition's `memory` is used up before all components are built"
            }
            Status::Exhausted => "a core has no place for a further scheduler",
            Status::Occupied => {
                "the kernel refused a component: its place or address space is taken"
            }
            _ => "the kernel refused what the boot component needs; the console names the refusal",
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_of_the_start_have_reasons_and_others_have_none() {
        let memory = reason(REFUSED | Status::NoMemory as u64);
        assert!(memory.is_some_and(|text| text.contains("`memory` is used up")));
        assert!(reason(NO_MEMORY).is_some());
        assert!(reason(REFUSED | Status::BadArgument as u64).is_some());
        for code in [0, Status::NoMemory as u64, REFUSED - 1, REFUSED + 1000] {
            assert_eq!(reason(code), None, "{code:#x}");
        }
    }
}
