//! The stages of tuned pipes, independent of the system that runs them ("Tuned Pipes")
//!
//! A component of an rtos partition and a Linux program share this code: messages, functions by
//! name, buffers, and the pace at which jobs are released (`doc/design/pipes-language.md`). The
//! runtime provides threads, a clock and memory.
#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

pub mod core_command;
pub mod deploy_request;
pub mod functions;
pub mod link;
pub mod message;
pub mod overrun;
pub mod pace;
pub mod request;
pub mod shared_state;
pub mod stacks;
pub mod work;
