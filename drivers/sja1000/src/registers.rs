//! Registers of PeliCAN mode (SJA1000 data sheet, 6.4) that the driver uses

/// Mode.
pub const MODE: u8 = 0;
/// Commands; reads as zero.
pub const COMMAND: u8 = 1;
/// Status.
pub const STATUS: u8 = 2;
/// Interrupts that came; reading clears all but that of the receive buffer.
pub const INTERRUPT: u8 = 3;
/// Interrupts that are let through.
pub const INTERRUPT_ENABLE: u8 = 4;
/// Bus timing.
pub const BUS_TIMING: [u8; 2] = [6, 7];
/// Output control.
pub const OUTPUT_CONTROL: u8 = 8;
/// Error counters, of reception and of transmission; written in reset mode only.
pub const ERRORS: [u8; 2] = [14, 15];
/// Acceptance code and mask, four bytes each, in reset mode; the frame buffers otherwise.
pub const ACCEPTANCE: u8 = 16;
/// First byte of a frame: what it is and how long.
pub const FRAME: u8 = 16;
/// Clock divider: PeliCAN mode, no clock output.
pub const CLOCK_DIVIDER: u8 = 31;

/// [`MODE`]: nothing is sent or received.
pub const RESET_MODE: u8 = 1 << 0;
/// [`MODE`]: takes part in the bus, with two filters.
pub const OPERATION: u8 = 0;

/// [`COMMAND`]: sends what is in the transmit buffer.
pub const TRANSMIT: u8 = 1 << 0;
/// [`COMMAND`]: the frame at the receive buffer has been read.
pub const RELEASE: u8 = 1 << 2;
/// [`COMMAND`]: the overrun has been noticed.
pub const CLEAR_OVERRUN: u8 = 1 << 3;

/// [`STATUS`]: a frame is in the receive buffer.
pub const RECEIVED: u8 = 1 << 0;
/// [`STATUS`]: frames were lost because the receive buffer was full.
pub const OVERRUN: u8 = 1 << 1;
/// [`STATUS`]: the transmit buffer may be written.
pub const TRANSMITTER_FREE: u8 = 1 << 2;
/// [`STATUS`]: the controller takes no part in the bus any more.
pub const BUS_OFF: u8 = 1 << 7;

/// [`INTERRUPT`]: reception, warning, overrun, error passive. Completed transmission is left out, because
/// the sender waits for the duration of the frame.
pub const INTERRUPTS: u8 = 1 << 0 | 1 << 2 | 1 << 3 | 1 << 5;

/// First byte of a frame: identifier of 29 bits.
pub const EXTENDED: u8 = 1 << 7;
/// First byte of a frame: asks for data and has none.
pub const REMOTE: u8 = 1 << 6;
/// First byte of a frame: its length.
pub const LENGTH: u8 = 0xf;
