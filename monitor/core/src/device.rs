//! Devices that are emulated: the interrupt controller, and a UART where asked for

use crate::idle::Monitor;
use crate::machine::Machine;
use crate::syndrome::Access;
use bulkhead_abi::config::flags;
use bulkhead_abi::status::Trap;
use bulkhead_formats::gicv3::{FRAME_SIZE, REDISTRIBUTOR_STRIDE};

/// An access to a register of an emulated device.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    /// Bytes from the start of the device.
    pub(crate) offset: u64,
    /// Bytes of the access.
    pub(crate) bytes: u64,
    /// The register that is written, of which `bytes` count; `None` to read.
    pub(crate) value: Option<u64>,
}

impl<M: Machine> Monitor<M> {
    /// Does the access that faulted, if it is one to an emulated device; whether it was.
    pub(crate) fn emulate(self, esr: u64) -> bool {
        let frame = &self.core.frame;
        let address = frame.ipa();
        let Some(access) = Access::decode(esr, address, self.big_endian()) else {
            return false;
        };
        let value = access
            .is_write()
            .then(|| access.stored(frame.x(access.register())));
        let request = |offset| Request {
            offset,
            bytes: access.bytes(),
            value,
        };
        let config = self.core.partition.config;
        let distributor = address.wrapping_sub(config.gicd_ipa);
        let redistributor = address.wrapping_sub(config.gicr_ipa);
        let uart = address.wrapping_sub(config.uart_ipa);
        let rank = usize::try_from(redistributor / REDISTRIBUTOR_STRIDE).unwrap_or(usize::MAX);
        let (trap, result) = if distributor < FRAME_SIZE {
            (Trap::Distributor, self.distributor(request(distributor)))
        } else if let Some(core) = self.core.partition.cores.get(rank) {
            let offset = redistributor % REDISTRIBUTOR_STRIDE;
            (
                Trap::Redistributor,
                self.redistributor(core, request(offset)),
            )
        } else if config.flags & flags::EMULATED_UART != 0 && uart < bulkhead_abi::PAGE_SIZE {
            (Trap::Uart, self.uart(request(uart)))
        } else {
            return false;
        };
        if !access.is_write() {
            frame.set_x(access.register(), access.loaded(result));
        }
        self.core.count(trap);
        self.skip();
        true
    }

    /// 1 if the guest's data is big-endian: `SCTLR_EL1.EE` for EL1, `E0E` for EL0.
    fn big_endian(self) -> u64 {
        const AT_EL0: u64 = 24;
        let level = self.core.frame.spsr() >> 2 & 1;
        self.machine.sctlr() >> (AT_EL0 | level) & 1
    }
}
