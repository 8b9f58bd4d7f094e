//! Driving cycles: speed over time
//!
//! The New European Driving Cycle as UN Regulations 83 (Annex 4a) and 101 define it: four
//! elementary urban cycles (ECE-15, 195 s) and one extra-urban cycle (EUDC, 400 s), each a list of
//! operations between two speeds. Speed is linear within an operation.

use crate::mps;

/// An operation: seconds, and the speed at its end in km/h.
type Operation = (u16, u16);

/// Elementary urban cycle: UN R83 Annex 4a, table of operations 1–25.
const URBAN: [Operation; 25] = [
    (11, 0),
    (4, 15),
    (8, 15),
    (2, 10),
    (3, 0),
    (21, 0),
    (5, 15),
    (2, 15),
    (5, 32),
    (24, 32),
    (8, 10),
    (3, 0),
    (21, 0),
    (5, 15),
    (2, 15),
    (9, 35),
    (2, 35),
    (8, 50),
    (12, 50),
    (8, 35),
    (13, 35),
    (2, 32),
    (7, 10),
    (3, 0),
    (7, 0),
];

/// Extra-urban cycle: UN R83 Annex 4a, table of operations 1–21.
const EXTRA_URBAN: [Operation; 21] = [
    (20, 0),
    (5, 15),
    (2, 15),
    (9, 35),
    (2, 35),
    (8, 50),
    (2, 50),
    (13, 70),
    (50, 70),
    (8, 50),
    (69, 50),
    (13, 70),
    (50, 70),
    (35, 100),
    (30, 100),
    (20, 120),
    (10, 120),
    (16, 80),
    (8, 50),
    (10, 0),
    (20, 0),
];

/// A cycle: parts, each run so many times.
#[derive(Clone, Copy, Debug)]
pub struct Cycle {
    parts: &'static [(u16, &'static [Operation])],
}

/// A corner of the speed trace.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Corner {
    /// Seconds since the cycle's start.
    pub time_s: f64,
    /// Speed there, m/s.
    pub speed_mps: f64,
}

impl Cycle {
    /// New European Driving Cycle, 1180 s, 11.0 km, at most 120 km/h.
    pub const NEDC: Self = Self {
        parts: &[(4, &URBAN), (1, &EXTRA_URBAN)],
    };
    /// One elementary urban cycle, 195 s.
    pub const ECE_15: Self = Self {
        parts: &[(1, &URBAN)],
    };
    /// The extra-urban cycle, 400 s.
    pub const EUDC: Self = Self {
        parts: &[(1, &EXTRA_URBAN)],
    };

    /// The cycle of that name: `nedc`, `ece-15`, `eudc`.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        match name {
            "nedc" => Some(Self::NEDC),
            "ece-15" => Some(Self::ECE_15),
            "eudc" => Some(Self::EUDC),
            _ => None,
        }
    }

    /// The corners of the trace, from time 0 on; the speed is linear between two of them.
    pub fn corners(&self) -> impl Iterator<Item = Corner> + use<> {
        let parts = self.parts.iter();
        let operations =
            parts.flat_map(|(times, part)| (0..*times).flat_map(move |_| part.iter().copied()));
        let mut seconds = 0u32;
        let rest = operations.map(move |(duration, speed_kmph)| {
            seconds += u32::from(duration);
            Corner {
                time_s: f64::from(seconds),
                speed_mps: mps(f64::from(speed_kmph)),
            }
        });
        core::iter::once(Corner {
            time_s: 0.0,
            speed_mps: 0.0,
        })
        .chain(rest)
    }

    /// Seconds from start to end.
    #[must_use]
    pub fn duration_s(&self) -> f64 {
        self.corners().last().map_or(0.0, |corner| corner.time_s)
    }

    /// Speed at `time_s` in m/s; 0 before the start and after the end.
    #[must_use]
    pub fn speed_mps(&self, time_s: f64) -> f64 {
        let mut last = Corner {
            time_s: 0.0,
            speed_mps: 0.0,
        };
        for corner in self.corners() {
            if time_s < corner.time_s {
                let part = (time_s - last.time_s) / (corner.time_s - last.time_s);
                return last.speed_mps + (corner.speed_mps - last.speed_mps) * part.max(0.0);
            }
            last = corner;
        }
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::Cycle;
    use crate::kmph;

    fn distance_m(cycle: &Cycle) -> f64 {
        let pairs = cycle.corners().zip(cycle.corners().skip(1));
        pairs
            .map(|(a, b)| (a.speed_mps + b.speed_mps) / 2.0 * (b.time_s - a.time_s))
            .sum()
    }

    fn fastest_kmph(cycle: &Cycle) -> f64 {
        cycle
            .corners()
            .map(|corner| kmph(corner.speed_mps))
            .fold(0.0, f64::max)
    }

    #[test]
    fn has_the_published_totals() {
        // UN R83 Annex 4a: 195 s and 1.013 km; 400 s and 6.955 km; together 1180 s and 11.007 km.
        let published = [
            (Cycle::ECE_15, 195.0, 1013.0, 50.0),
            (Cycle::EUDC, 400.0, 6955.0, 120.0),
            (Cycle::NEDC, 1180.0, 11_007.0, 120.0),
        ];
        for (cycle, seconds, metres, fastest) in published {
            assert!(cycle.duration_s() == seconds);
            let off = distance_m(&cycle) / metres - 1.0;
            assert!(off.abs() < 2e-3, "distance is off by {off}");
            assert!((fastest_kmph(&cycle) - fastest).abs() < 1e-9);
        }
    }

    #[test]
    fn has_the_published_accelerations() {
        // The accelerations that the tables print beside speeds and durations, m/s².
        let urban = [
            (13.0, 1.04),
            (24.0, -0.69),
            (26.0, -0.92),
            (52.0, 0.83),
            (58.0, 0.94),
            (90.0, -0.75),
            (130.0, 0.62),
            (140.0, 0.52),
            (160.0, -0.52),
            (182.0, -0.86),
        ];
        let extra_urban = [
            (55.0, 0.43),
            (115.0, -0.69),
            (270.0, 0.24),
            (325.0, 0.28),
            (355.0, -0.69),
            (366.0, -1.04),
            (375.0, -1.39),
        ];
        let late = extra_urban.map(|(time, acceleration)| (time + 780.0, acceleration));
        for (time, acceleration) in urban.into_iter().chain(late) {
            let slope = Cycle::NEDC.speed_mps(time + 0.5) - Cycle::NEDC.speed_mps(time - 0.5);
            assert!((slope - acceleration).abs() < 0.02, "at {time} s: {slope}");
        }
    }

    #[test]
    fn is_idle_outside_and_repeats_the_urban_part() {
        assert!(Cycle::NEDC.speed_mps(-3.0) == 0.0 && Cycle::NEDC.speed_mps(1180.0) == 0.0);
        for second in 0..195 {
            let time = f64::from(second);
            let first = Cycle::NEDC.speed_mps(time);
            assert!((first - Cycle::NEDC.speed_mps(time + 585.0)).abs() < 1e-12);
            assert!((first - Cycle::ECE_15.speed_mps(time)).abs() < 1e-12);
        }
    }
}
