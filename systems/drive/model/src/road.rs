//! The road: its grade along the distance

/// Grade by distance.
#[derive(Clone, Copy, Debug)]
pub struct Road<'r> {
    /// Distance in m, ascending, and grade (rise over run) there; straight lines in between, the
    /// first and the last grade beyond them. Empty = level.
    pub knots: &'r [(f64, f64)],
}

/// Inclination of a point of the road, as the functions that forces need.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slope {
    /// Sine of the angle to the level; positive uphill.
    pub sine: f64,
    /// Its cosine.
    pub cosine: f64,
}

impl Slope {
    /// Of a grade, rise over run.
    #[must_use]
    pub fn of(grade: f64) -> Self {
        let cosine = 1.0 / libm::sqrt(1.0 + grade * grade);
        Self {
            sine: grade * cosine,
            cosine,
        }
    }
}

impl Road<'_> {
    /// A test bench, as type approval has it.
    pub const LEVEL: Self = Self { knots: &[] };

    /// Rolling country: grades up to 4 % either way, on the first 11 km, the length of the NEDC.
    pub const HILLS: Self = Self {
        knots: &[
            (0.0, 0.0),
            (20.0, 0.02),
            (60.0, -0.02),
            (120.0, 0.0),
            (500.0, 0.03),
            (1100.0, -0.03),
            (1800.0, 0.01),
            (2600.0, 0.04),
            (3300.0, -0.04),
            (4500.0, 0.0),
            (6000.0, 0.02),
            (7500.0, -0.03),
            (9000.0, 0.02),
            (11_000.0, 0.0),
        ],
    };

    /// Grade (rise over run) at `distance_m`.
    #[must_use]
    pub fn grade(&self, distance_m: f64) -> f64 {
        let after = self.knots.partition_point(|(at, _)| *at <= distance_m);
        match (
            after.checked_sub(1).and_then(|i| self.knots.get(i)),
            self.knots.get(after),
        ) {
            (Some((from, low)), Some((to, high))) => {
                low + (high - low) * (distance_m - from) / (to - from)
            }
            (Some((_, only)), None) | (None, Some((_, only))) => *only,
            (None, None) => 0.0,
        }
    }

    /// Inclination at `distance_m`.
    #[must_use]
    pub fn slope(&self, distance_m: f64) -> Slope {
        Slope::of(self.grade(distance_m))
    }
}

#[cfg(test)]
mod tests {
    use super::Road;

    #[test]
    fn interpolates_and_extends() {
        let road = Road {
            knots: &[(100.0, 0.0), (200.0, 0.04)],
        };
        for (distance, grade) in [
            (0.0, 0.0),
            (100.0, 0.0),
            (150.0, 0.02),
            (200.0, 0.04),
            (9e9, 0.04),
        ] {
            assert!(
                (road.grade(distance) - grade).abs() < 1e-15,
                "at {distance}"
            );
        }
        assert!(Road::LEVEL.grade(5.0) == 0.0);
    }

    #[test]
    fn sine_and_cosine_belong_together() {
        let slope = Road::HILLS.slope(2600.0);
        assert!((slope.sine * slope.sine + slope.cosine * slope.cosine - 1.0).abs() < 1e-15);
        assert!((slope.sine / slope.cosine - 0.04).abs() < 1e-15);
    }
}
