//! A thread of another core that notifies one of this core as often as it can

use crate::verdict;
use bulkhead_abi::kernel::{
    ALL, LEAST, NEVER, Operation, Packed, SAME_TIME, SLOTS, STACK_PAGES, STACK_TOP, Status, WAIT,
    first as slots,
};
use bulkhead_component::call::call;
use bulkhead_component::cores::Root;
use bulkhead_component::dispatch::{consume_events, scb};
use bulkhead_component::first::Shared;
use bulkhead_component::{First, clock, println};
use core::hint::black_box;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

/// The core of the attack.
const CORE: u64 = 1;
/// Index of the notified thread.
const RECEIVER: u64 = 30;
/// Slot of its sending side in the flooder's table.
const SEND: u64 = SLOTS - 2;
/// Of the work of the attacked core it may cost so many per mille.
const TOLERANCE: u64 = 25;
/// Milliseconds of work.
const WORK_MS: u64 = 40;

static RECEIVE: AtomicU64 = AtomicU64::new(0);
/// Means of the other core: address of the SCB, slots of scheduler and time; page and slot of the
/// flooder's time; the slot of its thread.
static OTHER: [AtomicU64; 6] = [const { AtomicU64::new(0) }; 6];

pub(crate) struct Flood {
    shared: &'static Shared,
}

impl Flood {
    pub(crate) fn new(first: &mut First, packed: &Packed, index: u64) -> Result<Self, Status> {
        let made = first.component_with(packed, index, [1, STACK_PAGES], true)?;
        let shared = first.share(&made)?;
        let start = [made.component, packed.entry, STACK_TOP];
        let flooder = first.make(Operation::MakeThread, start)?;
        let time = first.time(ALL, LEAST)?;
        let receiver = first.thread(wait, RECEIVER, time)?;
        let [send, receive] = [first.slot(), first.slot()];
        call(receiver, Operation::Sender, [send])?;
        call(receiver, Operation::Receiver, [receive])?;
        call(made.leaf, Operation::Copy, [SEND, send])?;
        RECEIVE.store(receive, Relaxed);
        let words = [SAME_TIME, NEVER, scb().epoch.load(Relaxed)];
        call(receiver, Operation::Dispatch, words)?;
        consume_events(scb());
        let root = first.prepare_core(CORE)?;
        let scb = core::ptr::from_ref(root.scb).expose_provenance() as u64;
        let Root {
            scheduler, time, ..
        } = root;
        let (page, slot) = (first.page(), first.slot());
        for (word, value) in OTHER
            .iter()
            .zip([scb, scheduler, time, page, slot, flooder])
        {
            word.store(value, Relaxed);
        }
        Ok(Self { shared })
    }

    /// Compares the work that this core does beside the flood with that without.
    pub(crate) fn judge(&self, first: &mut First) -> Result<(), Status> {
        let [attack, count, ..] = self.shared;
        first.start_core(CORE, run_flooder, CORE)?;
        work(1);
        let quiet = work(WORK_MS);
        attack.store(5, Relaxed);
        let flooded = work(WORK_MS);
        attack.store(0, Relaxed);
        let lost = quiet.saturating_sub(flooded) * 1000 / quiet;
        println!(
            "notifications across cores: sent={} lost_per_mille={lost} {}",
            count.load(Relaxed),
            verdict(lost <= TOLERANCE && count.load(Relaxed) > 1000)
        );
        Ok(())
    }
}

/// So many milliseconds of work; how much it was.
fn work(milliseconds: u64) -> u64 {
    let end = clock::now() + milliseconds * clock::frequency() / 1000;
    let mut done = 0;
    while clock::now() < end {
        done = black_box(done + 1);
    }
    done
}

extern "C" fn wait(_: u64) -> ! {
    loop {
        let _notified = call(RECEIVE.load(Relaxed), Operation::Receive, [WAIT]);
    }
}

extern "C" fn run_flooder(_: u64) -> ! {
    let [scb, scheduler, all, page, time, flooder] =
        OTHER.each_ref().map(|word| word.load(Relaxed));
    let _made = call(
        slots::MEMORY,
        Operation::MakeTime,
        [page, time, all, ALL, 9],
    );
    let _bound = call(flooder, Operation::Bind, [scheduler, 1, time]);
    let epoch = AtomicAt(scb);
    loop {
        let _ran = call(flooder, Operation::Dispatch, [time, NEVER, epoch.read()]);
    }
}

/// The SCB of the other core.
struct AtomicAt(u64);

impl AtomicAt {
    #[expect(unsafe_code, reason = "an address that another core has left")]
    fn read(&self) -> u64 {
        let scb: *const bulkhead_abi::dispatch::Scb =
            core::ptr::with_exposed_provenance(self.0 as usize);
        // SAFETY: mapped for good when the core was prepared; all of it is atomic.
        unsafe { &*scb }.epoch.load(Relaxed)
    }
}
