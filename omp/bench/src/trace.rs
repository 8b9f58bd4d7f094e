//! Examines a trace of the runtime (`omp/src/trace/on.rs` says what is in it).
//!
//! The question: did a search that found nothing begin after some task had become ready, and end
//! before that task's finder began to look? Then a worker idled while a task was ready.

use crate::runtime::{Trouble, trouble};
use std::collections::HashMap;
use std::fs;
use std::path::Path;

const READY: u64 = 1;
const TAKEN: u64 = 2;
const FAILED_SEARCH_BEGAN: u64 = 3;
const FAILED_SEARCH_ENDED: u64 = 4;

/// Figures of the trace; times in cycles.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Findings {
    /// Tasks and fibers that were ready for some time.
    pub(crate) tasks: usize,
    /// Searches that found nothing.
    pub(crate) failed_searches: usize,
    /// Searches that passed by a task which was ready all the time.
    pub(crate) violations: usize,
    /// The longest search that found nothing.
    pub(crate) longest_search: u64,
}

#[derive(Clone, Copy, Debug)]
struct Event {
    time: u64,
    subject: u64,
    worker: u64,
    kind: u64,
}

fn events(bytes: &[u8]) -> Vec<Event> {
    let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap_or_default());
    let words: Vec<u64> = bytes.chunks_exact(8).map(word).collect();
    let event = |w: &[u64]| match *w {
        [time, subject, worker, kind] => Some(Event {
            time,
            subject,
            worker,
            kind,
        }),
        _ => None,
    };
    words.chunks_exact(4).filter_map(event).collect()
}

/// Spans of time: begin, end.
type Spans = Vec<(u64, u64)>;

/// When each subject was surely ready, and when each failed search took place.
fn spans(events: &[Event]) -> (Spans, Spans) {
    let (mut ready, mut searches) = (Vec::new(), Vec::new());
    let (mut since, mut began) = (HashMap::new(), HashMap::new());
    for event in events {
        match event.kind {
            READY => drop(since.insert(event.subject, event.time)),
            TAKEN => {
                let begin = since.remove(&event.subject);
                ready.extend(
                    begin
                        .map(|b| (b, event.time))
                        .filter(|(begin, end)| begin < end),
                );
            }
            FAILED_SEARCH_BEGAN => drop(began.insert(event.worker, event.time)),
            FAILED_SEARCH_ENDED => {
                searches.extend(began.remove(&event.worker).map(|begin| (begin, event.time)));
            }
            _ => (),
        }
    }
    (ready, searches)
}

fn judge(events: &[Event]) -> Findings {
    let (mut ready, mut searches) = spans(events);
    ready.sort_unstable();
    searches.sort_unstable();
    let mut findings = Findings {
        tasks: ready.len(),
        failed_searches: searches.len(),
        longest_search: searches
            .iter()
            .map(|(begin, end)| end - begin)
            .max()
            .unwrap_or(0),
        violations: 0,
    };
    let mut earlier = ready.iter().peekable();
    let mut latest_end = 0;
    for (begin, end) in searches {
        while let Some((_, taken)) = earlier.next_if(|(since, _)| *since < begin) {
            latest_end = latest_end.max(*taken);
        }
        findings.violations += usize::from(latest_end > end);
    }
    findings
}

/// Reads and examines the trace in `file`.
pub(crate) fn examine(file: &Path) -> Result<Findings, Trouble> {
    let bytes = fs::read(file).map_err(|why| trouble(file.display(), why))?;
    Ok(judge(&events(&bytes)))
}

#[cfg(test)]
mod tests {
    use super::{Event, FAILED_SEARCH_BEGAN, FAILED_SEARCH_ENDED, READY, TAKEN, judge};

    fn event(time: u64, subject: u64, worker: u64, kind: u64) -> Event {
        Event {
            time,
            subject,
            worker,
            kind,
        }
    }

    fn search(worker: u64, begin: u64, end: u64) -> [Event; 2] {
        [
            event(begin, 0, worker, FAILED_SEARCH_BEGAN),
            event(end, 0, worker, FAILED_SEARCH_ENDED),
        ]
    }

    #[test]
    fn a_search_past_a_ready_task_is_found() {
        let mut events = vec![event(10, 7, 0, READY)];
        events.extend(search(1, 20, 30));
        events.push(event(40, 7, 0, TAKEN));
        assert_eq!(judge(&events).violations, 1);
    }

    #[test]
    fn a_search_that_overlaps_an_end_of_the_span_is_no_offence() {
        let mut events = vec![event(10, 7, 0, READY)];
        events.extend(search(1, 5, 30));
        events.extend(search(2, 20, 50));
        events.push(event(40, 7, 0, TAKEN));
        let findings = judge(&events);
        assert_eq!(
            (
                findings.violations,
                findings.failed_searches,
                findings.tasks
            ),
            (0, 2, 1)
        );
    }
}
