//! A task that answers what arrives at a UDP port: each message goes back to where it came from
//!
//! The argument word `network=TASK` says which. The partition's function is its card; interrupts, protocols and answers
//! are paid by the task's VCPU: while that has no budget the card's line stays raised and served by nobody, so
//! that a flood costs the others one entry to the kernel per budget.

use crate::{CORE, job};
use bulkhead_abi::guest::Function;
use bulkhead_abi::kernel::{Operation, first};
use bulkhead_component::First;
use bulkhead_component::call::call;
use bulkhead_net::{Buffers, Card, Problem, SocketStorage, Udp};
use bulkhead_sched::NEVER;
use bulkhead_slite::Mutex;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

/// The address under which it is reached, also from the host.
const ADDRESS: [u8; 4] = [10, 0, 2, 15];
/// Echo (RFC 862).
const PORT: u16 = 7;
/// Longest message that is answered whole.
const LONGEST: usize = 1472;

static CARD: Mutex<Option<Card>> = Mutex::new(None);
static BUFFERS: Mutex<Buffers> = Mutex::new(Buffers::new());
static MESSAGE: Mutex<[u8; LONGEST]> = Mutex::new([0; LONGEST]);
static LINE: AtomicU64 = AtomicU64::new(0);

/// Starts the card; its interrupt.
pub(crate) fn open(first: &mut First, function: &Function) -> Result<u64, Problem> {
    let card = bulkhead_net::open(first, function)?;
    let _kept = CARD.with(&CORE.threads, |place| *place = Some(card));
    LINE.store(function.intid.into(), Relaxed);
    Ok(function.intid.into())
}

/// The task.
pub(crate) extern "C" fn serve(index: u64) -> ! {
    let card = CARD.with(&CORE.threads, Option::take).ok().flatten();
    let buffers = BUFFERS.lock(&CORE.threads, NEVER);
    let message = MESSAGE.lock(&CORE.threads, NEVER);
    let job = job(index);
    let (Some(card), Ok(mut buffers), Ok(mut message)) = (card, buffers, message) else {
        panic!("no card")
    };
    let mut storage = [SocketStorage::EMPTY];
    let mut udp = Udp::open(card, &mut buffers, ADDRESS, PORT, &mut storage);
    loop {
        let Ok(count) = CORE.threads.wait_notified(job.receive.load(Relaxed)) else {
            panic!("no interrupts")
        };
        job.interrupts.fetch_add(count, Relaxed);
        udp.acknowledge();
        while udp.take() {
            while let Some((length, from)) = udp.receive(&mut *message) {
                udp.send(message.get(..length).unwrap_or(&[]), from);
                job.jobs.fetch_add(1, Relaxed);
            }
        }
        // Refused where none is held: then the next one will be.
        let _held = call(first::INTERRUPT, Operation::Complete, [LINE.load(Relaxed)]);
    }
}
