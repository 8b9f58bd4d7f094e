//! Echo server on a UDP port
//!
//! Another component drives the card (`net-card`), and passes frames on through the memory
//! `frames`. Protocols and answers, including sending, are charged to the VCPU of this component's
//! task. Each frame is answered before the next is read. Faults can be injected ([`Fault`]); a
//! restarted component continues with the frames as it finds them.
#![no_std]
#![no_main]

use bulkhead_abi::component::frames::NAME;
use bulkhead_abi::kernel::Status;
use bulkhead_component::{Environment, println};
use bulkhead_net::frames::{Missing, Port};
use bulkhead_net::{Buffers, Fault, One, SocketStorage, Udp};
use core::convert::Infallible;
use core::fmt;

bulkhead_component::application!(run);

/// Its address, also from the host.
const ADDRESS: [u8; 4] = [10, 0, 2, 15];
/// Echo (RFC 862).
const PORT: u16 = 7;
/// Longest message that is returned whole.
const LONGEST: usize = 1472;

/// Too large for the stack.
static MEMORY: One<(Buffers, [u8; LONGEST])> = One::of((Buffers::new(), [0; LONGEST]));

/// Reason for which it ended.
enum Ended {
    Frames(Missing),
    Waiting(Status),
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Frames(missing) => write!(f, "no frames: {missing:?}"),
            Self::Waiting(status) => write!(f, "cannot wait: {status:?}"),
        }
    }
}

impl From<Status> for Ended {
    fn from(status: Status) -> Self {
        Self::Waiting(status)
    }
}

fn run(env: &Environment) -> Result<Infallible, Ended> {
    let answered = MEMORY.with(|memory| match memory {
        Some((buffers, message)) => answer(env, buffers, message),
        None => unreachable!("it is there from the start"),
    });
    answered.unwrap_or_else(|| unreachable!("one thread uses it"))
}

fn answer(
    env: &Environment,
    buffers: &mut Buffers,
    message: &mut [u8; LONGEST],
) -> Result<Infallible, Ended> {
    let port = Port::open(env, NAME).map_err(Ended::Frames)?;
    while !port.is_there() {
        env.served()?;
    }
    let mut storage = [SocketStorage::EMPTY];
    let mut udp = Udp::open(port, buffers, ADDRESS, PORT, &mut storage);
    let [a, b, c, d] = ADDRESS;
    println!("{}: answers at {a}.{b}.{c}.{d}, port {PORT}", env.name());
    env.ready()?;
    let fault = Fault::of(env);
    let mut answers = 0;
    loop {
        while udp.take() {
            while let Some((length, from)) = udp.receive(message) {
                udp.send(message.get(..length).unwrap_or(&[]), from);
                answers += 1;
                fault.after(answers);
            }
        }
        udp.wire().taken();
        env.served()?;
    }
}
