//! Devices that stand between partitions: set up once, before any guest runs, and owned by nobody
//!
//! What is written where is decided by the plan, as all addresses are.
#![expect(unsafe_code, reason = "registers of devices")]

use crate::refusal::Refusal;
use bulkhead_abi::config::Setting;
use bulkhead_arch::barrier;
use core::ptr::with_exposed_provenance_mut;

/// Reads of a register until a device is given up.
const POLLS: u32 = 1_000_000;

/// Does all of it, in order.
pub(crate) fn set(settings: &[Setting]) -> Result<(), Refusal> {
    for setting in settings {
        let register = with_exposed_provenance_mut::<u32>(setting.pa as usize & !3);
        if setting.mask == 0 {
            // SAFETY: the configuration names a register, and no guest runs yet.
            unsafe { register.write_volatile(setting.value) };
            barrier::dsb_sy();
            continue;
        }
        // SAFETY: as above.
        let read = || unsafe { register.read_volatile() };
        let holds = |_: &u32| (read() ^ setting.value) & setting.mask == 0;
        if (0..POLLS).find(holds).is_none() {
            return Err(Refusal::DeviceSilent(setting.pa));
        }
    }
    Ok(())
}
