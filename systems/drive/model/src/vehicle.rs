//! Longitudinal dynamics of a passenger car
//!
//! Balance of forces along the road, R. Rajamani, *Vehicle Dynamics and Control*, 2nd ed. (Springer
//! 2012), §4.1, eq. 4.1 with both axles added up:
//!
//! `m_eq·dv/dt = F_drive − F_brake − ½ρC_dA_F·v² − f_r·m·g·cos θ − m·g·sin θ`
//!
//! The equivalent mass `m_eq` exceeds `m` by the rotating parts (T. D. Gillespie, *Fundamentals of Vehicle
//! Dynamics*, SAE 1992, ch. 2: mass factor 1.04 + 0.0025·N²). Engine and brake follow their demands
//! with first-order lags (Rajamani §5.5 models the lower level so) within limits of force, power and
//! adhesion. No wind, no reverse gear, and a hill holder: speed is never negative.

use crate::limited;
use crate::road::Road;

/// Standard gravity, m/s².
pub const GRAVITY_MPS2: f64 = 9.806_65;

/// A vehicle's constants.
#[derive(Clone, Copy, Debug)]
pub struct Parameters {
    /// Mass `m`, kg.
    pub mass_kg: f64,
    /// Mass factor `m_eq / m`.
    pub mass_factor: f64,
    /// `½·ρ·C_d·A_F`, N/(m/s)².
    pub drag_n_per_mps2: f64,
    /// Rolling-resistance coefficient `f_r`.
    pub rolling: f64,
    /// Largest driving force at the wheels, N.
    pub max_drive_n: f64,
    /// Largest driving power at the wheels, W.
    pub max_power_w: f64,
    /// Largest braking force, N.
    pub max_brake_n: f64,
    /// Time constant of the engine's torque, s.
    pub engine_lag_s: f64,
    /// Time constant of the brake's pressure, s.
    pub brake_lag_s: f64,
}

impl Parameters {
    /// A mid-size car. Mass 1500 kg; `ρ` = 1.225 kg/m³ (15 °C, 101.32 kPa), `A_F` = 1.6 + 0.00056·(m − 765)
    /// = 2.01 m² and `f_r` = 0.015 after Rajamani §4.1.1–4.1.3; `C_d` = 0.30, in the middle of today's
    /// cars; N = 4 in Gillespie's factor. Force 4.5 kN (0.3 g), power 85 kW, brake 0.8·m·g (dry
    /// adhesion); lags 0.25 s and 0.1 s: the usual orders of magnitude for a petrol engine and a
    /// hydraulic brake.
    pub const MID_SIZE: Self = Self {
        mass_kg: 1500.0,
        mass_factor: 1.04 + 0.0025 * 16.0,
        drag_n_per_mps2: 0.5 * 1.225 * 0.30 * (1.6 + 0.000_56 * (1500.0 - 765.0)),
        rolling: 0.015,
        max_drive_n: 4500.0,
        max_power_w: 85_000.0,
        max_brake_n: 0.8 * 1500.0 * GRAVITY_MPS2,
        engine_lag_s: 0.25,
        brake_lag_s: 0.1,
    };

    /// `m_eq`, kg.
    #[must_use]
    pub const fn equivalent_mass_kg(&self) -> f64 {
        self.mass_kg * self.mass_factor
    }

    /// Air drag at `speed_mps`, N.
    #[must_use]
    pub const fn drag_n(&self, speed_mps: f64) -> f64 {
        self.drag_n_per_mps2 * speed_mps * speed_mps
    }

    /// Rolling resistance on a level road, N.
    #[must_use]
    pub const fn rolling_n(&self) -> f64 {
        self.rolling * self.mass_kg * GRAVITY_MPS2
    }

    /// The driving force that engine and power allow at `speed_mps`, N.
    #[must_use]
    pub fn drive_limit_n(&self, speed_mps: f64) -> f64 {
        if speed_mps * self.max_drive_n > self.max_power_w {
            self.max_power_w / speed_mps
        } else {
            self.max_drive_n
        }
    }
}

/// Demanded forces of engine and brake, N; held over a step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Demand {
    /// Driving force.
    pub drive_n: f64,
    /// Braking force.
    pub brake_n: f64,
}

/// State of the vehicle.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct State {
    /// Distance travelled, m.
    pub distance_m: f64,
    /// Speed, m/s; not negative.
    pub speed_mps: f64,
    /// Driving force at the wheels, N.
    pub drive_n: f64,
    /// Braking force that is applied, N.
    pub brake_n: f64,
}

impl State {
    /// Returns true if a vehicle can be in this state: for resuming a simulation from memory that other
    /// programs could write.
    #[must_use]
    pub fn is_plausible(&self, vehicle: &Parameters) -> bool {
        let within = |value: f64, limit: f64| (0.0..=limit).contains(&value);
        within(self.speed_mps, 100.0)
            && within(self.distance_m, 1e9)
            && within(self.drive_n, vehicle.max_drive_n * 1.001)
            && within(self.brake_n, vehicle.max_brake_n * 1.001)
    }

    fn plus(&self, rate: &Rate, time_s: f64) -> Self {
        Self {
            distance_m: self.distance_m + rate.speed_mps * time_s,
            speed_mps: self.speed_mps + rate.acceleration_mps2 * time_s,
            drive_n: self.drive_n + rate.drive_n_per_s * time_s,
            brake_n: self.brake_n + rate.brake_n_per_s * time_s,
        }
    }
}

/// Time derivative of [`State`].
#[derive(Clone, Copy, Debug, Default)]
struct Rate {
    speed_mps: f64,
    acceleration_mps2: f64,
    drive_n_per_s: f64,
    brake_n_per_s: f64,
}

impl Rate {
    /// `(k1 + 2·k2 + 2·k3 + k4) / 6`.
    fn mean(k: &[Self; 4]) -> Self {
        let [k1, k2, k3, k4] = k;
        let mean =
            |part: fn(&Self) -> f64| (part(k1) + 2.0 * part(k2) + 2.0 * part(k3) + part(k4)) / 6.0;
        Self {
            speed_mps: mean(|k| k.speed_mps),
            acceleration_mps2: mean(|k| k.acceleration_mps2),
            drive_n_per_s: mean(|k| k.drive_n_per_s),
            brake_n_per_s: mean(|k| k.brake_n_per_s),
        }
    }
}

/// A vehicle on a road.
#[derive(Clone, Copy, Debug)]
pub struct Vehicle<'r> {
    /// Its constants.
    pub parameters: Parameters,
    /// Road of the vehicle.
    pub road: Road<'r>,
}

impl Vehicle<'_> {
    /// Acceleration in `state`, m/s².
    #[must_use]
    pub fn acceleration_mps2(&self, state: &State) -> f64 {
        let car = &self.parameters;
        let slope = self.road.slope(state.distance_m);
        let weight_n = car.mass_kg * GRAVITY_MPS2;
        let pushing_n =
            state.drive_n - weight_n * slope.sine - car.drag_n(state.speed_mps.max(0.0));
        let resisting_n = car.rolling * weight_n * slope.cosine + state.brake_n;
        let force_n = if state.speed_mps > 0.0 {
            pushing_n - resisting_n
        } else {
            (pushing_n - resisting_n).max(0.0)
        };
        force_n / car.equivalent_mass_kg()
    }

    fn rate(&self, state: &State, demand: &Demand) -> Rate {
        let car = &self.parameters;
        let drive_n = limited(demand.drive_n, 0.0, car.drive_limit_n(state.speed_mps));
        let brake_n = limited(demand.brake_n, 0.0, car.max_brake_n);
        Rate {
            speed_mps: state.speed_mps.max(0.0),
            acceleration_mps2: self.acceleration_mps2(state),
            drive_n_per_s: (drive_n - state.drive_n) / car.engine_lag_s,
            brake_n_per_s: (brake_n - state.brake_n) / car.brake_lag_s,
        }
    }

    /// The state `step_s` seconds later with `demand` held: one step of the classical fourth-order
    /// Runge–Kutta method. Something that is no number in the demand counts as nothing asked for.
    #[must_use]
    pub fn step(&self, state: &State, demand: &Demand, step_s: f64) -> State {
        let number = |value: f64| if value.is_finite() { value } else { 0.0 };
        let demand = Demand {
            drive_n: number(demand.drive_n),
            brake_n: number(demand.brake_n),
        };
        let k1 = self.rate(state, &demand);
        let k2 = self.rate(&state.plus(&k1, step_s / 2.0), &demand);
        let k3 = self.rate(&state.plus(&k2, step_s / 2.0), &demand);
        let k4 = self.rate(&state.plus(&k3, step_s), &demand);
        let next = state.plus(&Rate::mean(&[k1, k2, k3, k4]), step_s);
        State {
            speed_mps: next.speed_mps.max(0.0),
            ..next
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::{Demand, Parameters, State, Vehicle};
    use crate::STEP_S;
    use crate::road::Road;
    use proptest::prelude::{any, prop_assert, proptest};

    const CAR: Parameters = Parameters::MID_SIZE;
    const LEVEL: Vehicle<'static> = Vehicle {
        parameters: CAR,
        road: Road::LEVEL,
    };

    fn run(
        vehicle: &Vehicle<'_>,
        state: State,
        demand: Demand,
        seconds: f64,
        step_s: f64,
    ) -> State {
        let steps = (seconds / step_s).round() as usize;
        (0..steps).fold(state, |state, _| vehicle.step(&state, &demand, step_s))
    }

    #[test]
    fn steady_speed_balances_the_forces() {
        let demand = Demand {
            drive_n: 800.0,
            brake_n: 0.0,
        };
        let end = run(&LEVEL, State::default(), demand, 900.0, STEP_S);
        let expected = ((800.0 - CAR.rolling_n()) / CAR.drag_n_per_mps2).sqrt();
        assert!(
            (end.speed_mps - expected).abs() < 1e-3,
            "{} {expected}",
            end.speed_mps
        );
    }

    #[test]
    fn slope_takes_its_share_of_the_weight() {
        let uphill = Vehicle {
            parameters: CAR,
            road: Road {
                knots: &[(0.0, 0.05)],
            },
        };
        let state = State {
            speed_mps: 20.0,
            drive_n: 1000.0,
            ..State::default()
        };
        let difference = LEVEL.acceleration_mps2(&state) - uphill.acceleration_mps2(&state);
        let angle = 0.05f64.atan();
        let weight = CAR.mass_kg * super::GRAVITY_MPS2;
        let expected = weight * (angle.sin() - CAR.rolling * (1.0 - angle.cos()));
        assert!((difference * CAR.equivalent_mass_kg() - expected).abs() < 1e-6);
    }

    #[test]
    fn lags_are_exponential() {
        let demand = Demand {
            drive_n: 2000.0,
            brake_n: 0.0,
        };
        let end = run(&LEVEL, State::default(), demand, 0.5, STEP_S);
        let exact = 2000.0 * (1.0 - (-0.5 / CAR.engine_lag_s).exp());
        assert!(
            (end.drive_n - exact).abs() < 1e-7,
            "{} {exact}",
            end.drive_n
        );
    }

    #[test]
    fn integration_error_is_negligible_and_of_fourth_order() {
        let start = State {
            speed_mps: 30.0,
            ..State::default()
        };
        let demand = Demand {
            drive_n: 1500.0,
            brake_n: 0.0,
        };
        let reference = run(&LEVEL, start, demand, 10.0, 0.0005);
        let error =
            |step| (run(&LEVEL, start, demand, 10.0, step).speed_mps - reference.speed_mps).abs();
        assert!(error(STEP_S) < 1e-10);
        let ratio = error(0.1) / error(0.05);
        assert!(
            (12.0..20.0).contains(&ratio),
            "halving the step divides the error by {ratio}"
        );
    }

    #[test]
    fn work_becomes_kinetic_energy() {
        let (mut state, mut work_j) = (
            State {
                speed_mps: 10.0,
                ..State::default()
            },
            0.0,
        );
        let demand = Demand {
            drive_n: 2500.0,
            brake_n: 0.0,
        };
        let force = |s: &State| s.drive_n - s.brake_n - CAR.drag_n(s.speed_mps) - CAR.rolling_n();
        for _ in 0..20_000 {
            let next = LEVEL.step(&state, &demand, STEP_S);
            let power = |s: &State| force(s) * s.speed_mps;
            work_j += (power(&state) + power(&next)) / 2.0 * STEP_S;
            state = next;
        }
        let kinetic = |v: f64| CAR.equivalent_mass_kg() * v * v / 2.0;
        let gained_j = kinetic(state.speed_mps) - kinetic(10.0);
        assert!(
            (work_j / gained_j - 1.0).abs() < 1e-6,
            "{work_j} {gained_j}"
        );
    }

    #[test]
    fn braking_stops_and_holds_on_a_hill() {
        for grade in [-0.08, 0.0, 0.08] {
            let vehicle = Vehicle {
                parameters: CAR,
                road: Road {
                    knots: &[(0.0, grade)],
                },
            };
            let start = State {
                speed_mps: 20.0,
                ..State::default()
            };
            let stopped = run(
                &vehicle,
                start,
                Demand {
                    drive_n: 0.0,
                    brake_n: 6000.0,
                },
                20.0,
                STEP_S,
            );
            assert!(
                stopped.speed_mps == 0.0 && stopped.distance_m < 100.0,
                "{grade} {stopped:?}"
            );
        }
    }

    #[test]
    fn power_limits_the_force_at_speed() {
        assert!(CAR.drive_limit_n(5.0) == CAR.max_drive_n);
        assert!((CAR.drive_limit_n(40.0) - 2125.0).abs() < 1e-9);
    }

    proptest! {
        #[test]
        fn no_demand_makes_a_state_implausible(demands in proptest::collection::vec(
                (any::<f64>(), any::<f64>()), 1..50)) {
            let mut state = State::default();
            for (drive_n, brake_n) in demands {
                state = run(&LEVEL, state, Demand { drive_n, brake_n }, 0.5, STEP_S);
                prop_assert!(state.is_plausible(&CAR), "{state:?}");
            }
        }
    }
}
