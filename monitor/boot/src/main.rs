//! The separation monitor, boot part, dropped after boot
//!
//! Runs once, with translation and caches off. The first core checks everything, prepares memory,
//! interrupt controller and the monitors' state, and starts the other cores; each core then sets its
//! constant registers and leaves for the resident part, which never comes back. Whatever is wrong is
//! said on the boot console in one line, and the machine stays as it is.

#![no_std]
#![no_main]

mod configuration;
mod console;
mod cores;
mod devices;
mod exceptions;
mod features;
mod firmware;
mod identity;
mod memory;
mod refusal;
mod registers;
mod start;
mod states;
