//! Logic of the EL1 runtime, free of the machine
//!
//! Code that needs no register access is here, so that it is tested on the host: the translation
//! descriptors.

#![no_std]
#![forbid(unsafe_code)]

pub mod translation;
