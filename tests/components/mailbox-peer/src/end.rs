//! The two ends of the exchange

use crate::{CORE, RECEIVE, Settings};
use bulkhead_abi::guest::{ChannelEnd, Role};
use bulkhead_abi::kernel::{Operation, first};
use bulkhead_buffers::mailbox::{Flags, Layout, Mailbox, Side};
use bulkhead_buffers::{Error, Region};
use bulkhead_component::call::call;
use bulkhead_component::clock::ticks;
use bulkhead_component::figure::Figure;
use bulkhead_component::{clock, println};
use bulkhead_sched::harness::Random;
use bulkhead_slite::Mutex;
use core::sync::atomic::Ordering::Relaxed;

/// Bytes of the slot.
const SLOT: usize = 4096;
/// Ticks between two reads of the clock that show that the budget was used up.
const GAP_NS: u64 = 500_000;
/// Reason text for the lock of the buffer, which only one thread uses.
const KEPT: &str = "nobody keeps it";
/// Seed of the pauses.
const SEED: u64 = 0x001;

/// Bytes to be sent, or received.
static BYTES: Mutex<[u8; SLOT]> = Mutex::new([0; SLOT]);

/// An end of the channel.
pub(crate) struct End {
    mailbox: Mailbox<'static>,
    doorbell: u64,
    random: Random,
}

impl End {
    pub(crate) fn open(region: Region<'static>, channel: &ChannelEnd) -> Option<Self> {
        let side = match channel.role {
            role if role == Role::Writer as u32 => Side::First,
            _ => Side::Second,
        };
        let layout = Layout::for_slot(channel.message_size as usize).ok()?;
        Some(Self {
            mailbox: Mailbox::attach(region, &layout, side).ok()?,
            doorbell: channel.doorbell_out.into(),
            random: Random::new(SEED),
        })
    }

    /// Moves a slot's worth of bytes, for the configured part of the budget.
    fn move_bytes(settings: Settings) {
        let gap = ticks(GAP_NS);
        let mut remaining = ticks(settings.delta_ns * SLOT as u64);
        let mut last = clock::now();
        while remaining > 0 {
            let now = clock::now();
            let passed = now - last;
            remaining = remaining.saturating_sub(if passed < gap { passed } else { 0 });
            last = now;
        }
    }

    fn wait() -> u64 {
        CORE.threads
            .wait_notified(RECEIVE.load(Relaxed))
            .unwrap_or(0)
    }

    fn ring(&self) {
        let _within_limit = call(first::MONITOR, Operation::Ring, [self.doorbell]);
    }

    fn send(&mut self, flags: Flags) {
        loop {
            let sent = BYTES.with(&CORE.threads, |bytes| self.mailbox.try_send(bytes, flags));
            match sent.expect(KEPT) {
                Ok(()) => break,
                Err(Error::Full | Error::Floor) => {
                    Self::wait();
                }
                Err(error) => panic!("{error:?}"),
            }
        }
        self.ring();
    }

    fn receive(&mut self) {
        loop {
            let received = BYTES.with(&CORE.threads, |bytes| self.mailbox.try_receive(bytes));
            match received.expect(KEPT) {
                Ok(_) => return,
                Err(Error::Empty) => {
                    Self::wait();
                }
                Err(error) => panic!("{error:?}"),
            }
        }
    }

    /// Sends `exchanges` requests, after pauses, and prints how long each exchange took.
    pub(crate) fn ask(mut self, settings: Settings) -> ! {
        let mut figure = Figure::new();
        for number in 0..settings.exchanges {
            let pause = self.random.below(settings.pause_ticks);
            CORE.threads.block(clock::now() + pause);
            let began = clock::now();
            stamp([number, began]);
            match settings.one_way {
                true => self.transfer(settings),
                false => self.round_trip(settings),
            }
            if !settings.one_way {
                assert_eq!(stamped(), [!number, began], "the answer is another's");
                figure.add(nanoseconds(clock::now() - began));
            }
        }
        if !settings.one_way {
            figure.print("exchange");
            println!("bench done");
        }
        loop {
            CORE.threads.block(bulkhead_sched::NEVER);
        }
    }

    fn round_trip(&mut self, settings: Settings) {
        let all = Flags {
            start: true,
            end: true,
            over: true,
        };
        Self::move_bytes(settings);
        self.send(all);
        self.receive();
        Self::move_bytes(settings);
    }

    /// Sends one slot after the other, each when the one before has been taken.
    fn transfer(&mut self, settings: Settings) {
        let mut taken = 0;
        for slot in 0..settings.slots {
            while taken < slot {
                taken += Self::wait();
            }
            Self::move_bytes(settings);
            self.send(Flags {
                start: slot == 0,
                end: slot + 1 == settings.slots,
                over: false,
            });
        }
        while taken < settings.slots {
            taken += Self::wait();
        }
    }

    /// Answers requests, or receives a transfer and prints how long it took.
    pub(crate) fn answer(mut self, settings: Settings) -> ! {
        let mut figure = Figure::new();
        for received in 1.. {
            self.receive();
            Self::move_bytes(settings);
            if !settings.one_way {
                let [number, began] = stamped();
                stamp([!number, began]);
                Self::move_bytes(settings);
                self.send(Flags {
                    start: true,
                    end: true,
                    over: true,
                });
                continue;
            }
            if received % settings.slots == 0 {
                let [_, began] = stamped();
                figure.add(nanoseconds(clock::now() - began));
            }
            self.ring();
            if received == settings.slots * settings.exchanges {
                figure.print("exchange");
                println!("bench done");
            }
        }
        unreachable!("it counts for ever")
    }
}

fn nanoseconds(ticks: u64) -> u64 {
    (u128::from(ticks) * 1_000_000_000 / u128::from(clock::frequency())) as u64
}

/// Number and start time of the exchange, contained in every slot.
fn stamp(words: [u64; 2]) {
    let stamped = BYTES.with(&CORE.threads, |bytes| {
        for (place, word) in bytes.chunks_exact_mut(8).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
    });
    stamped.expect(KEPT);
}

fn stamped() -> [u64; 2] {
    let words = BYTES.with(&CORE.threads, |bytes| {
        let mut words = [0; 2];
        for (word, place) in words.iter_mut().zip(bytes.chunks_exact(8)) {
            *word = place.try_into().map_or(0, u64::from_le_bytes);
        }
        words
    });
    words.expect(KEPT)
}
