//! The API over hosted dispatch under every policy: what none of them may change
//!
//! Each test is a core of its own. Four threads share a mutex, a queue that is too small, a semaphore and
//! flags; in whatever order the policy runs them, nothing is lost, nothing is done twice, and all end.
#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

use bulkhead_hosted::{Core, Hosted, Threads};
use bulkhead_sched::policy::{Chosen, Task};
use bulkhead_threads::{Events, Machine, Mutex, NEVER, Queue, Semaphore, TimedOut, Wish};
use std::sync::LazyLock;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

const CAPACITY: usize = 8;
type Api = Threads<Chosen<CAPACITY>, CAPACITY>;
const MILLISECOND: u64 = 1_000_000;
/// Additions of each worker, and messages.
const ROUNDS: u64 = 100;

/// State shared by the threads.
struct Scene {
    api: Api,
    total: Mutex<u64>,
    queue: Queue<u64, 2>,
    done: Semaphore,
    flags: Events,
    /// Messages that came, in order.
    received: AtomicU64,
    ended: AtomicU64,
}

impl Scene {
    fn new() -> Self {
        Self {
            api: Api::new(Chosen::new()),
            total: Mutex::new(0),
            queue: Queue::new(0),
            done: Semaphore::new(0, 2),
            flags: Events::new(),
            received: AtomicU64::new(0),
            ended: AtomicU64::new(0),
        }
    }

    /// Reads, lets others run, writes: only a lock makes that one step.
    fn add(&self) {
        for _ in 0..ROUNDS {
            let added = self.total.with(&self.api, |total| {
                let read = *total;
                self.api.yield_now();
                *total = read + 1;
            });
            assert_eq!(added, Ok(()));
        }
        assert_eq!(self.done.give(&self.api), Ok(()));
    }

    fn produce(&self) {
        for number in 1..=ROUNDS {
            assert_eq!(self.queue.send_until(&self.api, &number, NEVER), Ok(()));
            if number.is_multiple_of(16) {
                self.api.sleep_until(Hosted::now() + MILLISECOND / 10);
            }
        }
        let found = self.flags.wait(&self.api, Wish::all(3), NEVER);
        assert_eq!(found, Ok(3));
    }

    fn consume(&self) {
        for number in 1..=ROUNDS {
            assert_eq!(self.queue.receive(&self.api), number);
            self.received.store(number, Relaxed);
        }
        self.flags.set(&self.api, 1);
        for _ in 0..2 {
            self.done.take(&self.api);
        }
        let late = self.done.wait(&self.api, Hosted::now() + MILLISECOND / 10);
        assert_eq!(late, Err(TimedOut));
        self.flags.set(&self.api, 2);
    }

    fn end(&self) -> ! {
        self.ended.fetch_add(1, Relaxed);
        self.api.exit()
    }
}

/// Returns the parameters of a thread of that importance for any policy.
fn task(priority: u8) -> Task {
    Task {
        priority,
        deadline: u64::from(priority) * MILLISECOND,
        budget: MILLISECOND,
        period: 4 * MILLISECOND,
    }
}

/// Makes the calling host thread a core and runs the bodies until all have ended.
fn run(policy: &str, scene: &'static Scene, bodies: [extern "C" fn(u64) -> !; 4]) {
    let _core = Core::new().expect("a core");
    let choose = |chosen: &mut Chosen<CAPACITY>, _| chosen.choose(policy, MILLISECOND);
    assert!(scene.api.with_policy(choose));
    let mut maker = Hosted;
    scene.api.prepare(&mut maker).expect("an idle thread");
    for (priority, body) in (1..).zip(bodies) {
        let made = scene.api.spawn(&mut maker, body, task(priority));
        made.expect("a thread");
    }
    scene.api.run(NEVER);
    assert_eq!(scene.ended.load(Relaxed), 4);
    assert_eq!(scene.received.load(Relaxed), ROUNDS);
    let total = scene.total.with(&scene.api, |total| *total);
    assert_eq!(total, Ok(2 * ROUNDS));
}

macro_rules! under {
    ($($test:ident: $policy:literal,)*) => {
        $(#[test]
        fn $test() {
            static SCENE: LazyLock<Scene> = LazyLock::new(Scene::new);
            extern "C" fn adder(_: u64) -> ! {
                SCENE.add();
                SCENE.end()
            }
            extern "C" fn producer(_: u64) -> ! {
                SCENE.produce();
                SCENE.end()
            }
            extern "C" fn consumer(_: u64) -> ! {
                SCENE.consume();
                SCENE.end()
            }
            run($policy, &SCENE, [adder, consumer, producer, adder]);
        })*

        #[test]
        fn no_policy_is_left_out() {
            let tested = [$($policy),*];
            assert!(Chosen::<CAPACITY>::NAMES.iter().all(|name| tested.contains(name)));
        }
    };
}

under! {
    fixed_priority: "fixed-priority",
    non_preemptive: "non-preemptive",
    round_robin: "round-robin",
    edf: "edf",
    deferrable: "deferrable",
    sporadic: "sporadic",
    constant_bandwidth: "constant-bandwidth",
}
