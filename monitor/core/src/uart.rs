//! A PL011 for guests that know no other console
//!
//! Polled: the data register feeds the console's recorder and is fed by its ring of input bytes
//! (layouts: `doc/interfaces/channel.md`). The transmitter is always ready, no interrupt is ever raised, all
//! other registers read 0 (Arm DDI 0183, chapter 3).

use crate::device::Request;
use crate::idle::Monitor;
use crate::machine::Machine;

const DATA: u64 = 0x00;
const FLAGS: u64 = 0x18;
const IDENTIFICATION: u64 = 0xFE0;
/// PeriphID0 to PCellID3, a byte in each of eight registers.
static IDENTITY: [u8; 8] = [0x11, 0x10, 0x14, 0x00, 0x0D, 0xF0, 0x05, 0xB1];
const TRANSMIT_EMPTY: u64 = 1 << 7;
const RECEIVE_EMPTY: u64 = 1 << 4;

/// Recorder: the committed position, and the first byte.
const COMMITTED: u64 = 8;
const RECORDER_DATA: u64 = 64;
/// Ring: the consumer's cursor, and the first slot.
const HEAD: u64 = 64;
const RING_DATA: u64 = 128;

impl<M: Machine> Monitor<M> {
    pub(crate) fn uart(self, request: Request) -> u64 {
        match (request.offset, request.value) {
            (DATA, Some(byte)) => self.transmit(byte),
            (DATA, None) => return self.receive(true).unwrap_or(0),
            (FLAGS, None) if self.receive(false).is_none() => {
                return TRANSMIT_EMPTY | RECEIVE_EMPTY;
            }
            (FLAGS, None) => return TRANSMIT_EMPTY,
            (IDENTIFICATION..0x1000, None) => {
                let [register, ..] = request.offset.to_le_bytes();
                let place = usize::from(register >> 2 & 7);
                return IDENTITY.get(place).map_or(0, |&byte| byte.into());
            }
            _ => {}
        }
        0
    }

    fn transmit(self, byte: u64) {
        let [pa, size] = self.core.partition.config.console_out;
        let position = self.machine.read64(pa.wrapping_add(COMMITTED));
        let next = position.wrapping_add(1);
        let Some(place) = position.checked_rem(size.wrapping_sub(RECORDER_DATA)) else {
            return;
        };
        let [byte, ..] = byte.to_le_bytes();
        self.machine.write64(pa, next);
        self.machine.order();
        self.machine
            .write8(pa.wrapping_add(RECORDER_DATA).wrapping_add(place), byte);
        self.machine.order();
        self.machine.write64(pa.wrapping_add(COMMITTED), next);
    }

    /// The next input byte, which stays unless it is to be taken.
    #[inline(never)]
    fn receive(self, take: bool) -> Option<u64> {
        let [pa, size] = self.core.partition.config.console_in;
        let head = self.machine.read64(pa.wrapping_add(HEAD));
        if head == self.machine.read64(pa) {
            return None;
        }
        self.machine.order();
        let place = head.checked_rem(size.wrapping_sub(RING_DATA) >> 3)?;
        let slot = pa.wrapping_add(RING_DATA).wrapping_add(place << 3);
        let byte = self.machine.read64(slot) & 0xFF;
        if take {
            self.machine.order();
            self.machine
                .write64(pa.wrapping_add(HEAD), head.wrapping_add(1));
        }
        Some(byte)
    }
}
