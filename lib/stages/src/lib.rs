//! What stages of tuned pipes do, wherever they run (paper 003)
//!
//! The same code in a component of an rtos partition and in a Linux program: what travels between stages, the functions by
//! their names, the buffers, and the pace at which jobs are released (`doc/design/pipes-language.md`). Who runs stages brings threads,
//! a clock and memory.
#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

pub mod functions;
pub mod link;
pub mod message;
pub mod order;
pub mod overrun;
pub mod pace;
pub mod request;
pub mod together;
pub mod wanted;
pub mod work;
