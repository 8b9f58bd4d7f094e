//! Vehicle, controller, driving cycle and messages of the showcase
//!
//! Shared by the partitions, the Linux agent and the tests on the host. SI units
//! throughout, in the names (`speed_mps`, `force_n`); arithmetic in `f64`, no libm function but the
//! square root, so that results are the same on every machine.
//!
//! | module | runs in | what |
//! |---|---|---|
//! | [`vehicle`], [`road`], [`lead`], [`camera`], [`instruments`], [`actuator`] | `plant` | longitudinal dynamics, integrated at 1 kHz, and what is ahead |
//! | [`estimate`], [`network`] | `control` | slope and headway from what is on the bus |
//! | [`pilot`], [`controller`], [`reference`], [`headway`], [`sensor`] | `control` | speed controller and its safeguards |
//! | [`cycle`] | `linux` | NEDC, sent ahead of time as a trajectory |
//! | [`message`] | all | what they tell each other |

#![no_std]
#![forbid(unsafe_code)]

pub mod actuator;
pub mod camera;
pub mod controller;
pub mod cycle;
pub mod estimate;
pub mod headway;
pub mod instruments;
pub mod lead;
pub mod message;
pub mod network;
pub mod noise;
pub mod pilot;
pub mod reference;
pub mod road;
pub mod sensor;
pub mod vehicle;
pub mod wire;

/// Sampling period of plant and controller, seconds.
pub const STEP_S: f64 = 0.001;

/// Converts km/h to m/s.
#[must_use]
pub const fn mps(kmph: f64) -> f64 {
    kmph / 3.6
}

/// Converts m/s to km/h.
#[must_use]
pub const fn kmph(mps: f64) -> f64 {
    mps * 3.6
}

/// `value`, but not below `low` nor above `high`; `low` where it is no number. Unlike `f64::clamp` it
/// has no way to panic.
#[must_use]
pub(crate) const fn limited(value: f64, low: f64, high: f64) -> f64 {
    value.max(low).min(high)
}
