//! Tuned pipes: the pipeline language and the solver for budgets and periods
//!
//! A pipeline is written as `* (A | B), C | D | E, F [100/s, 10 ms]` ([`language`]), bound to a
//! [`repository`] of functions with known execution times ([`binding`]), and solved: each stage
//! gets a budget C, a period T and the messages m that it handles in a period, such that the
//! end-to-end requirement is kept and every core can be scheduled ([`solver`]). Paper 003, §3.1.3
//! and §3.1.4. What a setting promises is computed by [`assessment`], which the solver's
//! candidates, the paper's heuristic and a setting given by hand all go through.
//!
//! No allocation and no recursion: everything lives in arrays of the caller's size `N`, stages at
//! most, so that the host tool and an admission test on target run the same code.

#![no_std]
#![forbid(unsafe_code)]

pub mod assessment;
pub mod binding;
pub mod language;
pub mod repository;
pub mod solver;
