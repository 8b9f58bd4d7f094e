//! An interrupt that leads to no decision: a PL011 has sent a byte, and no thread waits for it
//!
//! The line is raised when the transmitter has sent, and stays raised until it is cleared at the device (Arm DDI 0183, 2.8). The
//! kernel acknowledges and counts it, and returns to the interrupted thread, which measures.

use bulkhead_abi::kernel::{Operation, Rights, Status, first};
use bulkhead_component::call::call;
use bulkhead_component::figure::{Counter, Figure};
use bulkhead_component::{First, clock};

/// Index of the thread that never waits.
const RECEIVER: u64 = 24;
/// Registers of the PL011 (Arm DDI 0183, 3.2).
const DATA: usize = 0x00;
const CONTROL: usize = 0x30;
const MASK: usize = 0x38;
const CLEAR: usize = 0x44;
/// UARTEN and TXE.
const ENABLED: u32 = 1 | 1 << 8;
/// TXIM and TXIC.
const TRANSMIT: u32 = 1 << 5;
/// Reads of the counter after a byte: the interrupt comes within them.
const READS: usize = 16;

/// The mapped device.
#[derive(Clone, Copy)]
struct Device(usize);

impl Device {
    fn write(self, register: usize, value: u32) {
        let address: *mut u32 = core::ptr::with_exposed_provenance_mut(self.0 + register);
        // SAFETY: a register of the device, mapped for good.
        unsafe { address.write_volatile(value) };
    }

    /// Sends a byte. Returns the instructions until the last read.
    fn send(self, counter: Counter) -> u64 {
        let start = clock::cycles();
        self.write(DATA, u32::from(b'!'));
        for _ in 0..READS {
            core::hint::black_box(clock::cycles());
        }
        counter.since(start)
    }
}

/// Measures the interrupt `intid` of the PL011 at `address`.
pub(crate) fn measure(
    first: &mut First,
    counter: Counter,
    rounds: u64,
    [address, intid]: [u64; 2],
) -> Result<(), Status> {
    let page = address / bulkhead_abi::PAGE_SIZE;
    let device = Device(first.map(first::DEVICES, page, 1, Rights::Write)? as usize);
    let receiver = first.thread(never, RECEIVER, first::TIME)?;
    let [receive, sender] = [first.slot(), first.slot()];
    call(receiver, Operation::Receiver, [receive])?;
    call(receiver, Operation::Sender, [sender])?;
    call(first::INTERRUPT, Operation::Listen, [intid, sender])?;
    device.write(CONTROL, ENABLED);
    let mut quiet = u64::MAX;
    for _ in 0..READS {
        quiet = quiet.min(device.send(counter));
    }
    let mut figure = Figure::new();
    for _ in 0..rounds {
        device.write(CLEAR, TRANSMIT);
        device.write(MASK, TRANSMIT);
        let sent = device.send(counter);
        device.write(MASK, 0);
        device.write(CLEAR, TRANSMIT);
        // Nothing to complete if the interrupt did not come.
        call(first::INTERRUPT, Operation::Complete, [intid])?;
        figure.add(sent.saturating_sub(quiet));
    }
    figure.print("interrupt-counted");
    Ok(())
}

extern "C" fn never(_: u64) -> ! {
    loop {
        clock::wait_for_interrupt();
    }
}
