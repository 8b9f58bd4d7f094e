//! Messages on the channels of the showcase
//!
//! Plain little-endian data, the stamp first; sizes are those of `systems/drive/system.toml`.

use crate::cycle::Cycle;
use bulkhead_abi::trace::Stamp;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Channel `state`, 1 kHz: what the vehicle notes for itself, to go on from after a restart.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct Sensors {
    /// Filled in by sending.
    pub stamp: Stamp,
    /// Speed, m/s.
    pub speed_mps: f64,
    /// Distance travelled, m.
    pub distance_m: f64,
    /// Acceleration, m/s².
    pub acceleration_mps2: f64,
    /// Driving force at the wheels, N.
    pub drive_n: f64,
    /// Braking force, N.
    pub brake_n: f64,
    /// Grade of the road, rise over run.
    pub grade: f64,
}

/// Channel `telemetry`, control → linux, 100 Hz.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct Telemetry {
    /// Filled in by sending.
    pub stamp: Stamp,
    /// Speed, m/s.
    pub speed_mps: f64,
    /// Set-point, m/s.
    pub setpoint_mps: f64,
    /// Acceleration, m/s².
    pub acceleration_mps2: f64,
    /// Driving force asked for, N.
    pub drive_demand_n: f64,
    /// Braking force asked for, N.
    pub brake_demand_n: f64,
    /// Driving force at the wheels, N.
    pub drive_n: f64,
    /// Braking force, N.
    pub brake_n: f64,
    /// Distance travelled, m.
    pub distance_m: f64,
    /// Grade of the road as estimated, rise over run.
    pub grade: f64,
    /// Age of the sensor message used, ticks.
    pub sensor_age_ticks: u64,
    /// Release to start of the job, ticks.
    pub start_delay_ticks: u64,
    /// Jobs since the controller started.
    pub jobs: u64,
    /// A [`crate::pilot::Mode`].
    pub mode: u32,
    /// Starts of the plant so far.
    pub plant_epoch: u32,
    /// Trajectories accepted since the controller started.
    pub accepted: u32,
    /// Trajectories refused since then.
    pub refused: u32,
}

/// A point of a trajectory.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct Point {
    /// When, ticks.
    pub ticks: u64,
    /// Speed, m/s.
    pub speed_mps: f64,
}

/// Points that a trajectory has room for.
pub const MAX_POINTS: usize = 14;

/// Channel `commands`, linux → control: the speed wanted over the time to come.
///
/// Linear between the points, constant before the first and after the last. Each replaces the one
/// before. Sent ahead of time, it lets the controller go on through a restart of Linux.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct Trajectory {
    /// Filled in by sending.
    pub stamp: Stamp,
    /// Points in use, 1 to [`MAX_POINTS`].
    pub count: u64,
    /// The points, in order of time.
    pub points: [Point; MAX_POINTS],
    /// Zero.
    pub reserved: u64,
}

const _: () = assert!(size_of::<Sensors>() == 64);
const _: () = assert!(size_of::<Telemetry>() == 128);
const _: () = assert!(size_of::<Trajectory>() == 256);

/// Largest speed that may be asked for, m/s (252 km/h).
pub const MAX_SPEED_MPS: f64 = 70.0;

impl Trajectory {
    /// A set-point from `now_ticks` on: what a person types.
    #[must_use]
    pub fn set_point(now_ticks: u64, speed_mps: f64) -> Self {
        let mut trajectory = Self::default();
        trajectory.push(Point {
            ticks: now_ticks,
            speed_mps,
        });
        trajectory
    }

    /// The stretch of `cycle`, begun at `start_ticks`, from `now_ticks` to `horizon_s` seconds later
    /// or as far as the points reach; `frequency_hz` is the counter's.
    #[must_use]
    pub fn of_cycle(
        cycle: &Cycle,
        start_ticks: u64,
        now_ticks: u64,
        frequency_hz: u64,
        horizon_s: f64,
    ) -> Self {
        let hz = frequency_hz as f64;
        let now_s = now_ticks.saturating_sub(start_ticks) as f64 / hz;
        let end_s = now_s + horizon_s;
        let at = |time_s: f64| Point {
            ticks: start_ticks.saturating_add((time_s * hz) as u64),
            speed_mps: cycle.speed_mps(time_s),
        };
        let mut trajectory = Self::default();
        trajectory.push(at(now_s));
        let ahead = cycle.corners().map(|corner| corner.time_s);
        let within = ahead.filter(|time_s| now_s < *time_s && *time_s < end_s);
        within
            .take(MAX_POINTS - 2)
            .chain([end_s])
            .for_each(|time_s| trajectory.push(at(time_s)));
        trajectory.cut_after_gap(cycle, now_s, end_s);
        trajectory
    }

    /// Adds a point; nothing when there is no room.
    fn push(&mut self, point: Point) {
        if let Some(place) = self.points.get_mut(self.count as usize) {
            *place = point;
            self.count += 1;
        }
    }

    /// Drops the last corner if corners were left out before it for want of points, because it would cut them off.
    fn cut_after_gap(&mut self, cycle: &Cycle, now_s: f64, end_s: f64) {
        let corners = cycle
            .corners()
            .filter(|c| now_s < c.time_s && c.time_s < end_s)
            .count();
        if corners > MAX_POINTS - 2 {
            self.count -= 1;
        }
    }

    /// The points in use; none where the count is nonsense.
    #[must_use]
    pub fn points(&self) -> &[Point] {
        usize::try_from(self.count)
            .ok()
            .and_then(|n| self.points.get(..n))
            .unwrap_or_default()
    }

    /// Returns true if the trajectory is valid: points in order, speeds from 0 to [`MAX_SPEED_MPS`].
    #[must_use]
    pub fn is_valid(&self) -> bool {
        let points = self.points();
        let ordered = points.is_sorted_by(|a, b| a.ticks <= b.ticks);
        let sane = points
            .iter()
            .all(|point| (0.0..=MAX_SPEED_MPS).contains(&point.speed_mps));
        !points.is_empty() && ordered && sane
    }

    /// When the last point lies, ticks; 0 without points.
    #[must_use]
    pub fn end_ticks(&self) -> u64 {
        self.points().last().map_or(0, |point| point.ticks)
    }

    /// The speed wanted at `ticks`, m/s; `None` without points.
    #[must_use]
    pub fn speed_mps(&self, ticks: u64) -> Option<f64> {
        let points = self.points();
        let after = points.partition_point(|point| point.ticks <= ticks);
        let before = after.checked_sub(1).and_then(|index| points.get(index));
        match (before, points.get(after)) {
            (Some(from), Some(to)) => {
                let part = (ticks - from.ticks) as f64 / (to.ticks - from.ticks) as f64;
                Some(from.speed_mps + (to.speed_mps - from.speed_mps) * part)
            }
            (Some(only), None) | (None, Some(only)) => Some(only.speed_mps),
            (None, None) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_POINTS, Point, Trajectory};
    use crate::cycle::Cycle;
    use proptest::prelude::{any, prop_assert, proptest};
    use zerocopy::FromBytes;

    const HZ: u64 = 62_500_000;

    proptest! {
        #[test]
        fn follows_the_cycle_within_its_horizon(now_s in 0.0f64..1300.0, ahead in 0.0f64..1.0,
                                                horizon_s in 0.5f64..400.0) {
            let start = 5 * HZ;
            let now = start + (now_s * HZ as f64) as u64;
            let trajectory = Trajectory::of_cycle(&Cycle::NEDC, start, now, HZ, horizon_s);
            prop_assert!(trajectory.is_valid());
            let reach = trajectory.end_ticks() - now;
            prop_assert!(reach as f64 > HZ as f64 * horizon_s.min(10.0) * 0.99);
            let ticks = now + (reach as f64 * ahead) as u64;
            let wanted = Cycle::NEDC.speed_mps((ticks - start) as f64 / HZ as f64);
            let got = trajectory.speed_mps(ticks).expect("it has points");
            prop_assert!((got - wanted).abs() < 1e-6, "{got} instead of {wanted}");
        }

        #[test]
        fn nonsense_is_recognised_and_harmless(bytes in proptest::collection::vec(any::<u8>(), 256),
                                               count in 0u64..20, ticks in any::<u64>()) {
            let mut trajectory = Trajectory::read_from_bytes(&bytes).expect("256 bytes");
            let _may_be_anything = (trajectory.is_valid(), trajectory.speed_mps(ticks));
            trajectory.count = count;
            if trajectory.is_valid() {
                let speed = trajectory.speed_mps(ticks).expect("valid ones have points");
                prop_assert!((0.0..=70.0).contains(&speed));
            }
        }
    }

    #[test]
    fn refuses_what_makes_no_sense() {
        let valid = Trajectory::set_point(7, 25.0);
        assert!(valid.is_valid() && valid.speed_mps(0) == Some(25.0));
        let with = |change: fn(&mut Trajectory)| {
            let mut changed = valid;
            change(&mut changed);
            changed.is_valid()
        };
        assert!(!with(|t| t.count = 0));
        assert!(!with(|t| t.count = MAX_POINTS as u64 + 1));
        assert!(!with(|t| t.points[0].speed_mps = f64::NAN));
        assert!(!with(|t| t.points[0].speed_mps = -1.0));
        assert!(!with(|t| t.points[0].speed_mps = 71.0));
        assert!(!with(|t| {
            t.count = 2;
            t.points[1] = Point {
                ticks: 6,
                speed_mps: 1.0,
            };
        }));
    }
}
