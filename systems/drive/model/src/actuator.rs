//! Engine and brake without commands
//!
//! The last demand stands for a while; then the throttle closes and the brake opens, as real
//! actuators fail. The vehicle coasts until the controller is back.

use crate::vehicle::Demand;

/// Silence after which the demand lapses, s: fifty control periods, more than a restart takes.
pub const TIMEOUT_S: f64 = 0.05;

/// Watches over the demands.
#[derive(Clone, Copy, Debug, Default)]
pub struct Actuator {
    held: Demand,
    silent_s: f64,
}

impl Actuator {
    /// The demand in force after `step_s` more seconds; `fresh` is one that just came.
    pub fn demand(&mut self, fresh: Option<Demand>, step_s: f64) -> Demand {
        match fresh {
            Some(demand) => {
                *self = Self {
                    held: demand,
                    silent_s: 0.0,
                }
            }
            None => self.silent_s = (self.silent_s + step_s).min(1e9),
        }
        if self.silent_s > TIMEOUT_S {
            Demand::default()
        } else {
            self.held
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Actuator, TIMEOUT_S};
    use crate::STEP_S;
    use crate::vehicle::Demand;

    #[test]
    fn lets_go_after_the_timeout() {
        let demand = Demand {
            drive_n: 100.0,
            brake_n: 0.0,
        };
        let mut actuator = Actuator::default();
        assert_eq!(actuator.demand(None, STEP_S), Demand::default());
        assert_eq!(actuator.demand(Some(demand), STEP_S), demand);
        let held = (1..)
            .take_while(|_| actuator.demand(None, STEP_S) == demand)
            .count();
        assert!(
            (held as f64 * STEP_S - TIMEOUT_S).abs() <= 2.0 * STEP_S,
            "{held}"
        );
        assert_eq!(actuator.demand(Some(demand), STEP_S), demand);
    }
}
