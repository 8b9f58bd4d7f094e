//! Sends frames over CAN and measures the time to the answer, like the Arduinos of "Tuned Pipes" §4
//!
//! There are two streams of numbered frames. An answer, on either of two identifiers, repeats the
//! newest number of each stream, in a quarter of the word each. So there are four paths, of which
//! unconnected ones are silent. A message has left its path when an answer repeats its number, or a
//! later one of its stream, for the first time.
//!
//! Argument words: `gap4_us=`, `gap5_us=`: interval of the frames of a stream (2500; 0: none),
//! `jitter=PERCENT`: maximum extension of an interval (4), `seed=`, `start_ms=`, `until_ms=` (0:
//! for ever).
#![no_std]
#![no_main]

use bulkhead_abi::can::Frame;
use bulkhead_component::can::Can;
use bulkhead_component::{Environment, clock, println};
use bulkhead_guest::{ChannelError, Home, trace};
use bulkhead_sched::harness::Random;
use core::convert::Infallible;

bulkhead_component::application!(run);

/// Identifiers of each stream: of its frames, and of their answers.
const IDENTIFIERS: [[u16; 2]; STREAMS] = [[0x140, 0x141], [0x150, 0x151]];
const STREAMS: usize = 2;
/// Names of paths, by stream of the frame, then by identifier of the answer.
const PATHS: [[&str; STREAMS]; STREAMS] = [["can4-can4", "can4-can5"], ["can5-can4", "can5-can5"]];
/// Number of values in a quarter of a word, including 0, which means none.
const NUMBERS: u64 = 1 << 16;
/// Number of frames for which the time of sending is stored: a later answer counts as lost.
const REMEMBERED: u64 = 256;

fn run(env: &Environment) -> Result<Infallible, ChannelError> {
    let Ok(can) = Can::open(env) else {
        panic!("{}: no CAN", env.name())
    };
    let _counted_from_here = env.ready();
    let mut probe = Probe::new(env, can);
    let mut last_report = clock::now();
    loop {
        let now = clock::now();
        probe.take();
        let due = (0..STREAMS).filter_map(|stream| probe.ask(env, stream, now));
        let due = due.min();
        if now >= last_report + clock::frequency() {
            last_report += clock::frequency();
            probe.tell();
        }
        // The driver's queue holds the frames of about ten milliseconds.
        let soon = clock::now() + clock::frequency() / 1000;
        env.sleep_until(due.unwrap_or(soon).min(soon));
    }
}

struct Stream {
    gap: u64,
    next: u64,
    sent: u64,
    sent_at: [u64; REMEMBERED as usize],
    /// By stream of the answer: the next number that is new there.
    fresh: [u64; STREAMS],
}

struct Probe {
    can: Can,
    streams: [Stream; STREAMS],
    random: Random,
    jitter: u64,
    until: u64,
    answers: u64,
    unsent: u64,
}

impl Probe {
    fn new(env: &Environment, can: Can) -> Self {
        let ticks =
            |per_s: u64, key: &str, usual| env.number(key, usual) * clock::frequency() / per_s;
        let start = clock::now() + ticks(1000, "start_ms", 0);
        let mut random = Random::new(env.number("seed", 1));
        let streams = ["gap4_us", "gap5_us"].map(|key| {
            let gap = ticks(1_000_000, key, 2500);
            Stream {
                gap,
                next: start + random.below(gap.max(1)),
                sent: 0,
                sent_at: [0; REMEMBERED as usize],
                fresh: [0; STREAMS],
            }
        });
        let until = match env.number("until_ms", 0) {
            0 => u64::MAX,
            _ => start + ticks(1000, "until_ms", 0),
        };
        Self {
            can,
            streams,
            random,
            jitter: env.number("jitter", 4),
            until,
            answers: 0,
            unsent: 0,
        }
    }

    /// Sends the due frame of a stream. Returns the time of the next one.
    fn ask(&mut self, env: &Environment, number: usize, now: u64) -> Option<u64> {
        let stream = self.streams.get_mut(number)?;
        if stream.gap == 0 || stream.next >= self.until {
            return None;
        }
        if now >= stream.next {
            let name = stream.sent % (NUMBERS - 1) + 1;
            let data = name << (16 * number);
            let frame = Frame::new(IDENTIFIERS[number][0], &data.to_le_bytes());
            let at = match self.can.send(env, &frame, stream.next + stream.gap) {
                Ok(at) => {
                    stream.sent_at[(stream.sent % REMEMBERED) as usize] = at;
                    stream.sent += 1;
                    at
                }
                Err(_) => {
                    self.unsent += 1;
                    clock::now()
                }
            };
            // The interval is never shorter than the gap.
            stream.next = at + stream.gap + self.random.below(stream.gap * self.jitter / 100 + 1);
        }
        Some(stream.next)
    }

    fn take(&mut self) {
        while let Some(received) = self.can.receive() {
            let answers = |[_, answer]: &[u16; 2]| received.frame.id == u32::from(*answer);
            let Some(whither) = IDENTIFIERS.iter().position(answers) else {
                continue;
            };
            self.answers += 1;
            let word = u64::from_le_bytes(received.frame.data);
            for (whence, stream) in self.streams.iter_mut().enumerate() {
                let name = word >> (16 * whence) & (NUMBERS - 1);
                if let Some((number, sent)) = stream.departed(name, whither) {
                    let path = PATHS[whence][whither];
                    trace::delivered::<Environment>(path, number, [sent, received.at]);
                }
            }
        }
    }

    fn tell(&self) {
        let [four, five] = self.streams.each_ref().map(|stream| stream.sent);
        let (answers, unsent) = (self.answers, self.unsent);
        let [_, _, dropped, overruns, malformed, bus_offs] = self.can.counts();
        println!(
            "asked {four} and {five}, {answers} answers, unsent={unsent} dropped={dropped} overruns={overruns} \
             malformed={malformed} bus-offs={bus_offs}"
        );
    }
}

impl Stream {
    /// Number and time of sending of the message with that name, if it is answered there for the
    /// first time.
    fn departed(&mut self, name: u64, whither: usize) -> Option<(u32, u64)> {
        let newest = self.sent.checked_sub(1)?;
        let before = (newest + NUMBERS - name) % (NUMBERS - 1);
        let number = newest.checked_sub(before)?;
        let fresh = self.fresh.get_mut(whither)?;
        if name == 0 || before >= REMEMBERED || number < *fresh {
            return None;
        }
        *fresh = number + 1;
        Some((number as u32, self.sent_at[(number % REMEMBERED) as usize]))
    }
}
