//! Frames between vehicle and controller on CAN: two values each, in network order
//!
//! The demand has the smallest identifier: it wins the bus. Speed and demand are numbered, and a demand repeats the number
//! of the speed that it answers, so that the vehicle knows the round trip and both know what was lost.

use crate::camera::Image;
use crate::vehicle::Demand;
use bulkhead_abi::can::Frame;

const DEMAND: u16 = 0x080;
const SPEED: u16 = 0x100;
const MOTION: u16 = 0x110;
const FORCES: u16 = 0x111;
const CAMERA: u16 = 0x112;
const TRUTH: u16 = 0x7F0;

const MILLI: f64 = 1e3;
const MICRO: f64 = 1e6;

/// Content of a frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Wire {
    /// Speed, m/s, to a millionth.
    Speed {
        /// Its number.
        number: u32,
        /// The speed.
        speed_mps: f64,
    },
    /// Demand of the controller: driving less braking force, N, to a thousandth.
    Demand {
        /// Number of the speed that it answers.
        number: u32,
        /// The force.
        force_n: f64,
    },
    /// Distance, m, to a thousandth, and acceleration, m/s², to a millionth.
    Motion {
        /// Modulo 4294 km.
        distance_m: f64,
        /// Of the vehicle.
        acceleration_mps2: f64,
    },
    /// Forces at the wheels, N, to a thousandth.
    Forces {
        /// Driving.
        drive_n: f64,
        /// Braking.
        brake_n: f64,
    },
    /// Image of the camera, pixels, to a thousandth.
    Camera(Image),
    /// True values, known to the simulated vehicle alone and used by the report: grade of the road, rise over run, to a millionth, and distance to
    /// the vehicle ahead, m, to a thousandth, 0 where there is none.
    Truth {
        /// The grade.
        grade: f64,
        /// The distance.
        headway_m: f64,
    },
}

fn fixed(value: f64, unit: f64) -> u32 {
    ((value * unit) as i32).cast_unsigned()
}

fn value(fixed: u32, unit: f64) -> f64 {
    f64::from(fixed.cast_signed()) / unit
}

impl Wire {
    /// As a frame.
    #[must_use]
    pub fn frame(&self) -> Frame {
        let (id, words) = match *self {
            Self::Speed { number, speed_mps } => (SPEED, [number, fixed(speed_mps, MICRO)]),
            Self::Demand { number, force_n } => (DEMAND, [number, fixed(force_n, MILLI)]),
            Self::Motion {
                distance_m,
                acceleration_mps2,
            } => {
                let millimetres = (distance_m * MILLI) as u64 as u32;
                (MOTION, [millimetres, fixed(acceleration_mps2, MICRO)])
            }
            Self::Forces { drive_n, brake_n } => {
                (FORCES, [fixed(drive_n, MILLI), fixed(brake_n, MILLI)])
            }
            Self::Camera(Image { width_px, edge_px }) => {
                (CAMERA, [fixed(width_px, MILLI), fixed(edge_px, MILLI)])
            }
            Self::Truth { grade, headway_m } => {
                (TRUTH, [fixed(grade, MICRO), fixed(headway_m, MILLI)])
            }
        };
        let [[a, b, c, d], [e, f, g, h]] = words.map(u32::to_be_bytes);
        Frame::new(id, &[a, b, c, d, e, f, g, h])
    }

    /// Decodes a frame of these kinds; identifier and length must be right.
    #[must_use]
    pub fn of(frame: &Frame) -> Option<Self> {
        if frame.extended || frame.length != 8 {
            return None;
        }
        let [a, b, c, d, e, f, g, h] = frame.data;
        let [first, second] = [[a, b, c, d], [e, f, g, h]].map(u32::from_be_bytes);
        Some(match u16::try_from(frame.id).ok()? {
            SPEED => Self::Speed {
                number: first,
                speed_mps: value(second, MICRO),
            },
            DEMAND => Self::Demand {
                number: first,
                force_n: value(second, MILLI),
            },
            MOTION => Self::Motion {
                distance_m: f64::from(first) / MILLI,
                acceleration_mps2: value(second, MICRO),
            },
            FORCES => Self::Forces {
                drive_n: value(first, MILLI),
                brake_n: value(second, MILLI),
            },
            CAMERA => Self::Camera(Image {
                width_px: value(first, MILLI),
                edge_px: value(second, MILLI),
            }),
            TRUTH => Self::Truth {
                grade: value(first, MICRO),
                headway_m: value(second, MILLI),
            },
            _ => return None,
        })
    }
}

/// The demand of a force: what is below nothing brakes.
#[must_use]
pub fn demand(force_n: f64) -> Demand {
    Demand {
        drive_n: force_n.max(0.0),
        brake_n: (-force_n).max(0.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_survive_the_wire() {
        for wire in [
            Wire::Speed {
                number: u32::MAX,
                speed_mps: 33.25,
            },
            Wire::Demand {
                number: 7,
                force_n: -4200.5,
            },
            Wire::Motion {
                distance_m: 1234.5,
                acceleration_mps2: -9.75,
            },
            Wire::Forces {
                drive_n: 3000.0,
                brake_n: 0.5,
            },
            Wire::Camera(Image {
                width_px: 72.25,
                edge_px: 51.5,
            }),
            Wire::Truth {
                grade: -0.0625,
                headway_m: 31.5,
            },
        ] {
            assert_eq!(Wire::of(&wire.frame()), Some(wire));
        }
    }

    #[test]
    fn what_no_number_can_be_is_cut_and_other_frames_are_none() {
        for (wild, cut) in [(f64::NAN, 0.0), (1e300, f64::from(i32::MAX) / MICRO)] {
            let speed = |speed_mps| Wire::Speed {
                number: 1,
                speed_mps,
            };
            assert_eq!(Wire::of(&speed(wild).frame()), Some(speed(cut)));
        }
        let frame = Wire::Camera(Image::default()).frame();
        for other in [
            Frame { length: 7, ..frame },
            Frame {
                extended: true,
                ..frame
            },
            Frame { id: 0x113, ..frame },
        ] {
            assert_eq!(Wire::of(&other), None);
        }
    }

    #[test]
    fn a_force_drives_or_brakes() {
        let [drive, brake] = [5.0, -5.0].map(demand);
        assert_eq!((drive.drive_n, drive.brake_n), (5.0, 0.0));
        assert_eq!((brake.drive_n, brake.brake_n), (0.0, 5.0));
    }
}
