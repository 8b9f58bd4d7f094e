//! System registers, barriers and maintenance of AArch64
//!
//! One function per instruction, so that everything above is free of assembly. Names are the Arm
//! ARM's (DDI 0487). Reading is safe; what can take the ground from under the running program says so.

#![no_std]

pub mod barrier;
pub mod cache;
pub mod identification;
pub mod registers;
pub mod tlb;
pub mod wait;
