//! Drives a network card for the component with the protocols
//!
//! This component alone has the card's registers, its interrupt, and the memory that the card
//! accesses. Its thread forwards received frames through the memory `frames`, on the VCPU to which
//! interrupts are charged. Outgoing frames are sent on the thread of the sender (interface
//! `frames`).
//!
//! While there is no room, it leaves received frames in the card, with interrupts disabled. When
//! the budget is used up, the line stays raised, so that a flood costs other components one entry
//! to the kernel per budget.
//!
//! Faults can be injected ([`Fault`]).
#![no_std]
#![no_main]

use bulkhead_abi::component::frames::{NAME, SEND};
use bulkhead_abi::kernel::Status;
use bulkhead_component::{Environment, First, println};
use bulkhead_net::frames::{Received, ToSend, driver};
use bulkhead_net::{Fault, Incoming, One, Opened, Outgoing, drive};

bulkhead_component::component!(run);
bulkhead_component::serve!(answer, stack: 4096);

/// The sending half of the card, and the frames to be sent.
static SENDING: One<(ToSend, Outgoing<'static, Opened>)> = One::new();

fn run(_: First) -> ! {
    let env = Environment::open();
    let card = match drive(&env) {
        Ok(card) => card,
        Err(problem) => panic!("{}: no card: {problem:?}", env.name()),
    };
    let (received, to_send) = match driver(&env, NAME, card.address()) {
        Ok(ends) => ends,
        Err(missing) => panic!("{}: nobody to pass frames to: {missing:?}", env.name()),
    };
    let (incoming, outgoing) = card.split();
    let _kept = SENDING.with(|place| *place = Some((to_send, outgoing)));
    println!("{}: has its card", env.name());
    received.wake(&env);
    pass(&env, incoming, received)
}

/// Passes on received frames.
fn pass(env: &Environment, mut incoming: Incoming<'static, Opened>, mut received: Received) -> ! {
    let fault = Fault::of(env);
    let mut all = 0;
    let mut mute = false;
    loop {
        if !fault.is_storming(all) {
            incoming.acknowledge();
        }
        let passed = received.pass(|into| incoming.receive(into));
        all += passed.count;
        fault.after(all);
        if passed.count != 0 {
            received.wake(env);
        }
        if passed.is_full != mute {
            mute = passed.is_full;
            incoming.set_mute(mute);
            if !mute && incoming.has_frame() {
                continue;
            }
        }
        if let Err(status) = env.served() {
            panic!("{}: no interrupts: {status:?}", env.name())
        }
    }
}

/// Sends the caller's frames.
fn answer(_: u64, [what, ..]: [u64; 5]) -> u64 {
    if what != SEND {
        return Status::NoOperation as u64;
    }
    let sent = SENDING.with(|place| {
        let (to_send, card) = place.as_mut()?;
        // A frame that the card does not send is lost, as on a wire.
        Some(to_send.drain(|frame| _ = card.send(frame)))
    });
    sent.flatten().unwrap_or(0)
}
