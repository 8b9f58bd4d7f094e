//! Logic of the EL1 runtime, free of the machine
//!
//! What can be decided without touching a register is decided here and tested on the host: argument
//! words, release times, translation descriptors, lines of the console.

#![no_std]
#![forbid(unsafe_code)]

pub mod argument;
pub mod line;
pub mod release;
pub mod translation;
