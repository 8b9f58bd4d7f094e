//! The set-point that the controller follows
//!
//! The trajectory from Linux, made bearable: its changes are limited to what ISO 15622 allows an
//! automatic speed control (2.0 m/s² up, 3.5 m/s² down), and when no trajectory reaches the present
//! any more, the last speed is held for a while and then given up gently. A flood or nonsense on the
//! channel is thus no more than a change of mind.

use crate::limited;
use crate::message::Trajectory;

/// Largest increase, m/s².
pub const MAX_ACCELERATION_MPS2: f64 = 2.0;
/// Largest decrease, m/s².
pub const MAX_DECELERATION_MPS2: f64 = 3.5;
/// Decrease without commands, m/s².
pub const GENTLE_MPS2: f64 = 1.0;
/// Time after a trajectory's last point for which its speed is held, s.
pub const HOLD_S: f64 = 5.0;
/// Furthest point in the future that is believed, s.
pub const MAX_HORIZON_S: f64 = 60.0;

/// Desired state.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Setpoint {
    /// Speed, m/s.
    pub speed_mps: f64,
    /// Its slope, m/s².
    pub acceleration_mps2: f64,
}

/// Follows trajectories.
#[derive(Clone, Copy, Debug)]
pub struct Reference {
    trajectory: Trajectory,
    since_ticks: u64,
    setpoint: Setpoint,
    frequency_hz: f64,
}

impl Reference {
    /// Starts at `now_ticks` with the speed the vehicle has, so that a controller that was restarted
    /// on the road goes on from there; `frequency_hz` is the counter's.
    #[must_use]
    pub fn starting_at(speed_mps: f64, now_ticks: u64, frequency_hz: u64) -> Self {
        let setpoint = Setpoint {
            speed_mps: speed_mps.max(0.0),
            acceleration_mps2: 0.0,
        };
        Self {
            trajectory: Trajectory::set_point(now_ticks, setpoint.speed_mps),
            since_ticks: now_ticks,
            setpoint,
            frequency_hz: frequency_hz.max(1) as f64,
        }
    }

    /// The newest set-point.
    #[must_use]
    pub const fn setpoint(&self) -> Setpoint {
        self.setpoint
    }

    /// Takes over `trajectory` if it makes sense at `now_ticks`, and says whether.
    pub fn accept(&mut self, trajectory: &Trajectory, now_ticks: u64) -> bool {
        let ahead_s = self.seconds(trajectory.end_ticks().saturating_sub(now_ticks));
        let believed = trajectory.is_valid() && ahead_s <= MAX_HORIZON_S;
        if believed {
            self.trajectory = *trajectory;
            self.since_ticks = now_ticks;
        }
        believed
    }

    /// Returns the set-point at `now_ticks`, `step_s` seconds after the last one, rising by `most_mps2` at most. The vehicle ahead may
    /// demand less than the trajectory, down to [`MAX_DECELERATION_MPS2`].
    pub fn advance(&mut self, now_ticks: u64, step_s: f64, most_mps2: f64) -> Setpoint {
        let end = self.trajectory.end_ticks().max(self.since_ticks);
        let lapsed = self.seconds(now_ticks.saturating_sub(end)) > HOLD_S;
        let (target_mps, down_mps2) = match self.trajectory.speed_mps(now_ticks) {
            Some(speed_mps) if !lapsed => (speed_mps, MAX_DECELERATION_MPS2),
            _ => (0.0, GENTLE_MPS2),
        };
        let change = target_mps - self.setpoint.speed_mps;
        let change = limited(change, -down_mps2 * step_s, MAX_ACCELERATION_MPS2 * step_s);
        let most = limited(
            most_mps2 * step_s,
            -MAX_DECELERATION_MPS2 * step_s,
            f64::INFINITY,
        );
        let speed_mps = (self.setpoint.speed_mps + change.min(most)).max(0.0);
        self.setpoint = Setpoint {
            acceleration_mps2: (speed_mps - self.setpoint.speed_mps) / step_s,
            speed_mps,
        };
        self.setpoint
    }

    fn seconds(&self, ticks: u64) -> f64 {
        ticks as f64 / self.frequency_hz
    }
}

#[cfg(test)]
mod tests {
    use super::{GENTLE_MPS2, HOLD_S, MAX_ACCELERATION_MPS2, Reference};
    use crate::STEP_S;
    use crate::message::Trajectory;

    const HZ: u64 = 1_000_000;
    const STEP: u64 = 1000;

    fn run(reference: &mut Reference, from: u64, to: u64) -> f64 {
        (from / STEP..to / STEP).fold(f64::NAN, |_, step| {
            reference
                .advance(step * STEP, STEP_S, f64::INFINITY)
                .speed_mps
        })
    }

    #[test]
    fn climbs_at_the_limit_and_stays() {
        let mut reference = Reference::starting_at(0.0, 0, HZ);
        assert!(reference.accept(&Trajectory::set_point(0, 10.0), 0));
        let after_2s = run(&mut reference, 0, 2 * HZ);
        assert!((after_2s - 2.0 * MAX_ACCELERATION_MPS2).abs() < 1e-9);
        assert!(
            (run(&mut reference, 2 * HZ, 5 * HZ) - 10.0).abs() < 1e-9,
            "held below HOLD_S"
        );
    }

    #[test]
    fn gives_up_gently_without_commands() {
        let mut reference = Reference::starting_at(20.0, 0, HZ);
        let held = (HOLD_S * HZ as f64) as u64;
        assert!((run(&mut reference, 0, held) - 20.0).abs() < 1e-9);
        let later = run(&mut reference, held, held + 10 * HZ);
        assert!(
            (later - (20.0 - 10.0 * GENTLE_MPS2)).abs() < 0.01,
            "{later}"
        );
        assert!(run(&mut reference, held + 10 * HZ, held + 30 * HZ) == 0.0);
    }

    #[test]
    fn believes_no_distant_future() {
        let mut reference = Reference::starting_at(3.0, 0, HZ);
        assert!(!reference.accept(&Trajectory::set_point(u64::MAX, 10.0), 0));
        assert!(!reference.accept(&Trajectory::default(), 0));
        assert!((reference.advance(STEP, STEP_S, f64::INFINITY).speed_mps - 3.0).abs() < 1e-12);
    }
}
