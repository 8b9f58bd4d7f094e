//! Carriers of frames

use bulkhead_virtio_net::FRAME;

/// Source and sink of frames.
pub trait Wire {
    /// Its hardware address.
    fn address(&self) -> [u8; 6];
    /// Takes the oldest received frame. Returns its length.
    fn receive(&mut self, into: &mut [u8; FRAME]) -> Option<usize>;
    /// Sends a frame of at most [`FRAME`] bytes. A frame that cannot be sent is dropped.
    fn send(&mut self, frame: &[u8]);
}
