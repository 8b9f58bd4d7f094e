//! Counts of messages that a channel's buffer holds in shared memory
//!
//! Stages of pipes, and partitions without a trace, record no message of their channels. The buffer's own control words
//! (`doc/interfaces/channel.md`) count what was written, and in a ring what was read. Any end can write them: a count that no
//! correct buffer can have is no count.

use bulkhead_plan::manifest::ChannelManifest;

use crate::error::RunError;
use crate::report::contents::ChannelReport;

/// Offset of the consumer's word in a ring, bytes.
const CONSUMER: u64 = 64;
/// Offset of the number of messages that a ring's sender dropped, bytes.
const REFUSED: u64 = 8;
/// Offset of the number of records that were written to a recorder, bytes.
const COMMITTED: u64 = 8;
/// Place of the number of the newest message in a four-slot buffer's control word.
const SEQUENCE: u32 = 3;
/// Numbers from which on a control word is nonsense.
const IMPLAUSIBLE: u64 = 1 << 60;

/// Adds the counts of the buffer to `report` where no trace has counted, and the number of messages that a ring refused; `word` returns the word at a physical address.
pub(crate) fn fill(
    report: &mut ChannelReport,
    channel: &ChannelManifest,
    word: impl Fn(u64) -> Result<u64, RunError>,
) {
    if channel.kind == "ring" {
        let refused = word(channel.region.pa + REFUSED).ok();
        report.refused = refused.filter(|count| *count < IMPLAUSIBLE).unwrap_or(0);
    }
    let [sent, received] = counts(channel, word);
    if let Some(sent) = sent.filter(|_| report.sent == 0) {
        (report.sent, report.is_sent_counted) = (sent, true);
    }
    if let Some(received) = received.filter(|_| report.received == 0) {
        (report.received, report.is_received_counted) = (received, true);
    }
    // A reader may trace other things than what it receives.
    let is_unread = report.received == 0 && report.lost == 0 && report.sent > 0;
    if received.is_none() && is_unread {
        report.is_received_counted = false;
    }
}

/// Returns the numbers of messages sent and received, `None` where the buffer has no such count.
fn counts(
    channel: &ChannelManifest,
    word: impl Fn(u64) -> Result<u64, RunError>,
) -> [Option<u64>; 2] {
    let at = |offset| word(channel.region.pa + offset).ok();
    match channel.kind.as_str() {
        "ring" => {
            let ends = at(0).zip(at(CONSUMER)).filter(|(sent, received)| {
                let held = sent.checked_sub(*received);
                held.is_some_and(|held| held <= channel.messages.into())
            });
            ends.map_or([None; 2], |(sent, received)| [Some(sent), Some(received)])
        }
        // The reader stores no number.
        "four-slot" => {
            let newest = at(0).map(|control| control >> SEQUENCE);
            [newest.filter(|number| *number < IMPLAUSIBLE), None]
        }
        "recorder" => {
            let written = at(COMMITTED);
            [written.filter(|number| *number < IMPLAUSIBLE), None]
        }
        // Parts of a mailbox are counted over both directions, and a message may have several.
        _ => [None; 2],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bulkhead_buffers::recorder::records;
    use bulkhead_buffers::{four_slot, ring};
    use bulkhead_plan::manifest::Region;
    use std::sync::atomic::{AtomicU64, Ordering};

    const BYTES: usize = 16;
    const PLACES: usize = 4;
    const BASE: u64 = 0x4000_0000;

    /// Returns the counts of a channel that no end traces, with its buffer in `memory`.
    fn filled(kind: &str, memory: &[AtomicU64]) -> [Option<u64>; 3] {
        let channel = ChannelManifest {
            name: "steer.1-2".into(),
            kind: kind.into(),
            from: "control".into(),
            to: vec!["linux".into()],
            region: Region {
                pa: BASE,
                size: 4096,
            },
            message: BYTES as u32,
            messages: PLACES as u32,
        };
        let mut report = ChannelReport::default();
        fill(&mut report, &channel, |pa| {
            Ok(memory[(pa - BASE) as usize / 8].load(Ordering::Relaxed))
        });
        [
            report.is_sent_counted.then_some(report.sent),
            report.is_received_counted.then_some(report.received),
            (kind == "ring").then_some(report.refused),
        ]
    }

    #[test]
    fn buffers_of_ends_that_record_nothing_are_counted_from_their_words() {
        let memory: Vec<_> = (0..512).map(|_| AtomicU64::new(0)).collect();
        let region = || bulkhead_buffers::Region::from_words(&memory);
        let clear = || region().clear();

        let layout = four_slot::Layout::for_messages(BYTES).expect("a layout");
        let mut writer = four_slot::Writer::attach(region(), &layout).expect("room");
        for _ in 0..7 {
            writer.write(&[1; BYTES]).expect("written");
        }
        assert_eq!(filled("four-slot", &memory), [Some(7), None, None]);
        clear();

        let layout = ring::Layout::for_messages(BYTES, PLACES).expect("a layout");
        let mut producer = ring::Producer::attach(region(), &layout).expect("room");
        let mut consumer = ring::Consumer::attach(region(), &layout).expect("room");
        for _ in 0..3 {
            producer.try_push(&[1; BYTES]).expect("room");
        }
        consumer.try_pop(&mut [0; BYTES]).expect("a message");
        assert_eq!(filled("ring", &memory), [Some(3), Some(1), Some(0)]);
        for _ in 0..4 {
            if producer.try_push(&[1; BYTES]).is_err() {
                producer.count_refused();
            }
        }
        assert_eq!(filled("ring", &memory), [Some(5), Some(1), Some(2)]);
        // A sender that starts anew counts on.
        producer = ring::Producer::attach(region(), &layout).expect("room");
        producer.count_refused();
        assert_eq!(filled("ring", &memory), [Some(5), Some(1), Some(3)]);
        clear();

        let layout = records::Layout::for_records(BYTES, PLACES).expect("a layout");
        let mut writer = records::Writer::attach(region(), &layout).expect("room");
        for _ in 0..5 {
            writer.write(&[1; BYTES]).expect("written");
        }
        assert_eq!(filled("recorder", &memory), [Some(5), None, None]);
        clear();
        assert_eq!(filled("mailbox", &memory), [None, None, None]);
    }

    #[test]
    fn a_reader_that_traces_other_things_counts_no_message() {
        let channel = ChannelManifest {
            name: "state".into(),
            kind: "four-slot".into(),
            from: "plant".into(),
            to: vec!["control".into()],
            region: Region {
                pa: BASE,
                size: 4096,
            },
            message: BYTES as u32,
            messages: 1,
        };
        let filled = |received| {
            let mut report = ChannelReport {
                is_sent_counted: true,
                is_received_counted: true,
                sent: 7,
                received,
                ..ChannelReport::default()
            };
            fill(&mut report, &channel, |_| Ok(0));
            report.is_received_counted
        };
        assert!(filled(1));
        assert!(!filled(0));
    }

    #[test]
    fn words_that_no_correct_buffer_has_are_no_count() {
        let memory: Vec<_> = (0..16).map(|_| AtomicU64::new(u64::MAX)).collect();
        for kind in ["four-slot", "recorder"] {
            assert_eq!(filled(kind, &memory), [None; 3], "{kind}");
        }
        memory[8].store(3, Ordering::Relaxed);
        assert_eq!(filled("ring", &memory), [None, None, Some(0)]);
    }

    #[test]
    fn what_a_trace_has_counted_stays() {
        let mut report = ChannelReport {
            sent: 2,
            ..ChannelReport::default()
        };
        let channel = ChannelManifest {
            name: "sensors".into(),
            kind: "ring".into(),
            from: "plant".into(),
            to: vec!["control".into()],
            region: Region {
                pa: BASE,
                size: 4096,
            },
            message: BYTES as u32,
            messages: PLACES as u32,
        };
        fill(&mut report, &channel, |pa| Ok(5 - (pa - BASE) / CONSUMER));
        assert_eq!((report.sent, report.received), (2, 4));
    }
}
