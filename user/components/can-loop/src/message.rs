//! The frames of the loop: number and one value, in network order
//!
//! The demand has the smaller identifier: it wins the bus.

use bulkhead_abi::can::Frame;
use bulkhead_component::can::Received;
use bulkhead_drive_model::vehicle::Demand;

const DEMAND: u16 = 0x080;
const SENSORS: u16 = 0x100;
/// Values on the wire are in thousandths of a metre per second, or newtons.
const MILLI: f64 = 1000.0;

/// What the sensors show.
pub(crate) struct Sensors {
    pub(crate) number: u32,
    pub(crate) speed_mps: f64,
}

/// What the controller asks for.
pub(crate) struct Answer {
    /// Of the sensor frame that it answers.
    pub(crate) number: u32,
    pub(crate) force_n: f64,
}

/// The value of an answer.
pub(crate) struct Force(f64);

fn frame(id: u16, number: u32, value: f64) -> Frame {
    let [a, b, c, d] = number.to_be_bytes();
    let [e, f, g, h] = (value as i32).to_be_bytes();
    Frame::new(id, &[a, b, c, d, e, f, g, h])
}

/// Number and value, if it is that frame: identifier and length must be right.
fn read(received: &Received, id: u16) -> Option<(u32, f64)> {
    let frame = &received.frame;
    let fits = frame.id == id.into() && !frame.extended && frame.length == 8;
    let [a, b, c, d, e, f, g, h] = frame.data;
    let value = i32::from_be_bytes([e, f, g, h]);
    fits.then(|| (u32::from_be_bytes([a, b, c, d]), value.into()))
}

impl Sensors {
    pub(crate) fn frame(&self) -> Frame {
        frame(SENSORS, self.number, self.speed_mps * MILLI)
    }

    /// Number and speed, m/s.
    pub(crate) fn read(received: &Received) -> Option<(u32, f64)> {
        read(received, SENSORS).map(|(number, value)| (number, value / MILLI))
    }
}

impl Answer {
    pub(crate) fn frame(&self) -> Frame {
        frame(DEMAND, self.number, self.force_n)
    }

    pub(crate) fn read(received: &Received) -> Option<(u32, Force)> {
        read(received, DEMAND).map(|(number, value)| (number, Force(value)))
    }
}

impl Force {
    pub(crate) fn demand(&self) -> Demand {
        Demand {
            drive_n: self.0.max(0.0),
            brake_n: (-self.0).max(0.0),
        }
    }
}
