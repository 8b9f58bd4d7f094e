//! Messages by channel, from the words of those at its ends
//!
//! Only a channel's writer can say that something was sent, only its readers that something was
//! received or lost: whatever else a partition traces counts nowhere. A standby speaks for the
//! partition it took over from.

use bulkhead_abi::trace::Event;
use bulkhead_plan::manifest::Manifest;
use std::collections::BTreeMap;

use crate::figures::Durations;
use crate::report::contents::ChannelReport;
use crate::watch::Clock;

/// All channels, by name.
#[derive(Debug, Default)]
pub(super) struct Messages {
    channels: BTreeMap<String, Channel>,
}

#[derive(Debug, Default)]
struct Channel {
    /// Writers: the partition of the description, and its standby.
    from: Vec<usize>,
    /// Readers, likewise.
    to: Vec<usize>,
    sent: u64,
    received: u64,
    lost: u64,
    backlog: u64,
    delay: Durations,
    /// Since when each reader has been there: its first reception since it was started.
    readers_since: BTreeMap<usize, u64>,
}

impl Messages {
    /// None yet, of the channels of `manifest`.
    pub(super) fn new(manifest: &Manifest) -> Self {
        let channels = manifest.channels.iter().map(|channel| {
            let ends = Channel {
                from: holders(manifest, &channel.from),
                to: channel
                    .to
                    .iter()
                    .flat_map(|name| holders(manifest, name))
                    .collect(),
                ..Channel::default()
            };
            (channel.name.clone(), ends)
        });
        Self {
            channels: channels.collect(),
        }
    }

    /// Partition `tracer` says that it sent a message.
    pub(super) fn sent(&mut self, tracer: usize, name: &str) {
        let writes = |channel: &&mut Channel| channel.from.contains(&tracer);
        if let Some(channel) = self.channels.get_mut(name).filter(writes) {
            channel.sent += 1;
        }
    }

    /// Partition `tracer` says that it received a message.
    pub(super) fn received(&mut self, tracer: usize, name: &str, event: &Event, clock: &Clock) {
        if let Some(channel) = self.channel_of_reader(tracer, name) {
            channel.receive(tracer, event, clock);
        }
    }

    /// Partition `tracer` says that `count` messages were lost. More than 32 bits can number are none: the head of a message
    /// was damaged.
    pub(super) fn lost(&mut self, tracer: usize, name: &str, count: u64) {
        if count > u64::from(u32::MAX) {
            return;
        }
        if let Some(channel) = self.channel_of_reader(tracer, name) {
            channel.lost = channel.lost.saturating_add(count);
        }
    }

    /// The host received a message.
    pub(super) fn received_by_host(&mut self, name: &str) {
        if let Some(channel) = self.channels.get_mut(name) {
            channel.received += 1;
        }
    }

    /// Partition `partition` was stopped: it receives nothing until it is started again.
    pub(super) fn stop(&mut self, partition: usize) {
        for channel in self.channels.values_mut() {
            channel.readers_since.remove(&partition);
        }
    }

    /// Adds the counts and delays of the channel that `report` names.
    pub(super) fn fill(&self, report: &mut ChannelReport) {
        if let Some(channel) = self.channels.get(&report.name) {
            report.sent = channel.sent;
            report.received = channel.received;
            report.lost = channel.lost;
            report.backlog = channel.backlog;
            report.delay = channel.delay.spread();
        }
    }

    fn channel_of_reader(&mut self, tracer: usize, name: &str) -> Option<&mut Channel> {
        let channel = self.channels.get_mut(name)?;
        channel.to.contains(&tracer).then_some(channel)
    }
}

/// Indices of the partition `name` and of its standby; none for the host.
fn holders(manifest: &Manifest, name: &String) -> Vec<usize> {
    let all = || manifest.partitions.iter();
    let standby = all()
        .find(|partition| partition.name == *name)
        .and_then(|partition| partition.standby.as_ref());
    let holds = |partition: &String| partition == name || Some(partition) == standby;
    let indices = all().enumerate();
    indices
        .filter(|(_, partition)| holds(&partition.name))
        .map(|(index, _)| index)
        .collect()
}

impl Channel {
    /// Counts a message; one that was sent before its receiver started waited for the receiver, not for the channel.
    fn receive(&mut self, tracer: usize, event: &Event, clock: &Clock) {
        self.received += 1;
        let there = *self.readers_since.entry(tracer).or_insert(event.ticks);
        if event.a < there {
            self.backlog += 1;
        } else {
            self.delay
                .add(clock.ns(event.ticks.saturating_sub(event.a)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bulkhead_abi::NAME_LEN;
    use bulkhead_abi::trace::EventKind;

    const WRITER: usize = 0;
    const READER: usize = 1;
    const NAME: &str = "sensors";

    fn messages() -> Messages {
        let ends = Channel {
            from: vec![WRITER],
            to: vec![READER],
            ..Channel::default()
        };
        Messages {
            channels: [(NAME.to_owned(), ends)].into(),
        }
    }

    fn receive(messages: &mut Messages, tracer: usize, sent: u64, at: u64) {
        let event = Event {
            ticks: at,
            kind: EventKind::Received as u32,
            sequence: 0,
            a: sent,
            b: 0,
            name: [0; NAME_LEN],
        };
        messages.received(tracer, NAME, &event, &Clock::new(62_500_000));
    }

    fn report(messages: &Messages) -> ChannelReport {
        let mut report = ChannelReport {
            name: NAME.into(),
            ..ChannelReport::default()
        };
        messages.fill(&mut report);
        report
    }

    #[test]
    fn both_ends_are_believed_about_their_own_side_only() {
        let mut messages = messages();
        for tracer in [WRITER, READER, 7] {
            messages.sent(tracer, NAME);
            messages.lost(tracer, NAME, 3);
            receive(&mut messages, tracer, 10, 10);
            messages.sent(tracer, "unknown");
        }
        let report = report(&messages);
        assert_eq!((report.sent, report.received, report.lost), (1, 1, 3));
    }

    #[test]
    fn what_waited_for_its_receiver_is_backlog_after_each_start() {
        let mut messages = messages();
        for (sent, at) in [(10, 100), (90, 101), (110, 120)] {
            receive(&mut messages, READER, sent, at);
        }
        assert_eq!(report(&messages).backlog, 2);
        assert_eq!(report(&messages).delay.max_ns, 160);
        messages.stop(WRITER);
        receive(&mut messages, READER, 130, 140);
        assert_eq!(report(&messages).backlog, 2);
        messages.stop(READER);
        receive(&mut messages, READER, 150, 300);
        receive(&mut messages, READER, 310, 320);
        let report = report(&messages);
        assert_eq!((report.backlog, report.received), (3, 6));
        assert_eq!((report.delay.count, report.delay.max_ns), (3, 160));
    }
}
