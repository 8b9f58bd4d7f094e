//! PI speed controller with feed-forward and anti-windup
//!
//! Feed-forward asks for what the set-point needs on the slope that is estimated: `m_eq·a + ½ρC_dA_F·v² + f_r·m·g + m·g·sin θ`.
//! Feedback has to do with the rest (an estimate or parameters that are off) and sees, around any speed, the
//! plant `1 / (m_eq·s·(τs + 1))` with the engine's lag τ (drag damps it a little more).
//!
//! Design by loop shaping (K. J. Åström and R. M. Murray, *Feedback Systems*, 2nd ed., ch. 12): crossover
//! at `ω_c` = 1.5 rad/s, well below the lag's 4 rad/s, so `K_p = m_eq·ω_c`; integral corner at
//! `ω_i = ω_c/5`, `K_i = K_p·ω_i`. Phase margin 90° − atan(ω_cτ) − atan(ω_i/ω_c) ≈ 90° − 20.6° − 11.3°
//! = 58°; the loop's delay of about 2 ms costs 0.2°.
//!
//! Anti-windup by conditional integration (ibid., §11.4): where the demand is cut off, the integral
//! moves only back towards what can be done.

use crate::limited;
use crate::reference::Setpoint;
use crate::road::Slope;
use crate::vehicle::{Demand, GRAVITY_MPS2, Parameters};

/// Crossover frequency, rad/s.
const CROSSOVER_RADPS: f64 = 1.5;
/// Corner of the integral part, rad/s.
const INTEGRAL_RADPS: f64 = CROSSOVER_RADPS / 5.0;
/// Largest force of the integral part, N: a grade of more than 30 %.
const MAX_INTEGRAL_N: f64 = 5000.0;
/// Force that holds a standing vehicle, N: a grade of more than 20 %.
const HOLDING_N: f64 = 3000.0;
/// Below these the vehicle is held, m/s.
const STANDING_MPS: f64 = 0.1;
const STANDING_SETPOINT_MPS: f64 = 0.05;

/// The controller's memory and what it knows of the vehicle.
#[derive(Clone, Copy, Debug)]
pub struct Controller {
    vehicle: Parameters,
    integral_n: f64,
}

impl Controller {
    /// For a vehicle of these constants.
    #[must_use]
    pub const fn new(vehicle: Parameters) -> Self {
        Self {
            vehicle,
            integral_n: 0.0,
        }
    }

    /// Returns the demand that brings `speed_mps` to `setpoint` on a road of that `grade`, `step_s`
    /// seconds after the last call. Always finite and within the vehicle's limits.
    pub fn demand(
        &mut self,
        setpoint: &Setpoint,
        speed_mps: f64,
        grade: f64,
        step_s: f64,
    ) -> Demand {
        if setpoint.speed_mps < STANDING_SETPOINT_MPS && speed_mps < STANDING_MPS {
            return self.hold();
        }
        let car = &self.vehicle;
        let error_mps = setpoint.speed_mps - speed_mps;
        let gain = car.equivalent_mass_kg() * CROSSOVER_RADPS;
        let wanted_n = car.equivalent_mass_kg() * setpoint.acceleration_mps2
            + car.drag_n(setpoint.speed_mps)
            + car.rolling_n()
            + car.mass_kg * GRAVITY_MPS2 * Slope::of(grade).sine
            + gain * error_mps
            + self.integral_n;
        let given_n = limited(wanted_n, -car.max_brake_n, car.drive_limit_n(speed_mps));
        self.integrate(
            gain * INTEGRAL_RADPS * error_mps * step_s,
            wanted_n - given_n,
        );
        Demand {
            drive_n: given_n.max(0.0),
            brake_n: (-given_n).max(0.0),
        }
    }

    /// Holds a standing vehicle and forgets what was learnt on the way.
    pub fn hold(&mut self) -> Demand {
        self.integral_n = 0.0;
        Demand {
            drive_n: 0.0,
            brake_n: HOLDING_N,
        }
    }

    /// `excess_n` is what was wanted beyond the limits, with its sign.
    fn integrate(&mut self, change_n: f64, excess_n: f64) {
        if change_n * excess_n <= 0.0 {
            self.integral_n = limited(self.integral_n + change_n, -MAX_INTEGRAL_N, MAX_INTEGRAL_N);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Controller;
    use crate::STEP_S;
    use crate::reference::Setpoint;
    use crate::vehicle::Parameters;
    use proptest::prelude::{prop_assert, proptest};

    const CAR: Parameters = Parameters::MID_SIZE;

    #[test]
    fn the_integral_does_not_wind_up() {
        let mut controller = Controller::new(CAR);
        let far = Setpoint {
            speed_mps: 50.0,
            acceleration_mps2: 0.0,
        };
        for _ in 0..60_000 {
            let demand = controller.demand(&far, 20.0, 0.0, STEP_S);
            assert!((demand.drive_n - CAR.drive_limit_n(20.0)).abs() < 1e-9);
        }
        assert!(controller.integral_n == 0.0, "{}", controller.integral_n);
        let near = Setpoint {
            speed_mps: 19.0,
            acceleration_mps2: 0.0,
        };
        assert!(
            controller.demand(&near, 20.0, 0.0, STEP_S).brake_n > 0.0,
            "reacts at once"
        );
    }

    proptest! {
        #[test]
        fn stays_within_the_limits(speeds in proptest::collection::vec(
                (0.0f64..70.0, -3.5f64..2.0, 0.0f64..100.0, -0.15f64..0.15), 1..200)) {
            let mut controller = Controller::new(CAR);
            for (speed_mps, acceleration_mps2, measured, grade) in speeds {
                let setpoint = Setpoint { speed_mps, acceleration_mps2 };
                let demand = controller.demand(&setpoint, measured, grade, STEP_S);
                prop_assert!((0.0..=CAR.max_drive_n).contains(&demand.drive_n));
                prop_assert!((0.0..=CAR.max_brake_n).contains(&demand.brake_n));
                prop_assert!(demand.drive_n == 0.0 || demand.brake_n == 0.0);
            }
        }
    }
}
