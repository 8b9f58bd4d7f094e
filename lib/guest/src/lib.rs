//! Access of programs to the resources of their partition
//!
//! The guest page ([`bulkhead_abi::guest::GuestInfo`]) names channel ends, console, trace and
//! argument words. Programs at EL1 and components at EL0 use them alike; what differs is behind
//! [`Home`].

#![no_std]
#![forbid(unsafe_code)]

pub mod argument;
mod bytes;
mod end;
mod four_slot;
mod home;
pub mod line;
mod link;
mod mailbox;
mod memory;
mod recorder;
pub mod recorders;
pub mod release;
mod ring;
mod stamped;
mod task;
pub mod trace;

pub use bytes::{Arrival, BytesReceiver, BytesSender};
pub use end::{ChannelError, Ended, Unmapped};
pub use four_slot::{Publisher, Subscriber};
pub use home::Home;
pub use link::{Link, LinkWords};
pub use mailbox::{MailReceiver, MailSender};
pub use memory::SharedMemory;
pub use recorder::Recorder;
pub use release::Period;
pub use ring::{Receiver, Sender};
pub use stamped::{Message, Received};
pub use task::{Job, run_periodic};
