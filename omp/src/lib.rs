//! Work-conserving OpenMP runtime with the interface that GCC compiles to.
//!
//! Every task gets a thread of its own as soon as it needs one, so that a task that waits never
//! holds up its worker; see `DESIGN.md` beside this crate. The portable runtime is `no_std` and
//! knows the system only as [`backend::Backend`]; [`gomp`] and [`omp`] are its C interface.
#![no_std]

#[cfg(test)]
extern crate std;

pub mod affinity;
pub mod arch;
pub mod backend;
pub mod barrier;
pub mod cancel;
pub mod core_set;
pub mod depend;
mod depend_list;
mod depend_table;
pub mod deque;
pub mod detach;
pub mod doacross;
pub mod environment;
pub mod exceptions;
mod exclusion;
pub mod fiber;
pub mod gomp;
pub mod icv;
pub mod idle;
pub mod inbox;
pub mod join;
pub mod league;
pub mod lock;
pub mod memory;
pub mod omp;
pub mod ordered;
pub mod pool;
pub mod priority;
#[cfg(target_os = "none")]
pub mod program;
pub mod realtime;
pub mod reduction;
pub mod region;
pub mod report;
pub mod spinlock;
pub mod stack_overflow;
mod sync;
pub mod task;
pub mod taskgroup;
pub mod team;
pub mod thread;
pub mod trace;
pub mod tsan;
pub mod worker;
pub mod workshare;
