//! Paths of runs, counted from events

use super::*;
use bulkhead_abi::name_field;
use bulkhead_abi::trace::EventKind;
use bulkhead_plan::manifest::StageManifest;

fn paths() -> Paths {
    let current = PathManifest {
        partition: "control".into(),
        pipe: "steering".into(),
        number: 0x200,
        stages: Vec::new(),
        ends: ["read".into(), "write".into()],
        bound_ns: 1000,
        loss: 0.25,
        throughput: Some(100.0),
        is_periodic: true,
    };
    Paths {
        description: vec![(0, current)],
        ..Paths::default()
    }
}

fn leave(paths: &mut Paths, number: u64, sequence: u32, [entered, at]: [u64; 2]) {
    let event = Event {
        ticks: at,
        kind: EventKind::Delivered as u32,
        sequence,
        a: entered,
        b: number,
        name: name_field("steering"),
    };
    paths.take(0, "steering".into(), &event, &Clock::new(1_000_000_000));
}

#[test]
fn delay_loss_and_rate_stand_beside_what_is_promised() {
    let mut paths = paths();
    for (sequence, times) in [(7, [0, 900]), (8, [1000, 1900]), (10, [3000, 4001])] {
        leave(&mut paths, 0x200, sequence, times);
    }
    let [report] = paths
        .reports(&["control".into()], 0)
        .try_into()
        .expect("one");
    assert_eq!((report.delivered, report.lost, report.late), (3, 1, 1));
    assert_eq!(report.before, 6, "the first that came was the seventh");
    assert_eq!((report.delay.min_ns, report.delay.max_ns), (900, 1001));
    assert_eq!(report.ends, ["read", "write"]);
    assert!(
        (report.rate - 2.0 / 3.101e-6).abs() < 1.0,
        "{}",
        report.rate
    );
    assert!(!report.holds());
    // Started anew, it counts from the beginning, which is no loss.
    leave(&mut paths, 0x200, 1, [5000, 5100]);
    assert_eq!(paths.reports(&[], 0)[0].lost, 1);
}

/// A message is held against the bound that was promised when it left.
#[test]
fn what_is_promised_later_counts_from_then_on() {
    let mut paths = paths();
    leave(&mut paths, 0x200, 1, [0, 900]);
    let promised_event = |kind: EventKind, sequence, a, name: &str| Event {
        ticks: 1000,
        kind: kind as u32,
        sequence,
        a,
        b: 0x200,
        name: name_field(name),
    };
    for (name, bound) in [("steering", 500), ("extra", 2000)] {
        let event = promised_event(EventKind::Promised, 100_000, bound, name);
        paths.promised(0, name.into(), &event, &Clock::new(1_000_000_000));
        for (end, function) in (0..).zip(["first", "last"]) {
            let event = promised_event(EventKind::PathEnd, end, 50_000_000, function);
            paths.path_end(0, function.into(), &event);
        }
    }
    leave(&mut paths, 0x200, 2, [1000, 1900]);
    leave(&mut paths, 0x200, 3, [2000, 2400]);
    let [report] = paths
        .reports(&["control".into()], 0)
        .try_into()
        .expect("one");
    assert_eq!((report.delivered, report.late), (3, 1));
    assert_eq!((report.bound_ns, report.loss_bound), (Some(500), Some(0.1)));
    assert_eq!(report.ends, ["first", "last"]);
    assert_eq!(report.required_rate, Some(50.0));
    // It runs by its description again.
    let event = promised_event(EventKind::Promised, 0, 0, "steering");
    paths.promised(0, "steering".into(), &event, &Clock::new(1_000_000_000));
    leave(&mut paths, 0x200, 4, [3000, 3900]);
    let [report] = paths
        .reports(&["control".into()], 0)
        .try_into()
        .expect("one");
    assert_eq!((report.late, report.bound_ns), (1, Some(1000)));
    paths.promised(
        0,
        "steering".into(),
        &promised_event(EventKind::Promised, 0, 500, ""),
        &Clock::new(1_000_000_000),
    );
    paths.stop(0, 0, false);
    assert_eq!(paths.reports(&[], 0)[0].bound_ns, Some(1000));
}

/// The pipe with stages in these partitions; a third one has no part in it.
fn paths_over<const N: usize>(partitions: [&str; N]) -> Paths {
    let mut paths = paths();
    paths.names = ["control", "linux", "stranger"].map(str::to_owned).into();
    let stage = |partition: &str| StageManifest {
        function: "filter".into(),
        partition: partition.into(),
        latency_ns: None,
    };
    paths.description[0].1.stages = partitions.map(stage).into();
    paths
}

#[test]
fn messages_that_a_restart_took_are_no_loss_of_the_pipe() {
    let report = |restart_ns: &[u64]| {
        let mut paths = paths_over(["control", "linux", "control"]);
        leave(&mut paths, 0x200, 1, [0, 900]);
        leave(&mut paths, 0x200, 2, [1000, 1900]);
        for (partition, at) in (1..).zip(restart_ns) {
            paths.stop(partition, *at, true);
        }
        leave(&mut paths, 0x200, 40, [9000, 9900]);
        leave(&mut paths, 0x200, 42, [9200, 9950]);
        paths.reports(&["control".into()], 10_000).swap_remove(0)
    };
    let restarted = report(&[1500]);
    assert_eq!((restarted.lost, restarted.lost_by_restarts), (1, 37));
    assert_eq!(restarted.span_s, 1.1e-6);
    // A partition without a part in it, and a restart at another time, excuse nothing.
    for times in [&[u64::MAX, 1500][..], &[500], &[]] {
        let other = report(times);
        assert_eq!((other.lost, other.lost_by_restarts), (38, 0), "{times:?}");
    }
    // Restarts one after the other excuse no longer outage than one.
    let mut paths = paths_over(["control", "linux", "control"]);
    leave(&mut paths, 0x200, 1, [0, 900]);
    for at in [1500, 3000, 6000] {
        paths.stop(1, at, true);
    }
    let out_s = |paths: &Paths| paths.reports(&["control".into()], 9_500)[0].out_s;
    assert_eq!(out_s(&paths), Some(8e-6));
    leave(&mut paths, 0x200, 9, [9000, 9100]);
    assert_eq!(out_s(&paths), Some(7.6e-6));
}

#[test]
fn messages_before_the_first_that_came_are_lost_once_the_pipe_is_up() {
    let lost_at_start = |partitions: [&str; 2], ups: &[(usize, u64)]| {
        let mut paths = paths_over(partitions);
        ups.iter().for_each(|(one, at)| paths.up(*one, *at));
        for number in 7..10 {
            let entered = u64::from(number) * 1000;
            leave(&mut paths, 0x200, number, [entered, entered + 900]);
        }
        let report = paths.reports(&["control".into()], 10_000).swap_remove(0);
        assert_eq!(report.before, 6);
        assert_eq!(report.broken_spans_s.is_empty(), report.lost_at_start == 0);
        report.lost_at_start
    };
    let both = ["control", "linux"];
    // One message may be under way when the last partition announces itself.
    assert_eq!(lost_at_start(both, &[(0, 100), (1, 3500)]), 2);
    assert_eq!(lost_at_start(both, &[(0, 100), (1, 6500)]), 0);
    assert_eq!(lost_at_start(both, &[(0, 100), (1, 3500), (1, 8500)]), 2);
    // It is not known when the second partition was up.
    assert_eq!(lost_at_start(both, &[(0, 100)]), 0);
    assert_eq!(lost_at_start(both, &[(0, 100), (1, 9500)]), 0);
    assert_eq!(lost_at_start(["control", "control"], &[]), 6);
}

#[test]
fn the_rate_of_a_pipe_counts_unless_a_command_stopped_it() {
    let required = |stopped: &str| {
        let mut paths = paths();
        paths.description[0].1.throughput = Some(100.0);
        leave(&mut paths, 0x200, 1, [0, 1000]);
        paths.stopped(0, stopped.into());
        paths.reports(&["control".into()], 0)[0].required_rate
    };
    assert_eq!(required("braking"), Some(100.0));
    assert_eq!(required("steering"), None);
    // Of a pipe that leads elsewhere, the partition that stops it may be another one; a third one has no say.
    let rate_after_stop = |partition: usize| {
        let mut paths = paths_over(["linux", "control"]);
        leave(&mut paths, 0x200, 1, [0, 1000]);
        paths.stopped(partition, "steering".into());
        paths.reports(&["control".into()], 0)[0].required_rate
    };
    assert_eq!(
        [rate_after_stop(0), rate_after_stop(1), rate_after_stop(2)],
        [None, None, Some(100.0)]
    );
    // Of a run-time pipe, its client or a partition that takes the client's requests.
    let of_run_time = |partition: usize, restarts: bool| {
        let mut paths = Paths {
            names: ["control", "linux", "stranger"].map(str::to_owned).into(),
            clients: vec![BTreeSet::from([0, 1])],
            ..Paths::default()
        };
        let event = |kind: EventKind, a: u64, sequence| Event {
            ticks: 0,
            kind: kind as u32,
            sequence,
            a,
            b: 0x200,
            name: name_field("steering"),
        };
        let clock = Clock::new(1_000_000_000);
        paths.promised(
            1,
            "steering".into(),
            &event(EventKind::Promised, 1000, 0),
            &clock,
        );
        let end = event(EventKind::PathEnd, 100_000_000, 1);
        paths.path_end(1, "emit".into(), &end);
        let delivered = event(EventKind::Delivered, 0, 1);
        paths.take(1, "steering".into(), &delivered, &clock);
        match restarts {
            true => paths.stop(partition, 1, true),
            false => paths.stopped(partition, "steering".into()),
        }
        paths.reports(&[], 0)[0].required_rate
    };
    for restarts in [false, true] {
        let rates = [0, 1, 2].map(|partition| of_run_time(partition, restarts));
        assert_eq!(rates, [None, None, Some(100.0)], "{restarts}");
    }
}

#[test]
fn a_periodic_pipe_that_falls_silent_and_a_deployed_one_without_messages_are_reported() {
    let mut paths = paths();
    leave(&mut paths, 0x200, 1, [0, 900]);
    let silent = |paths: &Paths| paths.reports(&["control".into()], 10_900)[0].silent_s;
    assert_eq!(silent(&paths), Some(1e-5));
    paths.stopped(0, "steering".into());
    assert_eq!(silent(&paths), None);
    let promised = Event {
        ticks: 1000,
        kind: EventKind::Promised as u32,
        sequence: 0,
        a: 500,
        b: 0x100,
        name: name_field("extra"),
    };
    paths.promised(0, "extra".into(), &promised, &Clock::new(1_000_000_000));
    let reports = |paths: &Paths, end_ns| paths.reports(&["control".into()], end_ns);
    assert_eq!(reports(&paths, 10_900).len(), 1, "it has just begun");
    let end_ns = 2 * DUE_NS;
    let both = reports(&paths, end_ns);
    assert_eq!(both.len(), 2);
    assert_eq!((both[1].delivered, both[1].bound_ns), (0, Some(500)));
    paths.stopped(0, "extra".into());
    assert_eq!(reports(&paths, end_ns).len(), 1);
}

#[test]
fn a_bound_without_measurements_is_shown_and_an_unknown_path_has_no_bound() {
    let mut paths = paths();
    leave(&mut paths, 0, 1, [0, u64::MAX]);
    let reports = paths.reports(&["control".into()], 0);
    let bounds: Vec<_> = reports.iter().map(|report| report.bound_ns).collect();
    assert_eq!(bounds, [None, Some(1000)]);
    assert_eq!(reports[1].delivered, 0);
    assert!(reports[0].holds());
}
