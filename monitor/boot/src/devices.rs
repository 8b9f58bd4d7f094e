//! Devices between partitions: set up once before any guest runs, and owned by no partition
//!
//! The plan has the registers and their values.
#![expect(unsafe_code, reason = "registers of devices")]

use crate::refusal::Refusal;
use bulkhead_abi::config::{Setting, setting};
use bulkhead_arch::barrier;
use core::ptr::with_exposed_provenance_mut;

/// Reads of a register until a device is given up.
const POLLS: u32 = 1_000_000;

/// Does all of it, in order.
pub(crate) fn set(settings: &[Setting]) -> Result<(), Refusal> {
    let mut left_out = false;
    for setting in settings {
        if core::mem::take(&mut left_out) {
            continue;
        }
        match setting.action {
            setting::WRITE => {
                // SAFETY: the configuration names a register, and no guest runs yet.
                unsafe { register(setting).write_volatile(setting.value) };
                barrier::dsb_sy();
            }
            setting::AWAIT if !(0..POLLS).any(|_| holds(setting)) => {
                return Err(Refusal::DeviceSilent(setting.pa));
            }
            setting::KIND if !holds(setting) => {
                return Err(Refusal::WrongKind {
                    pa: setting.pa,
                    found: read(setting),
                    needed: setting.value,
                    mask: setting.mask,
                });
            }
            setting::STREAM_BITS if read(setting) & setting.mask < setting.value => {
                return Err(Refusal::StreamBits {
                    pa: setting.pa,
                    found: read(setting) & setting.mask,
                    needed: setting.value,
                });
            }
            setting::ONLY_IF => left_out = !holds(setting),
            _ => {}
        }
    }
    Ok(())
}

fn register(setting: &Setting) -> *mut u32 {
    with_exposed_provenance_mut(setting.pa as usize & !3)
}

fn read(setting: &Setting) -> u32 {
    // SAFETY: the configuration names a register, and no guest runs yet.
    unsafe { register(setting).read_volatile() }
}

fn holds(setting: &Setting) -> bool {
    (read(setting) ^ setting.value) & setting.mask == 0
}
