//! Buffers between stages and the bridge: files, empty at each start
//!
//! They have the same format as buffers between stages. The bridge may end and start again, because
//! its position is stored in the file.

use super::{Builder, StartError};
use bulkhead_buffers::Region;
use bulkhead_linux::{Channel, Description, Kind as ChannelKind, Role};
use bulkhead_stages::link::{Input, Kind, OUTWARD_PLACES, Output, Shape};
use bulkhead_stages::message::BYTES;

impl Builder<'_> {
    /// Creates the buffer from which the bridge takes the messages of a last stage.
    pub(super) fn lead_outward(&mut self, number: usize) -> Result<(), StartError> {
        let kind = match self.pipe.each {
            true => Kind::Each(OUTWARD_PLACES),
            false => Kind::Newest,
        };
        let region = self.file(number, "", kind, Role::Writer)?;
        let output = Output::attach(kind, region);
        let output = output.ok_or_else(|| self.no_buffer(number, number))?;
        self.outputs[number].push((output, None));
        Ok(())
    }

    /// Creates the buffer into which the bridge puts messages for a first stage. The stage
    /// polls it, because the bridge cannot release the stage.
    pub(super) fn lead_inward(&mut self, number: usize) -> Result<(), StartError> {
        let kind = self.shape(number).kind;
        let region = self.file(number, ".in", kind, Role::Reader)?;
        let input = Input::attach(kind, region);
        let input = input.ok_or_else(|| self.no_buffer(number, number))?;
        let place = self.reads(number, number, input)?;
        self.across[number] |= 1 << place;
        Ok(())
    }

    /// Creates the file `PIPE.STAGE` with the suffix that the bridge expects.
    fn file(
        &mut self,
        number: usize,
        suffix: &str,
        kind: Kind,
        role: Role,
    ) -> Result<Region<'static>, StartError> {
        let name = format!("{}.{}{suffix}", self.pipe.name, number + 1);
        let none = || self.no_buffer(number, number);
        let path = self.around.outward.ok_or_else(none)?.join(&name);
        let bytes = Shape::from(kind).bytes().ok_or_else(none)?;
        let (kind, messages) = match kind {
            Kind::Newest => (ChannelKind::FourSlot, 1),
            Kind::Each(places) => (ChannelKind::Ring, places as usize),
        };
        let description = Description {
            name,
            peer: String::new(),
            standby: None,
            kind,
            role,
            message_bytes: BYTES,
            messages,
            read_only: false,
        };
        let before = self.kept(&description.name);
        let device = |error| self.device(error);
        let channel = match before {
            // The bridge still writes to an input and knows its position there; the stage that
            // begins drops what waits.
            Some(channel) if role == Role::Reader => channel,
            Some(channel) => {
                channel.region().map_err(device)?.clear();
                channel
            }
            None => Channel::create_file(&path, bytes, description).map_err(device)?,
        };
        let region = channel.region().map_err(device)?;
        self.kept.channels.push(channel);
        Ok(region)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Around, Kept};
    use super::*;
    use crate::budget::Halt;
    use crate::plan::{Plan, Source};
    use crate::recording::NOTES;
    use crate::stage::{Left, Shared};
    use bulkhead_linux::{BytesWriter, ticks};
    use bulkhead_stages::message::Message;
    use std::path::{Path, PathBuf};
    use std::sync::Arc;
    use std::sync::atomic::Ordering::Acquire;
    use std::sync::mpsc::{Receiver, sync_channel};
    use std::thread::{self, JoinHandle};
    use std::time::{Duration, Instant};
    use zerocopy::IntoBytes;

    /// Longer than any step of the test takes.
    const DEADLINE: Duration = Duration::from_secs(40);

    /// A pipe `emit | emit` without reservations that begins at the bridge and polls every 2 ms.
    struct Runs {
        folder: PathBuf,
        ring: bool,
        left: Receiver<Left>,
        halt: Halt,
        second: Arc<Shared>,
        threads: Vec<JoinHandle<()>>,
        _kept: Kept,
    }

    impl Runs {
        fn start(name: &str) -> Self {
            let buffering = name.split('-').next().unwrap_or(name);
            let name = format!("bulkhead-beyond-{}-{name}", std::process::id());
            let folder = std::env::temp_dir().join(name);
            let text = format!(
                "{buffering}/emit,60000000,2000000,0,1,1,4/emit,60000000,2000000,1,2,1,200"
            );
            let mut plan: Plan = text.parse().expect("a plan");
            let pipe = &mut plan.pipes[0];
            pipe.name = "in".into();
            pipe.stages[0].source = Source::Bridge;
            pipe.stages[0].fallback = Some((50_000_000, "neutral".into()));
            pipe.stages[1].traced = true;
            let (sender, left) = sync_channel(NOTES);
            let around = Around {
                outward: Some(&folder),
                ..Around::default()
            };
            let builder = Builder::new(pipe, &around, Kept::default());
            let (ready, kept) = builder.build(&sender).expect("built");
            let (halt, second) = (ready[0].halt.clone(), Arc::clone(&ready[1].shared));
            let threads = ready.into_iter().map(|one| thread::spawn(|| one.run()));
            let threads: Vec<_> = threads.collect();
            // Set only here.
            let _ = second.thread.set(threads[1].thread().clone());
            threads[1].thread().unpark();
            Self {
                folder,
                ring: buffering == "each",
                left,
                halt,
                second,
                threads,
                _kept: kept,
            }
        }

        /// Attaches as the bridge does at each of its starts.
        fn bridge(&self) -> BytesWriter {
            let path: &Path = &self.folder.join("in.1.in");
            let description = Description {
                name: "in.1.in".into(),
                peer: String::new(),
                standby: None,
                kind: match self.ring {
                    true => ChannelKind::Ring,
                    false => ChannelKind::FourSlot,
                },
                role: Role::Writer,
                message_bytes: BYTES,
                messages: 4,
                read_only: false,
            };
            let channel = Channel::over_file(path, description).expect("the stage made it");
            channel.bytes_writer().expect("as it is described")
        }

        fn put(&self, bridge: &mut BytesWriter, data: [u64; 2]) {
            let message = Message {
                put: ticks(),
                data,
                ..Message::default()
            };
            bridge.put(message.as_bytes()).expect("room");
        }

        /// Waits until the end of a task has passed through, and checks that nothing follows it.
        fn stop(&self) {
            self.halt.stop();
            let end = Instant::now() + DEADLINE;
            while self.second.ended.load(Acquire) == 0 {
                assert!(Instant::now() < end, "an end");
                thread::yield_now();
            }
            self.left.try_iter().for_each(drop);
        }

        fn begin(&self) {
            self.halt.start(0);
            self.threads[0].thread().unpark();
        }

        /// The next message that leaves.
        fn any(&self) -> Left {
            self.left.recv_timeout(DEADLINE).expect("a message")
        }

        /// The next message that entered at the bridge, or that a fallback made.
        fn next(&self, entered: bool) -> Left {
            let end = Instant::now() + DEADLINE;
            loop {
                assert!(Instant::now() < end, "one in time");
                let left = self.any();
                if (left.message.entries[0].number != 0) == entered {
                    return left;
                }
            }
        }
    }

    impl Drop for Runs {
        fn drop(&mut self) {
            self.halt.halt();
            for thread in self.threads.drain(..) {
                let _ended = thread.join();
            }
            let _gone = std::fs::remove_dir_all(&self.folder);
        }
    }

    #[test]
    fn what_the_bridge_puts_in_enters_there_and_silence_falls_back() {
        for buffering in ["newest", "each"] {
            let runs = Runs::start(buffering);
            // The stages begin with messages of that time. Until one arrives, the fallback shows
            // that the stages run.
            runs.next(false);
            let mut number = 0;
            // The second time, the bridge has restarted.
            for data in [[5, 6], [7, 8]] {
                let mut bridge = runs.bridge();
                let before = ticks();
                let message = Message {
                    put: before,
                    data,
                    ..Message::default()
                };
                bridge.put(message.as_bytes()).expect("room");
                let left = runs.next(true);
                number += 1;
                assert_eq!(
                    (left.message.data, left.message.entries[0].number),
                    (data, number)
                );
                assert!((before..=left.at).contains(&left.message.entries[0].at));
                let silent = runs.next(false);
                assert_eq!(silent.message.data, [0; 2], "neutral, {buffering}");
            }
        }
    }

    /// Messages that arrived while the pipe was stopped are dropped; the fallback reports their
    /// absence once it runs.
    #[test]
    fn what_begins_at_the_bridge_is_stopped_and_started() {
        for buffering in ["newest", "each"] {
            let runs = Runs::start(&format!("{buffering}-stopped"));
            let mut bridge = runs.bridge();
            runs.next(false);
            runs.put(&mut bridge, [1, 1]);
            assert_eq!(runs.next(true).message.data, [1, 1]);
            runs.stop();
            runs.put(&mut bridge, [2, 2]);
            assert!(runs.left.try_recv().is_err(), "{buffering}");
            runs.begin();
            assert_eq!(runs.any().message.data, [0; 2], "neutral, {buffering}");
            runs.put(&mut bridge, [3, 3]);
            assert_eq!(runs.next(true).message.data, [3, 3]);
        }
    }

    #[test]
    fn without_a_folder_there_is_no_such_pipe() {
        let mut plan: Plan = "newest/emit,1,2,0,1,1,1".parse().expect("a plan");
        plan.pipes[0].stages[0].source = Source::Bridge;
        let (sender, _left) = sync_channel(NOTES);
        let around = Around::default();
        let built = Builder::new(&plan.pipes[0], &around, Kept::default()).build(&sender);
        let refused = built.map(|_| ()).expect_err("nowhere");
        assert!(refused.to_string().contains("no buffer"), "{refused}");
    }
}
