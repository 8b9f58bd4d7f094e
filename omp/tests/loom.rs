//! Every interleaving of the lock-free parts, within loom's bounds: `make -C omp loom`.
#![cfg(loom)]

mod sync {
    pub(crate) use loom::sync::atomic::{AtomicI64, AtomicIsize, AtomicPtr, Ordering, fence};
}

#[path = "../src/deque.rs"]
#[expect(dead_code, unreachable_pub, reason = "the runtime uses more of it")]
mod deque;
#[path = "../src/join.rs"]
#[expect(dead_code, unreachable_pub, reason = "the runtime uses more of it")]
mod join;

use deque::{Deque, Steal};
use join::Join;
use loom::thread;
use sync::AtomicPtr;

fn slots<T>(n: usize) -> Option<&'static [AtomicPtr<T>]> {
    let slots: Vec<_> = (0..n)
        .map(|_| AtomicPtr::new(std::ptr::null_mut()))
        .collect();
    Some(slots.leak())
}

fn steal(deque: &Deque<u32>) -> Option<u32> {
    match deque.steal() {
        Steal::Taken(value) => Some(*value),
        Steal::Empty | Steal::Lost => None,
    }
}

/// A fresh deque for one execution; leaked, as the runtime's are.
fn deque() -> &'static Deque<u32> {
    Box::leak(Box::new(Deque::new(slots)))
}

fn assert_each_once(mut got: Vec<u32>, most: u32) {
    let before = got.len();
    got.sort_unstable();
    got.dedup();
    assert_eq!(got.len(), before, "an element was got twice");
    assert!(got.iter().all(|value| *value < most));
}

/// The owner takes two elements while a thief steals: together they get each once.
#[test]
fn owner_and_thief_share_two_elements() {
    loom::model(|| {
        let deque = deque();
        assert!(deque.push(&0).is_ok() && deque.push(&1).is_ok());
        let thief = thread::spawn(move || [steal(deque), steal(deque)]);
        let mut got: Vec<u32> = [deque.take(), deque.take()]
            .into_iter()
            .flatten()
            .copied()
            .collect();
        got.extend(thief.join().unwrap_or_default().into_iter().flatten());
        got.extend(deque.take());
        assert_each_once(got.clone(), 2);
        assert_eq!(got.len(), 2, "an element was lost");
    });
}

/// Two thieves and the owner after one element: one of them gets it.
#[test]
fn three_want_the_last_element() {
    loom::model(|| {
        let deque = deque();
        assert!(deque.push(&0).is_ok());
        let thieves = [
            thread::spawn(move || steal(deque)),
            thread::spawn(move || steal(deque)),
        ];
        let mut got: Vec<u32> = deque.take().into_iter().copied().collect();
        got.extend(
            thieves
                .into_iter()
                .filter_map(|thief| thief.join().unwrap_or_default()),
        );
        got.extend(deque.take());
        assert_each_once(got.clone(), 1);
        assert_eq!(got.len(), 1, "the element was lost");
    });
}

/// A push becomes visible to a thief together with what was written before it.
#[test]
fn a_push_publishes() {
    loom::model(|| {
        let deque = deque();
        let data: &'static loom::cell::UnsafeCell<u32> =
            Box::leak(Box::new(loom::cell::UnsafeCell::new(0)));
        let thief = thread::spawn(move || {
            if steal(deque).is_some() {
                // loom reports a race if the push did not order the write below before this.
                data.with(|value| assert!(!value.is_null()));
            }
        });
        data.with_mut(|value| assert!(!value.is_null()));
        assert!(deque.push(&7).is_ok());
        assert!(thief.join().is_ok());
    });
}

/// Exactly one side learns that all children are done.
#[test]
fn parent_and_last_child_meet_exactly_once() {
    for children in 1..=2u32 {
        loom::model(move || {
            let join: &'static Join = Box::leak(Box::new(Join::new()));
            let threads: Vec<_> = (0..children)
                .map(|_| thread::spawn(move || usize::from(join.child_done())))
                .collect();
            let parent = usize::from(join.wait_for(children));
            let last = threads.into_iter().map(|thread| thread.join().unwrap_or(9));
            assert_eq!(parent + last.sum::<usize>(), 1);
        });
    }
}
