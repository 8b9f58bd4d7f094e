//! Follow a running machine: what its partitions print, trace, record and suffer
//!
//! Each poll reads what is new since the last one. The tool trusts nothing that it reads: sizes
//! come from the manifest, and nonsense costs its source only.

mod attach;
mod clock;
mod component_log;
mod console;
mod link;
mod records;
mod status;

pub use attach::{AttachedReader, Attachment, type_line};
pub use clock::{Clock, ns_to_ticks, ticks_to_ns};
pub use component_log::ComponentLogReader;
pub use console::{Lines, printable, stamp_ns};
pub use status::{Snapshot, StatusReader};

use bulkhead_abi::component_log::ComponentFault;
use bulkhead_abi::guest::ChannelKind;
use bulkhead_abi::status::{Action, FaultRecord};
use bulkhead_abi::trace::Event;
use bulkhead_plan::manifest::{Manifest, PartitionManifest};
use zerocopy::FromBytes;

use crate::error::RunError;
use crate::machine::RunFolder;
use crate::ram::Ram;
use console::Console;
use link::LinkReader;
use records::Records;

/// A fault, as it was recorded.
#[derive(Clone, Copy, Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "few are kept, and a fault is boxed on its way"
)]
pub enum RecordedFault {
    /// Of a partition, by its monitor.
    Partition(FaultRecord),
    /// Of a component, by the kernel of its partition.
    Component(ComponentFault),
}

impl RecordedFault {
    /// Counter value when it came.
    #[must_use]
    pub const fn ticks(&self) -> u64 {
        match self {
            Self::Partition(record) => record.ticks,
            Self::Component(fault) => fault.ticks,
        }
    }

    /// Returns `true` if an image starts anew in the same partition.
    #[must_use]
    pub fn restarts(&self) -> bool {
        const STARTING: [u32; 2] = [Action::Restart as u32, Action::Alternate as u32];
        matches!(self, Self::Partition(record) if STARTING.contains(&record.action))
    }
}

/// Something that was seen.
#[derive(Clone, Debug)]
pub enum Sight {
    /// A partition printed a whole line.
    Line {
        /// Index of the partition; `None` = the boot part.
        partition: Option<usize>,
        /// The line without its end.
        text: String,
    },
    /// A partition traced an event.
    Event {
        /// Index of the partition.
        partition: usize,
        /// Index of the recorder in the partition's trace.
        recorder: usize,
        /// The event.
        event: Event,
    },
    /// A message arrived on a recorder for the host.
    Record {
        /// Index of the channel.
        channel: usize,
        /// The message.
        message: Vec<u8>,
    },
    /// A partition faulted.
    Fault {
        /// Index of the partition.
        partition: usize,
        /// The record of the fault.
        fault: Box<RecordedFault>,
    },
    /// A partition announced that it is up.
    Up {
        /// Index of the partition.
        partition: usize,
        /// Counter value when it did.
        ticks: u64,
    },
    /// Faults of a partition were overwritten before they were read.
    Unseen {
        /// Index of the partition.
        partition: usize,
        /// Their cause; `None`: they are faults of components.
        cause: Option<usize>,
        /// How many.
        count: u64,
    },
    /// Events of a partition are missing between those that came before and those that come.
    Gap {
        /// Index of the partition.
        partition: usize,
    },
    /// The tool was too slow, or the source wrote nonsense: so many units are gone.
    Missed {
        /// Of what, for people.
        what: String,
        /// Bytes, events or messages.
        count: u64,
        /// The run's digest contains such units, too.
        in_digest: bool,
    },
}

/// Readers of one partition.
struct Partition<'m> {
    name: String,
    console: Option<Console<'m>>,
    traces: Vec<Records<'m>>,
    status: StatusReader,
    components: Option<ComponentLogReader>,
    link: LinkReader,
}

/// Everything that is followed.
pub struct Watch<'m> {
    ram: &'m Ram,
    partitions: Vec<Partition<'m>>,
    records: Vec<(usize, String, Records<'m>)>,
    uart: Uart<'m>,
}

/// The UART, on which the boot part prints before a partition may own it.
struct Uart<'m> {
    owner: Option<usize>,
    booted: bool,
    console: Console<'m>,
}

/// How each line of the boot part begins.
const BOOT_PART: &str = "bulkhead: ";

impl Uart<'_> {
    fn poll(&mut self, sights: &mut Vec<Sight>) {
        let Self {
            owner,
            booted,
            console,
        } = self;
        console.poll(|text| {
            *booted |= !text.starts_with(BOOT_PART);
            let partition = owner.filter(|_| *booted);
            sights.push(Sight::Line { partition, text });
        });
    }
}

impl<'m> Watch<'m> {
    /// Begins to follow the machine; its memory is `ram`.
    ///
    /// # Errors
    /// The manifest does not fit the memory.
    pub fn new(ram: &'m Ram, manifest: &Manifest, folder: &RunFolder) -> Result<Self, RunError> {
        let follow = |partition| follow(ram, partition);
        let partitions: Vec<_> = manifest
            .partitions
            .iter()
            .map(follow)
            .collect::<Result<_, _>>()?;
        let recorder = |kind: &str| kind == kind_name(ChannelKind::Recorder);
        let to_host = |to: &[String]| to.iter().any(|end| end == "host");
        let records = manifest
            .channels
            .iter()
            .enumerate()
            .filter(|(_, channel)| recorder(&channel.kind) && to_host(&channel.to))
            .map(|(index, channel)| {
                let shape = (channel.message as usize, channel.messages as usize);
                Records::new(ram.view(channel.region)?, shape)
                    .map(|records| (index, channel.name.clone(), records))
            })
            .collect::<Result<_, _>>()?;
        let owner = manifest
            .partitions
            .iter()
            .position(|partition| partition.console.is_none());
        let uart = Uart {
            owner,
            booted: false,
            console: Console::of_log(folder.uart_log()),
        };
        Ok(Self {
            ram,
            partitions,
            records,
            uart,
        })
    }

    /// Returns everything new.
    pub fn poll(&mut self) -> Vec<Sight> {
        let mut sights = Vec::new();
        for (index, partition) in self.partitions.iter_mut().enumerate() {
            partition.poll(index, self.ram, &mut sights);
        }
        for (channel, name, records) in &mut self.records {
            let mut gaps = 0_u64;
            let behind = records.poll(|lost, bytes| {
                gaps = gaps.saturating_add(lost);
                sights.push(Sight::Record {
                    channel: *channel,
                    message: bytes.to_vec(),
                });
            });
            report_missed(&mut sights, gaps.saturating_add(behind), || {
                format!("messages of channel `{name}`")
            });
        }
        self.uart.poll(&mut sights);
        sights
    }

    /// Newest moment any heartbeat tells, by partition: index and ticks.
    pub fn heartbeats(&self, manifest: &Manifest) -> Vec<(usize, u64)> {
        let read = |(index, partition): (usize, &PartitionManifest)| {
            self.ram
                .read::<u64>(partition.heartbeat)
                .ok()
                .map(|ticks| (index, ticks))
        };
        manifest
            .partitions
            .iter()
            .enumerate()
            .filter_map(read)
            .collect()
    }

    /// Counters, states and fault logs as they are now.
    #[must_use]
    pub fn snapshot(&self, manifest: &Manifest) -> Vec<Snapshot> {
        manifest
            .partitions
            .iter()
            .map(|partition| Snapshot::read(self.ram, partition))
            .collect()
    }
}

impl Partition<'_> {
    fn poll(&mut self, index: usize, ram: &Ram, sights: &mut Vec<Sight>) {
        let name = &self.name;
        if let Some(ticks) = self.link.new_up(ram) {
            sights.push(Sight::Up {
                partition: index,
                ticks,
            });
        }
        let mut traces = Vec::new();
        for trace in &mut self.traces {
            let mut events = Vec::new();
            let behind = trace.poll(|lost, bytes| {
                if let Ok((event, _)) = Event::read_from_prefix(bytes) {
                    events.push((lost, event));
                }
            });
            let gaps = events.iter().map(|(lost, _)| *lost);
            let missed = gaps.fold(behind, u64::saturating_add);
            if behind > 0 {
                sights.push(Sight::Gap { partition: index });
            }
            report_missed(sights, missed, || format!("trace events of `{name}`"));
            traces.push(events);
        }
        let (faults, missed) = self.status.new_faults(ram);
        let mut faults: Vec<_> = faults.into_iter().map(RecordedFault::Partition).collect();
        let mut unseen: Vec<_> = missed
            .into_iter()
            .enumerate()
            .map(|(cause, count)| (Some(cause), count))
            .collect();
        if let Some(components) = &mut self.components {
            let (of_components, missed) = components.new_faults(ram);
            faults.extend(of_components.into_iter().map(RecordedFault::Component));
            unseen.push((None, missed));
        }
        faults.sort_by_key(RecordedFault::ticks);
        unseen.retain(|(_, count)| *count > 0);
        sights.extend(unseen.into_iter().map(|(cause, count)| Sight::Unseen {
            partition: index,
            cause,
            count,
        }));
        merge(index, in_order(traces), faults, sights);
        if let Some(console) = &mut self.console {
            let line = |text| {
                sights.push(Sight::Line {
                    partition: Some(index),
                    text,
                })
            };
            let missed = console.poll(line);
            report_missed(sights, missed, || format!("console bytes of `{name}`"));
        }
    }
}

/// Events of several recorders with what was lost before each and the recorder's index: those of one recorder in its
/// order, those of different ones by their time.
fn in_order(traces: Vec<Vec<(u64, Event)>>) -> impl Iterator<Item = (u64, usize, Event)> {
    let mut traces: Vec<_> = traces
        .into_iter()
        .map(|events| events.into_iter().peekable())
        .collect();
    std::iter::from_fn(move || {
        let heads = traces.iter_mut().enumerate();
        let heads = heads.filter_map(|(recorder, events)| {
            let (_, event) = events.peek()?;
            Some((event.ticks, recorder))
        });
        let (_, recorder) = heads.min()?;
        let (lost, event) = traces[recorder].next()?;
        Some((lost, recorder, event))
    })
}

/// Puts each fault in front of the events that came after it. The log was read after the trace, so
/// the fault that ended one life of the partition is seen no later than the next life's events.
fn merge(
    partition: usize,
    events: impl Iterator<Item = (u64, usize, Event)>,
    faults: Vec<RecordedFault>,
    sights: &mut Vec<Sight>,
) {
    let fault = |fault| Sight::Fault {
        partition,
        fault: Box::new(fault),
    };
    let mut faults = faults.into_iter().peekable();
    for (lost, recorder, event) in events {
        if lost > 0 {
            sights.push(Sight::Gap { partition });
        }
        while let Some(record) = faults.next_if(|fault| fault.ticks() < event.ticks) {
            sights.push(fault(record));
        }
        sights.push(Sight::Event {
            partition,
            recorder,
            event,
        });
    }
    sights.extend(faults.map(fault));
}

fn follow<'m>(ram: &'m Ram, partition: &PartitionManifest) -> Result<Partition<'m>, RunError> {
    let console = |console: bulkhead_plan::manifest::ConsoleManifest| {
        Console::of_recorder(ram.view(console.output)?, console.output.size)
    };
    let trace = |region: &bulkhead_plan::manifest::Region| {
        Records::new(ram.view(*region)?, records::trace_shape(region.size))
    };
    Ok(Partition {
        name: partition.name.clone(),
        console: partition.console.map(console).transpose()?,
        traces: partition
            .traces
            .iter()
            .map(trace)
            .collect::<Result<_, _>>()?,
        status: StatusReader::new(partition.status),
        components: partition.component_log.map(ComponentLogReader::new),
        link: LinkReader::new(partition.link),
    })
}

/// Puts it on record if anything that the digest is made of was missed.
fn report_missed(sights: &mut Vec<Sight>, count: u64, what: impl Fn() -> String) {
    if count > 0 {
        sights.push(Sight::Missed {
            what: what(),
            count,
            in_digest: true,
        });
    }
}

/// The manifest's word for a kind of channel.
#[must_use]
pub const fn kind_name(kind: ChannelKind) -> &'static str {
    match kind {
        ChannelKind::FourSlot => "four-slot",
        ChannelKind::Ring => "ring",
        ChannelKind::Mailbox => "mailbox",
        ChannelKind::Recorder => "recorder",
        ChannelKind::Memory => "memory",
    }
}
