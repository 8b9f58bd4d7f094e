//! Logic of the EL1 runtime, free of the machine
//!
//! What can be decided without touching a register is decided here and tested on the host: the
//! translation descriptors.

#![no_std]
#![forbid(unsafe_code)]

pub mod translation;
