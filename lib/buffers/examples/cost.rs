//! Cost of one message in TSC cycles on x86-64 (*host* figures; one thread, warm caches)
//!
//! `cargo run --release -p bulkhead-buffers --example cost`
#![cfg_attr(
    target_arch = "x86_64",
    expect(unsafe_code, reason = "the time stamp counter is an intrinsic")
)]

#[cfg(target_arch = "x86_64")]
fn main() {
    measured::report::<64>();
    measured::report::<4096>();
}

#[cfg(not(target_arch = "x86_64"))]
fn main() {
    eprintln!("cycle figures are taken on x86-64");
}

#[cfg(target_arch = "x86_64")]
mod measured {
    use bulkhead_buffers::{AtomicU64, Region, four_slot, mailbox, recorder, ring};
    use core::arch::x86_64::{_mm_lfence, _rdtsc};
    use core::hint::black_box;

    const ROUNDS: u64 = 10_000;
    const RUNS: usize = 31;

    pub(super) fn report<const BYTES: usize>() {
        println!("{BYTES} B messages, median TSC cycles of {RUNS} runs (kind: host)");
        println!(
            "  four-slot write        {:8.1}",
            four_slot_write::<BYTES>()
        );
        println!("  four-slot write+read   {:8.1}", four_slot_pair::<BYTES>());
        println!("  ring push+pop          {:8.1}", ring_pair::<BYTES>());
        println!(
            "  ring push+pop, 16 each {:8.1}",
            ring_batch::<BYTES>() / 16.0
        );
        println!("  mailbox send+receive   {:8.1}", mailbox_pair::<BYTES>());
        println!("  recorder write         {:8.1}", record::<BYTES>());
    }

    fn memory(bytes: usize) -> Region<'static> {
        let lines = (0..bytes / 64 + 1)
            .map(|_| Line::default())
            .collect::<Vec<_>>()
            .leak();
        // SAFETY: the lines were leaked and are touched through the region only.
        unsafe { Region::from_raw(lines.as_mut_ptr().cast(), lines.len() * 64) }.expect("aligned")
    }

    #[derive(Default)]
    #[repr(align(64))]
    struct Line {
        _words: [AtomicU64; 8],
    }

    fn cycles() -> u64 {
        // SAFETY: SSE2 is part of x86-64.
        unsafe { _mm_lfence() };
        // SAFETY: the counter is readable in user mode.
        unsafe { _rdtsc() }
    }

    fn median(mut operation: impl FnMut()) -> f64 {
        let mut runs: Vec<f64> = (0..RUNS)
            .map(|_| {
                let start = cycles();
                (0..ROUNDS).for_each(|_| operation());
                (cycles() - start) as f64 / ROUNDS as f64
            })
            .collect();
        runs.sort_by(f64::total_cmp);
        runs[RUNS / 2]
    }

    fn four_slot_write<const BYTES: usize>() -> f64 {
        let layout = four_slot::Layout::for_messages(BYTES).expect("layout");
        let mut writer = four_slot::Writer::attach(memory(layout.bytes()), &layout).expect("fits");
        let message = [7; BYTES];
        median(|| {
            let _ = black_box(writer.write(black_box::<&[u8; BYTES]>(&message)));
        })
    }

    fn four_slot_pair<const BYTES: usize>() -> f64 {
        let layout = four_slot::Layout::for_messages(BYTES).expect("layout");
        let region = memory(layout.bytes());
        let mut writer = four_slot::Writer::attach(region, &layout).expect("fits");
        let mut reader = four_slot::Reader::attach(region, &layout).expect("fits");
        let (message, mut copy) = ([7; BYTES], [0; BYTES]);
        median(|| {
            let _ = black_box(writer.write(black_box::<&[u8; BYTES]>(&message)));
            let _ = black_box(reader.read(black_box::<&mut [u8; BYTES]>(&mut copy)));
        })
    }

    fn ring_pair<const BYTES: usize>() -> f64 {
        let layout = ring::Layout::for_messages(BYTES, 64).expect("layout");
        let region = memory(layout.bytes());
        let mut producer = ring::Producer::attach(region, &layout).expect("fits");
        let mut consumer = ring::Consumer::attach(region, &layout).expect("fits");
        let (message, mut copy) = ([7; BYTES], [0; BYTES]);
        median(|| {
            let _ = black_box(producer.try_push(black_box::<&[u8; BYTES]>(&message)));
            let _ = black_box(consumer.try_pop(black_box::<&mut [u8; BYTES]>(&mut copy)));
        })
    }

    fn ring_batch<const BYTES: usize>() -> f64 {
        let layout = ring::Layout::for_messages(BYTES, 64).expect("layout");
        let region = memory(layout.bytes());
        let mut producer = ring::Producer::attach(region, &layout).expect("fits");
        let mut consumer = ring::Consumer::attach(region, &layout).expect("fits");
        let (messages, mut copies) = (vec![7; 16 * BYTES], vec![0; 16 * BYTES]);
        median(|| {
            let _ = black_box(producer.try_push_batch(black_box(&messages)));
            let _ = black_box(consumer.try_pop_batch(black_box(&mut copies)));
        })
    }

    fn mailbox_pair<const BYTES: usize>() -> f64 {
        let layout = mailbox::Layout::for_slot(BYTES).expect("layout");
        let region = memory(layout.bytes());
        let attach = |side| mailbox::Mailbox::attach(region, &layout, side).expect("fits");
        let (mut first, mut second) = (attach(mailbox::Side::First), attach(mailbox::Side::Second));
        let flags = mailbox::Flags {
            start: true,
            end: true,
            over: false,
        };
        let (message, mut copy) = ([7; BYTES], [0; BYTES]);
        median(|| {
            let _ = black_box(first.try_send(black_box::<&[u8; BYTES]>(&message), flags));
            let _ = black_box(second.try_receive(black_box::<&mut [u8; BYTES]>(&mut copy)));
        })
    }

    fn record<const BYTES: usize>() -> f64 {
        let layout = recorder::records::Layout::for_records(BYTES, 64).expect("layout");
        let region = memory(layout.bytes());
        let mut writer = recorder::records::Writer::attach(region, &layout).expect("fits");
        let message = [7; BYTES];
        median(|| {
            let _ = black_box(writer.write(black_box::<&[u8; BYTES]>(&message)));
        })
    }
}
