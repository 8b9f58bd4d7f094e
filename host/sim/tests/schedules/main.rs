//! Schedules of random systems and of the examples

mod bounds;
mod pictures;
mod random;
mod traces;
