//! Promises about paths of pipes that were broken

use crate::figures::{Kind, counted, duration};
use crate::report::contents::Report;
use crate::report::executing::at_the_end;
use crate::report::finding::{Finding, START_S, finding, longest_silence};
use crate::report::injection::Injections;
use crate::report::paths::PathReport;
use crate::report::stages::{EarlyReport, FailedReport};

/// A broken promise, and what tells whether a requested fault caused it.
struct Breach {
    what: String,
    evidence: Evidence,
}

/// Evidence by which a requested fault is found to have caused a broken promise or not.
enum Evidence {
    /// Messages were late or lost in the path's spans of time.
    Spans,
    /// Nothing came since the last message.
    Silence,
    /// Too little came over the whole time.
    Rate,
    /// Jobs overran in these spans.
    Overruns(Vec<[f64; 2]>),
    /// No fault of the path's partition causes it.
    Foreign,
}

/// Returns what a path has broken.
pub(super) fn path_findings(
    report: &Report,
    path: &PathReport,
    injections: &Injections<'_>,
) -> impl Iterator<Item = Finding> + use<> {
    let subject = format!("{}/{}", path.partition, path.name);
    let timed = report.kind != Kind::Emulated;
    let mut breaches = path.breaches(timed);
    if path.delivered == 0
        && let Some(first) = breaches.first_mut()
    {
        let executing = at_the_end(&report.executing, &path.partition);
        first.what.push_str(&executing);
    }
    let findings: Vec<_> = breaches
        .into_iter()
        .map(|breach| {
            let is_injected = is_injected(report, path, injections, &breach.evidence);
            finding(&subject, breach.what).injected(is_injected)
        })
        .collect();
    findings.into_iter()
}

/// Returns `true` if a requested fault of the path's partition caused it.
fn is_injected(
    report: &Report,
    path: &PathReport,
    injections: &Injections<'_>,
    evidence: &Evidence,
) -> bool {
    let partition = &path.partition;
    let [first_s, last_s] = path.between_s.unwrap_or_default();
    let is_silent = || {
        let period_s = match path.delivered {
            0 | 1 => START_S,
            count => (last_s - first_s) / (count - 1) as f64,
        };
        injections.stopped(partition, last_s, period_s)
    };
    match evidence {
        Evidence::Spans => injections.explain(partition, &path.broken_spans_s),
        Evidence::Overruns(spans) => injections.explain(partition, spans),
        Evidence::Silence => is_silent(),
        Evidence::Rate => {
            let down_s = injections.seconds(partition, first_s, report.length_s);
            is_silent() || down_s > 0.0 && path.slow(down_s).is_none()
        }
        Evidence::Foreign => false,
    }
}

impl PathReport {
    /// The promises about it that were broken or could not be judged; those about time only if `timed`.
    #[must_use]
    pub fn broken(&self, timed: bool) -> Vec<String> {
        let breaches = self.breaches(timed).into_iter();
        breaches.map(|one| one.what).collect()
    }

    fn breaches(&self, timed: bool) -> Vec<Breach> {
        let Some(bound_ns) = self.bound_ns else {
            return Vec::new();
        };
        let mut breaches = Vec::new();
        let mut add = |evidence, what| breaches.push(Breach { what, evidence });
        let lost = self.lost.saturating_add(self.lost_at_start);
        let all = self.delivered.saturating_add(lost);
        if all == 0 {
            let what = "no message came through it, so its bound could not be judged";
            add(Evidence::Silence, what.into());
        }
        if self.late > 0 && timed {
            let what = format!(
                "{} of {} took longer than the bound of {}; the longest took {}",
                self.late,
                counted(self.delivered, "message"),
                duration(bound_ns),
                duration(self.delay.max_ns)
            );
            add(Evidence::Spans, what);
        }
        if let Some(what) = self.lossy(lost, all) {
            add(Evidence::Spans, what);
        }
        if let Some(what) = self.slow(0.0).filter(|_| timed && all > 0) {
            add(Evidence::Rate, what);
        }
        let out_s = self.out_s.filter(|out_s| *out_s > START_S);
        if let (Some(out_s), Some(_), true) = (out_s, self.required_rate, timed) {
            let what = format!(
                "no message came through it in the {out_s:.3} s after a restart of one of its partitions"
            );
            add(Evidence::Silence, what);
        }
        if let Some(silent_s) = self.silent_s.filter(|_| self.is_silent(timed)) {
            let what = format!("no message came through it in the last {silent_s:.3} s");
            add(Evidence::Silence, what);
        }
        // A budget is a time, too.
        for one in self.overruns.iter().filter(|_| timed) {
            let evidence = Evidence::Overruns(one.broken_spans_s.clone());
            add(evidence, one.sentence());
        }
        for one in self.early.iter().filter(|one| !one.is_port) {
            add(Evidence::Foreign, EarlyReport::sentence(one));
        }
        breaches
    }

    /// Returns a finding if more messages than admitted were lost, `lost` of `all`.
    fn lossy(&self, lost: u64, all: u64) -> Option<String> {
        let admitted = self.loss_bound.unwrap_or(1.0);
        let at_start = match self.lost_at_start {
            0 => String::new(),
            count => format!(", {count} of them before the first that came"),
        };
        let failed = self.failed.iter().map(FailedReport::sentence);
        let failed: String = failed.map(|one| format!("; {one}")).collect();
        (lost as f64 > admitted * all.max(1) as f64).then(|| {
            format!(
                "lost {lost} of {}{at_start}; {} % are admitted{failed}",
                counted(all, "message"),
                (1e4 * admitted).round() / 100.0
            )
        })
    }

    /// Returns `true` if a path with a periodic source has stopped: it was silent for much longer than between its messages. A job that
    /// overran may have stopped it, which is another finding.
    fn is_silent(&self, timed: bool) -> bool {
        const GAPS: f64 = 8.0;
        if self.overruns.iter().any(|one| one.stopped) {
            return false;
        }
        let [first_s, last_s] = self.between_s.unwrap_or_default();
        let gaps = self.delivered.saturating_sub(1).max(1) as f64;
        let longest = longest_silence(if timed { Kind::Virtual } else { Kind::Emulated });
        let admitted_s = longest + GAPS * (last_s - first_s) / gaps;
        self.silent_s.is_some_and(|silent_s| silent_s > admitted_s)
    }

    /// Returns a finding if the required rate is missed, over the whole time from its first message to the run's end without `down_s`
    /// seconds. The first and the last message may lie outside, and a source may begin late or pause for a tenth of the time.
    fn slow(&self, down_s: f64) -> Option<String> {
        const EDGES: f64 = 2.0;
        const PAUSES: f64 = 0.1;
        let required = self.required_rate?;
        let span_s = (self.span_s - down_s).max(0.0);
        let expected = required * (1.0 - self.loss_bound.unwrap_or(0.0)) * (1.0 - PAUSES) * span_s;
        (self.delivered as f64 + EDGES < expected).then(|| {
            format!(
                "carried {:.1} of the required {required:.1} messages per second",
                self.delivered as f64 / span_s.max(1e-9)
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::OverrunReport;

    fn path() -> PathReport {
        PathReport {
            partition: "control".into(),
            name: "steering".into(),
            delivered: 398,
            bound_ns: Some(1000),
            loss_bound: Some(0.0),
            required_rate: Some(400.0),
            span_s: 1.0,
            ..PathReport::default()
        }
    }

    #[test]
    fn a_path_keeps_its_guarantees_or_names_each_that_it_broke() {
        assert_eq!(path().broken(true), Vec::<String>::new());
        let slow = PathReport {
            delivered: 8,
            ..path()
        };
        assert_eq!(
            slow.broken(true),
            ["carried 8.0 of the required 400.0 messages per second"]
        );
        assert!(slow.broken(false).is_empty());
        let lossy = PathReport { lost: 1, ..path() };
        assert_eq!(
            lossy.broken(true),
            ["lost 1 of 399 messages; 0 % are admitted"]
        );
        let silent = PathReport {
            delivered: 0,
            ..path()
        };
        assert_eq!(silent.broken(true).len(), 1, "{:?}", silent.broken(true));
        let late = PathReport { late: 2, ..path() };
        assert!(
            late.broken(true)[0]
                .starts_with("2 of 398 messages took longer than the bound of 1 us")
        );
        let overran = PathReport {
            overruns: vec![OverrunReport {
                jobs: 1,
                ..OverrunReport::default()
            }],
            ..path()
        };
        let out = |out_s| PathReport {
            out_s: Some(out_s),
            ..path()
        };
        assert_eq!(out(1.0).broken(true), Vec::<String>::new(), "it starts");
        assert_eq!(out(5.0).broken(true).len(), 1, "nothing since a restart");
        assert_eq!(overran.broken(true).len(), 1);
        assert!(overran.broken(false).is_empty());
        assert!(
            PathReport {
                bound_ns: None,
                ..slow
            }
            .broken(true)
            .is_empty()
        );
    }

    #[test]
    fn a_periodic_path_that_stops_is_named() {
        let silent = |silent_s| PathReport {
            required_rate: None,
            between_s: Some([0.0, 1.0]),
            silent_s: Some(silent_s),
            ..path()
        };
        assert_eq!(silent(0.4).broken(true), Vec::<String>::new());
        assert_eq!(
            silent(2.0).broken(true),
            ["no message came through it in the last 2.000 s"]
        );
        assert!(silent(2.0).broken(false).is_empty());
        let overran = OverrunReport {
            jobs: 1,
            stopped: true,
            ..OverrunReport::default()
        };
        let stopped = PathReport {
            overruns: vec![overran],
            ..silent(2.0)
        };
        assert_eq!(stopped.broken(true).len(), 1, "the overrun is the reason");
    }

    #[test]
    fn messages_lost_before_the_first_that_came_are_lost() {
        let lossy = PathReport {
            lost_at_start: 2,
            ..path()
        };
        assert_eq!(
            lossy.broken(true),
            ["lost 2 of 400 messages, 2 of them before the first that came; 0 % are admitted"]
        );
    }
}
