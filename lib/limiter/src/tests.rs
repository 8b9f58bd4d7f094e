//! The limiter against a model with unbounded time, and against many callers

extern crate std;

use super::*;
use proptest::prelude::*;
use std::vec::Vec;

/// Windows counted in unbounded time.
struct Model {
    period: u128,
    events: u32,
    window: u128,
    count: u32,
}

impl Model {
    fn admit(&mut self, now: u128) -> bool {
        let window = now / self.period;
        if window > self.window {
            self.window = window;
            self.count = 0;
        }
        let admitted = self.count < self.events;
        self.count += u32::from(admitted);
        admitted
    }
}

/// Distances in time: within a window, some windows, long idleness.
fn steps(period: u64) -> impl Strategy<Value = Vec<u64>> {
    let step = prop_oneof![
        8 => 0..=period / 3 + 1,
        2 => 0..=period * 5,
        1 => 0..1_u64 << 46,
    ];
    prop::collection::vec(step, 1..300)
}

fn cases() -> impl Strategy<Value = (u32, u64, u64, Vec<u64>)> {
    let period = prop_oneof![1..50_u64, 1..1_u64 << 36];
    (prop_oneof![1..6_u32, 1..1_000_u32], period, any::<u64>()).prop_flat_map(
        |(events, period, start)| (Just(events), Just(period), Just(start), steps(period)),
    )
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 4 } else { 2_000 },
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// Decides as the model does, the wrap of the counter and idleness included.
    #[test]
    fn decides_as_the_model((events, period, start, steps) in cases()) {
        // The first window of the model starts where the limiter's does; after a wrap of the
        // counter both go on in whole periods from there.
        let limiter = Limiter::new(events, period).unwrap().starting_at(start);
        let origin = u128::from(start % period);
        let mut model = Model { period: u128::from(period), events, window: 0, count: 0 };
        let mut elapsed = 0_u128;
        for step in steps {
            elapsed += u128::from(step);
            let now = u128::from(start).wrapping_add(elapsed) as u64;
            prop_assert_eq!(limiter.admit(now), model.admit(origin + elapsed));
        }
    }

    /// At most 2 e in any span shorter than the period, also across the wrap.
    #[test]
    fn a_span_below_the_period_sees_at_most_twice_the_events(
        events in 1..6_u32, period in 1..100_u64, before_wrap in 0..2_000_u64,
        steps in prop::collection::vec(0..12_u64, 1..400),
    ) {
        let start = 0_u64.wrapping_sub(before_wrap);
        let limiter = Limiter::new(events, period).unwrap().starting_at(start);
        let mut elapsed = 0;
        let mut admitted = Vec::new();
        for step in steps {
            elapsed += step;
            if limiter.admit(start.wrapping_add(elapsed)) {
                admitted.push(elapsed);
            }
        }
        for span in admitted.windows(2 * events as usize + 1) {
            prop_assert!(span[2 * events as usize] - span[0] >= period, "{:?}", span);
        }
    }

    /// Readings that come late or are pure nonsense never admit more per window of true time.
    #[test]
    fn late_callers_gain_nothing(
        events in 1..6_u32, period in 2..100_u64,
        calls in prop::collection::vec((0..30_u64, 0..300_u64), 1..300),
    ) {
        let limiter = Limiter::new(events, period).unwrap().starting_at(1_000);
        let (mut now, mut newest, mut count) = (1_000, 1_000 / period, 0);
        for (step, late) in calls {
            now += step;
            let reading = now - late.min(now - 1_000);
            if reading / period > newest {
                newest = reading / period;
                count = 0;
            }
            count += u32::from(limiter.admit(reading));
            prop_assert!(count <= events);
        }
    }
}

#[test]
fn two_windows_back_to_back_reach_the_bound() {
    let limiter = Limiter::new(3, 100).unwrap();
    let admitted = (198..202).map(|now| (0..5).filter(|_| limiter.admit(now)).count());
    assert_eq!(admitted.collect::<Vec<_>>(), [3, 0, 3, 0]);
}

#[test]
fn an_unused_budget_is_forfeited() {
    let limiter = Limiter::new(2, 10).unwrap();
    assert_eq!((0..9).filter(|_| limiter.admit(1_005)).count(), 2);
}

#[test]
fn impossible_limits_are_refused() {
    assert_eq!(Limiter::new(0, 10).err(), Some(LimitError::Zero));
    assert_eq!(Limiter::new(1, 0).err(), Some(LimitError::Zero));
    assert!(Limiter::new(100, 1 << 48).is_ok());
    assert_eq!(
        Limiter::new(100, (1 << 48) + 1).err(),
        Some(LimitError::PeriodTooLong)
    );
    assert!(Limiter::new(u32::MAX, 1 << 23).is_ok());
}

#[test]
fn callers_at_once_share_one_budget() {
    const CALLS: u32 = if cfg!(miri) { 50 } else { 200_000 };
    const EVENTS: u32 = CALLS / 2;
    let limiter = Limiter::new(EVENTS, 1 << 20).unwrap();
    let admitted = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let count = (0..CALLS).filter(|_| limiter.admit(5)).count();
                admitted.fetch_add(count as u64, Ordering::Relaxed);
            });
        }
    });
    let admitted = admitted.into_inner();
    // What lost races refused is made good as long as the window lasts.
    let rest = (0..CALLS).filter(|_| limiter.admit(6)).count() as u64;
    assert_eq!(admitted + rest, u64::from(EVENTS));
}
